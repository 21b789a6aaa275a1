# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A vector times a matrix: replicate, multiply, fold.

The matrix stays as it is: entry (i, j), i the inner index, in slot i s + j t. The vector's entry i goes to the slots
i s + j t of all j, one product multiplies everything, and rotations by multiples of s add the inner index up: column j
of the result is in slot j t. Only the vector is transformed, by a mask that also makes the scale right: two levels.

The copies: c of them are the mask's diagonals, log2 of the others rotations (each doubles what is there). Copies
beyond the last column, and sums beyond the last row, meet zeros of the vector, and are made where powers of two are
cheaper.

The vector's entries lie v slots apart, not s, when it was encrypted as it is and rows of the matrix are inner. Copies
of the whole vector, copy i ahead by i (s - v), then put entry i of copy i into slot i s, and the mask keeps those only.
There are as many copies as the next power of two: where one too many adds entry 0 to the last one, the mask takes it
off again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

import numpy as np

from ringforge.errors import ShapeError
from ringforge.matmul.layout import Layout
from ringforge.matmul.plan import Group, Ladder, Operand, ProductPlan, Replicate, Stage, Term, Transform
from ringforge.matmul.slots import SlotMatrix

#: Most copies that a mask makes.
MAX_MASK_COPIES = 32


@dataclass(frozen=True)
class Places:
    """Where the operands of a product lie, and whether their other slots are zero."""

    left: Layout
    right: Layout
    left_clean: bool = True
    right_clean: bool = True

    @classmethod
    def encrypted(cls, m: int, l: int, n: int) -> Places:  # noqa: E741
        """As they come from those who encrypt."""
        return cls(Layout.column_major(m, l), Layout.column_major(l, n))


def candidates(m: int, l: int, n: int, slots: int, places: Places | None = None) -> list[ProductPlan]:  # noqa: E741
    """Plans for a product of which the left operand is a row or the right one a column.

    Raises:
        ShapeError: neither is, or an operand does not fit.
    """
    if m != 1 and n != 1:
        raise ShapeError(
            f"method fold takes a row times a matrix or a matrix times a column, not {m} x {l} times {l} x {n}: choose "
            "method auto"
        )
    places = places or Places.encrypted(m, l, n)
    if max(places.left.extent, places.right.extent) > slots:
        raise ShapeError(f"an operand of {m} x {l} times {l} x {n} has more entries than the {slots} slots")
    row = m == 1
    if row:
        vector, matrix, clean = places.left, places.right, places.left_clean
        at, inner, outer, count = vector.col_stride, matrix.row_stride, matrix.col_stride, n
    else:
        vector, matrix, clean = places.right, places.left, places.right_clean
        at, inner, outer, count = vector.row_stride, matrix.col_stride, matrix.row_stride, m
    most_copies, most_sums = _room(l, count, inner, outer, slots)
    if not most_copies:
        return []
    plans = []
    for made, steps in _copies(count, most_copies, outer, slots):
        for label, first, stride, extra in _spreads(l, at, inner, slots, clean):
            transform = _mask(l, stride, inner, made, outer, slots, extra)
            stages = (*first, transform, *((Replicate(steps),) if steps else ()))
            plans.append(
                _plan(m, l, n, slots, places, stages, (inner, outer, most_sums), made, len(steps), f"{label}c{made}")
            )
    return plans


