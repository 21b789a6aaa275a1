# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Fitted classifiers, regressions and their wrappers as scores of features, and the rules that read the scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge.arrays import real_numbers
from ringforge.errors import ParameterError, UnsupportedModelError
from ringforge.matvec.affine import Affine, Builder, Value
from ringforge.matvec.approximations import Approximation
from ringforge.matvec.decisions import pair_count, pairs
from ringforge.matvec.model import Square
from ringforge.matvec.polynomial import Polynomial
from ringforge.matvec.rule import Link
from ringforge.matvec.sklearn_fitted import array, columns, dense, fitted, name_of, refuse
from ringforge.matvec.sklearn_steps import (
    OPENED,
    TRANSFORMERS,
    kernel,
    opened,
    selection,
    squared,
    transformed,
    unscaled,
)

Array = npt.NDArray[np.float64]
Activation = Approximation | Polynomial | Square

#: scikit-learn's names of activations, and the approximation's.
_APPROXIMATED = {"relu": "relu", "tanh": "tanh", "logistic": "sigmoid"}


@dataclass
class Context:
    """The model under construction, and what stands for activations that are no polynomials."""

    model: Builder
    activation: Activation | None = None
    replaced: int = 0
    """How many activations were replaced."""


@dataclass(frozen=True)
class Scores:
    """Scores of features, with the fields of the rule that reads them."""

    value: Value
    rule: dict[str, Any] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return self.value.shape[0]


def predicted(step: Any, x: Affine, context: Context) -> Scores:
    """The scores of a fitted classifier or regression, or of a pipeline or wrapper that ends in one.

    Raises:
        UnsupportedModelError: one that no polynomial computes; the message says why. ParameterError: not fitted.
    """
    name = name_of(step)
    if name == "Pipeline":
        *before, last = parts(step)
        for part in before:
            x = transformed(part, x, context.model)
        return predicted(last, x, context)
    if name in OPENED:
        return predicted(opened(step), x, context)
    if name in PREDICTORS:
        return PREDICTORS[name](step, x, context)
    if not name or name in TRANSFORMERS or not hasattr(step, "predict"):
        refuse(step, supported())
    if not _linear(step):
        refuse(step, supported())
    # Whatever else has weights: the import compares its results with the estimator's own.
    return _classifier(step, x, context) if hasattr(step, "classes_") else _regressor(step, x, context)


def predicts(step: Any) -> bool:
    """Whether an estimator, a pipeline or a wrapper ends in a classifier or regression that is taken."""
    name = name_of(step)
    if name == "Pipeline":
        return predicts(parts(step)[-1])
    if name in OPENED:
        return predicts(opened(step))
    return name in PREDICTORS or (
        bool(name) and name not in TRANSFORMERS and hasattr(step, "predict") and _linear(step)
    )


def parts(pipeline: Any) -> list[Any]:
    """The estimators of a pipeline that do something.

    Raises:
        UnsupportedModelError: there is none.
    """
    found = [s for _, s in pipeline.steps if s is not None and not (isinstance(s, str) and s == "passthrough")]
    if not found:
        raise UnsupportedModelError("the pipeline has no steps but passthrough")
    return found


def supported() -> list[str]:
    """Names of the classes that are taken, those known by their weights alone left out."""
    return sorted({*PREDICTORS, *TRANSFORMERS, *OPENED, "Pipeline"})


def _linear(step: Any) -> bool:
    return hasattr(step, "coef_") and hasattr(step, "intercept_")


# ---- regressions ---------------------------------------------------------------------------------


def _coefficients(step: Any) -> tuple[Array, Array]:
    """Weights (outputs, inputs) and intercepts (outputs,)."""
    weights = np.atleast_2d(array(step, "coef_"))
    intercept = np.broadcast_to(array(step, "intercept_").reshape(-1), (len(weights),))
    return weights, intercept


def _regressor(step: Any, x: Affine, _: Context) -> Scores:
    weights, intercept = _coefficients(step)
    return Scores(Value(x.product(weights.T).shifted(intercept)), {"kind": "values"})


def _generalised(step: Any, x: Affine, context: Context) -> Scores:
    found = _regressor(step, x, context)
    identity = name_of(step) == "TweedieRegressor" and (
        step.link == "identity" or (step.link == "auto" and step.power <= 0)
    )
    return found if identity else Scores(found.value, {"kind": "values", "link": "exp"})


