# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Ringforge's exceptions. Each message names the value, the limit and the remedy; none carries secrets."""

from ringforge._native import (
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
    "UnsupportedModelError",
    "ValueError",
]


class UnsupportedModelError(Error):
    """A model uses something that has no encrypted counterpart here; the message names it."""
