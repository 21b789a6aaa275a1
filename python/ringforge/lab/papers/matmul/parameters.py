# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What FAME, the published accelerator for products of two encrypted matrices, prints: literals only.

Tables II (:data:`SETS`) and III (:data:`BENCHMARKS`) and the figures in its text (:data:`CLAIMS`); tables IV
(:data:`CONFIGS`) and V (:data:`RESOURCES`) and the card of its evaluation (:data:`U280`) stand beside our machine, in
:mod:`ringforge.hw.machines.matmul.published`. Table I is a formula: see
:func:`ringforge.lab.papers.matmul.counts.table_i`. The card's memory bandwidth and capacity and its count of memory
blocks are those of its data sheet, not of the paper.

MB and GB are powers of ten, MiB and GiB powers of two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from ringforge.errors import ParameterError, ShapeError
from ringforge.hw.machines.matmul.published import (
    CONFIGS,
    DSP_PER_LANE,
    RESOURCES,
    U280,
    Card,
    Config,
    Resources,
)

__all__ = [
    "BENCHMARKS",
    "CLAIMS",
    "CONFIGS",
    "DSP_PER_LANE",
    "HOST_BYTES_PER_SECOND",
    "INSECURE_REASON",
    "OUR_SETS",
    "RESOURCES",
    "SETS",
    "U280",
    "WORD_BITS",
    "Benchmark",
    "Card",
    "Claims",
    "Config",
    "ParameterSet",
    "Resources",
    "Shape",
    "benchmark",
]

WORD_BITS: Final = 54
"""Bits of a residue in the accelerator."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A product of an m x l and an l x n matrix.

    Raises:
        ShapeError: a dimension below 1.
    """

    m: int
    l: int  # noqa: E741 - the paper's letter
    n: int

    def __post_init__(self) -> None:
        if min(self.m, self.l, self.n) < 1:
            raise ShapeError(f"the shape is {self}; every dimension must be at least 1")

    def __str__(self) -> str:
        return f"{self.m}-{self.l}-{self.n}"

    @property
    def largest(self) -> int:
        """Entries of the largest of A, B and A·B: the slots that a ciphertext must have."""
        return max(self.m * self.l, self.l * self.n, self.m * self.n)


@dataclass(frozen=True, slots=True)
class ParameterSet:
    """One row of Table II.

    Attributes:
        name: "A", "B" or "C".
        degree: ring degree N.
        log_q: bits of Q, the product of the ciphertext's primes.
        levels: L; a fresh ciphertext has L + 1 limbs.
        special: k, number of special primes, as printed.
        digits: beta, number of digits of the key switch, as printed.
        security: claimed security in bits.
    """

    name: str
    degree: int
    log_q: int
    levels: int
    special: int
    digits: int
    security: int

    @property
    def slots(self) -> int:
        """N / 2."""
        return self.degree // 2

    @property
    def limbs(self) -> int:
        """Limbs of a fresh ciphertext, L + 1."""
        return self.levels + 1

    @property
    def extended_limbs(self) -> int:
        """Limbs modulo P·Q, L + k + 1."""
        return self.levels + self.special + 1

    @property
    def limbs_per_digit(self) -> int:
        """alpha, limbs of the largest digit, rounded up."""
        return -(-self.limbs // self.digits)

    @property
    def prime_bits(self) -> float:
        """Mean bits of a prime of Q."""
        return self.log_q / self.limbs

    @property
    def log_qp(self) -> float:
        """Bits of P·Q, with special primes of the mean size."""
        return self.prime_bits * self.extended_limbs

    @property
    def digit_bits(self) -> float:
        """Bits of the largest digit; P needs as many."""
        return self.prime_bits * self.limbs_per_digit


SETS: Final[Mapping[str, ParameterSet]] = MappingProxyType(
    {
        "A": ParameterSet("A", 1 << 13, 218, 4, 1, 1, 80),
        "B": ParameterSet("B", 1 << 15, 855, 15, 8, 2, 128),
        "C": ParameterSet("C", 1 << 16, 1693, 31, 12, 3, 128),
    }
)
"""Table II."""

OUR_SETS: Final = ("matmul-a", "matmul-b", "matmul-c", "matmul-a-128", "matmul-b-128", "matmul-c-128")
"""Named sets of :mod:`ringforge.params` that stand for Sets A to C: as published, then with 128 bits of security."""

INSECURE_REASON: Final = "the published parameters, for comparison with the paper"
"""Why sets below 128 bits are opened here."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One entry of Table III. `kind`: "I" (n least), "II" (l least), "III" (m least), "IV" (square)."""

    kind: str
    set_name: str
    shape: Shape

    @property
    def name(self) -> str:
        """Such as "IV-C"."""
        return f"{self.kind}-{self.set_name}"

    @property
    def parameters(self) -> ParameterSet:
        """The row of Table II."""
        return SETS[self.set_name]


_SIDES: Final = {"A": 64, "B": 128, "C": 160}

BENCHMARKS: Final[tuple[Benchmark, ...]] = tuple(
    Benchmark(kind, name, Shape(*(_SIDES[name] if long else 16 for long in sides)))
    for kind, sides in (("I", (1, 1, 0)), ("II", (1, 0, 1)), ("III", (0, 1, 1)), ("IV", (1, 1, 1)))
    for name in "ABC"
)
"""Table III, type by type."""


def benchmark(name: str) -> Benchmark:
    """A benchmark by name, such as "IV-C".

    Raises:
        ParameterError: an unknown name; the message lists the known ones.
    """
    for entry in BENCHMARKS:
        if entry.name == name:
            return entry
    known = ", ".join(entry.name for entry in BENCHMARKS)
    raise ParameterError(f'no benchmark "{name}" in Table III; known: {known}')


HOST_BYTES_PER_SECOND: Final = 16 * 8e9 * 128 / 130 / 8
"""From the host to the card: 16 lanes of PCI Express 3.0, 8 GT/s, 128 bits in 130 (data sheet), without protocol."""


@dataclass(frozen=True, slots=True)
class Claims:
    """Figures in the paper's text. Megabytes are as printed, powers of two or ten unknown."""

    ciphertext_mb: Mapping[str, float]
    product_mb: Mapping[str, float]
    hoisted_mb_c: float
    rotations_64: int
    mean_speedup: float
    best_speedup: float
    seconds_160: float
    traffic_mb_per_transform: float
    depth: int
    least_levels: int


CLAIMS: Final = Claims(
    ciphertext_mb=MappingProxyType({"A": 0.43, "B": 6.7, "C": 27.0}),
    product_mb=MappingProxyType({"A": 3.6, "B": 61.0, "C": 255.0}),
    hoisted_mb_c=29.0,
    rotations_64=127,
    mean_speedup=221.0,
    best_speedup=1337.0,
    seconds_160=3.0,
    traffic_mb_per_transform=100.0,
    depth=3,
    least_levels=4,
)
"""Sections III-B, IV, VI-B."""
