# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The aes machine in RTL: random programs against the interpreter, rates, refusals, aborts, reset, bus errors."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from ringforge.errors import HardwareError
from ringforge.hw.core import registers
from ringforge.hw.core.registers import Register, field
from ringforge.hw.core.simulator import Simulation
from ringforge.hw.machines.aes.config import AesConfig
from ringforge.hw.machines.aes.interpreter import Interpreter
from ringforge.hw.machines.aes.program import INSTRUCTION_BYTES, Instruction, Op, Program, Words
from tests.hw.aes_programs import Case, case

#: A run without a beat for so many cycles has come to a stand.
_SILENCE = 20_000
_MACHINES = ["aes-small", "aes-paper-small"]
_WORDS = INSTRUCTION_BYTES // 8
#: The machine's own registers.
OWN = {entry.name: entry.address for entry in registers.own(AesConfig.room / "registers.json").entries}


@pytest.fixture(scope="module", params=[(name, stall) for name in _MACHINES for stall in (0, 40)], ids=str)
def small(request: pytest.FixtureRequest) -> Iterator[Simulation[AesConfig]]:
    """A small machine, with memory that answers at once or stalls."""
    name, stall = request.param
    with Simulation(AesConfig.named(name), optimise="-O1", stall_percent=stall, seed=7) as sim:
        yield sim


@pytest.fixture(scope="module")
def fast() -> Iterator[Simulation[AesConfig]]:
    """Two ports, and memory that answers at once."""
    with Simulation(AesConfig.named("aes-small"), optimise="-O1", seed=7) as sim:
        yield sim


def compare(sim: Simulation[AesConfig], log_n: int, number: int, length: int) -> int:
    """Runs a random program on both; its cycles."""
    want, got = (case(sim.config, log_n, number, length) for _ in range(2))
    Interpreter(want.config, want.memory).run(want.program)
    cycles = got.run(sim, _SILENCE)
    np.testing.assert_array_equal(got.polynomials, want.polynomials)
    return cycles


def encoded(*instructions: Instruction) -> Words:
    return Program(0, instructions).words()


def given(sim: Simulation[AesConfig], log_n: int, instructions: list[Instruction], number: int = 1) -> Case:
    """A random program's memory with these instructions."""
    drawn = case(sim.config, log_n, number, 0)
    return replace(drawn, program=Program(log_n, instructions))


@pytest.mark.parametrize("log_n", [7, 8])
def test_random_programs(small, log_n):
    for number in range(3):
        compare(small, log_n, number, 60)


@pytest.mark.long
@pytest.mark.parametrize("log_n", [7, 10, 13])
def test_many_random_programs(small, log_n):
    for number in range(100, 130 if log_n < 13 else 106):
        compare(small, log_n, number, 150)


@pytest.mark.long
@pytest.mark.parametrize("stall", [0, 40])
def test_random_programs_on_fewer_banks(stall):
    with Simulation(AesConfig.named("aes-paper64-small"), optimise="-O1", stall_percent=stall, seed=7) as sim:
        for number in range(20):
            compare(sim, 7 + number % 4, number, 60)


def test_an_empty_program_ends(small):
    assert case(small.config, 7, 1, 0).run(small) < 100


# ---- what it refuses ------------------------------------------------------------------------------

_PLACE = "a buffer, a slot or a port that it does not have, or operands that do not go together"
_ROWS = "an instruction has no rows, or more than a table has"
_UNKNOWN = "an instruction that it does not know, or that its engine does not have"


