# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Random programs of the aes machine, with memory that they make sense on: no residue meets another prime's modulus."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ringforge._native.kernels import primes_below
from ringforge.hw.core.dram import Dram
from ringforge.hw.core.simulator import Simulation
from ringforge.hw.machines.aes.config import (
    BUFFERS,
    KEYS,
    NARROW_WORDS,
    PRIME_BITS,
    PRIME_STEP_LOG,
    SETS,
    SLOTS,
    AesConfig,
)
from ringforge.hw.machines.aes.layout import Target, constants, root_of, twiddles
from ringforge.hw.machines.aes.program import Builder, Op, Program
from ringforge.hw.machines.aes.runner import setup

Words = npt.NDArray[np.uint64]

#: Primes that a program works with, and polynomials of each in memory.
_PRIMES, _POLYNOMIALS = 2, 8
_BASE = 0x10000


def primes(count: int) -> tuple[int, ...]:
    """The largest primes that the machine takes."""
    return tuple(int(q) for q in primes_below(PRIME_BITS, count, 1 << PRIME_STEP_LOG))


def target(config: AesConfig, log_n: int, count: int) -> Target:
    """Some primes and their roots."""
    found = primes(count)
    return Target(config, log_n, found, tuple(root_of(q, 1 << log_n) for q in found))


@dataclass
class Case:
    """A program and its memory; made anew, it is the same."""

    config: AesConfig
    program: Program
    memory: Dram
    #: What its stores may have changed.
    polynomials: Words
    #: Where the program lies on the machine.
    at: int

    def start(self, sim: Simulation[AesConfig], words: Words | None = None) -> None:
        """Puts memory and registers in place; the program lies at `at`."""
        words = self.program.words() if words is None else words
        sim.unmap_all()
        sim.map_dram(self.memory)
        if words.size:
            sim.map(self.at, words)
        for register, value in setup(self.config, self.program):
            sim.write(register, value)

    def run(self, sim: Simulation[AesConfig], silence: int = 20_000) -> int:
        """Runs it on the machine; its cycles."""
        self.start(sim)
        return sim.run(self.at, silence=silence)


