# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The first transforms of Ringforge's own method: from a matrix as it comes to the bases of :mod:`.cells`.

A base is made by one transform, or by two with far fewer diagonals each (one more level). The first of two works
on the matrix's own places: for B, column j is rotated by j mod b, (X[c, j] = B[c + (j mod b) mod l, j], 2 b - 1
diagonals); for A, row i by i mod b. The second does the rest. Pairs p, p + P of complex packing are made in
either of the two, their factors are entries of the diagonals. Contents repeat with period P. Where whole periods are
filled, c 2^t of them with odd c, only c are made, and then doubled by t rotations, which take no level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ringforge.matmul.methods.cells import Base, Geometry
from ringforge.matmul.methods.maps import Map
from ringforge.matmul.plan import Operand, Replicate, Stage, Transform
from ringforge.matmul.slots import SlotMatrix, Values

#: Rotations of the first of two transforms are by i or j modulo these; 0 stands for all.
MODULI = (4, 8, 16, 32, 0)

#: Rough costs of a key switch, a product with an encoded vector, a ModDown of one polynomial, a ModUp with its key
#: switch; in transforms of one limb. Only for choosing what is worth a closer look.
SWITCH, PRODUCT, DOWN, FULL = 37.0, 5.5, 6.0, 70.0

Generators = tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class _Entries:
    """A transform before it is built: targets, sources and values of its entries."""

    slots: int
    target: Map
    source: Map
    value: Values
    generators: Generators

    def diagonals(self) -> int:
        return int(np.count_nonzero(np.bincount((self.source - self.target) % self.slots, minlength=self.slots)))

    def build(self) -> Transform:
        return Transform(SlotMatrix(self.slots, self.target, self.source, self.value), self.generators)


@dataclass(frozen=True, eq=False)
class Pipeline:
    """Stages of one operand before they are built.

    Args:
        first: the transform on the matrix's own places, or None.
        bases: the last transform of each base.
        doublings: rotations that repeat the period, in order.
        label: what it is.
    """

    first: _Entries | None
    bases: tuple[_Entries, ...]
    doublings: tuple[int, ...]
    label: str

    @property
    def transforms(self) -> int:
        return 1 if self.first is None else 2

    def proxy(self) -> float:
        """Rough cost for comparing pipelines of the same number of levels: baby and giant steps, products."""
        parts = ([] if self.first is None else [self.first]) + list(self.bases)
        d = np.array([p.diagonals() for p in parts], dtype=float)
        split = 2 * np.sqrt(SWITCH * (FULL + DOWN) * d)
        return float((split + PRODUCT * d).sum() + FULL * len(self.doublings) * len(self.bases))

    def build(self) -> Operand:
        tail: tuple[Stage, ...] = (Replicate(self.doublings),) if self.doublings else ()
        first: tuple[Stage, ...] = () if self.first is None else (self.first.build(),)
        bases = [b.build() for b in self.bases]
        if len(bases) == 1:
            return Operand((*first, bases[0], *tail), ((),))
        return Operand(first, tuple((b, *tail) for b in bases))


