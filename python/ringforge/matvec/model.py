# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Models the server owns: linear layers, squares and polynomials, in the clear."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ringforge.arrays import real_numbers
from ringforge.errors import ShapeError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.matvec.polynomial import Polynomial

Array = npt.NDArray[np.float64]

#: Largest matrix side a model file may ask for.
MAX_SIDE = 1 << 20


class Linear:
    """y = W x + b.

    Args:
        weights: matrix (m, n), finite numbers.
        bias: vector (m,), or None for zero.

    Raises:
        ShapeError, ringforge.ValueError: wrong shapes, or entries that are not finite real numbers.
    """

    def __init__(self, weights: npt.ArrayLike, bias: npt.ArrayLike | None = None) -> None:
        w = np.ascontiguousarray(real_numbers(weights, "weights"))
        if w.ndim != 2 or 0 in w.shape:
            raise ShapeError(f"weights must be a matrix with rows and columns, not of shape {w.shape}")
        b = np.zeros(0) if bias is None else np.ascontiguousarray(real_numbers(bias, "the bias's entries"))
        if bias is not None and b.shape != (w.shape[0],):
            raise ShapeError(f"the bias has shape {b.shape}, a matrix of shape {w.shape} needs ({w.shape[0]},)")
        if not np.isfinite(w).all() or not np.isfinite(b).all():
            raise RingforgeValueError("weights and bias must be finite numbers: found NaN or infinity")
        self.weights: Array = w
        self.bias: Array = b

    @property
    def rows(self) -> int:
        return int(self.weights.shape[0])

    @property
    def cols(self) -> int:
        return int(self.weights.shape[1])

    def __call__(self, x: Array) -> Array:
        """Applies the layer to one vector (n,) or to rows of a matrix (k, n)."""
        y = real_numbers(x, "inputs") @ self.weights.T
        return y + self.bias if self.bias.size else y

    def output_bound(self, input_bound: float) -> float:
        """Largest |y| for inputs of size at most `input_bound`."""
        sums = np.abs(self.weights).sum(axis=1) * input_bound
        return float((sums + np.abs(self.bias) if self.bias.size else sums).max())

    def __repr__(self) -> str:
        return f"Linear({self.rows} x {self.cols}{', bias' if self.bias.size else ''})"


class Square:
    """y = x * x, slot by slot: the activation that encryption can compute exactly."""

    def __call__(self, x: Array) -> Array:
        return real_numbers(x, "inputs") ** 2

    def output_bound(self, input_bound: float) -> float:
        """Largest |y| for inputs of size at most `input_bound`."""
        return input_bound * input_bound

    def __repr__(self) -> str:
        return "Square()"


Layer = Linear | Square | Polynomial


@dataclass(frozen=True)
class Sequential:
    """Layers applied one after the other: at least one is linear; shapes must chain.

    A model may begin with activations: they take as many values as its first linear layer.

    Raises:
        ShapeError: no linear layer, something else than a layer, or sizes that do not chain.
    """

    layers: Sequence[Layer]

    def __post_init__(self) -> None:
        for i, layer in enumerate(self.layers):
            if not isinstance(layer, Linear | Square | Polynomial):
                raise ShapeError(f"layer {i} is {layer!r}; layers are Linear, Square and Polynomial")
        if not any(isinstance(layer, Linear) for layer in self.layers):
            raise ShapeError("a model needs a Linear layer, which says how many values it takes")
        width = None
        for i, layer in enumerate(self.layers):
            if isinstance(layer, Linear):
                if width is not None and layer.cols != width:
                    raise ShapeError(f"layer {i} takes {layer.cols} values, the one before gives {width}")
                width = layer.rows

    @property
    def inputs(self) -> int:
        """Length of an input vector."""
        return next(layer for layer in self.layers if isinstance(layer, Linear)).cols

    @property
    def outputs(self) -> int:
        """Length of a result vector."""
        return [layer for layer in self.layers if isinstance(layer, Linear)][-1].rows

    def __call__(self, x: npt.ArrayLike) -> Array:
        """The model in the clear, for one vector or rows of a matrix."""
        y = real_numbers(x, "inputs")
        for layer in self.layers:
            y = layer(y)
        return y


Model = Linear | Sequential


def as_sequential(model: Model | Iterable[Layer]) -> Sequential:
    """Any model as a Sequential."""
    if isinstance(model, Sequential):
        return model
    if isinstance(model, Linear):
        return Sequential([model])
    return Sequential(list(model))
