# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The simulated machine against the interpreter, instruction by instruction; errors, resets, stalls."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ringforge.errors import HardwareError
from ringforge.hw.core.registers import Register
from ringforge.hw.core.simulator import Simulation, place_programs
from ringforge.hw.vector.isa import Instruction, Opcode, encode
from tests.hw.machine import OUTPUTS, PROGRAMS, Bench


@pytest.mark.parametrize("bits", [50, 54])
@pytest.mark.parametrize("log_n", [7, 8, 10, 11])
def test_every_operation_is_bit_exact(small: Simulation, log_n: int, bits: int) -> None:
    bench = Bench(small.config, log_n, bits)
    program = bench.everything()
    out, _ = bench.simulated(small, program)
    assert np.array_equal(out, bench.expected(program))


def test_registers_describe_the_machine(small: Simulation) -> None:
    c = small.config
    assert small.read(Register.SHAPE) == c.groups | c.pes << 8 | c.lanes << 16 | c.word_bits << 24
    assert small.read(Register.RANGE) == c.min_log_n | c.max_log_n << 8 | c.banks << 16 | int(c.montgomery) << 24


def test_transform_takes_a_row_per_cycle_and_stage(small: Simulation) -> None:
    """log2 N stages of N/c cycles and one latency, when rows are many enough to run stages back to back."""
    bench = Bench(small.config, 11, 50)
    program = bench.setup()
    one = [*program, Instruction.ntt(bench.slot(0, 0), bench.slot(0, 0), bench.table(0), 0), Instruction.end()]
    two = [*one[:-1], Instruction.intt(bench.slot(0, 0), bench.slot(0, 0), bench.table(0), 0), Instruction.end()]
    cycles = bench.simulated(small, two)[1] - bench.simulated(small, one)[1]
    assert 11 * bench.rows < cycles <= 11 * bench.rows + 40


@pytest.mark.parametrize("what", ["twiddle", "key", "instruction"])
def test_corrupting_one_word_changes_the_result(small: Simulation, what: str) -> None:
    """The comparison is sharp: one wrong bit anywhere in what the machine reads is seen."""
    bench = Bench(small.config, 8, 50)
    program = bench.everything()
    good = bench.expected(program)
    if what == "twiddle":
        bench.inputs[1][37] ^= np.uint64(1)
    elif what == "key":
        bench.inputs[4][11] ^= np.uint64(1)
    out, stride = bench.load(small, program)
    if what == "instruction":
        words, stride = place_programs(bench.encoded(program))
        index = next(k for k, i in enumerate(program) if i.imm == 5)
        words.reshape(-1, 4)[index, 2] ^= np.uint64(2)  # another Galois element
        small.map(PROGRAMS + 0x1000000, words)
        small.run(PROGRAMS + 0x1000000, stride, limit=1_000_000)
    else:
        small.run(PROGRAMS, stride, limit=1_000_000)
    assert not np.array_equal(out, good)


