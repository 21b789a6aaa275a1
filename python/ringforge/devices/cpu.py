# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The CPU: the native library, with the fastest kernel set the processor has. Its buffers are the host's objects."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from ringforge import _native
from ringforge.devices.base import Device, Report

_COUNTS = ("ntt", "intt", "mod_up", "mod_down", "key_switch", "rotation", "plain_mul")


class CpuDevice(Device):
    """Runs kernels on this machine's processor."""

    name = "cpu"

    @property
    def description(self) -> str:
        return f"this processor, kernel set {_native.kernels.active()}, {_native.hardware_threads()} threads"


def operation_counts(ops: _native.OpCounts) -> dict[str, int]:
    """The counts of operations, without bytes, by name."""
    return {name: int(getattr(ops, name)) for name in _COUNTS}


def counted(
    context: _native.Context, inputs: Sequence[Any], compute: Callable[[], list[Any]], lines: int = 1
) -> tuple[list[Any], Report]:
    """What `compute` makes of ciphertexts, and a report of what it did.

    Args:
        lines: ciphertexts of two parts in each input and result.
    """
    start = time.perf_counter()
    with _native.counting() as did:
        outputs = compute()
    seconds, ops, degree = time.perf_counter() - start, did.operations, context.params.degree
    traffic = {
        "keys": int(ops.key_bytes),
        "matrix": int(ops.plaintext_bytes),
        "input": sum(16 * degree * lines * (c.level + 1) for c in inputs),
        "output": sum(16 * degree * lines * (c.level + 1) for c in outputs),
    }
    return outputs, Report("cpu", seconds, bytes=traffic, operations=operation_counts(ops))
