# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Asymmetric and symmetric pipelines by their structure: what each has, and how often it takes an RLWE (Section 4.4).

A symmetric pipeline has an inverse transform for dc forward ones of the same kind, and a multiplier by rows of keys
behind each. The asymmetric one has a stage for each of the log2 N passes of one forward transform, one multiplier by
rows, and so many inverse transforms that they keep up. Both have two butterflies a transform or stage.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from .cycles import DRAIN
from .figures import BUTTERFLIES, ROW_MULTIPLIERS


@dataclass(frozen=True, slots=True)
class Size:
    """What a pipeline is made for: N = 2^log_n, dc digits of a polynomial, words of W bits."""

    log_n: int
    digits: int
    word_bits: int


@dataclass(frozen=True, slots=True)
class Structure:
    """What a pipeline has.

    Attributes:
        inverses: inverse transforms.
        butterflies: of all transforms.
        row_modules, multipliers: multipliers of a polynomial by a row, and modular multipliers in them.
        twiddles: words of tables of the forward transforms.
        buffers: polynomials that the forward transforms hold.
        interval: cycles between two products.
        word_bits: W.
    """

    inverses: float
    butterflies: float
    row_modules: float
    multipliers: float
    twiddles: float
    buffers: float
    interval: float
    word_bits: int

    def times(self, copies: float) -> Structure:
        """So many of them beside each other."""
        return Structure(
            copies * self.inverses,
            copies * self.butterflies,
            copies * self.row_modules,
            copies * self.multipliers,
            copies * self.twiddles,
            copies * self.buffers,
            self.interval / copies,
            self.word_bits,
        )

    def memory_bits(self, log_n: int) -> float:
        """Bits of tables and buffers of the forward transforms."""
        return (self.twiddles + self.buffers * (1 << log_n)) * self.word_bits


def asymmetric(size: Size, *, buffers: int = 1, drain: int = DRAIN) -> Structure:
    """The pipeline with a stage for each pass.

    Args:
        buffers: polynomials behind a stage: 1 as the text counts, 2 where one is written while the other is read, as
            in the authors' repository and in our RTL.
        drain: cycles that a stage waits between polynomials.
    """
    n, stages = 1 << size.log_n, size.log_n
    inverses = math.ceil(stages / size.digits)
    return Structure(
        inverses=inverses,
        butterflies=BUTTERFLIES * (inverses + stages),
        row_modules=1,
        multipliers=ROW_MULTIPLIERS,
        twiddles=n,
        buffers=buffers * stages,
        interval=2 * size.digits * (n // 4 + drain),
        word_bits=size.word_bits,
    )


def symmetric(size: Size) -> Structure:
    """One pipeline of transforms that are not pipelined: a polynomial each log2 N * N/4 cycles."""
    n = 1 << size.log_n
    return Structure(
        inverses=1,
        butterflies=BUTTERFLIES * (1 + size.digits),
        row_modules=size.digits,
        multipliers=ROW_MULTIPLIERS * size.digits,
        twiddles=n * size.digits,
        buffers=2 * size.digits,
        interval=2 * size.log_n * n // 4,
        word_bits=size.word_bits,
    )


def copies(size: Size) -> float:
    """Symmetric pipelines with the throughput of the asymmetric one, as the text counts: log2 N / dc."""
    return size.log_n / size.digits
