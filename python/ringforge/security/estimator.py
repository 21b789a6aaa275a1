# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Bits of security of an LWE instance against the known classical lattice attacks.

>>> estimate(Instance(n=1024, log_q=26, sigma=3.19, secret="ternary")).secure
True

An estimate is the cost of the cheapest attack of :mod:`ringforge.security.attacks`. It agrees with the tables of the
2024 guideline (Bossuat et al., eprint 2024/463) and with published runs of the lattice estimator (Albrecht, Player,
Scott, 2015, and later) within about two bits; the tests hold that.

A ternary secret may have a fixed weight; :mod:`ringforge.security.sparse` has the attacks that gain from it.

Not modelled: the ring (an RLWE instance counts as LWE of the same dimension with as many samples as wanted, as in all
published tables), BKW and Arora-Ge (never the best for these noises), quantum computers, memory (counted as free), and
attacks on implementations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

from ringforge.errors import ParameterError
from ringforge.security import attacks, reduction, sparse
from ringforge.security.attacks import Attack, Instance

__all__ = ["TARGET_BITS", "Attack", "Estimate", "Instance", "estimate", "least_dimension"]

#: What shipped sets promise.
TARGET_BITS = 128

_MAX_DIMENSION = 1 << 18


@dataclass(frozen=True)
class Estimate:
    """All attacks on an instance.

    Attributes:
        instance: what was attacked.
        model: the cost model's name.
        attacks: the results, cheapest first.
    """

    instance: Instance
    model: str
    attacks: tuple[Attack, ...]

    @property
    def best(self) -> Attack:
        """The cheapest attack."""
        return self.attacks[0]

    @property
    def bits(self) -> float:
        """log2 of the operations of the cheapest attack."""
        return self.best.bits

    @property
    def secure(self) -> bool:
        """At least 128 bits."""
        return self.bits >= TARGET_BITS


def _check(instance: Instance) -> None:
    if not 16 <= instance.n <= _MAX_DIMENSION:
        raise ParameterError(f"LWE dimension {instance.n} is outside 16 ... {_MAX_DIMENSION}")
    if not 3 <= instance.log_q <= 8192:
        raise ParameterError(f"log2 of the modulus {instance.log_q:g} is outside 3 ... 8192")
    if instance.sigma < 0.1 or math.log2(instance.sigma) >= instance.log_q - 2:
        raise ParameterError(
            f"error standard deviation {instance.sigma:g} is outside 0.1 ... q/4 = 2^{instance.log_q - 2:g}"
        )
    if instance.secret not in attacks.SECRETS:
        raise ParameterError(f'unknown secret "{instance.secret}": take one of {", ".join(attacks.SECRETS)}')
    if instance.weight is not None and (instance.secret != "ternary" or not 1 <= instance.weight <= instance.n):
        raise ParameterError(
            f'weight {instance.weight} of a "{instance.secret}" secret: only "ternary" ones have a weight, of 1 ... n'
        )
    if instance.error_weight is not None and (instance.weight is None or not 1 <= instance.error_weight <= instance.n):
        raise ParameterError(
            f"{instance.error_weight} errors that are not 0: give 1 ... n, and the weight of the secret, or None"
        )
    if instance.samples is not None and instance.samples < 1:
        raise ParameterError(f"{instance.samples} samples: take at least 1, or None for as many as wanted")


@lru_cache(maxsize=4096)
def estimate(instance: Instance, model: str = "matzov") -> Estimate:
    """Costs of all attacks on an instance, cheapest first; well below a second.

    Raises:
        ParameterError: an instance out of range, or an unknown cost model.
    """
    _check(instance)
    cost = reduction.model(model)
    results = [attack(instance, cost) for attack in (attacks.ALL if instance.weight is None else sparse.ALL)]
    if instance.error_weight is not None:
        # n samples are solved for the secret: then the errors are a secret, of their weight, and it is their error.
        exchanged = replace(
            instance, sigma=instance.secret_sigma, weight=instance.error_weight, error_weight=None, samples=instance.n
        )
        found = [attack(exchanged, cost) for attack in sparse.ALL[:-1]]
        results += [replace(attack, name=f"{attack.name}, roles exchanged") for attack in found]
    return Estimate(instance, model, tuple(sorted(results, key=lambda result: result.bits)))


def least_dimension(log_q: float, sigma: float, secret: str, bits: float = TARGET_BITS, upper: int = 4096) -> int:
    """The least n whose instance has the bits asked for.

    Raises:
        ParameterError: none up to `upper`, or an instance out of range.
    """
    low, high = 16, upper
    if estimate(Instance(upper, log_q, sigma, secret)).bits < bits:
        raise ParameterError(f"no dimension up to {upper} has {bits:g} bits at log2 q = {log_q:g}: take a smaller q")
    while low < high:
        middle = (low + high) // 2
        if estimate(Instance(middle, log_q, sigma, secret)).bits >= bits:
            high = middle
        else:
            low = middle + 1
    return low
