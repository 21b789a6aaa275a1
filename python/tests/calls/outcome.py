# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Outcomes of a call on encrypted data beside the same call on plain data."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import ringforge
from ringforge.errors import Error

_OURS = str(Path(ringforge.__file__).parent)

#: Texts of other libraries that must not stand for a sentence of ours.
_FOREIGN = ("incompatible function arguments", "sqlalchemy", "could not convert", "object has no attribute", "nanobind")


class Refused:
    """A plain result for calls that must be refused, whatever the plain library makes of them."""


@dataclass(frozen=True)
class Call:
    """One call.

    Args:
        text: the call as a user writes it, with shapes, dtypes and containers.
        ours: makes it on encrypted data and decrypts.
        plain: makes it on plain data, or returns `Refused()`.
        tolerance: largest difference, relative to 1 + the largest plain value.
    """

    text: str
    ours: Callable[[], Any]
    plain: Callable[[], Any]
    tolerance: float = 1e-3


def _is_ours(e: BaseException) -> bool:
    """Whether an exception was raised in a file of the package, and says more than a foreign text."""
    frames = [f.f_code.co_filename for f, _ in traceback.walk_tb(e.__traceback__)]
    here = bool(frames) and frames[-1].startswith(_OURS)
    kind = isinstance(e, Error | TypeError | IndexError | NotImplementedError | AttributeError)
    return here and kind and len(str(e).split()) >= 4 and not any(f in str(e).lower() for f in _FOREIGN)


def _equal(got: Any, want: Any, tolerance: float) -> bool:
    a, b = np.asarray(got), np.asarray(want)
    if a.shape != b.shape:
        return False
    if b.dtype.kind in "OUSb" or a.dtype.kind in "OUSb":
        return bool((a == b).all())
    if not b.size:
        return True
    return bool(np.abs(a - b).max() <= tolerance * (1 + np.abs(b).max()))


def outcome(call: Call) -> str:
    """Return "equal", "refused", "refused alone" (the plain library computes it), or a sentence on what is wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            want = call.plain()
        except Exception:  # whatever the plain library raises
            want = Refused()
        try:
            got = call.ours()
        except Exception as e:
            if _is_ours(e):
                return "refused" if isinstance(want, Refused) else "refused alone"
            return f"{call.text}: foreign {type(e).__name__}: {e}"
    if isinstance(want, Refused):
        return f"{call.text}: taken, where it must be refused; result of shape {np.shape(got)}"
    if _equal(got, want, call.tolerance):
        return "equal"
    shown = [f"{np.asarray(x).ravel()[:4]} of shape {np.shape(x)}" for x in (got, want)]
    return f"{call.text}: {shown[0]} for {shown[1]}"
