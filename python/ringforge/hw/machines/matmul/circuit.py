# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Operations on polynomials over several primes, on one element: what programs of products are made of.

Arithmetic is the CPU's (`rlwe/switching.cpp`, `rlwe/modulus_drop.cpp`). Conversions between bases are exact and
centred, by digits of a mixed radix (`convert`). Galois keys switch first and map afterwards.

Banks are wishes that the allocator follows where it can: 0 for what is loaded and for digits, 1 and 2 for sums and
for what is held long, 3 for transforms that come and go. Slots of one product are then in different banks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ringforge.hw.machines.matmul.convert import converted
from ringforge.hw.machines.matmul.layout import KeyRegion
from ringforge.hw.machines.matmul.target import PAIR_ROWS
from ringforge.hw.vector.ir import ElementCode, Value
from ringforge.hw.vector.target import Target

#: Gives a limb of a part: parts 0 and 1, limbs counted from 0.
Source = Callable[[int, int], Value]
#: A polynomial: value by entry of the modulus table.
Limbs = dict[int, Value]
Pair = tuple[Limbs, Limbs]

FRONT: Final = 0
PASSING: Final = 3


class Mixed:
    """Digits in mixed radix (`convert`) of a polynomial given by residues, limb after limb, in coefficients.

    A residue passes through bank `PASSING`, where it is reduced by the digits before it, and stays in another.
    """

    def __init__(self, circuit: Circuit) -> None:
        self.circuit = circuit
        self.held: list[tuple[int, Value]] = []
        self.banks: list[int] = []

    def add(self, value: Value, mod: int) -> None:
        """The next residue: a transform that passes."""
        code, held = self.circuit.code, self.held
        bank = self.circuit.holder() if held else value.bank or FRONT
        self.banks.append(bank)
        for place, (before, digit) in enumerate(held):
            value = code.sub_scale(
                value,
                digit,
                mod,
                self.circuit.target.inverse((before,), mod),
                bank=bank if place == len(held) - 1 else PASSING,
                lift_from=before,
            )
        held.append((mod, value))

    def release(self) -> None:
        """Nobody will ask for it any more."""
        for bank in self.banks:
            self.circuit.room[bank] += 1
        self.banks.clear()

    def to(self, mod: int, bank: int | None = FRONT) -> Value:
        """The value modulo another prime, transformed."""
        code = self.circuit.code
        if len(self.held) == 1:
            ((entry, digit),) = self.held
            return code.ntt(digit, mod, lift_from=entry, bank=bank)
        return code.ntt(converted(code, self.circuit.target, self.held, mod, PASSING), mod, bank=bank)


@dataclass
class Digits:
    """A polynomial cut into digits over Q and P; each is made when first asked for.

    Attributes:
        limbs: of the polynomial.
        mixed: each digit in coefficients.
        made: (digit, entry) -> transformed value; at first the polynomial's own limbs, as far as they are at hand.
    """

    limbs: int
    mixed: list[Mixed]
    made: dict[tuple[int, int], Value] = field(default_factory=dict)


