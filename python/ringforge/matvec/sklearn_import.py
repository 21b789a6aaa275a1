# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Fitted scikit-learn estimators as models for encrypted rows.

scikit-learn is not imported: classes are known by their names and module, weights by their fitted attributes. What is
not in the tables below is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge import frames
from ringforge.arrays import real_numbers
from ringforge.errors import ParameterError, ShapeError, UnsupportedModelError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.matvec.affine import Affine, Builder, Value
from ringforge.matvec.approximations import Approximation
from ringforge.matvec.estimators import Estimator, estimator
from ringforge.matvec.model import Square
from ringforge.matvec.polynomial import Polynomial
from ringforge.matvec.rule import InputRange, Link, Rule

Array = npt.NDArray[np.float64]
Activation = Approximation | Polynomial | Square
Range = tuple[npt.ArrayLike, npt.ArrayLike]

REGRESSORS = {
    "LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV", "LinearSVR",
    "SGDRegressor",
}  # fmt: skip
CLASSIFIERS = {
    "LogisticRegression", "LogisticRegressionCV", "LinearSVC", "SGDClassifier", "LinearDiscriminantAnalysis",
    "RidgeClassifier", "RidgeClassifierCV", "Perceptron",
}  # fmt: skip
NETWORKS = {"MLPClassifier", "MLPRegressor"}

#: scikit-learn's names of activations, and the approximation's.
_APPROXIMATED = {"relu": "relu", "tanh": "tanh", "logistic": "sigmoid"}


def from_sklearn(fitted: Any, *, activation: Activation | None = None, input_range: Range | None = None) -> Estimator:
    """A fitted estimator or pipeline for encrypted rows.

    Chains of affine steps (scalers, PCA, linear models, networks with activation identity) become one matrix, so that a
    pipeline costs a single product.

    Args:
        fitted: one of LinearRegression, Ridge, Lasso, ElasticNet, LinearSVR, SGDRegressor, LogisticRegression,
            LinearSVC, SGDClassifier, LinearDiscriminantAnalysis, RidgeClassifier, Perceptron, MLPClassifier,
            MLPRegressor, PCA, TruncatedSVD, StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, or a Pipeline of
            them.
        activation: what to compute in place of a network's relu, tanh or logistic: a Square, a Polynomial, or
            `matvec.approximations.relu(degree, interval)`.
        input_range: (low, high), numbers or one for each feature, that inputs lie in: `matvec.input_range(samples)`.
            Public. They are mapped to -1 ... 1, which keeps bounds and errors small where features differ in size.
            Without it, inputs are encrypted as they are, up to the program's bound of inputs. Ends with names (ranges
            measured on a data frame, a pandas Series such as `frame.min()`) are put in the order of the model's.

    Returns:
        an EncryptedClassifier, EncryptedRegressor or EncryptedTransformer.

    Raises:
        UnsupportedModelError: another class, or options that no polynomial computes; the message names them.
        ParameterError: an estimator that is not fitted.
    """
    steps = list(_steps(fitted))
    if activation is not None and not isinstance(activation, Activation):
        raise ParameterError(
            f"activation is {activation!r}; matvec.Square(), a matvec.Polynomial or one of matvec.approximations is "
            "needed"
        )
    model = Builder(Polynomial)
    inputs = _inputs(steps[0])
    features = _feature_names(fitted, steps[0], inputs)
    low, high = _range(input_range, inputs, features)
    start = Affine.identity(0, (inputs,))
    if low is not None and high is not None:
        half = (high - low) / 2
        start = start.scaled(np.where(half > 0, half, 1.0)).shifted(low + half)
    value, replaced = Value(start), 0
    kind: dict[str, Any] = {"kind": "features"}
    for i, step in enumerate(steps):
        name = type(step).__name__
        if name in TRANSFORMERS and not (name == "LinearDiscriminantAnalysis" and i + 1 == len(steps)):
            value = Value(TRANSFORMERS[name](step, value.line(model)))
        elif i + 1 < len(steps):
            raise UnsupportedModelError(f"{name} in the middle of a pipeline: it transforms nothing")
        elif name in NETWORKS:
            value, replaced = _network(step, value, model, activation)
            kind = _network_rule(step, value)
        else:
            weights, intercept = _coefficients(step)
            value = Value(value.line(model).product(weights.T).shifted(intercept))
            kind = {"kind": "values"} if name in REGRESSORS else _linear_rule(step, len(weights))
    if activation is not None and not replaced:
        raise ParameterError("activation= replaces a network's relu, tanh or logistic; this model has none")
    layers = model.model(value)
    rule = Rule.of(
        inputs=inputs,
        outputs=layers.outputs,
        low=None if low is None else _short(low),
        high=None if high is None else _short(high),
        features=features,
        one_column=_one_column(steps[-1], kind["kind"], layers.outputs),
        **kind,
    )
    return estimator(layers, rule)


