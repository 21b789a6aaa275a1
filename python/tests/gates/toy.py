# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A blind rotation in numpy, slow and plain, whose noise the model must predict."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ringforge.gates.sets import Gadget, GateSet

Ints = npt.NDArray[np.int64]


def multiply(x: Ints, y: Ints, q: int) -> Ints:
    """x y modulo X^N + 1 and q; exact for |x| up to 2^9 and |y| up to 2^27 at N = 256."""
    n = x.shape[-1]
    product = np.fft.irfft(np.fft.rfft(x, 2 * n) * np.fft.rfft(y, 2 * n), 2 * n)
    whole = np.rint(product).astype(np.int64)
    return (whole[..., :n] - whole[..., n:]) % q


def rotate(x: Ints, r: int, q: int) -> Ints:
    """x X^r."""
    n = x.shape[-1]
    r %= 2 * n
    out = np.roll(x, r % n, axis=-1)
    out[..., : r % n] *= -1
    return (out if r < n else -out) % q


def centred(x: Ints, q: int) -> Ints:
    """Representatives in -q/2 ... q/2."""
    return (x + q // 2) % q - q // 2


def digits(x: Ints, gadget: Gadget, q: int, balanced: bool) -> list[Ints]:
    """Digits of a polynomial, the least first."""
    value = centred(x, q) if balanced else x % q
    value = (value + ((1 << gadget.drop) >> 1)) >> gadget.drop
    base, out = 1 << gadget.log_base, []
    for j in range(gadget.count):
        digit = value % base
        if balanced:
            digit = np.where(digit >= base // 2, digit - base, digit) if j < gadget.count - 1 else value
        out.append(digit)
        value = (value - digit) // base
    return out


class Toy:
    """Keys of a set, and its accumulators on (0, message)."""

    def __init__(self, s: GateSet, rng: np.random.Generator) -> None:
        """Secrets have exactly the mean weight, so that the mean of the model is what is met."""
        self.s, self.rng, self.n, self.q = s, rng, s.ring_degree, s.modulus
        third = self.n // 3
        self.ring: Ints = rng.permutation(np.repeat([-1, 0, 1], [third, self.n - 2 * third, third]))
        if s.lwe_secret == "binary":
            self.lwe: Ints = rng.permutation(np.repeat([0, 1], [s.n - s.n // 2, s.n // 2]))
        else:
            self.lwe = rng.permutation(np.repeat([-1, 0, 1], [s.n // 3, s.n - 2 * (s.n // 3), s.n // 3]))

    def _row(self, message: Ints) -> tuple[Ints, Ints]:
        a = self.rng.integers(0, self.q, self.n)
        error = self.rng.binomial(42, 0.5, self.n) - 21
        return a, (multiply(self.ring, a, self.q) + error + message) % self.q

    def rgsw(self, message: Ints) -> list[tuple[Ints, Ints]]:
        """Rows of RGSW(message): of -s m for a's digits, of m for b's."""
        negative = -multiply(self.ring, message % self.q, self.q)
        parts = ((self.s.gadget_a, negative), (self.s.gadget_b, message))
        return [self._row(m << (g.drop + g.log_base * j)) for g, m in parts for j in range(g.count)]

    def product(self, a: Ints, b: Ints, key: list[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
        """The external product."""
        s = self.s
        cut = digits(a, s.gadget_a, self.q, s.balanced) + digits(b, s.gadget_b, self.q, s.balanced)
        out_a = sum(multiply(d, row[0], self.q) for d, row in zip(cut, key, strict=True))
        out_b = sum(multiply(d, row[1], self.q) for d, row in zip(cut, key, strict=True))
        return np.asarray(out_a % self.q), np.asarray(out_b % self.q)

    def monomial(self, r: int) -> Ints:
        """X^r."""
        one = np.zeros(self.n, dtype=np.int64)
        one[0] = 1
        return rotate(one, r, self.q)

    def substitute(self, a: Ints, b: Ints, g: int) -> tuple[Ints, Ints]:
        """X -> X^g, with a key made here."""
        index = np.arange(self.n) * g % (2 * self.n)
        sign = np.where(index < self.n, 1, -1)

        def image(x: Ints) -> Ints:
            out = np.zeros_like(x)
            out[index % self.n] = x * sign
            return out % self.q

        s, gadget = image(self.ring), self.s.automorphism
        key = [self._row(s << (gadget.drop + gadget.log_base * j)) for j in range(gadget.count)]
        cut = digits(image(a), gadget, self.q, self.s.balanced)
        out_a = -sum(multiply(d, row[0], self.q) for d, row in zip(cut, key, strict=True))
        out_b = image(b) - sum(multiply(d, row[1], self.q) for d, row in zip(cut, key, strict=True))
        return np.asarray(out_a % self.q), np.asarray(out_b % self.q)

    def phase_error(self, a: Ints, b: Ints, exact: Ints) -> Ints:
        """b - a s less what it should be."""
        return centred(b - multiply(self.ring, a, self.q) - exact, self.q)

    def blind_rotation(self, method: str) -> Ints:
        """Errors of one accumulation by exponents at random; each coefficient is a sample."""
        q, n = self.q, self.n
        message = self.rng.integers(0, q, n)
        # A uniform a, as every accumulator has after its first product.
        a = self.rng.integers(0, q, n)
        b = (message + multiply(self.ring, a, q)) % q
        total = 0
        for secret, exponent in zip(self.lwe, self.rng.integers(0, 2 * n, self.s.n), strict=True):
            secret, exponent = int(secret), int(exponent)
            total += secret * exponent
            if method == "ginx":
                steps = [(1, exponent)] if self.s.lwe_secret == "binary" else [(1, exponent), (-1, -exponent)]
                grown = (a, b)
                for sign, r in steps:
                    key = self.rgsw(self.monomial(0) * int(secret == sign))
                    if self.s.lwe_secret == "binary":
                        x, y = self.product((rotate(a, r, q) - a) % q, (rotate(b, r, q) - b) % q, key)
                    else:
                        x, y = self.product(a, b, key)
                        x, y = rotate(x, r, q) - x, rotate(y, r, q) - y
                    grown = (grown[0] + x) % q, (grown[1] + y) % q
                a, b = grown
            else:
                left, place = exponent, 1
                for _ in range(self.s.ap_digits):
                    left, digit = divmod(left, self.s.ap_base)
                    if digit:
                        a, b = self.product(a, b, self.rgsw(self.monomial(secret * digit * place)))
                    place *= self.s.ap_base
        return self.phase_error(a, b, rotate(message, total, q))
