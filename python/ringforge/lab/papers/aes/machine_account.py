# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""AES-128 of 2,048 blocks on the aes machines: our circuit's products and relinearisations, level by level.

Programs of one S-box and of as many ciphertexts as share a key are timed by the replica of the machine, the host's link
included, for three and for five primes; a level has sixteen S-boxes and so many primes more. The host cuts digits,
reduces modulo Phi, adds and switches: that is measured apart (`ringforge bench aes --host`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

from ringforge.aes import ltv_engine
from ringforge.aes.sbox import cipher
from ringforge.hw.machines.aes import jobs, replica
from ringforge.hw.machines.aes.config import AesConfig
from ringforge.hw.machines.aes.layout import Target
from ringforge.hw.machines.aes.measure import Size
from ringforge.hw.machines.aes.program import Program

from . import cycles, times
from .figures import DEPTH, PRIMES, SBOXES

#: log2 of the words of a transform.
LOG_N: Final = cycles.LEVELS
#: Primes that are timed: buffers and sets of tables come round within two.
_PRIMES: Final = (3, 5)
#: Digits of which each further one takes what these do; fewer are timed as they are.
_DIGITS: Final = (18, 26)
_SBOXES_OF_A_LEVEL: Final = SBOXES // (DEPTH // 4)


@dataclass(frozen=True)
class Spent:
    """What part of AES takes on a machine with its link.

    Attributes:
        products, relinearisations: seconds.
        count: relinearisations.
    """

    products: float
    relinearisations: float
    count: int

    @property
    def seconds(self) -> float:
        return self.products + self.relinearisations


def target(config: AesConfig, count: int) -> Target:
    """The first moduli on a machine."""
    return Size(LOG_N, count).target(config)


@cache
def each_prime(config: AesConfig, outputs: tuple[tuple[tuple[int, int], ...], ...], operands: int) -> float:
    """Cycles for each further prime of sums of products."""
    return _slope(config, lambda t: jobs.product(t, operands, outputs).program)


def each_prime_relinearised(config: AesConfig, digits: int) -> tuple[float, int]:
    """Cycles for each further prime of as many relinearisations as share a key; how many these are."""
    together = jobs.BATCH if config.fast else 1
    few, more = _DIGITS
    if digits <= few:
        return _relinearised(config, digits, together), together
    digit = (_relinearised(config, more, together) - _relinearised(config, few, together)) / (more - few)
    return _relinearised(config, few, together) + (digits - few) * digit, together


@cache
def _relinearised(config: AesConfig, digits: int, together: int) -> float:
    return _slope(config, lambda t: jobs.relinearise(t, digits, together).program)


def _slope(config: AesConfig, program: Callable[[Target], Program]) -> float:
    few, more = _timed(config, program)
    return (more - few) / (_PRIMES[1] - _PRIMES[0])


def cycles_of(config: AesConfig, program: Callable[[Target], Program], count: int) -> int:
    """Cycles of a program for so many primes, each further one after those that are timed as long as one of them."""
    if count <= _PRIMES[1]:
        return replica.run(config, program(target(config, count))).cycles
    few, more = _timed(config, program)
    return round(more + (count - _PRIMES[1]) * (more - few) / (_PRIMES[1] - _PRIMES[0]))


def _timed(config: AesConfig, program: Callable[[Target], Program]) -> list[int]:
    return [replica.run(config, program(target(config, count))).cycles for count in _PRIMES]


def aes(config: AesConfig) -> Spent:
    """All of AES-128: sixteen S-boxes a level, forty levels."""
    products = relinearised = 0.0
    count = 0
    for number, step in enumerate(cipher("encrypt").rounds):
        for at, level in enumerate(ltv_engine.plan(step.box)):
            limbs = PRIMES - 4 * number - at
            outputs = tuple(tuple(pairs) for pairs in level.outputs)
            made = _SBOXES_OF_A_LEVEL * len(outputs)
            products += _SBOXES_OF_A_LEVEL * limbs * each_prime(config, outputs, len(level.forms))
            slope, together = each_prime_relinearised(config, times.windows(limbs))
            relinearised += limbs * slope * made / together
            count += made
    return Spent(products / config.clock_hz, relinearised / config.clock_hz, count)
