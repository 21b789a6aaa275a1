# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a model's numbers mean: ranges of the inputs, classes, and how scores become classes and probabilities.

The server publishes a rule beside the program; the client applies it before encryption and after decryption. It holds
no weights.
"""

from __future__ import annotations

import json
import math
from typing import Annotated, Any, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr, ValidationError

from ringforge import frames
from ringforge.arrays import real_numbers, rows_in_order
from ringforge.bytes_form import File, Portable, reading, write
from ringforge.errors import FormatError, MismatchError, ParameterError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.files import first_line
from ringforge.matvec import decisions
from ringforge.matvec.program import FeatureNames, Program
from ringforge.programs import Frozen, first_problem
from ringforge.unique import once_each

Array = npt.NDArray[np.float64]
Label = StrictBool | StrictInt | StrictFloat | Annotated[StrictStr, Field(max_length=1024)]

#: Bytes of a rule file.
MAX_FILE = 1 << 22

#: Features that may have ranges of their own, and classes.
MAX_COUNT = 1 << 16

#: What becomes of scores: nothing; 1/(1 + e^-s); e^s over their sum; logistic functions over their sum; (clip(s) + 1)/2
#: over their sum; of values e^s, e^s - 1, and the logarithm of softmax.
Link = Literal["identity", "sigmoid", "softmax", "one-vs-rest", "clip", "exp", "expm1", "log-softmax"]


class Rule(Portable, Frozen):
    """How a client reads a model.

    Args:
        kind: "classes" (a classifier), "values" (a regression) or "features" (a transformation).
        inputs, outputs: lengths of input and result vectors. One output and two classes: the second class is
            predicted for scores above 0.
        classes: labels, in the order of scores.
        link: what makes probabilities of scores; for "values", what is applied to results.
        decision: how scores decide if neither one for each class nor one for two does (:mod:`.decisions`).
        threshold: what a single score must reach for the second class; None is 0.
        low, high: ranges of inputs, one number each or one for each feature; they are mapped to -1 ... 1 before
            encryption. None: inputs are encrypted as they are.
        program: digest of the program that the rule goes with; empty when it is not bound to one.
        features: names of the inputs' columns, in order; None where the model was made without.
        one_column: values of a single output come as (k, 1), as a regression gives them that was fitted so.
        shape: of one input, where the model takes images or other arrays; they may be given as such or as rows.
    """

    format: Literal["ringforge-matvec-rule"] = "ringforge-matvec-rule"
    version: Literal[1] = 1
    kind: Literal["classes", "values", "features"]
    inputs: Annotated[int, Field(ge=1, le=1 << 20)]
    outputs: Annotated[int, Field(ge=1, le=1 << 20)]
    classes: Annotated[list[Label], Field(min_length=2, max_length=MAX_COUNT)] | None = None
    link: Link = "identity"
    decision: decisions.Decision | None = None
    threshold: Annotated[float, Field(allow_inf_nan=False)] | None = None
    low: Annotated[list[float], Field(min_length=1, max_length=MAX_COUNT)] | None = None
    high: Annotated[list[float], Field(min_length=1, max_length=MAX_COUNT)] | None = None
    program: Annotated[str, Field(max_length=128)] = ""
    features: FeatureNames | None = None
    one_column: StrictBool | None = None
    shape: Annotated[list[Annotated[int, Field(ge=1)]], Field(min_length=2, max_length=16)] | None = None

    @classmethod
    def of(cls, **fields: Any) -> Rule:
        """A rule of checked fields.

        Raises:
            ParameterError: a field is out of range. FormatError: they do not fit together.
        """
        try:
            made = cls(**fields)
        except ValidationError as e:
            raise ParameterError(f"no rule can say this: {first_problem(e)}") from None
        made.check()
        return made

    def check(self) -> None:
        """Holds the parts against each other.

        Raises:
            FormatError: they do not fit together.
        """
        if (self.kind == "classes") != (self.classes is not None):
            raise FormatError(f"a rule of kind {self.kind} {'lacks' if self.classes is None else 'has'} classes")
        if self.classes is not None:
            if self.link == "log-softmax":
                raise FormatError("a rule of classes has probabilities, not their logarithms")
            count = len(self.classes)
            if self.by_pairs and self.outputs != decisions.pair_count(count):
                raise FormatError(f"{count} classes and {self.outputs} scores; one score for each pair is needed")
            if not self.by_pairs and not (self.outputs == count or (self.outputs == 1 and count == 2)):
                raise FormatError(f"{count} classes and {self.outputs} scores; one score for each class is needed")
            if len({type(c) for c in self.classes}) > 1 or len(set(self.classes)) < count:
                raise FormatError("classes must be different labels of one type")
        if (self.decision is not None and self.classes is None) or (self.threshold is not None and not self.binary):
            raise FormatError("a rule has a decision for classes alone, and a threshold for one score of two classes")
        if (self.low is None) != (self.high is None):
            raise FormatError("a rule has both ends of its ranges, or neither")
        if self.low is not None and self.high is not None:
            if not {len(self.low), len(self.high)} <= {1, self.inputs}:
                raise FormatError(f"ranges of {len(self.low)} and {len(self.high)} numbers for {self.inputs} features")
            if (np.array(self.low) > np.array(self.high)).any():
                raise FormatError("a range ends below its beginning")
        if self.features is not None and len(self.features) != self.inputs:
            raise FormatError(f"{len(self.features)} names for {self.inputs} features; one name for each is needed")
        if self.one_column and (self.kind != "values" or self.outputs != 1):
            raise FormatError("one column of values is what a regression with one output gives, and no other model")
        if self.shape is not None and math.prod(self.shape) != self.inputs:
            raise FormatError(f"inputs of shape {self.shape} are no {self.inputs} numbers")

    @property
    def binary(self) -> bool:
        """Whether one score decides between two classes."""
        return self.classes is not None and self.outputs == 1

    @property
    def by_pairs(self) -> bool:
        """Whether each pair of classes has a score."""
        return self.decision not in (None, "order")

    @property
    def _saturates(self) -> bool:
        """Whether the largest probability decides, each a logistic function of its own score."""
        return self.decision == "order" and self.link == "one-vs-rest"

    # ---- before encryption ----

    @property
    def _ranges(self) -> tuple[Array, Array]:
        """Middle and half length of each feature's range; a half length of 1 where a feature is constant."""
        low, high = np.array(self.low), np.array(self.high)
        half = high / 2 - low / 2  # without a difference beyond doubles
        return np.broadcast_to(low + half, (self.inputs,)), np.broadcast_to(np.where(half > 0, half, 1.0), self.inputs)

    def rows(self, x: npt.ArrayLike) -> Array:
        """Return rows of features (k, n), in the model's order.

        Columns of data frames, files with a header and the entries of a pandas Series are put in order by their names
        where the model has names too; else they are taken as they come, with a warning, as scikit-learn does.

        Raises:
            MismatchError: other columns than the model's. ShapeError: another number of features.
            ringforge.ValueError: no real numbers; of data frames the message names the column.
        """
        frames.warn_of_position(frames.column_names(x) is not None, self.features is not None)
        return rows_in_order(x, self.features, "features")

    def encode(self, x: npt.ArrayLike) -> Array:
        """Return rows of features (k, n), or one row, as what is encrypted: each range becomes -1 ... 1.

        Raises:
            MismatchError, ShapeError: other features, as `rows`. ringforge.ValueError: no finite real numbers, or one
            outside of its range; the message names the feature, never the value.
        """
        rows = self.rows(x)
        if self.shape is not None and list(rows.shape[1:]) == self.shape:
            rows = rows.reshape(len(rows), self.inputs)
        elif self.shape is not None and list(rows.shape) == self.shape and rows.shape[-1] != self.inputs:
            rows = rows.reshape(1, self.inputs)
        if rows.ndim != 2 or rows.shape[1] != self.inputs:
            arrays = "" if self.shape is None else f", or arrays of shape {('k', *self.shape)},".replace("'k'", "k")
            raise ShapeError(f"rows of {self.inputs} features{arrays} are needed, not an array of shape {rows.shape}")
        if not np.isfinite(rows).all():
            raise RingforgeValueError("features must be finite numbers: found NaN or infinity")
        if self.low is None:
            return rows
        middle, half = self._ranges
        scaled = (rows - middle) / half
        beyond = np.flatnonzero((np.abs(scaled) > 1 + 1e-9).any(axis=0))
        if len(beyond):
            name = f"feature {beyond[0]}" if self.features is None else f'feature "{self.features[beyond[0]][:40]}"'
            raise RingforgeValueError(
                f"{name} has a value outside of its range, and so have {len(beyond) - 1} further features:"
                " clip the data, or import the model with wider ranges: "
                "from_sklearn(model, input_range=matvec.input_range(X, margin=...)), X being rows like these"
            )
        return np.clip(scaled, -1.0, 1.0)

    def decode(self, inputs: npt.ArrayLike) -> Array:
        """Features that `encode` maps to given inputs."""
        rows = real_numbers(inputs, "inputs")
        if self.low is None:
            return rows
        middle, half = self._ranges
        return rows * half + middle

    # ---- after decryption ----

    def scores(self, results: npt.ArrayLike) -> Array:
        """Decrypted results in scikit-learn's shape: (k,) for a single score or value, else (k, outputs).

        A regression that was fitted with targets (n, 1) gives (k, 1) where scikit-learn's does.

        Raises:
            ParameterError: a classifier without scores of its own, as a Bayesian one.
        """
        rows = self._results(results)
        if self.decision == "order":
            raise ParameterError(
                "this classifier has no decision_function: its scores only say which class comes first; use predict"
                + ("" if self.link == "identity" else " or predict_proba")
            )
        if self.by_pairs and self.classes is not None and self.decision != "pairs":
            found = decisions.shown(rows, len(self.classes))
            return found[:, 1] if self.binary else found
        if self.decision == "pairs":  # libsvm counts them the other way round
            return -rows
        return rows[:, 0] if self.outputs == 1 and self.kind != "features" and not self.one_column else rows

    def labels(self, results: npt.ArrayLike) -> npt.NDArray[Any]:
        """The class of each row; of equal scores the first, of a single score 0 the first class.

        Raises:
            ParameterError: the model has no classes.
        """
        rows = self._results(results)
        if self.classes is None:
            raise ParameterError(f"a model of {self.kind} has no classes")
        if self.binary:
            best = (rows[:, 0] > (self.threshold or 0.0)).astype(np.intp)
        elif self.by_pairs and self.decision is not None:
            best = decisions.best(rows, len(self.classes), self.decision)
        elif self._saturates:
            best = self.probabilities(rows).argmax(axis=1)
        else:
            best = rows.argmax(axis=1)
        labels: npt.NDArray[Any] = np.asarray(self.classes)[best]
        return labels

    def probabilities(self, results: npt.ArrayLike) -> Array:
        """What `link` makes of results: (k, classes), for values (k, outputs).

        Raises:
            ParameterError: a classifier that has none, as in scikit-learn.
        """
        rows = self._results(results)
        if self.link == "identity":
            if self.classes is None:
                return rows
            raise ParameterError("this classifier gives scores, no probabilities: use decision_function")
        if self.link == "log-softmax":
            shifted = rows - rows.max(axis=1, keepdims=True)
            return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))
        if self.link in ("exp", "expm1"):
            return np.asarray(np.exp(rows) if self.link == "exp" else np.expm1(rows))
        if self.link == "softmax":
            powers = np.exp(rows - rows.max(axis=1, keepdims=True))
            return np.asarray(powers / powers.sum(axis=1, keepdims=True))
        p = (np.clip(rows, -1, 1) + 1) / 2 if self.link == "clip" else _logistic(rows)
        if self.binary:
            return np.concatenate([1 - p, p], axis=1)
        if self.link == "sigmoid":
            return p
        sums = p.sum(axis=1, keepdims=True)
        return np.where(sums > 0, p / np.where(sums > 0, sums, 1), 1 / self.outputs)

    def uncertain(self, results: npt.ArrayLike, error: float) -> npt.NDArray[np.bool_]:
        """Rows whose class might be another if each score were off by up to `error`."""
        rows = self._results(results)
        if self.classes is None:
            return np.zeros(len(rows), dtype=bool)
        if self.binary:
            return np.asarray(np.abs(rows[:, 0] - (self.threshold or 0.0)) <= error)
        if self.by_pairs and self.decision is not None:
            return decisions.uncertain(rows, len(self.classes), self.decision, error)
        best = np.sort(rows, axis=1)
        close = best[:, -1] - best[:, -2] <= 2 * error
        if self._saturates:
            # Beyond 30 logistic functions round to 1, and the first of these classes is predicted.
            close |= best[:, -2] > 30
        return np.asarray(close)

    def _results(self, results: npt.ArrayLike) -> Array:
        rows = np.atleast_2d(real_numbers(results, "results"))
        if rows.ndim != 2 or rows.shape[1] != self.outputs:
            raise ShapeError(f"rows of {self.outputs} results are needed, not an array of shape {rows.shape}")
        if not np.isfinite(rows).all():
            raise RingforgeValueError("results must be finite numbers: found NaN or infinity")
        return rows

    # ---- with programs, in files ----

    def bound_to(self, program: Program) -> Rule:
        """The rule with the program's digest, so that no client applies it to another's results.

        Raises:
            ShapeError: the program has other lengths. MismatchError: the rule is bound to another program.
        """
        self.match(program)
        return self.model_copy(update={"program": program.digest})

    def match(self, program: Program) -> None:
        """Refuses a program that the rule does not go with, as `bound_to` does."""
        if (program.inputs, program.outputs) != (self.inputs, self.outputs):
            raise ShapeError(
                f"the rule is for {self.inputs} features and {self.outputs} results, the program has {program.inputs} "
                f"and {program.outputs}"
            )
        if self.low is not None and program.input_bound < 1:
            raise MismatchError(f"the rule's inputs reach 1, the program takes them up to {program.input_bound:g}")
        if self.features is not None and program.features is not None and self.features != program.features:
            raise MismatchError(
                "the rule and the program have different names of features, or in another order: get both from the "
                "same source"
            )
        if self.program and self.program != program.digest:
            raise MismatchError(
                f"this rule goes with another program (digest {self.program[:8]}, this one has {program.digest[:8]}): "
                "get both from the same source"
            )

    def save(self, path: File) -> None:
        """Write the rule, which is public, as JSON to a file's name or to an open binary file."""
        write(path, [self.model_dump_json(indent=2, exclude_none=True).encode()])

    @classmethod
    def load(cls, path: File) -> Self:
        """Read and check a rule, from a file's name or an open binary file; `from_bytes` takes bytes.

        Raises:
            FormatError: the file is none.
        """
        with reading(path, MAX_FILE) as (f, name):
            data = f.read(MAX_FILE + 1)
        if len(data) > MAX_FILE:
            raise FormatError(f"{name} has more than {MAX_FILE} bytes; a rule has at most so many")
        return cls.from_json(data, name)

    @classmethod
    def from_json(cls, data: bytes | str, name: str) -> Self:
        """Parses a rule; `name` is what errors call it."""
        try:
            rule = cls.model_validate(json.loads(data, object_pairs_hook=once_each))
            rule.check()
        except ValidationError as e:
            raise FormatError(f"{name} is not a rule: {first_problem(e)}") from None
        except FormatError as e:
            raise FormatError(f"{name} is not a rule: {e}") from None
        except (ValueError, RecursionError) as e:
            raise FormatError(f"{name} is not a rule: {first_line(e)}") from None
        return rule


