# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A service's look at its own front door: a call made as clients make theirs, so that "ready" means answered."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

#: Seconds for which the look may take, and for which one answers all who ask.
LOOK_SECONDS, _FRESH_SECONDS = 5.0, 1.0

#: Seconds between looks that nobody asks for, and looks one after the other without any answer after which a service
#: is mute. A machine that is only slow answers one of them.
_EVERY_SECONDS, _MUTE = 5.0, 4


@dataclass(frozen=True)
class Seen:
    """Outcome of a look: whether a client would have been served, in words why not, and whether nothing answered."""

    ready: bool
    why: str = ""
    silent: bool = False


class FrontDoor:
    """Looks when asked, at most once a second, one look at a time.

    Args:
        look: makes a call that must end within so many seconds, and says how it ended.
    """

    def __init__(self, look: Callable[[float], Seen]) -> None:
        self._look, self._lock = look, threading.Lock()
        self._last: tuple[float, Seen] | None = None

    def seen(self) -> Seen:
        """Return what a look shows, at most a second old."""
        if not self._lock.acquire(timeout=2 * LOOK_SECONDS):
            return Seen(False, "a look at the front door does not end", silent=True)
        try:
            if self._last is None or time.monotonic() - self._last[0] > _FRESH_SECONDS:
                try:
                    seen = self._look(LOOK_SECONDS)
                except (OSError, RuntimeError, MemoryError) as e:  # not even this could be begun
                    seen = Seen(False, f"no look at the front door: {type(e).__name__}")
                self._last = time.monotonic(), seen
            return self._last[1]
        finally:
            self._lock.release()

    def watch(self, over: threading.Event, mute: Callable[[], None], every: float = _EVERY_SECONDS) -> None:
        """Look now and then until it is over; calls `mute` once when nothing has answered for `_MUTE` looks."""
        missed = 0
        while not over.wait(every):
            missed = missed + 1 if self.seen().silent else 0
            if missed >= _MUTE and not over.is_set():
                mute()
                return
