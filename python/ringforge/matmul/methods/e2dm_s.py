# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Square products by Jiang, Kim, Lauter and Song, "Secure outsourced matrix computation and application to neural
networks" (CCS 2018), with other shapes padded to squares, as the FAME paper uses it under the name E2DM-S.

d = max(m, l, n); matrices are d x d, row-major, zero where the padding is:

    sigma(A)[i, j] = A[i, i + j],  phi^k(X)[i, j] = X[i, j + k],
    tau(B)[i, j]   = B[i + j, j],  psi^k(Y)[i, j] = Y[i + k, j],

indices modulo d; A B = sum over k < d of phi^k(sigma(A)) * psi^k(tau(B)). phi^k has two diagonals, k and k - d.
psi^k is the rotation by k d alone if d * d fills the slots, as the source assumes by packing copies or several
matrices; otherwise it has two diagonals here, k d and (k - d) d, each with a mask.

Published counts for d * d slots: about 3 d rotations for the d products, and for sigma and tau together about
3 d, or 5 sqrt(d) with baby and giant steps; depth 3 (two plaintext products, one product). Reconstructed from
the published formulas; no code was used.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ringforge.matmul.layout import Layout
from ringforge.matmul.methods.common import check_shape, map_shift, map_transform
from ringforge.matmul.methods.maps import Map
from ringforge.matmul.plan import Group, Operand, ProductPlan, Shift, Term


def plan(m: int, l: int, n: int, slots: int) -> ProductPlan:  # noqa: E741
    """Plan for A (m x l) times B (l x n).

    Raises:
        ShapeError: the padded squares do not fit.
    """
    d = max(m, l, n)
    check_shape(m, l, n, slots, d * d, f"padded to {d} x {d}")
    i, j = grid(d)
    return ProductPlan(
        method="e2dm-s",
        m=m,
        l=l,
        n=n,
        slots=slots,
        left_layout=Layout(m, l, d, 1),
        right_layout=Layout(l, n, d, 1),
        out_layout=Layout(m, n, d, 1),
        left=Operand((map_transform(slots, i * d + (i + j) % d, ((1, d), (-d, 2))),), ((),)),
        right=Operand((map_transform(slots, (i + j) % d * d + j, ((d, d), (-d * d, 2))),), ((),)),
        groups=(Group(0, tuple(range(d))),),
        pair=partial(_pair, d, slots),
        lazy=False,
        note=f"padded to {d} x {d}, row-major; slots outside of the square are zero",
    )


def grid(d: int) -> tuple[Map, Map]:
    """Row and column of each place of a d x d matrix, row-major."""
    t = np.arange(d * d, dtype=np.int64)
    return t // d, t % d


def column_shift(d: int, slots: int, k: int) -> Shift:
    """phi^k of a d x d matrix."""
    i, j = grid(d)
    return map_shift(slots, i * d + (j + k) % d)


def row_shift(d: int, slots: int, k: int) -> Shift:
    """psi^k of a d x d matrix: bare if the matrix fills the slots."""
    if d * d == slots:
        return (Term(0, k * d),)
    i, j = grid(d)
    return map_shift(slots, (i + k) % d * d + j)


def _pair(d: int, slots: int, k: int) -> tuple[Shift, Shift]:
    return column_shift(d, slots, k), row_shift(d, slots, k)
