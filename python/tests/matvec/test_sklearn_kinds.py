# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""All kinds of scikit-learn's estimators: taken and equal, or refused with the reason; what its tools ask of ours."""

from __future__ import annotations

import itertools
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import (
    base,
    cluster,
    compose,
    ensemble,
    feature_selection,
    linear_model,
    metrics,
    model_selection,
    multiclass,
    naive_bayes,
    neural_network,
    svm,
)
from sklearn.cross_decomposition import PLSRegression
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.inspection import permutation_importance
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler

from ringforge import matvec
from ringforge.errors import ParameterError, ShapeError, UnsupportedModelError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.matvec import decisions, sklearn_table
from ringforge.matvec.scores import determination
from ringforge.matvec.sklearn_models import PREDICTORS
from ringforge.matvec.sklearn_steps import TRANSFORMERS

PAGE = Path(__file__).parents[3] / "docs" / "matvec-estimators.md"
BEGIN, END = "<!-- estimators: begin -->\n", "<!-- estimators: end -->\n"

#: Classes that take seconds to fit, or are of no kind of their own.
SLOW = {
    "CalibratedClassifierCV", "GridSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV", "LogisticRegressionCV",
    "RFECV", "RandomizedSearchCV", "SequentialFeatureSelector", "StackingClassifier", "TunedThresholdClassifierCV",
    "HistGradientBoostingClassifier", "HistGradientBoostingRegressor", "SpectralBiclustering", "TSNE",
}  # fmt: skip

#: One class for each function that imports estimators.
FAST = {
    *{function: name for name, function in sorted(PREDICTORS.items(), reverse=True) if name not in SLOW}.values(),
    *{function: name for name, function in sorted(TRANSFORMERS.items(), reverse=True)}.values(),
    "SelectKBest", "Pipeline", "RandomForestClassifier", "KNeighborsClassifier", "Normalizer", "NMF", "LabelEncoder",
    "VotingClassifier", "DummyRegressor", "DBSCAN", "PowerTransformer", "CountVectorizer", "MultiOutputClassifier",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(FAST))
def test_taken_and_equal_or_refused_with_the_reason(name: str) -> None:
    for row in sklearn_table.rows({name}):
        check(row)


def check(row: Any) -> None:
    """A refusal says why, and is no list of other classes."""
    assert row.taken == bool(row.becomes) == (not row.reason)
    if not row.taken:
        assert len(row.reason) > 60
        assert "; supported are " not in row.reason, f"{row.name} is refused without a reason"


def encrypted(ours: Any, x: Any) -> Any:
    client, result = ours.evaluate(x)
    return client.client.decrypt(result)


@pytest.mark.long
def test_all_estimators_on_ciphertexts_and_their_page() -> None:
    """Every class that scikit-learn lists: the same results on encrypted rows, and the page says so."""
    found = []
    for row in sklearn_table.rows(run=encrypted, error=1e-3):
        check(row)
        found.append(row)
    import sklearn

    told = PAGE.read_text().split(BEGIN)[1].split(END)[0]
    if f"scikit-learn {sklearn.__version__} " in told:
        assert told == sklearn_table.markdown(
            sklearn_table.Estimators(system="matvec", release=sklearn.__version__, rows=found)
        )


def test_the_page_has_every_class() -> None:
    told = PAGE.read_text().split(BEGIN)[1].split(END)[0]
    listed = set(re.findall(r"`(\w+)\(", told))
    missing = set(sklearn_table.estimators()) - listed
    assert not missing, "python -m tests.matvec.estimators_page writes the page"
    for row in sklearn_table.rows(FAST & {"SVC", "KMeans", "PCA", "NMF", "Normalizer"}):
        line = next(line for line in told.splitlines() if f"`{row.made}`" in line)
        assert (row.becomes or row.reason.split(": ", 1)[1].split(":")[0])[:60] in line


# ---- on ciphertexts ------------------------------------------------------------------------------

SETS = sklearn_table.data()
X, Y = SETS["classes"]
T = SETS["values"][1]
RANGE = matvec.input_range(X)


