# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The replica of the matmul machine: schedules worked out by hand, and drawn cases in RTL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ringforge import params
from ringforge._native import Context
from ringforge.cli import main
from ringforge.errors import IllegalInstructionError, ParameterError
from ringforge.hw.core.simulator import Simulation
from ringforge.hw.core.validation import Validated
from ringforge.hw.machines.matmul.bounds import bounds
from ringforge.hw.machines.matmul.closed_form import Gadget, Primitives
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.machines.matmul.draws import (
    FITTED,
    FRESH,
    SHAPES,
    Draw,
    Timed,
    cases,
    drawn,
    simulate,
    timed_product,
    timed_transform,
)
from ringforge.hw.machines.matmul.modelled import SHORT, modelled
from ringforge.hw.machines.matmul.replica import run
from ringforge.hw.machines.matmul.replica_units import Alu
from ringforge.hw.machines.matmul.target import target_of
from ringforge.hw.machines.matmul.validation import closed_form, validate_draw
from ringforge.hw.vector.isa import Instruction, Opcode, encode, slot

#: Largest errors of the replica, and of the closed form.
REPLICA, CLOSED = 0.006, 0.05
DRAWN = cases()
SMALL = FameConfig.named("fame-small")
LOG_N, ROWS = 11, 128
#: Memory that never makes anything wait for its rate.
FAST = SMALL.model_copy(update={"dram_latency": 40, "dram_bytes_per_second": 2e12})


def hold(found: Validated) -> None:
    assert abs(found.replica_error) <= REPLICA, found
    assert abs(found.closed_error) <= CLOSED, found
    assert found.traffic_equal, found


def at(bank: int, number: int = 0) -> int:
    return slot(bank, number * ROWS)


def mac(dst: int, a: int) -> Instruction:
    return Instruction.mac(dst, a, 0, imm=3)


def ntt(dst: int, a: int) -> Instruction:
    return Instruction.ntt(dst, a, slot(7, 0), 0)


def cycles(body: Sequence[Instruction], config: FameConfig = FAST) -> int:
    """Cycles of a program beyond those of the empty one; the other element does nothing."""
    opening, end = [Instruction.conf(LOG_N, 4)], [Instruction.end()]
    both = [
        run(config, [encode([*opening, *steps, *end]), encode(end)]).cycles
        for steps in (list(body), list[Instruction]())
    ]
    return both[0] - both[1]


def test_macs_follow_each_other() -> None:
    # A row a cycle, each MAC after the one before though it reads what that writes.
    one = cycles([mac(at(1), at(0))])
    assert cycles([mac(at(1), at(0)), mac(at(2), at(1)), mac(at(3), at(2))]) == one + 2 * ROWS


def test_macs_of_short_polynomials_wait() -> None:
    opening = [Instruction.conf(7, 4)]

    def took(second: Instruction) -> int:
        program = [*opening, Instruction.mac(slot(1, 0), slot(0, 0), 0, imm=3), second, Instruction.end()]
        return run(FAST, [encode(program), encode([Instruction.end()])]).cycles

    # 8 rows, 18 cycles from a row's read to its write.
    reads = Instruction.mac(slot(2, 0), slot(1, 0), 0, imm=3)
    other = Instruction.mac(slot(2, 0), slot(3, 0), 0, imm=3)
    assert took(reads) - took(other) > 10


def test_transforms_go_before_macs() -> None:
    alone = cycles([ntt(at(1), at(0))])
    # log2 N stages, no gaps between them.
    assert LOG_N * ROWS <= alone <= LOG_N * ROWS + 40
    # The MAC had begun; it goes on in the cycles that the transform leaves, and behind it.
    together = cycles([mac(at(2), at(3)), ntt(at(1), at(0))])
    assert alone + ROWS - 20 <= together <= alone + ROWS + 20
    # One that may begin before the transform's rows are there, and ends behind it.
    assert cycles([ntt(at(1), at(0)), mac(at(2), at(3))]) <= alone + ROWS + 20


def test_a_transform_that_waits_for_a_mac_does_not_stop_those_behind_it() -> None:
    body = [mac(at(1), at(0)), ntt(at(2), at(1)), mac(at(3), at(0, 1)), mac(at(3, 1), at(0, 1))]
    # The second MAC is read before the transform starts, but for the cycles in between.
    assert cycles(body) <= cycles([mac(at(1), at(0)), ntt(at(2), at(1))]) + 2 * ROWS


def test_array_between_transforms() -> None:
    alu = Alu()
    assert alu.read(100, 10, None) == 109
    # Rows of a transform in cycles 105 ... 124 (5 after its reads).
    alu.transform(100, 2, 10, 0)
    assert alu.read(100, 10, None) == 129
    assert alu.read(95, 10, None) == 104
    # Streamed rows come every second cycle: 3 are there before the array is taken, the rest is when it is free.
    assert alu.read(100, 10, (100, 118)) == 131
    assert alu.read(100, 10, (100, 200)) == 200
    alu.forget(125)
    assert alu.read(100, 10, None) == 109


