# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The kernels of products of encrypted matrices, and how `cpu` and `clear` run them.

None has operands: diagonals, shifts and masks are the kernel's own.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge._native import Context, Diagonals, GaloisKeys, PairSumPlan, RelinKey, Schedule
from ringforge.devices import (
    ClearVector,
    Execution,
    Implementation,
    Needs,
    Preparation,
    Report,
    register,
    register_cases,
)
from ringforge.devices.clear import vectors_of
from ringforge.devices.cpu import counted
from ringforge.errors import ShapeError

Slots = npt.NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class HltKernel:
    """A linear transform of one ciphertext's slots, one level lower.

    Keys: the Galois keys of `native().steps`.

    Attributes:
        context: parameters.
        map: the non-zero diagonals.
        level: of the input, at least 1.
        schedule: naive, hoisted, mo or bsgs.
        babies: for bsgs the baby step of each diagonal, uint32.
        input_scale, output_scale: scales of input and result.
        input_bound: declared bound of the input's slots.
        compact: keep coefficients of the encoded diagonals only.
    """

    context: Context
    map: Diagonals
    level: int
    schedule: Schedule
    babies: npt.NDArray[np.uint32]
    input_scale: float
    output_scale: float
    input_bound: float
    compact: bool = False

    def needs(self) -> Needs:
        """What it asks of a device."""
        return Needs.of(self.context, self.level)

    def native(self) -> _native.Hlt:
        """The library's object, not encoded yet."""
        return _native.Hlt(self.context, self.map, self.level, self.schedule, self.babies)


@dataclass(frozen=True)
class PairSumKernel:
    """The sum of products of shifted ciphertexts that ends a matrix product.

    Inputs are the left bases, then the right bases, all of one level. Keys: the Galois keys of
    `native().required_keys`, and the relinearisation key.

    Attributes:
        context: parameters.
        plan: shifts, masks, groups.
        level: of the bases.
        left_scale, right_scale, output_scale: of bases and result.
        left_bound, right_bound, output_bound: declared bounds of the slots of bases and result.
        compact: keep coefficients of the encoded masks only.
    """

    context: Context
    plan: PairSumPlan
    level: int
    left_scale: float
    right_scale: float
    output_scale: float
    left_bound: float
    right_bound: float
    output_bound: float
    compact: bool = False

    def needs(self) -> Needs:
        """What it asks of a device."""
        return Needs.of(self.context, self.level)

    def native(self) -> _native.PairSum:
        """The library's object, not encoded yet."""
        return _native.PairSum(self.context, self.plan, self.level)


@dataclass(frozen=True)
class MultiplyKernel:
    """The slot-wise product of two ciphertexts, relinearised and not rescaled. Keys: the relinearisation key."""

    context: Context
    level: int

    def needs(self) -> Needs:
        """What it asks of a device."""
        return Needs.of(self.context, self.level)


# ---- cpu -----------------------------------------------------------------------------------------


class _CpuHlt(Implementation):
    def prepare(self, p: Preparation[HltKernel]) -> tuple[_native.Hlt, GaloisKeys]:
        hlt = p.kernel.native()
        hlt.encode(
            p.kernel.input_scale, p.kernel.output_scale, p.kernel.input_bound, p.kernel.compact, p.threads, p.progress
        )
        return hlt, p.keys.galois

    def run(self, r: Execution[HltKernel, tuple[_native.Hlt, GaloisKeys]]) -> tuple[list[Any], Report]:
        _check_count(r.inputs, 1)
        hlt, galois = r.state
        return counted(r.kernel.context, r.inputs, lambda: [hlt.run(r.inputs[0], galois, r.threads)])

    def storage(self, state: tuple[_native.Hlt, GaloisKeys]) -> int:
        return int(state[0].storage)


class _CpuPairSum(Implementation):
    def prepare(self, p: Preparation[PairSumKernel]) -> tuple[_native.PairSum, GaloisKeys, RelinKey]:
        relin, pairs = p.keys.required_relin(), p.kernel.native()
        pairs.encode(
            p.kernel.left_scale,
            p.kernel.right_scale,
            p.kernel.output_scale,
            p.kernel.left_bound,
            p.kernel.right_bound,
            p.kernel.output_bound,
            p.kernel.compact,
            p.threads,
        )
        return pairs, p.keys.galois, relin

    def run(
        self, r: Execution[PairSumKernel, tuple[_native.PairSum, GaloisKeys, RelinKey]]
    ) -> tuple[list[Any], Report]:
        pairs, galois, relin = r.state
        left, right = list(r.inputs[: r.kernel.plan.left_bases]), list(r.inputs[r.kernel.plan.left_bases :])
        return counted(
            r.kernel.context, r.inputs, lambda: [pairs.run(left, right, galois, relin, r.threads, r.progress)]
        )

    def storage(self, state: tuple[_native.PairSum, GaloisKeys, RelinKey]) -> int:
        return int(state[0].storage)


