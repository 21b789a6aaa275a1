# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Bytes as numbers from 0 to 255: comparisons and sums, as circuits over GF(2^8).

Bits of a byte are linear maps of it, Tr(b_i x), all eight from one ModUp. Comparisons and carries are then products of
bits, 0 and 1 in slots, by trees: 4 products one after another at the most. Equality takes 3, x^255.
"""

from __future__ import annotations

from functools import cache

from ringforge.aes.byte_aes import Builder
from ringforge.aes.byte_circuit import BIT_MAPS, BITS, Circuit, Maps, Power, Product, Sum
from ringforge.errors import ParameterError

#: A bit of a comparison: less, and equal, among the bits from some one up. Nothing where it is 0 or is not needed.
_Pair = tuple[int | None, int | None]


def _as_byte(value: int, what: str) -> int:
    if not isinstance(value, int) or not 0 <= value <= 255:
        raise ParameterError(f"{what} is a byte, 0 to 255, not {value!r}")
    return value


def _tree(b: Builder, pairs: list[_Pair], stage: int) -> tuple[int | None, int]:
    """Whether less, of pairs from the highest bit down, and the stage where that is known:
    (l, e) of higher bits and (l', e') of lower ones make (l + e l', e e')."""
    while len(pairs) > 1:
        joined: list[_Pair] = []
        for n in range(0, len(pairs), 2):
            (less, equal), (low_less, low_equal) = pairs[n], pairs[n + 1]
            last = n + 2 == len(pairs)
            both = less
            if low_less is not None and equal is not None:
                product = b.add(Product(stage, equal, low_less))
                both = product if less is None else b.add(Sum(stage + 1, ((less, 1), (product, 1))))
            needed = not last and equal is not None and low_equal is not None
            joined.append((both, b.add(Product(stage, equal, low_equal)) if needed else None))  # type: ignore[arg-type]
        pairs, stage = joined, stage + 1
    return pairs[0][0], stage


@cache
def less_than() -> Circuit:
    """x < y: 1 or 0. Inputs x, y."""
    b = Builder(2)
    x, y = b.add(Maps(0, 0, BIT_MAPS)), b.add(Maps(0, 1, BIT_MAPS))
    pairs: list[_Pair] = []
    for i in reversed(range(BITS)):
        not_x = b.add(Sum(1, ((x + i, 1),), 1))
        equal = b.add(Sum(1, ((not_x, 1), (y + i, 1)))) if i else None
        pairs.append((b.add(Product(1, not_x, y + i)), equal))
    # The first products are one stage above the factors of the tree, which then come down to theirs.
    out, stage = _tree(b, pairs, 2)
    assert out is not None
    return Circuit("x < y", 2, stage, tuple(b.steps), (out,))


@cache
def less_than_constant(limit: int) -> Circuit:
    """x < limit: 1 or 0. Input x.

    Raises:
        ParameterError: the limit is not from 1 to 255: the answer would be known.
    """
    if not _as_byte(limit, "the limit"):
        raise ParameterError("nothing is less than 0: take a limit from 1 to 255")
    b = Builder(1)
    x = b.add(Maps(0, 0, BIT_MAPS))
    pairs: list[_Pair] = []
    for i in reversed(range(BITS)):
        not_x = b.add(Sum(1, ((x + i, 1),), 1))
        pairs.append((not_x, x + i) if limit >> i & 1 else (None, not_x))
    out, stage = _tree(b, pairs, 1)
    assert out is not None
    return Circuit(f"x < {limit}", 1, stage, tuple(b.steps), (out,))


@cache
def equal() -> Circuit:
    """x = y: 1 or 0. Inputs x, y. With z = x + y it is 1 + z^255; z^15 takes two products, z^240 is its Frobenius
    map."""
    b = Builder(2)
    z = b.add(Sum(0, ((0, 1), (1, 1))))
    z3 = b.add(Product(0, z, b.add(Power(0, z, 1))))
    z15 = b.add(Product(1, z3, b.add(Power(1, z3, 2))))
    z255 = b.add(Product(2, z15, b.add(Power(2, z15, 4))))
    out = b.add(Sum(3, ((z255, 1),), 1))
    return Circuit("x = y", 2, 3, tuple(b.steps), (out,))


@cache
def add() -> Circuit:
    """x + y modulo 256, and the carry, 0 or 1. Inputs x, y. Carries by prefixes (Sklansky 1960)."""
    b = Builder(2)
    x, y = b.add(Maps(0, 0, BIT_MAPS)), b.add(Maps(0, 1, BIT_MAPS))
    sums = [b.add(Sum(1, ((x + i, 1), (y + i, 1)))) for i in range(BITS)]
    carries = [b.add(Product(1, x + i, y + i)) for i in range(BITS)]
    passes: list[int] = list(sums)
    stage = 2
    for k in range(3):
        changed = [i for i in range(BITS) if i >> k & 1]
        lower = {i: (i >> k << k) - 1 for i in changed}
        products = {i: b.add(Product(stage, passes[i], carries[lower[i]])) for i in changed}
        # Whether all of a block pass a carry on matters unless the block begins at bit 0.
        for i in changed:
            if i >> (k + 1):
                passes[i] = b.add(Product(stage, passes[i], passes[lower[i]]))
        for i in changed:
            carries[i] = b.add(Sum(stage + 1, ((carries[i], 1), (products[i], 1))))
        stage += 1
    terms = [(sums[i], 1 << i) for i in range(BITS)] + [(carries[i], 2 << i) for i in range(BITS - 1)]
    total = b.add(Sum(stage, tuple(terms)))
    return Circuit("x + y", 2, stage, tuple(b.steps), (total, carries[-1]))
