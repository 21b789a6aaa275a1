# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Where the entries of a matrix sit among the slots of a ciphertext."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge.errors import ShapeError
from ringforge.refusals import whole

Matrix = npt.NDArray[Any]


@dataclass(frozen=True)
class Layout:
    """Entry (i, j) of a rows x cols matrix is in slot i * row_stride + j * col_stride; no two share a slot."""

    rows: int
    cols: int
    row_stride: int
    col_stride: int

    @classmethod
    def column_major(cls, rows: int, cols: int, stride: int | None = None) -> Layout:
        """Columns one after the other, `stride` slots apart (default: rows, without gaps)."""
        return cls(rows, cols, 1, rows if stride is None else stride)

    @classmethod
    def row_major(cls, rows: int, cols: int) -> Layout:
        """Rows one after the other, without gaps."""
        return cls(rows, cols, cols, 1)

    def index(self) -> npt.NDArray[np.int64]:
        """Slots of all entries, (rows, cols)."""
        i = np.arange(self.rows, dtype=np.int64)[:, None] * self.row_stride
        return i + np.arange(self.cols, dtype=np.int64)[None, :] * self.col_stride

    @property
    def extent(self) -> int:
        """Number of slots from slot 0 to the last entry, inclusive."""
        return 1 + (self.rows - 1) * self.row_stride + (self.cols - 1) * self.col_stride

    def pack(self, matrix: npt.ArrayLike, slots: int) -> npt.NDArray[np.float64]:
        """Slots that hold the matrix, zero elsewhere, (slots,).

        Raises:
            ShapeError: the matrix has another shape, or does not fit into the slots.
        """
        a = np.asarray(matrix, dtype=np.float64)
        if a.shape != (self.rows, self.cols):
            raise ShapeError(f"the matrix has shape {a.shape}, the plan takes ({self.rows}, {self.cols})")
        if self.extent > slots:
            raise ShapeError(
                f"a {self.rows} x {self.cols} matrix reaches slot {self.extent - 1} of {slots}: "
                f"take parameters with at least {self.extent} slots, or smaller matrices"
            )
        out = np.zeros(slots)
        out[self.index()] = a
        return out

    def unpack(self, values: Matrix) -> Matrix:
        """The matrix in the last axis of `values`, (..., slots) to (..., rows, cols); real or complex as given.

        Raises:
            ShapeError: there are too few slots.
        """
        if values.shape[-1] < self.extent:
            raise ShapeError(
                f"{values.shape[-1]} slots do not hold a {self.rows} x {self.cols} matrix of extent {self.extent}"
            )
        return np.asarray(values[..., self.index()])


def even_tile(rows: int, cols: int, slots: int, tile: tuple[int, int] | None = None) -> tuple[int, int]:
    """Rows and columns of each ciphertext of a matrix: all if they fit, else about square.

    Then the cut of a dimension depends on its length only, so that matrices cut like this chain.

    Raises:
        ShapeError: `tile` does not fit into a ciphertext.
    """
    if tile is not None:
        r, c = (whole(x, "a side of a tile", -(1 << 63)) for x in tile)
        if min(r, c) < 1 or r * c > slots:
            raise ShapeError(f"a tile of {r} x {c} does not fit: each side is at least 1, the product at most {slots}")
        return even(rows, r), even(cols, c)
    if rows * cols <= slots:
        return rows, cols
    side = math.isqrt(slots)
    return even(rows, side), even(cols, side)


def even(length: int, most: int) -> int:
    """Length of equal pieces of at most `most`."""
    return -(-length // -(-length // most))
