# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Random valid programs for elements whose transforms and MACs share their ALUs, and whose near memory is their own.

As `random_programs`, with what those elements have besides: lifts in a MAC, 64 moduli, transforms in pairs, banks of
different sizes, copies from far memory. All elements use the same addresses with contents of their own, so a polynomial
that comes from another one's memory shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.vector.interpreter import STREAM_QUEUE
from ringforge.hw.vector.isa import MAX_MODULI, Instruction, Opcode, bank_of, encode, slot
from tests.hw.local_memory import Memory
from tests.hw.random_programs import KEYS, POLYNOMIALS, PRIMES, RandomPrograms, _Element

#: Polynomials of an element that are there before its program runs, in near memory and as many more in far memory.
INPUTS = PRIMES * (1 + POLYNOMIALS + KEYS)


@dataclass(frozen=True)
class _There:
    """A polynomial that the program puts into near memory: its prime, its place among a prime's inputs, and how many
    SYNCs its element had come to."""

    prime: int
    place: int
    syncs: int


class SharedPrograms(RandomPrograms):
    """Programs of all elements, drawn from a seed; arguments as `RandomPrograms`.

    Args:
        origin: address where data begin, near and far; a multiple of the line.

    Near memory of an element, from line 1 behind it on: inputs, outputs, places that are copied to, `size` bytes each.
    Far memory: other inputs, from line 3 on.
    """

    #: Places in near memory that are copied to.
    PLACES: ClassVar[int] = 10

    config: FameConfig

    def __init__(
        self, config: FameConfig, seed: int, length: int = 60, log_n: int | None = None, *, origin: int = 0
    ) -> None:
        self.origin = origin + config.line_bytes
        super().__init__(config, seed, length, log_n)

    @property
    def end(self) -> int:
        """Address behind the data."""
        return self._place(self.PLACES)

    def _size(self) -> int:
        # Some lines more than a polynomial has, so that polynomials begin anywhere between borders of 4 KiB.
        return self.config.polynomial_bytes(self.log_n) + int(self.rng.integers(4)) * self.config.line_bytes

    def _slots(self) -> list[int]:
        out = []
        for b in range(self.config.banks):
            last = self.config.bank_slots(self.log_n, b) - 1
            other = last if self._chance(40) else int(self.rng.integers(1, last + 1)) if last else 0
            out += [slot(b, r * self.rows) for r in sorted({0, other})]
        return out

    def _body(self, length: int) -> None:
        #: By element and address: what it stored and copied; what it read back, which stays as it is.
        self.there: dict[tuple[int, int], _There] = {}
        self.read_back: set[tuple[int, int]] = set()
        steps: list[Callable[[], None]] = [self._local] * 16 + [self._send] * 2 + [self._sync]
        for _ in range(length):
            steps[int(self.rng.integers(len(steps)))]()

    # ---- memory -----------------------------------------------------------------------------------

    def _contents(self) -> list[np.ndarray]:
        """Near inputs of every element, one after the other, then far inputs of every element."""
        return [words for _ in range(2 * self.config.elements) for words in super(SharedPrograms, self)._contents()]

    def _input(self, prime: int, place: int) -> int:
        return self.origin + (prime * (1 + POLYNOMIALS + KEYS) + place) * self.size

    def _output(self, e: _Element, place: int) -> int:  # noqa: ARG002
        return self.origin + (INPUTS + place) * self.size

    def _place(self, place: int) -> int:
        return self.origin + (INPUTS + self.outputs + place) * self.size

    def _far(self, prime: int, place: int) -> int:
        return self._input(prime, place) + 2 * self.config.line_bytes

    def image(self, image: Memory | None = None) -> Memory:
        """Memory of all elements before the programs run; puts data into memory that is there, if some is given."""
        image = image or Memory(self.config, self.end, self.end)
        for n, words in enumerate(self.contents):
            far, element = divmod(n // INPUTS, self.config.elements)
            at = self._input(0, n % INPUTS)
            image.put(element, at + 2 * self.config.line_bytes if far else at, words, far=bool(far))
        return image

    # ---- one element ------------------------------------------------------------------------------

    def _begin(self, e: _Element) -> None:
        for _ in range(1 + self._chance(20)):
            e.program.append(Instruction.conf(self.log_n, self.shift))
        for prime in range(PRIMES):
            self._modulus(e, self._pick([prime, prime + 32, MAX_MODULI - 1 - prime]), prime)

    def _local(self) -> None:
        e = self.elements[int(self.rng.integers(len(self.elements)))]
        kind = int(self.rng.integers(20))
        if kind < 3:
            self._transform(e, inverse=kind == 0)
        elif kind < 5:
            self._pair(e)
        elif kind < 7:
            self._auto(e)
        elif kind < 9:
            if len(e.streams) < STREAM_QUEUE:
                self._stream(e)
        elif kind < 15:
            # Several in a row: each may begin while those before it are being written.
            for _ in range(int(self.rng.integers(1, 5))):
                self._mac(e, stream=bool(e.streams) and self._chance(60))
        elif kind == 15:
            self._slot_of(e)
        elif kind == 16:
            self._store(e)
        elif kind == 17:
            self._load_back(e)
        elif kind == 18:
            self._copy(e)
        elif self._chance(40):
            self._modulus(e, self._pick([28, 29, 36, 60]), int(self.rng.integers(PRIMES)))

    def _stream(self, e: _Element) -> None:
        prime = int(self.rng.integers(PRIMES))
        e.program.append(Instruction.stream(self._input(prime, 1 + POLYNOMIALS + int(self.rng.integers(KEYS)))))
        e.streams.append(prime)

    def _pair(self, e: _Element) -> None:
        """Two transforms of a kind, lifted alike or not at all."""
        inverse = self._chance(40)
        a = self._slot_of(e)
        source = e.slots[a]
        other = self._pick([s for s, p in e.slots.items() if p == source or inverse])
        primes = [e.slots[a], e.slots[other]]
        if not inverse and self._chance(70):
            primes = [int(self.rng.integers(PRIMES)) for _ in range(2)]
        lift = None
        if not inverse and (primes != [source, source] or self._chance(50)):
            lift = self._entry(e, source)
        tables = [self._table(e, p) for p in primes]
        if e.tables[tables[0]] != primes[0]:
            return  # the second table has taken the first one's place
        dst = self._pick([s for s in self.codes if s != other])
        into = self._pick([s for s in self.codes if s not in (dst, a)])
        pair = [
            Instruction.intt(d, s, t, self._entry(e, p))
            if inverse
            else Instruction.ntt(d, s, t, self._entry(e, p), lift)
            for d, s, t, p in zip((dst, into), (a, other), tables, primes, strict=True)
        ]
        e.program.append(pair[0].beside(pair[1]))
        e.slots[dst], e.slots[into] = primes

    def _mac(self, e: _Element, stream: bool) -> None:
        prime = e.streams[0] if stream else int(self.rng.integers(PRIMES))
        q = self.primes[prime]
        kind = self._pick([0, 1, 1, 2, 2, 2])  # a * B, (a - c) * B, a * B + c
        lifted = self._chance(40)
        source = int(self.rng.integers(PRIMES)) if lifted else prime
        # Primes of a, c and b: what is lifted comes from the source.
        primes = (prime if kind == 1 else source, source if kind == 1 else prime, prime)
        if kind == 0:
            primes = (source, source, prime)
        a = self._slot_of(e, primes[0])
        read = {a}

        def another(p: int) -> int | None:
            """A slot of this prime that may be read beside the others."""
            banks = [bank_of(s) for s in read]
            held = [s for s, x in e.slots.items() if x == p and (s in read or bank_of(s) not in banks)]
            return self._pick(held) if held else None

        c = another(primes[1]) if kind else None
        if c is None:
            kind, lifted = 0, lifted and kind != 1
        else:
            read.add(c)
        b = another(prime) if not stream and self._chance(40) else None
        imm = self._pick([0, 1, q - 1, int(self.rng.integers(q))]) if not stream and b is None else None
        e.program.append(
            Instruction.mac(
                dst := self._pick(self.codes),
                a,
                self._entry(e, prime),
                imm=imm,
                b=b,
                stream=stream,
                c=c,
                pre_sub=kind == 1,
                post_add=kind == 2,
                lift_from=self._entry(e, source) if lifted else None,
            )
        )
        if stream:
            e.streams.pop(0)
        e.slots[dst] = prime

    # ---- near and far memory ----------------------------------------------------------------------

    def _store(self, e: _Element) -> None:
        a, address = self._slot_of(e), self._output(e, e.stores % self.STORES)
        e.stores += 1
        if (e.number, address) in self.read_back:
            return  # what reads it may still be under way
        e.program.append(Instruction.store(a, address))
        self.there[e.number, address] = _There(e.slots[a], 1, e.syncs[0])

    def _copy(self, e: _Element) -> None:
        free = [k for k in range(self.PLACES) if (e.number, self._place(k)) not in self.there]
        for k in free[: int(self.rng.integers(1, 4))]:
            prime, place = int(self.rng.integers(PRIMES)), int(self.rng.integers(1 + POLYNOMIALS + KEYS))
            e.program.append(Instruction.copy(self._place(k), self._far(prime, place)))
            self.there[e.number, self._place(k)] = _There(prime, place, e.syncs[0])

    def _load_back(self, e: _Element) -> None:
        """Reads what this element stored or copied, after a SYNC."""
        ready = sorted(at for (n, at), x in self.there.items() if n == e.number and e.syncs[0] > x.syncs)
        if not ready:
            e.program.append(Instruction.sync(0))
            e.syncs[0] += 1
            return
        address = self._pick(ready)
        there = self.there[e.number, address]
        self.read_back.add((e.number, address))
        if there.place == 0:
            code = self._pick(self.table_codes)
            e.tables[code] = there.prime
        elif there.place > POLYNOMIALS or self._chance(30):
            if len(e.streams) < STREAM_QUEUE:
                e.program.append(Instruction.stream(address))
                e.streams.append(there.prime)
            return
        else:
            code = self._pick(self.codes)
            e.slots[code] = there.prime
        e.program.append(Instruction.load(code, address))


def chain(config: FameConfig, seed: int, length: int, degrees: Sequence[int]) -> tuple[list[np.ndarray], Memory]:
    """Random programs of one degree after the other, and memory before they run."""
    parts: list[SharedPrograms] = []
    for n, log_n in enumerate(degrees):
        parts.append(SharedPrograms(config, seed + n, length, log_n, origin=parts[-1].end if parts else 0))
    image = Memory(config, parts[-1].end, parts[-1].end)
    for part in parts:
        part.image(image)
    bodies = [[p[:-1] for p in part.encoded()] for part in parts]
    return [np.concatenate([*pieces, encode([Instruction.end()])]) for pieces in zip(*bodies, strict=True)], image


def kinds(program: list[Instruction]) -> set[str]:
    """What a program has: its operations, pairs and lifts by name."""
    found = {i.op.name for i in program}
    found |= {f"pair of {i.op.name}" for i in program if i.pair}
    found |= {f"{i.op.name} with lift" for i in program if i.lift and i.op in (Opcode.MAC, Opcode.NTT)}
    return found
