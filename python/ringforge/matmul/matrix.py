# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Encrypted matrices that calculate as numpy's do: products, sums, transposes, blocks.

A matrix with more entries than a ciphertext has slots is a grid of ciphertexts, all holding tiles of one shape;
what a tile has beyond the matrix's last row or column is zero. A vector (n,) is kept as a column.
:mod:`ringforge.matmul.machine` decides what becomes of each ciphertext.
"""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from ringforge.arrays import real_numbers
from ringforge.bytes_form import File, saved
from ringforge.errors import MismatchError, ParameterError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.matmul.entrywise import broadcast, count_of, entrywise, entrywise_plain, plain_blocks, together, total
from ringforge.matmul.layout import Layout, even
from ringforge.matmul.machine import MIXED, Array, Grid, Machine, Tile
from ringforge.matmul.operands import (
    NotAnArray,
    check_entrywise,
    finite,
    is_number,
    is_plain,
    leave_operators,
)
from ringforge.matmul.slots import SlotMatrix
from ringforge.matmul.steps import Step, explain_steps
from ringforge.refusals import positive
from ringforge.shown import ShownGroup

Indices = npt.NDArray[np.int64]

#: Whole numbers up to this size multiply without a level.
MAX_WHOLE = 1 << 10


@dataclass(frozen=True, eq=False)
class PlainMatrix(NotAnArray):
    """A plain operand: what is known of it, (m, n) or (n,).

    Args:
        values: the entries. Where only shape and bound are known, all are the bound.
        step: what stands for it in programs.
    """

    state = "stands for numbers that a program is given when it runs"
    revealed_by = "programs do the same whatever the numbers are"

    values: Array
    step: Step

    @classmethod
    def constant(cls, values: npt.ArrayLike) -> PlainMatrix:
        """Numbers in the clear.

        Raises:
            ShapeError, ringforge.ValueError: no number, vector or matrix of finite real numbers.
        """
        a = real_numbers(values, "entries of a plain operand")
        if a.ndim > 2:
            raise ShapeError(f"a plain operand has shape {a.shape}; (), (n,) or (m, n) is needed")
        if not np.isfinite(a).all():
            raise RingforgeValueError("a plain operand holds NaN or infinity")
        return cls(a, Step("constant", arguments={"values": a}, shape=a.shape, bound=float(np.abs(a).max(initial=0.0))))

    @property
    def shape(self) -> tuple[int, ...]:
        """As of the array."""
        return self.values.shape


class EncryptedMatrix(NotAnArray):
    """An encrypted matrix (m, n), vector (n,) or number ().

    Made by those who encrypt (:mod:`ringforge.matmul.roles`). Operators are those of numpy: `A @ B`, `A * B`, `A + B`,
    `A - B` with encrypted or plain operands on either side, and numpy's broadcasting; `-A`, `A / 4`, `A.T`,
    `A[2:5, ::2]`, `A.sum(axis)`, `A.mean(axis)`. Each takes levels, as `explain()` says; operands at different levels
    are brought to the lower one. Plain operands are whatever holds real numbers: arrays, lists, data frames, columns,
    sparse matrices. Iteration gives rows, or the numbers of a vector; each is a block of its own, as `A[i]`.
    Comparisons, truth values and conversions to numbers or arrays are refused: nobody here knows the entries.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, machine: Machine, tiles: Grid | EncryptedMatrix, rows: int, cols: int, ndim: int, step: Step
    ) -> None:
        self.machine = machine
        leave_operators()
        self.rows, self.cols, self.ndim = rows, cols, ndim
        #: How it came to be.
        self.step = step
        #: What this is the transpose of, as long as nobody needs its own ciphertexts.
        self.source: EncryptedMatrix | None = None
        self._recut_to: dict[tuple[int, int], EncryptedMatrix] = {}
        if isinstance(tiles, EncryptedMatrix):
            self.source, of = tiles, tiles.step
            step.shape, step.grid, step.tile = self.shape, of.grid[::-1], of.tile[::-1]
            step.level, step.bound, step.error = of.level, of.bound, of.error
        else:
            self._settle(tiles)

    def _settle(self, tiles: Grid) -> None:
        self._tiles, step = tiles, self.step
        first = tiles[0][0].layout
        step.shape, step.grid, step.tile = self.shape, (len(tiles), len(tiles[0])), (first.rows, first.cols)
        step.level, step.bound = self.level, self.bound
        step.error = max(t.value.error_bound for t in self.every_tile())

    @property
    def tiles(self) -> Grid:
        """The ciphertexts, row by row."""
        if self.source is not None:
            of, self.source = self.source, None
            self.step.detail = ""
            self._settle([[of.transposed_tile(row[j]) for row in of.tiles] for j in range(len(of.tiles[0]))])
        return self._tiles

    def every_tile(self) -> Iterator[Tile]:
        """Return the ciphertexts one after the other, row by row."""
        return (t for row in self.tiles for t in row)

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("an encrypted number has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[EncryptedMatrix]:
        """Return the rows one after the other, or the numbers of a vector."""
        return (self[i] for i in range(len(self)))

    def __contains__(self, _: object) -> NoReturn:
        raise TypeError(f"nobody here knows whether an encrypted matrix holds a number: {self.revealed_by}")

    def __pos__(self) -> EncryptedMatrix:
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        """As numpy counts: (m, n), (n,) or ()."""
        return (self.rows, self.cols)[: self.ndim]

    @property
    def tile_shape(self) -> tuple[int, int]:
        """Rows and columns of each ciphertext."""
        first = self.tiles[0][0].layout
        return first.rows, first.cols

    @property
    def level(self) -> int:
        """Multiplications in a row that are left: the lowest level of the ciphertexts."""
        return int(min(t.value.level for t in self.every_tile()))

    @property
    def bound(self) -> float:
        """Largest |entry| that is possible by what was declared; public."""
        return float(max(t.value.bound for t in self.every_tile()))

    @property
    def error_bound(self) -> float:
        """Predicted largest error of an entry after decryption."""
        return self.step.error

    def __repr__(self) -> str:
        count = len(self.tiles) * len(self.tiles[0])
        return f"EncryptedMatrix{self.shape} in {count} ciphertext{'s' * (count > 1)}, level {self.level}"

    def decrypt(self) -> Any:
        """The matrix in the clear, if this is the key holder's; a float for shape ()."""
        if self.source is not None:
            return np.ascontiguousarray(self.source.decrypt().T)
        return self.machine.decrypt(self)

    def save(self, path: File) -> int:
        """Write the ciphertexts, and how they lie, to a file's name or to an open binary file.

        `session.load(path)` reads them, in the same session or in one with the same parameters and key.

        Returns:
            bytes written.

        Raises:
            ParameterError: this stands for a matrix of a program, and has no ciphertexts.
        """
        return self.machine.save(path, self)

    def to_bytes(self) -> bytes:
        """Return what `save` writes; `session.from_bytes` reads it. Raises as `save`."""
        return saved(self.save)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "an encrypted matrix belongs to its session, whose secret key no pickle carries: data = A.to_bytes() or "
            "A.save(path) here, and session.from_bytes(data) or session.load(path) where the session is"
        )

    def __copy__(self) -> EncryptedMatrix:
        return self

    def __deepcopy__(self, memo: Any) -> EncryptedMatrix:
        return self

    def assemble(self, slots_of: Callable[[Any], Array]) -> Any:
        """The matrix made of the decrypted slots of its ciphertexts."""
        values = [t.value for t in self.every_tile()]
        return self.assemble_numbered(lambda i: slots_of(values[i]))

    def assemble_numbered(self, slots_of: Callable[[int], Array]) -> Any:
        """The same, where the slots of a ciphertext are asked for by its number, row by row."""
        numbers = itertools.count()
        blocks = [[t.layout.unpack(slots_of(next(numbers))) for t in row] for row in self.tiles]
        whole: Array = np.block(blocks)[: self.rows, : self.cols]
        return float(whole[0, 0]) if self.ndim == 0 else np.ascontiguousarray(whole.reshape(self.shape))

    def forget(self) -> None:
        """Frees what is kept for further products with this matrix."""
        self._recut_to.clear()
        for t in self.every_tile():
            self.machine.forget_tile(t)

    # ---- products ----

    def __matmul__(self, other: Any) -> EncryptedMatrix:
        if not _is_operand(other):
            return NotImplemented
        return self.matmul(other)

    def __rmatmul__(self, other: Any) -> EncryptedMatrix:
        if not _is_operand(other):
            return NotImplemented
        other = self._operand(other)
        if 0 in other.shape:
            return self._without_entries(np.matmul, other, self)
        return self._times_plain(other, left=True)

    def matmul(self, other: Any, *, bound: float | None = None) -> EncryptedMatrix:
        """self @ other.

        Args:
            other: encrypted or plain numbers.
            bound: a promise that no entry of an encrypted product exceeds it; by default inner size times both
                bounds. Entries above it make the result wrong, once they exceed what the level can hold.

        Raises:
            ShapeError: inner sizes differ. LevelError: too few levels; the message has the number needed.
            MismatchError: the operands belong to different keys or parameters.
        """
        other = self._operand(other)
        if 0 in other.shape:
            return self._without_entries(np.matmul, self, other)
        if not isinstance(other, EncryptedMatrix):
            return self._times_plain(other, left=False)
        if 0 in (self.ndim, other.ndim):
            raise ShapeError("a number has no matrix products: multiply by plain numbers with *")
        a, b = (self.as_row() if self.ndim == 1 else self), other
        if a.cols != b.rows:
            raise _unchained(self.shape, other.shape)
        bound = None if bound is None else positive(bound, "bound")
        arguments = {} if bound is None else {"bound": bound}
        if (a.source is not None and b.cols == 1) or (b.source is not None and a.rows == 1):
            # X.T @ r is the transpose of r @ X: nothing of X moves.
            self.machine.novel = True
            turned = b.flipped().matmul(a.flipped(), bound=bound)
            step = Step("product", (self.step, other.step), arguments, detail=f"{turned.step.detail}, transposed")
            step.choice = turned.step.choice
            return self.result(_flipped(turned.tiles), a.rows, b.cols, self.ndim == 2, other.ndim == 2, step)
        a, b = _fitting(a, b, self.machine.slots)
        inner = len(b.tiles)
        share = None if bound is None else bound / inner
        tiles, choice = self.machine.products(a.tiles, b.tiles, share)
        count = len(a.tiles) * inner * len(b.tiles[0])
        several = f", {count} block products" if count > 1 else ""
        detail = f"{choice.plan.method} {choice.plan.label}".strip() + several
        step = Step("product", (self.step, other.step), arguments, detail=detail)
        step.choice = choice
        return self.result(tiles, a.rows, b.cols, self.ndim == 2, other.ndim == 2, step)

    def result(self, tiles: Grid, rows: int, cols: int, tall: bool, wide: bool, step: Step) -> EncryptedMatrix:
        """A result whose sides are there or not; a vector is kept as a column."""
        if wide and not tall:
            tiles, rows, cols = _flipped(tiles), cols, rows
        return EncryptedMatrix(self.machine, tiles, rows, cols, tall + wide, step)

    def _times_plain(self, other: PlainMatrix, *, left: bool) -> EncryptedMatrix:
        """self @ other, or other @ self: one linear transform of each tile."""
        if self.ndim == 0:
            raise ShapeError("a number has no matrix products: multiply by plain numbers with *")
        values = other.values
        if values.ndim == 0:
            raise ShapeError("a number has no matrix products: multiply by numbers with *")
        if left:
            # B^T P^T, whose layouts are those of P B with rows and columns exchanged.
            tiles, inner, outer = _flipped(self.tiles), self.rows, self.cols
            values = np.atleast_2d(values).T
        else:
            row = self.ndim == 1
            tiles, inner, outer = (_flipped(self.tiles), self.rows, 1) if row else (self.tiles, self.cols, self.rows)
            values = values[:, None] if values.ndim == 1 else values
        if values.shape[0] != inner:
            raise _unchained(*((other.shape, self.shape) if left else (self.shape, other.shape)))
        made = [_plain_products(self.machine, row, values, left) for row in tiles]
        operands = (other.step, self.step) if left else (self.step, other.step)
        count = len(self.tiles) * len(self.tiles[0])
        several = f" for each of {count} tiles" if count > 1 else ""
        step = Step("product", operands, detail="plain matrix, one linear transform" + several)
        sides = self.ndim == 2, other.values.ndim == 2
        if left:
            return self.result(_flipped(made), values.shape[1], outer, sides[1], sides[0], step)
        return self.result(made, outer, values.shape[1], *sides, step)

    # ---- sums and multiples ----

    def __add__(self, other: Any) -> EncryptedMatrix:
        return self._sum(other, 1) if _is_operand(other) else NotImplemented

    __radd__ = __add__

    def __sub__(self, other: Any) -> EncryptedMatrix:
        return self._sum(other, -1) if _is_operand(other) else NotImplemented

    def __rsub__(self, other: Any) -> EncryptedMatrix:
        return (-self)._sum(other, 1) if _is_operand(other) else NotImplemented

    def _sum(self, other: Any, sign: int) -> EncryptedMatrix:
        other = self._operand(other)
        if 0 in other.shape:
            return self._without_entries(np.add, self, other)
        if not isinstance(other, EncryptedMatrix):
            return self._plain_sum(other, sign)
        shape = broadcast(self.shape, other.shape)
        a, b = together(self, shape, "a sum"), together(other, shape, "a sum")
        b = b.recut(a.tile_shape)
        machine = self.machine
        tiles = []
        for left, right in zip(a.tiles, b.tiles, strict=True):
            signed = [t if sign > 0 else t.with_value(machine.run_negative(t.value)) for t in right]
            tiles.append([machine.add(x, y, "a sum") for x, y in zip(left, signed, strict=True)])
        step = Step("sum" if sign > 0 else "difference", (self.step, other.step))
        return EncryptedMatrix(machine, tiles, a.rows, a.cols, len(shape), step)

    def _plain_sum(self, other: PlainMatrix, sign: int) -> EncryptedMatrix:
        shape = broadcast(self.shape, other.shape)
        x = together(self, shape, "a sum")
        self.machine.novel |= other.shape != shape
        tiles: Grid = []
        for row, blocks in zip(x.tiles, plain_blocks(x, other, shape), strict=True):
            tiles.append([self.machine.plain_sum(t, sign * b) for t, b in zip(row, blocks, strict=True)])
        step = Step("sum" if sign > 0 else "difference", (self.step, other.step), detail="plain matrix")
        return EncryptedMatrix(self.machine, tiles, x.rows, x.cols, len(shape), step)

    def sum(self, axis: int | None = None, *, keepdims: bool = False) -> EncryptedMatrix:
        """The sum of all entries, of each column (axis 0) or of each row (1); rotations, and no level.

        Raises:
            ShapeError: there is no such axis. LevelError: the sum does not fit its level.
        """
        made: EncryptedMatrix = total(self, axis, keepdims)
        return made

    def mean(self, axis: int | None = None, *, keepdims: bool = False) -> EncryptedMatrix:
        """The mean, as `sum`; one level more."""
        return self.sum(axis, keepdims=keepdims) * (1 / count_of(self, axis))

    def __neg__(self) -> EncryptedMatrix:
        tiles = [[t.with_value(self.machine.run_negative(t.value)) for t in row] for row in self.tiles]
        return EncryptedMatrix(self.machine, tiles, self.rows, self.cols, self.ndim, Step("negative", (self.step,)))

    def __mul__(self, factor: Any) -> EncryptedMatrix:
        if not is_number(factor):
            if not _is_operand(factor):
                return NotImplemented
            check_entrywise(factor)
            factor = self._operand(factor)
            if 0 in factor.shape:
                return self._without_entries(np.multiply, self, factor)
            made: EncryptedMatrix = (entrywise if isinstance(factor, EncryptedMatrix) else entrywise_plain)(
                self, factor
            )
            return made
        f = finite(factor, "a matrix")
        whole = f.is_integer() and abs(f) <= MAX_WHOLE
        tiles = [[self.machine.multiple(t, f, whole=whole) for t in row] for row in self.tiles]
        detail = "whole number: no level" if whole else ""
        step = Step("multiple", (self.step,), {"by": f}, detail=detail)
        return EncryptedMatrix(self.machine, tiles, self.rows, self.cols, self.ndim, step)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> EncryptedMatrix:
        if isinstance(divisor, EncryptedMatrix):
            raise ParameterError(_NO_DIVISION)
        if isinstance(divisor, PlainMatrix):
            raise ParameterError(
                "nothing can be divided by a plain input, which is not known when it is planned: give its reciprocals "
                "as the input, and multiply"
            )
        if not is_number(divisor):
            if not is_plain(divisor):
                return NotImplemented
            values = PlainMatrix.constant(divisor).values
            if not values.all():
                raise RingforgeValueError("a matrix cannot be divided by 0: an entry of the divisor is")
            return self * (1 / values)
        if divisor == 0:
            raise RingforgeValueError("a matrix cannot be divided by 0")
        return self * (1 / finite(divisor, "a matrix"))

    def __rtruediv__(self, other: Any) -> EncryptedMatrix:
        raise ParameterError(_NO_DIVISION)

    @property
    def clean(self) -> bool:
        """The ciphertexts hold nothing but the entries, copies of them, and zeros."""
        return all(t.outside != MIXED for t in self.every_tile())

    def cleaned(self) -> EncryptedMatrix:
        """The same matrix in ciphertexts that hold nothing else: one level where sums have left old values behind.

        Programs do it to their outputs, so that these show whoever decrypts them the result and no more.
        """
        if self.clean:
            return self
        tiles = [[self.machine.masked(t, 1.0, "clearing other slots") for t in row] for row in self.tiles]
        return EncryptedMatrix(self.machine, tiles, self.rows, self.cols, self.ndim, Step("clean", (self.step,)))

    # ---- other places ----

    @property
    def T(self) -> EncryptedMatrix:  # noqa: N802
        """The transpose: one linear transform when something needs it; none for vectors, rows, columns, and where it
        is multiplied by a vector.
        """
        if self.ndim < 2:
            return self
        if self.source is not None:
            return self.source
        step, tiles = Step("transpose", (self.step,), detail="same slots"), self.tiles
        if 1 not in self.tile_shape:
            later = EncryptedMatrix(self.machine, self, self.cols, self.rows, 2, step)
            if self.machine.settings.version == 1:
                assert later.tiles
            return later
        return EncryptedMatrix(self.machine, _flipped(tiles), self.cols, self.rows, 2, step)

    def transposed_tile(self, tile: Tile) -> Tile:
        """A tile of the transpose, column by column."""
        have = tile.layout
        want = Layout.column_major(have.cols, have.rows)
        target, source = want.index().T.ravel(), have.index().ravel()
        move = SlotMatrix(self.machine.slots, target, source, np.ones(len(target)))
        generators = ((have.row_stride - have.cols, have.rows), (have.col_stride - 1, have.cols))
        return self.machine.transform(tile, move, want, generators, "a transposition")

    def flipped(self) -> EncryptedMatrix:
        """The transpose as what it is made of, or in the same slots."""
        if self.source is not None:
            return self.source
        return EncryptedMatrix(self.machine, _flipped(self.tiles), self.cols, self.rows, 2, self.step.like())

    def as_row(self) -> EncryptedMatrix:
        """A vector as a row."""
        return EncryptedMatrix(self.machine, _flipped(self.tiles), self.cols, self.rows, 2, replace(self.step))

    def __getitem__(self, key: Any) -> EncryptedMatrix:
        keys = key if isinstance(key, tuple) else (key,)
        if len(keys) > self.ndim or any(k is Ellipsis for k in keys):
            raise ShapeError(
                f"a block of an array of shape {self.shape} has up to {self.ndim} indices: slices and numbers"
            )
        picked, sizes = [], []
        for k, length in zip((*keys, slice(None), slice(None)), (self.rows, self.cols), strict=False):
            if not isinstance(k, slice | numbers.Integral) or isinstance(k, bool):
                raise ShapeError(f"{k!r} is no index of an encrypted matrix: use slices and whole numbers")
            if not isinstance(k, slice) and not -length <= int(k) < length:
                raise ShapeError(f"index {int(k)} is outside 0 ... {length - 1}")
            every = np.arange(length)
            picked.append(every[k] if isinstance(k, slice) else every[[int(k)]])
            sizes.append(isinstance(k, slice))
        rows, cols = picked
        if not len(rows) or not len(cols):
            return self._without_entries(lambda x: x[key], self)
        index = [[k.start, k.stop, k.step] if isinstance(k, slice) else int(k) for k in keys]
        step = Step("block", (self.step,), {"index": index})
        tall, wide = sizes[0], sizes[1] and self.ndim == 2
        whole = self._whole_tiles(rows, cols)
        if whole is not None:
            step.detail = "whole ciphertexts"
            return self.result(whole, len(rows), len(cols), tall, wide, step)
        r, c = self.tile_shape
        tile = even(len(rows), r), even(len(cols), c)
        return self.result(self._gathered(rows, cols, tile), len(rows), len(cols), tall, wide, step)

    def _whole_tiles(self, rows: Indices, cols: Indices) -> Grid | None:
        """The tiles that make up just this block, or None."""
        spans = []
        for index, size, length in zip((rows, cols), self.tile_shape, (self.rows, self.cols), strict=True):
            first, last = int(index[0]), int(index[-1]) + 1
            if len(index) != last - first or first % size or (last % size and last != length):
                return None
            spans.append(slice(first // size, -(-last // size)))
        return [row[spans[1]] for row in self.tiles[spans[0]]]

    def recut(self, tile: tuple[int, int]) -> EncryptedMatrix:
        """The same matrix in tiles of another shape: one linear transform where they differ."""
        if tile == self.tile_shape:
            return self
        if tile not in self._recut_to:
            tiles = self._gathered(np.arange(self.rows), np.arange(self.cols), tile)
            made = EncryptedMatrix(self.machine, tiles, self.rows, self.cols, self.ndim, replace(self.step))
            self._recut_to[tile] = made
        return self._recut_to[tile]

    def _gathered(self, rows: Indices, cols: Indices, tile: tuple[int, int]) -> Grid:
        """The block of these rows and columns in tiles of a shape, column by column."""
        want, (r, c) = Layout.column_major(*tile), self.tile_shape
        place = want.index()
        tiles: Grid = []
        for top in range(0, len(rows), tile[0]):
            tiles.append([])
            for left in range(0, len(cols), tile[1]):
                part: Tile | None = None
                for i, down in _by_tile(rows[top : top + tile[0]], r):
                    for j, over in _by_tile(cols[left : left + tile[1]], c):
                        source = self.tiles[i][j]
                        inside = source.layout.index()[np.ix_(rows[top + down] % r, cols[left + over] % c)]
                        target = place[np.ix_(down, over)].ravel()
                        move = SlotMatrix(self.machine.slots, target, inside.ravel(), np.ones(len(target)))
                        generators = ((source.layout.col_stride - want.col_stride, len(over)),)
                        moved = self.machine.transform(source, move, want, generators, "a block")
                        part = moved if part is None else self.machine.add(part, moved, "a block")
                assert part is not None
                tiles[-1].append(part)
        return tiles

    # ---- for people ----

    def explain(self) -> ShownGroup:
        """How this matrix came to be, step by step: plans, levels, bounds, predicted errors."""
        return explain_steps([self.step])

    def _without_entries(self, function: Callable[..., Any], *operands: Any) -> EncryptedMatrix:
        made: EncryptedMatrix = self.machine.without_entries(function, *operands)
        return made

    def _operand(self, other: Any) -> Any:
        """Return what stands on the other side of an operator: a matrix of the same machine, or a plain one."""
        if not isinstance(other, EncryptedMatrix):
            return other if isinstance(other, PlainMatrix) else PlainMatrix.constant(other)
        if self.machine is not other.machine:
            raise MismatchError(
                "the two matrices belong to different keys, parameters or programs: only matrices of one session, "
                "program or server can be combined"
            )
        return other


def _is_operand(x: Any) -> bool:
    return isinstance(x, EncryptedMatrix | PlainMatrix) or is_plain(x)


_NO_DIVISION = (
    "nothing can be divided by an encrypted matrix: divide by plain numbers, or have the reciprocals encrypted, and "
    "multiply"
)


def _unchained(a: tuple[int, ...], b: tuple[int, ...]) -> ShapeError:
    inner, outer = a[-1], b[0]
    remedy = "cut one of them with [...]"
    if len(b) == 2 and b[1] == inner:
        remedy = "transpose the right one with .T"
    elif len(a) == 2 and a[0] == outer:
        remedy = "transpose the left one with .T"
    elif a == b:
        remedy += ", or multiply entry by entry with *"
    return ShapeError(f"matrices of shapes {a} and {b} do not chain: {inner} columns are not {outer} rows; {remedy}")


def _flipped(tiles: Grid) -> Grid:
    """The tiles of the transpose, in the same slots."""

    def flip(t: Tile) -> Tile:
        x = t.layout
        return t.relabelled(Layout(x.cols, x.rows, x.col_stride, x.row_stride))

    return [[flip(row[j]) for row in tiles] for j in range(len(tiles[0]))]


def _by_tile(index: Indices, size: int) -> list[tuple[int, Indices]]:
    """Tiles of `size` that these rows or columns lie in, and which of the places in `index` do."""
    return [(int(t), np.flatnonzero(index // size == t)) for t in np.unique(index // size)]


def _fitting(a: EncryptedMatrix, b: EncryptedMatrix, slots: int) -> tuple[EncryptedMatrix, EncryptedMatrix]:
    """Both operands in tiles whose products exist and fit into a ciphertext."""
    (m, l), (k, n), side = a.tile_shape, b.tile_shape, math.isqrt(slots)  # noqa: E741
    inner = min(l, k)
    if m * n > slots and m > side:
        m = even(a.rows, side if n > side else slots // n)
    if m * n > slots:
        n = even(b.cols, slots // m)
    return a.recut((m, inner)), b.recut((inner, n))


def _plain_products(machine: Machine, row: list[Tile], values: Array, flipped: bool) -> list[Tile]:
    """A row of tiles times a plain matrix, (inner, n): the tiles of the result's row.

    The result keeps the strides of its operand or gets dense ones (row by row if `flipped`), whichever takes
    fewer diagonals.
    """
    have, slots = row[0].layout, machine.slots
    n, side = values.shape[1], math.isqrt(slots)
    width = n if have.rows * n <= slots else even(n, side if have.rows <= side else slots // have.rows)
    padded = np.zeros((have.cols * len(row), width * -(-n // width)))
    padded[: len(values), :n] = values
    dense = Layout.row_major(have.rows, width) if flipped else Layout.column_major(have.rows, width)
    kept = Layout(have.rows, width, have.row_stride, have.col_stride)
    choices = [w for w in (dense, kept) if w.extent <= slots and len(np.unique(w.index())) == have.rows * width]
    source = have.index()[:, :, None]

    def steps(want: Layout) -> int:
        return len(np.unique((source - want.index()[:, None, :]) % slots))

    want = min(choices, key=steps)
    target = want.index()[:, None, :]
    generators = (
        (have.row_stride - want.row_stride, have.rows),
        (have.col_stride, have.cols),
        (-want.col_stride, width),
    )

    def matrix(block: Array) -> SlotMatrix:
        i, c, j = np.nonzero(np.broadcast_to(block != 0, (have.rows, *block.shape)))
        return SlotMatrix(slots, target[i, 0, j], source[i, c, 0], block[c, j])

    out = []
    for left in range(0, padded.shape[1], width):
        total: Tile | None = None
        for k, tile in enumerate(row):
            block = padded[k * have.cols : (k + 1) * have.cols, left : left + width]
            if not block.any():
                continue
            map_, every = matrix(block), matrix(np.ones(block.shape))
            part = machine.transform(tile, map_, want, generators, "a product with a plain matrix", every)
            total = part if total is None else machine.add(total, part, "a sum of block products")
        if total is None:
            nothing = machine.multiple(row[0], 0.0, whole=True).relabelled(want)
            total = machine.drop(nothing, max(row[0].value.level - 1, 0))
        out.append(total)
    return out