def _latent(step: Any, x: Affine, context: Context) -> Scores:
    return _regressor(step, x.shifted(-array(step, "_x_mean")), context)


def _support_regressor(step: Any, x: Affine, context: Context) -> Scores:
    points = _vectors(step)
    k = kernel(step, x, points, context.model, getattr(step, "_gamma", None))
    weights = dense(step, "dual_coef_")
    return Scores(Value(k.product(weights.T).shifted(array(step, "intercept_"))), {"kind": "values"})


def _kernel_ridge(step: Any, x: Affine, context: Context) -> Scores:
    weights = array(step, "dual_coef_")
    k = kernel(step, x, array(step, "X_fit_"), context.model, step.gamma)
    return Scores(Value(k.product(weights.reshape(len(weights), -1))), {"kind": "values"})


def _each_target(step: Any, x: Affine, context: Context) -> Scores:
    found = [_plain(part, x, context) for part in fitted(step, "estimators_")]
    return Scores(Value(_joined(found)), {"kind": "values"})


def _chain(step: Any, x: Affine, context: Context) -> Scores:
    known: list[Affine] = []
    for part in fitted(step, "estimators_"):
        known.append(_plain(part, _joined([x, *known]), context))
    places = np.argsort(np.asarray(step.order_))
    return Scores(Value(_joined([known[i] for i in places])), {"kind": "values"})


def _average(step: Any, x: Affine, context: Context) -> Scores:
    found = [_plain(part, x, context) for part in fitted(step, "estimators_")]
    weights = [1.0] * len(found)
    if getattr(step, "weights", None) is not None:
        weights = [w for w, (_, e) in zip(step.weights, step.estimators, strict=True) if e != "drop"]
    return Scores(Value(_mean(found, weights)), {"kind": "values"})


def _bagged(step: Any, x: Affine, context: Context) -> Scores:
    found = []
    for part, chosen in zip(fitted(step, "estimators_"), step.estimators_features_, strict=True):
        found.append(_plain(part, x.product(selection(np.asarray(chosen), x.shape[0])), context))
    return Scores(Value(_mean(found, [1.0] * len(found))), {"kind": "values"})


def _stacked_regressor(step: Any, x: Affine, context: Context) -> Scores:
    found = [_plain(part, x, context) for part in fitted(step, "estimators_")]
    return predicted(step.final_estimator_, _joined([*found, *([x] if step.passthrough else [])]), context)


def _transformed_target(step: Any, x: Affine, context: Context) -> Scores:
    regressor, back = fitted(step, "regressor_"), fitted(step, "transformer_")
    link: Link = "identity"
    if name_of(back) == "FunctionTransformer" and back.inverse_func is not None:
        if back.inverse_func not in (np.exp, np.expm1):
            named = getattr(back.inverse_func, "__name__", back.inverse_func)
            raise UnsupportedModelError(
                f"TransformedTargetRegressor(inverse_func={named}) may compute anything after decryption: import "
                "`regressor_` and apply the function to its predictions; numpy.exp and numpy.expm1 are taken"
            )
        link = "exp" if back.inverse_func is np.exp else "expm1"
    found = _plain(regressor, x, context)
    return Scores(Value(unscaled(back, found) if link == "identity" else found), {"kind": "values", "link": link})


def _plain(step: Any, x: Affine, context: Context) -> Affine:
    """Predictions of a regression as an affine function.

    Raises:
        UnsupportedModelError: it has a link function, or is no regression.
    """
    found = predicted(step, x, context)
    if found.rule.get("kind") != "values" or found.rule.get("link", "identity") != "identity":
        raise UnsupportedModelError(
            f"{type(step).__name__} inside of another estimator: its predictions are classes or exponentials, which "
            "are no linear functions of the features; regressions with linear predictions are taken there"
        )
    return found.value.line(context.model)


def _joined(values: Sequence[Affine]) -> Affine:
    return values[0] if len(values) == 1 else Affine.joined(values, 0)


def _mean(values: Sequence[Affine], weights: Sequence[float]) -> Affine:
    total = values[0].scaled(weights[0])
    for value, weight in zip(values[1:], weights[1:], strict=True):
        total = total.plus(value.scaled(weight))
    return total.scaled(1 / float(np.sum(weights)))