def _room(l: int, count: int, inner: int, outer: int, slots: int) -> tuple[int, int]:  # noqa: E741
    """The most copies, and the most terms of sums, that meet nothing but zeros; (0, 0) if the matrix lies otherwise."""
    if count == 1:
        return 1, max(l, (slots - 1) // inner + 1)
    if (l - 1) * inner < outer:
        return (slots - (l - 1) * inner - 1) // outer + 1, max(l, (outer - 1) // inner + 1)
    if (count - 1) * outer < inner:
        return (inner - 1) // outer + 1, max(l, (slots - (count - 1) * outer - 1) // inner + 1)
    return 0, 0


def _copies(count: int, most: int, unit: int, slots: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Ways to make between `count` and `most` copies: how many the mask makes, and the rotations that double them."""
    for t in range((count - 1).bit_length() + 1):
        made = -(-count >> t) if t == 0 else -(-count // (1 << t))
        if made << t <= most and made <= max(MAX_MASK_COPIES, 1 if t else count):
            yield made, tuple(-(made * unit << i) % slots for i in range(t))


def _spreads(
    l: int,  # noqa: E741
    at: int,
    inner: int,
    slots: int,
    clean: bool,
) -> Iterator[tuple[str, tuple[Stage, ...], int, tuple[int, int] | None]]:
    """Ways to begin: what is done before the mask, how far apart the mask finds the entries, and which entry has
    another added to it.
    """
    yield "", (), at, None
    apart, doublings = inner - at, (l - 1).bit_length()
    if not clean or l == 1 or apart == 0:
        return
    places = (np.arange(l)[:, None] * at + np.arange(1 << doublings)[None, :] * apart) % slots
    met = np.bincount(places.ravel(), minlength=slots)[np.arange(l) * inner]
    steps = (Replicate(tuple(-(apart << i) % slots for i in range(doublings))),)
    if (met == 1).all():
        yield "spread ", steps, inner, None
    elif (met > 1).sum() == 1 and met.max() == 2:
        last = int(np.argmax(met))
        entries = np.nonzero(places == last * inner)[0]
        yield "spread ", steps, inner, (last, int(entries[entries != last][0]))


def _mask(
    l: int,  # noqa: E741
    at: int,
    inner: int,
    made: int,
    outer: int,
    slots: int,
    extra: tuple[int, int] | None = None,
) -> Transform:
    entry, copy = np.repeat(np.arange(l), made), np.tile(np.arange(made), l)
    target, source, value = entry * inner + copy * outer, entry * at, np.ones(l * made)
    if extra is not None:
        target = np.append(target, extra[0] * inner + np.arange(made) * outer)
        source = np.append(source, np.full(made, extra[1] * at))
        value = np.append(value, -np.ones(made))
    return Transform(SlotMatrix(slots, target, source, value), ((at - inner, l), (-outer, made)))


@dataclass(frozen=True)
class Spreading:
    """How a tile comes to all places of a layout: rotations that copy, a mask, rotations that copy.

    exact: no copy is anywhere else.
    """

    before: tuple[int, ...]
    mask: Transform
    after: tuple[int, ...]
    exact: bool


@lru_cache(maxsize=256)
def spreading(have: Layout, want: Layout, slots: int, clean: bool, valid: tuple[int, int] | None = None) -> Spreading:
    """The cheapest way to copy a row, column or number, or a whole matrix once, to the places of a layout.

    Args:
        have: rows and columns are 1 or those of `want`.
        clean: the tile's other slots are zero.
        valid: rows and columns that copies may go to and no further; None: any slots.
    """
    strides = (want.row_stride, want.col_stride)
    sides = ((have.rows, want.rows), (have.cols, want.cols))
    exact = valid is not None
    limits = valid or (want.rows, want.cols)
    ways: list[list[tuple[int, tuple[int, ...]]]] = []
    for axis, (own, side) in enumerate(sides):
        count, unit, over = min(limits[axis], side), strides[axis], strides[1 - axis]
        if own == side:
            ways.append([(1, ())])
            continue
        # Copies beyond the last may go on to where the other axis begins anew, or to the last slot.
        other = 1 if sides[1 - axis][1] == 1 else strides[1 - axis] * (sides[1 - axis][1] - 1) + 1
        most = over // unit if over > unit and other > 1 else (slots - other) // unit + 1
        found = list(_copies(count, count if exact else max(count, most), unit, slots))
        ways.append(found or [(count, ())])
    lengths = [own for own, _ in sides]
    ends: list[tuple[Stage, ...]] = [()]
    if min(lengths) == 1 < max(lengths):
        axis = lengths.index(max(lengths))
        at = (have.row_stride, have.col_stride)[axis]
        ends = [first for _, first, _, extra in _spreads(max(lengths), at, strides[axis], slots, clean) if not extra]
    best: tuple[float, Spreading] | None = None
    for first in ends:
        source = want.index()[: have.rows, : have.cols] if first else have.index()
        for (up, doubled_up), (over_, doubled_over) in product(*ways):
            i, j, a, b = np.meshgrid(*map(np.arange, (have.rows, have.cols, up, over_)), indexing="ij")
            target = (i + a) * strides[0] + (j + b) * strides[1]
            from_ = np.broadcast_to(source[:, :, None, None], target.shape)
            before = tuple(s for stage in first if isinstance(stage, Replicate) for s in stage.steps)
            diagonals = len(np.unique((from_ - target) % slots))
            price = len(before) + 2 * (math.sqrt(diagonals) - 1) + len(doubled_up) + len(doubled_over)
            if best is None or price < best[0]:
                matrix = SlotMatrix(slots, target.ravel(), from_.ravel(), np.ones(target.size))
                best = (
                    price,
                    Spreading(
                        before, Transform(matrix), doubled_up + doubled_over, exact or not (doubled_up or doubled_over)
                    ),
                )
    assert best is not None
    return best[1]


def _plan(
    m: int,
    l: int,  # noqa: E741
    n: int,
    slots: int,
    places: Places,
    stages: tuple[Stage, ...],
    strides: tuple[int, int, int],
    made: int,
    doubled: int,
    label: str,
) -> ProductPlan:
    inner, outer, most_sums = strides
    doublings = (l - 1).bit_length()
    direct = 1 << doublings <= most_sums
    vector, still = Operand(stages, ((),)), Operand((), ((),))
    row = m == 1
    # Sums go along the entries, and meet one copy of each where sums and copies together stay within the slots.
    apart = ((1 << doublings) - 1) * inner + ((made << doubled) - 1) * outer < slots
    copies = (0 if doubled else made) if apart else 1
    plan = ProductPlan(
        method="fold",
        m=m,
        l=l,
        n=n,
        slots=slots,
        left_layout=places.left,
        right_layout=places.right,
        out_layout=Layout(1, n, 1, outer) if row else Layout(m, 1, outer, 1),
        left=vector if row else still,
        right=still if row else vector,
        groups=(Group(0, (0,)),),
        pair=_bare,
        lazy=True,
        folds=tuple(inner << i for i in range(doublings)) if direct else (),
        note="slots outside of the result hold partial sums",
        label=label,
        copies=(copies, 1) if row else (1, copies),
    )
    return plan if direct else replace(plan, ladder=Ladder.of(inner, l))


def _bare(k: int) -> tuple[tuple[Term], tuple[Term]]:  # noqa: ARG001
    return (Term(0, 0),), (Term(0, 0),)


__all__ = ["Places", "Spreading", "candidates", "spreading"]
