# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The quotient of a base conversion in fixed point beside the exact one and the library's, in double precision.

`pytest -s` prints what docs/adr/0042 says: mean distances of the sums. As fractions of the sum are uniform over the
ciphertext's randomness, the mean distance of two sums is the probability that their roundings differ.
"""

import math
import random
from fractions import Fraction

import pytest


@pytest.mark.parametrize(("width", "bits", "count"), [(60, 60, 10), (54, 50, 12), (54, 49, 12), (54, 54, 12)])
def test_quotient(width, bits, count):
    rng = random.Random(1)
    primes = [rng.getrandbits(bits) | 1 << bits - 1 | 1 for _ in range(count)]
    constants = [(1 << 2 * width) // (q << width - bits) for q in primes]
    ours, theirs, apart = [], [], []
    for number in range(3000):
        y = [q - 1 if number == 0 else rng.randrange(q) for q in primes]
        exact = sum(Fraction(a, q) for a, q in zip(y, primes, strict=True))
        fixed = sum((a << width - bits) * k >> width for a, k in zip(y, constants, strict=True))
        double = 0.0
        for a, q in zip(y, primes, strict=True):
            double += float(a) * (1.0 / float(q))
        library = Fraction(double + 0.5) - Fraction(1, 2)
        assert 0 <= exact - Fraction(fixed, 1 << width) < Fraction(2 * count, 1 << width)
        ours.append(float(exact - Fraction(fixed, 1 << width)))
        theirs.append(float(abs(exact - library)))
        apart.append(float(abs(library - Fraction(fixed, 1 << width))))
    means = [math.log2(sum(values) / len(values)) for values in (ours, theirs, apart)]
    print(
        f"W {width}, {count} primes of {bits} bits: fixed point 2^{means[0]:.1f}, double 2^{means[1]:.1f} from the sum,"
    )
    print(f"  2^{means[2]:.1f} from each other: {2 ** means[2] * 4 * 65536:.1e} a rotation of 65,536 coefficients")
    assert means[2] < -49.5
