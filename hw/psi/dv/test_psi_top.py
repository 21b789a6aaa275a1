# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The whole machine, simulated, against Python integers: queues, polled runs, failures, ends at any moment."""

import random
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from psi_reference import Gadget, Ring, Rlwe, primes

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


@cache
def ring(bits: int, log_n: int, width: int) -> Ring:
    return Ring(primes(bits, 2 << log_n)[0], log_n, width)


class Bench:
    """A machine with keys, a table and the reference."""

    def __init__(self, sim: Simulation[PsiConfig], log_n: int = 7, bits: int = 27, seed: int = 1):
        self.sim, self.rng = sim, random.Random(seed)
        self.ring = ring(bits, log_n, sim.config.word_bits)
        third = bits // 3
        self.cut_a = Gadget(-(-bits // 4), 4)
        self.cut_b = Gadget(third, 2, bits - 2 * third, True)
        self.cut_s = Gadget(-(-bits // 3), 3, 0, True)
        sim.reset()
        sim.unmap_all()
        self.rows = [self.rlwe() for _ in range(16)]
        # Key k begins with row k: keys share rows, but not memory.
        self.step = sim.config.key_bytes(log_n, 8) // UNIT
        space = np.zeros(8 * self.step * UNIT // 8, np.uint64)
        for k in range(8):
            words = [x for row in self.rows[k : k + 8] for x in self.words(row)]
            space[self.key(k) * UNIT // 8 :][: len(words)] = words
        sim.map(KEYS, space)
        sim.map(TABLE, np.array(self.ring.table, np.uint64))
        self.results: list[np.ndarray] = []
        self.commands: list[int] = []

    def key(self, k: int) -> int:
        """Address of key k in units."""
        return k * self.step

    def rlwe(self) -> Rlwe:
        return self.ring.random(self.rng), self.ring.random(self.rng)

    def words(self, rlwe: Rlwe) -> list[int]:
        return [x for beat in self.ring.beats(rlwe) for x in (beat >> 64 * i & (1 << 64) - 1 for i in range(8))]

    def settings(self, *, bootstrap: bool, queue: bool) -> dict[int, int]:
        wide = {"Q": self.ring.q, "BARRETT": self.ring.k, "KEY_BASE": KEYS}
        found = {"MODE": bootstrap | queue << 1, "LOG_N": self.ring.log_n, "SHIFT": self.ring.shift, "LWE": LWE}
        for name, cut in (("A", self.cut_a), ("B", self.cut_b), ("S", self.cut_s)):
            found[f"GADGET_{name}"] = cut.log_base | cut.count << 8 | cut.drop << 16 | cut.balanced << 24
            wide[f"OFFSET_{name}"] = cut.offset
        for name, bound in zip(("OR", "AND", "NOR", "NAND", "XOR", "XNOR"), BOUNDS, strict=True):
            found[f"BOUND_{name}"] = bound
        for s in range(16):
            found[f"SUBST_{s}"] = self.element(s) | self.key(s % 8) << 12
        for name, value in wide.items():
            found |= {name: value & 0xFFFFFFFF, f"{name}_HIGH": value >> 32}
        return {AT[name]: value for name, value in found.items()}

    def element(self, s: int) -> int:
        return (self.ring.n >> (s % self.ring.log_n)) + 1

    # ---- commands ----

    def configure(self, *, bootstrap: bool, queue: bool = True) -> None:
        """Settings by the host; with a queue, all but MODE by the queue, and the tables too."""
        for address, value in self.settings(bootstrap=bootstrap, queue=queue).items():
            if queue and address != AT["MODE"]:
                self.put(SET, address << 48 | value)
            else:
                self.sim.write(address, value)
        if queue:
            self.put(TABLES, TABLE)

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
        rows = self.rows[key : key + self.cut_a.count + self.cut_b.count]
        return self.ring.product((self.ring.inverse(rlwe[0]), self.ring.inverse(rlwe[1])), rows, self.cut_a, self.cut_b)

    def substituted(self, rlwe: Rlwe, s: int) -> Rlwe:
        rows = self.rows[s % 8 : s % 8 + self.cut_s.count]
        return self.ring.substitution(
            (self.ring.inverse(rlwe[0]), self.ring.inverse(rlwe[1])), self.element(s), rows, self.cut_s
        )

    def started(self, gate: int, b: int, key: int) -> Rlwe:
        rows = self.rows[key : key + self.cut_a.count + self.cut_b.count]
        return self.ring.product(
            self.ring.accumulator((b - BOUNDS[gate]) % (1 << LWE), LWE), rows, self.cut_a, self.cut_b
        )

    def expect(self, results: list[Rlwe]) -> None:
        assert len(results) == len(self.results)
        for index, (got, wanted) in enumerate(zip(self.results, results, strict=True)):
            assert got.tolist() == self.words(wanted), f"result {index} of {len(results)}"


@pytest.fixture(scope="module", params=["psi-small-lean", pytest.param("psi-small", marks=pytest.mark.long)])
def sim(request: pytest.FixtureRequest) -> Iterator[Simulation[PsiConfig]]:
    with Simulation(PsiConfig.named(request.param), optimise="-O1", stall_percent=10) as simulation:
        yield simulation


@pytest.mark.parametrize(("log_n", "bits"), [(7, 27), (8, 20)])
def test_queue_of_products_and_substitutions(sim, log_n: int, bits: int) -> None:
    bench = Bench(sim, log_n, bits)
    bench.configure(bootstrap=False)
    wanted = []
    for k in range(10):
        x = bench.rlwe()
        bench.give(x)
        bench.take()
        if k % 3 == 1:
            bench.put(EXEC, SUBSTITUTE | k << 26)
            wanted.append(bench.substituted(x, k))
        else:
            bench.put(EXEC, PRODUCT | bench.key(k % 8))
            wanted.append(bench.product(x, k % 8))
    bench.run()
    bench.expect(wanted)


@pytest.mark.parametrize(("gates", "steps"), [(1, 1), (12, 3), (16, 2)])
def test_accumulators_go_round(sim, gates: int, steps: int) -> None:
    """As many gates interleaved as the loop holds; two results wait at most in the output FIFO."""
    bench = Bench(sim, seed=gates)
    bench.configure(bootstrap=True)
    accs = []
    for g in range(gates):
        gate, b = g % 6, bench.rng.randrange(1 << LWE)
        bench.put(EXEC, INIT | gate << 27 | b << 17 | g % 8)
        accs.append(bench.started(gate, b, g % 8))
    for step in range(steps):
        last = step == steps - 1
        for g in range(gates):
            key = bench.rng.randrange(8)
            if last:
                bench.take()
            bench.put(EXEC, STEP | (LAST if last else 0) | key)
            accs[g] = bench.product(accs[g], key)
    bench.run()
    bench.expect(accs)


def test_inputs_and_substitutions_enter_the_loop(sim) -> None:
    bench = Bench(sim, seed=7)
    bench.configure(bootstrap=True)
    x, y = bench.rlwe(), bench.rlwe()
    for rlwe in (x, y):
        bench.give(rlwe)
    bench.put(EXEC, PRODUCT | 2)
    bench.put(EXEC, SUBSTITUTE | 5 << 26)
    for _ in range(2):
        bench.take()
        bench.put(EXEC, STEP | LAST | 1)
    bench.run()
    bench.expect([bench.product(bench.product(x, 2), 1), bench.product(bench.substituted(y, 5), 1)])


def test_polled_run(sim) -> None:
    """Commands by registers, one at a time; what comes too early is refused, settings while something goes on too."""
    bench = Bench(sim, seed=3)
    bench.configure(bootstrap=False, queue=False)
    for index, word in enumerate(bench.ring.table):
        if index:
            sim.write(AT["TWIDDLE_INDEX"], index)
            sim.write(AT["TWIDDLE"], word)
            sim.write(AT["TWIDDLE_HIGH"], word >> 32)
    x, refused = bench.rlwe(), 0
    bench.give(x)
    bench.take()
    addresses = [c & (1 << 48) - 1 for c in bench.commands]
    sim.start()
    for name, value in (
        ("INPUT", addresses[0] // PAGE), ("OUTPUT", addresses[1] // PAGE), ("INSTRUCTION", PRODUCT | 4), ("FINISH", 0)
    ):  # fmt: skip
        while sim.read(AT["FIFO_STATE"]) & STATE["COMMAND"].mask:
            with pytest.raises(HardwareError):
                sim.write(AT["INSTRUCTION"], 0)
            refused += 1
        sim.write(AT[name], value)
    state = sim.read(AT["FIFO_STATE"])
    assert state & STATE["COMMAND"].mask
    assert not state & STATE["IDLE"].mask
    with pytest.raises(HardwareError):
        sim.write(AT["LOG_N"], 8)
    assert sim.read(AT["LOG_N"]) == 7
    assert sim.advance(100_000)
    sim.check()
    bench.expect([bench.product(x, 4)])
    assert sim.read(AT["FIFO_STATE"]) & STATE["IDLE"].mask
    with pytest.raises(HardwareError):
        sim.write(AT["INSTRUCTION"], 0)


# ---- runs that must fail, and what comes after them ------------------------------------------------------


def failed(bench: Bench) -> tuple[int, int]:
    """Code and PC of a run that must fail."""
    with pytest.raises(HardwareError):
        bench.run()
    return sim_error(bench.sim), bench.sim.read(Register.PC)


def sim_error(sim: Simulation[PsiConfig]) -> int:
    return sim.read(Register.ERROR) & 255


SETTINGS = [
    ("LOG_N", 6), ("LOG_N", 9), ("SHIFT", 1), ("SHIFT", 16), ("Q", 0x7FFF800),
    ("Q_HIGH", 1), ("GADGET_A", 7), ("GADGET_B", 2 << 8), ("GADGET_S", 32 | 1 << 8), ("GADGET_S", 31 | 3 << 8),
]  # fmt: skip
INSTRUCTIONS = [INIT | 6 << 27, INIT | 7 << 27, INIT | 1 << (17 + LWE), SUBSTITUTE | 14 << 26, SUBSTITUTE | 15 << 26]
COMMANDS = [
    6 << 60,
    15 << 60,
    EXEC << 60 | 1 << 40,
    INPUT << 60 | 0x3000_0800,
    OUTPUT << 60 | 1 << 48,
    SET << 60 | 0x1C0 << 48,
    SET << 60 | AT["LOG_N"] << 48 | 256 + 7,
    SET << 60 | AT["BOUND_OR"] << 48 | 1024,
    SET << 60 | AT["GADGET_A"] << 48 | 1 << 6,
    SET << 60 | AT["KEY_BASE"] << 48 | 4096,
    SET << 60 | AT["KEY_BASE_HIGH"] << 48 | 1 << 16,
]


@pytest.mark.parametrize(
    ("kind", "values", "code"), [("settings", SETTINGS, 1), ("instruction", INSTRUCTIONS, 2), ("command", COMMANDS, 3)]
)
def test_what_the_machine_does_not_have_is_refused(sim, kind: str, values: list, code: int) -> None:
    bench = Bench(sim, seed=4)
    for value in values:
        bench.configure(bootstrap=True)
        for entry, element in ((14, 2), (15, 2 * bench.ring.n + 1)):
            bench.put(SET, AT[f"SUBST_{entry}"] << 48 | element)
        if kind == "settings":
            bench.put(SET, AT[value[0]] << 48 | value[1])
        bench.put(EXEC, INIT | 1 << 17)
        if kind == "instruction":
            bench.put(EXEC, value)
        elif kind == "command":
            bench.commands.append(value)
        assert failed(bench) == (code, kind != "settings"), value
    # After any of them the machine works.
    test_inputs_and_substitutions_enter_the_loop(sim)


@pytest.mark.parametrize("what", ["no input", "no step", "no place", "seventeen"])
def test_a_queue_that_waits_for_itself_ends(sim, what: str) -> None:
    bench = Bench(sim, seed=5)
    bench.configure(bootstrap=True)
    if what == "no input":
        bench.put(EXEC, PRODUCT)
    elif what == "no step":
        bench.put(EXEC, STEP)
    elif what == "no place":
        bench.take()
    for _ in range(17 if what == "seventeen" else 0):
        bench.put(EXEC, INIT)
    assert failed(bench)[0] == 4


def test_ends_at_any_moment(sim) -> None:
    """Aborts and resets while all units are at work; the next run is right, and no burst is left over."""
    rng, ended = random.Random(6), 0
    for index in range(6):
        bench = Bench(sim, seed=index)
        bench.configure(bootstrap=False)
        for _ in range(4):
            bench.give(bench.rlwe())
            bench.take()
            bench.put(EXEC, PRODUCT | rng.randrange(8))
        bench.put(END, 0)
        sim.map(QUEUE, np.array(bench.commands + [0] * (-len(bench.commands) % 8), np.uint64))
        sim.start(QUEUE)
        if sim.advance(rng.randrange(1, 2500)):
            ended += 1
        elif index % 3 == 2:
            sim.reset()
        else:
            sim.write(Register.COMMAND, 1 + index % 2)
            assert sim.advance(20_000)
            assert sim_error(sim) == 8
        test_inputs_and_substitutions_enter_the_loop(sim)
    assert ended < 3


def test_the_degree_does_not_change_under_an_rlwe(sim) -> None:
    bench = Bench(sim, seed=9)
    bench.configure(bootstrap=False)
    for _ in range(2):
        bench.give(bench.rlwe())
    bench.put(EXEC, PRODUCT)
    bench.take()
    bench.put(SET, AT["LOG_N"] << 48 | 8)
    assert failed(bench) == (3, 1)
    test_inputs_and_substitutions_enter_the_loop(sim)


def test_memory_that_is_not_there(sim) -> None:
    """A key, a ciphertext, a queue or a place for a result outside of memory: error 6 of the port."""
    for port, address in ((0, None), (1, INPUT), (1, OUTPUT), (1, TABLES)):
        bench = Bench(sim, seed=8)
        bench.configure(bootstrap=False)
        bench.give(bench.rlwe())
        if address is None:
            bench.put(SET, AT["KEY_BASE_HIGH"] << 48 | 0x77)
        else:
            bench.put(address, 0x66_0000_0000)
        bench.put(EXEC, PRODUCT)
        if address != OUTPUT:
            bench.take()
        with pytest.raises(HardwareError):
            bench.run()
        assert sim.read(Register.ERROR) & 0xFFFF == 6 | port << 8
    test_inputs_and_substitutions_enter_the_loop(sim)
