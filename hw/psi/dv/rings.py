# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Polynomials modulo X^N + 1 by their definitions, for the benches of the transforms: no fast algorithm is used."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.object_]


def reversed_bits(i: int, bits: int) -> int:
    """The number whose `bits` bits are those of i in reverse."""
    return int(f"{i:0{bits}b}"[::-1], 2)


def prime(bits: int, log_n: int) -> int:
    """The largest prime of so many bits that is 1 modulo 2N (by trial division: at most 54 bits are asked for)."""
    q = (1 << bits) - (1 << bits) % (2 << log_n) + 1
    while q >> bits or not all(pow(a, q - 1, q) == 1 for a in (2, 3, 5, 7, 11, 13, 17)):
        q -= 2 << log_n
    return q


@dataclass(frozen=True)
class Ring:
    """Z_q[X] / (X^N + 1) with N = 2^log_n."""

    q: int
    log_n: int

    @property
    def n(self) -> int:
        """N."""
        return 1 << self.log_n

    @cached_property
    def psi(self) -> int:
        """A primitive 2N-th root of unity."""
        return next(r for g in range(2, 1000) if pow(r := pow(g, (self.q - 1) // (2 * self.n), self.q), self.n, self.q) == self.q - 1)

    @cached_property
    def _powers(self) -> Words:
        return np.array([pow(self.psi, e, self.q) for e in range(2 * self.n)], dtype=object)

    @cached_property
    def _exponents(self) -> npt.NDArray[np.int64]:
        return np.array([2 * reversed_bits(i, self.log_n) + 1 for i in range(self.n)])

    def twiddles(self) -> list[int]:
        """The table that machines hold: entry i is psi^(bit reversal of i)."""
        return [int(self._powers[reversed_bits(i, self.log_n)]) for i in range(self.n)]

    def forward(self, coefficients: Words) -> Words:
        """Values at psi^(2 r + 1), r the bit reversal of their index."""
        out = np.zeros(self.n, dtype=object)
        for j, c in enumerate(coefficients):
            out = (out + c * self._powers[self._exponents * j % (2 * self.n)]) % self.q
        return out

    def inverse(self, values: Words) -> Words:
        """The coefficients of the polynomial with these values."""
        out = np.zeros(self.n, dtype=object)
        j = np.arange(self.n)
        for e, v in zip(self._exponents, values, strict=True):
            out = (out + v * self._powers[-e * j % (2 * self.n)]) % self.q
        return out * pow(self.n, -1, self.q) % self.q

    def draw(self, rng: np.random.Generator) -> Words:
        """A random polynomial; one word in eight is extreme."""
        words = rng.integers(0, self.q, self.n)
        extreme = rng.choice([0, 1, self.q // 2, self.q - 1], self.n)
        return np.where(rng.random(self.n) < 0.125, extreme, words).astype(object)
