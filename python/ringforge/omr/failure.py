# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""How likely each stage of oblivious message retrieval fails, and the security of signals.

Derivations: docs/omr-protocol.md. Probabilities are exact where that is said, otherwise upper bounds. Those of signals
are over receivers and signals drawn at random; sums over messages and coefficients are union bounds, which hold though
all of a receiver's signals share its secret.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ringforge.omr.sets import Set
from ringforge.omr.signal import SCREEN_TRIALS, screen_limit
from ringforge.security import Estimate, Instance, estimate

__all__ = [
    "Budget",
    "Line",
    "budget",
    "error_distribution",
    "false_overflow",
    "false_positive",
    "miss",
    "miss_coefficient",
    "noise_failure",
    "screened_hit",
    "security",
    "signal_distribution",
]

Array = npt.NDArray[np.float64]

#: log2 of the probability that a box which is not for a receiver opens, for each byte-block of 16: Poly1305 lets a
#: message of L bytes pass with at most 8 ceil(L / 16) / 2^106 (Bernstein, FSE 2005, theorem 3.3).
_FORGERY_BITS = 106


def _log2(p: float) -> float:
    return math.log2(p) if p > 0 else -math.inf


# ---- errors of signals ---------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _one_error(deviation: float, sampler: str) -> Array:
    last = math.ceil(deviation * 12) + 2
    size = np.arange(last + 1, dtype=np.float64)
    if sampler == "discrete":
        half = np.exp(-(size**2) / (2 * deviation**2))
        half /= half[0] + 2 * half[1:].sum()
    else:
        tails = np.array([math.erfc(x / (deviation * math.sqrt(2))) for x in np.arange(last + 1) + 0.5])
        half = np.concatenate([[1 - tails[0]], (tails[:-1] - tails[1:]) / 2])
    return np.concatenate([half[:0:-1], half])


def error_distribution(s: Set) -> Array:
    """Probabilities of one sampled error, of -m ... m for some m; symmetric."""
    return _one_error(s.deviation, s.sampler)


@lru_cache(maxsize=64)
def _sum_of(deviation: float, sampler: str, terms: int) -> Array:
    # Nothing cancels in sums of probabilities: each is right to about 2^-45 of itself, however small it is.
    power, result = _one_error(deviation, sampler), np.ones(1)
    while terms:
        if terms & 1:
            result = np.convolve(result, power)
        power, terms = np.convolve(power, power) if terms > 1 else power, terms >> 1
    return result


def signal_distribution(s: Set) -> Array:
    """Probabilities of a coefficient of a signal's error e1 s - e r - e2, of -m ... m for some m; exact.

    s and r have `weight` coefficients 1 or -1 each, and a sampled error is as likely as its negative: the sum of
    2 weight + 1 independent errors.
    """
    return _sum_of(s.deviation, s.sampler, 2 * s.weight + 1)


