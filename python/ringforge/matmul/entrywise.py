# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What encrypted matrices do entry by entry, with numpy's broadcasting; and sums over their rows and columns."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from ringforge.errors import ShapeError
from ringforge.matmul.layout import Layout, even_tile
from ringforge.matmul.machine import Array, Tile
from ringforge.matmul.steps import Step

#: Encrypted and plain matrices (:mod:`ringforge.matmul.matrix`, which uses this module).
EncryptedMatrix = Any
PlainMatrix = Any
Grid = list[list[Tile]]


def broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a and b together, as numpy has it.

    Raises:
        ShapeError: they do not fit; the message has both, and a remedy.
    """
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        remedy = "sizes must be equal or 1, counted from the last"
        if len(a) == len(b) == 2 and a == b[::-1]:
            remedy += "; one of them is the other's transpose: write .T"
        elif len(a) == len(b) == 2 and a[1] == b[0]:
            remedy += "; the matrix product is @"
        elif {len(a), len(b)} == {1, 2} and (a[0] == b[0]):
            remedy += "; for a column give the vector the shape (n, 1)"
        raise ShapeError(f"operands of shapes {a} and {b} do not broadcast: {remedy}") from None


def sides(shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns of the grid that holds a result; a vector is kept as a column."""
    rows, cols = (*shape, 1, 1)[:2]
    return rows, cols


def seen_as(x: EncryptedMatrix, ndim: int) -> EncryptedMatrix:
    """x as an operand of a result with so many dimensions: beside matrices a vector is a row."""
    return x.as_row() if x.ndim == 1 and ndim == 2 else x


def expanded(x: EncryptedMatrix, shape: tuple[int, ...], tile: tuple[int, int], what: str) -> Grid:
    """x copied along the sides where its length is 1, in tiles of a shape; one level."""
    rows, cols = sides(shape)
    cut = min(tile[0], x.rows), min(tile[1], x.cols)
    source, want = x.recut(cut), Layout.column_major(*tile)
    out: Grid = []
    for i, top in enumerate(range(0, rows, tile[0])):
        out.append([])
        for j, left in enumerate(range(0, cols, tile[1])):
            part = source.tiles[i if x.rows > 1 else 0][j if x.cols > 1 else 0]
            valid = min(tile[0], rows - top), min(tile[1], cols - left)
            out[-1].append(x.machine.spread(part, want, what, valid=valid))
    return out


def together(x: EncryptedMatrix, shape: tuple[int, ...], what: str) -> EncryptedMatrix:
    """x with this shape: itself, or copied along sides."""
    x = seen_as(x, len(shape))
    if x.shape == shape:
        return x
    rows, cols = sides(shape)
    if (x.rows, x.cols) == (rows, cols):
        return type(x)(x.machine, x.tiles, rows, cols, len(shape), x.step.like())
    x.machine.novel = True
    tile = even_tile(rows, cols, x.machine.slots)
    tiles = expanded(x, shape, tile, what)
    return type(x)(x.machine, tiles, rows, cols, len(shape), x.step.like())


def entrywise(a: EncryptedMatrix, b: EncryptedMatrix) -> EncryptedMatrix:
    """a * b, both encrypted; two levels, or three where both are copied."""
    machine, shape = a.machine, broadcast(a.shape, b.shape)
    machine.novel = True
    rows, cols = sides(shape)
    x, y = seen_as(a, len(shape)), seen_as(b, len(shape))
    if (x.rows, x.cols) != (rows, cols):
        x, y = y, x
    if (x.rows, x.cols) != (rows, cols):
        x = together(x, shape, "a product entry by entry")
    tile = x.tile_shape
    y = y.recut((min(tile[0], y.rows), min(tile[1], y.cols)))
    tiles = [
        [machine.times(t, y.tiles[i if y.rows > 1 else 0][j if y.cols > 1 else 0]) for j, t in enumerate(row)]
        for i, row in enumerate(x.tiles)
    ]
    step = Step("entrywise", (a.step, b.step), detail=_copied(a, b, shape))
    return type(a)(machine, tiles, rows, cols, len(shape), step)


