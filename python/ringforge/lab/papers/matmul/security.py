# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What the sets of Table II are worth, and the named sets that stand for them here."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

from ringforge import params

from .parameters import INSECURE_REASON, OUR_SETS, ParameterSet


@dataclass(frozen=True, slots=True)
class Security:
    """A modulus beside the limit of the 2024 guideline for 128 bits.

    Attributes:
        log_qp: bits of P·Q, the modulus of the evaluation keys.
        limit: the most that gives 128 bits at this degree.
    """

    log_qp: float
    limit: float

    @property
    def holds(self) -> bool:
        """128 bits of security."""
        return self.log_qp <= self.limit

    @property
    def estimate(self) -> float:
        """Security in bits if it falls as N / log QP does: a rough guide, a few bits off near the limit."""
        return 128 * self.limit / self.log_qp


def security(parameters: ParameterSet) -> Security:
    """A row of Table II with the special primes that it prints."""
    return Security(parameters.log_qp, params.max_log_qp(parameters.degree.bit_length() - 1))


def working_digits(parameters: ParameterSet) -> tuple[tuple[int, int], ...]:
    """Pairs (k, beta) nearest to the printed ones that a hybrid key switch can use: P at least as large as a digit.

    Keeps first the printed k, then the printed beta. Both pairs are the printed one where that works.
    """
    per_digit = min(parameters.limbs_per_digit, parameters.special)
    return (
        (parameters.special, -(-parameters.limbs // per_digit)),
        (max(parameters.special, parameters.limbs_per_digit), parameters.digits),
    )


@dataclass(frozen=True, slots=True)
class NamedSet:
    """A named set of ours.

    Attributes:
        name: its name in :mod:`ringforge.params`.
        log_n: log2 N.
        limbs: limbs of a fresh ciphertext.
        special: special primes.
        digits: digits of the key switch at the highest level.
        log_q: bits of Q.
        security: its modulus beside the guideline's.
    """

    name: str
    log_n: int
    limbs: int
    special: int
    digits: int
    log_q: float
    security: Security


def named_sets() -> list[NamedSet]:
    """:data:`.parameters.OUR_SETS` as they are installed."""
    made: list[NamedSet] = []
    for name in OUR_SETS:
        p = params.named(name, INSECURE_REASON)
        digits = -(-len(p.q) // p.limbs_per_digit)
        log_p = sum(map(log2, p.p))
        limit = Security(p.log_qp, params.max_log_qp(p.log_n))
        made.append(NamedSet(name, p.log_n, len(p.q), len(p.p), digits, p.log_qp - log_p, limit))
    return made
