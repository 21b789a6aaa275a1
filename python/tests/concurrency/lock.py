# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A proof that a native call lets other Python threads run, which does not look at a clock.

A second thread counts up without end. This thread reads the count, makes the native call, and reads the count again,
all from C (`tuple(map(operator.call, ...))`), so that the interpreter never has a chance to switch threads in between:
the count differs only if the call itself let go of the interpreter lock.
"""

from __future__ import annotations

import functools
import operator
import sys
import threading
from collections.abc import Callable

#: A C function with its arguments, such as `functools.partial(native.f, x)`: a Python function would let the
#: interpreter switch threads.
Call = Callable[[], object]


def let_go(call: Call, prepare: Call = dict, tries: int = 2_000) -> bool:
    """Whether the call lets another thread run."""
    box, stop = [0], threading.Event()

    def count() -> None:
        while not stop.is_set():
            box[0] += 1

    read = functools.partial(operator.getitem, box, 0)
    # Holds the lock long enough for the other thread to ask for it, so that it gets it as soon as it is free.
    pause = functools.partial(sum, range(3_000))
    other = threading.Thread(target=count)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    other.start()
    try:
        for _ in range(tries):
            _, _, before, _, after = tuple(map(operator.call, [prepare, pause, read, call, read]))
            if before != after:
                return True
        return False
    finally:
        stop.set()
        other.join()
        sys.setswitchinterval(interval)
