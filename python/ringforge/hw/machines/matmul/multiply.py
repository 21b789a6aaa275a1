# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Products of two ciphertexts, relinearised: what `MultiplyKernel` means, on one element.

Limb by limb, so that little is on chip at a time: c1 d1 of every limb goes to coefficients; the special primes' sums of
its key switch are made, transformed back and kept; then each limb of Q is finished. Factors are read twice, since
they are shorter than what would have to be kept.
"""

from __future__ import annotations

from collections.abc import Callable

from ringforge.hw.machines.matmul.circuit import FRONT, PASSING, Circuit, Mixed, Source
from ringforge.hw.machines.matmul.layout import KeyRegion
from ringforge.hw.vector.ir import Value

#: Takes a limb of a part of a result.
Sink = Callable[[int, int, Value], None]


def multiply(
    c: Circuit, left: Source, right: Source, limbs: int, key: KeyRegion, sink: Sink, total: Source | None = None
) -> None:
    """Writes left * right, relinearised by `key`, plus `total`.

    Args:
        left, right: the factors, limbs 0 ... limbs - 1 of two parts; asked for twice.
        key: the relinearisation key, for so many limbs.
        sink: takes the result.
        total: what is added.
    """
    code, target = c.code, c.target

    def square(i: int) -> Value:
        factor = c.multiplier(right(1, i), i, bank=PASSING)
        return code.multiply(left(1, i), factor, i, bank=1)

    digits = c.decompose(limbs, square, keep=False)
    count, cut = len(digits.mixed), target.digits(limbs)
    if count == 1:
        # Nobody asks for the coefficients when the special primes' digits are there: make them all first.
        for mod in target.specials:
            c.digit(digits, 0, mod, keep=True)
    rests = (Mixed(c), Mixed(c))
    for mod in target.specials:
        pair = c.key_product([c.digit(digits, d, mod) for d in range(count)], key, mod)
        for rest, value in zip(rests, pair, strict=True):
            rest.add(code.intt(value, mod, bank=PASSING if rest.held else c.holder()), mod)
    for i in range(limbs):
        a = [left(part, i) for part in (0, 1)]
        b = [c.multiplier(right(part, i), i, bank=PASSING) for part in (0, 1)]
        values = [
            code.multiply(a[1], b[1], i, bank=FRONT) if i in cut[d] else c.digit(digits, d, i) for d in range(count)
        ]
        u, v = c.key_product(values, key, i)
        first = code.multiply(a[0], b[0], i, c.divided(u, rests[0], i, bank=1), bank=1)
        second = code.multiply(a[0], b[1], i, c.divided(v, rests[1], i, bank=2), bank=2)
        second = code.multiply(a[1], b[0], i, second, bank=2)
        for part, value in ((0, first), (1, second)):
            sink(part, i, value if total is None else c.add(total(part, i), value, i, bank=1 + part))