def kinds() -> dict[str, Any]:
    columns = compose.ColumnTransformer(
        [("a", make_pipeline(StandardScaler(), FunctionTransformer()), [3, 0]), ("b", "passthrough", slice(1, 2))],
        remainder=StandardScaler(),
    )
    union = FeatureUnion([("k", feature_selection.SelectKBest(k=2)), ("i", FunctionTransformer())])
    logistic = linear_model.LogisticRegression
    return {
        "search": model_selection.GridSearchCV(make_pipeline(StandardScaler(), logistic()), {}, cv=2),
        "columns": make_pipeline(columns, PolynomialFeatures(2), linear_model.RidgeClassifier()),
        "union": make_pipeline(union, logistic()),
        "support vectors": svm.SVC(kernel="linear"),
        "support vectors by pairs": svm.SVC(kernel="linear", decision_function_shape="ovo"),
        "support vectors with ties broken": svm.SVC(kernel="linear", break_ties=True),
        "one versus one": multiclass.OneVsOneClassifier(svm.LinearSVC()),
        "one versus rest": multiclass.OneVsRestClassifier(logistic()),
        "Bayes": naive_bayes.GaussianNB(),
        "clusters": cluster.KMeans(3, random_state=0),
        "latent": PLSRegression(),
        "average": ensemble.VotingRegressor([("a", linear_model.Ridge()), ("b", linear_model.BayesianRidge())]),
        "logarithm": linear_model.GammaRegressor(),
        "shifted logarithm": compose.TransformedTargetRegressor(
            linear_model.Ridge(), func=np.log1p, inverse_func=np.expm1
        ),
        "counts of a network": neural_network.MLPRegressor(
            "poisson", (3,), activation="identity", max_iter=5, random_state=0
        ),
    }


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", kinds())
def test_equal_on_ciphertexts(kind: str) -> None:
    there = kinds()[kind]
    there.fit(X, Y if base.is_classifier(there) or kind == "clusters" else np.exp(T / 4))
    ours = matvec.from_sklearn(there, input_range=RANGE)
    scores = encrypted(ours, X)
    assert sklearn_table.equal(there, ours, X, scores, error=1e-3)
    assert ours.predict(X).shape == there.predict(X).shape


# ---- never taken and wrong -----------------------------------------------------------------------


@pytest.mark.parametrize("method", ["predict", "decision_function", "predict_proba"])
def test_an_estimator_that_computes_something_else_is_refused(method: str) -> None:
    there = linear_model.LogisticRegression().fit(X, Y)
    original = getattr(there, method)
    setattr(there, method, lambda x: original(x)[::-1])
    with pytest.raises(UnsupportedModelError, match=f"its {method} differs"):
        matvec.from_sklearn(there)


def test_links_and_clipped_regressions_are_compared_too() -> None:
    there = linear_model.PoissonRegressor().fit(X, np.exp(T / 4))
    there.predict = lambda x: x @ there.coef_ + there.intercept_
    with pytest.raises(UnsupportedModelError, match="its predict differs"):
        matvec.from_sklearn(there)
    line = linear_model.LinearRegression().fit(X, T)
    predict = line.predict
    line.predict = lambda x: np.maximum(predict(x), T.min())
    with pytest.raises(UnsupportedModelError, match="its predict differs"):
        matvec.from_sklearn(line)


def broken_searches() -> dict[str, tuple[Any, type[Exception], str]]:
    logistic = linear_model.LogisticRegression()
    return {
        "no refit": (
            model_selection.GridSearchCV(logistic, {}, cv=2, refit=False).fit(X, Y),
            ParameterError,
            "refit=True",
        ),
        "a search that is not fitted": (model_selection.GridSearchCV(logistic, {}), ParameterError, "call fit"),
        "a selector that is not fitted": (
            make_pipeline(feature_selection.SelectKBest(k=1), logistic),
            ParameterError,
            "call fit",
        ),
        "no column": (
            compose.ColumnTransformer([("a", "drop", [0])]).fit(X),
            UnsupportedModelError,
            "drops every column",
        ),
        "products beside other columns": (
            FeatureUnion([("a", PolynomialFeatures(2)), ("b", StandardScaler())]).fit(X),
            UnsupportedModelError,
            "behind the FeatureUnion",
        ),
        "distances within a pipeline": (
            make_pipeline(cluster.KMeans(2, random_state=0), logistic).fit(X, Y),
            UnsupportedModelError,
            "only a pipeline's last step may predict",
        ),
        "several labels": (
            multiclass.OneVsRestClassifier(logistic).fit(X, SETS["labels"][1]),
            UnsupportedModelError,
            "several labels",
        ),
        "a kernel of the client's": (
            svm.SVC(kernel="precomputed").fit(X @ X.T, Y),
            UnsupportedModelError,
            "which the client cannot make",
        ),
    }


@pytest.mark.parametrize("case", broken_searches())
def test_refused_with_a_remedy(case: str) -> None:
    there, error, words = broken_searches()[case]
    with pytest.raises(error, match=words):
        matvec.from_sklearn(there)


# ---- what scikit-learn's tools ask ---------------------------------------------------------------


