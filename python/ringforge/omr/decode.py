# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""From a digest's sums to entries and their words: Newton's identities, roots, a Vandermonde system, modulo t."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ringforge.errors import FormatError, TooManyMessagesError

__all__ = ["decode"]

Ints = npt.NDArray[np.int64]

_DAMAGED = "the digest's sums belong to no set of entries: it is damaged, or the detector is wrong; ask another one"


def decode(sums: Ints, entries: int, t: int) -> tuple[Ints, Ints]:
    """Entries and their words.

    Args:
        sums: S[i][v] = sum over entries j of (j + 1)^i * P_j[v] modulo t, for i = 0 ... k; P_j[0] = 1.
        entries: j are below this. t: a prime above it.

    Returns:
        entries in ascending order, and P_j[1:] for each.

    Raises:
        TooManyMessagesError: more than k. FormatError: no entries have these sums.
    """
    capacity, count = len(sums) - 1, int(sums[0, 0])
    if count > capacity:
        raise TooManyMessagesError(
            f"{count} entries are pertinent, the digest holds {capacity}: ask for a larger one with --capacity, or "
            "let --auto ask for it",
            count,
        )
    if not count:
        if sums.any():
            raise FormatError(_DAMAGED)
        return np.zeros(0, np.int64), np.zeros((0, sums.shape[1] - 1), np.int64)
    found = _roots(_polynomial([int(x) for x in sums[1:, 0]], count, t), entries, t)
    if len(found) != count:
        raise FormatError(_DAMAGED)
    powers = _powers(found + 1, capacity, t)
    words = _solved(powers[:count], sums[:count], t)
    if (words[:, 0] != 1).any() or (_product(powers, words, t) != sums).any():
        raise FormatError(_DAMAGED)
    return found, words[:, 1:]


def _polynomial(sums: list[int], count: int, t: int) -> list[int]:
    """Coefficients of the polynomial with these power sums of its roots, highest first (Newton's identities)."""
    e = [1]
    for i in range(1, count + 1):
        total = sum((-1) ** (j - 1) * e[i - j] * sums[j - 1] for j in range(1, i + 1))
        e.append(total * pow(i, -1, t) % t)
    return [(-1) ** i * x % t for i, x in enumerate(e)]


def _roots(polynomial: list[int], entries: int, t: int) -> Ints:
    """Entries j at which it vanishes at j + 1."""
    x = np.arange(1, entries + 1, dtype=np.int64)
    value = np.zeros(entries, np.int64)
    for c in polynomial:
        value = (value * x + c) % t
    return np.flatnonzero(value == 0)


def _powers(x: Ints, most: int, t: int) -> Ints:
    out = np.ones((most + 1, len(x)), np.int64)
    for i in range(1, most + 1):
        out[i] = out[i - 1] * x % t
    return out


def _product(a: Ints, b: Ints, t: int) -> Ints:
    out = np.zeros((len(a), b.shape[1]), np.int64)
    for j in range(a.shape[1]):
        out = (out + a[:, j : j + 1] * b[j]) % t
    return out


def _solved(matrix: Ints, right: Ints, t: int) -> Ints:
    """The solution of a regular system (Gauss and Jordan)."""
    m = np.concatenate([matrix, right], axis=1)
    size = len(matrix)
    for c in range(size):
        pivot = c + int(np.flatnonzero(m[c:, c])[0])
        m[[c, pivot]] = m[[pivot, c]]
        m[c] = m[c] * pow(int(m[c, c]), -1, t) % t
        others = np.arange(size) != c
        m[others] = (m[others] - m[others, c : c + 1] * m[c]) % t
    return m[:, size:]
