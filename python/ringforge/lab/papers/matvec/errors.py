# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Errors raised by the matrix-vector paper's models.

Every message names the value, the limit it broke and what to do about it.
"""

from __future__ import annotations


class PaperModelError(ValueError):
    """An argument lies outside what a model can describe."""


class NoConfigurationError(PaperModelError):
    """No accelerator configuration fits the given part."""


class MissingDependencyError(ImportError):
    """An optional package is needed for the requested output."""
