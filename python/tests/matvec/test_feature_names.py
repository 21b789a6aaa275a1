# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Columns of data frames reach the features of their names, or are refused; shapes of targets come back."""

from __future__ import annotations

import copy
import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import linear_model
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ringforge import matvec
from ringforge.errors import FormatError, MismatchError, NamesWarning, ShapeError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.matvec import Rule

pd: Any = pytest.importorskip("pandas")
pl: Any = pytest.importorskip("polars")
pa: Any = pytest.importorskip("pyarrow")

NAMES = ["sl", "sw", "pl", "pw"]
OTHER = ["pw", "pl", "sw", "sl"]


@pytest.fixture(scope="module")
def frame() -> Any:
    return pd.DataFrame(load_iris().data, columns=NAMES)


@pytest.fixture(scope="module")
def there(frame: Any) -> Any:
    """A classifier of scikit-learn, fitted with names."""
    return LogisticRegression(max_iter=500).fit(frame, load_iris().target)


@pytest.fixture(scope="module")
def ours(there: Any) -> Any:
    made = matvec.from_sklearn(there, input_range=(0.0, 10.0))
    made.prepare(batch=16)
    return made


FORMS: dict[str, Any] = {
    "pandas": lambda f: f,
    "nullable": lambda f: f.convert_dtypes(),
    "arrow in pandas": lambda f: f.convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda f: pl.from_pandas(f),
    "pyarrow": lambda f: pa.Table.from_pandas(f, preserve_index=False),
    "pyarrow batch": lambda f: pa.RecordBatch.from_pandas(f, preserve_index=False),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_order_is_predicted_alike(frame: Any, there: Any, ours: Any, form: str) -> None:
    """The fault that was: columns in another order were predicted from by position."""
    rows = frame.iloc[::10]
    given = FORMS[form](rows[OTHER])
    np.testing.assert_array_equal(ours.predict(given), there.predict(rows))
    exact = there.decision_function(rows)
    assert np.abs(ours.scores_in_clear(given) - exact).max() < 1e-9
    client, result = ours.evaluate(given)
    assert np.abs(client.decision_function(result) - exact).max() < 1e-2
    assert np.abs(client.predict_proba(result) - there.predict_proba(rows)).max() < 1e-2
    assert np.abs(client.client.decrypt(result) - exact).max() < 1e-2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f[["sl", "sw", "pl"]], ['lacks "pw"']),
        (lambda f: f.assign(species=1.0), ['"species", which the model does not know']),
        (lambda f: f.rename(columns={"pw": "petal"}), ['lacks "pw"', 'has "petal"']),
        (lambda f: f[["sl", "sw", "pl", "pw", "pw"]], ['"pw" more than once']),
        (lambda f: f[["sl", "sw", "pl", "pl"]], ['lacks "pw"', '"pl" more than once']),
        (lambda f: f.assign(species="x"), ['"species"']),
        (lambda f: pl.from_pandas(f).rename({"pw": "petal"}), ['lacks "pw"']),
        (lambda f: pa.Table.from_pandas(f[["sl", "sw"]]), ['lacks "pl", "pw"']),
        (lambda f: f.iloc[0].rename({"pw": "petal"}), ['lacks "pw"']),
    ],
)
def test_other_columns_are_refused(frame: Any, ours: Any, change: Any, words: list[str]) -> None:
    bad = change(frame.iloc[:3])
    client = ours.evaluate(frame.iloc[:1])[0]
    for call in (ours.predict, ours.predict_proba, ours.decision_function, ours.evaluate, client.encrypt,
                 lambda x: ours.compile(samples=x)):  # fmt: skip
        with pytest.raises(MismatchError) as caught:
            call(bad)
        for word in words:
            assert word in str(caught.value)


def test_a_row_is_put_in_order_by_its_index(frame: Any, ours: Any) -> None:
    row = frame.iloc[77]
    np.testing.assert_array_equal(ours.scores_in_clear(row[OTHER]), ours.scores_in_clear(frame.iloc[77:78]))


