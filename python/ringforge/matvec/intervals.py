# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Values that leave the intervals of polynomials: found before planning, and among rows that are at hand.

A polynomial on an interval stands for another function there and nowhere else; beyond it grows without limit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ringforge.errors import ParameterError
from ringforge.matvec.calibration import Bounds
from ringforge.matvec.model import Layer, Linear, Sequential, Square
from ringforge.matvec.polynomial import Polynomial

Array = npt.NDArray[np.float64]

#: A model is refused if more than this part of the values before a polynomial lies outside of its interval, for inputs
#: drawn evenly within their bound. The worst case alone would refuse networks that never come near it.
MOST_OUTSIDE = 3 / 4

#: Rows that are drawn, and entries that they have at most.
_ROWS, _ENTRIES = 256, 1 << 22

#: Rounding that is no departure, relative to the interval's length.
_SLACK = 1e-9


@dataclass(frozen=True)
class Departure:
    """Values before a polynomial that may lie outside of its interval.

    Attributes:
        layer: place of the polynomial in the model.
        low, high: ends of what they may reach, if all earlier values stay in their intervals.
        interval: where the polynomial is an approximation.
        part: how many of them lie outside, of 1, for inputs drawn evenly within their bound.
    """

    layer: int
    low: float
    high: float
    interval: tuple[float, float]
    part: float

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"values before layer {self.layer} may reach {self.low:.4g} ... {self.high:.4g}, and its polynomial is an "
            f"approximation on {low:g} ... {high:g} alone ({100 * self.part:.0f} % of them lie outside, for inputs "
            "drawn evenly within their bound)"
        )


def departures(model: Sequential, bounds: Bounds) -> list[Departure]:
    """Polynomials whose intervals inputs within their bound may leave.

    None where samples stay inside, which `find_bounds` has made sure of, or where promised bounds do.
    """
    found: list[tuple[int, float, float, tuple[float, float]]] = []
    stated = [i for i, x in enumerate(model.layers) if isinstance(x, Polynomial) and x.interval is not None]
    if not stated:
        return []
    low: Array = np.full(model.inputs, -bounds.used[0])
    high = -low
    for i, layer in enumerate(model.layers[: stated[-1] + 1]):
        if isinstance(layer, Polynomial) and layer.interval is not None:
            sampled = bool(bounds.measured) and bounds.measured[i] > 0
            if not sampled and _beyond(low, layer.interval).any() | _beyond(high, layer.interval).any():
                found.append((i, float(low.min()), float(high.max()), layer.interval))
            low, high = np.clip(low, *layer.interval), np.clip(high, *layer.interval)
        low, high = _range(layer, low, high)
        promise = bounds.promised[i] if bounds.promised else None
        if promise is not None:
            low, high = np.clip(low, -promise, promise), np.clip(high, -promise, promise)
    if not found:
        return []
    parts = _parts(model, bounds)
    return [Departure(*one, parts[one[0]]) for one in found]


def refuse_hopeless(found: Sequence[Departure]) -> None:
    """Refuses models of which most values lie outside.

    Raises:
        ParameterError: more than `MOST_OUTSIDE` of the values before a polynomial; the message names the remedies.
    """
    for departure in found:
        if departure.part > MOST_OUTSIDE:
            raise ParameterError(
                f"{departure}: above {100 * MOST_OUTSIDE:.0f} % results would be wrong for most inputs. {REMEDY}"
            )


REMEDY = (
    "Give samples of the inputs, which tell what values really reach (samples=..., --samples), or bounds that you "
    "promise (bounds=..., --bounds), or take an approximation on a wider interval"
)


def warning_text(found: Sequence[Departure]) -> str:
    """One warning for all departures of a model."""
    return (
        f"{'; '.join(map(str, found))}. Results of inputs that go beyond may be wrong by any amount, which predicted "
        f"errors do not count. {REMEDY}"
    )


def rows_outside(model: Sequential, rows: Array) -> tuple[int, str]:
    """How many rows of inputs leave an interval anywhere, and where the first that is left lies, for a message.

    The model is computed in the clear, as it will be on ciphertexts.
    """
    left = np.zeros(len(rows), dtype=bool)
    where = ""
    values = rows
    last = max(
        (i for i, x in enumerate(model.layers) if isinstance(x, Polynomial) and x.interval is not None), default=-1
    )
    with np.errstate(all="ignore"):
        for i, layer in enumerate(model.layers[: last + 1]):
            if isinstance(layer, Polynomial) and layer.interval is not None:
                now = _beyond(values, layer.interval).any(axis=1)
                if now.any() and not where:
                    low, high = layer.interval
                    where = f"the interval {low:g} ... {high:g} of the polynomial in layer {i}"
                left |= now
            values = layer(values)
    return int(left.sum()), where


def _beyond(values: Array, interval: tuple[float, float]) -> npt.NDArray[np.bool_]:
    """Which values lie outside; no number counts as outside."""
    low, high = interval
    slack = _SLACK * (high - low)
    return ~((values >= low - slack) & (values <= high + slack))


def _range(layer: Layer, low: Array, high: Array) -> tuple[Array, Array]:
    """Ends of each value's range after a layer."""
    with np.errstate(all="ignore"):
        if isinstance(layer, Linear):
            middle, half = (low + high) / 2, (high - low) / 2
            centre = layer(middle)
            reach = np.abs(layer.weights) @ half
            return centre - reach, centre + reach
        if isinstance(layer, Square):
            most = np.maximum(low * low, high * high)
            return np.where((low <= 0) & (high >= 0), 0.0, np.minimum(low * low, high * high)), most
        # One range for all values: the grid's points are near enough to every extreme for a warning.
        points = np.linspace(float(low.min()), float(high.max()), 64 * (layer.degree + 1))
        values = layer(points)
        return np.full(low.shape, values.min()), np.full(high.shape, values.max())


def _parts(model: Sequential, bounds: Bounds) -> dict[int, float]:
    """For each polynomial on an interval, which part of the values before it lies outside, for inputs drawn evenly.

    Values outside are put onto the interval's ends before the next layer, so that each layer answers for itself.
    """
    count = max(1, min(_ROWS, _ENTRIES // model.inputs))
    values: Array = np.random.default_rng(0).uniform(-bounds.used[0], bounds.used[0], (count, model.inputs))
    found: dict[int, float] = {}
    with np.errstate(all="ignore"):
        for i, layer in enumerate(model.layers):
            if isinstance(layer, Polynomial) and layer.interval is not None:
                found[i] = float(_beyond(values, layer.interval).mean())
                values = np.clip(values, *layer.interval)
            values = layer(values)
            promise = bounds.promised[i] if bounds.promised else None
            if promise is not None and math.isfinite(promise):
                values = np.clip(values, -promise, promise)
    return found


__all__ = ["MOST_OUTSIDE", "REMEDY", "Departure", "departures", "refuse_hopeless", "rows_outside", "warning_text"]
