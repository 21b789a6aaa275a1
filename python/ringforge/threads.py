# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Threads of services, started so that a moment without memory costs a delay and nothing else.

`threading.Thread.start` waits until the new thread says that it runs. One that finds no memory for its first steps dies
without a word, and whoever has started it waits for ever: that must not be the thread that takes calls, nor one that
holds a lock.
"""

from __future__ import annotations

import _thread
from collections import deque
from collections.abc import Callable

_todo: deque[Callable[[], None]] = deque()


def spawn(function: Callable[[], None]) -> None:
    """Run a function in a thread of its own; returns at once, whether or not there is memory for a thread now.

    A function whose thread could not be started is run by the next thread that can be, or after `retry`. It must
    handle its own errors.
    """
    _todo.append(function)
    _start()


def retry() -> None:
    """Start threads for what still waits for one; to be called now and then."""
    for _ in range(len(_todo)):
        if not _start():
            return


def _start() -> bool:
    try:
        _thread.start_new_thread(_run, ())
    except (RuntimeError, MemoryError):  # none can be had now
        return False
    return True


def _run() -> None:
    while True:
        try:
            function = _todo.popleft()
        except IndexError:
            return
        # Nothing here may need memory between the two: the function would be lost.
        try:
            function()
        except MemoryError as e:
            if e.__traceback__ is not None and e.__traceback__.tb_next is None:  # it has not begun
                _todo.appendleft(function)
                return
        except Exception:  # it has handlers for its own errors
            pass
