# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Cases drawn by a fixed seed, on which replica and closed form of the streaming accelerator are held against RTL.

A case is a machine, the latency of its memory, a degree, gadgets, and chains of products in turns as gates are, a
stream of products, or a random program of all instructions; data do not change time, so that all words are zero. The
first cases are of a seed whose draws the closed form was made with in view (`fitted`), the rest of another.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

import numpy as np

from ringforge._native import kernels
from ringforge.hw.core.small_ring import Gadget, Ring
from ringforge.hw.machines.psi_wide.closed_form import Timing
from ringforge.hw.machines.psi_wide.config import WideConfig
from ringforge.hw.machines.psi_wide.layout import Setup
from ringforge.hw.machines.psi_wide.program import Beside, Program, Take, Times
from ringforge.hw.machines.psi_wide.runner import Memory, load_tables

FITTED_SEED: Final = 18
FITTED: Final = 12
FRESH_SEED: Final = 2030
FRESH: Final = 18
SMALL: Final = "psi-wide-small"
#: Machines of the sizes that count, with shorter cases, and how many of each.
LARGE: Final = ("psi-wide", "psi-wide-32", "psi-wide-54")
LARGE_CASES: Final = 2
#: Latencies of memory, in cycles.
LATENCIES: Final = (8, 32, 100, 250)
#: Slots and key rows that a random program uses, and how many key rows one of its instructions does.
_SLOTS: Final = 6
_ROWS: Final = 16
_SPAN: Final = 8

Kind = Literal["gates", "stream", "program"]


@dataclass(frozen=True)
class Made:
    """A case's run."""

    setup: Setup
    program: Program
    memory: Memory


