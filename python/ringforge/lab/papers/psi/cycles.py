# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A cycle model of the accelerator: one initiation interval for every digit polynomial that a product transforms.

The pipelined transform takes N/4 + 13 cycles a polynomial (two butterflies in each of its log2 N stages, and their
drain). Beside it the unit that loads keys takes N/256 bursts of 64 beats with a cycle to check each, and one idle
cycle, for each RLWE element of a key. One constant is fitted to Table 2: memory makes loading 2.55 % slower.
"""

from __future__ import annotations

from .figures import CLOCK_HZ, PSI_DEGREE, PSI_DIGITS, STREAMING_US, GateRow

#: Share by which the card's memory is slower than one beat a cycle; fitted.
MEMORY_OVERHEAD = 0.0255
#: Cycles that a butterfly's pipeline takes to drain.
DRAIN = 13


def stage_cycles(degree: int) -> int:
    """Cycles between two polynomials in the pipelined transform (the paper's OSL)."""
    return degree // 4 + DRAIN


def load_cycles(degree: int) -> float:
    """Cycles between two key elements, memory's overhead included."""
    return (1 + MEMORY_OVERHEAD) * (65 * degree / 256 + 1)


def interval(degree: int) -> float:
    """Cycles between two digit polynomials of an accumulation: transform or key, whichever is slower."""
    return max(stage_cycles(degree), load_cycles(degree))


def gate_us(row: GateRow) -> float:
    """Time of one accumulation, amortised over those in flight: n·d_r·2dc intervals."""
    return row.products * 2 * row.digits * interval(row.degree) / CLOCK_HZ * 1e6


def substitution_bound_us() -> float:
    """Time between two substitutions when nothing but the transform limits: dc digits of a, and b passing through."""
    return (PSI_DIGITS + 1) * stage_cycles(PSI_DEGREE) / CLOCK_HZ * 1e6


def product_bound_us() -> float:
    """The same of external products: the digits of both polynomials."""
    return 2 * PSI_DIGITS * stage_cycles(PSI_DEGREE) / CLOCK_HZ * 1e6


def product_latency_us() -> float:
    """One external product alone, without streaming: inverse transform, 11 stages, the digits behind the first."""
    log_n = PSI_DEGREE.bit_length() - 1
    inverse = (log_n + 1) * PSI_DEGREE // 2 + 30
    multiply_and_store = 1043
    digits = (2 * PSI_DIGITS - 1) * interval(PSI_DEGREE)
    return (inverse + log_n * stage_cycles(PSI_DEGREE) + digits + multiply_and_store) / CLOCK_HZ * 1e6


def ideal_us(latency_us: float, in_flight: int) -> float:
    """What the text computes: the latency without streaming, divided by the inputs in flight."""
    return (latency_us - STREAMING_US) / in_flight
