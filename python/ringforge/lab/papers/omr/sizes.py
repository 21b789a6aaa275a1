# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Bytes on the wire and in memory: the paper's parameters, SophOMR's statements, and ours by plain counting."""

from __future__ import annotations

from dataclasses import dataclass

from . import cost
from .figures import DEGREE, PLAINTEXT_MODULUS, SIGNAL_DEGREE

#: Ours: primes of Q, special ones, their bits on the wire, digits; what a digest's ring has.
OUR_LIMBS, OUR_SPECIAL, OUR_BITS, OUR_DIGITS = 23, 12, 50, 2
OUR_DIGEST_DEGREE = DEGREE // 4

_WORD_BITS = (PLAINTEXT_MODULUS - 1).bit_length()


@dataclass(frozen=True, slots=True)
class Primes:
    """Limbs of Q and P, and the bits that a residue takes."""

    limbs: int
    special: int
    bits: int
    digits: int

    @property
    def limb(self) -> int:
        return DEGREE * self.bits // 8

    @property
    def ciphertext(self) -> int:
        """Both parts."""
        return 2 * self.limbs * self.limb

    @property
    def seeded(self) -> int:
        """A fresh ciphertext under a secret key: one part, and a seed that is not counted."""
        return self.ciphertext // 2

    @property
    def key(self) -> int:
        """A switching key, both halves."""
        return 2 * self.digits * (self.limbs + self.special) * self.limb

    @property
    def seeded_key(self) -> int:
        """One half; the other is a seed."""
        return self.key // 2

    @property
    def transformed(self) -> int:
        """A diagonal in Eval form, in words of 64 bits."""
        return self.limbs * DEGREE * 8


PAPER = Primes(cost.LIMBS, cost.SPECIAL, 60, cost.DIGITS)
OURS = Primes(OUR_LIMBS, OUR_SPECIAL, OUR_BITS, OUR_DIGITS)
#: SEAL's kind of key switch: a digit a limb, one special prime.
PER_LIMB = Primes(cost.LIMBS, 1, 60, cost.LIMBS)


def diagonal() -> int:
    """One diagonal as words modulo t."""
    return DEGREE * _WORD_BITS // 8


def diagonals() -> int:
    """All of them."""
    return SIGNAL_DEGREE * diagonal()


def digest() -> int:
    """Ours: two parts over one prime in the ring of degree N/4."""
    return 2 * OUR_DIGEST_DEGREE * OUR_BITS // 8


def detection_keys() -> int:
    """Ours without those of compression: two rotations, relinearisation, the encrypted signal key."""
    return 3 * OURS.seeded_key + OURS.seeded