def refused(sim: Simulation[AesConfig], bad: Instruction, message: str) -> None:
    """Runs a program with an instruction that is refused in its middle."""
    drawn = case(sim.config, 7, 1, 20)
    at = len(drawn.program.instructions) // 2
    words = drawn.program.words()
    drawn.start(sim, np.concatenate([words[: _WORDS * at], encoded(bad), words[_WORDS * at :]]))
    with pytest.raises(HardwareError, match=f"element 0, after {at} instructions: .*{message}"):
        sim.run(drawn.at, silence=_SILENCE)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (Instruction(Op.LOADS, dst=4), _PLACE),
        (Instruction(Op.LOADX, dst=4), _PLACE),
        (Instruction(Op.LOADK, dst=2), _PLACE),
        (Instruction(Op.NTT, dst=4, src=4), _PLACE),
        (Instruction(Op.NTT, dst=1, src=4, half=True), _PLACE),
        (Instruction(Op.MUL, dst=1, src=4, init=True), _PLACE),
        (Instruction(Op.MUL, dst=1, src=2, src2=2, key=True), _PLACE),
        (Instruction(Op.MUL, dst=1, src=2, src2=4), _PLACE),
        (Instruction(Op.MUL, dst=1, src=1, src2=1, key=True), _PLACE),
        (Instruction(Op.MUL, dst=1, src=2, src2=1), _PLACE),
        (Instruction(Op.SCALE, dst=4), _PLACE),
        (Instruction(Op.STORE, src=4), _PLACE),
        (Instruction(Op.LOADT), _ROWS),
        (Instruction(Op.LOADT, rows=9), _ROWS),
        (Instruction(Op.LOADT, rows=1 << 31), _ROWS),
    ],
    ids=lambda x: x.op.name if isinstance(x, Instruction) else "",
)
def test_refusals(small, bad, message):
    refused(small, bad, message)
    compare(small, 7, 2, 20)


def test_what_only_one_engine_does(small):
    if small.config.fast:
        refused(small, Instruction(Op.REVS), _UNKNOWN)
        refused(small, Instruction(Op.REVX, dst=1), _UNKNOWN)
    else:
        refused(small, Instruction(Op.NTT, dst=1, src=2), _PLACE)
        refused(small, Instruction(Op.NTT, half=True), _PLACE)
        refused(small, Instruction(Op.REVX, dst=1, src=1), _PLACE)
        for op in (Op.LOADS, Op.LOADX, Op.LOADK, Op.LOADC, Op.STORE):
            refused(small, Instruction(op, port=1), _PLACE)
        refused(small, Instruction(Op.LOADT, port=1, rows=1), _PLACE)
    compare(small, 7, 2, 20)


def test_unknown_operations_and_lengths(small):
    empty = case(small.config, 7, 1, 0)
    for op in (0, 12, 15):
        empty.start(small, np.array([op, 0, 0, 0], np.uint64))
        small.write(OWN["INSTRUCTIONS"], 1)
        with pytest.raises(HardwareError, match=f"after 0 instructions: {_UNKNOWN}"):
            small.run(empty.at, silence=_SILENCE)
    for log_n in (6, 14, 0, 7 + 32, 1 << 31):
        empty.start(small)
        small.write(OWN["LOG_N"], log_n)
        with pytest.raises(HardwareError, match="a length of transforms that it does not take"):
            small.run(empty.at, silence=_SILENCE)
    compare(small, 7, 3, 20)


# ---- registers ------------------------------------------------------------------------------------


def test_settings_stand_during_a_run(small):
    drawn = case(small.config, 7, 1, 60)
    drawn.start(small)
    small.start(drawn.at)
    assert not small.advance(100)
    for address in OWN.values():
        assert small.read(address) >= 0
        with pytest.raises(HardwareError, match="with an error"):
            small.write(address, 1)
    while not small.advance(10_000):
        pass
    small.check()
    want = case(small.config, 7, 1, 60)
    Interpreter(want.config, want.memory).run(want.program)
    np.testing.assert_array_equal(drawn.polynomials, want.polynomials)
    for address in OWN.values():
        small.write(address, 7)
        assert small.read(address) == 7


def test_shape_and_counters(small):
    c = small.config
    cycles = compare(small, 7, 1, 60)
    assert small.read(Register.SHAPE) == c.fast << 28 | c.ports << 24 | c.starts << 16 | c.lanes
    assert small.read(Register.RANGE) == c.link_gap << 24 | c.link_burst << 16 | c.max_log_n << 8 | c.min_log_n
    counts = case(c, 7, 1, 60).program.counts()
    load, move, execute, store = (small.read(0xC0 + 8 * i) for i in range(4))
    rows, wide = c.rows(7), 128 // c.lanes
    loads = sum(counts.get(name, 0) for name in ("LOADX", "LOADK"))
    assert cycles > load >= rows * loads // c.ports
    assert cycles > move >= rows * (counts.get("REVS", 0) + counts.get("REVX", 0))
    assert cycles > execute >= wide * sum(counts.get(name, 0) for name in ("NTT", "MUL", "SCALE"))
    assert cycles > store >= rows * counts.get("STORE", 0)


# ---- rates ----------------------------------------------------------------------------------------


