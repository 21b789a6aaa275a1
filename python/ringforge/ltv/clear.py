# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Messages in the clear: polynomials over GF(2) modulo Phi_m, as whole numbers of Python."""

from __future__ import annotations

from itertools import combinations
from math import prod

import numpy as np
import numpy.typing as npt

Bits = npt.NDArray[np.uint8]


def _primes(m: int) -> list[int]:
    found, p = [], 3
    while m > 1:
        if m % p == 0:
            found.append(p)
            while m % p == 0:
                m //= p
        p += 2
    return found


class BitRing:
    """GF(2)[X]/Phi_m for an odd m.

    Args:
        m: index of the ring.
    """

    def __init__(self, m: int) -> None:
        primes = _primes(m)
        self.m = m
        self.degree = m // prod(primes) * prod(p - 1 for p in primes)
        mask = (1 << (self.degree + 1)) - 1
        # Phi_m is a product of binomials X^e + 1 and of their inverses as power series.
        self.phi = 1
        for size in range(len(primes) + 1):
            for chosen in combinations(primes, size):
                e = m // prod(chosen)
                if size % 2 == 0:
                    self.phi = (self.phi ^ self.phi << e) & mask
                    continue
                while e <= self.degree:  # 1/(1 + y) is (1 + y)(1 + y^2)(1 + y^4)...
                    self.phi = (self.phi ^ self.phi << e) & mask
                    e *= 2

    def multiply(self, a: Bits, b: Bits) -> Bits:
        """The product of two messages, each of N bits."""
        # Bits far enough apart that sums of N of them do not meet.
        room = (self.degree.bit_length() + 8) // 8
        spread = [int.from_bytes(np.pad(x.reshape(-1, 1), ((0, 0), (0, room - 1))).tobytes(), "little") for x in (a, b)]
        product = (spread[0] * spread[1]).to_bytes(2 * self.degree * room, "little")
        r = self._number((np.frombuffer(product, np.uint8)[::room] & 1).astype(np.uint8))
        for i in range(r.bit_length() - 1, self.degree - 1, -1):
            if r >> i & 1:
                r ^= self.phi << (i - self.degree)
        whole = np.frombuffer(r.to_bytes((self.degree + 7) // 8, "little"), np.uint8)
        return np.unpackbits(whole, bitorder="little")[: self.degree]

    @staticmethod
    def _number(bits: Bits) -> int:
        return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")
