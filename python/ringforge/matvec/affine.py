# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Models under construction: values are affine functions of what the last activation gave, or polynomials of one.

Importers compute with these values as the foreign model does with numbers. Affine steps are folded exactly, in float64,
so that scaler, projection and regression cost one product; what is no polynomial never becomes such a value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ringforge.errors import MemoryLimitError, ShapeError, UnsupportedModelError
from ringforge.matvec.model import Layer, Linear, Sequential, Square

Array = npt.NDArray[np.float64]

#: Entries of one matrix under construction: 512 MiB of doubles.
MAX_ENTRIES = 1 << 26

#: Degree up to which powers are multiplied out into one polynomial.
MAX_DEGREE = 63


def check_entries(rows: int, cols: int, what: str = "this layer") -> None:
    """Refuses matrices that would fill memory.

    Raises:
        MemoryLimitError: more than `MAX_ENTRIES` entries.
    """
    if rows * cols > MAX_ENTRIES:
        raise MemoryLimitError(
            f"as a matrix, {what} has {rows} x {cols} entries, at most {MAX_ENTRIES} are built: take smaller inputs, "
            "fewer channels, larger strides, or pool earlier"
        )


class Affine:
    """An affine function of the `base`-th activation's results (0: the inputs), of any shape without the batch.

    The linear part is `diagonal` (one factor for each value of the base, in order), or `full`, of shape (base's
    values, *shape): what each value of the base alone gives.
    """

    def __init__(self, base: int, width: int, offset: Array, diagonal: Array | None, full: Array | None) -> None:
        self.base, self.width = base, width
        self.offset, self.diagonal, self.full = offset, diagonal, full

    @classmethod
    def identity(cls, base: int, shape: tuple[int, ...]) -> Affine:
        width = math.prod(shape)
        return cls(base, width, np.zeros(shape), np.ones(width), None)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.offset.shape

    @property
    def size(self) -> int:
        return self.offset.size

    @property
    def is_identity(self) -> bool:
        return self.diagonal is not None and bool((self.diagonal == 1).all()) and not self.offset.any()

    def dense(self) -> Array:
        """The linear part, (base's values, *shape)."""
        if self.full is not None:
            return self.full
        assert self.diagonal is not None
        check_entries(self.width, self.width, "a layer over these inputs")
        return np.diag(self.diagonal).reshape(self.width, *self.shape)

    def scaled(self, factor: npt.ArrayLike) -> Affine:
        """Each value times a factor; `factor` broadcasts to the shape."""
        f = self._fit(factor)
        if self.diagonal is not None:
            return Affine(self.base, self.width, self.offset * f, self.diagonal * f.reshape(-1), None)
        return Affine(self.base, self.width, self.offset * f, None, self.dense() * f)

    def shifted(self, addend: npt.ArrayLike) -> Affine:
        """Each value plus a number."""
        return Affine(self.base, self.width, self.offset + self._fit(addend), self.diagonal, self.full)

    def _fit(self, given: npt.ArrayLike) -> Array:
        a: Array = np.asarray(given, dtype=np.float64)
        while a.ndim > len(self.shape) and a.shape[0] == 1:  # a batch of one
            a = a[0]
        try:
            return np.broadcast_to(a, self.shape)
        except ValueError:
            raise ShapeError(f"a constant of shape {a.shape} does not fit values of shape {self.shape}") from None

    def plus(self, other: Affine) -> Affine:
        """The sum of two functions of the same activation.

        Raises:
            UnsupportedModelError: of different ones. ShapeError: of different shapes.
        """
        if self.base != other.base:
            raise UnsupportedModelError(
                "a sum of values before and after an activation is not supported: both sides of a residual connection "
                "must be affine functions of the same values"
            )
        if self.shape != other.shape:
            raise ShapeError(f"values of shape {self.shape} and {other.shape} cannot be added")
        offset = self.offset + other.offset
        if self.diagonal is not None and other.diagonal is not None:
            return Affine(self.base, self.width, offset, self.diagonal + other.diagonal, None)
        return Affine(self.base, self.width, offset, None, self.dense() + other.dense())

    def reshaped(self, shape: tuple[int, ...]) -> Affine:
        """The same values in the same order."""
        full = None if self.full is None else self.full.reshape(self.width, *shape)
        return Affine(self.base, self.width, self.offset.reshape(shape), self.diagonal, full)

    def mapped(self, function: Callable[[Array], Array], shape: tuple[int, ...]) -> Affine:
        """A linear function of the values, given for stacks (k, *shape before) -> (k, *shape)."""
        check_entries(math.prod(shape), self.width)
        return Affine(self.base, self.width, function(self.offset[None])[0], None, function(self.dense()))

    def product(self, matrix: Array) -> Affine:
        """Values as rows, times a matrix (last axis, outputs)."""
        *rest, last = self.shape
        if matrix.shape[0] != last:
            raise ShapeError(f"the weights take {matrix.shape[0]} values, there are {last}")
        shape = (*rest, matrix.shape[1])
        if self.diagonal is not None and not rest:
            check_entries(matrix.shape[1], self.width)
            return Affine(self.base, self.width, self.offset @ matrix, None, self.diagonal[:, None] * matrix)
        return self.mapped(lambda stack: stack @ matrix, shape)

    @staticmethod
    def joined(parts: Sequence[Affine], axis: int) -> Affine:
        """Functions of the same activation beside each other; axis 0 is the first after the batch."""
        if len({p.base for p in parts}) > 1:
            raise UnsupportedModelError("values before and after an activation cannot be joined")
        first = parts[0]
        check_entries(sum(p.size for p in parts), first.width)
        try:
            offset = np.concatenate([p.offset for p in parts], axis)
            return Affine(first.base, first.width, offset, None, np.concatenate([p.dense() for p in parts], axis + 1))
        except ValueError as e:
            raise ShapeError(f"values of shapes {[p.shape for p in parts]} cannot be joined: {e}") from None

    def layer(self) -> Linear:
        """All values as one layer."""
        bias = self.offset.reshape(-1)
        return Linear(self.dense().reshape(self.width, -1).T, bias if bias.any() else None)


