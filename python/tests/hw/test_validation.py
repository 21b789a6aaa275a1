# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Replica and closed form against RTL, on cases drawn by a seed."""

from __future__ import annotations

import time

import pytest

from ringforge import _native
from ringforge import params as parameter_sets
from ringforge.cli import main
from ringforge.hw.core.memory import KINDS
from ringforge.hw.core.validation import Validated, summary
from ringforge.hw.machines.matvec import closed_form
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.machines.matvec.draws import FITTED, SHAPES, Draw, cases
from ringforge.hw.machines.matvec.layers import layer_kernel
from ringforge.hw.machines.matvec.validation import validate_draw
from ringforge.hw.vector.closed_form import Primitives

REPLICA = 0.005
#: Of the closed form: any case, nine of ten, and the median.
WORST, MOST, MEDIAN = 0.12, 0.06, 0.03
DRAWN = cases()


def hold(found: Validated) -> None:
    assert abs(found.replica_error) <= REPLICA, found.name
    assert abs(found.closed_error) <= WORST, found.name
    assert found.traffic_equal, found.name


def small() -> list[Draw]:
    """Cases of the small machine: the shortest of each kind of memory, and one more."""
    mine = sorted((d for d in DRAWN if d.machine == "matvec-small"), key=lambda d: (d.log_n, d.rows * d.cols))
    chosen = [next(d for d in mine if d.memory == kind) for kind in KINDS]
    return chosen + [d for d in mine if d not in chosen][:1]


@pytest.mark.parametrize("draw", small(), ids=lambda d: f"{d.number}")
def test_cases_of_the_small_machine(draw: Draw) -> None:
    hold(validate_draw(draw)[0])


@pytest.mark.long
def test_every_case() -> None:
    """Among them three ports, and stream buffers that hold no whole number of bursts."""
    found = [validate_draw(draw)[0] for draw in DRAWN]
    for entry in found:
        hold(entry)
    for part in (found, [v for v in found if not v.fitted]):
        errors = sorted(abs(v.closed_error) for v in part)
        assert errors[len(errors) * 9 // 10 - 1] <= MOST
        assert errors[len(errors) // 2] <= MEDIAN


def test_what_is_drawn() -> None:
    assert cases() == DRAWN
    assert [d.number for d in DRAWN] == list(range(len(DRAWN)))
    assert len(DRAWN) >= 40
    fresh = [d for d in DRAWN if not d.fitted]
    assert len(fresh) == len(DRAWN) - FITTED >= len(DRAWN) / 2
    for part in (DRAWN, fresh):
        assert {d.machine for d in part} == set(SHAPES)
        assert {d.memory for d in part} == set(KINDS)
        assert {d.algorithm for d in part} == {"bsgs", "diagonal", "horner"}
        assert len({d.log_n for d in part}) == 3
        assert len({d.limbs for d in part}) == 4
        assert max(d.latency for d in part) > 4 * min(d.latency for d in part)
    # What the replica was wrong about.
    odd = [d.config for d in DRAWN if d.config.stream_rows % d.config.burst_rows]
    assert any(c.ports == 3 for c in odd)


def test_summary() -> None:
    cases = [
        Validated(n, "case", "machine", "simple", 1000, 1000 + n, 1000 - 10.0 * n, True, n < 2, 1.0) for n in range(4)
    ]
    said = summary(cases)
    assert said[0] == "replica: largest 0.300 %, median 0.150 %, 4 cases"
    assert said[1] == "closed form: largest 3.000 %, median 1.500 %"
    assert said[2] == "closed form, 2 cases not used for fitting: largest 3.000 %, median 2.500 %"
    assert said[3] == "4 s of CPU time in RTL simulation"
    assert len(summary(cases[:2])) == 3


def test_primitives_in_closed_form() -> None:
    """The instruction table of hw/matvec/README.md, and a rotation that RTL takes 164,302 cycles for."""
    config = MatvecConfig.named("matvec-b")
    p = Primitives(config, 14)
    assert (p.transform, p.automorphism, p.product, p.transfer) == (14 * 1024 + 30, 1035, 1044, 1037)
    assert p.rotation(7) == pytest.approx(164_302, rel=0.01)
    # Half the rate, and keys are what a rotation waits for.
    slow = config.model_copy(update={"dram_bytes_per_second": 4e9})
    assert Primitives(slow, 14).rotation(7) > 2 * p.rotation(7)
    # Groups that work at the same time share the rate.
    assert Primitives(slow, 14, 2).memory(3) == pytest.approx(2 * Primitives(slow, 14).memory(3))


def test_a_plan_is_priced_in_milliseconds() -> None:
    """The planner prices each of its candidates; a layer that RTL takes 16 ms for is priced in less."""
    context = _native.Context(parameter_sets.named("set-b"))
    config = MatvecConfig.named("matvec-b")
    kernel, _ = layer_kernel(context, 512, 1344, context.params.max_level, "bsgs", 16)
    closed_form.cycles(config, kernel)
    start = time.process_time()
    for _ in range(10):
        found = closed_form.cycles(config, kernel)
    assert (time.process_time() - start) / 10 < 0.05
    assert found == sum(closed_form.parts(config, kernel).values())
    assert found > 1_000_000


def test_commands_refuse(capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in (
        ("hw validate matvec --case 999", "cases are 0 ..."),
        ("hw validate matvec --layers --case 15", "cases are 0 ... 14"),
        ("hw validate matvec --case 0 --memory ddr9", "simple, ddr4-2400, hbm2"),
        ("hw cycles matvec --memory ddr9", 'no memory is called "ddr9"'),
        ("hw run matvec --memory ddr9", 'no memory is called "ddr9"'),
    ):
        assert main(words.split()) != 0
        assert said in " ".join(capsys.readouterr().err.split())