def _bad_programs(b: Bench) -> dict[str, tuple[list[Instruction], str]]:
    i, s = Instruction, b.slot
    setup = b.setup()
    return {
        "opcode": ([*setup, i(99)], "unknown operation"),  # type: ignore[arg-type]
        "zeros": ([*setup, i(0)], "unknown operation"),  # type: ignore[arg-type]
        "bank": ([*setup, i.load(s(3, 0), b.input(2))], "a slot outside"),
        "row": ([*setup, i.load(s(2, 0) + 1, b.input(2))], "a slot outside"),
        "beyond": ([*setup, i.load(s(2, b.config.bank_rows // b.rows), b.input(2))], "a slot outside"),
        "table": ([*setup, i.ntt(s(0, 0), s(0, 0), s(0, 1), 0)], "a slot outside"),
        "two in a bank": ([*setup, i.mac(s(1, 0), s(0, 0), 0, imm=1, c=s(0, 1), post_add=True)], "two sources"),
        "in place": ([*setup, i.auto(s(0, 0), s(0, 0), 5)], "a slot outside"),
        "even element": ([*setup, i.auto(s(0, 1), s(0, 0), 4)], "Galois element"),
        "large element": ([*setup, i.auto(s(0, 1), s(0, 0), 2 * b.degree + 1)], "Galois element"),
        "send to itself": ([*setup, i.send(s(0, 0), 1)], "out of range"),
        "receive from nobody": ([*setup, i.recv(s(0, 1), b.config.pes)], "out of range"),
        "no degree": ([i.load(s(0, 0), b.input(2))], "CONF"),
        "degree": ([i.conf(b.config.max_log_n + 1, 0)], "CONF"),
        "shift": ([i(Opcode.CONF, imm=b.log_n | 8 << 8)], "CONF"),
        "stray bit of CONF": ([i(Opcode.CONF, imm=b.log_n | 32 | b.shift << 8)], "CONF"),
        "modulus without its shift": ([setup[0], i.modulus(0, b.primes[0], 1)], "CONF"),
        "modulus of too many bits": ([setup[0], i.modulus(0, b.primes[0] << b.shift + 1, 1)], "CONF"),
        "address": ([*setup, i.load(s(2, 0), b.input(2) + 64)], "not aligned"),
        "unmapped": ([*setup, i.load(s(2, 0), 0x70000000)], "bus error"),
        "store nowhere": ([*setup, i.store(s(0, 0), 0x70000000)], "bus error"),
        "stream nowhere": ([*setup, i.stream(0x70000000), i.mac(s(0, 0), s(0, 0), 0, stream=True)], "bus error"),
    }


def _encode_raw(program: list[Instruction]) -> np.ndarray:
    words = np.zeros((len(program), 4), np.uint64)
    for n, i in enumerate(program):
        words[n] = (
            encode([i])[0] if i.op in (1, 2, 3, 4, 16, 17, 18, 24, 25, 26, 32, 33, 34, 48) else (int(i.op), 0, 0, 0)
        )
    return words


_CASES = [
    "opcode", "zeros", "bank", "row", "beyond", "table", "two in a bank", "in place", "even element", "large element",
    "send to itself", "receive from nobody", "no degree", "degree", "shift", "stray bit of CONF",
    "modulus without its shift", "modulus of too many bits", "address", "unmapped", "store nowhere",
    "stream nowhere",
]  # fmt: skip


def test_a_montgomery_machine_has_no_shift(machines: Callable[[str], Simulation]) -> None:
    sim = machines("matvec-small-montgomery")
    sim.reset()
    bench = Bench(sim.config, 8, 50)
    q = bench.primes[0]
    for bad in ([Instruction.conf(8, 4)], [Instruction.conf(8, 0), Instruction.modulus(0, q >> 5, 0)]):
        bench.load(sim, bench.everything())
        words, stride = place_programs(bench.encoded([*bad, Instruction.end()]))
        sim.map(PROGRAMS + 0x1000000, words)
        with pytest.raises(HardwareError, match="CONF"):
            sim.run(PROGRAMS + 0x1000000, stride, limit=100_000)


@pytest.mark.parametrize("case", _CASES)
def test_refused_instructions_stop_the_machine(machines: Callable[[str], Simulation], case: str) -> None:
    sim = machines("matvec-small")
    sim.reset()
    bench = Bench(sim.config, 8, 50)
    bad, message = _bad_programs(bench)[case]
    end = encode([Instruction.end()])
    words, stride = place_programs([_encode_raw([*bad, Instruction.end()]), *[end] * (sim.config.elements - 1)])
    good = bench.everything()
    out, _ = bench.load(sim, good)
    sim.map(PROGRAMS + 0x1000000, words)
    with pytest.raises(HardwareError, match=message):
        sim.run(PROGRAMS + 0x1000000, stride, limit=100_000)
    # Without any reset from outside, the next program runs and is right.
    out[:] = 0
    _, stride = place_programs(bench.encoded(good))
    sim.run(PROGRAMS, stride, limit=1_000_000)
    assert np.array_equal(out, bench.expected(good))


def test_reset_in_mid_program(small: Simulation) -> None:
    """After a reset at any moment the next program gives the same results in the same number of cycles."""
    bench = Bench(small.config, 8, 54)
    program = bench.everything()
    good, cycles = bench.simulated(small, program)
    good = good.copy()
    rng = np.random.default_rng(5)
    for at in rng.integers(1, cycles, 8):
        _, stride = bench.load(small, program)
        small.start(PROGRAMS, stride)
        assert not small.advance(int(at))
        small.reset()
        out, again = bench.simulated(small, program)
        assert np.array_equal(out, good)
        assert again == cycles


@pytest.mark.parametrize("stall", [10, 60])
def test_stalls_of_memory_change_nothing_but_time(machines: Callable[[str], Simulation], stall: int) -> None:
    config = machines("matvec-small").config
    bench = Bench(config, 8, 50)
    program = bench.everything()
    with Simulation(config, optimise="-O1", stall_percent=stall, seed=stall) as slow:
        out, cycles = bench.simulated(slow, program)
    assert np.array_equal(out, bench.expected(program))
    assert cycles > bench.simulated(machines("matvec-small"), program)[1]


def test_outputs_are_where_they_should_be(small: Simulation) -> None:
    """Nothing is written outside the stored polynomials."""
    bench = Bench(small.config, 7, 50)
    program = bench.everything()
    out, _ = bench.simulated(small, program)
    used = np.zeros(out.size, bool)
    for n in range(10):
        first = (bench.output(n) - OUTPUTS) // 8
        used[first : first + bench.degree] = True
    assert not out[~used].any()
