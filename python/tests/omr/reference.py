# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Detection written with the public operations of `ringforge.bfv` only, the plainest way there is: an oracle.

What it finds is the encrypted vector of pertinent entries. Nothing of the engine's is in it: no kernels, no encodings
of diagonals, no levels but those that the noise asks for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ringforge import bfv
from ringforge.omr.sets import Set
from ringforge.omr.signal import Signals

Ints = npt.NDArray[np.int64]


def diagonals(a: npt.NDArray[np.uint32], s: Set) -> Ints:
    """d[k][m] = +-a_m[(-k - m) mod n], minus where (-k - m) mod 2n >= n."""
    m = np.arange(s.entries)
    out = np.empty((s.n, s.entries), np.int64)
    for k in range(s.n):
        at = (-k - m) % (2 * s.n)
        out[k] = np.where(at < s.n, 1, -1) * a[m, at % s.n].astype(np.int64) % s.t
    return out


def key_slots(secret: npt.NDArray[np.int64], s: Set) -> Ints:
    """v[i] = s[i mod n] * (-1)^(i div n)."""
    i = np.arange(s.entries)
    return np.asarray(np.where(i // s.n % 2, -1, 1) * secret[i % s.n])


def vanishing(s: Set) -> list[int]:
    """Coefficients of P(y), the product of y - i^2 for i up to the range."""
    p = [1]
    for i in range(s.range + 1):
        p = [(a - i * i * b) % s.t for a, b in zip([0, *p], [*p, 0], strict=True)]
    return p


class Reference:
    """A key, and what a detector computes with it.

    Args:
        secret: the receiver's, n numbers in -1, 0, 1.
    """

    def __init__(self, s: Set, secret: npt.NDArray[np.int64], threads: int = 1) -> None:
        self.set = s
        self.session = bfv.Session(bfv.Parameters.named(s.bfv, "tests"), threads)
        self.session.add_rotation_keys([1, s.babies])
        self.v = self.session.encrypt(key_slots(secret, s))
        self.ev = self.session.evaluator

    def affine(self, signals: Signals) -> list[bfv.Ciphertext]:
        """Minus the errors of pertinent signals in slots, uniform numbers elsewhere."""
        s, ev, half = self.set, self.ev, self.set.entries // 2
        babies = [self.v]
        for _ in range(s.babies + s.clues - 2):
            babies.append(ev.rotate_rows(babies[-1], 1, self.session.galois_keys))
        d = diagonals(signals.a, s)
        sums: list[bfv.Ciphertext | None] = [None] * s.clues
        for start in reversed(range(0, s.n, s.babies)):
            shifted = np.roll(d[start : start + s.babies].reshape(-1, 2, half), start, axis=2).reshape(-1, s.entries)
            plain = [bfv.encode(self.session.context, row) for row in shifted]
            for out in range(s.clues):
                inner = ev.mul_plain(babies[out], plain[0])
                for b in range(1, len(plain)):
                    inner = ev.add(inner, ev.mul_plain(babies[b + out], plain[b]))
                last = sums[out]
                if last is not None:
                    inner = ev.add(inner, ev.rotate_rows(last, s.babies, self.session.galois_keys))
                sums[out] = inner
        b = [bfv.encode(self.session.context, signals.b[:, out].astype(np.int64)) for out in range(s.clues)]
        return [ev.sub_plain(c, p) for c, p in zip(sums, b, strict=True) if c is not None]

    def range_check(self, x: Sequence[bfv.Ciphertext]) -> bfv.Ciphertext:
        """1 in slots where all of x are in range, else 0."""
        found = None
        for c in x:
            z = self._polynomial(self._mul(c, c), vanishing(self.set))
            w = self._fermat(z)
            u = self.ev.add_constant(self.ev.negate(w), 1)
            found = u if found is None else self._mul(found, u)
        assert found is not None
        return found

    def _dropped(self, c: bfv.Ciphertext) -> bfv.Ciphertext:
        return self.ev.mod_switch_to(c, max(1, self.session.context.rules.fewest_limbs(c.noise, c.limbs)))

    def _mul(self, a: bfv.Ciphertext, b: bfv.Ciphertext) -> bfv.Ciphertext:
        limbs = min(a.limbs, b.limbs)
        a, b = (self.ev.mod_switch_to(c, limbs) if c.limbs > limbs else c for c in (a, b))
        product = self.ev.square(a) if a is b else self.ev.mul(a, b)
        return self._dropped(self.ev.relinearize(product, self.session.relin_key))

    def _polynomial(self, y: bfv.Ciphertext, p: Sequence[int]) -> bfv.Ciphertext:
        """By halves: p = high * y^(2^i) + low."""
        powers = {1: y}
        for k in range(2, 9):
            powers[k] = self._mul(powers[k // 2], powers[k - k // 2])
        k = 8
        while 2 * k < len(p):
            powers[2 * k] = self._mul(powers[k], powers[k])
            k *= 2
        return self._halves(powers, p, k)

    def _halves(self, powers: dict[int, bfv.Ciphertext], p: Sequence[int], k: int) -> bfv.Ciphertext:
        while k >= 8 and len(p) <= k:
            k //= 2
        if k < 8:
            return self._small(powers, p)
        low = self._halves(powers, p[:k], k // 2)
        high = self._mul(self._halves(powers, p[k:], k // 2), powers[k])
        limbs = min(low.limbs, high.limbs)
        return self.ev.add(self.ev.mod_switch_to(low, limbs), self.ev.mod_switch_to(high, limbs))

    def _small(self, powers: dict[int, bfv.Ciphertext], p: Sequence[int]) -> bfv.Ciphertext:
        t = self.set.t
        signed = [c - t if c > t // 2 else c for c in p]
        limbs = min(powers[k].limbs for k in range(1, 9))
        terms = [self.ev.mod_switch_to(powers[k], limbs) for k in range(1, max(2, len(p)))]
        weighted = self.ev.combine(terms, [*signed[1:], *[0] * (len(terms) - len(signed) + 1)])
        return self.ev.add_constant(weighted, signed[0])

    def _fermat(self, z: bfv.Ciphertext) -> bfv.Ciphertext:
        """z^(t - 1)."""
        power = None
        for bit in bin(self.set.t - 1)[2:]:
            power = None if power is None else self._mul(power, power)
            if bit == "1":
                power = z if power is None else self._mul(power, z)
        assert power is not None
        return power
