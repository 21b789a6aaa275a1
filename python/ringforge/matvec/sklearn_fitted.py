# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Fitted attributes of scikit-learn's estimators, and the sentences that refuse an estimator.

scikit-learn is not imported: classes are known by their names and module, weights by their fitted attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from ringforge.arrays import real_numbers
from ringforge.errors import ParameterError, UnsupportedModelError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.matvec.sklearn_reasons import reason

Array = npt.NDArray[np.float64]


def name_of(step: Any) -> str:
    """Name of an estimator's class; empty for what scikit-learn itself has not defined."""
    kind = type(step)
    return kind.__name__ if kind.__module__.startswith("sklearn.") else ""


def fitted(step: Any, name: str) -> Any:
    """A fitted attribute.

    Raises:
        ParameterError: the estimator lacks it, so it is not fitted.
    """
    try:
        return getattr(step, name)
    except AttributeError:
        raise ParameterError(
            f"this {type(step).__name__} is not fitted (it has no {name}): call fit(X, y) before from_sklearn"
        ) from None


def array(step: Any, name: str) -> Array:
    """A fitted attribute as real numbers.

    Raises:
        ParameterError: not fitted. UnsupportedModelError: a sparse matrix. ringforge.ValueError: NaN or infinity.
    """
    value = fitted(step, name)
    if hasattr(value, "toarray") or hasattr(value, "todense"):
        raise UnsupportedModelError(
            f"{name} of this {type(step).__name__} is a sparse matrix: make it dense first, as densify() does"
        )
    return finite(step, name, real_numbers(value, name))


def dense(step: Any, name: str) -> Array:
    """A fitted attribute as real numbers, also where scikit-learn has it as a sparse matrix."""
    value = fitted(step, name)
    return finite(step, name, real_numbers(value.toarray() if hasattr(value, "toarray") else value, name))


def finite(step: Any, name: str, numbers: Array) -> Array:
    """The numbers, if they are.

    Raises:
        ringforge.ValueError: NaN or infinity.
    """
    if not np.isfinite(numbers).all():
        raise RingforgeValueError(f"{name} of this {type(step).__name__} must be finite: found NaN or infinity")
    return numbers


def refuse(step: Any, known: Sequence[str]) -> NoReturn:
    """Refuses an estimator with the reason.

    Args:
        step: the estimator, or anything else.
        known: names of classes that are taken in this place.

    Raises:
        UnsupportedModelError: always.
    """
    if isinstance(step, type):
        raise UnsupportedModelError(f"{step.__name__} is a class, which is not supported: give a fitted object of it")
    kind, name = type(step), name_of(step)
    if not name:
        raise UnsupportedModelError(
            f"{kind.__module__}.{kind.__name__} is not supported, for only scikit-learn's own classes are known to "
            "compute "
            "what their attributes say: give the scikit-learn estimator itself, or the weights of a linear model as "
            "matvec.Linear(weights, bias)"
        )
    why = reason(name)
    if why:
        raise UnsupportedModelError(f"{name} is not supported: {why}")
    raise UnsupportedModelError(f"{name} is not supported; supported are {', '.join(sorted(known))} of scikit-learn")


def columns(step: Any, mask: npt.ArrayLike) -> npt.NDArray[np.intp]:
    """Places of selected features.

    Raises:
        UnsupportedModelError: none is selected.
    """
    found = np.flatnonzero(np.asarray(mask))
    if not len(found):
        raise UnsupportedModelError(f"this {type(step).__name__} selects no feature, so there is nothing to compute")
    return found
