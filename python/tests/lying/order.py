# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""In which order a program asks servers and decrypts."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import pytest


@contextlib.contextmanager
def written_down(*functions: tuple[Any, str, str]) -> Iterator[list[str]]:
    """List what is called while the block runs, in order: of each function the owner, its name there, a word for it."""
    events: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        for owner, name, word in functions:
            whole = getattr(owner, name)

            def noting(*given: Any, _whole: Any = whole, _word: str = word, **named: Any) -> Any:
                events.append(_word)
                return _whole(*given, **named)

            patch.setattr(owner, name, functools.wraps(whole)(noting))
        yield events


def asks_before_it_reads(events: list[str]) -> bool:
    """Whether there are both, and everything is asked, and the connection closed, before anything is decrypted."""
    first = events.index("decrypt")
    return "ask" in events[:first] and "close" in events[:first] and "ask" not in events[first:]
