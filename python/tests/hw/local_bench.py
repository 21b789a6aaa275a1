# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Helpers of the tests of machines whose elements have near memory of their own: programs, data, and runs of both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ringforge._native import kernels
from ringforge.hw.core.simulator import Simulation
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.vector import constants
from ringforge.hw.vector.interpreter import Interpreter
from ringforge.hw.vector.isa import Instruction, encode, slot
from tests.hw.local_memory import Memory, pieces

#: Programs start here in the near memory of their elements, far behind the data.
PROGRAMS, STRIDE = 0x1000000, 0x40000


def program_pieces(config: FameConfig, programs: Sequence[np.ndarray], at: int) -> Iterator[tuple[int, bytes]]:
    """Every element's program in its near memory, at multiples of STRIDE from an address on."""
    for e, words in enumerate(programs):
        # The instruction fetch reads ahead.
        size = -(-(words.nbytes + config.fetch_depth * config.line_bytes) // config.line_bytes) * config.line_bytes
        data = words.astype("<u8").tobytes().ljust(size, b"\0")
        yield from pieces(config, e, at + e * STRIDE, data)


def place(sim: Simulation[FameConfig], programs: Sequence[np.ndarray]) -> None:
    """Puts programs into memory, to be run from PROGRAMS on at distances of STRIDE."""
    for address, data in program_pieces(sim.config, programs, PROGRAMS):
        sim.map(address, np.frombuffer(bytearray(data), np.uint64))


def hold(sim: Simulation[FameConfig], programs: Sequence[np.ndarray], memory: Memory, expected: Memory) -> int:
    """Runs programs; all memory must then be as expected. Gives the cycles."""
    sim.unmap_all()
    arrays = memory.map(sim)
    place(sim, programs)
    cycles = sim.run(PROGRAMS, STRIDE, limit=5_000_000)
    assert expected.same(arrays), "memory differs from the interpreter's"
    return cycles


class LocalBench:
    """Two primes of one length, their tables, random polynomials, in every element's near memory, and other ones in far
    memory.

    Input 0 and 1 are the tables of the primes; 2 and 3 random residues of the first and second prime; 4 a random
    multiplier of the second. Outputs follow them.
    """

    OUTPUTS = 24

    def __init__(self, config: FameConfig, log_n: int, bits: int = 50, seed: int = 1) -> None:
        self.config, self.log_n, self.degree, self.rows = config, log_n, 1 << log_n, config.rows(log_n)
        self.primes = kernels.primes_below(bits, 2, 1 << 18)
        self.shift = config.shift(bits)
        self.size = config.polynomial_bytes(log_n) + config.line_bytes
        rng = np.random.default_rng(seed)
        self.inputs = []
        for _ in range(2 * config.elements):
            p, q = self.primes
            a, b, key = (rng.integers(0, x, self.degree, dtype=np.uint64) for x in (p, q, q))
            tables = [constants.twiddles(config, x, log_n) for x in self.primes]
            self.inputs.append([*tables, a, b, constants.multiplier(config, key, q)])

    def input(self, i: int) -> int:
        return self.config.line_bytes + i * self.size

    def output(self, i: int) -> int:
        return self.input(5 + i)

    def slot(self, bank: int, index: int) -> int:
        return slot(bank, index * self.rows)

    def table(self, i: int) -> int:
        return slot(7, i * self.rows)

    def setup(self) -> list[Instruction]:
        """CONF, the first prime in entry 0, the second in 1 and 33, the tables, inputs 2, 3 in slots (0, 0), (1, 0)."""
        i = Instruction
        return [
            i.conf(self.log_n, self.shift),
            *(
                i.modulus(n, q << self.shift, constants.multiplier_constant(self.config, q))
                for n, q in ((0, self.primes[0]), (1, self.primes[1]), (33, self.primes[1]))
            ),
            i.load(self.table(0), self.input(0)),
            i.load(self.table(1), self.input(1)),
            i.load(self.slot(0, 0), self.input(2)),
            i.load(self.slot(1, 0), self.input(3)),
        ]

    def memory(self) -> Memory:
        size = self.output(self.OUTPUTS)
        memory = Memory(self.config, size, size)
        for n, inputs in enumerate(self.inputs):
            far, e = divmod(n, self.config.elements)
            for k, words in enumerate(inputs):
                memory.put(e, self.input(k), words, far=bool(far))
        return memory

    def everything(self) -> list[Instruction]:
        """A program with every operation that one element can do alone, each result stored."""
        i, s = Instruction, self.slot
        p, q = self.primes
        scalar = constants.scalar(self.config, 987654321, q)
        steps = [
            i.ntt(s(0, 1), s(0, 0), self.table(0), 0),
            i.intt(s(0, 0), s(0, 1), self.table(0), 0),
            i.ntt(s(2, 0), s(0, 0), self.table(1), 33, lift_from=0),
            i.auto(s(2, 1), s(2, 0), 5),
            i.auto(s(3, 0), s(2, 0), 2 * self.degree - 1),
            i.mac(s(3, 1), s(1, 0), 1, stream=True, c=s(2, 0), post_add=True),
            i.mac(s(3, 1), s(1, 0), 33, imm=scalar, c=s(2, 0), pre_sub=True),
            i.mac(s(0, 1), s(1, 0), 1, b=s(2, 0)),
            i.mac(s(2, 1), s(0, 0), 33, imm=scalar, c=s(1, 0), post_add=True, lift_from=0),
            i.mac(s(2, 1), s(1, 0), 1, b=s(2, 1), c=s(0, 0), pre_sub=True, lift_from=0),
            i.intt(s(1, 1), s(1, 0), self.table(1), 1).beside(i.intt(s(3, 0), s(0, 0), self.table(0), 0)),
            i.ntt(s(2, 0), s(0, 0), self.table(0), 0, 0).beside(i.ntt(s(3, 1), s(0, 0), self.table(1), 33, 0)),
        ]
        program = [*self.setup(), i.copy(self.output(0), self.input(3)), i.copy(self.output(1), self.input(4))]
        program += [i.sync(0), i.stream(self.output(1))]
        places = iter(range(2, self.OUTPUTS))
        for step in steps:
            program += [step, i.store(step.dst, self.output(next(places)))]
            if step.pair:
                program.append(i.store(step.pair_dst, self.output(next(places))))
        program += [i.load(s(0, 0), self.output(0)), i.store(s(0, 0), self.output(next(places)))]
        assert p != q
        return [*program, i.end()]

    def all(self, program: Sequence[Instruction]) -> list[np.ndarray]:
        """The program for element 0; the others end at once."""
        return [encode(program), *(encode([Instruction.end()]) for _ in range(self.config.elements - 1))]

    def expected(self, programs: Sequence[np.ndarray]) -> Memory:
        memory = self.memory()
        Interpreter(self.config, memory).run(programs)
        return memory

    def run(self, sim: Simulation[FameConfig], program: Sequence[Instruction]) -> int:
        """Runs a program on element 0 and holds memory against the interpreter's; the cycles."""
        programs = self.all(program)
        return hold(sim, programs, self.memory(), self.expected(programs))