def test_a_value_outside_is_named(frame: Any, ours: Any) -> None:
    with pytest.raises(RingforgeValueError, match='feature "pl" has a value outside'):
        ours.predict(frame.assign(pl=77.0)[OTHER])


def test_without_names_on_one_side_columns_go_by_position_with_a_warning(frame: Any, ours: Any) -> None:
    rows = frame.iloc[:5]
    for bare in (rows.to_numpy(), rows.to_numpy().tolist(), rows.set_axis(range(4), axis=1)):
        with pytest.warns(NamesWarning, match="the data has none"):
            got = ours.scores_in_clear(bare)
        np.testing.assert_array_equal(got, ours.scores_in_clear(rows))
    nameless = matvec.from_sklearn(LogisticRegression(max_iter=500).fit(frame.to_numpy(), load_iris().target))
    assert nameless.rule.features is None
    with pytest.warns(NamesWarning, match="the model has none"):
        nameless.scores_in_clear(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours.scores_in_clear(rows)
        nameless.scores_in_clear(rows.to_numpy())
        nameless.scores_in_clear(rows.set_axis(range(4), axis=1))


@pytest.mark.parametrize(
    "wrap",
    [
        lambda m: m,
        lambda m: make_pipeline(StandardScaler(), m),
        lambda m: make_pipeline("passthrough", make_pipeline(StandardScaler(), m)),
    ],
)
def test_pipelines_have_the_names_of_what_comes_in(frame: Any, wrap: Any) -> None:
    fitted = wrap(LinearRegression()).fit(frame, frame["sl"])
    trained = matvec.from_sklearn(fitted)
    assert trained.rule.features == NAMES
    exact = fitted.predict(frame)
    assert np.abs(trained.rule.scores(trained.scores_in_clear(frame[OTHER])) - exact).max() < 1e-9


# ---- ranges -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ranges",
    [
        lambda f: matvec.input_range(f),
        lambda f: matvec.input_range(f[OTHER]),
        lambda f: matvec.input_range(pl.from_pandas(f[OTHER])),
        lambda f: (f[OTHER].min() - 0.5 * (f.max() - f.min()), f.max() + 0.5 * (f.max() - f.min())),
        lambda f: copy.deepcopy(matvec.input_range(f[OTHER])),
        lambda f: pickle.loads(pickle.dumps(matvec.input_range(f[OTHER]))),
    ],
)
def test_ranges_go_by_name(frame: Any, there: Any, ranges: Any) -> None:
    rule = matvec.from_sklearn(there, input_range=ranges(frame)).rule
    low, high = matvec.input_range(frame.to_numpy())
    assert rule.low is not None
    assert rule.high is not None
    np.testing.assert_allclose(rule.low, low)
    np.testing.assert_allclose(rule.high, high)


def test_ranges_of_other_columns_are_refused(frame: Any, there: Any) -> None:
    for bad in (frame[["sl", "sw", "pl"]], frame.rename(columns={"pw": "petal"})):
        with pytest.raises(MismatchError, match='input_range lacks "pw"'):
            matvec.from_sklearn(there, input_range=matvec.input_range(bad))
    ends = pl.from_pandas(frame[OTHER])
    rule = matvec.from_sklearn(there, input_range=(ends.min(), ends.max())).rule
    assert rule.low == frame.min().tolist()


# ---- files, programs --------------------------------------------------------------------------------


def test_names_stay_in_files(tmp_path: Path, ours: Any) -> None:
    matvec.save_model(tmp_path / "m.npz", ours)
    assert matvec.load_estimator(tmp_path / "m.npz").rule.features == NAMES
    program = ours.compile().program
    assert program.features == NAMES
    program.save(tmp_path / "p.json")
    again = matvec.Program.load(tmp_path / "p.json")
    assert again.digest == program.digest
    rule = ours.public_rule(again)
    rule.save(tmp_path / "r.json")
    assert Rule.load(tmp_path / "r.json") == rule
    with pytest.raises(MismatchError, match="different names"):
        ours.rule.model_copy(update={"features": OTHER}).match(again)


