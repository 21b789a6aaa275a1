# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Progress of operations on integers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from ringforge.devices import Progress

_reporter: ContextVar[Progress | None] = ContextVar("ringforge_integers_progress", default=None)


@contextlib.contextmanager
def reporting(progress: Progress) -> Iterator[None]:
    """Operations within report to a function that takes the fraction done, of each operation; what it raises ends the
    operation. Ctrl-C ends one too.
    """
    token = _reporter.set(progress)
    try:
        yield
    finally:
        _reporter.reset(token)


def reported(part: int, total: int) -> Callable[[float], None]:
    """Progress of one part. There is always a function: through it an interrupt is noticed."""
    update = _reporter.get()

    def report(fraction: float) -> None:
        if update is not None:
            update((part + fraction) / total)

    return report
