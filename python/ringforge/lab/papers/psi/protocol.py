# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Operations of the paper's PSI, a model of its times with two constants, and bounds in place of its Table 5."""

from __future__ import annotations

from dataclasses import dataclass

from .cycles import product_bound_us, substitution_bound_us
from .figures import PRODUCT, PSI_DEGREE, PSI_DIGITS, SOFTWARE_FACTOR, STREAMING_US, SUBSTITUTION, PsiRow

#: Microseconds for each digit of each bit of each element: expansion, reconstruction, upload of RGSW ciphertexts and
#: software; and for each product of the lookup with its software. Both fitted to Table 4.
DIGIT_US, LOOKUP_US = 625.8, 236.6

_LOG_N = PSI_DEGREE.bit_length() - 1


@dataclass(frozen=True, slots=True)
class Operations:
    """Counts of one query: substitutions of the expansion, products of the reconstruction and of the lookup."""

    substitutions: float
    reconstruction: int
    lookup: int

    @property
    def products(self) -> int:
        """External products."""
        return self.reconstruction + self.lookup

    def seconds(self, substitution_us: float, product_us: float) -> float:
        """Time at these prices."""
        return (self.substitutions * substitution_us + self.products * product_us) / 1e6


def operations(row: PsiRow, whole: bool = False) -> Operations:
    """Counts of a row of Table 4.

    Args:
        row: the row.
        whole: charge whole ciphertexts; the paper charges half a one for 2^10 bins, which fill half its slots.
    """
    bins, digits = 1 << row.log_bins, row.cell_bits * PSI_DIGITS
    filled = bins / PSI_DEGREE
    ciphertexts = float(max(1, round(filled))) if whole else filled
    lookup = (1 << (row.cell_bits - _LOG_N)) - 1 + _LOG_N
    return Operations(ciphertexts * digits * (PSI_DEGREE - 1), bins * digits, bins * lookup)


def model_seconds(row: PsiRow) -> float:
    """T = 2^k·(w·dc·625.8 us + (2^(w-11) + 10)·236.6 us); within 0.6 % of all nine rows."""
    digits, lookup = row.cell_bits * PSI_DIGITS, (1 << (row.cell_bits - _LOG_N)) - 1 + _LOG_N
    return (1 << row.log_bins) * (digits * DIGIT_US + lookup * LOOKUP_US) / 1e6


def table3_seconds(row: PsiRow) -> float:
    """All operations at Table 3's 105 us: the share of the time that the accelerator's operations take."""
    return operations(row).seconds(SUBSTITUTION.accelerator_us, PRODUCT.accelerator_us)


def chain_bound(row: PsiRow) -> float:
    """No streaming, no upload, no software: the compute chain alone, by its own initiation interval."""
    return operations(row).seconds(substitution_bound_us(), product_bound_us())


def breakdown(row: PsiRow) -> tuple[float, float, float, float]:
    """Seconds of Figure 10's parts: operations at Table 3's times; RGSW ciphertexts, a column of two RLWEs for each
    digit, as fast as the text says that two RLWEs are streamed; software is what remains of Table 4."""
    counts = operations(row)
    substitutions = counts.substitutions * SUBSTITUTION.accelerator_us / 1e6
    products = counts.products * PRODUCT.accelerator_us / 1e6
    transfer = counts.reconstruction * STREAMING_US / 1e6
    return substitutions, products, transfer, row.seconds - substitutions - products - transfer


def sixth(row: PsiRow) -> int:
    """How Table 5 is made: the time of Table 4 divided by six, rounded down."""
    return row.seconds // SOFTWARE_FACTOR


def table_reduction(cell_bits: int = 18, element_bits: int = 32) -> float:
    """How many fewer CMUXes hashing and packing leave of a full tree over all elements."""
    return float((2**element_bits - 1) / ((1 << (cell_bits - _LOG_N)) - 1 + _LOG_N))


def request_reduction(cell_bits: int = 18) -> float:
    """RLWE ciphertexts of whole RGSWs for one element, over those of the packed array for one of N elements."""
    return 2 * PSI_DIGITS * cell_bits / (PSI_DIGITS * cell_bits / PSI_DEGREE)
