# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Random calls on estimators of scikit-learn, with data frames whose columns have names, orders and dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ringforge import matvec
from tests.calls.outcome import Call, Refused

NAMES = ["sepal length", "sw", "petal", "4"]

_METHODS = ("predict", "predict_proba", "decision_function", "predict_log_proba", "score", "transform")
_CONTAINERS = ("pandas", "pandas", "polars", "pyarrow", "array", "list", "fortran", "object", "masked")
_COLUMNS = (
    "same",
    "same",
    "same",
    "shuffled",
    "shuffled",
    "missing",
    "more",
    "renamed",
    "doubled",
    "numbered",
    "swapped",
)
_DTYPES = ("f8", "f8", "f4", "nullable", "arrow", "object", "text", "category", "gap", "datetime", "complex", "mixed")


class Frames:
    """Draws calls on estimators that were made once."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        x, y = load_iris(return_X_y=True)
        self.frame = pd.DataFrame(np.round(x * 4) / 4, columns=NAMES)
        self.classes = y
        two = np.stack([y * 2.0, y + 1.0], axis=1)
        scaled = lambda last: make_pipeline(StandardScaler(), last)  # noqa: E731
        fitted = [
            LogisticRegression(max_iter=500).fit(self.frame, y),
            scaled(LogisticRegression()).fit(self.frame, np.array(["setosa", "other", "x"])[y]),
            LogisticRegression(max_iter=500).fit(self.frame, y > 0),
            LinearRegression().fit(self.frame, y),
            Ridge().fit(self.frame, two),
            Ridge().fit(self.frame, two[:, :1]),
            scaled(PCA(2)).fit(self.frame),
            LogisticRegression(max_iter=500).fit(self.frame.to_numpy(), y),
        ]
        self.models = [(m, matvec.from_sklearn(m, input_range=(0.0, 10.0))) for m in fitted]

    def _pick(self, options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def _typed(self, rows: pd.DataFrame, dtype: str) -> tuple[pd.DataFrame, bool]:
        """The frame with a column, or all, of another dtype, and whether the values are still numbers."""
        c = rows.columns[int(self.rng.integers(rows.shape[1]))]
        if dtype == "f4":
            return rows.astype("f4"), True
        if dtype == "nullable":
            return rows.convert_dtypes(), True
        if dtype == "arrow":
            return rows.convert_dtypes(dtype_backend="pyarrow"), True
        if dtype == "object":
            return rows.astype(object), True
        if dtype == "mixed":
            return rows.assign(**{str(c): np.round(rows[c]).astype(int)}), True
        made: dict[str, Callable[[pd.Series[Any]], Any]] = {
            "text": lambda s: [f"value {v}" for v in s],
            "category": lambda s: pd.Categorical([f"v{v}" for v in s]),
            "gap": lambda s: [np.nan, *s[1:]], "datetime": lambda s: pd.to_datetime(s, unit="s"),
            "complex": lambda s: s.to_numpy() * 1j,
        }  # fmt: skip
        return (rows.assign(**{str(c): made[dtype](rows[c])}), len(rows) == 0) if dtype in made else (rows, True)

    def _columned(self, rows: pd.DataFrame, how: str) -> tuple[pd.DataFrame, bool]:
        """The frame with other columns, and whether it has the model's, each once."""
        if how == "shuffled":
            return rows[list(self.rng.permutation(rows.columns))], True
        if how == "missing":
            return rows.drop(columns=rows.columns[int(self.rng.integers(4))]), False
        if how == "more":
            return rows.assign(more=1.0), False
        if how == "renamed":
            return rows.rename(columns={"sw": "sepal width"}), False
        if how == "doubled":
            return pd.concat([rows, rows[["sw"]]], axis=1), False
        if how == "numbered":
            return rows.set_axis(list(range(4)), axis=1), False
        if how == "swapped":  # names that are the model's, on other columns' values: nobody can see it
            return rows.set_axis(list(self.rng.permutation(rows.columns)), axis=1), True
        return rows, True

    def draw(self) -> Call:
        model, ours = self._pick(self.models)
        method, container = (
            self._pick([m for m in _METHODS if hasattr(model, m) and hasattr(ours, m)]),
            self._pick(_CONTAINERS),
        )
        how, dtype = self._pick(_COLUMNS), self._pick(_DTYPES)
        count = self._pick((0, 1, 1, 2, 5, 8))
        named = container in ("pandas", "polars", "pyarrow")
        rows = self.frame.iloc[self.rng.permutation(len(self.frame))[:count]]
        target = model.predict(rows) if hasattr(model, "predict") and count else np.zeros(count)
        if not named:
            how, dtype = self._pick(("same", "missing")), "f8"
        if (container != "pandas" and how == "doubled") or (container == "polars" and how == "numbered"):
            how = "shuffled"
        if container in ("polars", "pyarrow"):
            dtype = self._pick(("f8", "f8", "mixed", "text", "gap"))
        typed, right = self._typed(rows, dtype)
        asked, known = self._columned(typed, how)
        names_known = hasattr(model, "feature_names_in_")
        if container == "pandas" and how == "numbered":  # numbers are no names, so that columns go by position
            named = False
        x: Any = asked
        if container == "polars":
            x = pl.DataFrame({str(c): asked[c].tolist() for c in asked.columns})
        elif container == "pyarrow":
            x = pa.table({str(c): asked[c].tolist() for c in asked.columns})
        elif container != "pandas":
            a = asked.to_numpy()
            x = {
                "array": a, "list": a.tolist(), "fortran": np.asfortranarray(a), "object": a.astype(object),
                "masked": np.ma.MaskedArray(a, np.arange(a.size).reshape(a.shape) == 1),
            }[container]  # fmt: skip
            right = container != "masked" or not x.mask.any()

        def want() -> Any:
            if not right or (named and names_known and not known):
                return Refused()
            plain = asked[NAMES] if named and names_known else asked
            plain = plain.astype(float)
            plain = plain if named and names_known else plain.to_numpy()
            if count == 0:
                one = model.score(self.frame, self.classes) if method == "score" else None
                if one is not None:
                    return Refused()
                shape = np.shape(getattr(model, method)(self.frame if names_known else self.frame.to_numpy()))
                return np.zeros((0, *shape[1:])) if plain.shape[1] == 4 else Refused()
            return model.score(plain, target) if method == "score" else getattr(model, method)(plain)

        def call() -> Any:
            return ours.score(x, target) if method == "score" else getattr(ours, method)(x)

        name = type(model).__name__
        return Call(
            f"{name}{'' if names_known else ' of arrays'}.{method}({container}, {how}, {dtype}, {count} rows)",
            call,
            want,
            2e-3,
        )
