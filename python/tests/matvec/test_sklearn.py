# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Fitted estimators of scikit-learn on encrypted rows: its classes on every held-out row, values within the bound."""

from __future__ import annotations

import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import (
    ElasticNetCV,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PolynomialFeatures, RobustScaler, StandardScaler
from sklearn.svm import LinearSVR

from ringforge import matvec
from ringforge.errors import (
    FormatError,
    MismatchError,
    ParameterError,
    PrecisionWarning,
    ShapeError,
    UnsupportedModelError,
)
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.matvec import approximations

from .sklearn_cases import CLASSIFIERS, REGRESSORS, TRANSFORMERS, fitted, ranges, split

CLASSIFIED = ("digits", "breast_cancer", "wine")


def compare_classes(name: str, data: str, seed: int = 0) -> str:
    """Holds an encrypted classifier against scikit-learn on every held-out row; says what was seen."""
    there, held = fitted(CLASSIFIERS[name], data, seed), split(data, seed)[2]
    ours = matvec.from_sklearn(there, input_range=ranges(data))
    assert isinstance(ours, matvec.EncryptedClassifier)
    assert len(ours.model.layers) == 1, "a pipeline of affine steps costs one product"
    client, result = ours.evaluate(held)
    close = int(client.uncertain(result).sum())
    if close:
        # The client says so, and a larger set settles it.
        with pytest.warns(PrecisionWarning, match=f"{close} of {len(held)} rows is uncertain"):
            client.predict(result)
        for bits in (10, 20):
            ours.prepare(precision=bits, batch=32)
            client, result = ours.evaluate(held)
            if not client.uncertain(result).any():
                break
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrecisionWarning)
        classes = client.predict(result)
    error = client.error_bound(result)
    expected = there.predict(held)
    assert classes.dtype.kind == expected.dtype.kind
    assert not client.uncertain(result).any()
    same = int((classes == expected).sum())
    assert same == len(held), f"{name} on {data}: {len(held) - same} of {len(held)} classes differ"
    seen = 0.0
    if hasattr(there, "decision_function"):
        scores, exact = client.decision_function(result), there.decision_function(held)
        assert scores.shape == exact.shape
        seen = float(np.abs(scores - exact).max())
    else:
        seen = float(np.abs(client.decision_function(result) - ours.rule.scores(ours.scores_in_clear(held))).max())
    assert seen <= error
    if hasattr(there, "predict_proba"):
        # Softmax and logistic functions change by at most the change of scores.
        with np.errstate(invalid="ignore"):
            exact = there.predict_proba(held)
        known = np.isfinite(exact)
        got = client.predict_proba(result)
        if "log_loss" not in name:
            assert np.abs(got - exact)[known].max() <= error
        np.testing.assert_allclose(got.sum(axis=1), 1, rtol=1e-12)
    params = client.client.program.context.params
    again = f", {close} rows uncertain with the suggested set" if close else ""
    return f"{name:38} {data:14} {same}/{len(held)} same, error {seen:.2g} <= {error:.2g}, N = {params.degree}{again}"


@pytest.mark.parametrize("data", CLASSIFIED)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_same_classes_on_every_held_out_row(name: str, data: str) -> None:
    compare_classes(name, data)


def compare_values(name: str, seed: int = 0) -> str:
    there, held = fitted(REGRESSORS[name], "diabetes", seed), split("diabetes", seed)[2]
    ours = matvec.from_sklearn(there, input_range=ranges("diabetes"))
    assert isinstance(ours, matvec.EncryptedRegressor)
    client, result = ours.evaluate(held)
    values, exact = client.predict(result), there.predict(held)
    assert values.shape == exact.shape
    seen, error = float(np.abs(values - exact).max()), client.error_bound(result)
    assert seen <= error < 1e-2
    return f"{name:38} diabetes       error {seen:.2g} <= {error:.2g}"


@pytest.mark.parametrize("name", REGRESSORS)
def test_regression_within_the_predicted_error(name: str) -> None:
    compare_values(name)


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_transformations(name: str) -> None:
    there, held = fitted(TRANSFORMERS[name], "breast_cancer"), split("breast_cancer")[2]
    ours = matvec.from_sklearn(there, input_range=ranges("breast_cancer"))
    assert isinstance(ours, matvec.EncryptedTransformer)
    client, result = ours.evaluate(held)
    assert np.abs(client.transform(result) - there.transform(held)).max() <= client.error_bound(result)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 6))
