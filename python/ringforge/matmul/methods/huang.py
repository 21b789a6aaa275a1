# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Products of any shape by Huang and Zong, "Secure matrix multiplication based on fully homomorphic encryption" (The
Journal of Supercomputing 79, 2023).

    A B = sum over k < l of spread(column k of sigma(A)) * omega^k(B repeated downwards),

sigma(A)[i, k] = A[i, i + k mod l], spread repeats one column in all n columns, B is repeated to R = l ceil(m / l)
rows, so that omega^k(Y)[i, j] = Y[i + k mod l, j] has two diagonals, k and k - l. Nothing like tau is needed.

Reconstructed: the article was not at hand. What it does was read from how the authors of HEGMM (Gao et al.) measured
it, in their repository ICPP2023/HEGMM; there the client applies sigma, pads and repeats before it encrypts, which
costs nothing. Counts there for each k: 1 masked copy, then about log2 n rotations; and 2 rotations with masks.
Deviations: sigma and repeating happen under encryption here, one transform each. A column is spread by a
transform that makes q copies, then by t rotations that double, with q 2^t >= n, because doubling alone may not
fit the slots. Columns are R slots apart, for A and the result too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ringforge.errors import ShapeError
from ringforge.matmul.layout import Layout
from ringforge.matmul.methods.common import check_shape, scatter
from ringforge.matmul.plan import Group, Operand, ProductPlan, Replicate, Shift, Stage, Term, Transform
from ringforge.matmul.slots import SlotMatrix


@dataclass(frozen=True)
class _Shape:
    """m, l, n, slots; rows R between columns; a column is spread as `copies`, then doubled `doublings` times."""

    m: int
    l: int  # noqa: E741
    n: int
    slots: int
    rows: int
    copies: int
    doublings: int


def plan(m: int, l: int, n: int, slots: int) -> ProductPlan:  # noqa: E741
    """Plan for A (m x l) times B (l x n).

    Raises:
        ShapeError: R rows and the larger of l and n columns do not fit.
    """
    rows = l * -(-m // l) if l > 0 else 0
    check_shape(m, l, n, slots, rows * max(l, n), f"padded to {rows} rows and {max(l, n)} columns")
    copies, doublings = _spread(n, slots // rows)
    shape = _Shape(m, l, n, slots, rows, copies, doublings)
    return ProductPlan(
        method="huang",
        m=m,
        l=l,
        n=n,
        slots=slots,
        left_layout=Layout.column_major(m, l, rows),
        right_layout=Layout.column_major(l, n, rows),
        out_layout=Layout.column_major(m, n, rows),
        left=Operand((_sigma(shape),), tuple(_column(shape, k) for k in range(l))),
        right=Operand(_repeat(shape), tuple((_omega(shape, k),) for k in range(l))),
        groups=(Group(0, tuple(range(l))),),
        pair=_pair,
        lazy=False,
        note=f"columns {rows} slots apart; slots outside of the result are zero",
    )


def _spread(n: int, columns: int) -> tuple[int, int]:
    """The cheapest (copies, doublings) with at least n and at most `columns` columns."""
    fitting = [(-(-n // (1 << t)), t) for t in range(n.bit_length() + 1) if -(-n // (1 << t)) << t <= columns]
    if not fitting:
        raise ShapeError(f"{n} columns do not fit {columns}")
    return min(fitting, key=lambda x: (x[0] - 1 + x[1], x[1]))


def _sigma(s: _Shape) -> Transform:
    t = np.arange(s.m * s.l, dtype=np.int64)
    i, j = t % s.m, t // s.m
    full = scatter(s.slots, i + s.rows * j, i + s.rows * ((i + j) % s.l))
    return Transform(SlotMatrix.from_map(s.slots, full), ((s.rows, min(s.m, s.l)), (-s.l * s.rows, 2)))


def _column(s: _Shape, k: int) -> tuple[Stage, ...]:
    i = np.tile(np.arange(s.m, dtype=np.int64), s.copies)
    j = np.repeat(np.arange(s.copies, dtype=np.int64), s.m)
    full = scatter(s.slots, i + s.rows * j, i + s.rows * k)
    once = Transform(SlotMatrix.from_map(s.slots, full))
    steps = tuple(-(s.rows * s.copies << t) % s.slots for t in range(s.doublings))
    return (once, Replicate(steps)) if steps else (once,)


def _repeat(s: _Shape) -> tuple[Stage, ...]:
    if s.rows == s.l:
        return ()
    t = np.arange(s.rows * s.n, dtype=np.int64)
    i, j = t % s.rows, t // s.rows
    full = scatter(s.slots, t, i % s.l + s.rows * j)
    return (Transform(SlotMatrix.from_map(s.slots, full), ((-s.l, s.rows // s.l),)),)


def _omega(s: _Shape, k: int) -> Transform:
    t = np.arange(s.rows * s.n, dtype=np.int64)
    i, j = t % s.rows, t // s.rows
    return Transform(SlotMatrix.from_map(s.slots, scatter(s.slots, t, (i + k) % s.rows + s.rows * j)))


def _pair(k: int) -> tuple[Shift, Shift]:
    return (Term(k, 0),), (Term(k, 0),)
