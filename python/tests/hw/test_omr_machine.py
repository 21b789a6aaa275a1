# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The omr machine in RTL: random programs against the interpreter, stalls, refusals, aborts, reset, bus errors."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import nullcontext

import numpy as np
import pytest

from ringforge.errors import HardwareError
from ringforge.hw.core.registers import Register, field
from ringforge.hw.core.simulator import Simulation
from ringforge.hw.machines.omr import replica
from ringforge.hw.machines.omr.config import OmrConfig
from ringforge.hw.machines.omr.interpreter import Interpreter, check_waits
from ringforge.hw.machines.omr.layout import Key, Memory, Pair, Target, key_words
from ringforge.hw.machines.omr.program import Builder, Instruction, Op, Program
from ringforge.hw.machines.omr.rotation import Core, Rotation, rotate
from ringforge.hw.machines.omr.runner import BUSY, Interpreted, Simulated
from ringforge.hw.machines.omr.schedule import schedule
from ringforge.hw.machines.omr.timing import Timing
from tests.hw.omr_programs import case, masked, primes, registers

#: A run without a beat for so many cycles has come to a stand.
_SILENCE = 20_000
_MACHINES = ["omr-small", "omr-small-wide"]


@pytest.fixture(scope="module", params=[(name, stall) for name in _MACHINES for stall in (0, 40)], ids=str)
def small(request: pytest.FixtureRequest) -> Iterator[Simulation[OmrConfig]]:
    """A small machine, with memory that answers at once or stalls."""
    name, stall = request.param
    with Simulation(OmrConfig.named(name), optimise="-O1", stall_percent=stall, seed=7) as sim:
        yield sim


def compare(sim: Simulation[OmrConfig], log_n: int, number: int, length: int) -> int:
    """Runs a random program on both; its cycles."""
    want, got = (case(sim.config, log_n, number, length) for _ in range(2))
    Interpreter(want.config, want.memory).run(want.program)
    cycles = got.run(sim, _SILENCE)
    np.testing.assert_array_equal(got.limbs, want.limbs)
    return cycles


@pytest.mark.parametrize("log_n", [6, 7])
def test_random_programs(small, log_n):
    for number in range(3):
        compare(small, log_n, number, 60)


@pytest.mark.long
@pytest.mark.parametrize("log_n", [6, 8, 9])
def test_many_random_programs(small, log_n):
    for number in range(100, 130):
        compare(small, log_n, number, 150)


def rotations(config: OmrConfig, log_n: int) -> tuple[Memory, Program, list[int]]:
    """Two rotations, one of the other's result, with keys that switch nothing; and where the results lie."""
    numbers, n = np.random.default_rng(log_n), 1 << log_n
    found = primes(config, log_n, 8)
    target = Target(config, log_n, tuple(found[:5]), tuple(found[5:]), 3)
    memory, builder = Memory(config), Builder(log_n)
    core = Core.begin(builder, target, memory)
    moduli = np.array(target.q, np.uint64).reshape(1, -1, 1)
    key = key_words(target, lambda _part, _digit, at: numbers.integers(0, target.ext[at], n, np.uint64), 5)
    switch = Key(memory.put("keys", key, target.limb_bytes), len(target.ext), target.limb_bytes)

    def ciphertext() -> Pair:
        words = numbers.integers(0, 1 << 62, (2, 5, n), np.uint64) % moduli
        return Pair.at(memory.put("input", words.reshape(-1), 4096), 5, target.limb_bytes)

    results = [memory.reserve("output", 10 * target.limb_bytes, 4096) for _ in range(2)]
    pairs = [Pair.at(at, 5, target.limb_bytes) for at in results]
    first, second = Rotation(ciphertext(), pairs[0], switch, 3), Rotation(pairs[0], pairs[1], switch, 5, ciphertext())
    rotate(core, [first, second])
    order = schedule(builder, Timing(config, log_n).cycles).order
    return memory, builder.program(order), results


@pytest.mark.parametrize("log_n", [7, 9])
def test_rotations(small, log_n, request):
    # 10 limbs of 128 words are whole flags of what has been written.
    want, program, results = rotations(small.config, log_n)
    Interpreted().run(program, want)
    got, program, _ = rotations(small.config, log_n)
    ran = Simulated(small, silence=_SILENCE).run(program, got)
    for at in results:
        np.testing.assert_array_equal(got.view(at, 10 << log_n), want.view(at, 10 << log_n))
    assert ran.cycles is not None
    # Memory that stalls makes it longer.
    timed = replica.run(small.config, program).cycles
    _, stall = request.node.callspec.params["small"]
    assert timed * 0.98 < ran.cycles < timed * (4 if stall else 1.02)


