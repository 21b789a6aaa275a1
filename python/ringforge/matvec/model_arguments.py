# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The order of arguments of functions that save models: first the file, then what goes into it, as everywhere."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

from ringforge.errors import ParameterError
from ringforge.matvec.model import Linear, Sequential


def file_first(path: Any, model: Any, function: str) -> tuple[Path, Any]:
    """The file's name and the model, whichever came first.

    Args:
        path, model: arguments as given; the other way round is warned of (DeprecationWarning).
        function: that they were given to, for messages.

    Raises:
        ParameterError: one of them is neither.
    """
    if isinstance(model, str | os.PathLike) and not isinstance(path, str | os.PathLike):
        warnings.warn(
            f"{function}(model, path) is the order of earlier releases: write {function}(path, model)",
            DeprecationWarning,
            stacklevel=3,
        )
        path, model = model, path
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(f"{function}(path, model) needs a file's name first, not {type(path).__name__}")
    if not isinstance(model, Linear | Sequential) and not hasattr(model, "rule"):
        raise ParameterError(
            f"{function}(path, model) saves Linear, Sequential or an estimator of from_sklearn or from_onnx, not "
            f"{type(model).__name__}"
        )
    return Path(path), model
