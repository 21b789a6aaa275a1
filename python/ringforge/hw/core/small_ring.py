# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Polynomials modulo X^N + 1 and one prime in numpy, exact: the rings of third-generation schemes, for machines.

Values at the odd powers of psi, a primitive 2N-th root of unity modulo the prime q, in bit-reversed order (Longa,
Naehrig, CANS 2016): the Eval order of the library, whose psi, the smallest one, is taken. Arrays have polynomials in
their last axis; words are uint64, below q.

>>> ring = Ring.of(12289, 7)
>>> one = np.eye(1, 128, dtype=np.uint64)[0]
>>> bool((ring.forward(one) == 1).all()), bool((ring.inverse(ring.forward(one)) == one).all())
(True, True)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from ringforge.errors import ParameterError

if TYPE_CHECKING:
    from ringforge._native.fhew import Cut

Words = npt.NDArray[np.uint64]

#: Moduli of more bits would let the estimated quotients of `multiplied` err by too much.
MAX_BITS: Final = 56


def multiplied(a: Words, b: Words | np.uint64, q: int) -> Words:
    """a b modulo q, for residues modulo q below 2^56.

    Above 32 bits the quotient is estimated in doubles, which is off by less than 2^5; the rest, modulo 2^64, is then
    exact as a signed number.
    """
    if q < 1 << 32:
        return a * b % np.uint64(q)
    quotient = (a.astype(np.float64) * (np.asarray(b, np.float64) / q)).astype(np.uint64)
    rest = (a * b - quotient * np.uint64(q)).view(np.int64)
    return np.mod(rest, np.int64(q)).view(np.uint64)


def added(a: Words, b: Words, q: int) -> Words:
    """a + b modulo q."""
    total = a + b
    return np.where(total >= np.uint64(q), total - np.uint64(q), total)


def subtracted(a: Words, b: Words, q: int) -> Words:
    """a - b modulo q."""
    return np.where(a >= b, a - b, a + (np.uint64(q) - b))


def negated(a: Words, q: int) -> Words:
    """-a modulo q."""
    return np.where(a == 0, a, np.uint64(q) - a)


def reversed_bits(log_n: int) -> npt.NDArray[np.intp]:
    """i with its log_n bits in reverse, for all i."""
    index = np.zeros(1, np.intp)
    for _ in range(log_n):
        index = np.concatenate([2 * index, 2 * index + 1])
    return index