class _Maker:
    """Entries of the transforms of one operand.

    Places of the matrix: A[i, c] at i + m c, B[c, j] at c + l j. `line` is i or j, `unit` the distance of
    neighbouring c, `pitch` that of lines.
    """

    def __init__(self, g: Geometry, left: bool) -> None:
        self.g = g
        self.left = left
        self.lines = g.m if left else g.n
        self.unit, self.pitch = (g.m, 1) if left else (1, g.l)
        self.factor = 1j if left else -1j

    def place(self, line: Map, c: Map) -> Map:
        return line * self.pitch + c * self.unit

    def first(self, b: int, paired: bool) -> _Entries:
        """Lines rotated by line mod b; entries, or pairs if `paired`."""
        g = self.g
        width = g.period if paired else g.l
        t = np.arange(self.lines * width, dtype=np.int64)
        line, c = t % self.lines, t // self.lines
        p = (c + line % b) % width
        wraps = (width - 1 + min(b, self.lines) - 1) // width + 1
        generators = [(self.unit, min(b, self.lines)), (-width * self.unit, wraps)]
        if not paired or not g.packed:
            keep = p < g.l
            value = np.ones(int(keep.sum()), dtype=np.complex128)
            return self._entries(self.place(line, c)[keep], self.place(line, p)[keep], value, generators)
        targets, sources, values = self._pairs(self.place(line, c), line, p, self.place)
        return self._entries(targets, sources, values, [*generators, (g.period * self.unit, 2)])

    def last(self, base: Base, extent: int, b: int, paired: bool) -> _Entries:
        """From the matrix (b = 1, not paired) or from `first` to a base with `extent` columns or rows filled."""
        g = self.g
        if self.left:
            i, j, u, s = g.cells(g.m, extent)
        else:
            i, j, u, s = g.cells(extent, g.n)
        line = i if self.left else j
        p = (i + j + u * g.steps + base.offset) % g.period
        width = g.period if paired else g.l

        def place(line: Map, c: Map) -> Map:
            return self.place(line, (c - line % b) % width)

        reach = int((i + j + u * g.steps + base.offset).max()) // g.period + 1
        generators = self._generators(extent, b)
        if paired:
            keep = p < g.l
            value = np.ones(int(keep.sum()), dtype=np.complex128)
            return self._entries(
                s[keep],
                place(line, p)[keep],
                value,
                [*generators, (-g.period * self.unit, reach + (b > 1 and reach > 0))],
            )
        generators += [(-g.period * self.unit, reach + int(g.packed))]
        if b > 1 and g.l != g.period:
            generators += [(g.l * self.unit, 2)]
        elif b > 1:
            generators[-1] = (-g.period * self.unit, reach + 1)
        targets, sources, values = self._pairs(s, line, p, place)
        return self._entries(targets, sources, values, generators)

    def _generators(self, extent: int, b: int) -> list[tuple[int, int]]:
        """Progressions of source - target over i, j and u."""
        g = self.g
        cols = extent if self.left else g.n
        chunks = -(-self.lines // b)
        if self.left:
            out = [(g.m * b, chunks), (g.m - g.stride, cols)]
        else:
            gap = g.l - g.stride
            out = [((1 + gap) * b if b > 1 else 1 + gap, chunks), (gap, min(b, cols) if b > 1 else 1)]
        out.append((g.steps * self.unit - g.span, g.blocks))
        return [(stride, count) for stride, count in out if count > 1 and stride % g.slots]

    def _pairs(self, target: Map, line: Map, p: Map, place: Callable[[Map, Map], Map]) -> tuple[Map, Map, Values]:
        g = self.g
        halves = [(p, 1 + 0j), (p + g.period, self.factor)] if g.packed else [(p, 1 + 0j)]
        targets, sources, values = [], [], []
        for c, factor in halves:
            keep = c < g.l
            targets.append(target[keep])
            sources.append(place(line, c)[keep])
            values.append(np.full(int(keep.sum()), factor))
        return np.concatenate(targets), np.concatenate(sources), np.concatenate(values)

    def _entries(self, t: Map, s: Map, v: Values, generators: list[tuple[int, int]]) -> _Entries:
        kept = tuple((stride, count) for stride, count in generators if count > 1 and stride % self.g.slots)
        return _Entries(self.g.slots, t, s, v, kept)


def pipelines(g: Geometry, bases: Sequence[Base], left: bool) -> list[Pipeline]:
    """The best way to make these bases with one transform, and with two if that is better by its diagonals."""
    maker = _Maker(g, left)
    best: dict[int, tuple[float, Pipeline]] = {}
    for repeated in (False, True):
        steps = _doublings(g, bases[0].extent, left) if repeated else ()
        if repeated and not steps:
            continue
        extent = bases[0].extent >> len(steps)
        options: list[tuple[int, bool]] = [(1, False)]
        moduli = {b or maker.lines for b in MODULI if b < maker.lines} - {1}
        options += [(b, paired) for b in sorted(moduli) for paired in sorted({False, g.packed})]
        for b, paired in options:
            first = None if b == 1 else maker.first(b, paired)
            made = Pipeline(
                first,
                tuple(maker.last(base, extent, b, paired) for base in bases),
                steps,
                ("direct" if first is None else f"mod{b}{'p' if paired else ''}")
                + (f"x{1 << len(steps)}" if steps else ""),
            )
            cost = made.proxy()
            if made.transforms not in best or cost < best[made.transforms][0]:
                best[made.transforms] = (cost, made)
    if 2 in best and best[2][0] >= best[1][0]:
        del best[2]
    return [p for _, p in best.values()]


def _doublings(g: Geometry, extent: int, left: bool) -> tuple[int, ...]:
    """Rotations that repeat the first columns or rows, an odd number of periods P, up to `extent`; or none."""
    if extent % g.period:
        return ()
    times = extent // g.period
    width = extent // (times & -times) * (g.stride if left else 1)
    return tuple(-(width << t) % g.slots for t in range((times & -times).bit_length() - 1))