def miss_coefficient(s: Set) -> float:
    """Probability that one coefficient of a receiver's signal is out of range; exact."""
    p = signal_distribution(s)
    beyond = p[len(p) // 2 + s.range + 1 :]
    return float(2 * beyond[::-1].sum())


def miss(s: Set, messages: int = 1) -> float:
    """Probability that any of so many messages is missed, at most."""
    return min(1.0, messages * s.clues * miss_coefficient(s))


# ---- signals of others ---------------------------------------------------------------------------


def false_positive(s: Set) -> float:
    """Probability that a signal for nobody is in range; exact for uniform ones, which honest ones look like."""
    return ((2 * s.range + 1) / s.t) ** s.clues


def _binomial_tail(n: int, p: float, least: int) -> float:
    """Pr(Binomial(n, p) >= least)."""
    if least <= 0:
        return 1.0
    total, k = 0.0, least
    while k <= n:
        term = math.exp(
            math.lgamma(n + 1)
            - math.lgamma(k + 1)
            - math.lgamma(n - k + 1)
            + k * math.log(p)
            + (n - k) * math.log1p(-p)
        )
        total += term
        if k > n * p and term < total * 1e-17:
            break
        k += 1
    return min(1.0, total)


def false_overflow(s: Set, messages: int, capacity: int) -> float:
    """Probability that a bulletin with so many messages of one receiver has more than `capacity` in range.

    The receiver notices, and asks again: no message is lost.
    """
    return _binomial_tail(s.entries - messages, false_positive(s), capacity - messages + 1)


def screened_hit(s: Set) -> float:
    """How likely a signal that the board accepts is in range for a receiver whose address its poster does not use.

    At most, over all signals: one that a share p of all receivers takes passes with Pr(Binomial(trials, p) < limit).
    """
    limit = screen_limit(s)
    shares = np.geomspace(1 / SCREEN_TRIALS / 64, 1, 512)
    worst = max(p * (1 - _binomial_tail(SCREEN_TRIALS, p, limit)) for p in shares[:-1].tolist())
    return float(worst)


# ---- noise ---------------------------------------------------------------------------------------


#: Nothing is said beyond it.
MOST_NOISE_BITS = 400


def noise_failure(suffices: Callable[[int], bool]) -> float:
    """log2 of the probability that some coefficient's error is too large, at most.

    Args:
        suffices: whether all is right with noise bounded at a security, as `bfv.NoiseRules(params, security)` does:
            the higher, the larger the bound.
    """
    low, high = 0, MOST_NOISE_BITS
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if suffices(middle) else (low, middle - 1)
    return -float(low)


# ---- all of it -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """One way to fail.

    Attributes:
        name: in words.
        log2: of its probability.
        effect: "message" where a message is missed or a wrong one shown; "capacity" where the receiver asks again.
        why: the derivation, in short.
    """

    name: str
    log2: float
    effect: str
    why: str


@dataclass(frozen=True)
class Budget:
    """All ways in which one retrieval from one bulletin may fail."""

    lines: tuple[Line, ...]

    def total(self, effect: str) -> float:
        """log2 of the sum over the lines with an effect."""
        return _log2(sum(2.0**line.log2 for line in self.lines if line.effect == effect))


def budget(s: Set, messages: int = 50, capacity: int = 50, noise: Mapping[str, float] | None = None) -> Budget:
    """What may go wrong when a receiver with so many messages in a bulletin retrieves them.

    Args:
        messages: of the receiver.
        capacity: for which it asked.
        noise: for each stage, log2 of the probability that its noise is too large: `noise_failure`; of a digest,
            what the plan of the compression says.
    """
    expected = s.entries * false_positive(s)
    blocks = 8 * -(-s.payload_bytes // 16)
    terms = 2 * s.weight + 1
    lines = [
        Line(
            "a signal's error is out of range",
            _log2(miss(s, messages)),
            "message",
            f"{messages} messages x {s.clues} coefficients, each a sum of {terms} errors ({s.sampler}, deviation "
            f"{s.deviation:g}) beyond {s.range}: 2^{_log2(miss_coefficient(s)):.1f}",
        ),
        Line(
            "a false positive's box opens",
            _log2(min(1.0, expected)) + math.log2(blocks) - _FORGERY_BITS,
            "message",
            f"Poly1305: {blocks} / 2^{_FORGERY_BITS} for {s.payload_bytes} bytes",
        ),
    ]
    for stage, bound in (noise or {}).items():
        lines.append(Line(f"noise: {stage}", bound, "message", "bounds of noise, tails of products included"))
    lines.append(
        Line(
            "more in range than asked for",
            _log2(false_overflow(s, messages, capacity)),
            "capacity",
            f"{s.entries} entries x ({2 * s.range + 1} / {s.t})^{s.clues} = 2^{_log2(expected):.1f} false positives "
            f"expected, room for {capacity - messages}",
        )
    )
    return Budget(tuple(lines))


def security(s: Set) -> Estimate:
    """What the known attacks on a set's keys and signals cost; the secret of either, and its errors, are attacked."""
    p = error_distribution(s)
    last = len(p) // 2
    variance = float((p * np.arange(-last, last + 1) ** 2).sum())
    errors = max(1, round(s.n * (1 - float(p[last]))))
    return estimate(Instance(s.n, math.log2(s.t), math.sqrt(variance), "ternary", None, s.weight, errors))