def _steps(fitted: Any) -> Sequence[Any]:
    """The estimators of a pipeline, one after the other."""
    kind = type(fitted)
    name = kind.__name__
    known = {*REGRESSORS, *CLASSIFIERS, *NETWORKS, *TRANSFORMERS, "Pipeline"}
    if not kind.__module__.startswith("sklearn.") or name not in known:
        raise UnsupportedModelError(
            f"{kind.__module__}.{name} is not supported; supported are {', '.join(sorted(known))} of scikit-learn"
        )
    if name != "Pipeline":
        return [fitted]
    out: list[Any] = []
    for _, step in fitted.steps:
        if step is not None and not (isinstance(step, str) and step == "passthrough"):
            out.extend(_steps(step))
    if not out:
        raise UnsupportedModelError("the pipeline has no steps but passthrough")
    return out


# ---- fitted attributes ---------------------------------------------------------------------------


def _fitted(step: Any, name: str) -> Any:
    try:
        return getattr(step, name)
    except AttributeError:
        raise ParameterError(
            f"this {type(step).__name__} is not fitted (it has no {name}): call fit(X, y) before from_sklearn"
        ) from None


def _array(step: Any, name: str) -> Array:
    value = _fitted(step, name)
    if hasattr(value, "toarray") or hasattr(value, "todense"):
        raise UnsupportedModelError(
            f"{name} of this {type(step).__name__} is a sparse matrix: make it dense first, as densify() does"
        )
    numbers = real_numbers(value, name)
    if not np.isfinite(numbers).all():
        raise RingforgeValueError(f"{name} of this {type(step).__name__} must be finite: found NaN or infinity")
    return numbers


def _inputs(step: Any) -> int:
    return int(_fitted(step, "n_features_in_"))


def _feature_names(fitted: Any, first: Any, inputs: int) -> list[str] | None:
    """The names of the columns that a model was fitted with, or None."""
    found = getattr(fitted, "feature_names_in_", None)
    names = getattr(first, "feature_names_in_", None) if found is None else found
    return None if names is None or len(names) != inputs else [str(n) for n in names]


def _one_column(step: Any, kind: str, outputs: int) -> bool | None:
    """True where predictions of a single target are a column (k, 1), as those of scikit-learn then are."""
    flat = kind != "values" or outputs != 1 or getattr(step, "_predict_1d", False)
    return None if flat or np.ndim(getattr(step, "coef_", 0)) != 2 else True


def _coefficients(step: Any) -> tuple[Array, Array]:
    """Weights (outputs, inputs) and intercepts (outputs,)."""
    weights = np.atleast_2d(_array(step, "coef_"))
    intercept = np.broadcast_to(_array(step, "intercept_").reshape(-1), (len(weights),))
    return weights, intercept


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


# ---- transformations -----------------------------------------------------------------------------


def _standard(step: Any, x: Affine) -> Affine:
    _fitted(step, "scale_")
    if step.with_mean:
        x = x.shifted(-_array(step, "mean_"))
    return x.scaled(1 / _array(step, "scale_")) if step.with_std else x


def _min_max(step: Any, x: Affine) -> Affine:
    if step.clip:
        raise UnsupportedModelError("MinMaxScaler(clip=True) is no affine function: fit it with clip=False")
    return x.scaled(_array(step, "scale_")).shifted(_array(step, "min_"))


def _max_abs(step: Any, x: Affine) -> Affine:
    if getattr(step, "clip", False):
        raise UnsupportedModelError("MaxAbsScaler(clip=True) is no affine function: fit it with clip=False")
    return x.scaled(1 / _array(step, "scale_"))


def _robust(step: Any, x: Affine) -> Affine:
    _fitted(step, "scale_")
    if step.with_centering:
        x = x.shifted(-_array(step, "center_"))
    return x.scaled(1 / _array(step, "scale_")) if step.with_scaling else x


def _pca(step: Any, x: Affine) -> Affine:
    components = _array(step, "components_")
    x = x.shifted(-_array(step, "mean_")).product(components.T)
    if step.whiten:
        # scikit-learn keeps tiny variances from blowing up in the same way.
        deviations = np.sqrt(_array(step, "explained_variance_"))
        x = x.scaled(1 / np.maximum(deviations, np.finfo(np.float64).eps))
    return x


def _svd(step: Any, x: Affine) -> Affine:
    return x.product(_array(step, "components_").T)


def _discriminants(step: Any, x: Affine) -> Affine:
    if step.solver == "lsqr":
        raise UnsupportedModelError("LinearDiscriminantAnalysis(solver='lsqr') transforms nothing: use svd or eigen")
    scalings = _array(step, "scalings_")[:, : int(_fitted(step, "_max_components"))]
    return (x.shifted(-_array(step, "xbar_")) if step.solver == "svd" else x).product(scalings)


