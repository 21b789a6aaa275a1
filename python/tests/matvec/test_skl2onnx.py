# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What skl2onnx makes of scikit-learn's estimators loads, and computes what the file and the estimator say.

Oracles: onnx's reference evaluator on the same file, and scikit-learn.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import LinearSVC

from ringforge import matvec
from ringforge.errors import UnsupportedModelError

from .sklearn_cases import CLASSIFIERS, REGRESSORS, TRANSFORMERS, fitted, split

onnx = pytest.importorskip("onnx")
skl2onnx = pytest.importorskip("skl2onnx")
ReferenceEvaluator = pytest.importorskip("onnx.reference").ReferenceEvaluator


#: float32 in the file against float64 here, relative to the largest value.
TOLERANCE = 2e-5


def exported(there: Any, x: np.ndarray, path: Path, **options: Any) -> Any:
    """The converter's file, and its graph without ZipMap, which the reference evaluator lacks."""
    if isinstance(there, Pipeline) and isinstance(there[-1], LinearSVC):
        # The converter's own default for pipelines is refused by its LinearSVC.
        options = {"options": {LinearSVC: {"raw_scores": False}}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        proto = skl2onnx.to_onnx(there, x[:1].astype(np.float32), **options)
    path.write_bytes(proto.SerializeToString())
    plain = onnx.ModelProto()
    plain.CopyFrom(proto)
    for node in [n for n in plain.graph.node if n.op_type == "ZipMap"]:
        plain.graph.node.remove(node)
        place = [o.name for o in plain.graph.output].index(node.output[0])
        del plain.graph.output[place]
        made = onnx.helper.make_tensor_value_info(node.input[0], onnx.TensorProto.FLOAT, None)
        plain.graph.output.insert(place, made)
    return plain


def run(proto: Any, x: np.ndarray) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        return [np.asarray(a) for a in ReferenceEvaluator(proto).run(None, {"X": x})]


@pytest.mark.parametrize("data", ["digits", "breast_cancer", "wine"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers(tmp_path: Path, name: str, data: str) -> None:
    there, held = fitted(CLASSIFIERS[name], data), split(data)[2].astype(np.float32)
    proto = exported(there, held, tmp_path / "m.onnx")
    ours = matvec.from_onnx(tmp_path / "m.onnx")
    assert isinstance(ours, matvec.EncryptedClassifier)
    assert len(ours.model.layers) == 1
    scores = ours.scores_in_clear(held)
    labels = ours.rule.labels(scores)
    expected = there.predict(held)
    # float32 weights may turn a row whose margin is that small; nothing else may.
    close = ours.rule.uncertain(scores, TOLERANCE * np.abs(scores).max())
    assert (labels == expected)[~close].all()
    assert close.mean() < 0.02
    stated = run(proto, held)
    if ours.rule.link != "one-vs-rest":  # whose float32 probabilities end at 1, and then the file takes the first
        assert (labels == stated[0].reshape(-1))[~close].all()
    if hasattr(there, "predict_proba"):
        # Logistic functions of float32 end at 0 and 1 for scores beyond 80.
        within = np.abs(scores).max(axis=1) < 80
        assert within.any() or "raw" in name
        np.testing.assert_allclose(ours.rule.probabilities(scores)[within], stated[1][within], atol=2e-3)
    direct = matvec.from_sklearn(there)
    if direct.rule.outputs == ours.rule.outputs:
        exact = direct.scores_in_clear(held)
        assert np.abs(scores - exact).max() <= TOLERANCE * max(1.0, np.abs(exact).max())


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors(tmp_path: Path, name: str) -> None:
    there, held = fitted(REGRESSORS[name], "diabetes"), split("diabetes")[2].astype(np.float32)
    proto = exported(there, held, tmp_path / "m.onnx")
    ours = matvec.from_onnx(tmp_path / "m.onnx")
    assert isinstance(ours, matvec.EncryptedRegressor)
    values = ours.rule.scores(ours.scores_in_clear(held))
    for expected in (there.predict(held), run(proto, held)[0].reshape(-1)):
        assert np.abs(values - expected).max() <= TOLERANCE * np.abs(expected).max()


STEPS = {"MinMaxScaler": MinMaxScaler, "MaxAbsScaler": MaxAbsScaler, "RobustScaler": RobustScaler}


@pytest.mark.parametrize("name", [*TRANSFORMERS, *STEPS])
def test_transformers(tmp_path: Path, name: str) -> None:
    make = TRANSFORMERS.get(name) or (lambda _: STEPS[name]())
    there, held = fitted(make, "wine"), split("wine")[2].astype(np.float32)
    exported(there, held, tmp_path / "m.onnx")
    got, expected = matvec.load_model(tmp_path / "m.onnx")(held), there.transform(held)
    assert np.abs(got - expected).max() <= TOLERANCE * np.abs(expected).max()


OPTIONS: dict[str, tuple[Any, dict[str, Any]]] = {
    "no maps": (LogisticRegression, {"zipmap": False}),
    "raw scores": (LogisticRegression, {LogisticRegression: {"zipmap": False, "raw_scores": True}}),
    "scores of sgd": (lambda: SGDClassifier(random_state=0), {SGDClassifier: {"zipmap": False, "raw_scores": True}}),
}


@pytest.mark.parametrize("case", OPTIONS)
@pytest.mark.parametrize("data", ["wine", "breast_cancer"])
def test_options_of_the_converter(tmp_path: Path, case: str, data: str) -> None:
    make, options = OPTIONS[case]
    x, y, held, _ = split(data)
    scaler = StandardScaler().fit(x)
    there, rows = make().fit(scaler.transform(x), y), scaler.transform(held).astype(np.float32)
    proto = exported(there, rows, tmp_path / "m.onnx", options=options)
    ours = matvec.from_onnx(tmp_path / "m.onnx")
    labels = ours.rule.labels(ours.scores_in_clear(rows))
    assert (labels == there.predict(rows)).all()
    assert (labels == run(proto, rows)[0]).all()


@pytest.mark.parametrize("labels", [("red", "white", "rosé"), (5, 2, 9)])
def test_labels(tmp_path: Path, labels: tuple[Any, ...]) -> None:
    x, y, held, _ = split("wine")
    for last in (LogisticRegression(), SGDClassifier(random_state=0)):
        there = make_pipeline(StandardScaler(), last).fit(x, np.array(labels)[y])
        exported(there, held, tmp_path / "m.onnx")
        ours = matvec.from_onnx(tmp_path / "m.onnx")
        assert ours.rule.classes == there.classes_.tolist()
        assert (ours.rule.labels(ours.scores_in_clear(held)) == there.predict(held)).all()


def test_on_ciphertexts(tmp_path: Path) -> None:
    """A file's classifier is evaluated like any other: a pipeline costs one product."""
    there, held = fitted(CLASSIFIERS["PCA"], "digits"), split("digits")[2]
    exported(there, held, tmp_path / "m.onnx")
    ours = matvec.from_onnx(tmp_path / "m.onnx")
    ours.prepare(batch=64, input_bound=16.0)
    client, result = ours.evaluate(held)
    expected, close = there.predict(held), client.uncertain(result)
    assert (client.predict(result) == expected)[~close].all()
    assert close.mean() < 0.01


def test_several_targets(tmp_path: Path) -> None:
    x, y, held, _ = split("wine")
    for there in (LinearRegression(), Ridge()):
        there.fit(x, np.stack([y, y**2], axis=1))
        exported(there, held, tmp_path / "m.onnx")
        got = matvec.load_model(tmp_path / "m.onnx")(held.astype(np.float32))
        np.testing.assert_allclose(got, there.predict(held), atol=1e-4)


def test_what_a_converter_says_differently_is_computed_as_the_file_says(tmp_path: Path) -> None:
    """Discriminant analysis of two classes becomes a softmax of -s and s: another probability than scikit-learn's."""
    x, y, held, _ = split("breast_cancer")
    there, rows = LinearDiscriminantAnalysis().fit(x, y), held.astype(np.float32)
    proto = exported(there, rows, tmp_path / "m.onnx")
    ours = matvec.from_onnx(tmp_path / "m.onnx")
    scores = ours.scores_in_clear(rows)
    np.testing.assert_allclose(ours.rule.probabilities(scores), run(proto, rows)[1], atol=1e-4)
    direct = matvec.from_sklearn(there)
    np.testing.assert_allclose(
        direct.rule.probabilities(direct.scores_in_clear(rows)), there.predict_proba(rows), atol=1e-9
    )


def test_scores_that_are_clipped_are_refused(tmp_path: Path) -> None:
    """Of several classes beyond 1 the file takes the first, scikit-learn the largest."""
    x, y, held, _ = split("wine")
    there = SGDClassifier(loss="modified_huber", random_state=0).fit(x, y)
    exported(there, held, tmp_path / "m.onnx")
    with pytest.raises(UnsupportedModelError, match=r"matvec\.from_sklearn"):
        matvec.from_onnx(tmp_path / "m.onnx")
    binary = SGDClassifier(loss="modified_huber", random_state=0).fit(x, y == 1)
    exported(binary, held, tmp_path / "m.onnx")
    ours = matvec.from_onnx(tmp_path / "m.onnx")
    assert ours.rule.link == "clip"
