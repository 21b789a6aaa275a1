# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Which ring and which primes AES under BGV takes: a search over all odd indices.

A block of AES needs a slot that holds bytes: a field GF(2^d) with 8 | d, d the order of 2 modulo the index m. There are
phi(m)/d slots, so that a block costs d coefficients of every limb; d is 16 for divisors of 65,535 only, and at least 24
for all others of use. Against this stands what the security of phi(m) allows: AES wants 900 bits of Q and more, and P
for its key switches, and the guideline gives 868 for both at phi(m) = 32,768.

Security of rings between powers of two is the guideline's bound interpolated in phi(m). Noise is that of
`ringforge.bgv.NoiseRules`, which know only rings that exist here; `NoiseModel` is the same rules for any degree.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from ringforge import params
from ringforge.aes.byte_aes import INVERSION_STAGES, round_circuit
from ringforge.aes.byte_circuit import BITS, Sum
from ringforge.aes.byte_plan import AesPlan, Sizes, aes_plan
from ringforge.aes.engine import BLOCK_BYTES, ROUNDS, Direction
from ringforge.errors import ParameterError

#: Largest degree of a ring.
MOST_DEGREE: Final = 65_536
#: Fewer slots are not looked at.
LEAST_SLOTS: Final = 1_024
#: Products that results still bear, in the larger of the two sets that are made for every ring.
LEVELS_LEFT: Final = 5

#: Bits of the primes of Q that are tried. Transforms by 52-bit multiply-add take 50 at the most.
WORD_BITS: Final = (46, 48, 49, 50)
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
    def least_butterflies(self) -> float:
        """The same if transforms of any length took as little as powers of two do: by 3 and 5, they would take more."""
        return math.log2(self.degree)

    @property
    def least_prime_bits(self) -> int:
        """Primes are 1 modulo m times the longest transform."""
        return (self.m * max(self.lengths)).bit_length()

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
    """All odd m with phi(m) <= most_degree and at least `least_slots` slots whose degree 8 divides.

    The most slots come first, then the smallest degrees.

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

    Attributes:
        rounding: log2 of what rounding adds.
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
        self.rounding = 1 + self._from_variance((1 + self._secret) / 12)
        self._key_switch = [self.rounding, *(self._switch(q[:limbs], sum(p), alpha) for limbs in range(1, len(q) + 1))]

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
        return ModelNoise(_log_add(a.log_bound, _log_add(self._key_switch[limbs], self.rounding)))

    def multiplied(self, a: ModelNoise, b: ModelNoise, limbs: int, drop: int) -> ModelNoise:
        product = ModelNoise(a.log_bound + b.log_bound)
        return self.mod_switched(self.switched(product, limbs), limbs, limbs - drop)

    def hoisted_sum(self, a: ModelNoise, log_peaks: Sequence[float], limbs: int, drop: int) -> ModelNoise:
        each, total = _log_add(a.log_bound, self._key_switch[limbs]), self.rounding
        for peak in log_peaks:
            total = _log_add(total, each + peak)
        return self.mod_switched(ModelNoise(total), limbs, limbs - drop)

    def mod_switched(self, a: ModelNoise, limbs: int, to: int) -> ModelNoise:
        if to == limbs:
            return a
        return ModelNoise(_log_add(a.log_bound - (self._log_q[limbs] - self._log_q[to]), self.rounding))

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
        word_bits, words: of Q, equal primes. special_bits, alpha: of P, which has alpha primes, as digits have.
        levels_left: products that AES is followed by.
        transforms: of ten rounds of all 16 bytes and of `levels_left` products of each.
        plan: primes of every stage.
    """

    word_bits: int
    words: int
    special_bits: int
    alpha: int
    levels_left: int
    transforms: int
    plan: AesPlan

    @property
    def log_q(self) -> int:
        """Bits of Q."""
        return self.words * self.word_bits

    @property
    def log_qp(self) -> int:
        """Bits of Q*P."""
        return self.log_q + self.alpha * self.special_bits