# ---- classifiers ---------------------------------------------------------------------------------


def classes_of(step: Any) -> list[Any]:
    """Labels as plain Python values.

    Raises:
        UnsupportedModelError: several labels for a row, or labels that are no numbers, texts or booleans.
    """
    classes = fitted(step, "classes_")
    if isinstance(classes, list) and len(classes) > 1 and not np.isscalar(classes[0]):
        raise UnsupportedModelError(f"{type(step).__name__} gives several labels for a row: one label is needed")
    labels = np.asarray(classes[0] if isinstance(classes, list) and len(classes) == 1 else classes)
    if labels.ndim != 1 or len(labels) < 2:
        raise UnsupportedModelError(
            f"{type(step).__name__} with classes of shape {labels.shape}: two classes at least, and one label for a "
            "row, are needed"
        )
    plain: list[Any] = labels.tolist()
    if len({type(c) for c in plain}) > 1 or not isinstance(plain[0], bool | int | float | str):
        raise UnsupportedModelError("classes must be numbers, texts or booleans of one type")
    return plain


def _classifier(step: Any, x: Affine, _: Context) -> Scores:
    weights, intercept = _coefficients(step)
    classes, name = classes_of(step), type(step).__name__
    if len(weights) != (1 if len(classes) == 2 else len(classes)):
        raise UnsupportedModelError(
            f"{name} with {len(classes)} classes and {len(weights)} scores: several labels for a row"
        )
    link: Link = "identity"
    if name in ("LogisticRegression", "LogisticRegressionCV"):
        link = _logistic_link(step, len(classes))
    elif name == "LinearDiscriminantAnalysis":
        link = "sigmoid" if len(classes) == 2 else "softmax"
    elif name == "SGDClassifier" and step.loss in ("log_loss", "modified_huber"):
        link = "one-vs-rest" if step.loss == "log_loss" else "clip"
    value = Value(x.product(weights.T).shifted(intercept))
    return Scores(value, {"kind": "classes", "classes": classes, "link": link})


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


def _ordered(scores: Affine, classes: list[Any], link: Link = "identity") -> Scores:
    """Scores whose largest names the class, and which scikit-learn's estimator does not show by themselves."""
    return Scores(Value(scores), {"kind": "classes", "classes": classes, "link": link, "decision": "order"})


def _counts(step: Any, x: Affine, _: Context) -> Scores:
    logs = array(step, "feature_log_prob_")
    prior = array(step, "class_log_prior_") if name_of(step) == "MultinomialNB" else np.zeros(len(logs))
    return _ordered(x.product(logs.T).shifted(prior), classes_of(step), "softmax")


def _bernoulli(step: Any, x: Affine, _: Context) -> Scores:
    logs = array(step, "feature_log_prob_")
    if step.binarize is not None:
        raise UnsupportedModelError(
            f"BernoulliNB(binarize={step.binarize}) compares features with a threshold, and encrypted values cannot be "
            "compared: make features 0 or 1 before encryption, and fit it with binarize=None"
        )
    without = np.log(1 - np.exp(logs))
    scores = x.product((logs - without).T).shifted(array(step, "class_log_prior_") + without.sum(axis=1))
    return _ordered(scores, classes_of(step), "softmax")


def _nearest(step: Any, x: Affine, _: Context) -> Scores:
    """The class of the nearest centre: |x - c|^2 is smallest where 2 c x - |c|^2 is largest."""
    if name_of(step) == "NearestCentroid":
        if step.metric != "euclidean":
            raise UnsupportedModelError(
                f"NearestCentroid(metric={step.metric!r}) adds absolute values, which are no polynomials: fit it with "
                "metric='euclidean'"
            )
        centres, classes = array(step, "centroids_"), classes_of(step)
        prior = array(step, "class_prior_")
        if np.isclose(prior, 1 / len(prior)).all():
            return _ordered(_nearness(x, centres), classes)
        spread = array(step, "within_class_std_dev_")
        spread = np.where(spread != 0, spread, 1.0)
        scores = _nearness(x.scaled(1 / spread), centres / spread).shifted(2 * np.log(prior))
        return _ordered(scores, classes, "softmax")
    centres = array(step, "cluster_centers_")
    if len(centres) < 2:
        raise UnsupportedModelError(f"this {type(step).__name__} found one cluster, so there is nothing to compute")
    return _ordered(_nearness(x, centres), list(range(len(centres))))