def test_an_empty_program_ends(small):
    assert case(small.config, 6, 1, 0).run(small) < 100


@pytest.mark.parametrize(
    ("instruction", "message"),
    [
        ({"op": Op.LOADX, "dst": 8}, "a buffer, a table, a way or rows that it does not have"),
        ({"op": Op.LOADX, "ways": 4}, "a buffer, a table, a way or rows that it does not have"),
        ({"op": Op.LOADX, "ways": 0}, "a buffer, a table, a way or rows that it does not have"),
        ({"op": Op.NTT, "bank": 2}, "a buffer, a table, a way or rows that it does not have"),
        ({"op": Op.SCALE, "bank": 48}, "a buffer, a table, a way or rows that it does not have"),
        ({"op": Op.SUM, "src": 3, "count": 1}, "a buffer, a table, a way or rows that it does not have"),
        ({"op": Op.KMAC, "to_x": True, "dst": 1, "src": 1}, "or results over an operand that it still reads"),
        ({"op": Op.AUTO, "dst": 1, "element": 2}, "a count of 0 or one that is too large, or an even element"),
        ({"op": Op.AUTO, "dst": 1, "element": 129}, "a count of 0 or one that is too large, or an even element"),
        ({"op": Op.CONV}, "a count of 0 or one that is too large, or an even element"),
        ({"op": Op.LOADM, "mod": 63, "count": 2}, "a count of 0 or one that is too large, or an even element"),
    ],
)
def test_refusals(small, instruction, message):
    given = case(small.config, 6, 1, 20)
    at = len(given.program.instructions) // 2
    words = given.program.words()
    bad = Instruction(**({"ways": 1} | instruction)).encode().to_bytes(64, "little")
    spoilt = np.concatenate([words[: 8 * at], np.frombuffer(bad, np.uint64), words[8 * at :]])
    given.start(small, spoilt)
    with pytest.raises(HardwareError, match=f"element 0, after {at} instructions: .*{message}"):
        small.run(given.at, silence=_SILENCE)
    compare(small, 6, 2, 20)


def test_unknown_operations_and_degrees(small):
    given = case(small.config, 6, 1, 0)
    for op in (0, 14, 15):
        words = np.array([op, *[0] * 7], np.uint64)
        given.start(small, words)
        with pytest.raises(HardwareError, match="after 0 instructions: an instruction that it does not know"):
            small.run(given.at, silence=_SILENCE)
    for log_n in (5, 13, 0, 6 + 32, 1 << 31):
        given.start(small)
        small.write(registers()["LOG_N"], log_n)
        with pytest.raises(HardwareError, match="a degree that it does not take"):
            small.run(given.at, silence=_SILENCE)
    compare(small, 6, 3, 20)


def test_settings_stand_during_a_run(small):
    given = case(small.config, 7, 1, 60)
    given.start(small)
    small.start(given.at)
    assert not small.advance(100)
    for address in registers().values():
        assert small.read(address) >= 0
        with pytest.raises(HardwareError, match="with an error"):
            small.write(address, 1)
    while not small.advance(10_000):
        pass
    small.check()
    want = case(small.config, 7, 1, 60)
    Interpreter(want.config, want.memory).run(want.program)
    np.testing.assert_array_equal(given.limbs, want.limbs)
    for address in registers().values():
        small.write(address, 7)
        assert small.read(address) == 7


def test_memory_that_is_not_there(small):
    # Each unit that reads or writes, at an address behind all memory.
    given = case(small.config, 6, 1, 30)
    nowhere = {"addr0": given.at + (1 << 24), "addr1": given.at + (1 << 24)}
    programs = [
        {"op": Op.LOADX}, {"op": Op.LOADT}, {"op": Op.LOADC, "count": 4}, {"op": Op.LOADM, "count": 1},
        {"op": Op.KMAC, "init": True, "from_memory": True}, {"op": Op.FINAL, "add": True}, {"op": Op.STORE},
        {"op": Op.SUM, "src": 1, "count": 2, "stride0": nowhere["addr0"]},
    ]  # fmt: skip
    words = given.program.words()
    for fields in programs:
        bad = Instruction(**({"ways": 1} | nowhere | fields)).encode().to_bytes(64, "little")
        given.start(small, np.concatenate([words, np.frombuffer(bad, np.uint64)]))
        with pytest.raises(HardwareError, match="bus error"):
            small.run(given.at, silence=_SILENCE)
    compare(small, 6, 4, 20)


