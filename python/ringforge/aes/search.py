# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Which ring and which primes AES under BGV takes: a search over all odd indices.

A block of AES needs a slot that holds bytes: a field GF(2^d) with 8 | d, d the order of 2 modulo the index m. There are
phi(m)/d slots, so that a block costs d coefficients of every limb; d is 16 for divisors of 65,535 only, and at least 24
for all others of use. Against this stands what the security of phi(m) allows: AES and its key switches want some 1,200
bits of Q*P whatever the ring, and the guideline gives 868 at phi(m) = 32,768.

Security of rings between powers of two is the guideline's bound interpolated in phi(m). Noise is that of
`ringforge.bgv.NoiseRules`, which know only rings that exist here; `NoiseModel` is the same rules for any degree.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from typing import Any, Final

from ringforge import params
from ringforge.aes.byte_aes import round_circuit
from ringforge.aes.byte_plan import AesPlan, Sizes, aes_plan
from ringforge.aes.engine import ROUNDS, Direction
from ringforge.errors import ParameterError

#: Largest degree of a ring.
MOST_DEGREE: Final = 65_536
#: Fewer slots are not looked at.
LEAST_SLOTS: Final = 1_024
#: Products that results still bear, in the larger of the two sets that are made for every ring.
LEVELS_LEFT: Final = 5

#: Sizes of whole words that primes of Q are tried with: transforms are fastest below 50 bits.
WORD_BITS: Final = (28, 33, 38, 43, 46, 48, 49, 50)
#: Largest primes whose transforms take 52-bit multiply-add.
_FAST_BITS: Final = 50
#: Digits have at most so many primes.
_MOST_ALPHA: Final = 12
#: Nanoseconds of a butterfly on one core, by 52-bit multiply-add: `rader_bench`, index 65537, 2 * 16 levels over 65,536
#: words in 0.255 ms.
_BUTTERFLY_NS: Final = 0.255e6 / (16 * 65_536)

_SECURITY: Final = 40
_ERROR_VARIANCE: Final = 10.5
_DIRECTIONS: Final = 32


# ---- rings ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Index:
    """The ring Z[X]/Phi_m modulo 2.

    Attributes:
        m: odd. degree: phi(m). field_degree: d, a slot holds an element of GF(2^d). factors: prime powers of m.
    """

    m: int
    degree: int
    field_degree: int
    factors: tuple[tuple[int, int], ...]

    @property
    def slots(self) -> int:
        return self.degree // self.field_degree

    @property
    def has_tensor_basis(self) -> bool:
        """No prime divides m twice: the units' powers of X are a basis, and transforms are Rader's."""
        return all(k == 1 for _, k in self.factors)

    @property
    def lengths(self) -> tuple[int, ...]:
        """Of the cyclic transforms of each dimension: p - 1, or where that is no power of two the power of two from
        2(p - 1) - 1 on, to which its convolutions are padded."""
        lengths = []
        for p, k in self.factors:
            units = (p - 1) * p ** (k - 1)
            lengths.append(units if units.bit_count() == 1 else 1 << (2 * units - 2).bit_length())
        return tuple(lengths)

    @property
    def butterflies(self) -> float:
        """Butterflies of a transform for each coefficient: there and back in each dimension."""
        total = 0.0
        for (p, k), length in zip(self.factors, self.lengths, strict=True):
            total += math.log2(length) * length / ((p - 1) * p ** (k - 1))
        return total

    @property
    def max_log_qp(self) -> float:
        """Bits of Q*P at 128 bits of security."""
        return max_log_qp(self.degree)


def max_log_qp(degree: int) -> float:
    """The guideline's bound on log2(Q*P), interpolated: linear in the degree between the powers of two next to it, as
    the bound is nearly proportional to the degree.

    Args:
        degree: phi(m), 1,024 to 131,072.

    Raises:
        ParameterError: another degree.
    """
    if not 1 << 10 <= degree <= 1 << 17:
        raise ParameterError(f"the guideline has no bound for degree {degree}: 1,024 to 131,072 are possible")
    log_n = degree.bit_length() - 1
    below = params.max_log_qp(log_n)
    rest = degree - (1 << log_n)
    return below + (params.max_log_qp(log_n + 1) - below) * rest / (1 << log_n) if rest else float(below)


