# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Progress of computations that may be cancelled: a function of the fraction done, whose False says stop."""

from __future__ import annotations

from ringforge.devices.base import Progress
from ringforge.errors import Error

__all__ = ["Progress", "reach", "within"]


def reach(progress: Progress | None, done: float) -> None:
    """Tells that this fraction is done.

    Raises:
        Error "cancelled": the answer was False.
    """
    if progress is not None and progress(min(1.0, done)) is False:
        raise Error("cancelled")


def within(progress: Progress | None, first: float, last: float) -> Progress | None:
    """For a part that goes from fraction `first` of the whole to `last`."""
    return None if progress is None else lambda done: progress(first + (last - first) * done)