def test_pairs_of_short_transforms_fill_the_array() -> None:
    short = FameConfig.named("fame-small")

    def took(*body: Instruction) -> int:
        program = [Instruction.conf(8, 4), *body, Instruction.end()]
        return run(short, [encode(program), encode([Instruction.end()])]).cycles

    first = Instruction.ntt(slot(1, 0), slot(0, 0), slot(7, 0), 0)
    second = Instruction.ntt(slot(2, 0), slot(3, 0), slot(7, 0), 0)
    apart, beside = took(first, second), took(first.beside(second))
    # 8 stages of 16 rows with gaps of 19 between them, against 32 rows with gaps of 11.
    assert apart - beside > 8 * 16


def test_memory_gives_lines_at_its_rate() -> None:
    loads = [Instruction.load(at(k % 4, k // 4), 4096 * (k + 1)) for k in range(8)]
    lines = SMALL.lines(LOG_N)
    full = SMALL.line_bytes * SMALL.clock_hz * SMALL.pes
    assert lines == 108
    for rate in (0.5, 0.75):
        config = FAST.model_copy(update={"dram_bytes_per_second": rate * full})
        assert (cycles(loads, config) - cycles(loads[:4], config)) / 4 == pytest.approx(lines / rate, rel=0.02)
    # A row a cycle at most.
    assert (cycles(loads) - cycles(loads[:4])) / 4 == pytest.approx(ROWS, rel=0.02)
    # 64 lines are asked for ahead: they have to last for the latency.
    slow = FAST.model_copy(update={"dram_latency": 200})
    assert (cycles(loads, slow) - cycles(loads[:4], slow)) / 4 == pytest.approx(lines * (200 + 20) / 64, rel=0.04)


def test_programs_that_cannot_be() -> None:
    end = encode([Instruction.end()])
    with pytest.raises(ParameterError, match="runs 2 programs"):
        run(SMALL, [end])
    with pytest.raises(IllegalInstructionError, match="no END"):
        run(SMALL, [encode([Instruction.conf(LOG_N, 4)] * 3), end])
    with pytest.raises(IllegalInstructionError, match="operation 26"):
        run(SMALL, [encode([Instruction.reduce(at(1), at(0), 0), Instruction.end()]), end])
    with pytest.raises(IllegalInstructionError, match="for ever"):
        run(SMALL, [encode([Instruction.conf(LOG_N, 4), Instruction.recv(at(0), 1), Instruction.end()]), end])
    with pytest.raises(ParameterError, match="simple memory"):
        run(SMALL.model_copy(update={"memory": "hbm2"}), [end, end])


def test_elements_exchange_and_meet() -> None:
    i = Instruction
    opening = i.conf(LOG_N, 4)
    sender = [opening, ntt(at(1), at(0)), i.send(at(1), 2), i.sync(1), i.end()]
    receiver = [opening, i.recv(at(0), 0), mac(at(1), at(0)), i.sync(1), i.end()]
    report = run(FAST, [encode(sender), encode(receiver)])
    # A transform, a transfer and a MAC, one after the other. A SYNC does not wait for MACs.
    assert (LOG_N + 2) * ROWS < report.ended[1] == report.cycles < (LOG_N + 2) * ROWS + 200
    assert (LOG_N + 1) * ROWS < report.ended[0] < report.ended[1]
    assert report.executed == {"END": 2, "SYNC": 2, "CONF": 2, "SEND": 1, "RECV": 1, "NTT": 1, "MAC": 1}


@pytest.mark.parametrize(
    ("machine", "name", "level"),
    [pytest.param("fame-l", "fame-c", 31, marks=pytest.mark.long), ("fame-m", "fame-b", 15)],
)
def test_transforms_keep_the_array_busy(machine: str, name: str, level: int) -> None:
    """Of polynomials of 256 rows: rotations at 85 % of the bound or more, the rest within 10 % of its own."""
    parameters = params.named(name, "counts only")
    config, context = FameConfig.named(machine), Context(parameters)
    idle = [encode([Instruction.end()])] * (config.pes - 1)
    took = {
        r: run(config, [timed_transform(config, context, level, r, still=False).program, *idle]).cycles for r in (4, 7)
    }
    least = bounds(target_of(config, parameters, level), level + 1)
    rotation = (took[7] - took[4]) / 3
    assert least.rotation <= rotation <= least.rotation / 0.85
    assert least.hoisted <= took[4] - 4 * rotation <= 1.1 * least.hoisted


def test_a_product_is_linear_in_rotations() -> None:
    """What `modelled` takes to be linear, beyond the rotations that it simulates."""
    parameters = params.named("fame-small", "counts only")
    config, context = FameConfig.named("fame-small"), Context(parameters)
    idle = encode([Instruction.end()])

    def took(rotations: int) -> int:
        return run(config, [timed_transform(config, context, 4, rotations, still=True).program, idle]).cycles

    short, longer, longest = took(SHORT), took(2 * SHORT), took(3 * SHORT)
    assert longest == pytest.approx(2 * longer - short, rel=0.002)


def test_products_in_the_replica_and_in_closed_form() -> None:
    got = modelled("fame-s", params.named("fame-a", "counts only"), (64, 64, 64), "fame")
    assert got.cycles == sum(got.parts.values())
    assert 0.009 < got.seconds < 0.013
    with pytest.raises(ParameterError, match="no price of method"):
        modelled("fame-s", params.named("fame-a", "counts only"), (64, 64, 64), "huang")


# ---- drawn cases ---------------------------------------------------------------------------------


def test_what_is_drawn() -> None:
    assert cases() == DRAWN
    assert [d.number for d in DRAWN] == list(range(FITTED + FRESH))
    fresh = [d for d in DRAWN if not d.fitted]
    assert len(fresh) >= len(DRAWN) / 2
    for part in (DRAWN, fresh):
        assert {d.machine for d in part} == set(SHAPES)
        assert {bool(d.rotations) for d in part} == {True, False}
        assert len({d.log_n for d in part}) == 3
        assert len({d.limbs for d in part}) == 5
        assert {len(d.parameters.p) for d in part} >= {1, 2, 3, 5}
        assert max(d.latency for d in part) > 4 * min(d.latency for d in part)


#: Of cases that neither constants were chosen by nor RTL is run on.
OTHER_SEED = 5001


def closed_error(draw: Draw) -> float:
    return closed_form(draw) / run(draw.config, [c.program for c in draw.compile()]).cycles - 1


def test_closed_form_follows_the_replica_on_fresh_cases() -> None:
    for draw in [d for d in DRAWN if not d.fitted][::5]:
        assert abs(closed_error(draw)) <= CLOSED, draw


@pytest.mark.long
def test_closed_form_follows_the_replica_on_other_cases() -> None:
    errors = np.abs([closed_error(draw) for draw in drawn(60, OTHER_SEED)])
    assert errors.max() <= 0.06
    assert (errors <= CLOSED).mean() >= 0.98


@pytest.mark.parametrize(("machine", "name", "level"), [("fame-s", "fame-a", 4), ("fame-m", "fame-b", 3)])
def test_closed_form_of_the_machines(machine: str, name: str, level: int) -> None:
    """Few and many places on chip, more special primes than limbs."""
    parameters = params.named(name, "counts only")
    config, context = FameConfig.named(machine), Context(parameters)
    idle = [encode([Instruction.end()])] * (config.pes - 1)
    p = Primitives(config, Gadget.of(parameters))

    def took(timed: Timed) -> int:
        return run(config, [timed.program, *idle]).cycles

    for rotations in (2, 6):
        cycles = took(timed_transform(config, context, level, rotations, still=False))
        assert p.transform_of(level + 1, rotations, False).total + p.start == pytest.approx(cycles, rel=CLOSED)
    product = p.product(level + 1, p.gadget.special).total + p.start
    assert product == pytest.approx(took(timed_product(config, context, level)), rel=CLOSED)


def chosen() -> list[Draw]:
    """Two short cases of the small machine."""
    mine = sorted((d for d in DRAWN if d.machine == "fame-small"), key=lambda d: (d.log_n, d.limbs))
    return [next(d for d in mine if bool(d.rotations) == turns) for turns in (True, False)]


@pytest.mark.parametrize("draw", chosen(), ids=lambda d: f"{d.number}")
def test_small_cases_in_rtl(draw: Draw, machines: Callable[[str], Simulation[Any]]) -> None:
    # The memory of the machine that other tests have opened.
    sim = machines("fame-small")
    compiled = draw.compile()
    got, traffic = simulate(sim, sim.config, compiled)
    report = run(sim.config, [c.program for c in compiled], entity_of=lambda e, a: compiled[e].layout.entity(a))
    assert report.cycles == pytest.approx(got, rel=REPLICA)
    assert {name: report.traffic[name] for name in traffic if name in report.traffic} == {
        name: t for name, t in traffic.items() if name in report.traffic
    }


@pytest.mark.long
def test_every_case() -> None:
    found = [validate_draw(draw)[0] for draw in DRAWN]
    for entry in found:
        hold(entry)


def test_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hw", "validate", "matmul", "--case", "999"])
    assert "cases are 0 ..." in capsys.readouterr().err


def test_the_replica_reads_only_what_matters() -> None:
    """Fields of data change nothing: a program with other constants takes as long."""
    rng = np.random.default_rng(1)
    body = [replace(mac(at(1 + k % 3), at(0)), imm=int(rng.integers(1 << 50))) for k in range(6)]
    same = [replace(i, imm=1) for i in body]
    assert cycles(body) == cycles(same)
    assert all(i.op is Opcode.MAC for i in body)
