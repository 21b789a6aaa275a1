# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The kernel contract in exact Python integers, written from its text alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]


def words(values: list[int]) -> Words:
    return np.array(values, dtype=np.uint64)


def ints(a: npt.NDArray[np.generic]) -> list[int]:
    return [int(x) for x in a]


def reverse(i: int, bits: int) -> int:
    return int(format(i, f"0{bits}b")[::-1], 2) if bits else 0


def ntt(x: list[int], q: int, psi: int) -> list[int]:
    """Values at psi^(2*brv(i)+1), by the definition."""
    bits = len(x).bit_length() - 1
    out = []
    for i in range(len(x)):
        root = pow(psi, 2 * reverse(i, bits) + 1, q)
        value = 0
        for c in reversed(x):
            value = (value * root + c) % q
        out.append(value)
    return out


def smallest_root(q: int, order: int) -> int:
    """Smallest primitive root of unity of a power-of-two order."""
    g = 2
    while True:
        r = pow(g, (q - 1) // order, q)
        if pow(r, order // 2, q) == q - 1:
            break
        g += 1
    return min(pow(r, k, q) for k in range(1, order, 2))


def automorphism(x: list[int], g: int, q: int) -> list[int]:
    """a(X^g) mod X^n + 1."""
    n = len(x)
    out = [0] * n
    for i, c in enumerate(x):
        e = i * g % (2 * n)
        out[e % n] = c % q if e < n else -c % q
    return out


def centred(x: int, p: int) -> int:
    return x - p if x > p // 2 else x
