# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The estimators that tests of scikit-learn's models fit, and the data they are held out from."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import datasets
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

Array = npt.NDArray[Any]
Fit = Callable[[int], Any]

#: Classifiers by name, made for a seed. The issue's, then those that the same code takes.
CLASSIFIERS: dict[str, Fit] = {
    "LogisticRegression": lambda _: make_pipeline(StandardScaler(), LogisticRegression()),
    "LogisticRegression, raw features": lambda _: LogisticRegression(max_iter=200),
    "LinearSVC": lambda seed: make_pipeline(StandardScaler(), LinearSVC(random_state=seed)),
    "SGDClassifier": lambda seed: make_pipeline(StandardScaler(), SGDClassifier(random_state=seed)),
    "SGDClassifier, log_loss, raw features": lambda seed: SGDClassifier(loss="log_loss", random_state=seed),
    "LinearDiscriminantAnalysis": lambda _: LinearDiscriminantAnalysis(),
    "PCA": lambda _: make_pipeline(StandardScaler(), PCA(8), LogisticRegression()),
    "MLPClassifier": lambda seed: make_pipeline(
        StandardScaler(), MLPClassifier((16,), activation="identity", max_iter=60, random_state=seed)
    ),
    "RidgeClassifier": lambda _: RidgeClassifier(),
    "Perceptron": lambda seed: make_pipeline(StandardScaler(), Perceptron(random_state=seed)),
}

REGRESSORS: dict[str, Fit] = {
    "LinearRegression": lambda _: LinearRegression(),
    "Ridge": lambda _: Ridge(),
    "MLPRegressor": lambda seed: make_pipeline(
        StandardScaler(),
        MLPRegressor(hidden_layer_sizes=(16,), activation="identity", max_iter=200, random_state=seed),
    ),
    "PCA": lambda _: make_pipeline(StandardScaler(), PCA(5), Ridge()),
    "Lasso": lambda _: Lasso(),
    "ElasticNet": lambda _: ElasticNet(),
}

TRANSFORMERS: dict[str, Fit] = {
    "StandardScaler": lambda _: StandardScaler(),
    "PCA": lambda _: PCA(5),
    "PCA, whiten": lambda _: make_pipeline(StandardScaler(), PCA(3, whiten=True)),
}

DATA: dict[str, Callable[..., Any]] = {
    "digits": datasets.load_digits,
    "breast_cancer": datasets.load_breast_cancer,
    "wine": datasets.load_wine,
    "diabetes": datasets.load_diabetes,
}


@cache
def split(data: str, seed: int = 0) -> tuple[Array, Array, Array, Array]:
    """Features and targets to learn from, then those held out: a third of the rows."""
    x, y = DATA[data](return_X_y=True)
    learn, held, learn_y, held_y = train_test_split(x, y, test_size=1 / 3, random_state=seed)
    return learn, learn_y, held, held_y


def ranges(data: str) -> tuple[Any, Any]:
    """What is promised of features: pixels are 0 ... 16; others are positive and below twice the largest."""
    x = DATA[data](return_X_y=True)[0]
    if data == "digits":
        return 0.0, 16.0
    return np.minimum(0.0, 2 * x.min(axis=0)), 2 * np.abs(x).max(axis=0)


@cache
def fitted(make: Fit, data: str, seed: int = 0) -> Any:
    """A fitted estimator."""
    x, y, _, _ = split(data, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return make(seed).fit(x, y)
