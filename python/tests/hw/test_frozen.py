# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The accelerator has the cycles, digests and resources of frozen.json; `frozen.py` says what each figure is."""

from __future__ import annotations

import pytest

from tests.hw import frozen

FIGURES = {f.name: f for f in frozen.figures()}
LIST = frozen.frozen()


def test_every_figure_is_still_measured() -> None:
    assert [name for name in LIST if name not in FIGURES] == []


def test_a_thousand_programs_are_held() -> None:
    cycles = [value["cycles"] for name, value in LIST.items() if name.startswith("programs ")]
    assert sum(map(len, cycles)) == 1000


def test_model_and_machine_agree() -> None:
    for p in frozen.PRODUCTS:
        rtl, model = LIST[f"product rtl {p.name}"], LIST[f"product model {p.name}"]
        assert rtl["exact"]
        assert (rtl["cycles"], rtl["bytes"]) == (model["cycles"], model["bytes"])


def test_differences_are_found() -> None:
    was = {"dsp": 17, "bram36": 0.5, "lut": 100, "flip_flops": 50}
    assert frozen.differences("cell", was, {**was, "lut": 99, "flip_flops": 0}) == []
    worse = frozen.differences("cell", was, {"dsp": 16, "bram36": 0.5, "lut": 101, "flip_flops": 50})
    assert worse == ["cell, dsp: was 17, is 16", "cell, lut: was 100, is 101"]
    before, after = [5] * frozen.BATCH, [5, 8] + [5] * (frozen.BATCH - 2)
    cycles = frozen.differences("programs some 25", {"cycles": before}, {"cycles": after})
    assert cycles == ["programs some 25, cycles of seed 26: was 5, is 8"]
    assert frozen.differences("layer", {"cycles": 1}, {"cycles": 1, "horner": 2}) == ["layer, horner: was None, is 2"]


@pytest.mark.parametrize(
    "name", [n if n in FIGURES and FIGURES[n].quick else pytest.param(n, marks=pytest.mark.long) for n in LIST]
)
def test_figure(name: str) -> None:
    found = frozen.differences(name, LIST[name], FIGURES[name].measure())
    assert not found, "\n".join(found)
