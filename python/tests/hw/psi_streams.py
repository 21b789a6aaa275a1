# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Random streams of products, substitutions and accumulators for the FHEW accelerator, and what must come out of them.

A stream has settings, keys and operands of its own. Its queue never locks the machine up: operands, and places of
results, come at most so far before or after their instruction as FIFOs and reorder buffer have room for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from ringforge.errors import ParameterError
from ringforge.hw.core.dram import Dram
from ringforge.hw.core.simulator import Simulation
from ringforge.hw.core.small_ring import Gadget, Ring, Words
from ringforge.hw.machines.psi.config import KEY_UNIT, PAGE, PsiConfig
from ringforge.hw.machines.psi.executors import polled
from ringforge.hw.machines.psi.interpreter import Interpreter
from ringforge.hw.machines.psi.layout import tables
from ringforge.hw.machines.psi.program import (
    SUBSTITUTIONS,
    Code,
    Command,
    Instruction,
    Op,
    execute,
    init,
    product,
    queue,
    step,
    substitution,
)
from ringforge.hw.machines.psi.settings import Settings, check_gadget

QUEUE: Final = 0
TABLE: Final = 0x100_0000
INPUTS: Final = 0x200_0000
OUTPUTS: Final = 0x300_0000
KEYS: Final = 0x8_0000_0000
#: Keys' units of addresses that instructions name.
_UNITS: Final = 8
#: Cycles without a beat after which a run is given up.
SILENCE: Final = 200_000


