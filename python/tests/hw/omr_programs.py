# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Random programs of the omr machine, with memory that they make sense on: no residue meets another prime's modulus."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ringforge.hw.core.dram import Dram
from ringforge.hw.core.registers import own
from ringforge.hw.core.simulator import Simulation
from ringforge.hw.machines.omr.config import CONSTANTS, MODULI, QUOTIENTS, OmrConfig
from ringforge.hw.machines.omr.layout import modulus_entry, quotient_constant, twiddles_of
from ringforge.hw.machines.omr.program import Builder, Op, Program, SumStrides
from ringforge.hw.machines.omr.runner import setup

Words = npt.NDArray[np.uint64]

#: Different entries of the tables of moduli that a program works with, and limbs of memory for each.
_ENTRIES, _SLOTS = 3, 12
_PARTS = 2
_BASE = 0x10000


def primes(config: OmrConfig, log_n: int, count: int) -> list[int]:
    """Primes that the machine takes, of several lengths."""
    step = max(1 << 18, 2 << log_n)
    found: list[int] = []
    bits = config.max_prime_bits
    while len(found) < count:
        q = ((1 << bits) - 1) // step * step + 1
        while q in found or not _is_prime(q):
            q -= step
        found.append(q)
        bits = bits - 1 if bits > config.max_prime_bits - 5 else config.max_prime_bits
    return found


def _is_prime(q: int) -> bool:
    return all(pow(a, q - 1, q) == 1 for a in (2, 3, 5, 7, 11, 13))


def registers() -> dict[str, int]:
    """Addresses of the machine's own registers."""
    return {e.name: e.address for e in own(OmrConfig.room / "registers.json").entries}


