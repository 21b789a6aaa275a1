# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Scores of predictions, as scikit-learn's `score` computes them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge.arrays import real_numbers
from ringforge.errors import ShapeError
from ringforge.errors import ValueError as RingforgeValueError

Array = npt.NDArray[np.float64]


def accuracy(y: npt.ArrayLike, predicted: npt.NDArray[Any], weights: npt.ArrayLike | None = None) -> float:
    """Share of rows whose class is the predicted one.

    Args:
        y: true classes, (k,) or (k, 1).
        predicted: classes, (k,).
        weights: of rows, (k,).

    Raises:
        ShapeError: other shapes, or no rows. ringforge.ValueError: weights that are no finite numbers.
    """
    given = np.asarray(y)
    given = given[:, 0] if given.ndim == 2 and given.shape[1] == 1 else given
    if given.shape != predicted.shape or not len(predicted):
        raise ShapeError(f"{len(predicted)} rows need a class each, one at least, not classes of shape {given.shape}")
    if (given.dtype.kind in "US") != (predicted.dtype.kind in "US") and given.dtype.kind != "O":
        raise ShapeError(
            f"classes of type {given.dtype} cannot be compared with the model's, of type {predicted.dtype}: give the "
            "labels that the model was fitted to"
        )
    return float(np.average(given == predicted, weights=_weights(weights, len(predicted))))


def determination(y: npt.ArrayLike, predicted: Array, weights: npt.ArrayLike | None = None) -> float:
    """Coefficient of determination R^2, the mean over targets.

    Args:
        y: true values, (k,) or (k, targets).
        predicted: values, of the same shape; (k,) and (k, 1) go together.
        weights: of rows, (k,).

    Raises:
        ShapeError: other shapes, or fewer than two rows. ringforge.ValueError: what are no finite numbers.
    """
    given = real_numbers(y, "targets")
    truth, found = (a.reshape(len(a), math.prod(a.shape[1:])) if a.ndim else a for a in (given, predicted))
    if truth.shape != found.shape or len(found) < 2:
        raise ShapeError(
            f"{len(found)} predictions of shape {predicted.shape} need as many targets, for two rows at least, not an "
            f"array of shape {given.shape}"
        )
    if not np.isfinite(truth).all():
        raise RingforgeValueError("targets must be finite numbers: found NaN or infinity")
    w = _weights(weights, len(found))
    left = np.average((truth - found) ** 2, axis=0, weights=w)
    whole = np.average((truth - np.average(truth, axis=0, weights=w)) ** 2, axis=0, weights=w)
    # A constant target: 1 if all is right, else 0.
    each = np.where(whole > 0, 1 - left / np.where(whole > 0, whole, 1), np.where(left > 0, 0.0, 1.0))
    return float(each.mean())


def _weights(given: npt.ArrayLike | None, count: int) -> Array | None:
    if given is None:
        return None
    weights = real_numbers(given, "sample_weight")
    if weights.shape != (count,):
        raise ShapeError(f"sample_weight has shape {weights.shape}; {count} rows need ({count},)")
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise RingforgeValueError("sample_weight must be finite numbers of at least 0, not all of them 0")
    return weights
