# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Helpers of the hardware tests: programs for one element, run by the interpreter and by the simulated machine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ringforge._native import kernels
from ringforge.hw.core.dram import Dram
from ringforge.hw.core.simulator import Simulation, place_programs
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.vector import constants
from ringforge.hw.vector.interpreter import Interpreter
from ringforge.hw.vector.isa import Instruction, encode, slot

INPUTS, OUTPUTS, PROGRAMS = 0x100000, 0x4000000, 0x40000000


class Bench:
    """A machine, two primes of one length, twiddle tables and random polynomials in memory.

    Input polynomials 0 and 1 are the tables of the primes; 2 and 3 random residues of the first and second prime; 4
    a random multiplier of the second.
    """

    def __init__(self, config: MatvecConfig, log_n: int, bits: int, seed: int = 1, outputs: int = 16) -> None:
        self.config, self.log_n, self.degree, self.rows = config, log_n, 1 << log_n, config.rows(log_n)
        self.primes = kernels.primes_below(bits, 2, 1 << 18)
        self.shift = config.shift(bits)
        self.size = max(8 << log_n, 4096)
        rng = np.random.default_rng(seed)

        def random(q: int) -> np.ndarray:
            return rng.integers(0, q, self.degree, dtype=np.uint64)

        p, q = self.primes
        self.tables = [constants.twiddles(config, x, log_n).copy() for x in self.primes]
        self.key = constants.multiplier(config, random(q), q).copy()
        self.inputs = [*self.tables, random(p), random(q), self.key]
        self.outputs = outputs

    def input(self, i: int) -> int:
        return INPUTS + i * self.size

    def output(self, i: int) -> int:
        return OUTPUTS + i * self.size

    def slot(self, bank: int, index: int) -> int:
        return slot(bank, index * self.rows)

    def table(self, i: int) -> int:
        return slot(7, i * self.rows)

    def setup(self) -> list[Instruction]:
        """CONF, both moduli, both tables, inputs 2 and 3 in slots (0, 0) and (1, 0)."""
        i = Instruction
        return [
            i.conf(self.log_n, self.shift),
            *(
                i.modulus(n, q << self.shift, constants.multiplier_constant(self.config, q))
                for n, q in enumerate(self.primes)
            ),
            i.load(self.table(0), self.input(0)),
            i.load(self.table(1), self.input(1)),
            i.load(self.slot(0, 0), self.input(2)),
            i.load(self.slot(1, 0), self.input(3)),
        ]

    def memory(self) -> Dram:
        dram = Dram(self.config.dram_bytes)
        for n, words in enumerate(self.inputs):
            dram.map(self.input(n), words.copy())
        dram.reserve(OUTPUTS, self.outputs * self.size)
        return dram

    def encoded(self, program: Sequence[Instruction]) -> list[np.ndarray]:
        """The program for element 0; the others end at once."""
        return [encode(program), *(encode([Instruction.end()]) for _ in range(self.config.elements - 1))]

    def expected(self, program: Sequence[Instruction]) -> np.ndarray:
        dram = self.memory()
        Interpreter(self.config, dram).run(self.encoded(program))
        return next(s for s in dram if s.address == OUTPUTS).words

    def load(self, sim: Simulation, program: Sequence[Instruction]) -> tuple[np.ndarray, int]:
        """Maps memory and programs; gives the output memory and the programs' stride."""
        dram = self.memory()
        words, stride = place_programs(self.encoded(program))
        sim.unmap_all()
        sim.map_dram(dram)
        sim.map(PROGRAMS, words)
        return next(s for s in dram if s.address == OUTPUTS).words, stride

    def simulated(self, sim: Simulation, program: Sequence[Instruction]) -> tuple[np.ndarray, int]:
        """Outputs and cycles of the machine."""
        out, stride = self.load(sim, program)
        cycles = sim.run(PROGRAMS, stride, limit=5_000_000)
        return out, cycles

    def everything(self) -> list[Instruction]:
        """A program with every operation that one element can do alone, each result stored."""
        i, s = Instruction, self.slot
        q = self.primes[1]
        n = self.degree
        steps = [
            (i.ntt(s(0, 1), s(0, 0), self.table(0), 0), s(0, 1)),
            (i.intt(s(0, 0), s(0, 1), self.table(0), 0), s(0, 0)),
            (i.ntt(s(2, 0), s(0, 0), self.table(1), 1, lift_from=0), s(2, 0)),
            (i.auto(s(2, 1), s(2, 0), 5), s(2, 1)),
            (i.auto(s(1, 1), s(2, 0), 2 * n - 1), s(1, 1)),
            (i.auto(s(1, 1), s(2, 0), 1155 % (2 * n)), s(1, 1)),
            (i.mac(s(0, 1), s(1, 0), 1, stream=True, c=s(2, 0), post_add=True), s(0, 1)),
            (
                i.mac(s(0, 1), s(1, 0), 1, imm=constants.scalar(self.config, 987654321, q), c=s(2, 0), pre_sub=True),
                s(0, 1),
            ),
            (i.mac(s(0, 1), s(1, 0), 1, b=s(2, 0)), s(0, 1)),
            (i.intt(s(1, 0), s(1, 0), self.table(1), 1), s(1, 0)),
        ]
        program = [*self.setup(), i.stream(self.input(4))]
        for n, (step, result) in enumerate(steps):
            program += [step, i.store(result, self.output(n))]
        return [*program, i.end()]
