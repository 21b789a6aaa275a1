# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The command line for tests that need it in a process of its own: `python -m tests.psi.command psi ...`.

It has two more devices. On `slow` every query takes SLOW_SECONDS of the environment longer, so that a test can do
something meanwhile; on `stuck` none ever ends. Both say on standard error when they compute.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from typing import Any

from ringforge import devices
from ringforge.devices import base
from ringforge.errors import Error
from ringforge.psi.kernels import LookupKernel
from ringforge.psi.poly import PolyKernel


class Slow(devices.CpuDevice):
    """A processor that takes longer, and can be cancelled meanwhile."""

    name = "slow"


class Stuck(devices.CpuDevice):
    """A processor that keeps the interpreter's lock, and never ends."""

    name = "stuck"


class _Slow(devices.Implementation):
    def __init__(self, kernel: Any) -> None:
        found = base.implementation(kernel, "cpu")
        assert found is not None
        self._cpu = found

    def prepare(self, p: devices.Preparation[Any]) -> Any:
        return self._cpu.prepare(p)

    def run(self, r: devices.Execution[Any, Any]) -> tuple[list[Any], devices.Report]:
        print('{"event": "computing"}', file=sys.stderr, flush=True)
        until = time.monotonic() + float(os.environ["SLOW_SECONDS"])
        while time.monotonic() < until:
            time.sleep(0.02)
            if r.progress is not None and not r.progress(0.0):
                raise Error("cancelled")
        return self._cpu.run(r)

    def storage(self, state: Any) -> int:
        return self._cpu.storage(state)


class _Stuck(_Slow):
    def run(self, *_: Any) -> tuple[list[Any], devices.Report]:
        print('{"event": "computing"}', file=sys.stderr, flush=True)
        mutex = ctypes.create_string_buffer(256)  # zeros: PTHREAD_MUTEX_INITIALIZER
        for _ in range(2):
            ctypes.PyDLL(None).pthread_mutex_lock(mutex)
        raise AssertionError("a locked mutex was locked")


if __name__ == "__main__":
    devices.register_device("slow", Slow)
    devices.register_device("stuck", Stuck)
    for kernel in (LookupKernel, PolyKernel):
        devices.register(kernel, "slow", _Slow(kernel))
        devices.register(kernel, "stuck", _Stuck(kernel))

    from ringforge.cli import main

    sys.exit(main())
