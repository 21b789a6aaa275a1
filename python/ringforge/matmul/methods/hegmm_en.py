# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""HEGMM-Enhanced: Gao et al., "Secure and efficient general matrix multiplication on cloud using homomorphic
encryption" (arXiv 2405.02238; The Journal of Supercomputing, 2024).

sigma, tau, eps^k and omega^k are those of :mod:`.maps`, with enlarged operands:

* m smallest: A is repeated downwards t = ceil(l / m) times, to R = m t >= l rows, B to as many rows. Block s of m
  rows then meets inner index i + j + m s + k in step k, so k < m is enough; the t blocks are added at the end.
* n smallest: the same, transposed; matrices are row-major.
* l smallest, or the enlarged matrices do not fit: R = max(m, l) rows and k < l. A is padded with zeros, B repeated.

A is repeated to the right if it has fewer than n columns. So omega^k has at most two diagonals, k and k - l, and
eps^k two, k R and (k - l) R. Published counts in the first case: m products, about 4 m rotations; then t - 1
shifts of two rotations each, with masks.

Reconstructed from the abstract, from the FAME paper's account and from what the authors' repository,
ICPP2023/HEGMM, does; there the client repeats and transforms before it encrypts. Deviations: the enlarged sigma and
tau are one transform each under encryption. Where t m > l, the surplus of the last block is left out by the masks of
omega^k instead of by one more mask after the product. The blocks are added by log2 t bare rotations if t is a
power of two, otherwise by a transform of t diagonals, which takes a level as the source's masks do.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ringforge.matmul.layout import Layout
from ringforge.matmul.methods.common import check_shape, map_shift, scatter, transposed
from ringforge.matmul.plan import Group, Operand, ProductPlan, Shift, Transform
from ringforge.matmul.slots import SlotMatrix


def plan(m: int, l: int, n: int, slots: int) -> ProductPlan:  # noqa: E741
    """Plan for A (m x l) times B (l x n).

    Raises:
        ShapeError: the enlarged matrices do not fit.
    """
    if min(m, l, n) < 1:
        check_shape(m, l, n, slots, 0, "")
    smallest, widest = min(m, l, n), max(m, l, n)
    if smallest < l:
        bands = -(-l // smallest)
        if smallest * bands * widest <= slots:
            return _plan(m, l, n, slots, bands) if smallest == m else transposed(_plan(n, l, m, slots, bands))
    return _plan(m, l, n, slots, 1)


def _plan(m: int, l: int, n: int, slots: int, bands: int) -> ProductPlan:  # noqa: E741
    rows, cols = max(m * bands, l), max(l, n)
    check_shape(m, l, n, slots, rows * cols, f"enlarged to {rows} rows and {cols} columns")
    used = m * bands
    steps = m if bands > 1 else l
    power = bands & (bands - 1) == 0
    return ProductPlan(
        method="hegmm-en",
        m=m,
        l=l,
        n=n,
        slots=slots,
        left_layout=Layout.column_major(m, l, rows),
        right_layout=Layout.column_major(l, n, rows),
        out_layout=Layout.column_major(m, n, rows),
        left=Operand((_sigma(m, l, slots, rows, used, cols),), ((),)),
        right=Operand((_tau(l, n, slots, rows),), ((),)),
        groups=(Group(0, tuple(range(steps))),),
        pair=partial(_pair, m, l, n, slots, rows, used, cols),
        lazy=False,
        folds=tuple(m << b for b in range(bands.bit_length() - 1)) if power else (),
        tail=None if power else _add_bands(m, n, slots, rows, bands),
        note=f"columns {rows} slots apart, inner index in {bands} blocks of rows; "
        + (
            "slots outside of the result are zero"
            if bands == 1 or not power
            else "rows of a column beyond the result hold sums of some of the blocks: not zero, not copies"
        ),
    )


def _sigma(m: int, l: int, slots: int, rows: int, used: int, cols: int) -> Transform:  # noqa: E741
    t = np.arange(used * cols, dtype=np.int64)
    i, j = t % used, t // used
    full = scatter(slots, i + rows * j, i % m + rows * ((i + j) % l))
    wraps = (used + cols - 2) // l + 1
    return Transform(SlotMatrix.from_map(slots, full), ((rows, m), (m * (rows - 1), used // m), (-l * rows, wraps)))


def _tau(l: int, n: int, slots: int, rows: int) -> Transform:  # noqa: E741
    t = np.arange(rows * n, dtype=np.int64)
    i, j = t % rows, t // rows
    full = scatter(slots, t, (i + j) % l + rows * j)
    return Transform(SlotMatrix.from_map(slots, full), ((1, n), (-l, (rows + n - 2) // l + 1)))


def _add_bands(m: int, n: int, slots: int, rows: int, bands: int) -> Transform:
    t = np.arange(m * n * bands, dtype=np.int64)
    i, j, s = t % m, t // m % n, t // (m * n)
    target = i + rows * j
    return Transform(SlotMatrix(slots, target, target + m * s, np.ones(len(t))), ((m, bands),))


def _pair(m: int, l: int, n: int, slots: int, rows: int, used: int, cols: int, k: int) -> tuple[Shift, Shift]:  # noqa: E741
    t = np.arange(used * n, dtype=np.int64)
    i, j = t % used, t // used
    c = np.where(j + k < cols, j + k, j + k - l)
    left = scatter(slots, i + rows * j, i + rows * c)
    keep = i // m * m + k < l if used > m else np.ones(len(t), dtype=bool)
    c = np.where(i + k < rows, i + k, i + k - l)
    right = scatter(slots, (i + rows * j)[keep], (c + rows * j)[keep])
    return map_shift(slots, left), map_shift(slots, right)
