# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Rectangular products by Jiang, Kim, Lauter and Song (CCS 2018), which the FAME paper calls E2DM-R.

For A' of d' x d and B of d x d with d' dividing d: A' is repeated d / d' times down to d x d, sigma, tau, phi^k and
psi^k are those of :mod:`.e2dm_s`, but only k < d' are needed; then the d / d' bands of d' rows are added up:

    A' B = sum over bands of ( sum over k < d' of phi^k(sigma(A repeated)) * psi^k(tau(B)) ).

A d x d times d x d' product is computed as the transposed one, matrices column-major. Published counts: d'
products, about 3 d' rotations for them, log2(d / d') rotations for the bands, depth 3.

Deviations, all reconstructed: repeating is part of the map sigma, which has 2 d - 1 diagonals with or without it.
Other shapes are padded: d' = min(m, n) and d is the least multiple of d' with room for the other sides; where that
does not fit the slots, d' = d = max(m, l, n), which is the square method. If
d / d' is no power of two, the bands are added by one more transform of d / d' diagonals, which takes a level.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ringforge.matmul.layout import Layout
from ringforge.matmul.methods.common import check_shape, map_transform, transposed
from ringforge.matmul.methods.e2dm_s import column_shift, grid, row_shift
from ringforge.matmul.plan import Group, Operand, ProductPlan, Shift, Transform
from ringforge.matmul.slots import SlotMatrix


def plan(m: int, l: int, n: int, slots: int) -> ProductPlan:  # noqa: E741
    """Plan for A (m x l) times B (l x n).

    Raises:
        ShapeError: the padded matrices do not fit.
    """
    if n < m:
        return transposed(plan(n, l, m, slots))
    height = m
    d = -(-max(l, n) // m) * m if m else 0
    if d * d > slots:
        height = d = max(m, l, n)
    check_shape(m, l, n, slots, d * d, f"padded to {height} x {d} by {d} x {d}")
    bands = d // height
    i, j = grid(d)
    power = bands & (bands - 1) == 0
    return ProductPlan(
        method="e2dm-r",
        m=m,
        l=l,
        n=n,
        slots=slots,
        left_layout=Layout(m, l, d, 1),
        right_layout=Layout(l, n, d, 1),
        out_layout=Layout(m, n, d, 1),
        left=Operand((map_transform(slots, i % height * d + (i + j) % d, _generators(height, d)),), ((),)),
        right=Operand((map_transform(slots, (i + j) % d * d + j, ((d, d), (-d * d, 2))),), ((),)),
        groups=(Group(0, tuple(range(height))),),
        pair=partial(_pair, d, slots),
        lazy=False,
        folds=tuple(height * d << b for b in range(bands.bit_length() - 1)) if power else (),
        tail=None if power else add_bands(slots, height * d, bands, height * d),
        note=f"padded to {height} x {d} by {d} x {d}; "
        + (
            "slots outside of the result are zero"
            if bands == 1 or not power
            else "later bands hold sums of some of the bands: not zero, not copies"
        ),
    )


def add_bands(slots: int, width: int, bands: int, step: int) -> Transform:
    """The transform that adds `bands` stretches of slots, `step` apart, into the first `width` slots."""
    t = np.tile(np.arange(width, dtype=np.int64), bands)
    s = t + np.repeat(np.arange(bands, dtype=np.int64) * step, width)
    return Transform(SlotMatrix(slots, t, s, np.ones(len(t))), ((step, bands),))


def _generators(m: int, d: int) -> tuple[tuple[int, int], ...]:
    """Row i of the square comes from row i mod m: i + (i mod m - i) d, less d where the column wraps."""
    return ((1, m), (m - m * d, d // m), (-d, 2))


def _pair(d: int, slots: int, k: int) -> tuple[Shift, Shift]:
    return column_shift(d, slots, k), row_shift(d, slots, k)
