# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The clear device: the same plans on unencrypted slots, for protocol tests that run in milliseconds.

It performs the very rotations and products of the plan, so it also checks packings against numpy. It hides
nothing; whatever it produces says "clear".
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge._native import Algorithm, Plan
from ringforge.devices.base import (
    Capabilities,
    Device,
    Handle,
    Kernel,
    Keys,
    MatvecKernel,
    MatvecOperands,
    Progress,
    Report,
    SquareKernel,
)
from ringforge.errors import LevelError, ShapeError


@dataclass(frozen=True)
class ClearVector:
    """What stands for a ciphertext: the slots themselves, with level, scale and bound as metadata."""

    slots: npt.NDArray[np.float64]
    level: int
    scale: float
    bound: float


class ClearDevice(Device):
    """Runs kernels without encryption."""

    def capabilities(self) -> Capabilities:
        return Capabilities(
            "clear", "NO ENCRYPTION: the same plans on plain numbers", frozenset({MatvecKernel, SquareKernel})
        )

    def prepare(
        self,
        kernel: Kernel,
        keys: Keys,  # noqa: ARG002
        operands: MatvecOperands | None = None,
        *,
        threads: int = 1,  # noqa: ARG002
        progress: Progress | None = None,
    ) -> Handle:
        start = time.perf_counter()
        state = None
        if isinstance(kernel, MatvecKernel):
            packing = kernel.plan.packing
            if operands is None or operands.matrix.shape != (packing.rows, packing.cols):
                raise ShapeError(f"the plan is for a matrix of {packing.rows} x {packing.cols}")
            state = operands
        if progress:
            progress(1.0)
        return Handle("clear", kernel, time.perf_counter() - start, state)

    def run(
        self,
        handle: Handle,
        inputs: Sequence[Any],
        *,
        threads: int = 1,  # noqa: ARG002
        progress: Progress | None = None,  # noqa: ARG002
    ) -> tuple[list[Any], Report]:
        self.own(handle, "clear")
        start = time.perf_counter()
        kernel = handle.kernel
        assert isinstance(kernel, MatvecKernel | SquareKernel)
        for v in inputs:
            if v.level != kernel.level:
                raise LevelError(f"the kernel takes inputs of level {kernel.level}, this one has {v.level}")
        if isinstance(kernel, SquareKernel):
            prime = kernel.context.params.q[kernel.level]
            out = [ClearVector(v.slots**2, v.level - 1, v.scale**2 / prime, v.bound**2) for v in inputs]
        else:
            slots = _matvec(kernel.plan, kernel.batch, handle.state, [v.slots for v in inputs])
            bias = np.abs(handle.state.bias) if handle.state.bias.size else 0.0
            bound = float((np.abs(handle.state.matrix).sum(axis=1) * kernel.input_bound + bias).max())
            out = [ClearVector(s, kernel.level - 1, kernel.output_scale, bound) for s in slots]
        return out, Report("clear", time.perf_counter() - start)


def _matvec(
    plan: Plan, batch: int, operands: MatvecOperands, inputs: Sequence[npt.NDArray[np.float64]]
) -> list[npt.NDArray[np.float64]]:
    """The plan's rotations and products on plain slots."""
    packing = plan.packing
    period, size = packing.row_period, packing.slots
    padded = np.zeros((packing.row_blocks * period, packing.cols + 1))
    padded[: packing.rows, : packing.cols] = operands.matrix
    columns = [packing.columns(c) for c in range(len(packing.blocks))]
    rows = np.arange(size) % period
    x = [v.reshape(size, batch) for v in inputs]
    results = []
    terms = plan.terms
    for block in range(packing.row_blocks):
        acc = np.zeros((size, batch))
        inner = np.zeros((plan.giants, size, batch))
        for t in (t for t in terms if t.row_block == block):
            diagonal = padded[block * period + rows, np.roll(columns[t.block], -t.index)]
            if plan.algorithm == Algorithm.bsgs:
                inner[t.giant] += np.roll(diagonal, t.shift)[:, None] * np.roll(x[t.block], -t.baby, axis=0)
            else:
                inner[t.giant] += np.roll(diagonal, t.shift)[:, None] * x[t.block]
        for giant in range(plan.giants):
            acc += np.roll(inner[giant], -giant * plan.baby, axis=0)
        for h in packing.folds:
            acc = acc + np.roll(acc, -h, axis=0)
        if operands.bias.size:
            bias = np.zeros(packing.row_blocks * period)
            bias[: packing.rows] = operands.bias
            acc = acc + bias[block * period + rows][:, None]
        results.append(acc.reshape(-1))
    return results
