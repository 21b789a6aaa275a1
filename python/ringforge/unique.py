# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Names that may be given once: keys of JSON objects, and NAME=VALUE on a command line."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from typing import TypeVar

from ringforge.errors import ParameterError

T = TypeVar("T")


class RepeatedKeyError(builtins.ValueError):
    """An object of JSON has a key twice."""

    def __init__(self, name: str) -> None:
        super().__init__(f'the key "{name[:40]}" occurs twice: write each once')
        self.name = name


def once_each(pairs: Iterable[tuple[str, T]]) -> dict[str, T]:
    """Return an object of JSON, of which each key is there once; for `json.loads(..., object_pairs_hook=once_each)`.

    Raises:
        RepeatedKeyError: a key is there twice; `json` alone takes the last one.
    """
    found: dict[str, T] = {}
    for name, value in pairs:
        if name in found:
            raise RepeatedKeyError(name)
        found[name] = value
    return found


def named_once(pairs: Iterable[tuple[str, T]], option: str) -> dict[str, T]:
    """Return what an option names, each name once.

    Raises:
        ParameterError: a name is repeated.
    """
    try:
        return once_each(pairs)
    except RepeatedKeyError as e:
        raise ParameterError(f'{option}: "{e.name[:40]}" is given twice: give each name once') from None
