# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Transforms modulo 31-bit primes by their definition, and tables as the fast engine takes them. Words are uint64.

Everything follows from the words of the machine's README; nothing here is shared with the host's package.
"""

from functools import cached_property, lru_cache

import numpy as np

R = 1 << 32


def is_prime(q: int) -> bool:
    """Miller and Rabin's test, exact below 3.4e14 with these bases."""
    d, s = q - 1, 0
    while d % 2 == 0:
        d, s = d // 2, s + 1
    for a in (2, 3, 5, 7, 11, 13, 17):
        x = pow(a, d, q)
        if x in (1, q - 1):
            continue
        for _ in range(s - 1):
            x = x * x % q
            if x == q - 1:
                break
        else:
            return False
    return True


@lru_cache
def primes() -> list[int]:
    """All primes of 31 bits that are 1 modulo 2^16, in order."""
    return [q for q in range((1 << 30) + 1, 1 << 31, 1 << 16) if is_prime(q)]


def reversal(bits: int) -> np.ndarray:
    """The reversal of each number of so many bits."""
    out = np.zeros(1, dtype=np.int64)
    for _ in range(bits):
        out = np.concatenate([2 * out, 2 * out + 1])
    return out


class Field:
    """A prime with a root of order N = 2^log_n; `choice` says which root."""

    def __init__(self, q: int, log_n: int, choice: int = 0):
        self.q, self.log_n, self.n = q, log_n, 1 << log_n
        found = 0
        for a in range(2, q):
            w = pow(a, (q - 1) >> log_n, q)
            if pow(w, self.n // 2, q) == q - 1:
                if found == choice:
                    break
                found += 1
        self.w = w

    @cached_property
    def powers(self) -> np.ndarray:
        """w^i, i < N."""
        out = np.ones(1, dtype=np.uint64)
        for bit in range(self.log_n):
            out = np.concatenate([out, out * np.uint64(pow(self.w, 1 << bit, self.q)) % np.uint64(self.q)])
        return out

    @cached_property
    def matrix(self) -> np.ndarray:
        """w^(i * brv(j)) at [i, j]: small N only."""
        i, j = np.arange(self.n)[:, None], reversal(self.log_n)[None, :]
        return self.powers[i * j % self.n]

    def values(self, words: np.ndarray) -> np.ndarray:
        """Slot j: the value at w^brv(j)."""
        q = np.uint64(self.q)
        if self.n <= 1024:
            return (words[:, None] * self.matrix % q).sum(axis=0) % q
        return self.natural(words)[reversal(self.log_n)]

    def natural(self, words: np.ndarray) -> np.ndarray:
        """Values at w^k in order of k, by even and odd coefficients."""
        q, n = np.uint64(self.q), len(words)
        if n == 1:
            return words
        even, odd = self.natural(words[0::2]), self.natural(words[1::2])
        odd = odd * self.powers[:: self.n // n][: n // 2] % q
        return np.concatenate([(even + odd) % q, (even + q - odd) % q])

    def coefficients(self, values: np.ndarray) -> np.ndarray:
        """The inverse of values(): the sum of values at w^-k is N times the coefficient k."""
        q = np.uint64(self.q)
        if self.n <= 1024:
            back = (values[None, :] * self.matrix[-np.arange(self.n) % self.n] % q).sum(axis=1)
        else:
            natural = np.empty_like(values)
            natural[reversal(self.log_n)] = values
            back = self.natural(natural)[-np.arange(self.n) % self.n]
        return back % q * np.uint64(pow(self.n, -1, self.q)) % q

    def twiddles(self, inverse: bool) -> np.ndarray:
        """The engine's table of a direction, N/2 words."""
        q, at = np.uint64(self.q), reversal(self.log_n - 1)
        c = self.powers[-at % self.n] if inverse else self.powers[at]
        c = c * np.uint64(R % self.q) % q
        return (q - c) % q if inverse else c


def product(a: np.ndarray, b: np.ndarray, q: int) -> np.ndarray:
    """The product of two polynomials of N/2 words, N words: by one product of integers with 96 bits a word."""

    def packed(words: np.ndarray) -> int:
        out = np.zeros((len(words), 3), dtype="<u4")
        out[:, 0] = words
        return int.from_bytes(out.tobytes(), "little")

    raw = (packed(a) * packed(b)).to_bytes(24 * len(a), "little")
    limbs = np.frombuffer(raw, dtype="<u4").reshape(-1, 3).astype(np.uint64)
    out = np.zeros(2 * len(a), dtype=np.uint64)
    for i in (2, 1, 0):
        out = (out * np.uint64(R % q) + limbs[:, i]) % np.uint64(q)
    return out