@dataclass
class _Draw:
    config: AesConfig
    log_n: int
    rng: random.Random
    builder: Builder = field(init=False)

    def __post_init__(self) -> None:
        c, n = self.config, 1 << self.log_n
        numbers = np.random.default_rng(self.rng.getrandbits(32))
        t = target(c, self.log_n, _PRIMES)
        moduli = np.array(t.primes, np.uint32).reshape(-1, 1, 1)
        polynomials = (numbers.integers(0, 1 << 32, (_PRIMES, _POLYNOMIALS, n), np.uint64) % moduli).astype(np.uint32)
        # Extremes, too.
        polynomials[:, 0, : n // 4] = moduli[:, 0] - 1
        polynomials[:, 1, n // 2 :] = 0
        rows = np.stack([constants(c, q, self.log_n) for q in t.primes])
        rows[0, 3] = numbers.integers(0, t.primes[0])
        tables = np.stack([twiddles(c, q, w, self.log_n) for q, w in zip(t.primes, t.roots, strict=True)])
        # Transforms by factors that are no roots are what they are, too.
        tables[-1] = numbers.integers(0, t.primes[-1], tables[-1].shape)
        self.memory, self.places, at = Dram(c.dram_bytes), dict[str, int](), _BASE
        for name, words in {
            "polynomials": polynomials, "tables": tables, "constants": rows,
            "digits": numbers.integers(0, 1 << 16, (_POLYNOMIALS, n // 2)).astype(np.uint16),
        }.items():  # fmt: skip
            self.places[name] = at
            mapped = np.ascontiguousarray(words).reshape(-1).view(np.uint64)
            self.memory.map(at, mapped, writable=name == "polynomials")
            at = -(-(at + words.nbytes) // 4096) * 4096
            if name == "polynomials":
                self.polynomials = mapped
        self.end = at
        self.builder = Builder(self.log_n, c.fast)
        self.x: list[int | None] = [None] * BUFFERS
        self.s: list[int | None] = [None] * SLOTS
        self.k: list[int | None] = [None] * KEYS
        self.c: list[int | None] = [None] * SETS
        self.t: list[list[int | None]] = [[None, None] for _ in range(SETS)]

    def polynomial(self, m: int, slot: int) -> int:
        return self.places["polynomials"] + ((m * _POLYNOMIALS + slot) * 4 << self.log_n)

    def having(self, places: list[int | None], m: int) -> list[int]:
        return [i for i, held in enumerate(places) if held == m]

    def step(self) -> bool:
        """Adds an instruction; False if what was drawn is not possible now."""
        c, b, rng, n = self.config, self.builder, self.rng, 1 << self.log_n
        op, m, port = rng.choice([*Op, Op.NTT, Op.NTT, Op.MUL, Op.MUL]), rng.randrange(_PRIMES), rng.randrange(c.ports)
        of = rng.randrange(SETS)
        dst, src, slot = rng.randrange(BUFFERS), rng.randrange(BUFFERS), rng.randrange(_POLYNOMIALS)
        at = self.polynomial(m, slot)
        match op:
            case Op.LOADS:
                half = rng.random() < 0.5
                address = self.places["digits"] + slot * n if half else at
                b.add(op, dst=dst, half=half, port=port, addr=address)
                # Digits are residues of every prime.
                self.s[dst] = -1 if half else m
            case Op.LOADX:
                b.add(op, dst=dst, port=port, addr=at)
                self.x[dst] = m
            case Op.LOADK:
                b.add(op, dst=dst % KEYS, port=port, addr=at)
                self.k[dst % KEYS] = m
            case Op.LOADC:
                b.add(op, set=of, port=port, addr=self.places["constants"] + 32 * m)
                self.c[of] = m
            case Op.LOADT:
                way, rows = rng.randrange(2), n // 2 // NARROW_WORDS
                address = self.places["tables"] + ((2 * m + way) * n // 2) * 4
                if self.t[of][way] == m and rng.random() < 0.3:
                    rows = rng.randrange(1, rows + 1)
                b.add(op, set=of, inverse=way, rows=rows, port=port, addr=address)
                self.t[of][way] = m
            case Op.REVS | Op.REVX:
                held = (self.s if op == Op.REVS else self.x)[src]
                if c.fast or held is None or (op == Op.REVX and src == dst):
                    return False
                b.add(op, dst=dst, src=src)
                self.x[dst] = rng.randrange(_PRIMES) if held < 0 else held
            case Op.STORE:
                if self.x[src] is None:
                    return False
                b.add(op, src=src, port=port, addr=self.polynomial(self.x[src] or 0, slot))
            case _:
                return self.executed(op, dst, src, of)
        return True

    def executed(self, op: Op, dst: int, src: int, of: int) -> bool:
        """Adds an instruction of EXEC."""
        c, b, rng, m = self.config, self.builder, self.rng, self.c[of]
        if m is None:
            return False
        if op == Op.NTT:
            way = rng.randrange(2)
            half = c.fast and rng.random() < 0.5
            if self.t[of][way] != m:
                return False
            held = self.s[src] if half and not way else self.x[src]
            if held is None or held not in (m, -1):
                return False
            dst = dst if c.fast else src
            b.add(op, dst=dst, src=src, half=half, inverse=way, set=of)
        elif op == Op.SCALE:
            if self.x[src] != m:
                return False
            b.add(op, dst=dst, src=src, set=of)
        else:
            key, init = rng.random() < 0.5, rng.random() < 0.5
            others = self.having(self.k if key else self.x, m)
            if self.x[src] != m or not others:
                return False
            src2 = rng.choice(others)
            if not init and (self.x[dst] != m or dst == src or (not key and dst == src2)):
                return False
            b.add(op, dst=dst, src=src, src2=src2, key=key, init=init, set=of)
        self.x[dst] = m
        return True

    def beginning(self) -> None:
        """Loads what most instructions ask for."""
        b, n = self.builder, 1 << self.log_n
        for of in range(SETS):
            port = self.rng.randrange(self.config.ports)
            b.add(Op.LOADC, set=of, port=port, addr=self.places["constants"] + 32 * of)
            self.c[of] = of
            for way in range(2):
                address = self.places["tables"] + (2 * of + way) * n // 2 * 4
                b.add(Op.LOADT, set=of, inverse=way, rows=n // 2 // NARROW_WORDS, port=port, addr=address)
                self.t[of][way] = of

    def ending(self) -> None:
        """Stores what is left in buffers."""
        for i, m in enumerate(self.x):
            if m is not None:
                self.builder.add(Op.STORE, src=i, addr=self.polynomial(m, i))


def case(config: AesConfig, log_n: int, number: int, length: int) -> Case:
    """Random program `number` of about so many instructions, none if 0, in a random order that waits allow."""
    rng = random.Random(f"{config.name} {log_n} {number}")
    draw = _Draw(config, log_n, rng)
    if length:
        draw.beginning()
        while len(draw.builder.instructions) < length:
            draw.step()
        draw.ending()
    return Case(config, draw.builder.program(_shuffled(draw.builder, rng)), draw.memory, draw.polynomials, draw.end)


def _shuffled(b: Builder, rng: random.Random) -> list[int]:
    """A random order that keeps what must come after what."""
    left = [len(after) for after in b.after]
    behind: list[list[int]] = [[] for _ in left]
    for later, after in enumerate(b.after):
        for earlier in after:
            behind[earlier].append(later)
    ready, order = [i for i, count in enumerate(left) if not count], list[int]()
    while ready:
        # Near the front most often, so that programs do not only fill one unit.
        order.append(ready.pop(min(rng.randrange(6), rng.randrange(len(ready)))))
        for later in behind[order[-1]]:
            left[later] -= 1
            if not left[later]:
                ready.append(later)
    return order
