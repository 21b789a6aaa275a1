# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Levels and scales of a model's layers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ringforge.matvec.model import Layer, Linear
from ringforge.matvec.polynomial import Polynomial
from ringforge.matvec.polynomial_circuit import depth

#: Scales below this lose results in noise; the compiler takes a higher level instead.
MIN_LOG_SCALE = 30.0

#: log2 of the scales that a matrix may be encoded at, with something to spare.
_MATRIX = (17.0, 61.5)

#: Bits between the largest value and the modulus: its sign, and rounding.
_SPARE = 1.5


def layer_depth(layer: Layer) -> int:
    """Levels that a layer takes."""
    return depth(layer.degree) if isinstance(layer, Polynomial) else 1


def model_depth(layers: Sequence[Layer]) -> int:
    """Levels that all layers take."""
    return sum(map(layer_depth, layers))


def common_scales(
    layers: Sequence[Layer], bounds: Sequence[float], log_q: Sequence[float], log_scale: float, top: int
) -> list[float] | None:
    """log2 of the scale before each layer and after the last, or None when some result would not fit.

    The working scale is lowered until every result fits its level; inputs take a larger one. A square maps
    scale s to s^2/q, so the layer before it is asked for the s that returns to the working scale.
    """
    working = log_scale
    for _ in range(2):
        scales = [working]
        for i, layer in enumerate(layers):
            after = top - i - 1  # level of the result
            if isinstance(layer, Linear):
                squares = i + 1 < len(layers) and not isinstance(layers[i + 1], Linear)
                scales.append((working + log_q[after]) / 2 if squares else working)
            else:
                scales.append(2 * scales[-1] - log_q[after + 1])
        slack = min(
            sum(log_q[: top - i]) - _SPARE - scales[i + 1] - math.log2(bounds[i + 1]) for i in range(len(layers))
        )
        if slack >= 0:
            if working < MIN_LOG_SCALE:
                return None
            # Fresh inputs may have a larger scale than results. Rotations add about 2^9 of error to them, which
            # the matrix multiplies; its own rounding is 1/2. With 3 bits more on the input's side both count alike.
            room = sum(log_q[: top + 1]) - _SPARE - math.log2(bounds[0])
            scales[0] = max(scales[0], min((log_q[top] + scales[1]) / 2 + 3, room))
            return scales
        working += 2 * slack if any(not isinstance(x, Linear) for x in layers) else slack
    return None


def own_scales(
    layers: Sequence[Layer], bounds: Sequence[float], log_q: Sequence[float], log_scale: float, top: int
) -> list[float] | None:
    """The same with a scale of each layer's own: the largest value at it is as large as the prime that comes next.

    Then a square and every product of a polynomial keep that: (q/B)²/q = q/B². Results are at the largest scale that
    fits, below the next prime.
    """
    levels = [top]
    for layer in layers:
        levels.append(levels[-1] - layer_depth(layer))
    if levels[-1] < 0:
        return None
    last = len(layers)
    sizes = [math.log2(b) for b in bounds]
    rooms = [sum(log_q[: level + 1]) - _SPARE - size for level, size in zip(levels, sizes, strict=True)]
    wanted = [min(log_q[level] - size, room) for level, size, room in zip(levels, sizes, rooms, strict=True)]
    wanted[last] = min(rooms[last], log_q[levels[last - 1]] - sizes[last])
    for i in range(last - 1, -1, -1):
        if not isinstance(layers[i], Linear | Polynomial):
            wanted[i] = min(rooms[i], (wanted[i + 1] + log_q[levels[i]]) / 2)
    if isinstance(layers[0], Linear):
        wanted[0] = min((log_q[top] + wanted[1]) / 2 + 3, rooms[0])
    scales = [wanted[0]]
    for i, layer in enumerate(layers):
        prime = log_q[levels[i]]
        if isinstance(layer, Linear):
            low, high = (scales[i] + bits - prime for bits in _MATRIX)
            scales.append(max(min(wanted[i + 1], high), low))
        elif isinstance(layer, Polynomial):
            scales.append(wanted[i + 1])
        else:
            scales.append(2 * scales[i] - prime)
        if not 1 <= scales[-1] <= min(rooms[i + 1], 120.0):
            return None
    # With less than this under the results nothing would be left of them.
    return scales if scales[last] >= min(MIN_LOG_SCALE, log_scale) else None
