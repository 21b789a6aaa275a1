# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Ringforge's own method: the element-wise method with the free slots put to use.

The formula is the one of Gao et al. (:mod:`.maps`). What differs, all derived here and checked on plain numbers:

* **Blocks.** Slots that a product would leave empty hold r copies of the cells, copy u ahead by u h of the inner
  index, so that h = ceil(l / r) steps are enough. log2 r rotations add the copies up at the end.
* **Complex packing.** Each slot holds two inner indices, one in the real and one in the imaginary part (of the
  conjugate, for B). That halves h again. The pairs are made by the diagonals of the first transforms at no
  cost; one conjugation at the end takes the real part.
* **Bare shifts.** The left operand's columns go on beyond n as far as the block has room, or come back by
  themselves where the slots are full, so that each step is one rotation without a mask. Where the room is too
  small for all steps, a few bases share them. Where neither works, shifts have two masked terms.
* **Right shifts.** Row i + k comes from the same column, or, where that ends, from row i + k - h of the next
  block: two masked terms; no masks at all if the columns are so far apart that h - 1 more rows fit.
* **Outer rotations.** With bare left shifts, steps k = g a + b are grouped by a: the left operand is rotated by b
  columns only, the sum of a group by g a columns, and the right operand back by as much.

One relinearisation for each group, one rescale for all. :mod:`.cells` defines what lies where.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np

from ringforge.matmul.layout import Layout
from ringforge.matmul.methods.cells import Geometry, Move, Side, left_base, right_base
from ringforge.matmul.methods.common import check_shape
from ringforge.matmul.methods.maps import Map
from ringforge.matmul.methods.pipelines import DOWN, FULL, PRODUCT, SWITCH, Pipeline, pipelines
from ringforge.matmul.plan import Group, Operand, Outline, ProductPlan, Shift, Term, outline
from ringforge.matmul.slots import Indices

#: Sizes g of outer groups that are tried; 0 stands for no grouping.
OUTER = (0, 4, 8, 16)

#: Most bases of the left operand, of the right operand.
MAX_BASES = (4, 6)

#: Geometries whose products alone take this much more than the best plan found are left out.
WORTH = 1.2


