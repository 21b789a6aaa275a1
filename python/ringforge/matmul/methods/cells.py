# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Where Ringforge's own method puts what: cells, contents, and the shifts that bring each content to its cell.

The slots are r blocks of T = slots / r. Cell (i, j, u), i < m, j < n, u < r, is slot i + M j + T u; M >= m is the
distance of columns. With P = r h, step k < h multiplies in cell (i, j, u) what belongs to index

    p = i + j + u h + k  mod P,

so that over all k and u each cell row of blocks meets each p once. Index p stands for the inner index p, or with
complex packing for the two inner indices p and p + P: A[i, p] + 1j A[i, p + P] meets B[p, j] - 1j B[p + P, j], and
the real part of the product is the sum of both products. Inner indices of l or more contribute zero.

A *content* is what one slot of a base holds: line * P + p, where the line is the row i of A or the column j of B;
-1 for nothing. Bases are known by their contents only; a shift is found by comparing contents with what is
needed. For A, rotations by multiples of M keep the row; for B, rotations by less than M keep the column. So
one row of A's cells, or one column of B's, tells for all which rotations fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ringforge.matmul.methods.maps import Map
from ringforge.matmul.slots import Indices


@dataclass(frozen=True)
class Geometry:
    """Shape, and the numbers r (`blocks`), h (`steps`), M (`stride`) of the module's description."""

    m: int
    l: int  # noqa: E741
    n: int
    slots: int
    blocks: int
    steps: int
    stride: int
    packed: bool

    @property
    def span(self) -> int:
        """T: slots of a block."""
        return self.slots // self.blocks

    @property
    def period(self) -> int:
        """P: number of indices p."""
        return self.blocks * self.steps

    @property
    def columns(self) -> int:
        """Columns of m slots that fit into a block."""
        return (self.span - self.m) // self.stride + 1

    def cells(self, rows: int, cols: int) -> tuple[Map, Map, Map, Map]:
        """Row, column, block and slot of i < rows, j < cols in all blocks, ascending by slot."""
        t = np.arange(rows * cols * self.blocks, dtype=np.int64)
        i, j, u = t % rows, t // rows % cols, t // (rows * cols)
        return i, j, u, i + self.stride * j + self.span * u

    def support(self) -> Indices:
        """Slots of all cells."""
        return self.cells(self.m, self.n)[3].astype(np.uint32)


@dataclass(frozen=True, eq=False)
class Base:
    """A ciphertext by its contents.

    Args:
        offset: content of cell (i, j, u) is that of step k = offset.
        extent: columns (left) or rows (right) that are filled in each block or column.
        content: (slots,) contents, -1 for nothing.
    """

    offset: int
    extent: int
    content: Map


@dataclass(frozen=True)
class Move:
    """A rotation of a base that brings some needed contents in place: `lines` columns or rows, `blocks` blocks on."""

    base: int
    lines: int
    blocks: int
    step: int


def left_base(g: Geometry, offset: int, cols: int) -> Base:
    """Contents of A: `cols` columns in each block."""
    i, j, u, s = g.cells(g.m, cols)
    return _base(g, offset, cols, s, i, i + j + u * g.steps)


def right_base(g: Geometry, offset: int, rows: int) -> Base:
    """Contents of B: `rows` rows in each of n columns."""
    i, j, u, s = g.cells(rows, g.n)
    return _base(g, offset, rows, s, j, i + j + u * g.steps)


def _base(g: Geometry, offset: int, extent: int, s: Map, line: Map, p: Map) -> Base:
    content = np.full(g.slots, -1, dtype=np.int64)
    content[s] = line * g.period + (p + offset) % g.period
    return Base(offset, extent, content)


class Side:
    """The bases of one operand, and for each step the moves that bring what is needed."""

    def __init__(self, g: Geometry, bases: Sequence[Base], left: bool) -> None:
        self.g = g
        self.bases = tuple(bases)
        self.left = left
        self._unit = g.stride if left else 1
        #: Moves of each step, or None where the bases do not hold all that is needed.
        self.moves = [self._cover(k) for k in range(g.steps)]

    @property
    def complete(self) -> bool:
        return all(m is not None for m in self.moves)

    def bare(self, k: int) -> bool:
        """One rotation serves all cells of step k."""
        found = self.moves[k]
        return found is not None and len(found) == 1

    def needed(self, k: int) -> tuple[Map, Map]:
        """Slots of the cells, ascending, and the contents that step k needs there."""
        i, j, u, s = self.g.cells(self.g.m, self.g.n)
        return s, (i if self.left else j) * self.g.period + (i + j + u * self.g.steps + k) % self.g.period

    def supports(self, k: int) -> list[Indices]:
        """For each move of step k, the slots that it serves (each cell is served once)."""
        slots, need = self.needed(k)
        open_ = np.ones(len(slots), dtype=bool)
        out = []
        for move in self.moves[k] or ():
            hit = open_ & (self.bases[move.base].content[(slots + move.step) % self.g.slots] == need)
            open_ &= ~hit
            out.append(slots[hit].astype(np.uint32))
        return out

    def rotated(self, move: Move) -> Map:
        """Contents of all slots after a move."""
        return np.roll(self.bases[move.base].content, -move.step)

    def _candidates(self, k: int) -> Iterator[Move]:
        """Rotations that put some content of the right index on some cell."""
        g = self.g
        cells = g.n if self.left else g.m
        near = [0, 1, g.blocks - 1] if g.blocks > 2 else list(range(g.blocks))
        for number, base in enumerate(self.bases):
            for du in near:
                first = (k - base.offset - du * g.steps) % g.period
                for d in (*range(first, base.extent, g.period), *range(first - g.period, -cells, -g.period)):
                    yield Move(number, d, du, (d * self._unit + du * g.span) % g.slots)

    def _cover(self, k: int) -> tuple[Move, ...] | None:
        """The fewest moves (greedily) that serve all cells, the nearest first among equals."""
        g = self.g
        if self.left:
            line = np.arange(g.n, dtype=np.int64)
            slots = line * g.stride
        else:
            line = np.arange(g.m, dtype=np.int64)
            slots = line
        u = np.repeat(np.arange(g.blocks, dtype=np.int64), len(line))
        slots = np.tile(slots, g.blocks) + g.span * u
        need = (np.tile(line, g.blocks) + u * g.steps + k) % g.period
        hits: dict[tuple[int, int], tuple[Move, npt.NDArray[np.bool_]]] = {}
        for move in self._candidates(k):
            if (move.base, move.step) in hits:
                continue
            hit = self.bases[move.base].content[(slots + move.step) % g.slots] == need
            if hit.all():
                return (move,)
            if hit.any():
                hits[move.base, move.step] = (move, hit)
        chosen: list[Move] = []
        open_ = np.ones(len(slots), dtype=bool)
        while open_.any():
            best, most = None, 0
            for move, hit in hits.values():
                count = int((hit & open_).sum())
                if count > most:
                    best, most = (move, hit), count
            if best is None:
                return None
            chosen.append(best[0])
            open_ &= ~best[1]
        # In the same order for all steps: what the second rotation lacks to the first is then the same for all.
        return tuple(sorted(chosen, key=lambda m: (m.blocks != 0, m.lines < 0, m.base, m.lines)))
