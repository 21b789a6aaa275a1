# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Random data frames: predictions equal scikit-learn's, or a refusal of ours; never others without a word."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ringforge import matvec
from ringforge.errors import Error, NamesWarning

pd: Any = pytest.importorskip("pandas")
pl: Any = pytest.importorskip("polars")
pa: Any = pytest.importorskip("pyarrow")

#: Types of a column, and what makes one of 0s and 1s; what is None cannot be computed with.
TYPES: dict[str, Any] = {
    "float": lambda s: s.astype(float),
    "float32": lambda s: s.astype("float32"),
    "integer": lambda s: s.astype("int8"),
    "boolean": lambda s: s.astype(bool),
    "Float64": lambda s: s.astype("Float64"),
    "Int64": lambda s: s.astype("Int64"),
    "nullable boolean": lambda s: s.astype(bool).astype("boolean"),
    "arrow": lambda s: s.astype(float).astype("double[pyarrow]"),
    "arrow boolean": lambda s: s.astype(bool).astype("bool[pyarrow]"),
    "objects": lambda s: s.astype(float).astype(object),
}
BAD: dict[str, Any] = {
    "text": lambda s: s.astype(str),
    "category": lambda s: s.map({0.0: "no", 1.0: "yes"}).astype("category"),
    "date": lambda s: pd.to_datetime(s.astype("int64"), unit="s"),
    "duration": lambda s: pd.to_timedelta(s.astype("int64"), unit="s"),
    "missing": lambda s: s.astype("Int64").where(np.arange(len(s)) > 0),
    "NaN": lambda s: s.astype(float).where(np.arange(len(s)) > 0),
}

CONTAINERS: dict[str, Any] = {
    "pandas": lambda f: f,
    "every second": lambda f: pd.concat([f, f]).sort_index(kind="stable").iloc[::2],
    "polars": lambda f: pl.from_pandas(f),
    "pyarrow": lambda f: pa.Table.from_pandas(f, preserve_index=False),
}


def _fitted(rng: np.random.Generator, frame: Any) -> Any:
    """An estimator, fitted with a frame or with an array."""
    y = frame.to_numpy() @ rng.normal(size=(frame.shape[1], 1))
    kind = rng.integers(4)
    if kind == 0:
        model, target = LogisticRegression(), (y[:, 0] > np.median(y)).astype(int)
    elif kind == 1:
        model, target = make_pipeline(StandardScaler(), Ridge()), y[:, 0]
    else:
        model, target = LinearRegression(), y if kind == 2 else np.hstack([y, -y])
    return model.fit(frame, target)


def _exact(model: Any, rows: Any) -> Any:
    return model.decision_function(rows) if hasattr(model, "decision_function") else model.predict(rows)


@pytest.mark.parametrize("seed", range(12))
def test_random_frames(seed: int) -> None:
    rng = np.random.default_rng(seed)
    width = int(rng.integers(1, 6))
    names = [f"f{i}" for i in range(width)]
    learn = pd.DataFrame(rng.integers(0, 2, (40, width)).astype(float), columns=names)
    learn.iloc[:2] = [[0.0] * width, [1.0] * width]
    named = bool(rng.integers(4))
    model = _fitted(rng, learn if named else learn.set_axis(range(width), axis=1))
    ours = matvec.from_sklearn(model)
    assert ours.rule.features == (names if named else None)
    for _ in range(15):
        rows = learn.iloc[rng.permutation(40)[:4]].reset_index(drop=True)
        change = str(rng.choice(["none", "order", "fewer", "more", "other", "twice", "bad"]))
        made = pd.DataFrame({n: TYPES[str(rng.choice(list(TYPES)))](rows[n]) for n in names})
        right = rows
        if change == "order":
            order = [names[i] for i in rng.permutation(width)]
            made = made[order]
            right = rows if named else rows[order]
        elif change == "fewer":
            made = made[names[1:]]
        elif change == "more":
            made.insert(int(rng.integers(width + 1)), "extra", 1.0)
        elif change == "other":
            made = made.rename(columns={names[0]: "other"})
        elif change == "twice":
            made = made[[*names, names[0]]]
        elif change == "bad":
            made[names[0]] = BAD[str(rng.choice(list(BAD)))](rows[names[0]])
        container = str(rng.choice(list(CONTAINERS)))
        if change == "twice" and container != "pandas":
            continue  # neither has two columns of one name
        given = CONTAINERS[container](made)
        refused = change in ("fewer", "more", "twice", "bad") or (change == "other" and named)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            what = f"{seed}: {change}, {container}, {dict(made.dtypes)}" if change != "twice" else change
            if refused:
                with pytest.raises(Error):
                    ours.scores_in_clear(given)
                continue
            exact = _exact(model, right if named else right.to_numpy())
            got = ours.rule.scores(ours.scores_in_clear(given))
        assert got.shape == exact.shape, what
        assert np.abs(got - exact).max() < 1e-9, what
        if not named:
            with pytest.warns(NamesWarning):
                ours.scores_in_clear(given)