@dataclass(frozen=True)
class Draw:
    """A case.

    Attributes:
        number: in the order of drawing.
        machine: a configuration.
        kind: chains of products in turns, independent products, or a random program.
        log_n: of the ring.
        count, products: chains and products of each; products and 1; instructions and 1.
        digits: of a and b.
        latency: of memory, in cycles.
        fitted: the closed form was made with this case in view.
    """

    number: int
    machine: str
    kind: Kind
    log_n: int
    count: int
    products: int
    digits: tuple[int, int]
    latency: int
    fitted: bool

    @property
    def name(self) -> str:
        """What the case is called in results."""
        what = {
            "gates": f"{self.count} gates of {self.products} products",
            "stream": f"{self.count} products",
            "program": f"{self.count} random instructions",
        }[self.kind]
        return f"{what}, {self.digits[0]} + {self.digits[1]} digits, 2^{self.log_n}"

    @property
    def config(self) -> WideConfig:
        """The machine with this case's memory."""
        return WideConfig.named(self.machine).model_copy(update={"dram_latency": self.latency})

    def made(self) -> Made:
        """The run: ciphertexts, keys and rows of zeros."""
        config, n = self.config, 1 << self.log_n
        bits = config.word_bits
        q = int(kernels.primes_below(bits, 1, 2 * n)[0])
        setup = Setup(Ring.of(q, self.log_n), [_gadget(bits, d) for d in self.digits])
        setup.check(config)
        memory, program = Memory(config), Program()
        load_tables(program, memory, setup)
        {"gates": self._gates, "stream": self._stream, "program": self._program}[self.kind](program, memory)
        return Made(setup, program, memory)

    def _words(self, memory: Memory, count: int, *, writable: bool = False) -> int:
        """Room for ciphertexts."""
        size = memory.config.rlwe_bytes(self.log_n)
        return memory.put(np.zeros(max(count * size, 4096) // 8, np.uint64), writable=writable)

    def _gates(self, program: Program, memory: Memory) -> None:
        """As `GinxMachine` interleaves gates, each key two steps ahead of its use."""
        rows, size = sum(self.digits), memory.config.rlwe_bytes(self.log_n)
        keys, slots = self._words(memory, self.products * rows), self._words(memory, self.count, writable=True)
        program.load(slots, first=0, count=self.count)
        sets = memory.config.key_rows // rows
        ahead = max(1, sets - 2)
        late = 0 if sets > 2 else self.count - 1

        def fetch(number: int) -> None:
            if number < self.products:
                program.load(keys + number * rows * size, first=number % sets * rows, count=rows, to_row=True)

        for number in range(ahead):
            fetch(number)
        for number in range(self.products):
            for gate in range(self.count):
                if gate == late:
                    fetch(number + ahead)
                program.product(
                    gate, row=number % sets * rows, gadgets=(0, 1), init=gate, target=gate, power=2 * gate + 1,
                    times=Times.POWER_LESS,
                )  # fmt: skip
        program.store(slots, first=0, count=self.count)

    def _stream(self, program: Program, memory: Memory) -> None:
        rows = sum(self.digits)
        keys, slots = self._words(memory, rows), self._words(memory, self.count, writable=True)
        program.load(slots, first=0, count=self.count)
        program.load(keys, first=0, count=rows, to_row=True)
        for slot in range(self.count):
            program.product(slot, row=0, gadgets=(0, 1), target=slot)
        program.store(slots, first=0, count=self.count)

    def _program(self, program: Program, memory: Memory) -> None:
        """All slots and key rows loaded, then instructions of all kinds, then slots stored."""
        rng = random.Random(self.number)
        size, order = memory.config.rlwe_bytes(self.log_n), 2 << self.log_n
        pool = self._words(memory, _SLOTS + _ROWS, writable=True)
        numbers = memory.put(np.zeros(_SPAN * (1 << self.log_n) // 4, np.uint64))
        program.load(pool, first=0, count=_SLOTS)
        program.load(pool + _SLOTS * size, first=0, count=_ROWS, to_row=True)
        for _ in range(self.count):
            slot, other, target = (rng.randrange(_SLOTS) for _ in range(3))
            init = rng.choice((None, rng.randrange(_SLOTS)))
            to_row = rng.random() < 0.2
            place = rng.randrange(_ROWS) if to_row else target
            element = rng.choice((1, rng.randrange(1, order, 2)))
            take, row = rng.choice(list(Take)), rng.randrange(_ROWS - _SPAN + 1)
            kind = rng.choice(("product", "product", "product", "linear", "linear", "plain", "cells", "load", "store"))
            if kind == "product":
                gadgets = rng.choice(((0, 1), (0,), (1,)))
                beside = Beside.NONE if len(gadgets) == 2 else rng.choice(list(Beside))
                program.product(
                    slot, s2=other, take=take, element=element, row=row, gadgets=gadgets, init=init, beside=beside,
                    target=place, to_row=to_row,
                )  # fmt: skip
            elif kind == "linear":
                program.linear(
                    slot, s2=other, take=take, target=place, to_row=to_row,
                    element=1 if place in (slot, other) and not to_row else element,
                )  # fmt: skip
            elif kind == "plain":
                program.plain(numbers, count=rng.randrange(1, _SPAN + 1), row=row, target=target, init=init)
            elif kind == "cells":
                program.cells(numbers, count=rng.randrange(1, 60), row=row, rows=_SPAN, target=target, init=init)
            elif kind == "load":
                first = rng.randrange((_ROWS if to_row else _SLOTS) - 1)
                program.load(pool + first * size, first=first, count=2, to_row=to_row, fence=rng.random() < 0.5)
            else:
                program.store(pool + target * size, first=target)
        program.store(pool, first=0, count=_SLOTS)

    def closed_form(self) -> float | None:
        """Its cycles in closed form; None where it claims nothing.

        That is of programs whose order is random, and of gates whose keys have no room for three.
        """
        timing = Timing(self.config, self.log_n)
        if self.kind == "gates" and sum(self.digits) * 3 > self.config.key_rows:
            return None
        if self.kind == "gates":
            return timing.chains(self.count, self.products, self.digits)
        return timing.stream(self.count, self.digits) if self.kind == "stream" else None


def _gadget(bits: int, digits: int) -> Gadget:
    """Balanced digits that cover words of so many bits; one alone leaves the lower half out."""
    if digits == 1:
        return Gadget(bits // 2, 1, bits - bits // 2)
    return Gadget(bits // digits, digits, bits % digits)


def _draw(rng: np.random.Generator, number: int, fitted: bool, machine: str, most: int) -> Draw:
    """A case of a machine, of at most so many operations."""
    config = WideConfig.named(machine)
    kind: Kind = ("gates", "gates", "stream", "program")[rng.integers(4)]
    digits = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    count = int(rng.choice((1, 2, 3, 4, 6, 8, 12, 16)))
    products = int(rng.integers(2, max(3, most // count)))
    if kind != "gates":
        products = 1
        count = int(rng.integers(2, 17)) if kind == "stream" else int(rng.integers(most // 3, most))
    return Draw(
        number, machine, kind, int(rng.integers(config.min_log_n, config.max_log_n + 1)), count, products, digits,
        int(rng.choice(LATENCIES)), fitted,
    )  # fmt: skip


@cache
def cases() -> tuple[Draw, ...]:
    """All cases, in order."""
    found = [_draw(np.random.default_rng((FITTED_SEED, i)), i, True, SMALL, 150) for i in range(FITTED)]
    found += [_draw(np.random.default_rng((FRESH_SEED, i)), FITTED + i, False, SMALL, 150) for i in range(FRESH)]
    for machine in LARGE:
        for _ in range(LARGE_CASES):
            number = len(found)
            found.append(_draw(np.random.default_rng((FRESH_SEED, number)), number, False, machine, 24))
    return tuple(found)
