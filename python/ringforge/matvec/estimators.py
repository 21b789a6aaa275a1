# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Classifiers, regressions and transformations on encrypted rows, with scikit-learn's methods.

An estimator here is the server's: layers and a public `Rule`. Its `predict` plays both roles in this process, with
client and server objects apart; for two machines, `client` and `server` give the roles.
"""

from __future__ import annotations

import threading
import warnings
from typing import Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from ringforge._native import Parameters
from ringforge.errors import IntervalWarning, ParameterError, PrecisionWarning, ShapeError, UnsupportedModelError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.matvec.compiler import Compiled, compile_inside, compile_model
from ringforge.matvec.intervals import rows_outside
from ringforge.matvec.model import Sequential
from ringforge.matvec.program import Program
from ringforge.matvec.roles import Client, EncryptedVectors, EvaluationKeys, Server
from ringforge.matvec.rule import Rule
from ringforge.matvec.scores import accuracy, determination
from ringforge.secrecy import Secret

Array = npt.NDArray[np.float64]

#: Rounding of folded weights and of scores in the clear, relative to the largest score.
_ROUNDING = 2.0**-44


class EstimatorClient(Secret):
    """The client's side of an estimator: features in, classes or values out.

    Args:
        client: keys, encryption and decryption.
        rule: what the server published beside the program.

    Raises:
        ShapeError, MismatchError: the rule does not go with the client's program.
    """

    saved_by = "`client.save_secret_key` writes its key to a file"

    def __init__(self, client: Client, rule: Rule) -> None:
        rule.check()
        rule.match(client.program)
        self.client, self.rule = client, rule

    def encrypt(self, x: npt.ArrayLike, threads: int = 1) -> EncryptedVectors:
        """Encrypts rows of features; columns of data frames are put in the model's order, as `Rule.rows` says.

        Raises:
            MismatchError, ShapeError, ringforge.ValueError: as `Rule.encode` and `Client.encrypt`.
        """
        return self.encrypt_encoded(self.rule.encode(x), threads)

    def encrypt_encoded(self, rows: Array, threads: int = 1) -> EncryptedVectors:
        """Encrypts rows as `Rule.encode` gives them.

        Raises:
            ringforge.ValueError: a value beyond the program's bound; the message names the feature, never the value.
        """
        bound, names = self.client.program.input_bound, self.rule.features
        beyond = np.flatnonzero((np.abs(rows) > bound).any(axis=0))
        if len(beyond):
            name = str(beyond[0]) if names is None else f'"{names[beyond[0]][:40]}"'
            raise RingforgeValueError(
                f"feature {name} has a value beyond {bound:g}, the largest that this program encrypts, and so have "
                f"{len(beyond) - 1} further features: import the model with the ranges of its features, "
                "from_sklearn(model, input_range=matvec.input_range(X)), X being rows like these; or compile it with a "
                "larger input_bound="
            )
        return self.client.encrypt(rows, threads)

    def predict(self, result: EncryptedVectors, **options: Any) -> npt.NDArray[Any]:
        """Classes, or values of a regression, as scikit-learn's `predict` gives them.

        A class whose margin is below the predicted error is warned of; `uncertain` tells which rows.

        Args:
            result: what the server returned.
            options: of `Client.decrypt`: count, share_bits, threads.
        """
        rows, error = self._decrypted(result, options)
        if self.rule.classes is None:
            return self.rule.scores(self.rule.probabilities(rows))
        doubtful = int(self.rule.uncertain(rows, error).sum())
        if doubtful:
            warnings.warn(
                f"the class of {doubtful} of {len(rows)} rows is uncertain: their margins are below the predicted "
                f"error {error:.3g} of scores; plan with a higher precision: compile or prepare(precision=...)",
                PrecisionWarning,
                stacklevel=2,
            )
        return self.rule.labels(rows)

    def decision_function(self, result: EncryptedVectors, **options: Any) -> Array:
        """Scores, of scikit-learn's shape: (k,) for two classes by one score, else (k, classes)."""
        return self.rule.scores(self._decrypted(result, options)[0])

    def predict_proba(self, result: EncryptedVectors, **options: Any) -> Array:
        """Probabilities (k, classes), computed by the client from decrypted scores.

        Raises:
            ParameterError: the classifier has none.
        """
        return self.rule.probabilities(self._decrypted(result, options)[0])

    def predict_log_proba(self, result: EncryptedVectors, **options: Any) -> Array:
        """Logarithms of the probabilities (k, classes).

        Raises:
            ParameterError: the classifier has none.
        """
        return _logarithms(self.predict_proba(result, **options))

    def transform(self, result: EncryptedVectors, **options: Any) -> Array:
        """Decrypted rows (k, outputs)."""
        return self._decrypted(result, options)[0]

    def uncertain(self, result: EncryptedVectors, **options: Any) -> npt.NDArray[np.bool_]:
        """Rows whose class might be another: the margin is below the predicted error."""
        return self.rule.uncertain(*self._decrypted(result, options))

    def error_bound(self, result: EncryptedVectors, share_bits: float | None = None) -> float:
        """Predicted largest error of a score (probability of more: 2^-40), rounding of the model's folding included."""
        known = self.client.program.foreseen
        return self.client.error_bound(result, share_bits) + (0.0 if known is None else _ROUNDING * known.bound)

    def _decrypted(self, result: EncryptedVectors, options: dict[str, Any]) -> tuple[Array, float]:
        rows = self.client.decrypt(result, **options)
        return rows, self.error_bound(result, options.get("share_bits"))


