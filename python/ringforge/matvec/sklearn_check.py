# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Imported estimators held against scikit-learn's own results on probe rows, so that none is taken and wrong."""

from __future__ import annotations

import warnings
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge.errors import ParameterError, UnsupportedModelError
from ringforge.files import first_line
from ringforge.matvec.estimators import Estimator
from ringforge.matvec.model import Linear

Array = npt.NDArray[np.float64]

#: Rows of each kind that are compared.
_ROWS = 8

#: Largest difference, relative to the largest number on the way; some estimators keep their weights in float32.
_TOLERANCE = 1e-5


def check_results(fitted: Any, made: Estimator) -> bool:
    """Compares an import with the estimator on probe rows, in the clear.

    Args:
        fitted: the estimator of scikit-learn.
        made: what was made of it, all of its activations exact.

    Returns:
        whether a regression gives its single values as a column (k, 1).

    Raises:
        UnsupportedModelError: the estimator computes something else than its attributes say, or nothing at all.
    """
    rule = made.rule
    x = _probe(made)
    values = rule.model_copy(update={"features": None}).encode(x)
    results = np.asarray(made.model(values))
    slack = _TOLERANCE * _size(made, values)
    if rule.kind == "features":
        _compare(fitted, "transform", _ask(fitted, "transform", x, rule.features), results, slack)
        return False
    if rule.classes is None:
        with np.errstate(over="ignore"):
            found = rule.scores(rule.probabilities(results))
        if rule.link != "identity":  # relative errors of exponentials are absolute ones of what they are taken of
            slack = slack * (1 + np.abs(found.reshape(len(x), -1)))
        theirs = _ask(fitted, "predict", x, rule.features)
        _compare(fitted, "predict", theirs, found, slack)
        return bool(np.shape(theirs) == (len(x), 1))
    if rule.decision != "order" and hasattr(fitted, "decision_function"):
        _compare(
            fitted,
            "decision_function",
            _ask(fitted, "decision_function", x, rule.features),
            rule.scores(results),
            slack,
        )
    sure = ~rule.uncertain(results, float(np.max(slack)))
    labels = np.asarray(_ask(fitted, "predict", x, rule.features))
    if (labels[sure] != rule.labels(results)[sure]).any():
        raise _another(fitted, "predict")
    if rule.link != "identity" and hasattr(fitted, "predict_proba"):
        theirs = np.array(_ask(fitted, "predict_proba", x, rule.features), dtype=np.float64)
        if rule.link == "one-vs-rest":  # quotients of numbers that double precision hardly holds, or does not
            theirs[results.max(axis=1) < -600] = np.nan
        _compare(fitted, "predict_proba", theirs, rule.probabilities(results), slack)
    return False


def _probe(made: Estimator) -> Array:
    """Rows within the ranges of features, or of size about 1 and, for what bends further out, about 30."""
    generator = np.random.default_rng(20)
    shape = (_ROWS, made.rule.inputs)
    if made.rule.low is not None:
        return made.rule.decode(generator.uniform(-1, 1, shape))
    return np.concatenate([generator.standard_normal(shape), np.abs(generator.standard_normal(shape)) * 30])


def _size(made: Estimator, values: Array) -> Array:
    """Size of the largest number on the way from encoded rows to each row's results, (k, 1)."""
    largest = np.ones(len(values))
    for layer in made.model.layers:
        if isinstance(layer, Linear):
            terms = np.abs(values) @ np.abs(layer.weights).T + (np.abs(layer.bias) if layer.bias.size else 0.0)
            largest = np.maximum(largest, terms.max(axis=1))
        values = layer(values)
    return largest[:, None]


def _ask(fitted: Any, method: str, x: Array, names: list[str] | None) -> Any:
    """What the estimator itself gives; a data frame goes in where it was fitted to one."""
    rows: Any = x
    if names is not None and find_spec("pandas") is not None:
        rows = import_module("pandas").DataFrame(x, columns=names)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = getattr(fitted, method)(rows)
        except Exception as e:
            name = type(fitted).__name__
            if "NotFitted" in type(e).__name__:
                raise ParameterError(f"this {name} is not fitted: call fit(X, y) before from_sklearn") from None
            raise UnsupportedModelError(
                f"this {name} cannot {method} rows of {x.shape[1]} numbers itself, so what it computes cannot be "
                f"checked: {first_line(e)}"
            ) from None
    return found.toarray() if hasattr(found, "toarray") else found


def _compare(fitted: Any, method: str, theirs: Any, ours: Array, slack: Array) -> None:
    exact = np.asarray(theirs, dtype=np.float64)
    if exact.size != ours.size:
        raise _another(fitted, method)
    # Exponentials may overflow on probe rows, on both sides.
    known = np.isfinite(exact) & np.isfinite(ours.reshape(exact.shape))
    far = np.abs(exact - ours.reshape(exact.shape)) > np.broadcast_to(
        slack if exact.ndim > 1 else slack.reshape(len(slack), -1)[:, 0], exact.shape
    )
    # Logistic functions may vanish on all probe rows; scores and classes were compared before.
    if (far & known).any() or not (known.any() or method == "predict_proba"):
        raise _another(fitted, method)


def _another(fitted: Any, method: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"this {type(fitted).__name__} does not compute what its fitted attributes say: its {method} differs from the "
        "model made of them, so it would be answered wrongly. Fit it again with this release of scikit-learn, or give "
        "its weights as matvec.Linear(weights, bias)"
    )