class _Core:
    """Steps of one geometry: both sides' moves and masks.

    A side has masks on all its shifts or on none; where one rotation would do, the mask of a masked side is 1
    everywhere. Two masks of a shift are made complements of each other over all slots, the row or column of a slot
    deciding, wherever the other side is zero outside of the cells: then one of the two need not be stored.
    """

    def __init__(self, g: Geometry, left: Side, right: Side) -> None:
        self.g = g
        self.left = left
        self.right = right
        self._outside = np.ones(g.slots, dtype=bool)
        self._outside[g.support()] = False
        steps = range(g.steps)
        self.right_masked = not all(map(right.bare, steps))
        #: Steps whose left shift is masked because nothing else zeroes the slots outside of the cells.
        self.guarded = frozenset(
            k
            for k in steps
            if left.bare(k)
            and right.bare(k)
            and self._spills(left.rotated(_moves(left, k)[0]), right.rotated(_moves(right, k)[0]))
        )
        self.left_masked = bool(self.guarded) or not all(map(left.bare, steps))
        self._outlines: dict[int, tuple[Outline, Outline]] = {}
        #: All left shifts are bare moves by columns of the same block.
        self.groupable = not self.left_masked and all(
            _moves(left, k)[0].blocks == 0 and _moves(left, k)[0].lines >= 0 for k in steps
        )

    def column(self, k: int) -> int:
        """Columns that the bare left shift of step k moves by."""
        return _moves(self.left, k)[0].lines

    def groups(self, size: int) -> tuple[Group, ...]:
        """Steps by the part of their column that is a multiple of `size`; one group for size 0."""
        if not size:
            return (Group(0, tuple(range(self.g.steps))),)
        found: dict[int, list[int]] = {}
        for k in range(self.g.steps):
            found.setdefault(self.column(k) // size * size * self.g.stride, []).append(k)
        return tuple(Group(outer, tuple(pairs)) for outer, pairs in sorted(found.items()))

    def pair(self, size: int, k: int) -> tuple[Shift, Shift]:
        """Both shifts of step k, for groups of `size` columns."""
        slots = self.g.slots
        outer = self.column(k) // size * size * self.g.stride if size else 0
        left, right = self.shifts(k)
        if not outer:
            return left, right
        back = tuple(
            Term(
                t.base,
                (t.step - outer) % slots,
                None if t.support is None else np.sort((t.support.astype(np.int64) + outer) % slots).astype(np.uint32),
            )
            for t in right
        )
        return (Term(left[0].base, (left[0].step - outer) % slots),), back

    def outline(self, size: int, k: int) -> tuple[Outline, Outline]:
        """Both shifts without their masks' slots. An outer rotation moves masks, but changes nothing else of them."""
        if k not in self._outlines:
            left, right = self.shifts(k)
            self._outlines[k] = outline(left, self.g.slots), outline(right, self.g.slots)
        left_terms, right_terms = self._outlines[k]
        outer = self.column(k) // size * size * self.g.stride if size else 0

        def back(terms: Outline) -> Outline:
            return tuple(
                replace(
                    t,
                    step=(t.step - outer) % self.g.slots,
                    mask=None if t.mask is None else (t.mask[0], outer % t.period),
                )
                for t in terms
            )

        return (left_terms, right_terms) if not outer else (back(left_terms), back(right_terms))

    def shifts(self, k: int) -> tuple[Shift, Shift]:
        """Both shifts of step k without an outer rotation."""
        left, right = _moves(self.left, k), _moves(self.right, k)
        every = np.arange(self.g.slots, dtype=np.uint32)
        a = self.left.supports(k) if len(left) > 1 else [self.g.support() if k in self.guarded else every]
        b = self.right.supports(k) if len(right) > 1 else [every]
        held = self._held(self.left, left, a)
        wide = self._complements(right, b, left=False)
        if wide is not None and not self._spills(held, self._held(self.right, right, wide)):
            b = wide
        wide = self._complements(left, a, left=True)
        if wide is not None and not self._spills(self._held(self.left, left, wide), self._held(self.right, right, b)):
            a = wide
        return _terms(left, a, self.left_masked), _terms(right, b, self.right_masked)

    def _spills(self, left: Map, right: Map) -> bool:
        """The product of these contents is not zero somewhere outside of the cells."""
        return bool(((left >= 0) & (right >= 0) & self._outside).any())

    def _held(self, side: Side, moves: Sequence[Move], supports: Sequence[Indices]) -> Map:
        """Contents of all slots after a shift."""
        if len(moves) == 1 and len(supports[0]) == self.g.slots:
            return side.rotated(moves[0])
        out = np.full(self.g.slots, -1, dtype=np.int64)
        for move, support in zip(moves, supports, strict=True):
            out[support] = side.rotated(move)[support]
        return out

    def _complements(self, moves: Sequence[Move], supports: list[Indices], left: bool) -> list[Indices] | None:
        """Two supports over all slots that agree with these on the cells and depend on row or column only."""
        g = self.g
        if len(moves) != 2:
            return None
        place = np.arange(g.slots, dtype=np.int64) % g.span
        place = place // g.stride if left else place % g.stride
        chosen = np.zeros(int(place.max()) + 1, dtype=bool)
        chosen[place[supports[0]]] = True
        if chosen[place[supports[1]]].any():
            return None
        first = chosen[place]
        return [np.flatnonzero(first).astype(np.uint32), np.flatnonzero(~first).astype(np.uint32)]


def _moves(side: Side, k: int) -> tuple[Move, ...]:
    found = side.moves[k]
    assert found is not None, "cores are made of complete sides"
    return found


def _terms(moves: Sequence[Move], supports: Sequence[Indices], masked: bool) -> Shift:
    if not masked:
        return (Term(moves[0].base, moves[0].step),)
    return tuple(Term(move.base, move.step, support) for move, support in zip(moves, supports, strict=True))


@dataclass(frozen=True)
class Pairs:
    """`ProductPlan.pair` of this method."""

    core: _Core
    size: int

    def __call__(self, k: int) -> tuple[Shift, Shift]:
        return self.core.pair(self.size, k)

    def outline(self, k: int) -> tuple[Outline, Outline]:
        """Both shifts without their masks' slots, as :func:`ringforge.matmul.cost.outline` makes it; remembered."""
        return self.core.outline(self.size, k)


@dataclass(frozen=True, eq=False)
class _Draft:
    """A plan before its transforms are built, with a rough cost."""

    core: _Core
    size: int
    left: Pipeline
    right: Pipeline

    @property
    def depth(self) -> int:
        masked = self.core.left_masked or self.core.right_masked
        return max(self.left.transforms, self.right.transforms) + int(masked) + 1

    def estimate(self) -> float:
        """Transforms of one limb that everything takes, roughly: 5 limbs, 1 special prime, a digit each."""
        g, core = self.core.g, self.core
        groups = core.groups(self.size)
        total = self.left.proxy() + self.right.proxy() + (len(groups) + g.blocks.bit_length() - 1) * FULL
        total += sum(FULL for group in groups if group.outer)
        for side, masked in ((core.left, core.left_masked), (core.right, core.right_masked)):
            moves = [_moves(side, k) for k in range(g.steps)]
            made = len(side.bases) * self.size if self.size and side is core.left else g.steps
            total += made * (SWITCH + 2 * DOWN + (2 * PRODUCT if masked else 0))
            lacks = {(v.base, v.step - first.step) for first, *others in moves for v in others}
            total += len(lacks) * (FULL + 2 * DOWN)
        return total


def candidates(
    m: int,
    l: int,  # noqa: E741
    n: int,
    slots: int,
    *,
    complex_packing: bool | None = None,
    most: int = 24,
) -> list[ProductPlan]:
    """Plans for A (m x l) times B (l x n), both column-major, to be costed against each other.

    Args:
        m, l, n: shape.
        slots: of a ciphertext.
        complex_packing: with, without, or both (None). It needs real matrices.
        most: plans that are kept, the best by a rough estimate; the best of each depth always is.

    Raises:
        ShapeError: A, B or the result has more entries than there are slots.
    """
    check_shape(m, l, n, slots, max(m * l, l * n, m * n), "the largest of A, B and the result")
    found: list[tuple[float, int, _Draft]] = []
    for packed in (True, False) if complex_packing is None else (complex_packing,):
        if packed and l == 1 and complex_packing is None:
            continue
        drafts: list[tuple[float, _Draft]] = []
        for g in sorted(_geometries(m, l, n, slots, packed), key=_least):
            if drafts and _least(g) > WORTH * min(d[0] for d in drafts):
                break
            drafts += [(d.estimate(), d) for core in _cores(g) for d in _drafts(core)]
        found += [(e, i, d) for i, (e, d) in enumerate(drafts, len(found))]
    found.sort(key=lambda d: d[:2])
    depths = {d.depth: (e, i, d) for e, i, d in reversed(found)}
    kept = {i: (e, i, d) for e, i, d in (*found[:most], *depths.values())}
    built: dict[int, Operand] = {}
    return [_plan(d, built) for _, _, d in sorted(kept.values(), key=lambda d: d[:2])]


def _least(g: Geometry) -> float:
    """What products in this geometry take at least, by the estimate."""
    return g.steps * (SWITCH + 2 * DOWN) + (g.blocks.bit_length() - 1) * FULL


def _geometries(m: int, l: int, n: int, slots: int, packed: bool) -> Iterator[Geometry]:  # noqa: E741
    """All r that bring the number of steps down, each with the distances of columns that may be worth a try.

    Those are m; m + h - 1, which needs no masks; and the best multiples of P from either on: whole periods.
    """
    need = -(-l // 2) if packed else l
    blocks, before = 1, 0
    while slots // blocks >= m * n:
        steps = -(-need // blocks)
        if steps != before:
            widest, period = slots // blocks // n, steps * blocks
            strides = {m, m + steps - 1, *_whole(m, widest, period), *_whole(m + steps - 1, widest, period)}
            for stride in sorted(x for x in strides if x <= widest):
                yield Geometry(m, l, n, slots, blocks, steps, stride, packed)
        before = steps
        blocks *= 2


def _whole(least: int, most: int, period: int) -> list[int]:
    """The numbers of columns or rows from `least` to `most` that are c 2^t P with the smallest c, t > 0; or none.

    Contents repeat with period P: of these, c periods are made by a transform, the others by t rotations.
    """
    fitting = []
    for t in range(1, most.bit_length()):
        c = -(-least // (period << t))
        if least > period and c * period << t <= most:
            fitting.append((c, t))
    return [c * period << t for c, t in sorted(fitting)[:1]]


def _cores(g: Geometry) -> Iterator[_Core]:
    """The ways to choose bases."""
    rights = list(_rights(g))
    for left in _lefts(g) if rights else ():
        for right in rights:
            yield _Core(g, left, right)


def _rights(g: Geometry) -> Iterator[Side]:
    """Right sides: full columns, and columns of a power of two of periods, which are cheaper to make."""
    windows = -(-g.steps // g.m) if g.stride == g.m else 1
    if windows > MAX_BASES[1]:
        return
    part = g.period << max(0, (g.m // g.period).bit_length() - 1)
    for rows in sorted({*_whole(g.stride, g.stride, g.period), g.stride, min(part, g.stride)}):
        side = Side(g, [right_base(g, w * g.m, rows) for w in range(windows)], left=False)
        if side.complete:
            yield side


def _lefts(g: Geometry) -> Iterator[Side]:
    """Left sides: n columns or a power of two of periods; or as many as make all steps bare, in windows."""
    part = g.period << max(0, (g.n // g.period).bit_length() - 1)
    tried = set()
    for cols in sorted({*_whole(g.n, g.columns, g.period), g.n, min(part, g.columns)}):
        side = Side(g, [left_base(g, 0, cols)], left=True)
        tried.add((1, cols))
        if side.complete:
            yield side
            if cols == g.n and all(map(side.bare, range(g.steps))):
                return
    room = g.columns - g.n + 1
    windows = -(-g.steps // room)
    if windows > MAX_BASES[0]:
        return
    size = -(-g.steps // windows)
    least = g.n + size - 1
    for cols in {*_whole(least, g.columns, g.period), least}:
        if (windows, cols) in tried:
            continue
        side = Side(g, [left_base(g, w * size, cols) for w in range(windows)], left=True)
        if side.complete and all(map(side.bare, range(g.steps))):
            yield side


def _drafts(core: _Core) -> Iterator[_Draft]:
    """One or two transforms of the operands, with and without outer groups."""
    lefts = _pipelines(core.left)
    rights = _pipelines(core.right)
    for levels in sorted({p.transforms for p in (*lefts, *rights)}):
        for size in OUTER:
            if size and (not core.groupable or size > max(map(core.column, range(core.g.steps)))):
                continue
            yield _Draft(core, size, _last(lefts, levels), _last(rights, levels))


#: Several cores share a side.
_known_pipelines: WeakKeyDictionary[Side, list[Pipeline]] = WeakKeyDictionary()


def _pipelines(side: Side) -> list[Pipeline]:
    """Ways to make a side's bases."""
    if side not in _known_pipelines:
        _known_pipelines[side] = pipelines(side.g, side.bases, side.left)
    return _known_pipelines[side]


def _last(found: list[Pipeline], levels: int) -> Pipeline:
    return max((p for p in found if p.transforms <= levels), key=lambda p: p.transforms)


def _plan(draft: _Draft, built: dict[int, Operand]) -> ProductPlan:
    core, size = draft.core, draft.size
    g = core.g
    for pipeline in (draft.left, draft.right):
        if id(pipeline) not in built:
            built[id(pipeline)] = pipeline.build()
    label = f"r{g.blocks} h{g.steps}{' complex' if g.packed else ''} M{g.stride} {draft.left.label}/{draft.right.label}"
    if len(core.left.bases) + len(core.right.bases) > 2:
        label += f" bases {len(core.left.bases)}+{len(core.right.bases)}"
    copies = f"{g.blocks} blocks of {g.span} slots hold the result each, slots between are zero"
    return ProductPlan(
        method="ringforge",
        m=g.m,
        l=g.l,
        n=g.n,
        slots=g.slots,
        left_layout=Layout.column_major(g.m, g.l),
        right_layout=Layout.column_major(g.l, g.n),
        out_layout=Layout.column_major(g.m, g.n, g.stride),
        left=built[id(draft.left)],
        right=built[id(draft.right)],
        groups=core.groups(size),
        pair=Pairs(core, size),
        lazy=True,
        real_part=g.packed,
        folds=tuple(g.span << t for t in range(g.blocks.bit_length() - 1)),
        note=copies if g.blocks > 1 else "slots outside of the result are zero",
        label=label + (f" outer {size}" if size else ""),
    )
