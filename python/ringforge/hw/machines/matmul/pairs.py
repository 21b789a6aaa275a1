# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Sums of products of shifted ciphertexts: what `PairSumKernel` means, on one element.

The order of arithmetic is that of the CPU's `PairSum`: masks multiply the digits of a base before one key product
serves all terms of a shift; products of a group are summed before they are relinearised over Q and P; the sum over
groups is divided once. Rotated bases and their digits are made once and go to memory where banks are full.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ringforge._native import PairSumPlan
from ringforge.hw.machines.matmul.circuit import FRONT, PASSING, Circuit, Digits, Limbs, Pair, Source
from ringforge.hw.machines.matmul.layout import KeyRegion
from ringforge.hw.machines.matmul.multiply import Sink
from ringforge.hw.vector.ir import Value

#: Base, step, step of the first of two rotations, mask or -1.
Term = Sequence[int]


@dataclass(frozen=True)
class Keys:
    """Where an element has its keys.

    Attributes:
        galois: by Galois element.
        relin: the relinearisation key.
        rotation: Galois element of a left rotation of the slots.
        conjugation: that of the conjugation.
    """

    galois: Mapping[int, KeyRegion]
    relin: KeyRegion
    rotation: Callable[[int], int]
    conjugation: int

    def of(self, step: int) -> tuple[int, KeyRegion]:
        """Element and key of a rotation."""
        element = self.rotation(step)
        return element, self.galois[element]


@dataclass
class _Base:
    """A ciphertext over Q, with its digits when they have been asked for."""

    parts: Pair
    digits: Digits | None = None


class _Side:
    """Makes one side's shifted operands.

    Args:
        sources: the bases.
        limbs: of the bases, as far as they are used.
        masked: its shifts are.
        mask: address of a mask of a pair: number of the pair, number of the term, entry.
        slots: by which steps wrap.
    """

    def __init__(
        self,
        c: Circuit,
        sources: Sequence[Source],
        limbs: int,
        masked: bool,
        mask: Callable[[int, int, int], int],
        keys: Keys,
        slots: int,
    ) -> None:
        self.c, self.limbs, self.masked, self.mask, self.keys, self.slots = c, limbs, masked, mask, keys, slots
        self.bases: dict[tuple[int, int], _Base] = {}
        for number, source in enumerate(sources):
            parts = [{i: source(part, i) for i in range(limbs)} for part in (0, 1)]
            self.bases[number, 0] = _Base((parts[0], parts[1]))
        self.bare: dict[tuple[int, int, int], Pair] = {}

    def operand(self, number: int, terms: Sequence[Term]) -> Pair:
        """The shifted operand of a pair."""
        if self.masked:
            return self._masked(number, terms)
        base, step, via, _ = terms[0]
        if (base, step, via) not in self.bare:
            source, rest = self._base(base, via), (step - via) % self.slots
            self.bare[base, step, via] = source.parts if rest == 0 else self._rotated(source, rest)
        return self.bare[base, step, via]

    def _base(self, base: int, via: int) -> _Base:
        """A base rotated by `via`."""
        if (base, via) not in self.bases:
            self.bases[base, via] = _Base(self._rotated(self.bases[base, 0], via))
        return self.bases[base, via]

    def _digits(self, base: _Base) -> Digits:
        if base.digits is None:
            base.digits = self.c.decompose(self.limbs, lambda i: base.parts[1][i])
        return base.digits

    def _rotated(self, base: _Base, step: int) -> Pair:
        element, key = self.keys.of(step)
        return self.c.rotated(base.parts[0], self._digits(base), element, key, keep=True)

    def _masked(self, number: int, terms: Sequence[Term]) -> Pair:
        c, limbs = self.c, self.limbs
        rest = (terms[0][1] - terms[0][2]) % self.slots
        bases = [self._base(base, (step - rest) % self.slots) for base, step, _, _ in terms]
        sums: Pair = ({}, {})
        if rest == 0:
            for i in range(limbs):
                masks = [c.code.load(self.mask(number, t, i), FRONT) for t in range(len(terms))]
                for part in (0, 1):
                    sums[part][i] = self._products([b.parts[part][i] for b in bases], masks, i)
        else:
            digits = [self._digits(b) for b in bases]
            element, key = self.keys.of(rest)
            for mod in (*c.target.specials, *range(limbs)):
                masks = [c.code.load(self.mask(number, t, mod), FRONT) for t in range(len(terms))]
                values = [
                    self._products([c.digit(x, d, mod, keep=True) for x in digits], masks, mod)
                    for d in range(len(digits[0].mixed))
                ]
                raised = None
                if mod < limbs:
                    raised = c.raised(self._products([b.parts[0][mod] for b in bases], masks, mod), mod)
                pair = c.key_product(values, key, mod, (raised, None))
                for part in (0, 1):
                    sums[part][mod] = c.code.auto(pair[part], element, bank=PASSING)
        return c.down(sums[0], limbs - 1), c.down(sums[1], limbs - 1)

    def _products(self, values: Sequence[Value], masks: Sequence[Value], mod: int) -> Value:
        """Sum of products with masks."""
        total = None
        for value, mask in zip(values, masks, strict=True):
            total = self.c.code.multiply(value, mask, mod, total, bank=2)
        assert total is not None
        return total