class Value:
    """A polynomial, value by value, of an affine function; of degree 1 it is one itself.

    Args:
        root: the affine function.
        coefficients: lowest first.
        layer: the activation to use as it is, in place of one made from the coefficients.
    """

    def __init__(self, root: Affine, coefficients: Sequence[float] = (0.0, 1.0), layer: Layer | None = None) -> None:
        self.root, self.coefficients, self.layer = root, tuple(coefficients), layer

    @property
    def degree(self) -> int:
        return len(self.coefficients) - 1

    @property
    def shape(self) -> tuple[int, ...]:
        return self.root.shape

    @cached_property
    def _line(self) -> Affine:
        constant, slope = self.coefficients
        return self.root if (constant, slope) == (0.0, 1.0) else self.root.scaled(slope).shifted(constant)

    def line(self, model: Builder) -> Affine:
        """The value as an affine function, if need be of a new activation."""
        return self._line if self.degree == 1 else model.activate(self)

    def combined(self, other: Value, what: Callable[..., npt.NDArray[np.float64]]) -> Value | None:
        """Sum, difference or product (of `numpy.polynomial.polynomial`), or None where it is none of one value."""
        if self.root is not other.root:
            return None
        return _value(self.root, what(self.coefficients, other.coefficients))

    def times(self, factor: float) -> Value:
        return _value(self.root, np.multiply(self.coefficients, factor))

    def plus(self, number: float) -> Value:
        return _value(self.root, [self.coefficients[0] + number, *self.coefficients[1:]])

    def power(self, exponent: int) -> Value:
        return _value(self.root, np.polynomial.polynomial.polypow(self.coefficients, exponent, MAX_DEGREE))

    def same(self, other: Value) -> bool:
        """Whether both are the same function."""
        return self.root is other.root and self.coefficients == other.coefficients


def _value(root: Affine, coefficients: npt.ArrayLike) -> Value:
    c = np.asarray(coefficients, dtype=np.float64)
    known = np.flatnonzero(c)
    degree = max(1, int(known[-1]) if len(known) else 1)
    return Value(root, [*c[: degree + 1].tolist(), *[0.0] * (2 - len(c))])


class Builder:
    """The layers so far.

    Args:
        polynomial: makes the layer of given coefficients, lowest first.
    """

    def __init__(self, polynomial: Callable[[Sequence[float]], Layer]) -> None:
        self.layers: list[Layer] = []
        self.base = 0
        self._polynomial = polynomial
        self._known: list[tuple[Value, Affine]] = []

    def activate(self, value: Value) -> Affine:
        """Appends the activation of a value, and the layer that leads to it; gives its results, scaled as needed."""
        for before, result in self._known:
            if before.same(value) and before.layer is value.layer:
                return result
        made = self._append(value, at_the_end=False)
        self._known.append((value, made))
        return made

    def _append(self, value: Value, *, at_the_end: bool) -> Affine:
        root, c = value.root, value.coefficients
        if root.base != self.base:
            raise UnsupportedModelError(
                "two different activations of the same values, or one beside another, are not supported: models are "
                "chains of layers"
            )
        if not self.layers or not root.is_identity:
            self.layers.append(root.layer())
        squared = len(c) == 3 and c[1] == 0 and (not at_the_end or c == (0.0, 0.0, 1.0))
        self.layers.append(value.layer or (Square() if squared else self._polynomial(c)))
        self.base += 1
        after = Affine.identity(self.base, root.shape)
        # What a square is multiplied by goes into the next layer.
        return after.scaled(c[2]).shifted(c[0]) if squared and value.layer is None else after

    def model(self, value: Value) -> Sequential:
        """The model whose results are the value's.

        Raises:
            UnsupportedModelError: an earlier value, after which an activation has been computed in vain.
        """
        if value.degree > 1:
            known = [a for v, a in self._known if v.same(value) and v.layer is value.layer]
            result = known[0] if known else self._append(value, at_the_end=True)
        else:
            result = value.line(self)
        if result.base != self.base:
            raise UnsupportedModelError("the results do not depend on the last activation: remove it from the model")
        if not self.layers or not result.is_identity:
            self.layers.append(result.layer())
        return Sequential(self.layers)