def _copied(a: EncryptedMatrix, b: EncryptedMatrix, shape: tuple[int, ...]) -> str:
    names = [name for name, x in (("left", a), ("right", b)) if x.shape != shape]
    return f"{' and '.join(names)} operand copied" if names else "mask and product"


def entrywise_plain(a: EncryptedMatrix, plain: PlainMatrix) -> EncryptedMatrix:
    """a * plain; one level, one more where a is copied."""
    shape = broadcast(a.shape, plain.shape)
    machine = a.machine
    machine.novel = True
    x = together(a, shape, "a product entry by entry")
    blocks = plain_blocks(x, plain, shape)
    tiles: Grid = []
    for row, given in zip(x.tiles, blocks, strict=True):
        tiles.append(
            [machine.weighted(t, block, "a product entry by entry") for t, block in zip(row, given, strict=True)]
        )
    step = Step("entrywise", (a.step, plain.step), detail="plain matrix")
    return type(x)(machine, tiles, x.rows, x.cols, len(shape), step)


def plain_blocks(x: EncryptedMatrix, plain: PlainMatrix, shape: tuple[int, ...]) -> list[list[Array]]:
    """The parts of a plain operand that meet x's tiles, zero beyond the last row and column."""
    values = plain.values
    if values.ndim == 1 and len(shape) == 2:
        values = values[None, :]
    elif values.ndim < 2:
        values = values.reshape(-1, 1)
    r, c = x.tile_shape
    padded = np.zeros((len(x.tiles) * r, len(x.tiles[0]) * c))
    padded[: x.rows, : x.cols] = values
    return [
        [padded[i * r : (i + 1) * r, j * c : (j + 1) * c] for j in range(len(row))] for i, row in enumerate(x.tiles)
    ]


def total(x: EncryptedMatrix, axis: int | None, keepdims: bool) -> EncryptedMatrix:
    """The sum over rows, columns or all; rotations and no level."""
    machine = x.machine
    machine.novel = True
    over = _axes(x, axis)
    tiles, rows, cols = x.tiles, x.rows, x.cols
    if 0 in over:
        tiles = [[_sum_of(x, [row[j] for row in tiles], 0, rows) for j in range(len(tiles[0]))]]
        rows = 1
    if 1 in over:
        tiles = [[_sum_of(x, row, 1, cols)] for row in tiles]
        cols = 1
    step = Step("total", (x.step,), {"axis": axis, "keep": keepdims or None}, detail="rotations")
    if keepdims:
        return type(x)(machine, tiles, rows, cols, x.ndim, step)
    if x.ndim == 2 and axis is not None:
        return x.result(tiles, rows, cols, 0 not in over, 1 not in over, step)
    return type(x)(machine, tiles, rows, cols, 0, step)


def _axes(x: EncryptedMatrix, axis: int | None) -> set[int]:
    if axis is None:
        return {0, 1}
    if not isinstance(axis, numbers.Integral) or isinstance(axis, bool) or not -x.ndim <= int(axis) < x.ndim:
        raise ShapeError(
            f"axis {axis!r} is none of an array of shape {x.shape}: give one of {', '.join(map(str, range(x.ndim)))}, "
            "or None for the sum of all"
            if x.ndim
            else "a number has no axes: leave axis away"
        )
    return {int(axis) % x.ndim}


def _sum_of(x: EncryptedMatrix, tiles: list[Tile], axis: int, length: int) -> Tile:
    whole = tiles[0]
    for t in tiles[1:]:
        whole = x.machine.add(whole, t, "a sum")
    most = whole.layout.rows if axis == 0 else whole.layout.cols
    made: Tile = x.machine.summed(whole, axis, min(length, most))
    return made


def count_of(x: EncryptedMatrix, axis: int | None) -> int:
    """Entries that a sum over an axis adds up."""
    return math.prod((x.rows, x.cols)[i] for i in _axes(x, axis))


__all__ = ["broadcast", "entrywise", "entrywise_plain", "plain_blocks", "seen_as", "sides", "together", "total"]