@dataclass
class Stream:
    """A run.

    Attributes:
        config, settings: of the machine.
        commands: of the queue, END last.
        pieces: memory by address, without queue and results.
        results: how many.
        met: words for what is among the instructions.
    """

    config: PsiConfig
    settings: Settings
    commands: list[Command]
    pieces: dict[int, Words]
    results: int
    met: set[str] = field(default_factory=set)

    def expected(self) -> Words:
        """The results' pages, by the reference; words that nothing writes are 0."""
        memory = Dram(self.config.dram_bytes)
        memory.map(QUEUE, queue(self.commands))
        for address, words in self.pieces.items():
            memory.map(address, words)
        memory.reserve(OUTPUTS, PAGE * max(self.results, 1))
        interpreter = Interpreter(self.config, self.settings, memory)
        interpreter.run(QUEUE)
        assert not interpreter.outputs
        assert not interpreter.loop
        return next(s.words for s in memory if s.address == OUTPUTS)

    def place(self, sim: Simulation[PsiConfig], *, by_queue: bool = False) -> Words:
        """Memory and registers; returns where results will be. Settings by the host, or by commands."""
        sim.unmap_all()
        output = np.zeros(PAGE // 8 * max(self.results, 1), np.uint64)
        values = self.settings.registers(self.config)
        mode = min(values)  # what decides where commands come from is the host's
        first = [Command(Code.SET, at, value) for at, value in values.items() if at != mode] if by_queue else []
        sim.map(QUEUE, queue([*first, *self.commands]))
        for address, words in self.pieces.items():
            sim.map(address, words)
        sim.map(OUTPUTS, output)
        for address, value in values.items():
            if not by_queue or address == mode:
                sim.write(address, value)
        return output

    def hold(self, sim: Simulation[PsiConfig], *, by_queue: bool = False) -> int:
        """Runs it and compares all results with the reference; returns the cycles."""
        output = self.place(sim, by_queue=by_queue)
        cycles = sim.run(QUEUE, silence=SILENCE) if self.settings.queued else polled(sim, self.commands)
        wanted = self.expected()
        if not np.array_equal(output, wanted):
            wrong = np.flatnonzero((output != wanted).reshape(-1, PAGE // 8).any(1))
            raise AssertionError(f"results {wrong.tolist()} of {self.results} differ: {self.settings}")
        return cycles


def primes(bits: int, log_n: int) -> list[int]:
    """Some primes of so many bits that are 1 modulo 2N, the largest ones."""
    step_ = 2 << log_n
    top = ((1 << bits) - 2) // step_ * step_ + 1
    some = (q for q in range(top, 1 << bits - 1, -step_) if all(pow(a, q - 1, q) == 1 for a in (2, 3, 5, 7, 11)))
    return [q for q, _ in zip(some, range(4), strict=False)]


class Draw:
    """Draws one stream.

    Args:
        config: of the machine.
        seed: of everything.
        length: instructions, about.
        log_n, queued: if they are given.
    """

    def __init__(
        self, config: PsiConfig, seed: int, length: int = 30, *, log_n: int | None = None, queued: bool = True
    ) -> None:
        self.config, self.rng = config, np.random.default_rng(seed)
        self.log_n = int(self.rng.integers(config.min_log_n, config.max_log_n + 1)) if log_n is None else log_n
        found: list[int] = []
        while not found:
            found = primes(self._between(max(config.min_prime_bits, 14), config.max_prime_bits), self.log_n)
        self.q = found[self._between(0, len(found) - 1)]
        self.settings = self._settings(queued)
        self.met: set[str] = set()
        self.inputs: list[Words] = []
        self.stream = self._stream(length)

    def _between(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def _gadget(self, most: int) -> Gadget:
        bits = self.q.bit_length()
        while True:
            drop = self._between(0, bits // 3) if self.rng.random() < 0.5 else 0
            count = self._between(1, most)
            low = -(-(bits - drop) // count)
            gadget = Gadget(self._between(low, low + 1), count, drop, bool(self.rng.integers(2)))
            try:
                check_gadget(self.config, gadget, self.q, "drawn")
            except ParameterError:
                continue
            return gadget

    def _settings(self, queued: bool) -> Settings:
        log_lwe = self._between(2, min(10, self.log_n + 1))
        draw = self.rng.integers
        # All rows of a key at its highest address lie within the memory of keys.
        table = [(2 * int(draw(1 << self.log_n)) + 1, int(draw(_UNITS))) for _ in range(SUBSTITUTIONS)]
        return Settings(
            self.log_n, self.q, self._gadget(4), self._gadget(4), self._gadget(6), bool(draw(3)), queued, table,
            log_lwe, [int(x) for x in draw(0, 1 << log_lwe, 6)], KEYS,
        )  # fmt: skip

    # ---- instructions ----

    def _instructions(self, length: int) -> list[int]:
        """They leave the loop FIFO empty."""
        loop, found = 0, list[int]()
        s = self.settings
        while len(found) < length or loop:
            ending = len(found) >= length
            kinds = [Op.STEP] * (4 if loop else 0)
            if not ending:
                kinds += (
                    [Op.PRODUCT] * 2 + [Op.SUBSTITUTE] * 2 + ([Op.INIT] * 3 if loop < self.config.loop_slots else [])
                )
            op = kinds[self._between(0, len(kinds) - 1)]
            key, last = self._between(0, _UNITS - 1), ending or self.rng.random() < 0.3
            if op is Op.STEP:
                found.append(step(key, last=last))
                loop -= last or not s.bootstrap
            elif op is Op.INIT:
                found.append(init(self._between(0, 5), self._between(0, (1 << s.log_lwe) - 1), key))
                loop += 1
            else:
                last = last or loop >= self.config.loop_slots
                if op is Op.SUBSTITUTE and s.bootstrap and loop >= self.config.loop_slots:
                    continue
                entry = self._between(0, SUBSTITUTIONS - 1)
                found.append(product(key, last=last) if op is Op.PRODUCT else substitution(entry))
                loop += s.bootstrap and (op is Op.SUBSTITUTE or not last)
        return found

    def _leaves(self, i: Instruction) -> bool:
        return i.op is not Op.INIT and (not self.settings.bootstrap or i.last)

    def _stream(self, length: int) -> Stream:
        words = self._instructions(length)
        n = 1 << self.log_n
        # Where operands and places are named: before so many instructions.
        inputs, outputs = list[int](), list[int]()
        for at, word in enumerate(words):
            i = Instruction.of(word)
            self.met |= {f"{i.op.name} {self.log_n}", f"{i.op.name} {'out' if self._leaves(i) else 'loop'}"}
            if i.op in (Op.PRODUCT, Op.SUBSTITUTE):
                inputs.append(at + self._between(-3, 4))
            if self._leaves(i):
                outputs.append(at + 1 + self._between(-3, self.config.reorder - 1))
        commands = [Command(Code.TABLES, TABLE)]
        named = {Code.INPUT: 0, Code.OUTPUT: 0}
        for at, word in enumerate([*words, None]):
            due = [(Code.INPUT, inputs, INPUTS), (Code.OUTPUT, outputs, OUTPUTS)]
            for code, places, base in due if self.rng.integers(2) else due[::-1]:
                while named[code] < len(places) and (word is None or places[named[code]] <= at):
                    commands.append(Command(code, base + PAGE * named[code]))
                    named[code] += 1
            if word is not None:
                commands.append(execute(word))
        commands.append(Command(Code.END))
        operands = np.zeros((max(len(inputs), 1), PAGE // 8), np.uint64)
        operands[:, : 2 * n] = self._residues((len(operands), 2 * n))
        keys = self._residues((_UNITS + 4) * KEY_UNIT // 8)
        table = np.zeros(-(-n // 512) * 512, np.uint64)
        table[:n] = tables(Ring.of(self.q, self.log_n))
        self.met |= {f"{'balanced' if g.balanced else 'plain'} {w}" for g, w in
                     ((self.settings.a, "a"), (self.settings.b, "b"), (self.settings.s, "s"))}  # fmt: skip
        self.met |= (
            {"dropped bits"} if any(g.drop for g in (self.settings.a, self.settings.b, self.settings.s)) else set()
        )
        self.met |= {"bootstrap" if self.settings.bootstrap else "one by one"}
        pieces = {TABLE: table, INPUTS: operands.reshape(-1), KEYS: keys}
        return Stream(self.config, self.settings, commands, pieces, len(outputs), self.met)

    def _residues(self, shape: int | Sequence[int]) -> Words:
        words = self.rng.integers(0, self.q, shape, np.uint64)
        extreme = self.rng.choice(np.array([0, 1, self.q // 2, self.q - 1], np.uint64), shape)
        return np.where(self.rng.random(shape) < 0.05, extreme, words)


def drawn(config: PsiConfig, seed: int, length: int = 30, **fixed: object) -> Stream:
    """A stream. Arguments as `Draw`."""
    return Draw(config, seed, length, **fixed).stream  # type: ignore[arg-type]


def by_host(stream: Stream) -> Stream:
    """The same, its commands written by the host."""
    return replace(stream, settings=replace(stream.settings, queued=False))


def interfaces(sim: Simulation[PsiConfig], keys: tuple[int, float], rest: tuple[int, float]) -> None:
    """Memories of their own behind the ports of keys and of all else, from a reset on: latency, bytes per cycle."""
    from ctypes import c_double, c_uint

    sim.reset()
    two = c_uint * 2
    sim._lib.rf_sim_memories(
        sim._handle,
        2,
        two(1, 1),
        two(keys[0], rest[0]),
        (c_double * 2)(keys[1], rest[1]),
    )
