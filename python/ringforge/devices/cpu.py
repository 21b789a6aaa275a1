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
    HltKernel,
    Kernel,
    Keys,
    MatvecKernel,
    MatvecOperands,
    MultiplyKernel,
    PairSumKernel,
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
            frozenset({MatvecKernel, SquareKernel, HltKernel, PairSumKernel, MultiplyKernel}),
        )

    def prepare(
        self,
        kernel: Kernel,
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
        elif isinstance(kernel, HltKernel):
            hlt = kernel.native()
            hlt.encode(kernel.input_scale, kernel.output_scale, kernel.input_bound, kernel.compact, threads, progress)
            state = (hlt, keys.galois)
        elif keys.relin is None:
            raise MissingKeyError("products need a relinearisation key, which this key set lacks")
        elif isinstance(kernel, PairSumKernel):
            pairs = kernel.native()
            pairs.encode(
                kernel.left_scale,
                kernel.right_scale,
                kernel.output_scale,
                kernel.left_bound,
                kernel.right_bound,
                kernel.output_bound,
                kernel.compact,
                threads,
            )
            state = (pairs, keys.galois, keys.relin, kernel.plan.left_bases)
        else:
            state = keys.relin
        return Handle("cpu", kernel, time.perf_counter() - start, state)

    def run(
        self, handle: Handle, inputs: Sequence[Any], *, threads: int = 1, progress: Progress | None = None
    ) -> tuple[list[Any], Report]:
        before, start = _native.counted(), time.perf_counter()
        if isinstance(handle.kernel, MatvecKernel):
            native, galois = handle.state
            outputs = list(native.run(list(inputs), galois, threads))
        elif isinstance(handle.kernel, HltKernel):
            hlt, galois = handle.state
            outputs = [hlt.run(inputs[0], galois, threads)]
        elif isinstance(handle.kernel, PairSumKernel):
            pairs, galois, relin, bases = handle.state
            outputs = [pairs.run(list(inputs[:bases]), list(inputs[bases:]), galois, relin, threads, progress)]
        elif isinstance(handle.kernel, MultiplyKernel):
            ev = _native.Evaluator(handle.kernel.context, threads)
            outputs = [ev.relinearize(ev.mul(inputs[0], inputs[1]), handle.state)]
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
