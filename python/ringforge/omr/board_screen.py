# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Screening of what is posted: posts that come at the same time are tried with the same secrets.

Drawing the secrets costs as much as trying a hundred signals. They are drawn when all signals that are tried with them
are there, and used once, so that nobody can make a signal that suits them.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future

import numpy as np
import numpy.typing as npt

from ringforge.omr.signal import Signals, degenerate

#: Signals that are tried together, unless one post has more.
_GROUP = 1024

#: Seconds that a group with room left waits for others.
_LINGER = 0.002

_Found = npt.NDArray[np.bool_]


class Screen:
    """Finds degenerate signals. Threads share one; while one of them works, the others' signals gather.

    Args:
        threads: for each group.
    """

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._waiting: list[tuple[Signals, Future[_Found]]] = []
        self._lock = threading.Lock()  # of the list
        self._turn = threading.Lock()

    def degenerate(self, signals: Signals) -> _Found:
        """As `signal.degenerate`, of signals of one set for all calls."""
        found: Future[_Found] = Future()
        with self._lock:
            self._waiting.append((signals, found))
        while not found.done():  # another thread may have done it
            with self._turn:
                if not found.done():
                    if len(signals) < _GROUP // 16:  # the larger, the less there is to gain
                        time.sleep(_LINGER)
                    self._try(self._group())
        return found.result()

    def _group(self) -> list[tuple[Signals, Future[_Found]]]:
        with self._lock:
            count = len(self._waiting[0][0])
            stop = 1
            while stop < len(self._waiting) and count + len(self._waiting[stop][0]) <= _GROUP:
                count += len(self._waiting[stop][0])
                stop += 1
            taken, self._waiting = self._waiting[:stop], self._waiting[stop:]
        return taken

    def _try(self, group: list[tuple[Signals, Future[_Found]]]) -> None:
        try:
            if len(group) == 1:
                found = degenerate(group[0][0], self._threads)
            else:
                a, b = (np.concatenate([getattr(signals, half) for signals, _ in group]) for half in "ab")
                found = degenerate(Signals(group[0][0].set, a, b), self._threads)
        except BaseException as e:  # nobody may be left waiting
            for _, done in group:
                done.set_exception(e)
            return
        at = 0
        for signals, done in group:
            done.set_result(found[at : at + len(signals)])
            at += len(signals)