def _special_bits(word_bits: int, alpha: int) -> int:
    """So that P has six bits or so more than a digit, and key switches add less than rounding does."""
    return min(_FAST_BITS, word_bits + -(-6 // alpha))


def _planned(
    index: Index, word_bits: int, alpha: int, levels_left: int, direction: Direction = "encrypt"
) -> Set | None:
    """The set with words of this size; None where it would be above the limit."""
    special = _special_bits(word_bits, alpha)
    words = min(64, int((index.max_log_qp - alpha * special) // word_bits))
    if words < ROUNDS:
        return None
    model = NoiseModel(index.degree, coefficient_factor(index), [word_bits] * words, [special] * alpha, alpha)
    try:
        plan = aes_plan(model, Sizes(words, alpha, alpha), lambda _: model.peak(), direction, levels_left)
    except ParameterError:
        return None
    return Set(word_bits, plan.plan.start, special, alpha, levels_left, BLOCK_BYTES * plan.plan.work, plan)


def _transforms(plan: AesPlan, alpha: int) -> int:
    """Transforms of a plan with digits of another size."""
    sizes = Sizes(plan.plan.start, alpha, alpha)
    return BLOCK_BYTES * sum(
        sizes.step(step, limbs[step.stage])
        for segment, limbs in zip(plan.plan.segments, plan.plan.limbs, strict=True)
        for step in segment.circuit.steps
    )


def best_set(index: Index, levels_left: int = LEVELS_LEFT, words: Sequence[int] = WORD_BITS) -> Set | None:
    """The set of fewest transforms within the limit, of words of one size; None if there is none.

    How many primes a stage takes hardly depends on digits: sizes of words are tried with one alpha, then others with
    the best of them.
    """
    found: list[Set] = []
    for bits in words:
        tried = (_planned(index, bits, alpha, levels_left) for alpha in (8, 4, 2))
        made = next((s for s in tried if s), None)
        if made and bits >= index.least_prime_bits:
            found.append(made)
    if not found:
        return None
    best = min(found, key=lambda s: s.transforms)
    alphas = sorted(range(1, _MOST_ALPHA + 1), key=lambda alpha: _transforms(best.plan, alpha))
    for alpha in alphas[: alphas.index(best.alpha)]:
        other = _planned(index, best.word_bits, alpha, levels_left)
        if other and other.transforms < best.transforms:
            return other
    return best


def _mixing() -> Sum:
    """A sum of MixColumns."""
    sums = [s for s in round_circuit(1, "encrypt", 1).steps if isinstance(s, Sum)]
    return max(sums, key=lambda s: len(s.terms))


def needed_log_q(index: Index) -> float:
    """Bits of Q that AES alone takes at the least, about.

    A product takes from the budget what its operands' noise is, which is what rounding leaves, at least; primes are
    whole words, and one that is larger than that noise takes its own size, unless two products go before it, which
    take 3/2 of the noise each. A linear map takes the size of its constants, and their number; MixColumns the number of
    its terms. In the end the noise has to be there.
    """
    model = NoiseModel(index.degree, coefficient_factor(index), [], [], 1)
    noise = model.rounding
    product = min(max(noise, index.least_prime_bits), 1.5 * noise)
    terms = len(_mixing().terms)
    rounds = ROUNDS * (INVERSION_STAGES * product + model.peak() + math.log2(BITS)) + (ROUNDS - 1) * math.log2(terms)
    return rounds + noise + 1 + math.log2(coefficient_factor(index))


# ---- the search ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """What the search says of an index.

    Attributes:
        index: the ring. needed: `needed_log_q`.
        best: the set for AES and `LEVELS_LEFT` products; for AES alone where the limit allows no more; None where it
            does not allow that.
        note: why the ring is not taken, or that it is.
    """

    index: Index
    needed: float
    best: Set | None
    note: str

    def milliseconds(self, least: bool = False) -> float:
        """Transforms of a block of AES and what follows, on one core, by counts of butterflies; infinite without a set.

        Args:
            least: of transforms that are not padded, which do not exist here.
        """
        if self.best is None:
            return math.inf
        butterflies = self.index.least_butterflies if least else self.index.butterflies
        return self.best.transforms * self.index.degree * butterflies * _BUTTERFLY_NS / 1e6 / self.index.slots


def row(index: Index, levels_left: int = LEVELS_LEFT) -> Row:
    """What an index is worth."""
    needed = needed_log_q(index)
    if not index.has_tensor_basis:
        return Row(index, needed, None, "m has a square: no basis that automorphisms permute")
    if needed >= index.max_log_qp:
        return Row(index, needed, None, "too few bits")
    best = best_set(index, levels_left)
    if best:
        return Row(index, needed, best, "")
    return Row(index, needed, best_set(index, 0), f"not {levels_left} products after AES")


def search(
    most_degree: int = MOST_DEGREE, least_slots: int = LEAST_SLOTS, levels_left: int = LEVELS_LEFT
) -> Iterator[Row]:
    """A row for every index, the most slots first; each takes seconds."""
    for index in indices(most_degree, least_slots):
        yield row(index, levels_left)


def chosen(rows: Sequence[Row], levels_left: int = LEVELS_LEFT) -> Row:
    """The row whose block takes the least time, of those with products after AES.

    Raises:
        ParameterError: there is none.
    """
    possible = [r for r in rows if r.best and r.best.levels_left == levels_left]
    if not possible:
        raise ParameterError(f"no index bears AES and {levels_left} products: allow larger degrees, or fewer products")
    return min(possible, key=Row.milliseconds)


def shipped(r: Row) -> dict[str, object]:
    """The set as params/bgv.json has it, with as many words as the larger of AES's two directions takes.

    Raises:
        ParameterError: the row has no set, or its limit does not allow decryption.
    """
    if r.best is None:
        raise ParameterError(f"index {r.index.m} bears no AES: {r.note}")
    s = r.best
    back = _planned(r.index, s.word_bits, s.alpha, s.levels_left, "decrypt")
    if back is None:
        raise ParameterError(
            f"index {r.index.m} bears encryption by AES, but no decryption: take fewer products after it"
        )
    words = max(s.words, back.words)
    return {
        "name": "bgv-aes",
        "m": r.index.m,
        "q": f"{s.word_bits}*{words}",
        "p": f"{s.special_bits}*{s.alpha}",
        "digit": s.alpha,
    }


def heading() -> str:
    """Of `line`."""
    return (
        f"{'index':>7} {'degree':>7} {'slots':>6} {'field':>6} {'transforms':>16} {'limit':>6} {'needed':>7} "
        f"{'Q':>6} {'P':>5} {'log QP':>7} {'transforms':>11} {'ms a block':>11} {'unpadded':>9}"
    )


def line(r: Row) -> str:
    """A row as text."""
    i, s = r.index, r.best
    text = (
        f"{i.m:7} {i.degree:7} {i.slots:6} {f'2^{i.field_degree}':>6} {' '.join(map(str, i.lengths)):>16} "
        f"{i.max_log_qp:6.0f} {r.needed:7.0f} "
    )
    if s:
        text += (
            f"{f'{s.word_bits}*{s.words}':>6} {f'{s.special_bits}*{s.alpha}':>5} {s.log_qp:7} {s.transforms:11,} "
            f"{r.milliseconds():11.1f} {r.milliseconds(True):9.1f}"
        )
    return f"{text}  {r.note}".rstrip()


def main() -> None:
    """Prints all rows, and the set for params/bgv.json."""
    rows = []
    print(heading())
    for r in search():
        rows.append(r)
        print(line(r), flush=True)
    print(json.dumps(shipped(chosen(rows))))


if __name__ == "__main__":
    main()
