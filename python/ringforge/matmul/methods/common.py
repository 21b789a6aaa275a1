# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What the methods share: maps as transforms and as shifts, transposition, shape checks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ringforge.errors import ShapeError
from ringforge.matmul.layout import Layout
from ringforge.matmul.methods.maps import Map
from ringforge.matmul.plan import ProductPlan, Shift, Term, Transform
from ringforge.matmul.slots import SlotMatrix


def check_shape(m: int, l: int, n: int, slots: int, needed: int, why: str) -> None:  # noqa: E741
    """Refuses empty matrices, and shapes that take more slots than there are.

    Raises:
        ShapeError.
    """
    if min(m, l, n) < 1:
        raise ShapeError(f"a product of {m} x {l} by {l} x {n} has an empty side: each must be at least 1")
    if slots < 1 or slots & (slots - 1):
        raise ShapeError(f"a ciphertext has a power of two of slots, not {slots}")
    if needed > slots:
        raise ShapeError(
            f"a product of {m} x {l} by {l} x {n} takes {needed} slots ({why}), a ciphertext has {slots}: choose "
            f"parameters with N of at least {2 << (needed - 1).bit_length()}, or cut the matrices into blocks"
        )


def scatter(slots: int, targets: Map, sources: Map) -> Map:
    """A source for each slot, (slots,): sources[t] at targets[t], -1 elsewhere."""
    out = np.full(slots, -1, dtype=np.int64)
    out[targets] = sources
    return out


def map_transform(slots: int, source: Map, generators: tuple[tuple[int, int], ...] = ()) -> Transform:
    """The transform that copies source[t] to slot t; -1, and slots beyond the array, become zero."""
    full = np.full(slots, -1, dtype=np.int64)
    full[: len(source)] = source
    return Transform(SlotMatrix.from_map(slots, full), generators)


def map_shift(slots: int, source: Map, base: int = 0) -> Shift:
    """The same map as a sum of masked rotations of a base, one for each diagonal modulo slots, ascending."""
    t = np.flatnonzero(source >= 0)
    z = (source[t] - t) % slots
    return tuple(Term(base, int(step), t[z == step].astype(np.uint32)) for step in np.unique(z))


def transposed(plan: ProductPlan) -> ProductPlan:
    """The plan of C = A B made from one of C^T = B^T A^T: layouts transposed, operands exchanged."""

    def flip(x: Layout) -> Layout:
        return Layout(x.cols, x.rows, x.col_stride, x.row_stride)

    inner = plan.pair

    def pair(k: int) -> tuple[Shift, Shift]:
        first, second = inner(k)
        return second, first

    return replace(
        plan,
        m=plan.n,
        n=plan.m,
        left_layout=flip(plan.right_layout),
        right_layout=flip(plan.left_layout),
        out_layout=flip(plan.out_layout),
        left=plan.right,
        right=plan.left,
        pair=pair,
    )