def _nearness(x: Affine, centres: Array) -> Affine:
    return x.product(2 * centres.T).shifted(-(centres**2).sum(axis=1))


# ---- support vectors -----------------------------------------------------------------------------


def _vectors(step: Any) -> Array:
    if getattr(step, "kernel", "") == "precomputed":
        raise UnsupportedModelError(
            f"{type(step).__name__}(kernel='precomputed') takes kernels of rows, which the client cannot make: fit it "
            "with kernel='linear'"
        )
    return dense(step, "support_vectors_")


def _support_classifier(step: Any, x: Affine, context: Context) -> Scores:
    points, dual, classes = _vectors(step), dense(step, "dual_coef_"), classes_of(step)
    count = len(classes)
    intercept = array(step, "intercept_")
    if count == 2:
        weights = dual
    else:
        # libsvm's layout: row j - 1 of a class i < j, row i of class j.
        first = np.concatenate([[0], np.cumsum(np.asarray(step.n_support_))])
        own = [slice(first[i], first[i + 1]) for i in range(count)]
        weights = np.zeros((pair_count(count), len(points)))
        for row, (i, j) in zip(weights, pairs(count), strict=True):
            row[own[i]], row[own[j]] = dual[j - 1, own[i]], dual[i, own[j]]
    k = kernel(step, x, points, context.model, getattr(step, "_gamma", None))
    scores = k.product(weights.T).shifted(intercept)
    if count == 2:
        return Scores(Value(scores), {"kind": "classes", "classes": classes})
    # Here positive scores speak for the second of two classes, libsvm's for the first.
    decision = "pairs" if step.decision_function_shape == "ovo" else "break-ties" if step.break_ties else "votes"
    return Scores(Value(scores.scaled(-1.0)), {"kind": "classes", "classes": classes, "decision": decision})


def _one_class(step: Any, x: Affine, context: Context) -> Scores:
    k = kernel(step, x, _vectors(step), context.model, getattr(step, "_gamma", None))
    scores = k.product(dense(step, "dual_coef_").T).shifted(array(step, "intercept_"))
    return Scores(Value(scores), {"kind": "classes", "classes": [-1, 1]})


def _one_class_line(step: Any, x: Affine, _: Context) -> Scores:
    scores = x.product(np.atleast_2d(array(step, "coef_")).T).shifted(-array(step, "offset_"))
    return Scores(Value(scores), {"kind": "classes", "classes": [-1, 1]})


# ---- normal distributions: sums of squares -------------------------------------------------------


def _squares(x: Affine, centres: Sequence[Array], maps: Sequence[Array], context: Context) -> Affine:
    """-|(x - centre) map|^2 / 2 for each centre and map."""
    forms = [x.shifted(-c).product(m) for c, m in zip(centres, maps, strict=True)]
    owner = np.concatenate([np.full(m.shape[1], i) for i, m in enumerate(maps)])
    sums = -0.5 * (owner[:, None] == np.arange(len(maps))).astype(np.float64)
    return squared(_joined(forms), context.model).product(sums)


def _gaussian(step: Any, x: Affine, context: Context) -> Scores:
    means, variances = array(step, "theta_"), array(step, "var_")
    scores = _squares(x, list(means), [np.diag(v**-0.5) for v in variances], context)
    constant = np.log(array(step, "class_prior_")) - 0.5 * np.log(2 * np.pi * variances).sum(axis=1)
    return _ordered(scores.shifted(constant), classes_of(step), "softmax")


def _quadratic(step: Any, x: Affine, context: Context) -> Scores:
    classes, scalings = classes_of(step), [np.asarray(s) for s in fitted(step, "scalings_")]
    maps = [np.asarray(r) * s**-0.5 for r, s in zip(step.rotations_, scalings, strict=True)]
    scores = _squares(x, list(array(step, "means_")), maps, context)
    scores = scores.shifted(np.log(array(step, "priors_")) - 0.5 * np.array([np.log(s).sum() for s in scalings]))
    if len(classes) == 2:
        difference = scores.product(np.array([[-1.0], [1.0]]))
        return Scores(Value(difference), {"kind": "classes", "classes": classes, "link": "sigmoid"})
    return Scores(Value(scores), {"kind": "classes", "classes": classes, "link": "softmax"})


