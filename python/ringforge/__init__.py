# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Computing on encrypted data.

`ringforge.matvec` runs neural-network layers on encrypted vectors, `ringforge.ckks` is the scheme beneath it,
`ringforge.devices` says where fused kernels run.
"""

from importlib.metadata import PackageNotFoundError, version

from ringforge import ckks, devices, matvec, params
from ringforge.errors import (
    Error,
    FormatError,
    LevelError,
    MemoryLimitError,
    MismatchError,
    MissingKeyError,
    ParameterError,
    ScaleError,
    ShapeError,
    ValueError,
)

try:
    __version__ = version("ringforge")
except PackageNotFoundError:  # running from a source tree
    __version__ = "0+source"

__all__ = [
    "Error",
    "FormatError",
    "LevelError",
    "MemoryLimitError",
    "MismatchError",
    "MissingKeyError",
    "ParameterError",
    "ScaleError",
    "ShapeError",
    "ValueError",
    "__version__",
    "ckks",
    "devices",
    "matvec",
    "params",
]
