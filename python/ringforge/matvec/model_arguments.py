# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The order of arguments of functions that save models: first the file, then what goes into it, as everywhere."""

from __future__ import annotations

import warnings
from typing import Any

from ringforge.bytes_form import File
from ringforge.errors import ParameterError
from ringforge.matvec.model import Linear, Sequential


def file_first(path: Any, model: Any, function: str) -> tuple[File, Any]:
    """Return the file and the model, whichever came first.

    Args:
        path, model: arguments as given; the other way round is warned of (DeprecationWarning).
        function: that they were given to, for messages.

    Raises:
        ParameterError: there is no model among them, or two.
    """
    if _is_model(path) and not _is_model(model):
        warnings.warn(
            f"{function}(model, path) is the order of earlier releases: write {function}(path, model)",
            DeprecationWarning,
            stacklevel=3,
        )
        path, model = model, path
    if _is_model(path):
        raise ParameterError(f"{function}(path, model) needs a file first, not {type(path).__name__}")
    if not _is_model(model):
        raise ParameterError(
            f"{function}(path, model) saves Linear, Sequential or an estimator of from_sklearn or from_onnx, not "
            f"{type(model).__name__}"
        )
    return path, model


def _is_model(x: Any) -> bool:
    return isinstance(x, Linear | Sequential) or hasattr(x, "rule")
