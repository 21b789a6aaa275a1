# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Classifiers, regressions and transformations on encrypted rows, with scikit-learn's methods.

An estimator here is the server's: layers and a public `Rule`. Its `predict` plays both roles in this process, with
client and server objects apart; for two machines, `client` and `server` give the roles.
"""

from __future__ import annotations

import threading
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge._native import Parameters
from ringforge.errors import PrecisionWarning, ShapeError
from ringforge.matvec.compiler import Compiled, compile_model
from ringforge.matvec.model import Sequential
from ringforge.matvec.program import Program
from ringforge.matvec.roles import Client, EncryptedVectors, EvaluationKeys, Server
from ringforge.matvec.rule import Rule
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
        return self.client.encrypt(self.rule.encode(x), threads)

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
        several threads take turns.
        """
        rows = self.rule.encode(x)
        with self._lock:
            session = self._session or self._started(self._plan(len(rows)))
            self._session = session
            client, server = session
            return client, server.evaluate(client.client.encrypt(rows))[0]

    def prepare(self, parameters: Parameters | str | None = None, **options: Any) -> Program:
        """Plans, and makes keys for, what `predict` and its like do in this process; options are those of
        `compile_model`: precision= bounds the error of scores."""
        with self._lock:
            program = self.compile(parameters, **options).program
            self._session = self._started(program)
            return program

    def _started(self, program: Program) -> tuple[EstimatorClient, Server]:
        client = self.client(program)
        return client, self.server(program, client.client.evaluation_keys())

    def _plan(self, rows: int) -> Program:
        alone = self.compile().program
        packings = [plan.packing for plan in alone.plans]
        width = max(max(p.rows, p.cols) for p in packings)
        room = alone.context.params.slots // (1 << (width - 1).bit_length())
        batch = min(1 << (max(rows, 1) - 1).bit_length(), room)
        return alone if batch <= 1 else self.compile(alone.context.params, batch=batch).program

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


class EncryptedRegressor(_Estimator):
    """A regression."""

    def predict(self, x: Any) -> Array:
        """Values of rows: encrypted, evaluated and decrypted in this process."""
        client, result = self.evaluate(x)
        return client.predict(result)


class EncryptedTransformer(_Estimator):
    """A transformation, as a scaler or a projection."""

    def transform(self, x: Any) -> Array:
        """Transformed rows: encrypted, evaluated and decrypted in this process."""
        client, result = self.evaluate(x)
        return client.transform(result)


Estimator = EncryptedClassifier | EncryptedRegressor | EncryptedTransformer


def estimator(model: Sequential, rule: Rule) -> Estimator:
    """The estimator of the rule's kind."""
    if rule.kind == "features":
        return EncryptedTransformer(model, rule)
    return EncryptedRegressor(model, rule) if rule.kind == "values" else EncryptedClassifier(model, rule)
