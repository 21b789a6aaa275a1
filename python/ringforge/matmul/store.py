# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a session keeps for further use, within a limit: what was not used for longest goes first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from ringforge import _native

#: Bytes that are freed before memory is given back to the system.
GIVE_BACK = 16 << 20

Name = tuple[Any, ...]


class Store:
    """Names of things that are kept, each with its bytes and what frees it.

    Args:
        limit: most bytes. What an operation needs at once is kept even if it takes more.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        #: How many times something was freed to stay below the limit.
        self.freed = 0
        self._kept: OrderedDict[Hashable, tuple[int, Callable[[], None]]] = OrderedDict()
        self._bytes = 0
        self._owed = 0
        self._needed: set[Name] = set()

    def keep(self, name: Name, taken: int, drop: Callable[[], None]) -> None:
        """Something was made or used: it is now what was used last."""
        self.lose(name)
        self._kept[name] = (taken, drop)
        self._bytes += taken
        self._shrink(self.limit, {name} | self._needed)

    def lose(self, name: Name) -> None:
        """Something is gone, or counted anew."""
        known = self._kept.pop(name, None)
        if known is not None:
            self._bytes -= known[0]

    def make_room(self, wanted: Mapping[Name, int]) -> None:
        """Frees what is not among the wanted until these fit too; they stay until others are wanted."""
        missing, self._needed = 0, set(wanted)
        for name, taken in wanted.items():
            if name in self._kept:
                self._kept.move_to_end(name)
            else:
                missing += taken
        self._shrink(self.limit - missing, self._needed)

    def _shrink(self, limit: int, needed: set[Name]) -> None:
        if self._bytes <= limit:
            return
        for name in list(self._kept):
            if self._bytes <= limit:
                break
            if name in needed or name not in self._kept:
                continue
            taken, drop = self._kept.pop(name)
            self._bytes -= taken
            self._owed += taken
            self.freed += 1
            drop()
        if self._owed >= GIVE_BACK:
            self._owed = 0
            _native.trim_memory()

    def sizes(self) -> dict[str, int]:
        """Bytes by the first part of the names."""
        out = {"keys": 0, "diagonals and masks": 0, "operands": 0}
        for name, (taken, _) in self._kept.items():
            assert isinstance(name, tuple)
            out[name[0]] += taken
        return out

    def clear(self) -> None:
        """Frees everything."""
        kept, self._kept, self._bytes, self._needed = self._kept, OrderedDict(), 0, set()
        for _, drop in kept.values():
            drop()