def test_older_files_have_no_names(tmp_path: Path, ours: Any) -> None:
    for thing, path in ((ours.rule, tmp_path / "r.json"), (ours.compile(features=None).program, tmp_path / "p.json")):
        assert "one_column" not in thing.model_dump(exclude_none=True)
        thing.save(path)
        fields = json.loads(path.read_text())
        fields.pop("features", None)
        path.write_text(json.dumps(fields))
        assert type(thing).load(path).features is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"features": ["a"]}, "1 names for 4 features"),
        ({"features": [1, 2, 3, 4]}, "features"),
        ({"one_column": True}, "one column of values"),
    ],
)
def test_rules_with_wrong_names(ours: Any, change: dict[str, Any], words: str) -> None:
    with pytest.raises(FormatError, match=words):
        Rule.from_json(json.dumps({**ours.rule.model_dump(exclude_none=True), **change}), "r.json")


def test_programs_have_the_names_of_their_samples(frame: Any) -> None:
    weights = np.random.default_rng(2).normal(size=(2, 4))
    program = matvec.compile_model(matvec.Linear(weights), input_bound=10, samples=frame).program
    assert program.features == NAMES
    again = matvec.compile_model(matvec.Linear(weights), input_bound=10, samples=frame[OTHER], features=NAMES)
    assert again.program.digest == program.digest
    client = matvec.Client(program)
    server = matvec.Server(matvec.Linear(weights), program, client.evaluation_keys())
    got = client.decrypt(server.evaluate(client.encrypt(frame[OTHER].iloc[:2]))[0])
    assert np.abs(got - frame.iloc[:2].to_numpy() @ weights.T).max() < 1e-2
    with pytest.raises(MismatchError, match='lacks "pw"'):
        client.encrypt(frame[["sl", "sw", "pl"]])
    with pytest.raises(ShapeError, match="2 names of features for a model of 4 inputs"):
        matvec.compile_model(matvec.Linear(weights), features=["a", "b"])
    assert (
        matvec.compile_model(matvec.Linear(weights), samples=frame.to_numpy(), input_bound=10).program.features is None
    )


# ---- shapes of targets ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "columns"),
    [(n, k) for n in ("LinearRegression", "Ridge", "Lasso", "ElasticNet") for k in (None, 1, 3)]
    + [("SGDRegressor", None), ("SGDRegressor", 1)],  # it takes one target
)
def test_values_have_the_shape_of_scikit_learns(name: str, columns: int | None) -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, (30, 4))
    y = x @ rng.normal(size=(4, columns or 1)) + 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns where a vector is expected
        fitted = getattr(linear_model, name)().fit(x, y if columns else y[:, 0])
    trained = matvec.from_sklearn(fitted)
    exact, got = fitted.predict(x), trained.rule.scores(trained.scores_in_clear(x))
    assert got.shape == exact.shape
    assert np.abs(got - exact).max() < 1e-9


def test_one_column_of_values_by_encryption() -> None:
    """The fault that was: a regression of targets (n, 1) gave (k,), which broadcasts against (k, 1)."""
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, (30, 4))
    y = x @ rng.normal(size=(4, 1))
    fitted = LinearRegression().fit(x, y)
    got = matvec.from_sklearn(fitted).predict(x[:3])
    assert got.shape == fitted.predict(x[:3]).shape == (3, 1)
    assert np.abs(got - fitted.predict(x[:3])).max() < 1e-3


def test_networks_give_vectors_for_one_column() -> None:
    rng = np.random.default_rng(6)
    x = rng.uniform(-1, 1, (30, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = MLPRegressor(hidden_layer_sizes=(4,), activation="identity", max_iter=20, random_state=0).fit(
            x, x[:, :1]
        )
    trained = matvec.from_sklearn(fitted)
    assert trained.rule.scores(trained.scores_in_clear(x)).shape == fitted.predict(x).shape == (30,)
