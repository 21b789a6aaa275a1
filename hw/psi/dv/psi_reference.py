# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The published pipeline's arithmetic in Python integers, and its settings: the oracle of the benches of this folder.

Polynomials are lists of N integers in [0, q). An RLWE is a pair (a, b) in Eval form: value j of a polynomial f is
f(psi^(2 brv(j) + 1)), brv on log2 N bits.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

Poly = list[int]
Rlwe = tuple[Poly, Poly]


def reverse(x: int, bits: int) -> int:
    return int(format(x, f"0{bits}b")[::-1], 2) if bits else 0


@dataclass(frozen=True)
class Gadget:
    """How residues are cut: `count` digits of base 2^log_base above `drop` bits."""

    log_base: int
    count: int
    drop: int = 0
    balanced: bool = False

    @property
    def offset(self) -> int:
        """What is added to a centred residue, so that its balanced digits are fields of the sum less half the base."""
        half = (1 << self.drop) >> 1
        return half + sum(1 << (self.log_base * (j + 1) - 1 + self.drop) for j in range(self.count))

    @property
    def bits(self) -> int:
        """The packed struct that the hardware takes."""
        return self.balanced << 16 | self.drop << 10 | self.count << 6 | self.log_base

    def cut(self, x: int, q: int) -> list[int]:
        """The digits of one residue, as residues: one after the other, each rounding what is left."""
        if not self.balanced:
            return [(x >> (self.log_base * j)) % (1 << self.log_base) for j in range(self.count)]
        base = 1 << self.log_base
        v = x - q if x > q // 2 else x
        if self.drop:
            v = (v + (1 << (self.drop - 1))) >> self.drop
        digits = []
        for _ in range(self.count - 1):
            digit = (v + base // 2) % base - base // 2
            v = (v - digit) // base
            digits.append(digit)
        return [d % q for d in [*digits, v]]


@dataclass(frozen=True)
class Ring:
    """Z_q[X] / (X^N + 1), and how a machine of `width` bits holds its residues."""

    q: int
    log_n: int
    width: int
    montgomery: int = 0  # digit of a Montgomery machine, 0 on a Barrett machine

    @property
    def n(self) -> int:
        return 1 << self.log_n

    @property
    def shift(self) -> int:
        return self.width - self.q.bit_length()

    @property
    def shifted(self) -> int:
        return self.q << self.shift

    @property
    def k(self) -> int:
        return 0 if self.montgomery else ((1 << 2 * self.width) // self.shifted) % (1 << 64)

    @property
    def factor(self) -> int:
        """What words of keys and of the table carry for the multiplier."""
        if not self.montgomery:
            return 1
        return pow(2, self.montgomery * -(-self.width // self.montgomery), self.q)

    @cached_property
    def psi(self) -> int:
        """A primitive 2N-th root of unity."""
        for g in range(2, self.q):
            root = pow(g, (self.q - 1) // (2 * self.n), self.q)
            if pow(root, self.n, self.q) == self.q - 1:
                return root
        raise AssertionError(f"no root of order {2 * self.n} modulo {self.q}")

    @cached_property
    def table(self) -> Poly:
        """Entry m + i is psi^brv(m + i); entry 0 is not used."""
        return [pow(self.psi, reverse(i, self.log_n), self.q) for i in range(self.n)]

    @cached_property
    def inverse_table(self) -> Poly:
        return [pow(w, -1, self.q) for w in self.table]

    def forward(self, poly: Sequence[int]) -> Poly:
        x, q, t, m = list(poly), self.q, self.n // 2, 1
        while t:
            for i in range(m):
                w = self.table[m + i]
                for j in range(2 * i * t, 2 * i * t + t):
                    u, v = x[j], x[j + t] * w
                    x[j], x[j + t] = (u + v) % q, (u - v) % q
            t, m = t // 2, 2 * m
        return x

    def inverse(self, values: Sequence[int]) -> Poly:
        x, q, t, m = list(values), self.q, 1, self.n // 2
        while m:
            for i in range(m):
                w = self.inverse_table[m + i]
                for j in range(2 * i * t, 2 * i * t + t):
                    u, v = x[j], x[j + t]
                    x[j], x[j + t] = (u + v) % q, (u - v) * w % q
            t, m = 2 * t, m // 2
        scale = pow(self.n, -1, q)
        return [v * scale % q for v in x]

    def automorphism(self, poly: Sequence[int], element: int) -> Poly:
        """poly(X^element)."""
        out = [0] * self.n
        for i, x in enumerate(poly):
            e = i * element % (2 * self.n)
            out[e % self.n] = x if e < self.n else -x % self.q
        return out

    def digits(self, poly: Sequence[int], gadget: Gadget) -> list[Poly]:
        return [list(d) for d in zip(*(gadget.cut(x, self.q) for x in poly), strict=True)]

    def accumulator(self, start: int, lwe_log: int) -> Rlwe:
        """Coefficients of a gate's first accumulator (0, b)."""
        modulus = 1 << lwe_log
        one = self.q // 8 + 1
        b = [0] * self.n
        for i in range(modulus // 2):
            b[i * (2 * self.n // modulus)] = self.q - one if (start - i) % modulus < modulus // 2 else one
        return [0] * self.n, b

    def sum(self, polys: Sequence[Poly], rows: Sequence[Rlwe]) -> Rlwe:
        """Sum over polynomials in coefficient form times rows."""
        a, b = [0] * self.n, [0] * self.n
        for poly, (ka, kb) in zip(polys, rows, strict=True):
            for i, x in enumerate(self.forward(poly)):
                a[i] += x * ka[i]
                b[i] += x * kb[i]
        return [x % self.q for x in a], [x % self.q for x in b]

    def product(self, rlwe: Rlwe, rows: Sequence[Rlwe], cut_a: Gadget, cut_b: Gadget) -> Rlwe:
        """External product of coefficient polynomials with an RGSW."""
        return self.sum([*self.digits(rlwe[0], cut_a), *self.digits(rlwe[1], cut_b)], rows)

    def substitution(self, rlwe: Rlwe, element: int, rows: Sequence[Rlwe], cut: Gadget) -> Rlwe:
        """X -> X^element of coefficient polynomials, and key switch."""
        a, b = (self.automorphism(p, element) for p in rlwe)
        sum_a, sum_b = self.sum(self.digits(a, cut), rows)
        return [-x % self.q for x in sum_a], [(x - y) % self.q for x, y in zip(self.forward(b), sum_b, strict=True)]

    def random(self, rng: random.Random) -> Poly:
        """Residues, extreme ones among them."""
        return [
            rng.choice([0, 1, self.q - 1, self.q // 2, self.q // 2 + 1])
            if rng.random() < 0.1
            else rng.randrange(self.q)
            for _ in range(self.n)
        ]

    def beats(self, rlwe: Rlwe, factor: int = 1) -> list[int]:
        """An RLWE or a row of a key as beats of eight words: four of a, four of b, lowest first."""
        a, b = rlwe
        return [
            sum((x * factor % self.q) << (64 * i) for i, x in enumerate([*a[g : g + 4], *b[g : g + 4]]))
            for g in range(0, self.n, 4)
        ]


def is_prime(q: int) -> bool:
    return q > 1 and all(pow(a, q - 1, q) == 1 for a in (2, 3, 5, 7, 11, 13))


def primes(bits: int, step: int, count: int = 1) -> list[int]:
    """The largest primes of so many bits that are 1 modulo `step`."""
    top = (((1 << bits) - 2) // step) * step + 1
    return [q for q in range(top, 1 << (bits - 1), -step) if is_prime(q)][:count]