@pytest.fixture(scope="module")
def classifier() -> Any:
    return matvec.from_sklearn(linear_model.LogisticRegression().fit(X, Y), input_range=RANGE)


def test_scores_and_logarithms_as_scikit_learn(classifier: Any) -> None:
    there = linear_model.LogisticRegression().fit(X, Y)
    weights = np.arange(1, len(X) + 1)
    wrong = (Y + (np.arange(len(Y)) % 5 == 0)) % 3
    for y, w in ((Y, None), (wrong, None), (wrong[:, None], weights)):
        assert classifier.score(X, y, w) == pytest.approx(there.score(X, y, w), abs=1e-12)
    np.testing.assert_allclose(classifier.predict_log_proba(X), there.predict_log_proba(X), atol=1e-2)
    with pytest.raises(ShapeError, match="a class each"):
        classifier.score(X, Y[:-1])
    with pytest.raises(ShapeError, match="of type <U"):
        classifier.score(X, Y.astype(str))
    with pytest.raises(RingforgeValueError, match="sample_weight"):
        classifier.score(X, Y, -weights)
    with pytest.raises(ShapeError, match="a class each"):
        classifier.score(X[:0], Y[:0])


def test_scores_of_regressions(classifier: Any) -> None:
    targets = np.stack([T, np.ones(len(T)), X[:, 0] * T], axis=1)
    weights = np.arange(1, len(X) + 1)
    for y in (T, T[:, None], targets):
        there = linear_model.LinearRegression().fit(X, y)
        ours = matvec.from_sklearn(there, input_range=RANGE)
        for w in (None, weights):
            values = ours.predict(X)
            exact = metrics.r2_score(y, values, sample_weight=w)
            assert determination(y, values, w) == pytest.approx(exact, abs=1e-12)
            assert ours.score(X, y, w) == pytest.approx(exact, abs=1e-4)
    with pytest.raises(ShapeError, match="as many targets"):
        ours.score(X, T)
    assert not hasattr(matvec.from_sklearn(StandardScaler().fit(X)), "score")
    assert classifier.n_features_in_ == 4
    assert not hasattr(classifier, "feature_names_in_")


def test_a_clone_is_the_fitted_model_without_keys(classifier: Any) -> None:
    classifier.predict(X[:1])
    again = base.clone(classifier)
    assert again is not classifier
    assert again._session is None
    assert (again.scores_in_clear(X) == classifier.scores_in_clear(X)).all()
    assert base.is_classifier(again)
    assert not base.is_regressor(again)


def test_nothing_is_trained(classifier: Any) -> None:
    for call in (classifier.fit, classifier.fit_predict):
        with pytest.raises(UnsupportedModelError, match="cannot be trained"):
            call(X, Y)
    with pytest.raises(UnsupportedModelError, match="cannot be trained"):
        matvec.from_sklearn(StandardScaler().fit(X)).fit_transform(X)
    with pytest.raises(UnsupportedModelError, match="cannot be trained"):
        model_selection.cross_val_score(classifier, X, Y, cv=2, error_score="raise")
    assert classifier.get_params() == {}
    assert classifier.set_params() is classifier
    with pytest.raises(ParameterError, match="C cannot be set"):
        classifier.set_params(C=2)


def test_tools_of_scikit_learn_take_it(classifier: Any) -> None:
    assert metrics.get_scorer("accuracy")(classifier, X, Y) == classifier.score(X, Y)
    found = permutation_importance(classifier, X[:8], Y[:8], n_repeats=1, random_state=0)
    assert found.importances.shape == (4, 1)


def test_what_predicts_and_transforms_does_both(tmp_path: Path) -> None:
    there = LinearDiscriminantAnalysis().fit(X, Y)
    ours = matvec.from_sklearn(there, input_range=RANGE)
    assert (ours.predict(X) == there.predict(X)).all()
    np.testing.assert_allclose(ours.transform(X), there.transform(X), atol=1e-3)
    alone = matvec.from_sklearn(there, method="transform")
    assert isinstance(alone, matvec.EncryptedTransformer)
    np.testing.assert_allclose(alone.scores_in_clear(X), there.transform(X), atol=1e-9)
    matvec.save_model(tmp_path / "m", ours)
    for other in (
        matvec.load_estimator(tmp_path / "m"),
        matvec.from_sklearn(LinearDiscriminantAnalysis(solver="lsqr").fit(X, Y)),
    ):
        with pytest.raises(ParameterError, match="method='transform'"):
            other.transform(X)
    with pytest.raises(ParameterError, match="transforms nothing"):
        matvec.from_sklearn(linear_model.Ridge().fit(X, T), method="transform")
    with pytest.raises(ParameterError, match="method is"):
        matvec.from_sklearn(there, method="decide")  # type: ignore[arg-type]


