# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Constants that the accelerators compute with: twiddle tables, Barrett constants, Montgomery form.

Multipliers reach the machine canonical (Barrett) or in Montgomery form, b*R mod q with R = 2^(18*ceil(W/18)); the
residues they are multiplied with are canonical in both.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ringforge._native import kernels
from ringforge.errors import ParameterError
from ringforge.hw.vector.config import MONTGOMERY_WORD, VectorConfig

Words = npt.NDArray[np.uint64]


def multiplier_constant(config: VectorConfig, prime: int) -> int:
    """The constant that MODULUS takes beside a prime: floor(2^(2W) / q') for Barrett, 0 for Montgomery.

    Raises:
        ParameterError: the prime does not fit the machine.
    """
    shift = config.shift(prime.bit_length())
    if config.montgomery:
        if prime % (1 << MONTGOMERY_WORD) != 1:
            raise ParameterError(
                f"machine {config.name} has word-wise Montgomery multipliers, which need primes = 1 mod "
                f"2^{MONTGOMERY_WORD}; {prime} is not"
            )
        return 0
    return (1 << 2 * config.word_bits) // (prime << shift)


def scalar(config: VectorConfig, value: int, prime: int) -> int:
    """An immediate multiplier in the machine's form."""
    return (value << config.montgomery_bits if config.montgomery else value) % prime


def multiplier(config: VectorConfig, words: npt.ArrayLike, prime: int) -> Words:
    """A polynomial of multipliers in the machine's form; canonical input."""
    array = np.ascontiguousarray(words, np.uint64)
    if not config.montgomery:
        return array
    out: Words = kernels.mul_scalar(kernels.active(), array, (1 << config.montgomery_bits) % prime, prime)
    return out


def _reversed_bits(log_n: int) -> npt.NDArray[np.int64]:
    index = np.zeros(1, np.int64)
    for _ in range(log_n):
        index = np.concatenate([2 * index, 2 * index + 1])
    return index


@lru_cache(maxsize=64)
def canonical_twiddles(prime: int, log_n: int) -> Words:
    """`twiddles`, canonical.

    Raises:
        ParameterError: the prime is not 1 mod 2N.
    """
    if (prime - 1) % (2 << log_n):
        raise ParameterError(f"{prime} has no transform of degree 2^{log_n}: it is not 1 mod 2^{log_n + 1}")
    root = int(kernels.psi(prime, log_n))
    # Powers in natural order by doubling: the upper half is the lower half times psi^(length).
    powers = np.ones(1 << log_n, np.uint64)
    length = 1
    while length < powers.size:
        lower = np.zeros(max(length, 16), np.uint64)
        lower[:length] = powers[:length]
        upper = kernels.mul_scalar("ref", lower, pow(root, length, prime), prime)
        powers[length : 2 * length] = upper[:length]
        length *= 2
    table = powers[_reversed_bits(log_n)]
    table.setflags(write=False)
    return table


def twiddles(config: VectorConfig, prime: int, log_n: int) -> Words:
    """The table of a prime's transforms: entry m + i is psi^brv(m + i), brv on log_n bits; entry 0 is unused.

    Raises:
        ParameterError: the prime is not 1 mod 2N.
    """
    return multiplier(config, canonical_twiddles(prime, log_n), prime)