@dataclass
class Case:
    """A program and its memory; made anew, it is the same."""

    config: OmrConfig
    program: Program
    memory: Dram
    limbs: Words
    at: int

    def start(self, sim: Simulation[OmrConfig], words: Words | None = None) -> None:
        """Puts memory and registers in place; the program lies at `at`."""
        words = self.program.words() if words is None else words
        sim.unmap_all()
        sim.map_dram(self.memory)
        if words.size:
            sim.map(self.at, words)
        for register, value in setup(self.config, self.program):
            sim.write(register, value)
        sim.write(registers()["INSTRUCTIONS"], words.size // 8)

    def run(self, sim: Simulation[OmrConfig], silence: int = 20_000) -> int:
        """Runs it on the machine; its cycles."""
        self.start(sim)
        return sim.run(self.at, silence=silence)


@dataclass
class Draw:
    """Memory of limbs, keys and tables, and a builder of a program on it."""

    config: OmrConfig
    log_n: int
    rng: random.Random
    builder: Builder = field(init=False)

    def __post_init__(self) -> None:
        c, rng, n = self.config, self.rng, 1 << self.log_n
        self.limb = c.limb_bytes(self.log_n)
        numbers = np.random.default_rng(rng.getrandbits(32))
        self.primes = primes(c, self.log_n, _ENTRIES * c.ways)
        least = min(self.primes)
        self.entries = sorted(rng.sample(range(MODULI), _ENTRIES))  # by modulus number
        # Limbs: modulus, slot, way. Keys twice as long. Diagonals of way 0.
        count = _ENTRIES * _SLOTS * c.ways
        moduli = np.array(self.primes, np.uint64).reshape(_ENTRIES, 1, c.ways, 1)
        limbs = numbers.integers(0, 1 << 62, (_ENTRIES, _SLOTS, c.ways, n), np.uint64) % moduli
        # Extremes, too.
        limbs[:, 0, :, : n // 8] = moduli[:, 0] - np.uint64(1)
        limbs[:, 1, :, n // 2 :] = 0
        keys = numbers.integers(0, 1 << 62, (_ENTRIES, 2, c.ways, 2 * n), np.uint64) % moduli
        diagonals = numbers.integers(0, 1 << 62, (_ENTRIES, _SLOTS, n), np.uint64) % moduli[:, :, 0]
        tables = np.concatenate([twiddles_of(c, q, self.log_n) for q in self.primes])
        self.constants = [[rng.randrange(least) for _ in range(96)] for _ in range(c.ways)]
        for way, words in enumerate(self.constants):
            for m in range(_ENTRIES):
                words[2 * m + 1] = quotient_constant(c, self.primes[m * c.ways + way])
        self.first_constant = rng.randrange(0, (CONSTANTS - 128) // c.lanes) * c.lanes
        self.memory = Dram(c.dram_bytes)
        self.places: dict[str, int] = {}
        at = _BASE
        moduli_words = [
            [word for m in range(_ENTRIES) for word in modulus_entry(c, self.primes[m * c.ways + way])]
            for way in range(c.ways)
        ]
        for name, words in {
            "limbs": limbs, "keys": keys, "diagonals": diagonals, "tables": tables,
            "constants": np.array(self.constants, np.uint64),
            "moduli": np.array([m + [0] * (-len(m) % c.lanes) for m in moduli_words], np.uint64),
        }.items():  # fmt: skip
            self.places[name] = at
            self.memory.map(at, words, writable=name == "limbs")
            at = -(-(at + 8 * words.size) // 4096) * 4096
            if name == "limbs":
                self.limbs = words
        self.end = at
        assert count * n == limbs.size
        step = c.ways * self.limb
        sums = SumStrides(step, _PARTS * step, self.limb * rng.randrange(3), self.limb, c.cols * step, step)
        self.builder = Builder(self.log_n, sums, c.cols)
        self.x: list[list[int | None]] = [[None] * c.buffers for _ in range(c.ways)]
        self.tw: list[list[int | None]] = [[None] * 2 for _ in range(c.ways)]
        self.acc: list[list[int | None]] = [[None] * 2 for _ in range(c.ways)]
        self.banks: set[int] = set()
        self.v: set[int] = set()

    # ---- places ----

    def at(self, what: str, m: int, slot: int) -> int:
        per = {"limbs": _SLOTS, "keys": 2, "tables": 1}[what]
        size = self.limb * (2 if what == "keys" else 1)
        return self.places[what] + (m * per + slot) * self.config.ways * size

    def reading(self, m: int) -> dict[str, int]:
        return {"addr0": self.at("limbs", m, self.rng.randrange(_SLOTS)), "stride0": self.limb}

    def having(self, table: list[list[int | None]], ways: int, m: int) -> list[int]:
        """Places that hold modulus m in all these ways."""
        active = [w for w in range(self.config.ways) if ways >> w & 1]
        return [i for i in range(len(table[0])) if all(table[w][i] == m for w in active)]

    def note(self, table: list[list[int | None]], ways: int, index: int, m: int) -> None:
        for w in range(self.config.ways):
            if ways >> w & 1:
                table[w][index] = m

    # ---- instructions ----

    def tables(self) -> None:
        c, b = self.config, self.builder
        for way in range(c.ways):
            size = -(-4 * _ENTRIES // c.lanes) * c.lanes * 8
            for m, entry in enumerate(self.entries):
                # An entry begins at a row or the machine does not see it.
                if 32 * m % (8 * c.lanes) == 0:
                    b.add(Op.LOADM, src=way, mod=entry, count=1, addr0=self.places["moduli"] + way * size + 32 * m)
            words = len(self.constants[0])
            b.add(
                Op.LOADC, src=way, k=self.first_constant, count=words, addr0=self.places["constants"] + 8 * way * words
            )

    def step(self) -> bool:
        """Adds an instruction; False if what was drawn is not possible now."""
        c, b, rng = self.config, self.builder, self.rng
        op = rng.choice([*Op, Op.LOADX, Op.CONV, Op.SCALE, Op.KMAC])
        m, ways = rng.randrange(_ENTRIES), rng.randrange(1, 1 << c.ways)
        if rng.random() < 0.7:
            ways = (1 << c.ways) - 1
        given = {"ways": ways, "mod": self.entries[m]}
        have = self.having(self.x, ways, m)
        dst = rng.randrange(c.buffers)
        held = {"src": rng.choice(have)} if have else None
        match op:
            case Op.LOADX:
                b.add(op, dst=dst, **given, **self.reading(m))
                self.note(self.x, ways, dst, m)
            case Op.LOADT:
                b.add(op, dst=dst % 2, **given, addr0=self.at("tables", m, 0), stride0=self.limb)
                self.note(self.tw, ways, dst % 2, m)
            case Op.NTT | Op.INTT:
                tw = self.having(self.tw, ways, m)
                if held is None or not tw:
                    return False
                b.add(op, dst=dst, bank=rng.choice(tw), **held, **given)
                self.note(self.x, ways, dst, m)
            case Op.AUTO:
                if held is None or held["src"] == dst:
                    return False
                b.add(op, dst=dst, element=rng.randrange(1, 2 << self.log_n, 2), **held, **given)
                self.note(self.x, ways, dst, m)
            case Op.SCALE:
                bank, v = rng.choice([0, rng.randrange(c.banks - c.ways + 1)]), rng.randrange(QUOTIENTS)
                if held is None:
                    return False
                init = v not in self.v or rng.random() < 0.3
                b.add(op, dst=v, bank=bank, k=self.first_constant + 2 * m, init=init, **held, **given)
                self.banks |= {bank + w for w in range(c.ways) if ways >> w & 1}
                self.v.add(v)
            case Op.CONV:
                first = rng.choice(sorted(self.banks)) if self.banks else 0
                most = next((i for i in range(c.banks + 1) if first + i not in self.banks), 0)
                if not self.v or most == 0:
                    return False
                count = rng.randint(1, most)
                k = self.first_constant + 2 * _ENTRIES + rng.randrange(88 - count)
                b.add(op, dst=dst, bank=first, count=count, src=rng.choice(sorted(self.v)), k=k, **given)
                self.note(self.x, ways, dst, m)
            case Op.KMAC:
                pairs = self.having(self.acc, ways, m)
                init = not pairs or rng.random() < 0.4
                bank = rng.randrange(2) if init else rng.choice(pairs)
                add, to_x, dst = rng.random() < 0.3, rng.random() < 0.4, rng.randrange(c.buffers - 1)
                if held is None or rng.random() < 0.4:
                    given |= {"from_memory": 1} | self.reading(m)
                else:
                    given |= held
                    if to_x and held["src"] in (dst, dst + 1):
                        return False
                given |= {"addr1": self.at("keys", m, rng.randrange(2)), "stride1": 2 * self.limb}
                b.add(op, dst=dst, bank=bank, init=init, add=add, part=rng.randrange(2), to_x=to_x, **given)
                if to_x:
                    self.note(self.x, ways, dst, m)
                    self.note(self.x, ways, dst + 1, m)
                else:
                    self.note(self.acc, ways, bank, m)
            case Op.FINAL:
                pairs = self.having(self.acc, ways, m)
                if held is None or not pairs:
                    return False
                k = self.first_constant + 2 * _ENTRIES + rng.randrange(80)
                more = {"add": 1} | self.reading(m) if rng.random() < 0.5 else {}
                b.add(op, dst=dst, bank=rng.choice(pairs), part=rng.randrange(2), k=k, **held, **given, **more)
                self.note(self.x, ways, dst, m)
            case Op.STORE:
                if held is None:
                    return False
                slots = rng.sample(range(_SLOTS), 2)
                more = {"addr1": self.at("limbs", m, slots[1]), "stride1": self.limb}
                given |= {"add": rng.randrange(2), "addr0": self.at("limbs", m, slots[0]), "stride0": self.limb, **more}
                b.add(op, **held, **given)
            case Op.SUM:
                rows, count = rng.randint(1, c.rows), rng.randint(1, 4)
                used = _PARTS * (count - 1) + c.cols
                ct = rng.randrange(_SLOTS - used + 1)
                free = [s for s in range(_SLOTS - rows * c.cols + 1) if s >= ct + used or s + rows * c.cols <= ct]
                if not free:
                    return False
                diagonal = self.places["diagonals"] + (m * _SLOTS) * self.limb
                b.add(
                    op, src=rows, count=count, mod=self.entries[m], addr0=self.at("limbs", m, ct), addr1=diagonal,
                    stride0=self.at("limbs", m, rng.choice(free)),
                )  # fmt: skip
            case _:
                return False
        return True

    def ending(self) -> None:
        """Stores what is left in buffers and accumulators."""
        c, b = self.config, self.builder
        for turn in range(2):
            for way in range(c.ways):
                for m, entry in enumerate(self.entries):
                    given = {"ways": 1 << way, "mod": entry, "stride0": self.limb}
                    for slot, i in enumerate(self.having(self.x, 1 << way, m)):
                        b.add(Op.STORE, src=i, addr0=self.at("limbs", m, slot), **given)
                    pairs = self.having(self.acc, 1 << way, m)
                    if turn == 0 and pairs:
                        source = {"from_memory": 1, "addr0": self.at("limbs", m, 0), "add": 1}
                        b.add(Op.KMAC, dst=0, bank=pairs[0], to_x=1, **source, **given)
                        for i in (0, 1):
                            self.x[way][i] = m
                            b.add(Op.STORE, src=i, addr0=self.at("limbs", m, 4 + i), **given)


def case(config: OmrConfig, log_n: int, number: int, length: int) -> Case:
    """Random program `number` of about so many instructions, none if 0, in a random order that waits allow."""
    rng = random.Random(f"{config.name} {log_n} {number}")
    draw = Draw(config, log_n, rng)
    if length:
        draw.tables()
        while len(draw.builder.instructions) < length:
            draw.step()
        draw.ending()
    # Waits are for the last of a unit's instructions, so each unit keeps its order.
    units = [i.unit for i in draw.builder.instructions]
    after = [
        {*earlier, *[n for n in range(number) if units[n] == units[number]][-1:]}
        for number, earlier in enumerate(draw.builder.after)
    ]
    left = [len(earlier) for earlier in after]
    behind: list[list[int]] = [[] for _ in after]
    for later, earlier in enumerate(after):
        for one in earlier:
            behind[one].append(later)
    ready, order = [i for i, count in enumerate(left) if not count], []
    while ready:
        # Near the front most often, so that programs do not only fill one unit.
        order.append(ready.pop(min(rng.randrange(6), rng.randrange(len(ready)))))
        for later in behind[order[-1]]:
            left[later] -= 1
            if not left[later]:
                ready.append(later)
    return Case(config, draw.builder.program(order), draw.memory, draw.limbs, draw.end)


def masked(config: OmrConfig, log_n: int, active: int) -> Case:
    """Each operation that writes X, in one of two ways, over limbs of both; then all buffers are stored.

    Args:
        active: mask of the way.
    """
    draw = Draw(config, log_n, random.Random(5))
    b, limb, k = draw.builder, draw.limb, draw.first_constant + 2 * _ENTRIES
    both = {"ways": 3, "mod": draw.entries[0]}
    mine = both | {"ways": active}

    def at(what: str, slot: int) -> dict[str, int]:
        return {"addr0": draw.at(what, 0, slot), "stride0": limb}

    def key(slot: int) -> dict[str, int]:
        return {"addr1": draw.at("keys", 0, slot), "stride1": 2 * limb}

    draw.tables()
    for x in range(8):
        b.add(Op.LOADX, dst=x, **at("limbs", x), **both)
    b.add(Op.LOADT, dst=0, **at("tables", 0), **both)
    b.add(Op.SCALE, src=0, dst=0, bank=0, k=draw.first_constant, init=1, **both)
    b.add(Op.KMAC, src=1, bank=0, init=1, **key(0), **both)
    b.add(Op.NTT, src=0, dst=0, bank=0, **mine)
    b.add(Op.INTT, src=0, dst=1, bank=0, **mine)
    b.add(Op.AUTO, src=0, dst=2, element=5, **mine)
    b.add(Op.CONV, src=0, dst=3, bank=0, count=2, k=k, **mine)
    b.add(Op.FINAL, src=0, dst=4, bank=0, part=1, k=k, **mine)
    b.add(Op.KMAC, src=0, dst=5, bank=0, to_x=1, **key(1), **mine)
    b.add(Op.LOADX, dst=7, **at("limbs", 0), **mine)
    for x in range(8):
        b.add(Op.STORE, src=x, **at("limbs", x), **both)
    return Case(config, b.program(), draw.memory, draw.limbs, draw.end)