def test_aborts_at_random_moments(small):
    rng = random.Random(1)
    total = compare(small, 6, 0, 60)
    for number in range(12):
        given = case(small.config, 6, 0, 60)
        given.start(small)
        small.start(given.at)
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
            compare(small, 6, number, 20)
    compare(small, 7, 5, 40)


@pytest.mark.parametrize("active", [1, 2])
def test_ways_that_are_not_active_keep_what_they_hold(small, active):
    """Of every operation that writes X."""
    if small.config.ways == 1:
        pytest.skip("one way")
    want, got = (masked(small.config, 6, active) for _ in range(2))
    before = want.limbs.copy()
    Interpreter(want.config, want.memory).run(want.program)
    kept, changed = 1 - (active >> 1), active >> 1
    np.testing.assert_array_equal(want.limbs[0, :8, kept], before[0, :8, kept])
    assert (want.limbs[0, :8, changed] != before[0, :8, changed]).any(axis=-1).all()
    got.run(small, _SILENCE)
    np.testing.assert_array_equal(got.limbs, want.limbs)


def test_a_program_that_waits_for_what_never_comes(small):
    given = case(small.config, 6, 1, 20)
    stuck = Instruction(Op.STORE, ways=1, need=1, wait=(1000, *[0] * 7)).encode().to_bytes(64, "little")
    given.start(small, np.concatenate([given.program.words(), np.frombuffer(stuck, np.uint64)]))
    small.watch(5_000)
    try:
        with pytest.raises(HardwareError, match="not done within the watchdog"):
            small.run(given.at, silence=_SILENCE)
    finally:
        small.watch(0)
    compare(small, 6, 2, 20)


def test_counts_that_are_passed_by_half_their_range_are_refused():
    # The fifth SUM is not handed out before the first has started; four of them wait beside all loads.
    sums = [Instruction(Op.SUM, src=1, count=1, stride0=1 << 20, need=1, wait=(1, *[0] * 7))] * 4
    load = Instruction(Op.LOADX, ways=1, addr0=1 << 30)
    for count, refused in ((1 << 15, True), ((1 << 15) - 1, False)):
        program = Program(6, [Instruction(Op.LOADM, count=1), *sums, *[load] * count])
        with pytest.raises(HardwareError, match="counts are known as reached") if refused else nullcontext():
            check_waits(program)


def test_builders_refuse_them_too():
    b = Builder(6)
    b.add(Op.LOADM, count=1)
    for _ in range(4):
        b.add(Op.SUM, src=1, count=1, stride0=1 << 20)
    for _ in range(1 << 15):
        b.add(Op.LOADT, ways=1, addr0=1 << 30)
    with pytest.raises(HardwareError, match=r"SUM, waits for 1 of LOAD, .* so split the program"):
        b.program()


def test_sums_that_overwrite_their_operand_are_refused():
    given = case(OmrConfig.named("omr-small"), 6, 1, 30)
    machine = Interpreter(given.config, given.memory)
    machine.run(given.program)
    kept = next(i for i in given.program.instructions if i.op == Op.LOADX)
    bad = Instruction(Op.KMAC, ways=1, mod=kept.mod, to_x=True, init=True, add=True, src=2, dst=2)
    with pytest.raises(HardwareError, match="which is the operand"):
        machine.run(Program(6, [bad]))


def test_shape_and_counters(small):
    c = small.config
    cycles = compare(small, 6, 1, 60)
    shape = c.word_bits << 24 | c.sources << 20 | c.ways << 16 | c.butterflies << 8 | c.lanes
    kind = int(c.montgomery) << 16 | c.max_log_n << 8 | c.min_log_n
    assert small.read(Register.SHAPE) == shape
    assert small.read(Register.RANGE) == c.groups << 28 | c.cols << 24 | c.rows << 20 | kind
    program = case(c, 6, 1, 60).program
    found = dict(zip(BUSY, (small.read(0xC0 + 8 * i) for i in range(4)), strict=True))
    timing, own = Timing(c, 6), dict.fromkeys(BUSY, 0)
    for i in program.instructions:
        if i.unit.name in own:
            own[i.unit.name] += timing.cycles(i)
    for name, cycles_of in own.items():
        # Units of which none waits for memory take what the model says; the others that, or longer.
        most = 1.02 * cycles_of if name in ("XFORM", "CONV") else cycles
        assert 0.9 * cycles_of <= found[name] <= most, name