class _Estimator:
    """What estimators have in common.

    Args:
        model: the layers; results are scores.
        rule: what inputs and scores mean.

    Raises:
        FormatError: a rule that contradicts itself. ShapeError: one for other lengths.
    """

    def __init__(self, model: Sequential, rule: Rule) -> None:
        rule.check()
        if (model.inputs, model.outputs) != (rule.inputs, rule.outputs):
            raise ShapeError(
                f"the model maps {model.inputs} values to {model.outputs}, the rule {rule.inputs} to {rule.outputs}"
            )
        self.model, self.rule = model, rule
        self._lock = threading.Lock()
        self._session: tuple[EstimatorClient, Server] | None = None
        self.transformation: EncryptedTransformer | None = None
        self._planned: Program | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what pickles and copies have: all but the keys of this process, of which the program stays."""
        state = {k: v for k, v in vars(self).items() if k not in ("_lock", "_session")}
        if self._session is not None:
            state["_planned"] = self._session[0].client.program
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock(), _session=None)

    # ---- roles ----

    def compile(self, parameters: Parameters | str | None = None, **options: Any) -> Compiled:
        """Plans the evaluation: `compile_model` with the estimator's layers.

        With ranges, inputs are -1 ... 1; `samples` are rows of features, as for `predict`.
        """
        if options.get("samples") is not None:
            options["samples"] = self.rule.encode(options["samples"])
        if self.rule.low is not None:
            options.setdefault("input_bound", 1.0)
        options.setdefault("features", self.rule.features)
        return compile_model(self.model, parameters, **options)

    def public_rule(self, program: Program) -> Rule:
        """What goes to clients beside the program: the rule, bound to it."""
        return self.rule.bound_to(program)

    def client(self, program: Program, **options: Any) -> EstimatorClient:
        """A client with a new secret key; options are those of `Client`."""
        return EstimatorClient(Client(program, **options), self.public_rule(program))

    def server(self, program: Program, keys: EvaluationKeys, **options: Any) -> Server:
        """A server; options are those of `Server`."""
        return Server(self.model, program, keys, **options)

    # ---- both roles in this process ----

    def evaluate(self, x: Any) -> tuple[EstimatorClient, EncryptedVectors]:
        """Encrypts rows, has them evaluated, and gives the client with the encrypted result.

        Without `prepare`, the program is planned at the first call, for batches of as many rows as fit. Calls from
        several threads take turns. Rows that leave the interval of an approximation are warned of (`IntervalWarning`):
        here, where both roles are played, they are looked at in the clear.
        """
        rows = self.rule.encode(x)
        self._warn_outside(rows)
        with self._lock:
            session = self._session or self._started(self._planned or self._plan(len(rows)))
            self._session = session
            client, server = session
            return client, server.evaluate(client.encrypt_encoded(rows))[0]

    def prepare(self, parameters: Parameters | str | None = None, **options: Any) -> Program:
        """Plans, and makes keys for, what `predict` and its like do in this process; options are those of
        `compile_model`: precision= bounds the error of scores."""
        with self._lock:
            program = self.compile(parameters, **options).program
            # `evaluate` looks at the rows themselves, so that nothing is left to say of the worst case.
            self._session = self._started(program.inside_intervals())
            return program

    def _warn_outside(self, rows: Array) -> None:
        count, where = rows_outside(self.model, rows)
        if count:
            warnings.warn(
                f"{count} of {len(rows)} rows leave {where}: their results are wrong by any amount. Take an "
                "approximation on a wider interval, or scale the model's inputs down",
                IntervalWarning,
                stacklevel=4,
            )

    def _started(self, program: Program) -> tuple[EstimatorClient, Server]:
        client = self.client(program)
        return client, self.server(program, client.client.evaluation_keys())

    def _plan(self, rows: int) -> Program:
        bound = None if self.rule.low is None else 1.0
        alone = compile_inside(self.model, input_bound=bound, features=self.rule.features).program
        packings = [plan.packing for plan in alone.plans]
        width = max(max(p.rows, p.cols) for p in packings)
        room = alone.context.params.slots // (1 << (width - 1).bit_length())
        batch = min(1 << (max(rows, 1) - 1).bit_length(), room)
        if batch <= 1:
            return alone
        params = alone.context.params
        return compile_inside(self.model, params, batch=batch, input_bound=bound, features=self.rule.features).program

    # ---- scikit-learn's conventions ----

    @property
    def n_features_in_(self) -> int:
        """Number of features of a row."""
        return self.rule.inputs

    @property
    def feature_names_in_(self) -> npt.NDArray[np.object_]:
        """Names of the features, in order; as in scikit-learn, a model that has none lacks the attribute."""
        if self.rule.features is None:
            raise AttributeError("this model was fitted without names of features, so it has no feature_names_in_")
        return np.array(self.rule.features, dtype=object)

    def fit(self, *_: Any, **__: Any) -> NoReturn:
        """Refuses: an estimator here is fitted, and trains on nothing.

        Raises:
            UnsupportedModelError: always.
        """
        raise UnsupportedModelError(
            f"{type(self).__name__} is fitted already and cannot be trained: fit the estimator of scikit-learn, and "
            "import it again with matvec.from_sklearn"
        )

    def fit_transform(self, *_: Any, **__: Any) -> NoReturn:
        """Refuses as `fit` does."""
        self.fit()

    def fit_predict(self, *_: Any, **__: Any) -> NoReturn:
        """Refuses as `fit` does."""
        self.fit()

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 (scikit-learn's signature)
        """Parameters that could be set before a training: none."""
        return {}

    def set_params(self, **parameters: Any) -> Self:
        """Refuses parameters, for they would take a training to matter.

        Raises:
            ParameterError: one is given.
        """
        if parameters:
            raise ParameterError(
                f"{type(self).__name__} has no parameters, so {', '.join(parameters)} cannot be set: set them in the "
                "estimator of scikit-learn, fit it, and import it again with matvec.from_sklearn"
            )
        return self

    def __sklearn_clone__(self) -> Self:
        """The same fitted model without keys or program, as `sklearn.base.clone` gives it of a FrozenEstimator."""
        made = type(self)(self.model, self.rule)
        made.transformation = None if self.transformation is None else self.transformation.__sklearn_clone__()
        return made

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn's tools ask of an estimator; scikit-learn itself is needed only here."""
        from sklearn.utils import ClassifierTags, RegressorTags, Tags, TargetTags, TransformerTags

        kind = self.rule.kind
        return Tags(
            estimator_type={"classes": "classifier", "values": "regressor", "features": None}[kind],
            target_tags=TargetTags(required=False),
            classifier_tags=ClassifierTags() if kind == "classes" else None,
            regressor_tags=RegressorTags() if kind == "values" else None,
            transformer_tags=TransformerTags() if kind == "features" else None,
        )

    def transform(self, x: npt.ArrayLike) -> Array:
        """Transformed rows, encrypted, evaluated and decrypted in this process, of an estimator that does both.

        Raises:
            ParameterError: the estimator predicts alone, or came from a file, which keeps what predicts.
        """
        if self.transformation is None:
            raise ParameterError(
                "this model predicts and transforms nothing; of an estimator that does both, as "
                "LinearDiscriminantAnalysis, from_sklearn(model, method='transform') imports the transformation"
            )
        return self.transformation.transform(x)

    def scores_in_clear(self, x: Any) -> Array:
        """Results (k, outputs) of the same layers without encryption."""
        return np.asarray(self.model(self.rule.encode(x)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.rule.inputs} features, {len(self.model.layers)} layers)"


