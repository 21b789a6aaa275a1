# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Bytes on the wire and in memory: the paper's parameters and SophOMR's statements by plain counting, and ours of the
set `ringforge`, from the library itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from ringforge.omr import sets
from ringforge.omr.compress import compression_plan
from ringforge.omr.estimate import key_bytes
from ringforge.params import BfvParameters, named_bfv

from . import cost
from .figures import DEGREE, MOST_MESSAGES, PLAINTEXT_MODULUS, SIGNAL_DEGREE

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
#: SEAL's kind of key switch: a digit a limb, one special prime.
PER_LIMB = Primes(cost.LIMBS, 1, 60, cost.LIMBS)


def diagonal() -> int:
    """One diagonal as words modulo t."""
    return DEGREE * _WORD_BITS // 8


def diagonals() -> int:
    """All of them."""
    return SIGNAL_DEGREE * diagonal()


def our_set() -> sets.Set:
    """The set of this library for the same function."""
    return sets.named("ringforge")


def our_bfv() -> BfvParameters:
    """The BFV parameters of our set."""
    return named_bfv(our_set().bfv)


@cache
def ours() -> Primes:
    """The primes of our set, and the most bits that a residue takes."""
    p = our_bfv()
    bits = max((int(q) - 1).bit_length() for q in (*p.q, *p.p))
    return Primes(len(p.q), len(p.p), bits, -(-len(p.q) // int(p.limbs_per_digit)))


def digest() -> int:
    """Ours, for as many messages as the paper's."""
    s = our_set()
    return int(compression_plan(s, MOST_MESSAGES, 1 + s.payload_words).digest_bytes)


def detection_key() -> int:
    """Ours: two rotations, relinearisation, the encrypted signal key, compression."""
    return key_bytes(our_set())
