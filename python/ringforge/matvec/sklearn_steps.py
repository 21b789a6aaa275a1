# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Fitted transformers of scikit-learn as affine functions, and products of features by squares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge.errors import ParameterError, UnsupportedModelError
from ringforge.matvec.affine import Affine, Builder, Value
from ringforge.matvec.sklearn_fitted import array, columns, dense, fitted, name_of, refuse

Array = npt.NDArray[np.float64]
Step = Callable[[Any, Affine, Builder], Affine]


def transformed(step: Any, x: Affine, model: Builder) -> Affine:
    """The results of a fitted transformer, or a pipeline of them.

    Args:
        step: the transformer; None and "passthrough" change nothing.
        x: what it is applied to.
        model: takes the squares that products of features need.

    Raises:
        UnsupportedModelError: one that no polynomial computes; the message says why. ParameterError: not fitted.
    """
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return x
    name = name_of(step)
    if name == "Pipeline":
        for _, part in step.steps:
            x = transformed(part, x, model)
        return x
    if name in OPENED:
        return transformed(opened(step), x, model)
    if name in TRANSFORMERS:
        return TRANSFORMERS[name](step, x, model)
    if name and hasattr(step, "predict") and not hasattr(step, "get_support"):
        raise UnsupportedModelError(
            f"{name} in the middle of a pipeline: what it hands on (distances, classes or nothing) is no polynomial "
            "of the features; only a pipeline's last step may predict"
        )
    if not name or not hasattr(step, "get_support"):
        refuse(step, list(TRANSFORMERS))
    return x.product(selection(columns(step, _support(step)), x.shape[0]))


def transforms(step: Any) -> bool:
    """Whether an estimator is one of the transformers here."""
    name = name_of(step)
    if name in OPENED:
        return transforms(opened(step))
    return name in TRANSFORMERS or (bool(name) and hasattr(step, "get_support"))


#: Wrappers that predict and transform as the estimator in an attribute does.
OPENED = {
    "GridSearchCV": "best_estimator_",
    "RandomizedSearchCV": "best_estimator_",
    "HalvingGridSearchCV": "best_estimator_",
    "HalvingRandomSearchCV": "best_estimator_",
    "FrozenEstimator": "estimator",
    "SelfTrainingClassifier": "estimator_",
    "RANSACRegressor": "estimator_",
}


def opened(step: Any) -> Any:
    """The estimator in a wrapper.

    Raises:
        ParameterError: there is none, as after a search without refit.
    """
    name = name_of(step)
    if name.endswith("SearchCV") and hasattr(step, "cv_results_") and not hasattr(step, "best_estimator_"):
        raise ParameterError(
            f"this {name} has no best_estimator_, for it was made with refit=False: fit it with refit=True, or give "
            "the estimator that you fitted with best_params_"
        )
    return fitted(step, OPENED[name])


# ---- scales --------------------------------------------------------------------------------------


def _standard(step: Any, x: Affine, _: Builder) -> Affine:
    fitted(step, "scale_")
    if step.with_mean:
        x = x.shifted(-array(step, "mean_"))
    return x.scaled(1 / array(step, "scale_")) if step.with_std else x


def _min_max(step: Any, x: Affine, _: Builder) -> Affine:
    _unclipped(step)
    return x.scaled(array(step, "scale_")).shifted(array(step, "min_"))


def _max_abs(step: Any, x: Affine, _: Builder) -> Affine:
    _unclipped(step)
    return x.scaled(1 / array(step, "scale_"))


def _robust(step: Any, x: Affine, _: Builder) -> Affine:
    fitted(step, "scale_")
    if step.with_centering:
        x = x.shifted(-array(step, "center_"))
    return x.scaled(1 / array(step, "scale_")) if step.with_scaling else x


def _unclipped(step: Any) -> None:
    if getattr(step, "clip", False):
        raise UnsupportedModelError(
            f"{type(step).__name__}(clip=True) is no affine function: fit it with clip=False, and clip features before "
            "encryption"
        )


def _tf_idf(step: Any, x: Affine, _: Builder) -> Affine:
    if step.norm is not None or step.sublinear_tf:
        raise UnsupportedModelError(
            f"TfidfTransformer(norm={step.norm!r}, sublinear_tf={step.sublinear_tf}) divides by norms or takes "
            "logarithms of encrypted values: fit it with norm=None and sublinear_tf=False"
        )
    return x.scaled(array(step, "idf_")) if step.use_idf else x