def keys(sim: Simulation[AesConfig], count: int, *, port: int, digits: int = 0) -> int:
    """Cycles of so many keys over a port, one after the other, with a load of digits over the other for each."""
    base = case(sim.config, 12, 1, 0)
    address = next(iter(base.memory)).address
    program = []
    for i in range(count):
        program.append(Instruction(Op.LOADK, dst=i % 2, port=port, addr=address))
        if i < digits:
            program.append(Instruction(Op.LOADS, dst=i % 4, half=True, port=1 - port, addr=address))
    return given(sim, 12, program).run(sim, _SILENCE)


@pytest.mark.parametrize("port", [0, 1])
def test_consecutive_loads_leave_no_gap(fast, port):
    # What one more takes is its rows, over the link with its rests, and nothing for asking.
    c = fast.config
    rows = c.rows(12) * (1 if port else (c.link_burst + c.link_gap) / c.link_burst)
    assert keys(fast, 12, port=port) - keys(fast, 4, port=port) == pytest.approx(8 * rows, rel=0.01)
    # Digits over the other port come beside them.
    assert keys(fast, 12, port=port, digits=12) - keys(fast, 12, port=port) < 2 * c.rows(12)


# ---- what goes wrong ------------------------------------------------------------------------------


def test_memory_that_is_not_there(small):
    # Each unit that reads or writes, at an address behind all memory; and a program that is not there.
    drawn = case(small.config, 7, 1, 30)
    nowhere = drawn.at + (1 << 24)
    words = drawn.program.words()
    for port in range(small.config.ports):
        for op in (Op.LOADS, Op.LOADX, Op.LOADK, Op.LOADT, Op.LOADC, Op.STORE):
            bad = Instruction(op, addr=nowhere, port=port, rows=1)
            drawn.start(small, np.concatenate([words, encoded(bad)]))
            small.write(OWN["INSTRUCTIONS"], words.size // _WORDS + 1)
            with pytest.raises(HardwareError, match=f"(?s)bus error.*{port}|{port}.*bus error"):
                small.run(drawn.at, silence=_SILENCE)
    drawn.start(small)
    with pytest.raises(HardwareError, match="bus error"):
        small.run(nowhere, silence=_SILENCE)
    compare(small, 7, 4, 20)


def test_aborts_at_random_moments(small):
    rng = random.Random(1)
    total = compare(small, 7, 0, 60)
    for number in range(12):
        drawn = case(small.config, 7, 0, 60)
        drawn.start(small)
        small.start(drawn.at)
        assert not small.advance(rng.randrange(1, total * 3 // 4))
        # By the machine's abort, or by the line that resets it.
        if number % 3:
            small.write(Register.COMMAND, field("COMMAND", "ABORT").mask)
            assert small.advance(5_000)
            with pytest.raises(HardwareError, match="aborted"):
                small.check()
        else:
            small.reset()
            small._running = False
        if number % 4 == 0:
            compare(small, 7, number, 20)
    compare(small, 8, 5, 40)


def test_a_program_that_waits_for_what_never_comes(small):
    drawn = case(small.config, 7, 1, 20)
    stuck = Instruction(Op.STORE, need=1, wait=(1000, 0, 0, 0))
    drawn.start(small, np.concatenate([drawn.program.words(), encoded(stuck)]))
    small.write(OWN["INSTRUCTIONS"], len(drawn.program.instructions) + 1)
    small.watch(5_000)
    try:
        with pytest.raises(HardwareError, match="not done within the watchdog"):
            small.run(drawn.at, silence=_SILENCE)
    finally:
        small.watch(0)
    compare(small, 7, 2, 20)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("aes-paper", {"starts": 8}, "16 times as many"),
        ("aes-paper-small", {"starts": 32}, "at least starts"),
        ("aes-paper-small", {"lanes": 8, "min_log_n": 6, "max_log_n": 6}, "128 words at least"),
        ("aes-paper", {"min_log_n": 9, "max_log_n": 9}, "4 wide rows"),
        ("aes-fast", {"min_log_n": 9}, "4 wide rows"),
        ("aes-small", {"read_rows": 15}, "two bursts"),
        ("aes-small", {"ports": 3}, "1 or 2"),
    ],
)
def test_configurations_that_do_not_elaborate(name, changes, message):
    with pytest.raises(ValueError, match=message):
        AesConfig.model_validate(AesConfig.named(name).model_dump() | changes)
