# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Counts of Algorithm 1, its times on a CPU from those of operations, and the latency model of Equations 3 to 6."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .figures import (
    BABIES,
    CCADD,
    CLUES,
    DEGREE,
    DESIGNS,
    GIANTS,
    LOG_PQ,
    LOG_PRIME,
    LOG_Q,
    PCMUL,
    ROT,
    SIGNAL_DEGREE,
    Design,
)

LIMBS, SPECIAL = LOG_Q // LOG_PRIME, (LOG_PQ - LOG_Q) // LOG_PRIME
#: Of a rotation key: digits of ten limbs.
DIGITS = 2


@dataclass(frozen=True, slots=True)
class Counts:
    """Operations on ciphertexts."""

    multiply: int
    rotate: int
    add: int

    def seconds(self, multiply_ms: float, rotate_ms: float, add_ms: float) -> tuple[float, float, float]:
        """Of each kind, from milliseconds of one operation."""
        return self.multiply * multiply_ms / 1e3, self.rotate * rotate_ms / 1e3, self.add * add_ms / 1e3


def matmul(diagonals: int = SIGNAL_DEGREE, babies: int = BABIES) -> Counts:
    """Algorithm 1: baby rotations, a product a diagonal, giant rotations; all products but the first are added."""
    giants = math.ceil(diagonals / babies)
    return Counts(diagonals, babies - 1 + giants - 1, diagonals - 1)


def affine(clues: int = CLUES) -> Counts:
    """Algorithm 1 for each clue, the baby rotations shared."""
    one = matmul()
    return Counts(clues * one.multiply, BABIES - 1 + clues * (GIANTS - 1), clues * one.add)


def cpu_seconds(counts: Counts) -> tuple[float, float, float]:
    """Seconds of products, rotations and sums by the times that Table IV implies."""
    return counts.seconds(PCMUL.cpu_ms, ROT.cpu_ms, CCADD.cpu_ms)


def balanced_babies(diagonals: int = SIGNAL_DEGREE, outputs: int = CLUES) -> int:
    """The baby steps that cost least when all outputs share them: sqrt(diagonals * outputs), rounded up."""
    return math.ceil(math.sqrt(diagonals * outputs))


# ---- Equations 3 to 6 ----------------------------------------------------------------------------


def iteration_ms(multiply: float, rotate: float, add: float, babies: int = BABIES, cores: int = 1) -> float:
    """Equations 3 and 5: a giant step's products, `cores` at a time, beside its rotation; then the sum."""
    return max(babies * multiply / cores, rotate) + add


def matmul_ms(multiply: float, rotate: float, add: float, cores: int = 1) -> float:
    """Equations 4 and 6: baby rotations one after the other, then the giant steps."""
    return (BABIES - 1) * rotate + GIANTS * iteration_ms(multiply, rotate, add, BABIES, cores)


def design_ms(design: Design) -> tuple[float, float, float]:
    """PCmul, Rot and CCadd of a row of Table III, from Table IV: element-wise ones scale with their lanes."""
    best = DESIGNS[0]
    return (
        PCMUL.milliseconds * best.multiply / design.multiply,
        ROT.milliseconds,
        CCADD.milliseconds * best.add / design.add,
    )


def design_matmul_ms(design: Design) -> float:
    """A MatMul by Equation 6."""
    multiply, rotate, add = design_ms(design)
    return matmul_ms(multiply, rotate, add, design.cores)


def affine_ms(design: Design = DESIGNS[0]) -> float:
    """Both MatMuls on the accelerator with shared baby rotations; the paper does not share them."""
    multiply, rotate, add = design_ms(design)
    return (BABIES - 1) * rotate + CLUES * GIANTS * iteration_ms(multiply, rotate, add, BABIES, design.cores)


def elementwise_cycles(lanes: int = 16) -> int:
    """Cycles of a pass over both parts of a ciphertext."""
    return 2 * LIMBS * DEGREE // lanes


def least_clock_hz() -> float:
    """The clock at which such a pass takes what Table IV says of PCmul and CCadd; the paper states none."""
    return elementwise_cycles() / (PCMUL.milliseconds * 1e-3)


#: What the design assumes, and what is left over for starting each limb polynomial.
CLOCK_HZ = 200e6


def rotation_cycles(lanes: int = 16, butterflies: int = 64) -> tuple[int, int]:
    """A key switch of two digits: cycles of transforms, and of what is element-wise."""
    extended = LIMBS + SPECIAL
    sizes = (SPECIAL, LIMBS - SPECIAL)
    transform = DEGREE // 2 * (DEGREE.bit_length() - 1) // butterflies
    back = LIMBS + 2 * SPECIAL
    forward = sum(extended - size for size in sizes) + 2 * LIMBS
    convert = sum(size * (extended - size) for size in sizes) + 2 * SPECIAL * LIMBS
    limb = DEGREE // lanes
    return (back + forward) * transform, (convert + DIGITS * 2 * extended) * limb