def pair_sum(
    c: Circuit,
    plan: PairSumPlan,
    level: int,
    slots: int,
    bases: tuple[Sequence[Source], Sequence[Source]],
    mask: Callable[[bool, int, int, int], int],
    keys: Keys,
    sink: Sink,
) -> None:
    """Writes the sum of products of a plan.

    Args:
        level: of the bases.
        slots: of a ciphertext.
        bases: left and right ones.
        mask: address of an encoded mask: left or not, number of the pair, number of the term, entry.
        keys: what the plan needs.
        sink: takes the result.
    """
    groups = plan.groups
    first = groups[0][1][0]
    masked = [terms[0][3] >= 0 for terms in first]
    limbs = level + 1 - int(any(masked))
    sides = [
        _Side(c, bases[s], level + 1 if masked[s] else limbs, masked[s], _of(mask, s == 0), keys, slots) for s in (0, 1)
    ]
    total: Pair | None = None
    number = 0
    for outer, pairs in groups:
        sums: list[Limbs] = [{}, {}, {}]
        for left, right in pairs:
            a, b = sides[0].operand(number, left), sides[1].operand(number, right)
            _add_product(c, sums, a, b, limbs)
            number += 1
        raised = [{i: c.raised(v, i) for i, v in part.items()} for part in sums[:2]]
        digits = c.decompose(limbs, sums[2].__getitem__)
        made = c.switched(digits, keys.relin, (raised[0], raised[1]))
        if outer:
            made = _turned(c, made, limbs, *keys.of(outer))
        total = c.accumulate(total, made)
    assert total is not None
    result: Pair = (c.down(total[0], limbs - 1), c.down(total[1], limbs - 1))
    turns = [keys.conjugation] if plan.real_part else []
    for element in (*turns, *(keys.rotation(int(step)) for step in plan.folds)):
        if element == 1:
            result = c.accumulate(result, result)
            continue
        parts = result
        digits = c.decompose(limbs - 1, parts[1].__getitem__)
        result = c.accumulate(parts, c.rotated(parts[0], digits, element, keys.galois[element]))
    for part in (0, 1):
        for i in range(limbs - 1):
            sink(part, i, result[part][i])


def _of(mask: Callable[[bool, int, int, int], int], left: bool) -> Callable[[int, int, int], int]:
    return lambda number, term, entry: mask(left, number, term, entry)


def _add_product(c: Circuit, sums: list[Limbs], a: Pair, b: Pair, limbs: int) -> None:
    """Adds a product of two ciphertexts: parts 0, 1 and 2."""
    for i in range(limbs):
        factors = [c.multiplier(b[part][i], i, bank=PASSING) for part in (0, 1)]
        for part, left, right in ((0, 0, 0), (1, 0, 1), (1, 1, 0), (2, 1, 1)):
            sums[part][i] = c.code.multiply(a[left][i], factors[right], i, sums[part].get(i), bank=1 + part % 2)


def _turned(c: Circuit, sums: Pair, limbs: int, element: int, key: KeyRegion) -> Pair:
    """A group's sum over Q and P under X -> X^element: part 1 comes down to be switched, part 0 stays."""
    lower = c.down(sums[1], limbs)
    digits = c.decompose(limbs, lower.__getitem__)
    return c.mapped(c.switched(digits, key, (sums[0], {})), element)
