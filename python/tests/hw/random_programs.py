# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Random valid programs for a machine, for holding its simulation against the interpreter.

Instructions are drawn one after the other for random elements; meetings (SEND and RECV, REDUCE, SYNC) are added to
all who take part at once, so programs never wait for each other in a circle. At the end every element stores all its
slots: whatever went wrong shows in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ringforge._native import kernels
from ringforge.hw.core.dram import Dram
from ringforge.hw.vector import constants
from ringforge.hw.vector.config import VectorConfig
from ringforge.hw.vector.interpreter import STREAM_QUEUE
from ringforge.hw.vector.isa import TWIDDLE_BANK, Instruction, bank_of, encode, slot

INPUTS, OUTPUTS = 0x100000, 0x800000
PRIMES, POLYNOMIALS, KEYS = 3, 3, 2


@dataclass
class _Element:
    number: int
    group: int
    pe: int
    program: list[Instruction] = field(default_factory=list)
    #: Slot -> number of the prime whose residues it holds.
    slots: dict[int, int] = field(default_factory=dict)
    tables: dict[int, int] = field(default_factory=dict)
    moduli: dict[int, int] = field(default_factory=dict)
    #: Primes of the streamed polynomials that wait.
    streams: list[int] = field(default_factory=list)
    syncs: list[int] = field(default_factory=lambda: [0, 0, 0])
    stores: int = 0


@dataclass
class _Stored:
    element: _Element
    prime: int
    syncs: tuple[int, ...]


