# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The whole machine, simulated, against Python integers: a queue of every command, a polled run, runs that must fail."""

import random
from collections.abc import Iterator

import numpy as np
import pytest
from psi_reference import Gadget, Rlwe, Ring, primes

from ringforge.errors import HardwareError
from ringforge.hw.core import registers
from ringforge.hw.core.registers import Register
from ringforge.hw.core.simulator import Simulation
from ringforge.hw.machines.psi.config import PsiConfig

AT = {entry.name: entry.address for entry in registers.own(PsiConfig.room / "registers.json").entries}
STATE = {f.name: f for e in registers.own(PsiConfig.room / "registers.json").entries for f in e.fields}
END, EXEC, INPUT, OUTPUT, TABLES, SET = range(6)
STEP, SUBSTITUTE, INIT, PRODUCT = (op << 30 for op in range(4))
LAST = 1 << 29
PAGE, UNIT = 4096, 16384
KEYS, QUEUE, TABLE, DATA = 0x40_0000_0000, 0x1000_0000, 0x2000_0000, 0x3000_0000
LWE = 6
BOUNDS = (5 * 8, 7 * 8, 8, 3 * 8, 40, 8)

CUT_A, CUT_B, CUT_S = Gadget(7, 4), Gadget(9, 2, 9, True), Gadget(9, 3, 0, True)


class Bench:
    """A machine with keys, a table and the reference."""

    def __init__(self, sim: Simulation[PsiConfig], log_n: int = 7, bits: int = 27, seed: int = 1):
        self.sim, self.rng = sim, random.Random(seed)
        self.ring = Ring(primes(bits, 2 << log_n)[0], log_n, sim.config.word_bits)
        self.rlwe_bytes = sim.config.rlwe_bytes(log_n)
        sim.reset()
        sim.unmap_all()
        self.rows = [self.rlwe() for _ in range(16)]
        # Key k begins with row k; keys overlap, which the machine does not mind.
        space = np.zeros(16 * UNIT // 8, np.uint64)
        flat = [x for row in self.rows for x in self.words(row)]
        for key in range(8):
            words = flat[key * 2 * self.ring.n :][: UNIT // 8]
            space[key * UNIT // 8 : key * UNIT // 8 + len(words)] = words
        sim.map(KEYS, space)
        sim.map(TABLE, np.array(self.ring.table, np.uint64))
        self.results: list[np.ndarray] = []
        self.commands: list[int] = []

    def rlwe(self) -> Rlwe:
        return self.ring.random(self.rng), self.ring.random(self.rng)

    def words(self, rlwe: Rlwe) -> list[int]:
        return [x for beat in self.ring.beats(rlwe) for x in (beat >> 64 * i & (1 << 64) - 1 for i in range(8))]

    def settings(self, *, bootstrap: bool, queue: bool) -> dict[int, int]:
        wide = {"Q": self.ring.q, "BARRETT": self.ring.k, "KEY_BASE": KEYS}
        found = {"MODE": bootstrap | queue << 1, "LOG_N": self.ring.log_n, "SHIFT": self.ring.shift, "LWE": LWE}
        for name, cut in (("A", CUT_A), ("B", CUT_B), ("S", CUT_S)):
            found[f"GADGET_{name}"] = cut.log_base | cut.count << 8 | cut.drop << 16 | cut.balanced << 24
            wide[f"OFFSET_{name}"] = cut.offset
        for name, bound in zip(("OR", "AND", "NOR", "NAND", "XOR", "XNOR"), BOUNDS, strict=True):
            found[f"BOUND_{name}"] = bound
        for s in range(16):
            found[f"SUBST_{s}"] = (self.element(s)) | (s % 8) << 12
        for name, value in wide.items():
            found |= {name: value & 0xFFFFFFFF, f"{name}_HIGH": value >> 32}
        return {AT[name]: value for name, value in found.items()}

    def element(self, s: int) -> int:
        return (self.ring.n >> (s % self.ring.log_n)) + 1

    # ---- commands ----

    def put(self, code: int, value: int) -> None:
        self.commands.append(code << 60 | value)

    def give(self, rlwe: Rlwe) -> None:
        """An RLWE for the input FIFO."""
        address = DATA + len(self.sim._mapped) * 0x10000
        self.sim.map(address, np.array(self.words(rlwe), np.uint64))
        self.put(INPUT, address)

    def take(self) -> None:
        """A place for the next result."""
        address = DATA + len(self.sim._mapped) * 0x10000
        self.results.append(np.zeros(2 * self.ring.n, np.uint64))
        self.sim.map(address, self.results[-1])
        self.put(OUTPUT, address)

    def run(self) -> int:
        self.put(END, 0)
        self.sim.map(QUEUE, np.array(self.commands + [0] * (-len(self.commands) % 8), np.uint64))
        self.commands = []
        return self.sim.run(QUEUE, silence=100_000)

    # ---- reference ----

    def product(self, rlwe: Rlwe, key: int) -> Rlwe:
        """Of an RLWE in Eval form."""
        rows = self.rows[key : key + CUT_A.count + CUT_B.count]
        return self.ring.product((self.ring.inverse(rlwe[0]), self.ring.inverse(rlwe[1])), rows, CUT_A, CUT_B)

    def substituted(self, rlwe: Rlwe, s: int) -> Rlwe:
        rows = self.rows[s % 8 : s % 8 + CUT_S.count]
        return self.ring.substitution(
            (self.ring.inverse(rlwe[0]), self.ring.inverse(rlwe[1])), self.element(s), rows, CUT_S
        )

    def started(self, gate: int, b: int, key: int) -> Rlwe:
        rows = self.rows[key : key + CUT_A.count + CUT_B.count]
        return self.ring.product(self.ring.accumulator((b - BOUNDS[gate]) % (1 << LWE), LWE), rows, CUT_A, CUT_B)

    def expect(self, results: list[Rlwe]) -> None:
        assert len(results) == len(self.results)
        for index, (got, wanted) in enumerate(zip(self.results, results, strict=True)):
            assert got.tolist() == self.words(wanted), f"result {index} of {len(results)}"


@pytest.fixture(scope="module", params=["psi-small", "psi-small-lean"])
def sim(request: pytest.FixtureRequest) -> Iterator[Simulation[PsiConfig]]:
    with Simulation(PsiConfig.named(request.param), optimise="-O1", stall_percent=10) as simulation:
        yield simulation


@pytest.mark.parametrize(("log_n", "bits"), [(7, 27), (8, 20)])
def test_queue_of_products_and_substitutions(sim, log_n: int, bits: int) -> None:
    bench = Bench(sim, log_n, bits)
    for address, value in bench.settings(bootstrap=False, queue=True).items():
        if address == AT["MODE"]:
            sim.write(address, value)
        else:
            bench.put(SET, address << 48 | value)
    bench.put(TABLES, TABLE)
    wanted = []
    for k in range(10):
        x = bench.rlwe()
        bench.give(x)
        bench.take()
        if k % 3 == 1:
            bench.put(EXEC, SUBSTITUTE | k << 26)
            wanted.append(bench.substituted(x, k))
        else:
            bench.put(EXEC, PRODUCT | k % 8)
            wanted.append(bench.product(x, k % 8))
    bench.run()
    bench.expect(wanted)