def _order_of_two(n: int) -> int:
    order, x = 1, 2 % n
    while x != 1:
        x, order = 2 * x % n, order + 1
    return order


@cache
def _order_modulo(power: int) -> int:
    return _order_of_two(power)


def indices(most_degree: int = MOST_DEGREE, least_slots: int = LEAST_SLOTS) -> list[Index]:
    """All odd m with phi(m) <= most_degree and at least `least_slots` slots whose degree 8 divides; the most slots first,
    then the smallest degrees.

    Products of prime powers are built from primes p for which some d fits: 2 has an order modulo p that divides d.
    """
    limit = most_degree // least_slots  # d is at most this
    powers: list[tuple[int, int, int, int]] = []  # p^k, p, k, order
    sieve = bytearray([1]) * (most_degree + 2)
    for p in range(3, most_degree + 2, 2):
        if not sieve[p]:
            continue
        sieve[p * p :: 2 * p] = bytes(len(range(p * p, most_degree + 2, 2 * p)))
        # Cheap before exact: p divides 2^d - 1 for a d up to the limit.
        if not any(pow(2, d, p) == 1 for d in range(2, limit + 1)):
            continue
        power, k = p, 1
        while (p - 1) * power // p <= most_degree:
            order = _order_modulo(power)
            if order > limit:
                break
            powers.append((power, p, k, order))
            power, k = power * p, k + 1

    def products(start: int, m: int, degree: int, order: int, factors: tuple[tuple[int, int], ...]) -> Iterator[Index]:
        if m > 1 and order % 8 == 0 and degree // order >= least_slots:
            yield Index(m, degree, order, factors)
        for i in range(start, len(powers)):
            power, p, k, here = powers[i]
            grown, joint = degree * (power // p) * (p - 1), math.lcm(order, here)
            if grown <= most_degree and joint <= limit and all(p != q for q, _ in factors):
                yield from products(i + 1, m * power, grown, joint, (*factors, (p, k)))

    return sorted(products(0, 1, 1, 1, ()), key=lambda r: (-r.slots, r.degree, r.m))


# ---- noise ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ModelNoise:
    """As `ringforge.bgv.Noise`."""

    log_bound: float


def _log_add(a: float, b: float) -> float:
    return max(a, b) + math.log2(1 + 2 ** -abs(a - b))


class NoiseModel:
    """What operations do to noise, as `ringforge.bgv.NoiseRules` says it, of any degree and sizes of primes.

    Args:
        degree: phi(m). coefficient: the factor from values at roots of unity to coefficients. q, p: log2 of primes.
        alpha: primes of a digit.
    """

    def __init__(self, degree: int, coefficient: float, q: Sequence[float], p: Sequence[float], alpha: int) -> None:
        n = float(degree)
        self._n, self._coefficient = n, math.log2(coefficient)
        cosine = math.cos(math.pi / _DIRECTIONS)
        self._tail = (1 + 1 / n) * (math.log(_DIRECTIONS * n / 2) + _SECURITY * math.log(2)) / cosine**2
        self._secret = (math.log(n / 2) + 2) * 2 * n / 3
        self._log_q = [0.0]
        for bits in q:
            self._log_q.append(self._log_q[-1] + bits)
        self._rounding = 1 + self._from_variance((1 + self._secret) / 12)
        self._key_switch = [self._rounding, *(self._switch(q[:limbs], sum(p), alpha) for limbs in range(1, len(q) + 1))]

    def _from_variance(self, variance: float) -> float:
        return math.log2(self._tail * self._n * variance) / 2

    def _switch(self, q: Sequence[float], log_p: float, alpha: int) -> float:
        digits = [2 * (sum(q[i : i + alpha]) - log_p) for i in range(0, len(q), alpha)]
        largest = max(digits)
        weights = [2 ** (d - largest) for d in digits]
        total = sum(weights) + math.sqrt(2 * self._tail * sum(w * w for w in weights)) + self._tail
        return 1 + largest / 2 + self._from_variance(_ERROR_VARIANCE * self._n * total / 12)

    def peak(self) -> float:
        """What a byte in all slots is expected to have, signs being random: N/2 coefficients that are +-1, at the
        largest of N/2 pairs of roots."""
        return math.log2(self._n / 2 * (math.log(self._n / 2) + 1)) / 2

    def encrypted(self, public_key: bool) -> ModelNoise:
        error = self._tail * self._n * _ERROR_VARIANCE
        variance = _ERROR_VARIANCE * (1 + self._secret) + 2 / 3 * error if public_key else _ERROR_VARIANCE
        return ModelNoise(_log_add(1 + self._from_variance(variance), self._from_variance(2)))

    def sum(self, a: ModelNoise, b: ModelNoise) -> ModelNoise:
        return ModelNoise(_log_add(a.log_bound, b.log_bound))

    def plain_sum(self, a: ModelNoise, log_peak: float) -> ModelNoise:
        return ModelNoise(_log_add(a.log_bound, log_peak))

    def plain_product(self, a: ModelNoise, log_peak: float) -> ModelNoise:
        return ModelNoise(a.log_bound + log_peak)

    def switched(self, a: ModelNoise, limbs: int) -> ModelNoise:
        return ModelNoise(_log_add(a.log_bound, _log_add(self._key_switch[limbs], self._rounding)))

    def multiplied(self, a: ModelNoise, b: ModelNoise, limbs: int, drop: int) -> ModelNoise:
        product = ModelNoise(a.log_bound + b.log_bound)
        return self.mod_switched(self.switched(product, limbs), limbs, limbs - drop)

    def hoisted_sum(self, a: ModelNoise, log_peaks: Sequence[float], limbs: int, drop: int) -> ModelNoise:
        each, total = _log_add(a.log_bound, self._key_switch[limbs]), self._rounding
        for peak in log_peaks:
            total = _log_add(total, each + peak)
        return self.mod_switched(ModelNoise(total), limbs, limbs - drop)

    def mod_switched(self, a: ModelNoise, limbs: int, to: int) -> ModelNoise:
        if to == limbs:
            return a
        return ModelNoise(_log_add(a.log_bound - (self._log_q[limbs] - self._log_q[to]), self._rounding))

    def budget(self, noise: ModelNoise, limbs: int) -> float:
        return self._log_q[limbs] - 1 - noise.log_bound - self._coefficient


def coefficient_factor(index: Index) -> float:
    """From the largest value at a root of unity to the largest coefficient in the tensor basis."""
    factor = 1.0
    for p, _ in index.factors:
        factor *= 2 / (p * math.tan(math.pi / (2 * p)))
    return factor


# ---- sets ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Set:
    """Sizes of primes, and what AES takes with them.

    Attributes:
        word_bits, words: of Q. special_bits, alpha: of P, which has alpha primes, as digits have.
        log_q, log_qp: bits. transforms: of all 16 bytes, ten rounds and `levels_left` products.
        plan: primes of every stage.
    """

    word_bits: int
    words: int
    special_bits: int
    alpha: int
    transforms: int
    plan: AesPlan

    @property
    def log_q(self) -> int:
        return self.words * self.word_bits

    @property
    def log_qp(self) -> int:
        return self.log_q + self.alpha * self.special_bits


def _special_bits(word_bits: int, alpha: int) -> int:
    """So that P is some bits more than a digit, and key switches add less than rounding does."""
    return min(_FAST_BITS, word_bits + max(1, -(-6 // alpha)))


def _try(index: Index, word_bits: int, alpha: int, direction: Direction, levels_left: int) -> Set | None:
    """The set with words of one size; None where no number of words will do, or it is above the limit."""
    special = _special_bits(word_bits, alpha)
    words = min(64, int((index.max_log_qp - alpha * special) // word_bits))
    if words < ROUNDS:
        return None
    model = NoiseModel(index.degree, coefficient_factor(index), [word_bits] * words, [special] * alpha, alpha)
    try:
        plan = aes_plan(model, Sizes(words, alpha, alpha), lambda _: model.peak(), direction, levels_left)
    except ParameterError:
        return None
    return Set(word_bits, plan.plan.start, special, alpha, 16 * plan.plan.work, plan)


def best_set(
    index: Index, direction: Direction = "encrypt", levels_left: int = LEVELS_LEFT, words: Sequence[int] = WORD_BITS
) -> Set | None:
    """The set of fewest transforms within the limit, of words of one size; None if there is none.

    How many primes a stage takes hardly depends on alpha, so sizes are tried with one alpha first.
    """
    step = index.m * max(index.lengths)
    sizes = [b for b in words if step >> (b - 4) == 0]  # primes are 1 modulo this
    found: list[Set] = []
    for bits in sizes:
        for alpha in (8, 5, 3, 1):
            if made := _try(index, bits, alpha, direction, levels_left):
                found.append(made)
                break
    if not found:
        return None
    bits = min(found, key=lambda s: s.transforms).word_bits
    others = (_try(index, bits, alpha, direction, levels_left) for alpha in range(1, _MOST_ALPHA + 1))
    return min((s for s in (*found, *others) if s), key=lambda s: s.transforms)


@cache
def _least_log_q(degree: int) -> tuple[int, int]:
    """Bits of Q that AES alone needs with words of 22 bits, as near to the noise's own steps as words can be, and what
    rounds of it take each."""
    bits = 22
    index = Index(0, degree, 1, ())
    model = NoiseModel(degree, 4 / math.pi, [bits] * 64, [2 * bits] * 4, 2)
    plan = aes_plan(model, Sizes(64, 4, 2), lambda _: model.peak(), "encrypt", 0)
    del index
    return bits * plan.plan.start, bits * (plan.limbs(1)[0] - plan.limbs(ROUNDS)[0]) // (ROUNDS - 1)


@dataclass(frozen=True)
class Row:
    """What the search says of an index.

    Attributes:
        index: the ring. needed: bits of Q that AES alone needs with the smallest steps.
        alone, followed: the best set for AES, and for AES and `LEVELS_LEFT` products; None where the limit is below.
        note: why the ring is not taken, or that it is.
    """

    index: Index
    needed: int
    alone: Set | None
    followed: Set | None
    note: str

    def milliseconds(self, chosen: Set) -> float:
        """Transforms a block on one core, by counts of butterflies."""
        words = chosen.transforms * self.index.degree * self.index.butterflies
        return words * _BUTTERFLY_NS / 1e6 / self.index.slots

    @cached_property
    def key_switches(self) -> int:
        """Of ten rounds, 16 bytes."""
        return sum(round_circuit(i, "encrypt").counts().key_switches for i in range(1, ROUNDS + 1))


def row(index: Index) -> Row:
    """What an index is worth."""
    needed, _ = _least_log_q(index.degree)
    if not index.has_tensor_basis:
        return Row(index, needed, None, None, "m has a square: no basis that automorphisms permute")
    if needed >= index.max_log_qp:
        return Row(index, needed, None, None, "too few bits, whatever the words")
    alone = best_set(index, levels_left=0)
    if alone is None:
        return Row(index, needed, None, None, "too few bits: steps of noise are no whole words, and P takes some")
    followed = best_set(index)
    return Row(index, needed, alone, followed, "" if followed else f"AES, but not {LEVELS_LEFT} products after it")


def search(most_degree: int = MOST_DEGREE, least_slots: int = LEAST_SLOTS) -> list[Row]:
    """A row for every index; takes about a minute.

    The best is the one whose block costs the least time with `LEVELS_LEFT` products after AES; its note says so.
    """
    rows = [row(index) for index in indices(most_degree, least_slots)]
    possible = [r for r in rows if r.followed]
    if possible:
        best = min(possible, key=lambda r: r.milliseconds(r.followed) if r.followed else math.inf)
        at = rows.index(best)
        rows[at] = Row(best.index, best.needed, best.alone, best.followed, "the least time a block")
    return rows


def table(rows: Sequence[Row]) -> str:
    """Rows as text."""
    lines = [
        f"{'index':>7} {'degree':>7} {'slots':>6} {'field':>8} {'transforms of':>16} {'limit':>6} {'needed':>7} "
        f"{'Q':>7} {'P':>6} {'log QP':>7} {'transforms':>11} {'ms a block':>11}"
    ]
    for r in rows:
        i, s = r.index, r.followed or r.alone
        head = (
            f"{i.m:7} {i.degree:7} {i.slots:6} {'2^' + str(i.field_degree):>8} {' '.join(map(str, i.lengths)):>16} "
            f"{i.max_log_qp:6.0f} {r.needed:7}"
        )
        if s:
            head += (
                f" {f'{s.word_bits}*{s.words}':>7} {f'{s.special_bits}*{s.alpha}':>6} {s.log_qp:7} {s.transforms:11,} "
                f"{r.milliseconds(s):11.1f}"
            )
        lines.append(f"{head}  {r.note}".rstrip())
    return "\n".join(lines)
