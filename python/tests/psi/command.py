# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The command line for tests that need it in a process of its own: `python -m tests.psi.command psi ...`.

Where the native module lacks private set intersection, `fake_native` stands for it. With SLOW_SECONDS in the
environment every query takes so much longer, so that a test can do something meanwhile; with STUCK none ever ends. It
says on standard error when it computes.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from ringforge import _native
from ringforge.psi import engine


def install() -> None:
    """Puts the stand-in into its place, if it is needed."""
    if not hasattr(_native, "psi"):
        from tests.psi import fake_native

        engine.use("psi", fake_native)


class Slow:
    """A native module whose evaluation takes longer, and can be cancelled meanwhile."""

    def __init__(self, module: Any, seconds: float) -> None:
        self._module, self._seconds = module, seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def evaluate(
        self, keys: Any, request: bytes, table: Any, threads: int = 1, progress: Callable[[float], bool] | None = None
    ) -> bytes:
        print('{"event": "computing"}', file=sys.stderr, flush=True)
        until = time.monotonic() + self._seconds
        while time.monotonic() < until:
            time.sleep(0.02)
            if progress is not None and not progress(0.0):
                raise _native.Error("cancelled")
        return bytes(self._module.evaluate(keys, request, table, threads, progress))


class Stuck:
    """A native module whose evaluation keeps the interpreter's lock and never ends."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def evaluate(self, *_: object) -> bytes:
        print('{"event": "computing"}', file=sys.stderr, flush=True)
        mutex = ctypes.create_string_buffer(256)  # zeros: PTHREAD_MUTEX_INITIALIZER
        for _ in range(2):
            ctypes.PyDLL(None).pthread_mutex_lock(mutex)
        raise AssertionError("a locked mutex was locked")


if __name__ == "__main__":
    install()
    if os.environ.get("STUCK"):
        engine.use("psi", Stuck(engine.psi()))
    if seconds := float(os.environ.get("SLOW_SECONDS", "0")):
        engine.use("psi", Slow(engine.psi(), seconds))

    from ringforge.cli import main

    sys.exit(main())