def _mixture(step: Any, x: Affine, context: Context) -> Scores:
    means, factors, width = array(step, "means_"), array(step, "precisions_cholesky_"), x.shape[0]
    if len(means) < 2:
        raise UnsupportedModelError(f"this {type(step).__name__} has one component, so there is nothing to compute")
    shape: dict[str, Callable[[int], Array]] = {
        "full": lambda k: factors[k],
        "tied": lambda _: factors,
        "diag": lambda k: np.diag(factors[k]),
        "spherical": lambda k: np.eye(width) * factors[k],
    }
    maps = [shape[step.covariance_type](k) for k in range(len(means))]
    # At its centre a component's square vanishes, and what remains is its constant.
    constant = np.diag(np.asarray(step._estimate_weighted_log_prob(means)))
    return _ordered(_squares(x, list(means), maps, context).shifted(constant), list(range(len(means))), "softmax")


def _ellipse(step: Any, x: Affine, context: Context) -> Scores:
    centre, precision = array(step, "location_"), np.asarray(step.get_precision())
    values, vectors = np.linalg.eigh(precision)
    distance = _squares(x, [centre], [vectors * np.sqrt(np.maximum(values, 0))], context).scaled(2.0)
    return Scores(Value(distance.shifted(-float(fitted(step, "offset_")))), {"kind": "classes", "classes": [-1, 1]})


# ---- wrappers ------------------------------------------------------------------------------------


def _shown(step: Any, x: Affine, context: Context) -> tuple[Affine, Link]:
    """The `decision_function` of a classifier as an affine function, and its link.

    Raises:
        UnsupportedModelError: it has none, or one that is no such function.
    """
    if type(step).__name__ == "_ConstantPredictor":
        return x.product(np.zeros((x.shape[0], 1))).shifted(float(np.ravel(step.y_)[0])), "identity"
    found = predicted(step, x, context)
    known = name_of(last(step))
    hidden = found.rule.get("decision") or found.rule.get("threshold") is not None
    if found.rule.get("kind") != "classes" or hidden or not hasattr(step, "decision_function"):
        raise UnsupportedModelError(
            f"{known} inside of another classifier: it has no decision_function that is an affine function of the "
            "features, so the outer one reads probabilities; LogisticRegression, LinearSVC or RidgeClassifier are "
            "taken there"
        )
    return found.value.line(context.model), found.rule.get("link", "identity")


def last(step: Any) -> Any:
    """The estimator that a pipeline or wrapper ends in."""
    if name_of(step) == "Pipeline":
        return last(parts(step)[-1])
    return last(opened(step)) if name_of(step) in OPENED else step


def _each_class(step: Any, x: Affine, context: Context) -> Scores:
    estimators, classes = fitted(step, "estimators_"), fitted(step, "classes_")
    if getattr(step, "multilabel_", False):
        raise UnsupportedModelError("OneVsRestClassifier of several labels for a row: one label is needed")
    found = [_shown(part, x, context) for part in estimators]
    links = {link for _, link in found}
    link: Link = "one-vs-rest" if links <= {"sigmoid", "one-vs-rest"} else "identity"
    rule = {"kind": "classes", "classes": np.asarray(classes).tolist(), "link": link}
    return Scores(Value(_joined([line for line, _ in found])), rule)


def _each_pair(step: Any, x: Affine, context: Context) -> Scores:
    classes = classes_of(step)
    if getattr(step, "pairwise_indices_", None) is not None:
        raise UnsupportedModelError("OneVsOneClassifier of a precomputed kernel: the client cannot make it")
    lines = [_shown(part, x, context)[0] for part in fitted(step, "estimators_")]
    return Scores(Value(_joined(lines)), {"kind": "classes", "classes": classes, "decision": "break-ties"})


def _codes(step: Any, x: Affine, context: Context) -> Scores:
    lines = [_shown(part, x, context)[0] for part in fitted(step, "estimators_")]
    return _ordered(_nearness(_joined(lines), array(step, "code_book_")), classes_of(step))