class RandomPrograms:
    """Programs of all elements, drawn from a seed.

    Args:
        config: the machine.
        seed: everything follows from it.
        length: random instructions of all elements together; about that many more set up and store.
        log_n: log2 of the degree; random by default, at most 10.
    """

    #: Polynomials per element in the output area, for STOREs before the end.
    STORES: ClassVar[int] = 16

    def __init__(self, config: VectorConfig, seed: int, length: int = 60, log_n: int | None = None) -> None:
        self.rng = np.random.default_rng(seed)
        self.config = config
        self.log_n = log_n or int(self.rng.integers(config.min_log_n, min(config.max_log_n, 10) + 1))
        self.degree, self.rows = 1 << self.log_n, config.rows(self.log_n)
        self.size = self._size()
        bits = int(self.rng.integers(config.word_bits - 7, config.word_bits + 1))
        self.primes = [int(q) for q in kernels.primes_below(bits, PRIMES, 1 << 18)]
        self.shift = config.shift(bits)
        self.contents = self._contents()
        self.codes = self._slots()
        self.table_codes = [slot(TWIDDLE_BANK, r * self.rows) for r in range(min(2, config.twiddle_slots(self.log_n)))]
        self.elements = [_Element(k, k // config.pes, k % config.pes) for k in range(config.elements)]
        #: Polynomials per element in the output area; the last ones are for the slots at the end.
        self.outputs = self.STORES + len(self.codes)
        self.stored: dict[int, _Stored] = {}
        self.loaded: set[int] = set()
        for e in self.elements:
            self._begin(e)
        self._body(length)
        for e in self.elements:
            self._end(e)

    def _size(self) -> int:
        """Bytes from one polynomial in memory to the next."""
        return max(8 << self.log_n, 4096)

    def _slots(self) -> list[int]:
        """Few slots, so that instructions get in each other's way: two per bank, the first and a random one."""
        per_bank = self.config.bank_slots(self.log_n)
        return [
            slot(b, r * self.rows)
            for b in range(self.config.banks)
            for r in sorted({0, int(self.rng.integers(1, per_bank)) if per_bank > 1 else 0})
        ]

    def _body(self, length: int) -> None:
        """What all elements do between setting up and storing."""
        steps: list[Callable[[], None]] = [self._local] * 12 + [self._send] * 3 + [self._reduce, self._sync]
        for _ in range(length):
            steps[int(self.rng.integers(len(steps)))]()

    # ---- memory -----------------------------------------------------------------------------------

    def _contents(self) -> list[np.ndarray]:
        """Tables, polynomials and multipliers of each prime, in the order of `_input`."""
        out = []
        for q in self.primes:
            out.append(constants.twiddles(self.config, q, self.log_n))
            for _ in range(POLYNOMIALS):
                words = self.rng.integers(0, q, self.degree, dtype=np.uint64)
                # Where lifts and reductions change their mind.
                edges = np.array([0, 1, q // 2, q // 2 + 1, q - 1], np.uint64)
                words[: edges.size] = edges
                out.append(words)
            for _ in range(KEYS):
                words = self.rng.integers(0, q, self.degree, dtype=np.uint64)
                out.append(constants.multiplier(self.config, words, q))
        return out

    def _input(self, prime: int, place: int) -> int:
        return INPUTS + (prime * (1 + POLYNOMIALS + KEYS) + place) * self.size

    def _output(self, e: _Element, place: int) -> int:
        return OUTPUTS + (e.number * self.outputs + place) * self.size

    def memory(self) -> Dram:
        """Memory before the programs run."""
        dram = Dram(self.config.dram_bytes)
        for k, words in enumerate(self.contents):
            dram.map(INPUTS + k * self.size, words.copy())
        dram.reserve(OUTPUTS, self.config.elements * self.outputs * self.size)
        return dram

    def encoded(self) -> list[np.ndarray]:
        """Instruction words of every element."""
        return [encode(e.program) for e in self.elements]

    @staticmethod
    def results(dram: Dram) -> np.ndarray:
        """The output area after a run."""
        return next(s for s in dram if s.address == OUTPUTS).words

    # ---- one element ------------------------------------------------------------------------------

    def _pick(self, choices: list[int]) -> int:
        return choices[int(self.rng.integers(len(choices)))]

    def _chance(self, percent: int) -> bool:
        return int(self.rng.integers(100)) < percent

    def _modulus(self, e: _Element, entry: int, prime: int) -> None:
        q = self.primes[prime]
        e.program.append(Instruction.modulus(entry, q << self.shift, constants.multiplier_constant(self.config, q)))
        e.moduli[entry] = prime

    def _begin(self, e: _Element) -> None:
        for _ in range(1 + self._chance(20)):
            e.program.append(Instruction.conf(self.log_n, self.shift))
        for prime in range(PRIMES):
            self._modulus(e, self._pick([prime, prime + 8, 31 - prime]), prime)

    def _end(self, e: _Element) -> None:
        while e.streams:
            self._mac(e, stream=True)
        for place, code in enumerate(sorted(e.slots)):
            e.program.append(Instruction.store(code, self._output(e, self.outputs - 1 - place)))
        e.program.append(Instruction.end())

    def _entry(self, e: _Element, prime: int) -> int:
        return self._pick([k for k, p in e.moduli.items() if p == prime])

    def _slot_of(self, e: _Element, prime: int | None = None) -> int:
        """A slot that holds residues (of a prime); fills one when there is none."""
        held = [s for s, p in e.slots.items() if prime is None or p == prime]
        if held and not self._chance(5):
            return self._pick(held)
        prime = int(self.rng.integers(PRIMES)) if prime is None else prime
        code = self._pick(self.codes)
        e.program.append(Instruction.load(code, self._input(prime, 1 + int(self.rng.integers(POLYNOMIALS)))))
        e.slots[code] = prime
        return code

    def _table(self, e: _Element, prime: int) -> int:
        held = [s for s, p in e.tables.items() if p == prime]
        if held and not self._chance(10):
            return self._pick(held)
        code = self._pick(self.table_codes)
        e.program.append(Instruction.load(code, self._input(prime, 0)))
        e.tables[code] = prime
        return code

    def _local(self) -> None:
        e = self.elements[int(self.rng.integers(len(self.elements)))]
        kind = self._pick([0, 1, 2, 3, 4, 4, 4, 5, 5, 6, 7, 8])
        if kind == 0:
            self._transform(e, inverse=False)
        elif kind == 1:
            self._transform(e, inverse=True)
        elif kind == 2:
            self._auto(e)
        elif kind == 3 and len(e.streams) < STREAM_QUEUE:
            prime = int(self.rng.integers(PRIMES))
            e.program.append(Instruction.stream(self._input(prime, 1 + POLYNOMIALS + int(self.rng.integers(KEYS)))))
            e.streams.append(prime)
        elif kind == 4:
            self._mac(e, stream=bool(e.streams) and self._chance(60))
        elif kind == 5:
            self._slot_of(e)
        elif kind == 6:
            self._store(e)
        elif kind == 7:
            self._load_back(e)
        elif kind == 8 and self._chance(30):
            self._modulus(e, 16 + int(self.rng.integers(4)), int(self.rng.integers(PRIMES)))

    def _transform(self, e: _Element, inverse: bool) -> None:
        a = self._slot_of(e)
        source = e.slots[a]
        prime = source if inverse else int(self.rng.integers(PRIMES))
        table, dst = self._table(e, prime), self._pick(self.codes)
        lift = self._entry(e, source) if prime != source or self._chance(20) else None
        mod = self._entry(e, prime)
        instruction = Instruction.intt(dst, a, table, mod) if inverse else Instruction.ntt(dst, a, table, mod, lift)
        e.program.append(instruction)
        e.slots[dst] = prime

    def _auto(self, e: _Element) -> None:
        a = self._slot_of(e)
        dst = self._pick([s for s in self.codes if s != a])
        e.program.append(Instruction.auto(dst, a, 2 * int(self.rng.integers(self.degree)) + 1))
        e.slots[dst] = e.slots[a]

    def _mac(self, e: _Element, stream: bool) -> None:
        a = self._slot_of(e, e.streams[0] if stream else None)
        prime = e.slots[a]
        q = self.primes[prime]

        def apart(taken: list[int]) -> list[int]:
            """Slots of this prime that may be read beside others."""
            return [
                s
                for s, p in e.slots.items()
                if p == prime and (s in taken or bank_of(s) not in [bank_of(t) for t in taken])
            ]

        c = self._pick(apart([a])) if self._chance(70) else None
        b = None
        if not stream and self._chance(40):
            b = self._pick(apart([a] if c is None else [a, c]))
        imm = None
        if not stream and b is None:
            imm = self._pick([0, 1, q - 1, int(self.rng.integers(q))])
        kind = 0 if c is None else int(self.rng.integers(1, 4))
        dst = self._pick([s for s in self.codes if s != b])
        e.program.append(
            Instruction.mac(
                dst,
                a,
                self._entry(e, prime),
                imm=imm,
                b=b,
                stream=stream,
                c=c,
                pre_sub=bool(kind & 1),
                post_add=bool(kind & 2),
            )
        )
        if stream:
            e.streams.pop(0)
        e.slots[dst] = prime

    def _store(self, e: _Element) -> None:
        a, address = self._slot_of(e), self._output(e, e.stores % self.STORES)
        e.stores += 1
        if address in self.loaded:
            return  # a LOAD from there may still run
        e.program.append(Instruction.store(a, address))
        self.stored[address] = _Stored(e, e.slots[a], tuple(e.syncs))

    def _load_back(self, e: _Element) -> None:
        """Loads what some element stored, if a SYNC makes that safe."""

        def safe(s: _Stored) -> bool:
            scope = 0 if s.element is e else 1 if s.element.group == e.group else 2
            return e.syncs[scope] > s.syncs[scope]

        addresses = sorted(a for a, s in self.stored.items() if safe(s))
        if not addresses:
            self._sync()
            return
        address = self._pick(addresses)
        self.loaded.add(address)
        code = self._pick(self.codes)
        e.program.append(Instruction.load(code, address))
        e.slots[code] = self.stored[address].prime

    # ---- meetings ---------------------------------------------------------------------------------

    def _send(self) -> None:
        config = self.config
        if config.pes == 1:
            return
        base = int(self.rng.integers(config.groups)) * config.pes
        source = int(self.rng.integers(config.pes))
        others = [j for j in range(config.pes) if j != source]
        receivers = [j for j in others if self._chance(50)] or [self._pick(others)]
        sender = self.elements[base + source]
        a = self._slot_of(sender)
        sender.program.append(Instruction.send(a, sum(1 << j for j in receivers)))
        for j in receivers:
            e, code = self.elements[base + j], self._pick(self.codes)
            e.program.append(Instruction.recv(code, source))
            e.slots[code] = sender.slots[a]

    def _reduce(self) -> None:
        """A sum over groups; all name the same entry of their modulus tables."""
        pe, prime = int(self.rng.integers(self.config.pes)), int(self.rng.integers(PRIMES))
        peers = [self.elements[g * self.config.pes + pe] for g in range(self.config.groups)]
        entry = 4 + prime
        for e in peers:
            if e.moduli.get(entry) != prime:
                self._modulus(e, entry, prime)
            a = self._slot_of(e, prime)
            dst = self._pick([s for s in self.codes if s != a])
            e.program.append(Instruction.reduce(dst, a, entry))
            e.slots[dst] = prime

    def _sync(self) -> None:
        scope = int(self.rng.integers(3))
        one = self.elements[int(self.rng.integers(len(self.elements)))]
        for e in self.elements:
            if e is one or scope == 2 or (scope == 1 and e.group == one.group):
                e.program.append(Instruction.sync(scope))
                for s in range(scope + 1):
                    e.syncs[s] += 1