TRANSFORMERS: dict[str, Callable[[Any, Affine], Affine]] = {
    "StandardScaler": _standard,
    "MinMaxScaler": _min_max,
    "MaxAbsScaler": _max_abs,
    "RobustScaler": _robust,
    "PCA": _pca,
    "TruncatedSVD": _svd,
    "LinearDiscriminantAnalysis": _discriminants,
}


# ---- decisions -----------------------------------------------------------------------------------


def _classes(step: Any) -> list[Any]:
    """Labels as plain Python values.

    Raises:
        UnsupportedModelError: several labels for a row, or labels that are no numbers, texts or booleans.
    """
    classes = _fitted(step, "classes_")
    labels = np.asarray(classes[0] if isinstance(classes, list) and len(classes) == 1 else classes)
    if labels.ndim != 1 or len(labels) < 2:
        raise UnsupportedModelError(f"{type(step).__name__} with {labels.shape} classes: one label for a row is needed")
    plain: list[Any] = labels.tolist()
    if len({type(c) for c in plain}) > 1 or not isinstance(plain[0], bool | int | float | str):
        raise UnsupportedModelError("classes must be numbers, texts or booleans of one type")
    return plain


def _linear_rule(step: Any, outputs: int) -> dict[str, Any]:
    classes, name = _classes(step), type(step).__name__
    if outputs != (1 if len(classes) == 2 else len(classes)):
        raise UnsupportedModelError(
            f"{name} with {len(classes)} classes and {outputs} scores: several labels for a row"
        )
    link: Link = "identity"
    if name in ("LogisticRegression", "LogisticRegressionCV"):
        link = _logistic_link(step, len(classes))
    elif name == "LinearDiscriminantAnalysis":
        link = "sigmoid" if len(classes) == 2 else "softmax"
    elif name == "SGDClassifier" and step.loss in ("log_loss", "modified_huber"):
        link = "one-vs-rest" if step.loss == "log_loss" else "clip"
    return {"kind": "classes", "classes": classes, "link": link}


def _logistic_link(step: Any, classes: int) -> Link:
    # Releases before 1.8 have multi_class.
    choice = getattr(step, "multi_class", "auto")
    if choice == "ovr" or step.solver == "liblinear":
        return "one-vs-rest"
    if classes == 2 and choice == "multinomial":
        raise UnsupportedModelError(
            "LogisticRegression(multi_class='multinomial') of two classes: fit it without multi_class"
        )
    return "sigmoid" if classes == 2 else "softmax"


def _network(step: Any, value: Value, model: Builder, activation: Activation | None) -> tuple[Value, int]:
    """The network's last values before its output rule, and how many activations were replaced."""
    weights, biases, replaced = _fitted(step, "coefs_"), _fitted(step, "intercepts_"), 0
    for i, (w, b) in enumerate(zip(weights, biases, strict=True)):
        line = value.line(model).product(real_numbers(w, "coefs_")).shifted(real_numbers(b, "intercepts_"))
        value = Value(line)
        if i + 1 < len(weights) and step.activation != "identity":
            value = activated(line, _layer(step.activation, activation))
            replaced += 1
    return value, replaced


def activated(line: Affine, layer: Square | Polynomial) -> Value:
    """An activation of an affine function."""
    return Value(line, (0.0, 0.0, 1.0) if isinstance(layer, Square) else tuple(layer.coefficients.tolist()), layer)


def _layer(wanted: str, activation: Activation | None) -> Square | Polynomial:
    known = _APPROXIMATED.get(wanted)
    if activation is None:
        raise UnsupportedModelError(
            f"activation {wanted!r} is no polynomial, so encryption cannot compute it: fit the network with activation "
            "'identity', or name a replacement that is good on a stated interval: from_sklearn(mlp, "
            f"activation=matvec.approximations.{known or 'relu'}(degree, interval))"
        )
    if not isinstance(activation, Approximation):
        return activation
    if known is not None and activation.name != known:
        raise ParameterError(
            f"the network's activation is {wanted!r}, the replacement approximates {activation.name!r}"
        )
    return activation.polynomial


def _network_rule(step: Any, value: Value) -> dict[str, Any]:
    out, name = _fitted(step, "out_activation_"), type(step).__name__
    if name == "MLPRegressor":
        if out != "identity":
            raise UnsupportedModelError(f"MLPRegressor with output {out!r}: fit it with loss='squared_error'")
        return {"kind": "values"}
    classes, outputs = _classes(step), value.shape[0]
    if outputs != (1 if len(classes) == 2 else len(classes)) or (out == "logistic") != (outputs == 1):
        raise UnsupportedModelError("MLPClassifier with several labels for a row is not supported: one label is needed")
    return {"kind": "classes", "classes": classes, "link": "sigmoid" if outputs == 1 else "softmax"}
