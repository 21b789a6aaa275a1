# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The CPU: the native library, with the fastest kernel set the processor has."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from ringforge import _native
from ringforge.devices.base import (
    Capabilities,
    Device,
    Handle,
    Keys,
    MatvecKernel,
    MatvecOperands,
    Progress,
    Report,
    SquareKernel,
)
from ringforge.errors import MissingKeyError, ShapeError

_COUNTS = ("ntt", "intt", "mod_up", "mod_down", "key_switch", "rotation", "plain_mul")


def operation_counts(ops: _native.OpCounts) -> dict[str, int]:
    """The counts of operations, without bytes, by name."""
    return {name: int(getattr(ops, name)) for name in _COUNTS}


class CpuDevice(Device):
    """Runs kernels on this machine's processor."""

    def capabilities(self) -> Capabilities:
        return Capabilities(
            "cpu",
            f"this processor, kernel set {_native.kernels.active()}, {_native.hardware_threads()} threads",
            frozenset({MatvecKernel, SquareKernel}),
        )

    def prepare(
        self,
        kernel: MatvecKernel | SquareKernel,
        keys: Keys,
        operands: MatvecOperands | None = None,
        *,
        threads: int = 1,
        progress: Progress | None = None,
    ) -> Handle:
        start = time.perf_counter()
        state: Any
        if isinstance(kernel, MatvecKernel):
            if operands is None:
                raise ShapeError("a matrix-vector kernel needs its matrix")
            native = _native.Matvec(kernel.context, kernel.plan, kernel.level, kernel.batch)
            native.encode(
                operands.matrix,
                operands.bias,
                kernel.input_scale,
                kernel.output_scale,
                kernel.input_bound,
                kernel.fresh_inputs,
                threads,
                progress,
            )
            state = (native, keys.galois)
        else:
            if keys.relin is None:
                raise MissingKeyError("squaring needs a relinearisation key, which this key set lacks")
            state = keys.relin
        return Handle("cpu", kernel, time.perf_counter() - start, state)

    def run(self, handle: Handle, inputs: Sequence[Any], *, threads: int = 1) -> tuple[list[Any], Report]:
        before, start = _native.counted(), time.perf_counter()
        if isinstance(handle.kernel, MatvecKernel):
            native, galois = handle.state
            outputs = list(native.run(list(inputs), galois, threads))
        else:
            ev = _native.Evaluator(handle.kernel.context, threads)
            outputs = [ev.rescale(ev.relinearize(ev.mul(c, c), handle.state)) for c in inputs]
        seconds, ops = time.perf_counter() - start, _native.counted() - before
        degree = handle.kernel.context.params.degree
        traffic = {
            "keys": int(ops.key_bytes),
            "matrix": int(ops.plaintext_bytes),
            "input": sum(16 * degree * (c.level + 1) for c in inputs),
            "output": sum(16 * degree * (c.level + 1) for c in outputs),
        }
        return outputs, Report("cpu", seconds, bytes=traffic, operations=operation_counts(ops))
