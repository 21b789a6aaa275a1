# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Products of two ciphertexts, relinearised: what `MultiplyKernel` means, on one element.

Limb by limb, so that little is on chip at a time: c1 d1 of every limb goes to coefficients; the special primes' sums of
its key switch are made, transformed back and kept; then each limb of Q is finished. Factors are read twice, since
they are shorter than what would have to be kept. Short transforms go in pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ringforge.hw.machines.matmul.circuit import FRONT, PASSING, Circuit, Mixed, Source
from ringforge.hw.machines.matmul.layout import KeyRegion
from ringforge.hw.vector.ir import Value

#: Takes a limb of a part of a result.
Sink = Callable[[int, int, Value], None]

#: Banks of the sums of products with the key.
SUMS: Final = (PASSING, PASSING)


def multiply(
    c: Circuit,
    left: Source,
    right: Callable[[int, int], int],
    limbs: int,
    key: KeyRegion,
    sink: Sink,
    total: Source | None = None,
) -> None:
    """Writes left * right, relinearised by `key`, plus `total`.

    Args:
        left: a factor, limbs 0 ... limbs - 1 of two parts; asked for twice.
        right: where the other factor's limbs are, in the machine's form of multipliers.
        key: the relinearisation key, for so many limbs.
        sink: takes the result.
        total: what is added.
    """
    code, target = c.code, c.target
    digits = c.decompose(limbs, lambda i: code.stream(left(1, i), right(1, i), i, bank=FRONT), keep=False)
    count, cut = len(digits.mixed), target.digits(limbs)
    specials = tuple(target.specials)
    if count == 1:
        # Nobody asks for the coefficients when the special primes' digits are there: make them all first.
        for n in range(0, len(specials), 2):
            two = specials[n : n + 2]
            made = c.converted([(digits.mixed[0], mod) for mod in two], (FRONT, FRONT))
            digits.made.update({(0, mod): value for mod, value in zip(two, made, strict=True)})
        digits.mixed[0].release()
    rests = (Mixed(c), Mixed(c))
    for mod in specials:
        pair = c.key_product([c.digit(digits, d, mod) for d in range(count)], key, mod, banks=SUMS)
        c.set_aside([(rest, mod, value) for rest, value in zip(rests, pair, strict=True)])
    for i in range(limbs):
        values = [
            code.stream(left(1, i), right(1, i), i, bank=FRONT) if i in cut[d] else c.digit(digits, d, i)
            for d in range(count)
        ]
        sums = c.key_product(values, key, i, banks=SUMS)
        less = c.converted([(rest, i) for rest in rests], (FRONT, FRONT))
        zero, one = left(0, i), left(1, i)
        quotients = [
            code.sub_scale(s, t, i, target.inverse(specials, i), bank=FRONT) for s, t in zip(sums, less, strict=True)
        ]
        first = code.stream(zero, right(0, i), i, quotients[0], bank=FRONT)
        second = code.stream(zero, right(1, i), i, quotients[1], bank=FRONT)
        second = code.stream(one, right(0, i), i, second, bank=FRONT)
        for part, value in ((0, first), (1, second)):
            sink(part, i, value if total is None else c.add(total(part, i), value, i, bank=FRONT))
