# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Convolutions and average pools as linear layers: images are vectors, channel by channel, row by row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ringforge.arrays import real_numbers
from ringforge.errors import ParameterError, ShapeError
from ringforge.matvec.model import MAX_SIDE, Linear

Pair = tuple[int, int]

#: Entries of a matrix that a convolution is made into.
_MAX_ENTRIES = 1 << 28


def conv2d(
    weights: npt.ArrayLike,
    bias: npt.ArrayLike | None,
    input_shape: tuple[int, int, int],
    stride: int | Pair = 1,
    padding: int | Pair | tuple[int, int, int, int] = 0,
) -> Linear:
    """The matrix of a convolution, as machine learning has it: a correlation, the kernel is not flipped.

    Args:
        weights: (channels out, channels in, kernel rows, kernel columns).
        bias: (channels out,), or None.
        input_shape: (channels, rows, columns) of the images, which are vectors of that many numbers in this order.
        stride: steps down and to the right.
        padding: rows and columns of zeros around the image; four numbers are top, left, bottom, right, as in ONNX.

    Returns:
        a layer whose results are images of channels out, rows, columns, in this order.

    Raises:
        ShapeError, ParameterError, ringforge.ValueError: sizes that do not fit together.
    """
    w = real_numbers(weights, "weights")
    channels, height, width = _shape(input_shape)
    if w.ndim != 4 or 0 in w.shape:
        raise ShapeError(f"a convolution's weights have 4 sides (out, in, rows, columns), not {w.shape}")
    if w.shape[1] != channels:
        raise ShapeError(f"the weights are for {w.shape[1]} channels, images have {channels}")
    top, left, bottom, right = _padding(padding)
    down, across = _pair(stride, "stride", 1)
    out, _, tall, wide = w.shape
    rows, columns = (height + top + bottom - tall) // down + 1, (width + left + right - wide) // across + 1
    if height + top + bottom < tall or width + left + right < wide:
        raise ShapeError(f"a kernel of {tall} x {wide} is larger than the padded image")
    _check_size(out * rows * columns, channels * height * width)
    matrix = np.zeros((out, rows, columns, channels, height, width))
    for i in range(rows):
        for j in range(columns):
            for y in range(tall):
                for x in range(wide):
                    row, column = i * down + y - top, j * across + x - left
                    if 0 <= row < height and 0 <= column < width:
                        matrix[:, i, j, :, row, column] = w[:, :, y, x]
    shift = None
    if bias is not None:
        b = real_numbers(bias, "the bias's entries")
        if b.shape != (out,):
            raise ShapeError(f"the bias has shape {b.shape}, {out} channels need ({out},)")
        shift = np.repeat(b, rows * columns)
    return Linear(matrix.reshape(out * rows * columns, -1), shift)


def average_pool(input_shape: tuple[int, int, int], size: int | Pair, stride: int | Pair | None = None) -> Linear:
    """The matrix of averages over windows of each channel, without padding.

    Args:
        input_shape: (channels, rows, columns).
        size: rows and columns of a window.
        stride: steps down and to the right; by default the window's size.

    Raises:
        ShapeError, ParameterError: sizes that do not fit together.
    """
    channels, height, width = _shape(input_shape)
    tall, wide = _pair(size, "size", 1)
    down, across = (tall, wide) if stride is None else _pair(stride, "stride", 1)
    if tall > height or wide > width:
        raise ShapeError(f"a window of {tall} x {wide} is larger than the image")
    rows, columns = (height - tall) // down + 1, (width - wide) // across + 1
    _check_size(channels * rows * columns, channels * height * width)
    matrix = np.zeros((channels, rows, columns, channels, height, width))
    for c in range(channels):
        for i in range(rows):
            for j in range(columns):
                matrix[c, i, j, c, i * down : i * down + tall, j * across : j * across + wide] = 1 / (tall * wide)
    return Linear(matrix.reshape(channels * rows * columns, -1))


def fused(layers: list[Linear]) -> Linear:
    """Linear layers that follow each other, as one."""
    weights, bias = layers[0].weights, layers[0].bias
    for layer in layers[1:]:
        bias = layer.weights @ bias if bias.size else bias
        if layer.bias.size:
            bias = bias + layer.bias if bias.size else layer.bias
        weights = layer.weights @ weights
    return Linear(weights, bias if bias.size else None)


def _check_size(outputs: int, inputs: int) -> None:
    if max(outputs, inputs) > MAX_SIDE or outputs * inputs > _MAX_ENTRIES:
        raise ShapeError(f"the matrix of {outputs} x {inputs} is too large: take smaller images, or fewer channels")


def _shape(shape: tuple[int, int, int]) -> tuple[int, int, int]:
    sides = tuple(shape)
    if len(sides) != 3 or any(isinstance(s, bool) or not isinstance(s, int | np.integer) or s < 1 for s in sides):
        raise ShapeError(f"images have a shape (channels, rows, columns) of positive whole numbers, not {shape!r}")
    return int(sides[0]), int(sides[1]), int(sides[2])


def _pair(value: int | Sequence[int], what: str, least: int) -> Pair:
    pair = tuple(value) if isinstance(value, Sequence) else (value, value)
    if len(pair) != 2 or any(isinstance(v, bool) or not isinstance(v, int | np.integer) or v < least for v in pair):
        raise ParameterError(f"{what} is a whole number from {least} on, or two of them, not {value!r}")
    return int(pair[0]), int(pair[1])


def _padding(value: int | Pair | tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    if isinstance(value, Sequence) and len(value) == 4:
        top, left = _pair((value[0], value[1]), "padding", 0)
        bottom, right = _pair((value[2], value[3]), "padding", 0)
        return top, left, bottom, right
    down, across = _pair(value, "padding", 0)
    return down, across, down, across
