# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Negacyclic transforms, base extension and the key switch of a rotation in Python integers, from their definitions."""

from dataclasses import dataclass
from math import prod

BARRETT, MONTGOMERY = 0, 1


def reverse(x: int, bits: int) -> int:
    """x with its bits in reversed order."""
    return int(format(x, f"0{bits}b")[::-1], 2) if bits else 0


def is_prime(n: int) -> bool:
    """By Fermat's test to some bases: enough for what a test draws."""
    return all(pow(b, n - 1, n) == 1 for b in (2, 3, 5, 7, 11))


@dataclass(frozen=True)
class Prime:
    """A prime as a machine of words of `width` bits takes it."""

    q: int
    width: int
    kind: int

    @property
    def shift(self) -> int:
        return self.width - self.q.bit_length()

    @property
    def word(self) -> int:
        """The modulus as the cells take it: shifted, but for Montgomery multipliers."""
        return self.q if self.kind == MONTGOMERY else self.q << self.shift

    @property
    def k(self) -> int:
        return 0 if self.kind == MONTGOMERY else (1 << 2 * self.width) // self.word % (1 << 64)

    def operand(self, x: int) -> int:
        """A constant as a multiplier takes it."""
        return x * (1 << (18 * -(-self.width // 18)) if self.kind == MONTGOMERY else 1) % self.q

    @property
    def fraction(self) -> int:
        """The constant that makes y / q: 2^(2W) by the shifted modulus."""
        return (1 << 2 * self.width) // (self.q << self.shift) % (1 << 64)


def primes(width: int, kind: int, bits: list[int]) -> list[Prime]:
    """Different primes of the given lengths, 1 modulo 2^18."""
    found: list[int] = []
    for b in bits:
        q = (1 << b) + 1
        while not is_prime(q := q - (1 << 18)) or q in found:
            pass
        found.append(q)
    return [Prime(q, width, kind) for q in found]


class Ring:
    """Evaluation of polynomials modulo x^N + 1 and q: position j is the value at psi^(2 brv(j) + 1)."""

    def __init__(self, q: int, log_n: int):
        self.q, self.log_n, self.n = q, log_n, 1 << log_n
        x = 2
        while pow(x, (q - 1) // 2, q) == 1:
            x += 1
        self.psi = pow(x, (q - 1) >> (log_n + 1), q)
        self.power = [1]
        for _ in range(2 * self.n - 1):
            self.power.append(self.power[-1] * self.psi % q)
        self.exponent = [2 * reverse(j, log_n) + 1 for j in range(self.n)]

    def table(self) -> list[int]:
        """Twiddles of both directions: entry m + i is psi^((2 brv(i) + 1) N / 2m)."""
        out = [0] * self.n
        for level in range(self.log_n):
            m = 1 << level
            for i in range(m):
                out[m + i] = self.power[(2 * reverse(i, level) + 1) * self.n // (2 * m) % (2 * self.n)]
        return out

    def forward(self, x: list[int]) -> list[int]:
        mask = 2 * self.n - 1
        return [sum(c * self.power[e * i & mask] for i, c in enumerate(x)) % self.q for e in self.exponent]

    def inverse(self, x: list[int]) -> list[int]:
        mask, scale = 2 * self.n - 1, pow(self.n, -1, self.q)
        return [
            scale * sum(v * self.power[-e * i & mask] for v, e in zip(x, self.exponent, strict=True)) % self.q
            for i in range(self.n)
        ]

    def automorphism(self, x: list[int], g: int) -> list[int]:
        """Values of the polynomial of X^g."""
        place = {e: j for j, e in enumerate(self.exponent)}
        return [x[place[g * e % (2 * self.n)]] for e in self.exponent]


def centred(residues: list[list[int]], moduli: list[int]) -> list[int]:
    """The integers of least magnitude with these residues, coefficient by coefficient."""
    product = prod(moduli)
    terms = [(product // q, pow(product // q, -1, q), q) for q in moduli]
    values = [
        sum(c * inv % q * big for c, (big, inv, q) in zip(cs, terms, strict=True)) % product
        for cs in zip(*residues, strict=True)
    ]
    return [v - product if 2 * v >= product else v for v in values]


def rotate(rings, special, digits, c0, c1, keys, g):
    """A rotation: the key switch of c1 with digits of limbs, the division by the special primes, c0 added, the map.

    `rings` of the ciphertext's limbs, `special` those of the key's further ones; `digits` lists of limb numbers;
    keys[d][part][limb] in evaluation form over both. Returns [part][limb] in evaluation form.
    """
    every = [*rings, *special]
    coefficients = [r.inverse(x) for r, x in zip(rings, c1, strict=True)]
    lifted = [centred([coefficients[i] for i in d], [rings[i].q for i in d]) for d in digits]
    p = prod(r.q for r in special)
    out = []
    for part in range(2):
        sums = []
        for j, ring in enumerate(every):
            total = [0] * ring.n
            for d, a in enumerate(lifted):
                values = ring.forward([v % ring.q for v in a])
                total = [(t + v * y) % ring.q for t, v, y in zip(total, values, keys[d][part][j], strict=True)]
            sums.append(total)
        rest = [r.inverse(x) for r, x in zip(special, sums[len(rings) :], strict=True)]
        delta = centred(rest, [r.q for r in special])
        limbs = []
        for j, ring in enumerate(rings):
            less = ring.forward([v % ring.q for v in delta])
            divide = pow(p, -1, ring.q)
            value = [(s - v) * divide % ring.q for s, v in zip(sums[j], less, strict=True)]
            if part == 0:
                value = [(v + c) % ring.q for v, c in zip(value, c0[j], strict=True)]
            limbs.append(ring.automorphism(value, g))
        out.append(limbs)
    return out