def unscaled(step: Any, y: Affine) -> Affine:
    """What `inverse_transform` of a scaler makes of values.

    Raises:
        UnsupportedModelError: the transformer is no scaler.
    """
    name = name_of(step)
    if name == "Pipeline":
        for _, part in reversed(step.steps):
            y = y if part in (None, "passthrough") else unscaled(part, y)
        return y
    if name == "FunctionTransformer" and step.inverse_func is None:
        return y
    if name == "StandardScaler":
        y = y.scaled(array(step, "scale_")) if step.with_std else y
        return y.shifted(array(step, "mean_")) if step.with_mean else y
    if name == "MinMaxScaler":
        _unclipped(step)
        return y.shifted(-array(step, "min_")).scaled(1 / array(step, "scale_"))
    if name == "MaxAbsScaler":
        _unclipped(step)
        return y.scaled(array(step, "scale_"))
    if name == "RobustScaler":
        y = y.scaled(array(step, "scale_")) if step.with_scaling else y
        return y.shifted(array(step, "center_")) if step.with_centering else y
    raise UnsupportedModelError(
        f"{type(step).__name__} of targets cannot be undone on encrypted values: scale targets with StandardScaler, "
        "MinMaxScaler, MaxAbsScaler or RobustScaler, or import `regressor_` and undo it after decryption"
    )


# ---- projections ---------------------------------------------------------------------------------


def _pca(step: Any, x: Affine, _: Builder) -> Affine:
    components = array(step, "components_")
    x = x.shifted(-array(step, "mean_")).product(components.T)
    if step.whiten:
        # scikit-learn keeps tiny variances from blowing up in the same way.
        deviations = np.sqrt(array(step, "explained_variance_"))
        x = x.scaled(1 / np.maximum(deviations, np.finfo(np.float64).eps))
    return x


def _projection(step: Any, x: Affine, _: Builder) -> Affine:
    return x.product(dense(step, "components_").T)


def _ica(step: Any, x: Affine, _: Builder) -> Affine:
    components = array(step, "components_")
    return (x.shifted(-array(step, "mean_")) if step.whiten else x).product(components.T)


def _factors(step: Any, x: Affine, _: Builder) -> Affine:
    components = array(step, "components_")
    weighted = components / array(step, "noise_variance_")
    covariance = np.linalg.inv(np.eye(len(components)) + weighted @ components.T)
    return x.shifted(-array(step, "mean_")).product(weighted.T @ covariance)


def _sparse_pca(step: Any, x: Affine, _: Builder) -> Affine:
    # Each row's coefficients are a ridge regression on the components: linear in the row.
    components = array(step, "components_")
    gram = components @ components.T + step.ridge_alpha * np.eye(len(components))
    return x.shifted(-array(step, "mean_")).product(np.linalg.solve(gram, components).T)


def _discriminants(step: Any, x: Affine, _: Builder) -> Affine:
    if step.solver == "lsqr":
        raise UnsupportedModelError("LinearDiscriminantAnalysis(solver='lsqr') transforms nothing: use svd or eigen")
    scalings = array(step, "scalings_")[:, : int(fitted(step, "_max_components"))]
    return (x.shifted(-array(step, "xbar_")) if step.solver == "svd" else x).product(scalings)


def _latent(step: Any, x: Affine, _: Builder) -> Affine:
    weights = array(step, "x_weights_" if name_of(step) == "PLSSVD" else "x_rotations_")
    return x.shifted(-array(step, "_x_mean")).scaled(1 / array(step, "_x_std")).product(weights)


def _agglomeration(step: Any, x: Affine, _: Builder) -> Affine:
    labels = np.asarray(fitted(step, "labels_"))
    pooling = step.pooling_func
    if pooling not in (np.mean, np.sum):
        raise UnsupportedModelError(
            f"FeatureAgglomeration pools with {getattr(pooling, '__name__', pooling)}, which is not known to be "
            "linear: use numpy.mean or numpy.sum"
        )
    members = (labels[:, None] == np.unique(labels)).astype(np.float64)
    return x.product(members / members.sum(axis=0) if pooling is np.mean else members)


# ---- kernels -------------------------------------------------------------------------------------


def kernel(step: Any, x: Affine, points: Array, model: Builder, gamma: float | None, what: str = "kernel") -> Affine:
    """Kernel of the values and given points (rows): linear, or a power of an affine function.

    Raises:
        UnsupportedModelError: another kernel.
    """
    name = getattr(step, what)
    if name == "linear":
        return x.product(points.T)
    degree = getattr(step, "degree", None)
    if name in ("poly", "polynomial") and degree is not None and float(degree).is_integer() and degree >= 1:
        coef0 = 1.0 if step.coef0 is None else float(step.coef0)
        factor = 1 / points.shape[1] if gamma is None else float(gamma)
        root = x.product(points.T * factor).shifted(coef0)
        return Value(root).power(int(degree)).line(model) if degree > 1 else root
    text = name if isinstance(name, str) else type(name).__name__
    raise UnsupportedModelError(
        f"{type(step).__name__}({what}={text!r}) takes exponentials or other functions of encrypted values that are no "
        f"polynomials: fit it with {what}='linear', or 'poly' of a whole degree"
    )