def _calibrated(step: Any, x: Affine, context: Context) -> Scores:
    found = fitted(step, "calibrated_classifiers_")
    if len(found) != 1 or step.method != "sigmoid":
        raise UnsupportedModelError(
            f"CalibratedClassifierCV of {len(found)} classifiers with method={step.method!r} averages probabilities or "
            "compares scores, and neither is a polynomial: fit it with ensemble=False and method='sigmoid'"
        )
    part, classes = found[0], classes_of(step)
    line, _ = _shown(part.estimator, x, context)
    if len(part.calibrators) != line.shape[0] or line.shape[0] != (1 if len(classes) == 2 else len(classes)):
        raise UnsupportedModelError(
            "CalibratedClassifierCV was fitted to other classes than its estimator: fit it again"
        )
    slopes = np.array([-float(c.a_) for c in part.calibrators])
    offsets = np.array([-float(c.b_) for c in part.calibrators])
    link: Link = "sigmoid" if len(classes) == 2 else "one-vs-rest"
    return _ordered(line.scaled(slopes).shifted(offsets), classes, link)


def _threshold(step: Any, x: Affine, context: Context) -> Scores:
    inner = getattr(step, "estimator_", None)
    found = predicted(step.estimator if inner is None else inner, x, context)
    classes = found.rule.get("classes", [])
    if found.count != 1 or len(classes) != 2 or found.rule.get("decision"):
        raise UnsupportedModelError(f"{type(step).__name__} of a classifier without one score for two classes")
    probable = found.rule["link"] in ("sigmoid", "one-vs-rest") and step.response_method != "decision_function"
    if found.rule["link"] == "clip" and step.response_method != "decision_function":
        raise UnsupportedModelError(f"{type(step).__name__} of probabilities that are clipped: use decision_function")
    if name_of(step) == "FixedThresholdClassifier":
        at = (0.5 if probable else 0.0) if step.threshold == "auto" else float(step.threshold)
    else:
        at = float(fitted(step, "best_threshold_"))
    # As a threshold of the score for the second class.
    first = _positive(step) == classes[0] if _positive(step) is not None else False
    if probable:
        at = 1 - at if first else at
        at = float(np.log(at) - np.log1p(-at)) if 0 < at < 1 else np.inf
    else:
        at = -at if first else at
    if not np.isfinite(at):
        raise UnsupportedModelError(
            f"{type(step).__name__} gives one class to every row, so there is nothing to compute"
        )
    return Scores(found.value, {**found.rule, "threshold": at})


def _positive(step: Any) -> Any:
    """The label that a threshold is for, or None for the second class."""
    if name_of(step) == "FixedThresholdClassifier":
        return step.pos_label
    scorer = getattr(step, "_curve_scorer", None)
    return None if scorer is None else getattr(scorer, "_kwargs", {}).get("pos_label")


def _stacked_classifier(step: Any, x: Affine, context: Context) -> Scores:
    methods = fitted(step, "stack_method_")
    if any(m != "decision_function" for m in methods):
        raise UnsupportedModelError(
            f"StackingClassifier with stack_method {sorted(set(methods))} computes with probabilities or classes, "
            "which are no polynomials of the features: fit it with stack_method='decision_function'"
        )
    found = [_shown(part, x, context)[0] for part in step.estimators_]
    scores = predicted(step.final_estimator_, _joined([*found, *([x] if step.passthrough else [])]), context)
    return Scores(scores.value, {**scores.rule, "classes": classes_of(step)})


def _selected(step: Any, x: Affine, context: Context) -> Scores:
    chosen = columns(step, fitted(step, "support_"))
    return predicted(step.estimator_, x.product(selection(chosen, x.shape[0])), context)


# ---- networks ------------------------------------------------------------------------------------