def test_other_splits_and_seeds(seed: int) -> None:
    """All estimators on five more splits."""
    print()
    for name in CLASSIFIERS:
        for data in CLASSIFIED:
            print(f"seed {seed}: {compare_classes(name, data, seed)}")
    for name in REGRESSORS:
        print(f"seed {seed}: {compare_values(name, seed)}")


# ---- exactness in the clear ----------------------------------------------------------------------

X, Y = split("wine")[:2]
HELD = split("wine")[2]
STEPS: dict[str, Any] = {
    "MinMaxScaler": MinMaxScaler((-2, 3)),
    "MaxAbsScaler": MaxAbsScaler(),
    "RobustScaler": RobustScaler(),
    "StandardScaler, no mean": StandardScaler(with_mean=False),
    "StandardScaler, no deviation": StandardScaler(with_std=False),
    "TruncatedSVD": TruncatedSVD(4),
    "LinearDiscriminantAnalysis": LinearDiscriminantAnalysis(n_components=1),
    "LinearDiscriminantAnalysis, eigen": LinearDiscriminantAnalysis(solver="eigen"),
    "passthrough": "passthrough",
    "pipeline": make_pipeline(StandardScaler(), PCA(5, whiten=True)),
}


@pytest.mark.parametrize("ranged", [False, True])
@pytest.mark.parametrize("step", STEPS)
def test_steps_before_a_classifier_are_folded_exactly(step: str, ranged: bool) -> None:
    there = Pipeline([("step", STEPS[step]), ("last", RidgeClassifier())]).fit(X, Y)
    ours = matvec.from_sklearn(there, input_range=ranges("wine") if ranged else None)
    assert len(ours.model.layers) == 1
    exact = there.decision_function(HELD)
    np.testing.assert_allclose(ours.scores_in_clear(HELD), exact, rtol=0, atol=1e-11 * np.abs(exact).max())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "there", [RidgeCV(), LassoCV(), ElasticNetCV(), LinearSVR(), SGDRegressor(), LinearRegression(positive=True)]
)
def test_regressions_that_the_same_code_takes(there: Any) -> None:
    scaled = make_pipeline(StandardScaler(), there).fit(X, Y)
    ours = matvec.from_sklearn(scaled)
    np.testing.assert_allclose(ours.rule.scores(ours.scores_in_clear(HELD)), scaled.predict(HELD), atol=1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "there",
    [
        LogisticRegressionCV(max_iter=30),
        RidgeClassifierCV(),
        LogisticRegression(solver="liblinear", fit_intercept=False),
    ],
)
def test_classifiers_that_the_same_code_takes(there: Any) -> None:
    scaled = make_pipeline(StandardScaler(), there).fit(X, Y == 1)
    ours = matvec.from_sklearn(scaled)
    scores = ours.scores_in_clear(HELD)
    np.testing.assert_allclose(ours.rule.scores(scores), scaled.decision_function(HELD), atol=1e-9)
    assert (ours.rule.labels(scores) == scaled.predict(HELD)).all()
    if hasattr(scaled, "predict_proba"):
        np.testing.assert_allclose(ours.rule.probabilities(scores), scaled.predict_proba(HELD), atol=1e-9)


def test_several_targets_and_no_intercept() -> None:
    targets = np.stack([Y, Y**2, X[:, 0]], axis=1)
    there = LinearRegression(fit_intercept=False).fit(X, targets)
    ours = matvec.from_sklearn(there)
    np.testing.assert_allclose(ours.rule.scores(ours.scores_in_clear(HELD)), there.predict(HELD), rtol=1e-9)


@pytest.mark.parametrize("labels", [("red", "white", "rosé"), (True, False), (-1, 7), (1.0, 2.0, 4.0)])
def test_labels_of_any_type(labels: tuple[Any, ...]) -> None:
    y = np.array(labels)[Y % len(labels)]
    there = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    ours = matvec.from_sklearn(there, input_range=ranges("wine"))
    classes = ours.predict(HELD)
    assert classes.tolist() == there.predict(HELD).tolist()
    assert ours.classes_.tolist() == there.classes_.tolist()


def test_losses_of_sgd_and_their_probabilities() -> None:
    x = StandardScaler().fit(X)
    for loss in ("log_loss", "modified_huber"):
        for y in (Y, Y == 1):
            there = SGDClassifier(loss=loss, random_state=1, alpha=0.1).fit(x.transform(X), y)
            ours = matvec.from_sklearn(there)
            got = ours.rule.probabilities(ours.scores_in_clear(x.transform(HELD)))
            np.testing.assert_allclose(got, there.predict_proba(x.transform(HELD)), atol=1e-12)
    with pytest.raises(ParameterError, match="use decision_function"):
        matvec.from_sklearn(fitted(CLASSIFIERS["LinearSVC"], "wine"), input_range=ranges("wine")).predict_proba(HELD)