def _centered(step: Any, k: Affine, _: Builder) -> Affine:
    rows = array(step, "K_fit_rows_")
    count = len(rows)
    return k.product(np.eye(count) - 1 / count).shifted(float(fitted(step, "K_fit_all_")) - rows)


def _kernel_pca(step: Any, x: Affine, model: Builder) -> Affine:
    points, values = array(step, "X_fit_"), array(step, "eigenvalues_")
    vectors = array(step, "eigenvectors_")
    inverse = np.divide(1.0, np.sqrt(np.abs(values)), out=np.zeros_like(values), where=values != 0)
    k = kernel(step, x, points, model, getattr(step, "gamma_", step.gamma))
    return _centered(step._centerer, k, model).product(vectors * inverse)


def _nystroem(step: Any, x: Affine, model: Builder) -> Affine:
    points = array(step, "components_")
    return kernel(step, x, points, model, step.gamma).product(array(step, "normalization_").T)


# ---- squares -------------------------------------------------------------------------------------


def squared(x: Affine, model: Builder) -> Affine:
    """Squares of the values."""
    return model.activate(Value(x, (0.0, 0.0, 1.0)))


def second_order(x: Affine, model: Builder, pairs: Sequence[tuple[int, int]] = ()) -> tuple[Affine, Affine]:
    """The values themselves after an activation, with their squares and products beside them.

    Args:
        x: the values, best of size about 1.
        model: takes the layer of squares.
        pairs: places of values, the lower first, whose products are wanted.

    Returns:
        the values, and squares of all with the products of pairs behind.
    """
    n = x.shape[0]
    sums = np.zeros((n, len(pairs)))
    for i, (a, b) in enumerate(pairs):
        sums[a, i] = sums[b, i] = 1
    parts = [x.shifted(1.0), x.shifted(-1.0), *([x.product(sums)] if pairs else [])]
    s = squared(Affine.joined(parts, 0), model)
    total = 2 * n + len(pairs)
    upper, lower = np.eye(total)[:, :n], np.eye(total)[:, n : 2 * n]
    squares = s.product((upper + lower) / 2).shifted(-1.0)
    if not pairs:
        return s.product((upper - lower) / 4), squares
    # (a + b)^2 = a^2 + b^2 + 2ab
    twice = s.product(np.eye(total)[:, 2 * n :]).plus(squares.product(-sums))
    return s.product((upper - lower) / 4), Affine.joined([squares, twice.scaled(0.5)], 0)


def _products(step: Any, x: Affine, model: Builder) -> Affine:
    powers = np.asarray(fitted(step, "powers_"))
    if powers.sum(axis=1).max() > 2:
        raise UnsupportedModelError(
            "PolynomialFeatures multiplies more than two features, which takes a level for each: use degree=2, or "
            "chain two of degree 2"
        )
    n = x.shape[0]
    if powers.sum(axis=1).max() <= 1:
        return x.product(powers.T.astype(np.float64)).shifted((powers.sum(axis=1) == 0).astype(np.float64))
    pairs = [(int(p[0]), int(p[1])) for p in map(np.flatnonzero, powers) if len(p) == 2]
    values, second = second_order(x, model, pairs)
    linear, quadratic = np.zeros((n, len(powers))), np.zeros((n + len(pairs), len(powers)))
    place = {pair: n + i for i, pair in enumerate(pairs)}
    for i, row in enumerate(powers):
        used = np.flatnonzero(row)
        if row.sum() == 1:
            linear[used[0], i] = 1
        elif row.sum() == 2:
            quadratic[used[0] if len(used) == 1 else place[int(used[0]), int(used[1])], i] = 1
    constant = (powers.sum(axis=1) == 0).astype(np.float64)
    return values.product(linear).plus(second.product(quadratic)).shifted(constant)


# ---- columns -------------------------------------------------------------------------------------


def selection(places: npt.NDArray[np.intp], width: int) -> Array:
    """The matrix (width, places) that picks values."""
    return np.eye(width)[:, places]


def _support(step: Any) -> Any:
    try:
        return step.get_support()
    except Exception:
        # NotFittedError, or the AttributeError of a step that lacks what fit makes.
        raise ParameterError(
            f"this {type(step).__name__} is not fitted (it selects no features yet): call fit(X, y) before from_sklearn"
        ) from None