def _network(step: Any, x: Affine, context: Context) -> Scores:
    weights, biases = fitted(step, "coefs_"), fitted(step, "intercepts_")
    value = Value(x)
    for i, (w, b) in enumerate(zip(weights, biases, strict=True)):
        line = value.line(context.model).product(real_numbers(w, "coefs_")).shifted(real_numbers(b, "intercepts_"))
        value = Value(line)
        if i + 1 < len(weights) and step.activation != "identity":
            value = activated(line, _layer(step.activation, context.activation))
            context.replaced += 1
    return Scores(value, _network_rule(step, value))


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
    layer = activation.polynomial if isinstance(activation, Approximation) else activation
    if known is not None and isinstance(layer, Polynomial) and layer.stands_for not in ("", known):
        raise ParameterError(
            f"the network's activation is {wanted!r}, the replacement approximates {layer.stands_for!r}"
        )
    return layer


def _network_rule(step: Any, value: Value) -> dict[str, Any]:
    out, name = fitted(step, "out_activation_"), type(step).__name__
    if name == "MLPRegressor":
        if out not in ("identity", "exp"):
            raise UnsupportedModelError(f"MLPRegressor with output {out!r}: fit it with loss='squared_error'")
        return {"kind": "values", "link": out}
    classes, outputs = classes_of(step), value.shape[0]
    if outputs != (1 if len(classes) == 2 else len(classes)) or (out == "logistic") != (outputs == 1):
        raise UnsupportedModelError("MLPClassifier with several labels for a row is not supported: one label is needed")
    return {"kind": "classes", "classes": classes, "link": "sigmoid" if outputs == 1 else "softmax"}


Predictor = Callable[[Any, Affine, Context], Scores]

_LINEAR_CLASSIFIERS = (
    "LogisticRegression LogisticRegressionCV LinearSVC SGDClassifier LinearDiscriminantAnalysis RidgeClassifier "
    "RidgeClassifierCV Perceptron PassiveAggressiveClassifier"
)
_LINEAR_REGRESSORS = (
    "ARDRegression BayesianRidge ElasticNet ElasticNetCV HuberRegressor Lars LarsCV Lasso LassoCV LassoLars "
    "LassoLarsCV "
    "LassoLarsIC LinearRegression LinearSVR MultiTaskElasticNet MultiTaskElasticNetCV MultiTaskLasso MultiTaskLassoCV "
    "OrthogonalMatchingPursuit OrthogonalMatchingPursuitCV PassiveAggressiveRegressor QuantileRegressor Ridge RidgeCV "
    "SGDRegressor TheilSenRegressor"
)

PREDICTORS: dict[str, Predictor] = {
    **dict.fromkeys(_LINEAR_CLASSIFIERS.split(), _classifier),
    **dict.fromkeys(_LINEAR_REGRESSORS.split(), _regressor),
    **dict.fromkeys(("CCA", "PLSCanonical", "PLSRegression"), _latent),
    **dict.fromkeys(("GammaRegressor", "PoissonRegressor", "TweedieRegressor"), _generalised),
    **dict.fromkeys(("SVR", "NuSVR"), _support_regressor),
    **dict.fromkeys(("SVC", "NuSVC"), _support_classifier),
    **dict.fromkeys(("KMeans", "MiniBatchKMeans", "AffinityPropagation", "MeanShift", "NearestCentroid"), _nearest),
    **dict.fromkeys(("MultinomialNB", "ComplementNB"), _counts),
    **dict.fromkeys(("GaussianMixture", "BayesianGaussianMixture"), _mixture),
    **dict.fromkeys(("MLPClassifier", "MLPRegressor"), _network),
    **dict.fromkeys(("RFE", "RFECV"), _selected),
    **dict.fromkeys(("FixedThresholdClassifier", "TunedThresholdClassifierCV"), _threshold),
    "BaggingRegressor": _bagged,
    "BernoulliNB": _bernoulli,
    "CalibratedClassifierCV": _calibrated,
    "EllipticEnvelope": _ellipse,
    "GaussianNB": _gaussian,
    "KernelRidge": _kernel_ridge,
    "MultiOutputRegressor": _each_target,
    "OneClassSVM": _one_class,
    "OneVsOneClassifier": _each_pair,
    "OneVsRestClassifier": _each_class,
    "OutputCodeClassifier": _codes,
    "QuadraticDiscriminantAnalysis": _quadratic,
    "RegressorChain": _chain,
    "SGDOneClassSVM": _one_class_line,
    "StackingClassifier": _stacked_classifier,
    "StackingRegressor": _stacked_regressor,
    "TransformedTargetRegressor": _transformed_target,
    "VotingRegressor": _average,
}
