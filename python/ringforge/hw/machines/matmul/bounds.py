# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Rows that an element's ALUs must process at least, and those that a program asks for.

A multiply-accumulate is R = N/lanes rows, a transform log2 N times as many. The machine processes a row a cycle, so
these are cycles when nothing ever waits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ringforge.hw.machines.matmul.convert import conversion_count
from ringforge.hw.vector.isa import Opcode, Words, field_table
from ringforge.hw.vector.target import Target


@dataclass(frozen=True)
class Bounds:
    """Rows of a linear transform, memory-optimised.

    Attributes:
        rotation: of each rotation: (L + k + 1)(2 beta + 2) R.
        transforms: of the hoisted part's transforms.
        conversions: of its conversions between bases.
        others: P times the first part, and the subtraction that ends the division.
        unrotated: of step 0, if there is one.
    """

    rotation: int
    transforms: int
    conversions: int
    others: int
    unrotated: int

    @property
    def hoisted(self) -> int:
        """Rows that do not depend on the number of rotations."""
        return self.transforms + self.conversions + self.others

    def total(self, rotations: int, unrotated: bool = False) -> int:
        """Rows of a transform with so many rotations, and step 0."""
        return rotations * self.rotation + self.hoisted + (self.unrotated if unrotated else 0)


def bounds(target: Target, limbs: int) -> Bounds:
    """Of a linear transform of a ciphertext of `limbs` limbs that is divided by P and its last prime at once.

    Transforms: L + 1 inverse ones of the input, one of each digit modulo each prime that is not its own, k + 1 inverse
    and L others of each part of the sums.
    """
    rows, log_n = target.config.rows(target.log_n), target.log_n
    groups, specials = target.digits(limbs), target.special_count
    digits, extended, kept, gone = len(groups), limbs + specials, limbs - 1, specials + 1
    raised = sum(extended - len(g) for g in groups)
    converted = sum(conversion_count(len(g), extended - len(g)) for g in groups) + 2 * conversion_count(gone, kept)
    return Bounds(
        rotation=extended * (2 * digits + 2) * rows,
        transforms=(limbs + raised + 2 * gone + 2 * kept) * log_n * rows,
        conversions=converted * rows,
        others=(limbs + 2 * kept) * rows,
        unrotated=3 * limbs * rows,
    )


def alu_rows(target: Target, program: Words) -> int:
    """Rows that a program's instructions ask for."""
    field = field_table()["op"]
    ops = program[:, field.word] >> np.uint64(field.lsb) & np.uint64((1 << field.width) - 1)
    pair = field_table()["pair"]
    paired = program[:, pair.word] >> np.uint64(pair.lsb) & np.uint64(1)
    is_transform = np.isin(ops, [int(Opcode.NTT), int(Opcode.INTT)])
    transforms = int(is_transform.sum()) + int((is_transform & (paired == 1)).sum())
    macs = int((ops == int(Opcode.MAC)).sum())
    return (macs + transforms * target.log_n) * target.config.rows(target.log_n)