def _logistic(s: Array) -> Array:
    """1/(1 + e^-s), without losing small values."""
    small = np.exp(-np.abs(s))
    part: Array = np.where(s >= 0, 1, small) / (1 + small)
    return part


class InputRange(tuple[Array, Array]):
    """Ranges of features, (low, high), with the names of the columns that they were measured on.

    Attributes:
        names: of the columns of a data frame, else None.
    """

    names: tuple[str, ...] | None

    def __new__(cls, ends: tuple[Array, Array], names: tuple[str, ...] | None = None) -> InputRange:
        made = super().__new__(cls, ends)
        made.names = names
        return made


def input_range(x: npt.ArrayLike, margin: float = 0.5) -> InputRange:
    """Return ranges of features from sample rows, each widened on both sides by `margin` times its length.

    What is made of it is public: clients learn the ranges. Promised ranges (pixels are 0 ... 16) say nothing of
    samples. Of a data frame the names of columns go with them, so that `from_sklearn` puts them in order.

    Raises:
        ShapeError: not rows. ringforge.ValueError: not finite, or a negative margin.
    """
    rows = real_numbers(x, "samples")
    if rows.ndim != 2 or not rows.size:
        raise ShapeError(f"samples are rows of features, not an array of shape {rows.shape}")
    if not np.isfinite(rows).all() or not 0 <= margin < 1e9:
        raise RingforgeValueError("samples must be finite, and margin a number of at least 0")
    low, high = rows.min(axis=0), rows.max(axis=0)
    wider = margin * (high - low)
    return InputRange((low - wider, high + wider), frames.column_names(x))