# ---- activations ---------------------------------------------------------------------------------


def network(activation: str) -> tuple[Any, Any]:
    """A scaler and a network, fitted to wine."""
    scaler = StandardScaler().fit(X)
    mlp = MLPClassifier((6, 5), activation=activation, max_iter=150, random_state=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mlp.fit(scaler.transform(X), Y)
    return scaler, mlp


def test_a_network_with_squares_is_what_scikit_learn_computes_with_squares(monkeypatch: pytest.MonkeyPatch) -> None:
    """scikit-learn itself, taught a square, is the oracle; on ciphertexts too."""
    from sklearn.neural_network import _multilayer_perceptron

    _, mlp = network("relu")
    x, rows = X[:, :] / X.max(axis=0), HELD / X.max(axis=0)
    ours = matvec.from_sklearn(mlp, activation=matvec.Square())
    assert [type(layer).__name__ for layer in ours.model.layers] == ["Linear", "Square", "Linear", "Square", "Linear"]

    def square(a: np.ndarray) -> None:
        np.square(a, out=a)

    monkeypatch.setitem(_multilayer_perceptron.ACTIVATIONS, "relu", square)
    exact = mlp.predict_proba(rows)
    np.testing.assert_allclose(ours.rule.probabilities(ours.scores_in_clear(rows)), exact, atol=1e-12)
    assert len(x) == len(X)


@pytest.mark.parametrize(
    ("activation", "replacement"),
    [
        ("relu", approximations.relu(12, (-12, 12))),
        ("tanh", approximations.tanh(15, (-8, 8))),
        ("logistic", approximations.sigmoid(9, (-8, 8))),
    ],
)
def test_replaced_activations_stay_near_the_network(activation: str, replacement: Any) -> None:
    scaler, mlp = network(activation)
    there = Pipeline([("scaler", scaler), ("mlp", mlp)])
    ours = matvec.from_sklearn(there, activation=replacement)
    assert ours.model.layers[1] is replacement.polynomial
    # The error of one activation, carried through the layers that follow it: no more than the sum of weights.
    after = [np.abs(w).sum(axis=0).max() for w in mlp.coefs_[1:]]
    bound = replacement.error * (after[1] + 1.2 * after[0] * after[1])
    exact = _scores(mlp, scaler.transform(HELD))
    assert np.abs(ours.scores_in_clear(HELD) - exact).max() <= bound
    with pytest.raises(UnsupportedModelError, match=rf"approximations\.{replacement.name}\(degree"):
        matvec.from_sklearn(there)


def _scores(mlp: Any, x: np.ndarray) -> np.ndarray:
    """A network's values before its softmax, by numpy."""
    function = {"relu": lambda z: np.maximum(z, 0), "tanh": np.tanh, "logistic": lambda z: 1 / (1 + np.exp(-z))}
    for i, (w, b) in enumerate(zip(mlp.coefs_, mlp.intercepts_, strict=True)):
        x = x @ w + b
        if i + 1 < len(mlp.coefs_):
            x = function[mlp.activation](x)
    return x


# ---- refusals ------------------------------------------------------------------------------------


class Stranger(BaseEstimator):
    """Looks like a linear model, and is none of scikit-learn's."""

    coef_ = np.ones((1, 13))
    intercept_ = np.zeros(1)
    n_features_in_ = 13


class Derived(LogisticRegression):
    """May have another decision."""


def _sparse() -> Any:
    return SGDClassifier(random_state=0).fit(X, Y).sparsify()


def _broken() -> Any:
    there = LinearRegression().fit(X, Y)
    there.coef_[2] = np.nan
    return there


REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "unfitted": (lambda: LogisticRegression(), ParameterError, "not fitted"),
    "unfitted pipeline": (lambda: make_pipeline(StandardScaler(), PCA(2)), ParameterError, "call fit"),
    "forest": (lambda: RandomForestClassifier(2).fit(X, Y), UnsupportedModelError, "RandomForestClassifier"),
    "foreign class": (Stranger, UnsupportedModelError, "Stranger is not supported"),
    "derived class": (lambda: Derived().fit(X, Y), UnsupportedModelError, "Derived is not supported"),
    "a class": (lambda: LogisticRegression, UnsupportedModelError, "not supported"),
    "an array": (lambda: X, UnsupportedModelError, "numpy.ndarray"),
    "sparse coefficients": (_sparse, UnsupportedModelError, "densify"),
    "not finite": (_broken, RingforgeValueError, "NaN"),
    "products of features": (
        lambda: make_pipeline(PolynomialFeatures(3), LinearRegression()).fit(X, Y),
        UnsupportedModelError,
        "more than two features",
    ),
    "clipped": (lambda: MinMaxScaler(clip=True).fit(X), UnsupportedModelError, "clip=False"),
    "several labels": (
        lambda: RidgeClassifier().fit(X, np.stack([Y == 0, Y == 1], axis=1)),
        UnsupportedModelError,
        "several labels",
    ),
    "several labels of a network": (
        lambda: MLPClassifier((3,), activation="identity", max_iter=5, random_state=0).fit(
            X / X.max(axis=0), np.stack([Y == 0, Y > 0, Y < 2], axis=1)
        ),
        UnsupportedModelError,
        "several labels",
    ),
    "nothing but passthrough": (
        lambda: Pipeline([("a", "passthrough")]).fit(X, Y),
        UnsupportedModelError,
        "passthrough",
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", REFUSED)
def test_refused_by_name(case: str) -> None:
    make, error, words = REFUSED[case]
    with pytest.raises(error, match=words):
        matvec.from_sklearn(make())


def test_options_that_cannot_be() -> None:
    there = fitted(CLASSIFIERS["LogisticRegression"], "wine")
    scaler, mlp = network("relu")
    with pytest.raises(ParameterError, match="this model has none"):
        matvec.from_sklearn(there, activation=matvec.Square())
    with pytest.raises(ParameterError, match=r"matvec\.Square"):
        matvec.from_sklearn(mlp, activation="square")
    with pytest.raises(ParameterError, match="approximates 'tanh'"):
        matvec.from_sklearn(mlp, activation=approximations.tanh(5))
    for bad, error in (
        ((0, 1, 2), ParameterError),
        (5, ParameterError),
        ((np.zeros(3), np.ones(3)), ShapeError),
        ((1.0, 0.0), RingforgeValueError),
        ((0.0, np.inf), RingforgeValueError),
    ):
        with pytest.raises(error):
            matvec.from_sklearn(there, input_range=bad)
    assert scaler.n_features_in_ == 13


# ---- roles, files, honesty -----------------------------------------------------------------------


def test_client_and_server_apart_with_files_between(tmp_path: Path) -> None:
    """The client has a program, a rule and its key; the server the model, keys and ciphertexts."""
    there, held = fitted(CLASSIFIERS["PCA"], "breast_cancer"), split("breast_cancer")[2]
    trained = matvec.from_sklearn(there, input_range=ranges("breast_cancer"))
    matvec.save_model(tmp_path / "model.npz", trained)
    del trained
    # Server: plans what it has, publishes.
    at_server = matvec.load_estimator(tmp_path / "model.npz")
    program = at_server.compile(batch=32).program
    program.save(tmp_path / "program.json")
    at_server.public_rule(program).save(tmp_path / "rule.json")
    # Client.
    known = matvec.Program.load(tmp_path / "program.json")
    rule = matvec.Rule.load(tmp_path / "rule.json")
    client = matvec.EstimatorClient(matvec.Client(known), rule)
    client.client.save_evaluation_keys(tmp_path / "keys")
    client.encrypt(held).save(tmp_path / "x.ct", known)
    assert "weights" not in (tmp_path / "rule.json").read_text()
    # Server.
    server = at_server.server(program, matvec.EvaluationKeys.load(tmp_path / "keys", program))
    result, _ = server.evaluate(matvec.EncryptedVectors.load(tmp_path / "x.ct", program))
    result.save(tmp_path / "y.ct", program)
    # Client.
    answer = matvec.EncryptedVectors.load(tmp_path / "y.ct", known, "output")
    assert (client.predict(answer) == there.predict(held)).all()
    # Noise for sharing counts as error.
    with pytest.warns(PrecisionWarning, match="uncertain"):
        shared = client.predict(answer, share_bits=10)
    certain = ~client.uncertain(answer, share_bits=10)
    assert (shared == there.predict(held))[certain].all()
    assert certain.mean() > 0.5


def test_a_rule_goes_with_its_program_alone() -> None:
    first = matvec.from_sklearn(fitted(CLASSIFIERS["LinearSVC"], "wine"), input_range=ranges("wine"))
    second = matvec.from_sklearn(fitted(CLASSIFIERS["LogisticRegression"], "wine"), input_range=ranges("wine"))
    program, other = first.compile("set-a").program, second.compile("set-b").program
    with pytest.raises(MismatchError, match="another program"):
        matvec.EstimatorClient(matvec.Client(other), first.public_rule(program))
    binary = matvec.from_sklearn(fitted(CLASSIFIERS["LinearSVC"], "breast_cancer"))
    with pytest.raises(ShapeError, match="30 features"):
        matvec.EstimatorClient(matvec.Client(program), binary.rule)
    with pytest.raises(MismatchError, match=r"up to 0\.5"):
        first.public_rule(first.compile("set-a", input_bound=0.5).program)


def test_close_calls_are_said() -> None:
    """Two rows on the border: the decrypted class is a matter of noise, and the client says so."""
    there = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    border = -there.intercept_[0] / there.coef_[0, 0]
    ours = matvec.from_sklearn(there, input_range=(0, 1))
    rows = np.array([[0.0], [border], [1.0], [border + 1e-9]])
    client, result = ours.evaluate(rows)
    assert client.uncertain(result).tolist() == [False, True, False, True]
    with pytest.warns(PrecisionWarning, match="2 of 4 rows is uncertain"):
        classes = client.predict(result)
    assert classes[[0, 2]].tolist() == [0, 1]


def test_features_beyond_their_range_are_refused_without_their_value() -> None:
    ours = matvec.from_sklearn(fitted(CLASSIFIERS["LinearSVC"], "wine"), input_range=ranges("wine"))
    beyond = HELD.copy()
    beyond[3, 5] = 123.456
    with pytest.raises(RingforgeValueError, match="feature 5") as caught:
        ours.predict(beyond)
    assert "123" not in str(caught.value)
    with pytest.raises(ShapeError, match="13 features"):
        ours.predict(HELD[:, :12])
    with pytest.raises(RingforgeValueError, match="finite"):
        ours.predict(np.full((1, 13), np.nan))
    low, high = matvec.input_range(X, 0.25)
    np.testing.assert_allclose(high - low, 1.5 * np.ptp(X, axis=0))
    with pytest.raises(RingforgeValueError, match="margin"):
        matvec.input_range(X, -1.0)


def test_two_threads_on_one_estimator() -> None:
    there, held = fitted(CLASSIFIERS["LinearSVC"], "digits"), split("digits")[2]
    ours = matvec.from_sklearn(there, input_range=ranges("digits"))
    parts, got = np.array_split(held, 4), {}
    threads = [threading.Thread(target=lambda i=i: got.update({i: ours.predict(parts[i])})) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert (np.concatenate([got[i] for i in range(4)]) == there.predict(held)).all()


def test_samples_bound_what_networks_reach() -> None:
    """Bounds from samples of features give a smaller error than the worst case over all layers."""
    scaler, mlp = network("tanh")
    there = Pipeline([("scaler", scaler), ("mlp", mlp)])
    # Samples are raw features, mapped as rows are.
    ours = matvec.from_sklearn(there, activation=approximations.tanh(5, (-6, 6)), input_range=ranges("wine"))
    program = ours.compile(samples=X, batch=16).program
    assert program.input_bound == 1
    client = ours.client(program)
    result, _ = ours.server(program, client.client.evaluation_keys()).evaluate(client.encrypt(HELD))
    rows = client.client.decrypt(result)
    assert np.abs(rows - ours.scores_in_clear(HELD)).max() <= client.error_bound(result)
    assert (client.predict(result) == ours.rule.labels(ours.scores_in_clear(HELD)))[~client.uncertain(result)].all()


def test_models_in_files_keep_layers_and_rule(tmp_path: Path) -> None:
    scaler, mlp = network("tanh")
    ours = matvec.from_sklearn(mlp, activation=approximations.tanh(9, (-4, 4)), input_range=(-5, 5))
    matvec.save_model(tmp_path / "m.npz", ours)
    again = matvec.load_estimator(tmp_path / "m.npz")
    assert again.rule == ours.rule
    x = np.clip(scaler.transform(HELD), -5, 5)
    np.testing.assert_array_equal(again.scores_in_clear(x), ours.scores_in_clear(x))
    matvec.save_model(tmp_path / "layers.npz", ours.model)
    with pytest.raises(FormatError, match="no rule"):
        matvec.load_estimator(tmp_path / "layers.npz")
    for name in ("m.joblib", "m.pkl"):
        (tmp_path / name).write_bytes(b"\x80\x04.")
        with pytest.raises(UnsupportedModelError, match=r"from_sklearn\(estimator\)"):
            matvec.load_model(tmp_path / name)


def test_scikit_learn_is_not_imported() -> None:
    code = "import sys, ringforge.matvec; print('sklearn' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