class Circuit:
    """Writes operations of one element.

    Args:
        code: takes them.
        target: machine and moduli.
    """

    def __init__(self, code: ElementCode, target: Target) -> None:
        self.code, self.target = code, target
        #: Transforms are so short that two at a time fill the pipeline better.
        self.paired = target.config.rows(target.log_n) < PAIR_ROWS
        config, log_n = target.config, target.log_n
        #: Places for what is held long, by bank: some are left in the first one.
        self.room = [max(config.bank_slots(log_n, b) - (2, 0, 0)[b], 0) for b in (FRONT, 1, 2)]
        self._turn = 0

    def holder(self) -> int:
        """A bank for a value that is held long: the emptier of 1 and 2, else the first; any when all are full."""
        self._turn = (self._turn + 1) % 3
        bank = 1 if self.room[1] >= self.room[2] else 2
        if self.room[bank] <= 0:
            bank = FRONT if self.room[FRONT] > 0 else self._turn
        self.room[bank] -= 1
        return bank

    # ---- transforms ------------------------------------------------------------------------------

    def set_aside(self, residues: Sequence[tuple[Mixed, int, Value]]) -> None:
        """Transforms one or two residues back, modulo their entries, and adds each to a polynomial."""
        made, started = [], set[int]()
        for (mixed, mod, value), bank in zip(residues, (PASSING, FRONT), strict=False):
            first = not mixed.held and id(mixed) not in started
            started.add(id(mixed))
            made.append(self.code.intt(value, mod, bank=self.holder() if first else bank))
        if self.paired and len(made) == 2:
            self.code.pair()
        for (mixed, mod, _), value in zip(residues, made, strict=True):
            mixed.add(value, mod)

    def converted(self, sources: Sequence[tuple[Mixed, int]], banks: Sequence[int]) -> list[Value]:
        """One or two polynomials modulo other primes, transformed, into these banks."""
        if not self.paired or len(sources) < 2 or min(len(mixed.held) for mixed, _ in sources) < 2:
            return [mixed.to(mod, bank) for (mixed, mod), bank in zip(sources, banks, strict=False)]
        sums = [converted(self.code, self.target, mixed.held, mod, PASSING) for mixed, mod in sources]
        made = [self.code.ntt(v, mod, bank=bank) for v, (_, mod), bank in zip(sums, sources, banks, strict=True)]
        self.code.pair()
        return made

    # ---- key switching ----------------------------------------------------------------------------

    def decompose(self, limbs: int, own: Callable[[int], Value], keep: bool = True) -> Digits:
        """Cuts a polynomial into digits.

        Args:
            own: gives a limb in evaluation form.
            keep: the limbs are kept: they are the digits modulo their own primes.
        """
        cut = self.target.digits(limbs)
        out = Digits(limbs, [Mixed(self) for _ in cut])
        for first in range(0, limbs, 2):
            two = range(first, min(first + 2, limbs))
            values = [own(i) for i in two]
            number = [i // self.target.limbs_per_digit for i in two]
            self.set_aside([(out.mixed[d], i, v) for d, i, v in zip(number, two, values, strict=True)])
            if keep:
                out.made.update({(d, i): v for d, i, v in zip(number, two, values, strict=True)})
        return out

    def digit(self, digits: Digits, number: int, mod: int, keep: bool = False) -> Value:
        """A digit modulo an entry.

        Args:
            keep: it is used again.
        """
        value = digits.made.get((number, mod))
        if value is None:
            value = digits.mixed[number].to(mod)
            if keep:
                digits.made[number, mod] = value
        return value

    def key_product(
        self,
        digits: Sequence[Value],
        key: KeyRegion,
        mod: int,
        base: Sequence[Value | None] = (None, None),
        banks: tuple[int, int] = (1, 2),
    ) -> tuple[Value, Value]:
        """Sums of products of digits with a key modulo an entry, plus `base` where it has parts; into these banks."""
        sums = list(base)
        for d, value in enumerate(digits):
            for part in (0, 1):
                sums[part] = self.code.stream(
                    value, key.of(part, d, mod), mod, sums[part], bank=banks[part], far=key.far
                )
        u, v = sums
        assert u is not None
        assert v is not None
        return u, v

    def switched(self, digits: Digits, key: KeyRegion, base: Pair = ({}, {}), keep: bool = False) -> Pair:
        """Digits times a key over Q and P, plus `base` where it has limbs; special primes first.

        Args:
            keep: digits are used again.
        """
        parts: Pair = ({}, {})
        for mod in (*self.target.specials, *range(digits.limbs)):
            values = [self.digit(digits, d, mod, keep) for d in range(len(digits.mixed))]
            parts[0][mod], parts[1][mod] = self.key_product(values, key, mod, [part.get(mod) for part in base])
        return parts

    def raised(self, value: Value, mod: int) -> Value:
        """P times a limb of Q."""
        return self.code.scale(value, mod, self.target.product(tuple(self.target.specials), mod), bank=1)

    def rest(self, values: Iterable[tuple[int, Value]]) -> Mixed:
        """Limbs that are divided away, in coefficients."""
        rest = Mixed(self)
        for mod, value in values:
            self.set_aside([(rest, mod, value)])
        return rest

    def divided(self, value: Value, rest: Mixed, mod: int, bank: int | None = None) -> Value:
        """(value - rest) / product of the rest's primes."""
        inverse = self.target.inverse(tuple(entry for entry, _ in rest.held), mod)
        return self.code.sub_scale(value, rest.to(mod, PASSING), mod, inverse, bank=bank)

    def down(self, limbs: Mapping[int, Value], kept: int) -> Limbs:
        """A polynomial divided by all its primes but the first `kept` of Q, rounded."""
        rest = self.rest((mod, value) for mod, value in limbs.items() if mod >= kept)
        return {i: self.divided(limbs[i], rest, i) for i in range(kept)}

    # ---- whole polynomials ------------------------------------------------------------------------

    def multiplier(self, value: Value, mod: int, bank: int | None = None) -> Value:
        """A value in the machine's form of multipliers."""
        target = self.target
        if not target.config.montgomery:
            return value
        radix = (1 << target.config.montgomery_bits) % target.primes[mod]
        return self.code.scale(value, mod, target.immediate(radix, mod), bank=bank)

    def add(self, a: Value, c: Value, mod: int, bank: int | None = None) -> Value:
        """a + c."""
        return self.code.add(a, c, mod, self.target.one(mod), bank=bank)

    def accumulate(self, total: Pair | None, more: Pair) -> Pair:
        """total + more; `more` itself when there is no total."""
        if total is None:
            return more
        parts = [{mod: self.add(v, total[p][mod], mod, bank=1 + p) for mod, v in more[p].items()} for p in (0, 1)]
        return parts[0], parts[1]

    def mapped(self, pair: Pair, element: int) -> Pair:
        """Both parts under X -> X^element."""
        out: Pair = ({}, {})
        for part in (0, 1):
            for mod, value in pair[part].items():
                out[part][mod] = self.code.auto(value, element, bank=PASSING)
        return out

    def rotated(self, base: Limbs, digits: Digits, element: int, key: KeyRegion, keep: bool = False) -> Pair:
        """A ciphertext (base, what `digits` were cut from) under X -> X^element, over Q."""
        limbs = digits.limbs
        parts = self.switched(digits, key, keep=keep)
        divided = (self.down(parts[0], limbs), self.down(parts[1], limbs))
        for i in range(limbs):
            divided[0][i] = self.add(divided[0][i], base[i], i)
        return self.mapped(divided, element)
