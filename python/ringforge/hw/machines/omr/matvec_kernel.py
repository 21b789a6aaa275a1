# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""How the omr machine runs integer products: as `kernels` runs those of detection."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge._native import GaloisKeys
from ringforge._native.bfv import IntegerMatvec
from ringforge.bfv.kernels import IntegerMatvecKernel
from ringforge.devices import Execution, Implementation, Preparation, Report
from ringforge.errors import MismatchError, MissingKeyError
from ringforge.hw.machines.omr.affine import galois_key
from ringforge.hw.machines.omr.config import OmrConfig
from ringforge.hw.machines.omr.layout import Target, multiplier
from ringforge.hw.machines.omr.matvec import Block, Operands, Plan, check, check_memory, product
from ringforge.hw.machines.omr.runner import Executor
from ringforge.hw.machines.omr.running import report_of, words_of, worked

Words = npt.NDArray[np.uint64]


def target_of(config: OmrConfig, kernel: IntegerMatvecKernel) -> Target:
    """A kernel's ring on a machine.

    Raises:
        ParameterError: the machine cannot hold it.
    """
    p = kernel.context.params
    target = Target(config, p.log_n, tuple(p.q[: kernel.limbs]), tuple(p.p), p.limbs_per_digit)
    check(target)
    return target


def plan_of(kernel: IntegerMatvecKernel) -> Plan:
    """What a kernel does, step by step."""
    packing = kernel.plan.packing
    blocks = [Block(int(block.diagonals), int(kernel.plan.baby)) for block in packing.blocks]
    folds = [int(step) for step in packing.folds]
    steps = Plan(blocks, int(packing.row_blocks), folds, {}).steps
    return Plan(blocks, int(packing.row_blocks), folds, {s: int(kernel.context.rotation_element(s)) for s in steps})


@dataclass(frozen=True)
class _State:
    """A prepared kernel: the ring, the library's object, the plan, and constants in memory's form."""

    target: Target
    native: IntegerMatvec
    plan: Plan
    operands: Operands
    key_ids: dict[int, int]


class MatvecOn(Implementation):
    """Integer products.

    Args:
        executor: of a device.
    """

    def __init__(self, executor: Callable[[Any], Executor]) -> None:
        self.executor = executor

    def check(self, device: Any, kernel: IntegerMatvecKernel) -> None:
        check_memory(target_of(device.config, kernel), plan_of(kernel))

    def prepare(self, p: Preparation[IntegerMatvecKernel]) -> _State:
        kernel, config, galois = p.kernel, p.device.config, p.keys.galois
        target, plan = target_of(config, kernel), plan_of(kernel)
        native = kernel.encoded(p.operands, p.threads, p.progress)
        keys = {step: _key(kernel, target, galois, element, step) for step, element in plan.elements.items()}
        diagonals = [
            [_diagonals(target, native, row, column, block) for column, block in enumerate(plan.blocks)]
            for row in range(plan.row_blocks)
        ]
        bias = [
            np.stack([native.bias_limb(row, limb) for limb in range(target.limbs)])
            for row in range(plan.row_blocks if native.has_bias else 0)
        ]
        key_ids = {step: int(galois.key_id(element)) for step, element in plan.elements.items()}
        return _State(target, native, plan, Operands(keys, diagonals, bias), key_ids)

    def run(self, r: Execution[IntegerMatvecKernel, _State]) -> tuple[list[Any], Report]:
        start, state = time.perf_counter(), r.state
        state.native.check_inputs(list(r.inputs))
        if any(number != r.inputs[0].key_id for number in state.key_ids.values()):
            raise MismatchError("a Galois key belongs to another secret key than the input: use keys made together")
        job = product(state.target, state.plan, state.operands, [words_of(x.limb, state.target) for x in r.inputs])
        run = worked(self.executor(r.device), job, r.progress)
        made = state.native.assemble(list(r.inputs), job.limbs(state.target))
        plan = state.plan
        products = plan.row_blocks * sum(b.diagonals for b in plan.blocks)
        # Row blocks share the babies here, so that rotations are fewer than the plan's.
        return list(made), report_of(r.device, start, run, {"plain_mul": products})

    def storage(self, state: _State) -> int:
        held = [*state.operands.keys.values(), *state.operands.bias]
        return sum(x.nbytes for x in (*held, *(d for row in state.operands.diagonals for d in row)))


def _key(kernel: IntegerMatvecKernel, target: Target, galois: GaloisKeys, element: int, step: int) -> Words:
    if element not in galois:
        raise MissingKeyError(
            f"the product rotates by {step} slots, and the key set has no Galois key for it (element {element}): "
            "generate keys for this plan"
        )
    kernel.context.check_key(galois, element, kernel.limbs)
    return galois_key(target, galois, element)


def _diagonals(target: Target, native: IntegerMatvec, row: int, column: int, block: Block) -> Words:
    basis = target.ext if block.rotates else target.q
    made = np.empty((block.diagonals, len(basis), 1 << target.log_n), np.uint64)
    for index in range(block.diagonals):
        for limb, q in enumerate(basis):
            made[index, limb] = multiplier(target.config, native.diagonal_limb(row, column, index, limb), q)
    return made
