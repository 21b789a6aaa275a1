# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Forged records: ciphertexts that pass every check before decryption, and hold what a lying server likes."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ringforge._native import io

CHECKSUM = 32

Words = np.ndarray[Any, np.dtype[np.uint64]]


def reseal(record: bytes, body: bytes) -> bytes:
    """The record with another body of the same length, and the checksum that belongs to it."""
    made = record[: io.HEADER_BYTES] + body
    assert len(made) + CHECKSUM == len(record)
    return made + hashlib.sha256(made).digest()


def body_of(record: bytes) -> bytearray:
    return bytearray(record[io.HEADER_BYTES : -CHECKSUM])


@dataclass(frozen=True)
class Limb:
    """A packed polynomial within a body: where, bits a coefficient; its prime, for the evaluation form.

    Where the ring is none of X^N + 1 (`other_ring`), monomials are constants, which all rings have.
    """

    offset: int
    width: int
    degree: int
    prime: int = 0
    other_ring: bool = False

    @property
    def size(self) -> int:
        return self.degree * self.width // 8

    def read(self, body: bytearray) -> Words:
        bits = np.unpackbits(np.frombuffer(body, np.uint8, self.size, self.offset), bitorder="little")
        weights = np.uint64(1) << np.arange(self.width, dtype=np.uint64)
        return bits.reshape(self.degree, self.width).astype(np.uint64) @ weights

    def write(self, body: bytearray, values: Words) -> None:
        bits = (values[:, None] >> np.arange(self.width, dtype=np.uint64)) & np.uint64(1)
        body[self.offset : self.offset + self.size] = np.packbits(
            bits.astype(np.uint8).reshape(-1), bitorder="little"
        ).tobytes()

    def monomial(self, position: int, amount: int) -> Words:
        """amount * X^position as this limb holds it."""
        if not self.prime:
            out = np.zeros(self.degree, np.uint64)
            out[position] = amount % (1 << self.width)
            return out
        if self.other_ring:
            return np.full(self.degree, amount % self.prime, np.uint64)
        values = powers(self.prime, self.degree)
        at = exponents(self.degree) * position % (2 * self.degree)
        return np.array([amount * values[i] % self.prime for i in at.tolist()], np.uint64)

    def add(self, body: bytearray, position: int, amount: int) -> None:
        modulus = np.uint64(self.prime or 1 << self.width)
        self.write(body, (self.read(body) + self.monomial(position, amount)) % modulus)

    def put(self, body: bytearray, position: int, amount: int) -> None:
        self.write(body, self.monomial(position, amount))

    def fill(self, body: bytearray, rng: random.Random) -> None:
        """Uniform residues."""
        seed = np.random.default_rng(rng.getrandbits(64))
        modulus = self.prime or 1 << self.width
        self.write(body, seed.integers(0, modulus, self.degree, dtype=np.uint64))


@cache
def powers(prime: int, degree: int) -> list[int]:
    """Powers 0 ... 2N - 1 of the smallest primitive 2N-th root of unity."""
    order = 2 * degree
    generator = next(
        g for x in range(2, 1000) if pow(g := pow(x, (prime - 1) // order, prime), degree, prime) == prime - 1
    )
    root = min(pow(generator, e, prime) for e in range(1, order, 2))
    found = [1]
    for _ in range(order - 1):
        found.append(found[-1] * root % prime)
    return found


@cache
def exponents(degree: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """2 brv(i) + 1 for each index of the evaluation form."""
    bits = degree.bit_length() - 1
    reversed_ = np.array([int(f"{i:0{bits}b}"[::-1], 2) for i in range(degree)], np.int64)
    return 2 * reversed_ + 1


@dataclass(frozen=True)
class Layout:
    """Where a ciphertext's two parts lie in a record's body: the one that is added, and the one that meets the key."""

    message: tuple[Limb, ...]
    mask: tuple[Limb, ...]

    @property
    def degree(self) -> int:
        return self.message[0].degree

    @property
    def log_modulus(self) -> int:
        return sum(limb.width for limb in self.message)

    def forge(self, kind: str, record: bytes, position: int, amount: int, rng: random.Random) -> bytes:
        """A record of this layout.

        Args:
            kind: "monomial" adds amount * X^position to the message, "key" to what meets the key; "probe" is nothing
                but the latter, "garbage" is uniform.
        """
        body = body_of(record)
        if kind in ("monomial", "key"):
            for limb in self.message if kind == "monomial" else self.mask:
                limb.add(body, position, amount)
        else:
            for limb in (*self.message, *self.mask):
                if kind == "garbage":
                    limb.fill(body, rng)
                else:
                    limb.put(body, position, amount if limb in self.mask else 0)
        return reseal(record, bytes(body))


def two_parts(head: int, degree: int, primes: Sequence[int], other_ring: bool = False) -> Layout:
    """Both parts of a ciphertext in evaluation form, limb by limb, after a head of so many bytes."""
    limbs, at = [], head
    for prime in [*primes, *primes]:
        limb = Limb(at, (prime - 1).bit_length(), degree, prime, other_ring)
        limbs.append(limb)
        at += limb.size
    return Layout(tuple(limbs[: len(primes)]), tuple(limbs[len(primes) :]))