class EncryptedClassifier(_Estimator):
    """A classifier.

    Attributes:
        model: its layers, the server's.
        rule: classes and decision rule, the client's.
        classes_: labels, in the order of scores.
    """

    @property
    def classes_(self) -> npt.NDArray[Any]:
        return np.asarray(self.rule.classes)

    def predict(self, x: Any) -> npt.NDArray[Any]:
        """Classes of rows: encrypted, evaluated and decrypted in this process."""
        client, result = self.evaluate(x)
        return client.predict(result)

    def decision_function(self, x: Any) -> Array:
        """Scores of rows, as `predict`."""
        client, result = self.evaluate(x)
        return client.decision_function(result)

    def predict_proba(self, x: Any) -> Array:
        """Probabilities of rows, as `predict`.

        Raises:
            ParameterError: the classifier has none.
        """
        client, result = self.evaluate(x)
        return client.predict_proba(result)

    def predict_log_proba(self, x: npt.ArrayLike) -> Array:
        """Logarithms of probabilities of rows, as `predict`.

        Raises:
            ParameterError: the classifier has none.
        """
        return _logarithms(self.predict_proba(x))

    def score(self, x: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> float:
        """Share of rows whose predicted class is the given one, as scikit-learn's `score`.

        Args:
            x: rows of features.
            y: their classes, (k,) or (k, 1).
            sample_weight: weights of rows, (k,).

        Raises:
            ShapeError: other shapes, or no rows.
        """
        return accuracy(y, self.predict(x), sample_weight)


class EncryptedRegressor(_Estimator):
    """A regression."""

    def predict(self, x: Any) -> Array:
        """Values of rows: encrypted, evaluated and decrypted in this process."""
        client, result = self.evaluate(x)
        return client.predict(result)

    def score(self, x: npt.ArrayLike, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None) -> float:
        """Coefficient of determination R^2 of predictions, as scikit-learn's `score`: the mean over targets.

        Args:
            x: rows of features, two at least.
            y: their values, (k,) or (k, outputs).
            sample_weight: weights of rows, (k,).

        Raises:
            ShapeError: other shapes, or fewer rows.
        """
        return determination(y, self.predict(x), sample_weight)


class EncryptedTransformer(_Estimator):
    """A transformation, as a scaler or a projection."""

    def transform(self, x: Any) -> Array:
        """Transformed rows: encrypted, evaluated and decrypted in this process."""
        client, result = self.evaluate(x)
        return client.transform(result)


def _logarithms(probabilities: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(probabilities))


Estimator = EncryptedClassifier | EncryptedRegressor | EncryptedTransformer


def estimator(model: Sequential, rule: Rule) -> Estimator:
    """The estimator of the rule's kind."""
    if rule.kind == "features":
        return EncryptedTransformer(model, rule)
    return EncryptedRegressor(model, rule) if rule.kind == "values" else EncryptedClassifier(model, rule)
