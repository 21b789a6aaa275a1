# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Rules on the command line: written beside programs, read by clients, labels in files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
import typer

from ringforge.errors import ParameterError
from ringforge.files import writing
from ringforge.matvec.model import Sequential
from ringforge.matvec.model_files import load_with_rule
from ringforge.matvec.program import Program
from ringforge.matvec.rule import Rule

RuleFile = Annotated[Path | None, typer.Option("--rule", help="Rule of an estimator, from `plan --rule`.")]


def planned_model(model: Path, rule: Path | None) -> tuple[Sequential, Rule | None]:
    """A model with its rule.

    Raises:
        ParameterError: a rule is to be written and there is none, or inputs mean nothing without it and it is not.
    """
    layers, meaning = load_with_rule(model)
    if meaning is None and rule is not None:
        raise ParameterError(f"--rule: {model.name} has layers alone; save an estimator: matvec.from_sklearn")
    if meaning is not None and meaning.low is not None and rule is None:
        raise ParameterError(
            f"{model.name} maps ranges of features to what is encrypted: --rule FILE writes what clients need for it"
        )
    return layers, meaning


def read_rule(path: Path, program: Program) -> Rule:
    """A rule that goes with a program.

    Raises:
        FormatError, ShapeError, MismatchError: it is none, or another program's.
    """
    rule = Rule.load(path)
    rule.match(program)
    return rule


def write_labels(path: Path, rule: Rule, results: npt.NDArray[np.float64], error: float) -> str:
    """Writes the class of each row, one a line; says how many, and how many are uncertain.

    Raises:
        ParameterError: the rule has no classes, or one that is no line.
    """
    labels = [str(label) for label in rule.labels(results).tolist()]
    if any(not label.isprintable() for label in labels):
        raise ParameterError("--labels: a class is no line of text; use matvec.EstimatorClient")
    with writing(path) as f:
        f.write("".join(f"{label}\n" for label in labels).encode())
    close = int(rule.uncertain(results, error).sum())
    doubt = "none is closer than the predicted error" if not close else f"{close} ARE UNCERTAIN: closer than the error"
    return f"wrote {path}: classes of {len(labels)} rows; {doubt}"
