# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The kernel of integer products, and how `cpu` and `clear` run it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge._native import GaloisKeys, Plan, counting
from ringforge._native.bfv import Context, IntegerMatvec
from ringforge.devices import (
    ClearVector,
    Execution,
    Implementation,
    Needs,
    Preparation,
    Progress,
    Report,
    register,
    register_cases,
)
from ringforge.devices.clear import vectors_of
from ringforge.devices.cpu import operation_counts
from ringforge.errors import ShapeError

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class IntegerMatvecKernel:
    """Plain integer matrix x encrypted integer vector, plus bias, exact modulo t. Results have the inputs' limbs.

    Operands are :class:`IntegerOperands`; keys the Galois keys of the plan. Inputs are one ciphertext for each column
    block, with the vector in both rows of slots; results one for each row block, the upper half of the matrix's rows in
    row 0 of their slots and the lower half in row 1.

    Attributes:
        context: parameters.
        rows: of the matrix.
        plan: of (rows + 1) // 2 rows, over the N/2 slots of a row.
        limbs: of the inputs.
        compact: keep coefficients of the diagonals only, and make limbs when they are used.
    """

    context: Context
    rows: int
    plan: Plan
    limbs: int
    compact: bool = False

    def needs(self) -> Needs:
        """What it asks of a device."""
        p = self.context.params
        return Needs(p.degree, self.limbs, max(q.bit_length() for q in (*p.q, *p.p)))

    def native(self) -> IntegerMatvec:
        """The library's object for it, without a matrix.

        Raises:
            ShapeError, LevelError, ParameterError: a plan for other slots or rows, limbs that Q has not, t without
            slots.
        """
        return IntegerMatvec(self.context, self.rows, self.plan, self.limbs)

    def encoded(self, operands: IntegerOperands | None, threads: int, progress: Progress | None) -> IntegerMatvec:
        """The same with its matrix encoded.

        Raises:
            ShapeError: no matrix, or of another shape.
        """
        if operands is None:
            raise ShapeError("an integer matrix-vector kernel needs its matrix")
        made = self.native()
        made.encode(operands.matrix, operands.bias, self.compact, threads, progress)
        return made


@dataclass(frozen=True)
class IntegerOperands:
    """The plain side of an integer product: matrix (m, n) and bias (m,) or empty, int64, taken modulo t."""

    matrix: Ints
    bias: Ints


class _Cpu(Implementation):
    def prepare(self, p: Preparation[IntegerMatvecKernel]) -> tuple[IntegerMatvec, GaloisKeys]:
        return p.kernel.encoded(p.operands, p.threads, p.progress), p.keys.galois

    def run(self, r: Execution[IntegerMatvecKernel, tuple[IntegerMatvec, GaloisKeys]]) -> tuple[list[Any], Report]:
        native, galois = r.state
        start = time.perf_counter()
        with counting() as did:
            outputs = list(native.run(list(r.inputs), galois, r.threads))
        seconds, ops = time.perf_counter() - start, did.operations
        words = 16 * r.kernel.context.params.degree * r.kernel.limbs
        traffic = {
            "keys": int(ops.key_bytes),
            "matrix": int(ops.plaintext_bytes),
            "input": words * len(r.inputs),
            "output": words * len(outputs),
        }
        return outputs, Report("cpu", seconds, bytes=traffic, operations=operation_counts(ops))

    def storage(self, state: tuple[IntegerMatvec, GaloisKeys]) -> int:
        return int(state[0].storage)


class _Clear(Implementation):
    def prepare(self, p: Preparation[IntegerMatvecKernel]) -> IntegerOperands:
        packing, operands = p.kernel.plan.packing, p.operands
        if operands is None or operands.matrix.shape != (p.kernel.rows, packing.cols):
            raise ShapeError(f"the plan is for a matrix of {p.kernel.rows} x {packing.cols}")
        if p.progress:
            p.progress(1.0)
        return operands  # type: ignore[no-any-return]

    def run(self, r: Execution[IntegerMatvecKernel, IntegerOperands]) -> tuple[list[Any], Report]:
        start, kernel = time.perf_counter(), r.kernel
        packing, t = kernel.plan.packing, kernel.context.params.t
        given = vectors_of(r.inputs, kernel.limbs - 1, 2 * packing.slots, len(packing.blocks))
        out = [
            ClearVector(np.asarray(s, np.int64), kernel.limbs - 1, 1.0, t / 2)
            for s in _clear_matvec(kernel, r.state, [v.reshape(2, -1) for v in given])
        ]
        return out, Report(r.device.name, time.perf_counter() - start)


def _clear_matvec(kernel: IntegerMatvecKernel, operands: IntegerOperands, inputs: list[Any]) -> list[Any]:
    """The plan's rotations and products on plain slots, in Python's integers."""
    plan, t = kernel.plan, kernel.context.params.t
    packing = plan.packing
    period, size, half = packing.row_period, packing.slots, (kernel.rows + 1) // 2
    padded = np.zeros((2, packing.row_blocks * period, packing.cols + 1), object)
    bias = np.zeros((2, packing.row_blocks * period), object)
    for h in range(2):
        rows = operands.matrix[h * half : (h + 1) * half]
        padded[h, : len(rows), : packing.cols] = rows
        if operands.bias.size:
            bias[h, : len(rows)] = operands.bias[h * half : (h + 1) * half]
    columns = [packing.columns(c) for c in range(len(packing.blocks))]
    at = np.arange(size) % period
    x = [v.astype(object) for v in inputs]
    results = []
    for block in range(packing.row_blocks):
        inner = np.zeros((plan.giants, 2, size), object)
        for term in (term for term in plan.terms if term.row_block == block):
            diagonal = padded[:, block * period + at, np.roll(columns[term.block], -term.index)]
            inner[term.giant] += np.roll(diagonal, term.shift, axis=1) * np.roll(x[term.block], -term.baby, axis=1)
        acc = sum(np.roll(inner[g], -g * plan.baby, axis=1) for g in range(plan.giants))
        for fold in packing.folds:
            acc = acc + np.roll(acc, -fold, axis=1)
        results.append(((acc + bias[:, block * period + at]) % t).reshape(-1))
    return results


register(IntegerMatvecKernel, "cpu", _Cpu())
register(IntegerMatvecKernel, "clear", _Clear())
register_cases(IntegerMatvecKernel, "ringforge.bfv.cases")
