# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""From a digest's sums to entries and their words: Newton's identities, roots, a Vandermonde system, modulo t.

Libraries of finite fields factor polynomials and invert matrices in general. Here all candidates for roots are known,
and the matrix has a closed inverse: two passes of numpy, exact in integers of 64 bits.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ringforge.errors import FormatError, ShapeError, TooManyMessagesError

__all__ = ["decode"]

Ints = npt.NDArray[np.int64]

_DAMAGED = "the digest's sums belong to no set of entries: it is damaged, or the detector is wrong; ask another one"


def decode(sums: Ints, entries: int, t: int) -> tuple[Ints, Ints]:
    """Entries and their words.

    All sums are used: those beyond what the solution takes are compared with it.

    Args:
        sums: S[i][v] = sum over entries j of (j + 1)^i * P_j[v] modulo t, for i = 0 ... k; P_j[0] = 1. Shape
            (k + 1, values), in [0, t).
        entries: j are below this. t: a prime above it, below 2^21.

    Returns:
        Entries in ascending order, shape (count,), and P_j[1:] for each, shape (count, values - 1).

    Raises:
        TooManyMessagesError: more than k. FormatError: no entries have these sums. ShapeError: sums of no digest.
    """
    if sums.ndim != 2 or min(sums.shape) < 1:
        raise ShapeError(f"sums of shape {sums.shape}: a digest has (k + 1, values)")
    sums = sums.astype(np.int64)
    capacity, count = len(sums) - 1, int(sums[0, 0])
    if count > entries:
        raise FormatError(_DAMAGED)
    if count > capacity:
        raise TooManyMessagesError(
            f"{count} entries are pertinent, the digest holds {capacity}: ask for one of at least {count} messages "
            f"(--capacity {count}), or with --auto, which asks by the largest digests and by windows of the board",
            count,
        )
    polynomial = _polynomial(sums[1:, 0], count, t)
    found = _roots(polynomial, entries, t)
    if len(found) != count:
        raise FormatError(_DAMAGED)
    x = found + 1
    words = _product(_inverse(polynomial, x, t), sums[:count], t)
    powers = np.ones((capacity + 1, count), np.int64)
    for i in range(1, capacity + 1):
        powers[i] = powers[i - 1] * x % t
    if (words[:, :1] != 1).any() or (_product(powers, words, t) != sums).any():
        raise FormatError(_DAMAGED)
    return found, words[:, 1:]


def _polynomial(sums: Ints, count: int, t: int) -> Ints:
    """Coefficients of the monic polynomial with these power sums of its roots, highest first (Newton's identities).

    With coefficients 1, c_1, c_2 ...: i*c_i = -sum_{j=1}^{i} c_{i-j} * sums_j; i is below t and has an inverse.
    """
    c = np.zeros(count + 1, np.int64)
    c[0] = 1
    for i in range(1, count + 1):
        total = int(np.sum(c[:i][::-1] * sums[:i] % t))
        c[i] = -total * pow(i, -1, t) % t
    return c


def _roots(polynomial: Ints, entries: int, t: int) -> Ints:
    """Entries j at which it vanishes at j + 1. Distinct: a double root makes the count come out too small."""
    x = np.arange(1, entries + 1, dtype=np.int64)
    value = np.zeros(entries, np.int64)
    for c in polynomial:
        value = (value * x + c) % t
    return np.flatnonzero(value == 0).astype(np.int64)


def _inverse(polynomial: Ints, x: Ints, t: int) -> Ints:
    """The inverse of the matrix x_j^i, i below the number of its distinct x.

    Row j has the coefficients of the polynomial that is 1 at x_j and 0 at the others: the given one divided by X - x_j
    (synthetic division, for all j at once), over its value at x_j.
    """
    count = len(x)
    quotient = np.zeros((count, count), np.int64)  # column i: of X^i
    carry = np.zeros(count, np.int64)
    for i in range(count):
        carry = (carry * x + polynomial[i]) % t
        quotient[:, count - 1 - i] = carry
    value = np.zeros(count, np.int64)
    for i in range(count - 1, -1, -1):
        value = (value * x + quotient[:, i]) % t
    inverse = np.array([pow(int(v), -1, t) for v in value], np.int64)
    return quotient * inverse[:, None] % t


def _product(a: Ints, b: Ints, t: int) -> Ints:
    """a @ b modulo t. In doubles, which BLAS multiplies: sums of 2^11 products below 2^42 are exact."""
    out = np.zeros((len(a), b.shape[1]), np.int64)
    for i in range(0, a.shape[1], 1 << 11):
        some = a[:, i : i + (1 << 11)].astype(np.float64) @ b[i : i + (1 << 11)].astype(np.float64)
        out = (out + some.astype(np.int64)) % t
    return out
