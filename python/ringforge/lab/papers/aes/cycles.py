# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Cycles of the multiplier (section 4): the formulas as printed, and what 64 memories of two ports allow."""

from __future__ import annotations

from .figures import (
    ADDERS,
    BANKS,
    CLOCK_HZ,
    DEGREE,
    FILL,
    INNER_CYCLES,
    LEVEL_CYCLES,
    MULTIPLIER_CYCLES,
    MULTIPLIERS,
    PRODUCT_CYCLES,
    SCALING_CYCLES,
    TAIL,
)

#: Points of a transform: products of polynomials of this degree, without wrapping around.
POINTS = 2 * DEGREE
LEVELS = POINTS.bit_length() - 1
#: Transforms of a product: two forward and one back.
TRANSFORMS = 3


def multiplications(level: int) -> int:
    """M_m = 2^(n+1-m) (2^(m-1) - 1): twiddle factors other than one at level m, 1 to n + 1."""
    return (POINTS >> level) * ((1 << (level - 1)) - 1)


def together(level: int) -> int:
    """Multiplications that the formula starts at a time: whole blocks of a level, as many as K multipliers take."""
    if level > MULTIPLIERS.bit_length() - 1:
        return MULTIPLIERS
    alpha = (MULTIPLIERS >> level) * ((1 << (level - 1)) - 1)
    return alpha * (MULTIPLIERS // alpha)


def formula_cycles(level: int) -> int:
    """CC_m as printed, for 1 < m <= n + 1; its second case is M_m without the minus one, over K."""
    passes = multiplications(level) // together(level)
    if level > MULTIPLIERS.bit_length() - 1:
        beta = (1 << (level - 1)) - MULTIPLIERS
        passes = (beta + MULTIPLIERS) * (POINTS >> level) // MULTIPLIERS
    return FILL + MULTIPLIER_CYCLES * passes + TAIL


def readable(level: int) -> int:
    """Operands that two ports of each memory give while a multiplier takes one.

    Coefficient i is in memory i mod 64. Those with factors at level m have low m bits above 2^(m-1): up to level 6 only
    some of the memories hold any.
    """
    span = 1 << level
    used = BANKS if span > BANKS else BANKS // span * (span // 2 - 1)
    return used * 2 * MULTIPLIER_CYCLES


def port_cycles(level: int) -> int:
    """Cycles of level m when memories have two ports and there are K multipliers."""
    fed = min(readable(level), together(level))
    return FILL + MULTIPLIER_CYCLES * -(-multiplications(level) // fed) + TAIL


def sum_cycles(units: int = ADDERS) -> int:
    """2^(n+1) (n+1) / 2^tau as printed: all sums and differences of a transform, 2^tau adders and subtractors."""
    return POINTS * LEVELS // units


def level_share() -> int:
    """Cycles of a level when the printed number is of one transform."""
    return PRODUCT_CYCLES // LEVELS


def sums_of_level() -> int:
    """What is left of those for sums."""
    return level_share() - LEVEL_CYCLES


def sum_results() -> int:
    """Sums and differences a cycle that this needs, a few cycles of start apart."""
    results = 1
    while POINTS // results > sums_of_level():
        results *= 2
    return results


def transform_cycles(results: int) -> int:
    """A transform with so many sums and differences a cycle: multiplications from level 2 on, and sums of all."""
    return (LEVELS - 1) * LEVEL_CYCLES + LEVELS * POINTS // results


def product_cycles() -> int:
    """Three transforms at the printed number, the inner product and the scaling."""
    return TRANSFORMS * PRODUCT_CYCLES + INNER_CYCLES + SCALING_CYCLES


def access_cycles() -> int:
    """A pass over all points, one read and one write of each, by 64 memories of two ports."""
    return 2 * POINTS // (2 * BANKS)


def microseconds(cycles: float) -> float:
    return cycles / CLOCK_HZ * 1e6