class _CpuMultiply(Implementation):
    def prepare(self, p: Preparation[MultiplyKernel]) -> RelinKey:
        return p.keys.required_relin()

    def run(self, r: Execution[MultiplyKernel, RelinKey]) -> tuple[list[Any], Report]:
        _check_count(r.inputs, 2)
        ev = _native.Evaluator(r.kernel.context, r.threads)
        return counted(r.kernel.context, r.inputs, lambda: [ev.relinearize(ev.mul(r.inputs[0], r.inputs[1]), r.state)])


def _check_count(inputs: Sequence[Any], count: int) -> None:
    if len(inputs) != count:
        raise ShapeError(f"{len(inputs)} inputs, where the kernel takes {count}")


# ---- clear ---------------------------------------------------------------------------------------


class _Clear(Implementation):
    """Without keys, and with nothing to encode."""

    def run(self, r: Execution[Any, None]) -> tuple[list[Any], Report]:
        start = time.perf_counter()
        made = self.result(r.kernel, r.inputs)
        return [made], Report(r.device.name, time.perf_counter() - start)

    def result(self, kernel: Any, inputs: Sequence[Any]) -> ClearVector:
        """What the kernel makes of the inputs."""
        raise NotImplementedError


class _ClearHlt(_Clear):
    def result(self, kernel: HltKernel, inputs: Sequence[Any]) -> ClearVector:
        (x,) = vectors_of(inputs, kernel.level, kernel.context.params.slots, 1)
        out = np.zeros(len(x), np.complex128)
        for i, step in enumerate(kernel.map.steps.tolist()):
            out += kernel.map.diagonal(i) * np.roll(x, -step)
        bound = kernel.input_bound * kernel.map.row_sum
        return ClearVector(out, kernel.level - 1, kernel.output_scale, bound)


class _ClearPairSum(_Clear):
    def result(self, kernel: PairSumKernel, inputs: Sequence[Any]) -> ClearVector:
        plan, slots = kernel.plan, kernel.context.params.slots
        given = vectors_of(inputs, kernel.level, slots, plan.left_bases + plan.right_bases)
        masks = [np.zeros(slots) for _ in plan.masks]
        for mask, ones in zip(masks, plan.masks, strict=True):
            mask[ones] = 1

        def shifted(bases: Sequence[Any], terms: Sequence[Sequence[int]]) -> Slots:
            out = np.zeros(slots, np.complex128)
            for base, step, _via, mask in terms:
                moved = np.roll(bases[base], -step)
                out += moved if mask < 0 else masks[mask] * moved
            return out

        left, right = given[: plan.left_bases], given[plan.left_bases :]
        total = np.zeros(slots, np.complex128)
        for outer, pairs in plan.groups:
            part = sum((shifted(left, a) * shifted(right, b) for a, b in pairs), np.zeros(slots, np.complex128))
            total += np.roll(part, -outer)
        if plan.real_part:
            total = total.real.astype(np.complex128)
        for step in plan.folds:
            total = total + np.roll(total, -step)
        return ClearVector(total, kernel.native().output_level, kernel.output_scale, kernel.output_bound)


class _ClearMultiply(_Clear):
    def result(self, kernel: MultiplyKernel, inputs: Sequence[Any]) -> ClearVector:
        x, y = vectors_of(inputs, kernel.level, kernel.context.params.slots, 2)
        a, b = inputs
        return ClearVector(np.asarray(x * y), kernel.level, a.scale * b.scale, a.bound * b.bound)


register(HltKernel, "cpu", _CpuHlt())
register(PairSumKernel, "cpu", _CpuPairSum())
register(MultiplyKernel, "cpu", _CpuMultiply())
register(HltKernel, "clear", _ClearHlt())
register(PairSumKernel, "clear", _ClearPairSum())
register(MultiplyKernel, "clear", _ClearMultiply())
register_cases(HltKernel, "ringforge.matmul.cases")
register_cases(PairSumKernel, "ringforge.matmul.cases")
register_cases(MultiplyKernel, "ringforge.matmul.cases")