@dataclass(frozen=True, eq=False)
class Ring:
    """A ring with its tables; made by `of`.

    Attributes:
        q: the prime. log_n: log2 N. psi: the smallest primitive 2N-th root of unity.
        twiddles: entry m + i is psi^brv(m + i), brv on log_n bits; entry 0, 1, is not used by the transforms.
    """

    q: int
    log_n: int
    psi: int
    twiddles: Words

    @classmethod
    @lru_cache(maxsize=32)
    def of(cls, q: int, log_n: int) -> Ring:
        """The ring of degree 2^log_n modulo q.

        Raises:
            ParameterError: q has more than 56 bits, or no 2N-th root of unity of order 2N.
        """
        order = 2 << log_n
        root = 0
        if 2 < q < 1 << MAX_BITS and q % order == 1:
            candidates = (pow(x, (q - 1) // order, q) for x in range(2, 200))
            root = next((r for r in candidates if pow(r, order // 2, q) == q - 1), 0)
        if not root:
            raise ParameterError(
                f"{q} has no transform of degree 2^{log_n} here: take a prime that is 1 modulo {order}, below "
                f"2^{MAX_BITS}"
            )
        # All primitive roots are odd powers of one.
        step, power, smallest = root * root % q, root, root
        for _ in range(order // 2):
            power = power * step % q
            smallest = min(smallest, power)
        powers = [1]
        for _ in range((1 << log_n) - 1):
            powers.append(powers[-1] * smallest % q)
        table = np.array(powers, np.uint64)[reversed_bits(log_n)]
        table.setflags(write=False)
        return cls(q, log_n, smallest, table)

    @property
    def degree(self) -> int:
        """N."""
        return 1 << self.log_n

    def forward(self, coefficients: Words) -> Words:
        """Coefficients to values in Eval order: butterflies (x + w y, x - w y), distances N/2 ... 1."""
        x = np.array(coefficients, np.uint64)
        lead = x.shape[:-1]
        for stage in range(self.log_n):
            blocks = 1 << stage
            pairs = x.reshape(*lead, blocks, 2, self.degree // (2 * blocks))
            low, high = pairs[..., 0, :], pairs[..., 1, :]
            turned = multiplied(high, self.twiddles[blocks : 2 * blocks, None], self.q)
            x = np.stack([added(low, turned, self.q), subtracted(low, turned, self.q)], -2)
        return x.reshape(*lead, self.degree)

    def inverse(self, values: Words) -> Words:
        """Values in Eval order to coefficients; 1/N is part of it."""
        x = np.array(values, np.uint64)
        lead = x.shape[:-1]
        # psi^-brv(m + i): the table backwards within each stage, negated, since psi^N = -1.
        for stage in reversed(range(self.log_n)):
            blocks = 1 << stage
            pairs = x.reshape(*lead, blocks, 2, self.degree // (2 * blocks))
            low, high = pairs[..., 0, :], pairs[..., 1, :]
            factors = negated(self.twiddles[blocks : 2 * blocks][::-1], self.q)[:, None]
            x = np.stack([added(low, high, self.q), multiplied(subtracted(low, high, self.q), factors, self.q)], -2)
        return multiplied(x.reshape(*lead, self.degree), np.uint64(pow(self.degree, -1, self.q)), self.q)

    def monomial(self, exponent: int) -> Words:
        """X^exponent in Eval order."""
        x = np.zeros(self.degree, np.uint64)
        exponent %= 2 * self.degree
        x[exponent % self.degree] = 1 if exponent < self.degree else self.q - 1
        return self.forward(x)

    def mapped(self, coefficients: Words, element: int) -> Words:
        """X -> X^element of coefficients, element odd."""
        index = np.arange(self.degree) * element % (2 * self.degree)
        out = np.empty_like(coefficients)
        out[..., index % self.degree] = np.where(index < self.degree, coefficients, negated(coefficients, self.q))
        return out


@dataclass(frozen=True)
class Gadget:
    """How residues modulo q are cut into `count` digits of base 2^log_base above 2^drop.

    Balanced digits are those of the centred residue, in [-base/2, base/2], the last whatever is left; others are bits.
    """

    log_base: int
    count: int
    drop: int = 0
    balanced: bool = True

    @classmethod
    def of(cls, cut: Cut) -> Gadget:
        """The library's cut."""
        return cls(cut.log_base, cut.count, cut.drop, cut.balanced)

    @property
    def offset(self) -> int:
        """What is added to centred residues before balanced digits are cut: half a unit, and half the base at each."""
        if not self.balanced:
            return 0
        halves = sum(1 << (self.log_base * (j + 1) - 1) for j in range(self.count)) << self.drop
        return halves + (1 << self.drop >> 1)

    def covers(self, q: int) -> bool:
        """Whether digits and dropped bits hold every residue."""
        return self.log_base * self.count + self.drop >= q.bit_length() and self.drop < q.bit_length()

    def cut(self, residues: Words, q: int) -> Words:
        """The digits as residues modulo q, in a new first axis."""
        half = 1 << self.log_base >> 1 if self.balanced else 0
        value = residues.astype(np.int64)
        if self.balanced:
            value = np.where(residues > np.uint64(q // 2), value - q, value) + self.offset
        found = []
        for j in range(self.count):
            digit = value >> np.int64(self.drop + j * self.log_base)
            if not self.balanced or j + 1 < self.count:
                digit = digit & np.int64((1 << self.log_base) - 1)
            digit = digit - half
            found.append(np.where(digit < 0, digit + q, digit).astype(np.uint64))
        return np.stack(found)