# ---- decisions by pairs, thresholds --------------------------------------------------------------


@pytest.mark.parametrize("decision", ["votes", "pairs", "break-ties"])
def test_no_certain_class_changes_within_the_error(decision: Any) -> None:
    generator = np.random.default_rng(3)
    scores = generator.integers(-3, 4, (400, 6)) / 2
    error = 0.6
    doubtful = decisions.uncertain(scores, 4, decision, error)
    assert 0 < doubtful.sum() < len(scores)
    before = decisions.best(scores, 4, decision)
    for signs in itertools.product((-1, 1), repeat=6):
        after = decisions.best(scores + error * np.array(signs) * 0.999, 4, decision)
        assert (after == before)[~doubtful].all()


def test_thresholds_move_classes_and_not_scores() -> None:
    x, y = SETS["binary"]
    for positive, threshold, response in (
        (None, 0.3, "auto"),
        (0, 0.8, "predict_proba"),
        (0, 3.0, "decision_function"),
    ):
        there = model_selection.FixedThresholdClassifier(
            linear_model.LogisticRegression(), threshold=threshold, pos_label=positive, response_method=response
        ).fit(x, y)
        plain = there.estimator_.predict(x)
        ours = matvec.from_sklearn(there)
        assert (there.predict(x) != plain).any(), "the threshold matters"
        assert sklearn_table.equal(there, ours, x, ours.scores_in_clear(x))


def test_bayes_has_probabilities_and_no_decision_function() -> None:
    there = naive_bayes.MultinomialNB().fit(*SETS["counts"])
    ours = matvec.from_sklearn(there, input_range=(0, 4))
    np.testing.assert_allclose(ours.predict_proba(SETS["counts"][0]), there.predict_proba(SETS["counts"][0]), atol=1e-3)
    with pytest.raises(ParameterError, match="no decision_function"):
        ours.decision_function(SETS["counts"][0])


# ---- first calls ---------------------------------------------------------------------------------


def test_raw_features_name_the_ranges() -> None:
    there = make_pipeline(StandardScaler(), linear_model.LogisticRegression()).fit(X * 100, Y)
    ours = matvec.from_sklearn(there)
    with pytest.raises(RingforgeValueError, match=r"input_range=matvec\.input_range\(X\)") as caught:
        ours.predict(X * 100)
    assert re.search(r"feature \d+ has", str(caught.value))
    assert (
        matvec.from_sklearn(there, input_range=matvec.input_range(X * 100)).predict(X * 100) == there.predict(X * 100)
    ).all()
    narrow = matvec.from_sklearn(there, input_range=matvec.input_range(X))
    with pytest.raises(RingforgeValueError, match=r"matvec\.input_range\(X, margin=\.\.\.\)"):
        narrow.predict(X * 100)
    program = matvec.compile_model(matvec.Linear(np.eye(2)), "set-a").program
    with pytest.raises(RingforgeValueError, match="input_bound="):
        matvec.Client(program).encrypt([3.0, 1.0])


def test_no_rows_give_no_results() -> None:
    for there, y in (
        (linear_model.LogisticRegression(), np.array(["a", "b", "c"])[Y]),
        (linear_model.LogisticRegression(), Y > 0),
        (linear_model.LinearRegression(), T),
        (linear_model.LinearRegression(), np.stack([T, T], axis=1)),
        (svm.SVC(kernel="linear"), Y),
        (StandardScaler(), None),
    ):
        there.fit(X, y)
        ours = matvec.from_sklearn(there, input_range=RANGE)
        ours.prepare("set-a")
        for method in ("predict", "decision_function", "predict_proba", "transform"):
            if hasattr(there, method):
                got, expected = getattr(ours, method)(X[:0]), getattr(there, method)(X[:1])[:0]
                assert (got.shape, got.dtype.kind) == (expected.shape, expected.dtype.kind), method
    with pytest.raises(ShapeError, match="4 features"):
        ours.transform(X[:0, :3])


def test_warnings_do_not_come_from_the_comparison() -> None:
    """Probe rows are no user's data: an estimator fitted to a data frame is imported without a word."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    columns = compose.ColumnTransformer([("s", StandardScaler(), ["c", "a"]), ("p", "passthrough", ["b"])])
    there = make_pipeline(columns, linear_model.LogisticRegression()).fit(frame, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = matvec.from_sklearn(there, input_range=RANGE)
        assert (ours.predict(frame) == there.predict(frame)).all()
    assert ours.feature_names_in_.tolist() == there.feature_names_in_.tolist()
