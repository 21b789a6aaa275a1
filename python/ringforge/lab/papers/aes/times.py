# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Milliseconds and bytes of section 5 from their parts, and the account of AES of section 6."""

from __future__ import annotations

from dataclasses import dataclass

from . import cycles
from .figures import (
    CRT_MS,
    DEGREE,
    DEPTH,
    INNER_CYCLES,
    LOG_Q,
    MULTIPLY_CIPHERTEXTS,
    MULTIPLY_MS,
    PCIE_GBIT,
    PCIE_LANES,
    PRIMES,
    PRODUCT_CYCLES,
    PRODUCTS,
    REDUCTION_MS,
    RELINEARISATIONS,
    RELINEARISE_IO_MS,
    RELINEARISE_MS,
    RELINEARISE_NTT_MS,
    ROUNDS,
    SLOTS,
    SWITCH_MS,
    SWITCHES,
    WINDOW_BITS,
    WINDOWS,
    WORD_BITS,
)

PRIME_BITS = LOG_Q // PRIMES
#: Bytes a millisecond.
PCIE_BYTES = PCIE_LANES * PCIE_GBIT * 1e9 / 8 / 1e3
CIPHERTEXT = DEGREE * LOG_Q / 8
#: An evaluation key in the transform domain: twice the points, a word for each and each prime.
TRANSFORMED_KEY = cycles.POINTS * PRIMES * WORD_BITS // 8
TRANSFORM_MS = cycles.microseconds(PRODUCT_CYCLES) / 1e3


def transfer_ms(size: float) -> float:
    return size / PCIE_BYTES


def multiply_io_ms() -> float:
    """Two ciphertexts and twiddle factors in, a product of twice the size out."""
    return MULTIPLY_CIPHERTEXTS * transfer_ms(CIPHERTEXT)


def multiply_compute_ms() -> float:
    """Three transforms for each prime; inner product and scaling are not in the paper's number."""
    return PRIMES * cycles.TRANSFORMS * TRANSFORM_MS


def multiply_ms() -> float:
    return multiply_compute_ms() + multiply_io_ms()


def full_multiply_ms() -> float:
    """The same with inner product and scaling."""
    return PRIMES * cycles.microseconds(cycles.product_cycles()) / 1e3 + multiply_io_ms()


def relinearise_ntt_ms() -> float:
    """Two transforms for each window and prime: "for one operand and the result"."""
    return 2 * WINDOWS * PRIMES * TRANSFORM_MS


def accumulated_ntt_ms() -> float:
    """A transform for each window and one back, as the paper's Algorithm 2 has it: sums in the transform domain."""
    return (WINDOWS + 1) * PRIMES * TRANSFORM_MS


def inner_ms() -> float:
    """Products with the keys, for each window and prime."""
    return WINDOWS * PRIMES * cycles.microseconds(INNER_CYCLES) / 1e3


def key_io_ms() -> float:
    """All evaluation keys of the top level as they are kept, in the transform domain."""
    return WINDOWS * transfer_ms(TRANSFORMED_KEY)


def printed_sum_ms() -> int:
    """What the printed parts of a relinearisation add up to."""
    return CRT_MS + RELINEARISE_NTT_MS + RELINEARISE_IO_MS


def fitting_io_ms() -> float:
    """Transfers that fit the printed total: keys of twice a ciphertext's size, the ciphertext, twiddle factors."""
    return (2 * WINDOWS + 2) * transfer_ms(CIPHERTEXT)


def accumulated_ms() -> float:
    """A relinearisation with sums in the transform domain and the keys' true size."""
    return CRT_MS + accumulated_ntt_ms() + key_io_ms() + inner_ms()


def windows(primes: int) -> int:
    """Windows of a modulus of so many primes."""
    return -(-primes * PRIME_BITS // WINDOW_BITS)


def key_bytes(primes: int) -> int:
    """All keys of a relinearisation modulo so many primes, in the transform domain."""
    return windows(primes) * cycles.POINTS * primes * WORD_BITS // 8


def all_key_bytes() -> int:
    """Those of all levels, from all primes down."""
    return sum(key_bytes(PRIMES - level) for level in range(DEPTH))


# ---- AES -----------------------------------------------------------------------------------------

#: Round keys of AES-128, bits of one, and levels from one round to the next.
ROUND_KEYS = ROUNDS + 1
STATE_BITS = 128
ROUND_LEVELS = DEPTH // ROUNDS


def word_bytes(primes: int) -> int:
    """A ciphertext as words of 32 bits, one for each prime."""
    return DEGREE * primes * WORD_BITS // 8


def round_key_bytes(leveled: bool) -> int:
    """All encrypted round keys, a ciphertext for each bit: at the top level, or at the levels where they are used."""
    return sum(STATE_BITS * word_bytes(PRIMES - (ROUND_LEVELS * i if leveled else 0)) for i in range(ROUND_KEYS))


@dataclass(frozen=True, slots=True)
class Account:
    """AES at given times of a relinearisation and a product, halved for operands that shrink, as the paper does.

    Attributes:
        name: what they are.
        relinearise, multiply: milliseconds.
    """

    name: str
    relinearise: float
    multiply: float

    @property
    def seconds(self) -> float:
        total = RELINEARISATIONS * self.relinearise + PRODUCTS * self.multiply + SWITCHES * SWITCH_MS
        return total / 2 / 1e3

    @property
    def block_ms(self) -> float:
        return self.seconds * 1e3 / SLOTS


def accounts() -> tuple[Account, ...]:
    """From the paper's own times of primitives."""
    reduced = MULTIPLY_MS + REDUCTION_MS
    return (
        Account("as printed", RELINEARISE_MS, MULTIPLY_MS),
        Account("products reduced modulo Phi", RELINEARISE_MS, reduced),
        Account("relinearisation as its parts", printed_sum_ms(), MULTIPLY_MS),
        Account("both", printed_sum_ms(), reduced),
        Account("sums in the transform domain, reduced", accumulated_ms(), reduced),
    )