def _by_columns(step: Any, x: Affine, model: Builder) -> Affine:
    fitted(step, "transformers_")
    places = {n: np.asarray(p, dtype=np.intp) for n, p in fitted(step, "_transformer_to_input_indices").items()}
    parts = [(name, part, selection(places[name], x.shape[0])) for name, part, _ in step.transformers_]
    return _beside(step, [(name, part, x.product(chosen)) for name, part, chosen in parts if chosen.size], model)


def _union(step: Any, x: Affine, model: Builder) -> Affine:
    return _beside(step, [(name, part, x) for name, part in step.transformer_list], model)


def _beside(step: Any, parts: Sequence[tuple[str, Any, Affine]], model: Builder) -> Affine:
    """The results of transformers beside each other, each with what it is applied to.

    Raises:
        UnsupportedModelError: all are dropped, or one multiplies features and others stand beside it.
    """
    kept = [(name, part, x) for name, part, x in parts if not (isinstance(part, str) and part == "drop")]
    if not kept:
        raise UnsupportedModelError(f"this {type(step).__name__} drops every column, so there is nothing to compute")
    before, found = model.base, []
    for name, part, x in kept:
        found.append(_weighted(step, name, transformed(part, x, model)))
        if model.base != before and len(kept) > 1:
            raise UnsupportedModelError(
                f"{name!r} of this {type(step).__name__} multiplies features, and parts beside it do not: layers are a "
                f"chain; put PolynomialFeatures or the kernel behind the {type(step).__name__}, where it takes all "
                "columns"
            )
    return found[0] if len(found) == 1 else Affine.joined(found, 0)


def _weighted(step: Any, name: str, part: Affine) -> Affine:
    weight = (step.transformer_weights or {}).get(name)
    return part if weight is None else part.scaled(float(weight))


def _function(step: Any, x: Affine, _: Builder) -> Affine:
    if step.func is not None:
        raise UnsupportedModelError(
            f"FunctionTransformer({getattr(step.func, '__name__', step.func)}) may compute anything: apply it before "
            "encryption, and import the rest of the pipeline; without a function it is taken"
        )
    return x


def _imputer(step: Any, x: Affine, _: Builder) -> Affine:
    # Missing values cannot be encrypted, so none is left to replace; but columns without any value are dropped.
    name = name_of(step)
    known = fitted(step, "statistics_" if name == "SimpleImputer" else "_mask_fit_X")
    if not (isinstance(step.missing_values, float) and np.isnan(step.missing_values)):
        raise UnsupportedModelError(
            f"{name}(missing_values={step.missing_values!r}) compares features with a number, and encrypted values "
            "cannot be compared: impute before encryption; with missing_values=nan it is taken"
        )
    if name == "SimpleImputer":
        missing = np.isnan(np.asarray(known, dtype=np.float64))
    else:
        missing = ~np.asarray(step._valid_mask)
    if step.keep_empty_features:
        missing = np.zeros_like(missing)
    if missing.any():
        x = x.product(selection(columns(step, ~missing), len(missing)))
    if getattr(step, "indicator_", None) is not None:
        # Encrypted rows have no missing value: what indicates them is 0.
        more = len(step.indicator_.features_)
        x = Affine.joined([x, x.product(np.zeros((x.shape[0], more)))], 0) if more else x
    return x


TRANSFORMERS: dict[str, Step] = {
    "CCA": _latent,
    "ColumnTransformer": _by_columns,
    "FactorAnalysis": _factors,
    "FastICA": _ica,
    "FeatureAgglomeration": _agglomeration,
    "FeatureUnion": _union,
    "FunctionTransformer": _function,
    "GaussianRandomProjection": _projection,
    "IncrementalPCA": _pca,
    "KNNImputer": _imputer,
    "KernelCenterer": _centered,
    "KernelPCA": _kernel_pca,
    "LinearDiscriminantAnalysis": _discriminants,
    "MaxAbsScaler": _max_abs,
    "MinMaxScaler": _min_max,
    "MiniBatchSparsePCA": _sparse_pca,
    "NeighborhoodComponentsAnalysis": _projection,
    "Nystroem": _nystroem,
    "PCA": _pca,
    "PLSCanonical": _latent,
    "PLSRegression": _latent,
    "PLSSVD": _latent,
    "PolynomialFeatures": _products,
    "RobustScaler": _robust,
    "SimpleImputer": _imputer,
    "SparsePCA": _sparse_pca,
    "SparseRandomProjection": _projection,
    "StandardScaler": _standard,
    "TfidfTransformer": _tf_idf,
    "TruncatedSVD": _projection,
}
