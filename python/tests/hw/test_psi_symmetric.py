# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The asymmetric pipeline beside symmetric ones: sizes, claims, the saved comparison, and one made by Yosys."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ringforge import yosys
from ringforge.errors import HardwareError, ParameterError
from ringforge.hw.core.sources import sources
from ringforge.hw.core.synthesis import Resources
from ringforge.hw.machines.psi.symmetric import ROLES, Comparison, Size, compare, save, saved

RESULTS = Path(__file__).resolve().parents[3] / "bench" / "results"


def made(lut: int = 100) -> Comparison:
    """Every part of the asymmetric pipeline takes so many LUTs, of the symmetric one 100."""
    one, other = Resources(lut=lut, dsp=2), Resources(lut=100, dsp=3)
    return Comparison(Size(), dict.fromkeys(ROLES, one), dict.fromkeys(ROLES, other), "a tool")


def test_cycles_of_both():
    size = Size()
    assert (size.asymmetric_cycles, size.symmetric_cycles) == (6 * 269, 21 * 256 + 2)
    assert size.copies == pytest.approx(10 / 3, rel=1e-3)
    # The published pipeline at PSI's size: 12 polynomials of 525 cycles.
    assert Size(11, 54, 6).asymmetric_cycles == 6300


@pytest.mark.parametrize("wrong", [{"log_n": 7}, {"log_n": 12}, {"word_bits": 64}, {"digits": 1}, {"inverses": 9}])
def test_sizes_that_there_are_not(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        Size(**wrong)


def test_claims_at_equal_throughput():
    claims = {what: here for what, _, here in made(lut=250).claims()}
    saved_luts = f"{round(100 * (1 - 250 / (100 * Size().copies)))} %"
    assert claims["LUTs of forward transforms saved"] == claims["LUTs of the pipelines saved"] == saved_luts == "25 %"
    assert claims["multipliers by key rows, times fewer"] == claims["tables of twiddles, times smaller"] == "10.0"
    assert claims["buffers of polynomials saved"] == "0 %"


def test_storage_is_that_of_the_sources():
    """Two polynomials behind each stage, and in each transform; a table of N words in all, and in each transform."""
    room = sources() / "psi" / "rtl"
    assert "psi_buffer #(.W(W), .LogN(LogN), .Slots(2)) u_buffer" in (room / "psi_stage.sv").read_text()
    text = (room / "psi_symmetric_ntt.sv").read_text()
    assert "psi_buffer #(.W(W), .LogN(LogN), .Slots(2)) u_buffer" in text
    assert text.count(".Rows(1 << LineW)) u_") == 2


def test_saved_and_read_again(tmp_path):
    found = made()
    path = save(found, tmp_path)
    assert saved([tmp_path]) == (found, path)
    assert saved([tmp_path / "none"]) is None
    values = json.loads(path.read_text())
    del values["symmetric"]
    path.write_text(json.dumps(values))
    with pytest.raises(HardwareError, match="symmetric psi"):
        saved([tmp_path])
    assert [len(grid.rows) for grid in replace(found, tool="").grids()] == [len(ROLES) + 1, 5]


@pytest.mark.skipif(not RESULTS.is_dir(), reason="not a checkout")
def test_the_saved_comparison():
    kept = saved([RESULTS])
    assert kept is not None
    found = kept[0]
    assert found.size == Size()
    dsp = [sum(r.dsp for r in side.values()) for side in (found.asymmetric, found.symmetric)]
    # 28 butterflies and 8 products of 6 slices; 8 butterflies and 24 products.
    assert dsp == [36 * 6, 32 * 6]


@pytest.mark.long
@pytest.mark.skipif(yosys.version() is None, reason="needs Yosys")
def test_the_saved_comparison_is_of_these_sources():
    kept = saved([RESULTS])
    assert kept is not None
    assert compare(kept[0].size) == kept[0]
