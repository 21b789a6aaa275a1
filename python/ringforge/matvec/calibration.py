# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Bounds of what layers give: the worst case of any inputs, and what samples or a promise say instead."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ringforge.arrays import real_numbers
from ringforge.errors import LevelError, ParameterError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.matvec.model import Layer, Linear, Sequential
from ringforge.matvec.polynomial import Polynomial

#: Measured bounds are multiplied by this.
SAFETY = 2.0


@dataclass(frozen=True)
class Bounds:
    """Sizes of values along a model.

    Attributes:
        used: bound of the inputs, then after each layer; powers of 2^(1/4) after the first.
        worst: the same for any inputs within the first.
        measured: largest |value| of samples there; empty without samples.
        promised: for each layer, the bound that holds only for inputs like those planned for, or None.
        samples: how many there were.
        safety: what measured sizes were multiplied by.
    """

    used: tuple[float, ...]
    worst: tuple[float, ...]
    measured: tuple[float, ...] = ()
    promised: tuple[float | None, ...] = ()
    samples: int = 0
    safety: float = SAFETY


def rounded(bound: float) -> float:
    """A power of 2^(1/4) not below: what devices report."""
    return 2.0 ** (math.ceil(4 * math.log2(bound) - 1e-9) / 4) if bound > 0 else 1.0


def find_bounds(
    model: Sequential,
    input_bound: float | None,
    samples: npt.ArrayLike | None = None,
    promised: Sequence[float | None] | None = None,
    safety: float = SAFETY,
) -> Bounds:
    """Bounds along a model.

    Args:
        input_bound: of inputs; None for 1, or with samples for `safety` times the largest of them.
        samples: inputs as rows, computed in the clear: results of linear layers are taken to be at most `safety` times
            as large as theirs, where the worst case is larger. Before a polynomial on an interval, they are taken to
            stay in it when the samples do.
        promised: bounds of results, one for each linear layer, None where none is known; instead of samples.

    Raises:
        ParameterError, ShapeError, ringforge.ValueError: arguments that cannot be; samples that leave the interval of a
        polynomial. LevelError: results may reach 2^1024.
    """
    if samples is not None and promised is not None:
        raise ParameterError("samples or bounds give what layers reach, not both: leave one out")
    if not (safety >= 1 and math.isfinite(safety)):
        raise ParameterError(f"the safety factor is a finite number from 1 on, not {safety}")
    if input_bound is not None and not (input_bound > 0 and math.isfinite(input_bound)):
        raise ParameterError(f"input_bound must be positive and finite, not {input_bound}")
    layers = model.layers
    rows = None if samples is None else _rows(samples, model.inputs)
    measured = () if rows is None else _measured(layers, rows)
    if input_bound is None:
        input_bound = _stays(layers[0], safety * measured[0]) if measured and measured[0] else 1.0
    if measured and measured[0] > input_bound * (1 + 1e-12):
        raise ParameterError(f"a sample reaches {measured[0]:.6g}, above the input bound {input_bound:g}: raise it")
    promises = _promises(layers, measured, promised, safety)
    used, worst = [float(input_bound)], [float(input_bound)]
    for i, layer in enumerate(layers):
        worst.append(_after(layer, worst[-1]))
        bound = _after(layer, used[-1])
        promise = promises[i]
        if promise is not None and promise >= bound:
            promises[i] = promise = None
        used.append(bound if promise is None else promise)
    if not math.isfinite(used[-1]):
        raise LevelError(
            "results may reach 2^1024, which fits no parameters: scale weights or inputs down, or say what layers "
            "really reach (samples=..., --samples)"
        )
    count = 0 if rows is None else len(rows)
    return Bounds(tuple(used), tuple(worst), measured, tuple(promises), count, safety)


def _rows(samples: npt.ArrayLike, width: int) -> npt.NDArray[np.float64]:
    rows = np.atleast_2d(real_numbers(samples, "samples"))
    if rows.ndim != 2 or rows.shape[1] != width or not len(rows):
        raise ShapeError(f"samples must be rows of length {width}; got an array of shape {rows.shape}")
    if not np.isfinite(rows).all():
        raise RingforgeValueError("samples must be finite numbers: found NaN or infinity")
    return rows


def _measured(layers: Sequence[Layer], rows: npt.NDArray[np.float64]) -> tuple[float, ...]:
    """Largest sizes of samples, checking the intervals of polynomials."""
    found = [float(np.abs(rows).max())]
    for i, layer in enumerate(layers):
        if isinstance(layer, Polynomial) and layer.interval is not None:
            low, high = layer.interval
            if rows.min() < low or rows.max() > high:
                raise ParameterError(
                    f"samples reach {rows.min():.4g} ... {rows.max():.4g} before layer {i}, outside the interval "
                    f"{low:g} ... {high:g} of its polynomial, which is no approximation there: take one for a larger "
                    "interval"
                )
        rows = layer(rows)
        found.append(float(np.abs(rows).max()))
        if not math.isfinite(found[-1]):
            raise LevelError(f"samples exceed 2^1024 after layer {i}, which fits no parameters: scale weights down")
    return tuple(found)


def _promises(
    layers: Sequence[Layer], measured: Sequence[float], promised: Sequence[float | None] | None, safety: float
) -> list[float | None]:
    """For each layer the promised bound, powers of 2^(1/4), or None."""
    out: list[float | None] = [None] * len(layers)
    linear = [i for i, layer in enumerate(layers) if isinstance(layer, Linear)]
    if promised is not None:
        given = list(promised)
        if len(given) != len(linear):
            raise ParameterError(
                f"bounds has {len(given)} numbers for {len(linear)} linear layers: one for each, None if unknown"
            )
        for i, bound in zip(linear, given, strict=True):
            if bound is not None and not (bound > 0 and math.isfinite(bound)):
                raise ParameterError(f"a promised bound is positive and finite, not {bound}")
            out[i] = None if bound is None else rounded(bound)
    elif measured:
        for i in linear:
            most = measured[i + 1]
            bound = rounded(safety * most) if most else None
            out[i] = bound if bound is None or i + 1 == len(layers) else _stays(layers[i + 1], bound)
    return out


def _stays(layer: Layer, bound: float) -> float:
    """The bound of a layer's inputs: those of an approximation stay in its interval, as samples do (`_measured`)."""
    if isinstance(layer, Polynomial) and layer.interval is not None:
        return min(bound, max(abs(layer.interval[0]), abs(layer.interval[1])))
    return bound


def _after(layer: Layer, bound: float) -> float:
    """Bound after a layer; infinite where there is none."""
    if not math.isfinite(bound):
        return math.inf
    try:
        found = layer.output_bound(bound)
    except (OverflowError, RingforgeValueError):
        return math.inf
    return rounded(found) if math.isfinite(found) else math.inf
