# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Fitted scikit-learn estimators as models for encrypted rows.

scikit-learn is not imported: classes are known by their names and module, weights by their fitted attributes. What is
made of them is compared with the estimator's own results on probe rows, so that none is taken and wrong.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ringforge import frames
from ringforge.arrays import real_numbers
from ringforge.errors import ParameterError, ShapeError, UnsupportedModelError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.matvec.affine import Affine, Builder, Value
from ringforge.matvec.estimators import EncryptedTransformer, Estimator, estimator
from ringforge.matvec.polynomial import Polynomial
from ringforge.matvec.rule import InputRange, Rule
from ringforge.matvec.sklearn_check import check_results
from ringforge.matvec.sklearn_fitted import fitted as attribute
from ringforge.matvec.sklearn_fitted import name_of, refuse
from ringforge.matvec.sklearn_models import Activation, Context, Scores, last, parts, predicted, predicts, supported
from ringforge.matvec.sklearn_reasons import reason
from ringforge.matvec.sklearn_steps import OPENED, opened, transformed, transforms

Array = npt.NDArray[np.float64]
Range = tuple[npt.ArrayLike, npt.ArrayLike]


def from_sklearn(
    fitted: Any,
    *,
    activation: Activation | None = None,
    input_range: Range | None = None,
    method: Literal["auto", "predict", "transform"] = "auto",
) -> Estimator:
    """A fitted estimator, pipeline or search for encrypted rows.

    Chains of affine steps (scalers, PCA, linear models, networks with activation identity) become one matrix, so that a
    pipeline costs a single product. Products of features, normal distributions and polynomial kernels cost squares.

    Args:
        fitted: a fitted estimator of scikit-learn itself. `ringforge matvec estimators` lists all classes: those that
        are taken, and the others with the reason.
        activation: what to compute in place of a network's relu, tanh or logistic: a Square, a Polynomial, or
            `matvec.approximations.relu(degree, interval)`.
        input_range: (low, high), numbers or one for each feature, that inputs lie in: `matvec.input_range(samples)`.
            Public. They are mapped to -1 ... 1, which keeps bounds and errors small where features differ in size.
            Without it, inputs are encrypted as they are, up to the program's bound of inputs. Ends with names (ranges
            measured on a data frame, a pandas Series such as `frame.min()`) are put in the order of the model's.
        method: "predict" or "transform", for estimators that do both, as LinearDiscriminantAnalysis. By default they
            predict, and the result's `transform` is there too.

    Returns:
        an EncryptedClassifier, EncryptedRegressor or EncryptedTransformer.

    Raises:
        UnsupportedModelError: another class, or options that no polynomial computes; the message says why.
        ParameterError: an estimator that is not fitted.
    """
    if activation is not None and not isinstance(activation, Activation):
        raise ParameterError(
            f"activation is {activation!r}; matvec.Square(), a matvec.Polynomial or one of matvec.approximations is "
            "needed"
        )
    if method not in ("auto", "predict", "transform"):
        raise ParameterError(f'method is {method!r}; "auto", "predict" or "transform" is needed')
    if not predicts(fitted) and not transforms(last(fitted)):
        refuse(last(fitted), supported())
    both = predicts(fitted) and transforms(last(fitted))
    if method == "transform" and not transforms(last(fitted)):
        raise ParameterError(f"{type(last(fitted)).__name__} transforms nothing: leave method= out")
    made = _imported(fitted, activation, input_range, method)
    if both and method == "auto":
        with contextlib.suppress(UnsupportedModelError):  # as of a discriminant analysis that only predicts
            also = _imported(fitted, None, input_range, "transform")
            made.transformation = also if isinstance(also, EncryptedTransformer) else None
    return made


def _imported(fitted: Any, activation: Activation | None, input_range: Range | None, method: str) -> Estimator:
    context = Context(Builder(Polynomial), activation)
    predicting = method != "transform" and predicts(fitted)
    inputs = _inputs(fitted)
    features = _feature_names(fitted, inputs)
    low, high = _range(input_range, inputs, features)
    start = Affine.identity(0, (inputs,))
    if low is not None and high is not None:
        half = (high - low) / 2
        start = start.scaled(np.where(half > 0, half, 1.0)).shifted(low + half)
    if predicting:
        found = predicted(fitted, start, context)
    else:
        found = Scores(Value(transformed(fitted, start, context.model)), {"kind": "features"})
    if activation is not None and not context.replaced:
        raise ParameterError("activation= replaces a network's relu, tanh or logistic; this model has none")
    layers = context.model.model(found.value)
    rule = Rule.of(
        inputs=inputs,
        outputs=layers.outputs,
        low=None if low is None else _short(low),
        high=None if high is None else _short(high),
        features=features,
        **found.rule,
    )
    made = estimator(layers, rule)
    if context.replaced:
        return made
    column = check_results(fitted, made)
    return estimator(layers, rule.model_copy(update={"one_column": True})) if column else made


def _inputs(step: Any) -> int:
    """Number of features that an estimator was fitted to.

    Raises:
        ParameterError: it is not fitted. UnsupportedModelError: it is none of scikit-learn's.
    """
    name = name_of(step)
    if name == "Pipeline":
        return _inputs(parts(step)[0])
    if name in OPENED and not hasattr(step, "n_features_in_"):
        return _inputs(opened(step))
    if name and reason(name) and not hasattr(step, "n_features_in_"):
        refuse(step, [])
    return int(attribute(step, "n_features_in_"))


def _feature_names(step: Any, inputs: int) -> list[str] | None:
    """The names of the columns that a model was fitted with, or None."""
    while step is not None:
        names = getattr(step, "feature_names_in_", None)
        if names is not None and len(names) == inputs:
            return [str(n) for n in names]
        # Wrappers know the names where what they wrap was fitted to them.
        if name_of(step) == "Pipeline":
            step = parts(step)[0]
        elif name_of(step) in OPENED:
            step = opened(step)
        else:
            step = getattr(step, "regressor_", getattr(step, "estimator_", None))
    return None


def _range(given: Range | None, inputs: int, features: Sequence[str] | None) -> tuple[Array, Array] | tuple[None, None]:
    if given is None:
        return None, None
    names = given.names if isinstance(given, InputRange) else None
    try:
        low, high = (_end(end, names, features) for end in given)
    except (TypeError, ValueError):
        raise ParameterError("input_range is a pair (low, high), each a number or one for each feature") from None
    if {low.shape, high.shape} - {(), (inputs,)}:
        raise ShapeError(f"input_range has ends of shape {low.shape} and {high.shape} for {inputs} features")
    if not np.isfinite(low).all() or not np.isfinite(high).all() or (low > high).any():
        raise RingforgeValueError("input_range must be finite, low <= high for each feature")
    return np.broadcast_to(low, (inputs,)), np.broadcast_to(high, (inputs,))


def _end(end: Any, names: Sequence[Any] | None, features: Sequence[str] | None) -> Array:
    """One end of ranges, in the order of the features where it has names."""
    known = frames.column_names(end) if names is None else names
    numbers = real_numbers(end, "ends of input_range")
    if numbers.ndim == 2 and len(numbers) == 1:
        numbers = numbers[0]  # of data frames of one row, as polars gives them
    return numbers if known is None or features is None else numbers[frames.order(known, features, "input_range")]


def _short(a: Array) -> list[float]:
    return [float(a[0])] if (a == a[0]).all() else [float(v) for v in a]
