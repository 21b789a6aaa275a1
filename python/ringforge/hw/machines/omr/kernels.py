# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""How the omr machine runs the kernels of detection: as a driver of the card would.

It compiles kernels into programs, puts programs, keys, diagonals and inputs into the machine's memory, starts it, waits
and reads the results. It computes nothing on ciphertexts: what it transforms are diagonals, which are public.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge._native import GaloisKeys
from ringforge._native.bfv import Ciphertext
from ringforge._native.omr import Babies
from ringforge.bfv.kernels import IntegerMatvecKernel
from ringforge.devices import Execution, Implementation, Preparation, Report, register
from ringforge.errors import MismatchError, ShapeError
from ringforge.hw.machines.omr.affine import Diagonals, Giants, babies, check_babies, check_giants, galois_key, giants
from ringforge.hw.machines.omr.config import OmrConfig
from ringforge.hw.machines.omr.layout import Target
from ringforge.hw.machines.omr.matvec_kernel import MatvecOn
from ringforge.hw.machines.omr.runner import Executor
from ringforge.hw.machines.omr.running import Turns, report_of, rotations_of, transforms_of, words_of, worked
from ringforge.omr.kernels import AffineKernel, AffineShape, BabiesKernel

Words = npt.NDArray[np.uint64]


def target_of(config: OmrConfig, shape: AffineShape) -> Target:
    """A shape's ring on a machine.

    Raises:
        ParameterError: the machine cannot hold it.
    """
    p = shape.context.params
    target = Target(config, p.log_n, tuple(p.q[: shape.limbs]), tuple(p.p), p.limbs_per_digit)
    target.check_rotations()
    return target


def _one(inputs: Sequence[Any], kind: type, what: str) -> Any:
    if len(inputs) != 1:
        raise ShapeError(f"{len(inputs)} inputs, where the kernel takes {what}")
    if not isinstance(inputs[0], kind):
        raise MismatchError(f"the kernel takes {what}, not {type(inputs[0]).__name__}")
    return inputs[0]


@dataclass(frozen=True)
class _Babies:
    """A prepared kernel of rotations: the ring, the key in memory's form, and as it was given."""

    target: Target
    key: Words
    galois: GaloisKeys


class BabiesOn(Implementation):
    """Rotations of a key of signals.

    Args:
        executor: of a device.
    """

    def __init__(self, executor: Callable[[Any], Executor]) -> None:
        self.executor = executor

    def check(self, device: Any, kernel: BabiesKernel) -> None:
        check_babies(target_of(device.config, kernel.shape), kernel.shape.layout.rotations - 1)

    def prepare(self, p: Preparation[BabiesKernel]) -> _Babies:
        shape = p.kernel.shape
        target, galois = target_of(p.device.config, shape), p.keys.galois
        element, key = shape.native.baby_element, np.zeros(0, np.uint64)
        if shape.layout.rotations > 1:
            shape.context.check_key(galois, element, shape.limbs)
            key = galois_key(target, galois, element)
        return _Babies(target, key, galois)

    def run(self, r: Execution[BabiesKernel, _Babies]) -> tuple[list[Any], Report]:
        start, shape = time.perf_counter(), r.kernel.shape
        given = _one(r.inputs, Ciphertext, "one encrypted key of signals")
        shape.native.check_babies(given, r.state.galois)
        count = shape.layout.rotations - 1
        job = babies(r.state.target, r.state.key, words_of(given.limb, r.state.target), count)
        run = worked(self.executor(r.device), job, r.progress)
        made = shape.native.assemble_babies(given, job.limbs(r.state.target))
        operations = {**transforms_of(job.program), **rotations_of(count), "plain_mul": 0}
        return [made], report_of(r.device, start, run, operations)

    def storage(self, state: _Babies) -> int:
        return state.key.nbytes


@dataclass(frozen=True)
class _Giants:
    """A prepared affine transform: the ring, what giant steps need, diagonals, and keys as they were given."""

    target: Target
    giants: Giants
    diagonals: Diagonals
    galois: GaloisKeys


class AffineOn(Implementation):
    """The affine transform.

    Args:
        executor: of a device.
    """

    def __init__(self, executor: Callable[[Any], Executor]) -> None:
        self.executor = executor

    def check(self, device: Any, kernel: AffineKernel) -> None:
        shape, layout = kernel.shape, kernel.shape.layout
        giants_of = range(kernel.first, kernel.first + kernel.count)
        counts = [int(layout.terms(g)) for g in giants_of for _ in range(layout.matrices)]
        needs = Giants(None, shape.native.giant_element, shape.outputs, shape.babies)
        check_giants(target_of(device.config, shape), needs, Diagonals(counts, layout.matrices))

    def prepare(self, p: Preparation[AffineKernel]) -> _Giants:
        kernel, shape = p.kernel, p.kernel.shape
        packed = kernel.checked(p.operands)
        target, galois = target_of(p.device.config, shape), p.keys.galois
        element = shape.native.giant_element
        key = None
        if kernel.count > 1:
            shape.context.check_key(galois, element, shape.limbs)
            key = galois_key(target, galois, element)
        diagonals = Diagonals.of(target, packed, shape.context.params.t, shape.layout.matrices)
        return _Giants(target, Giants(key, element, shape.outputs, shape.babies), diagonals, galois)

    def run(self, r: Execution[AffineKernel, _Giants]) -> tuple[list[Any], Report]:
        start, kernel, state = time.perf_counter(), r.kernel, r.state
        given, native = _one(r.inputs, Babies, "rotations of a key"), kernel.shape.native
        native.check_run(given, kernel.first, kernel.count, state.galois)
        rotations = np.stack([words_of(partial(given.limb, at), state.target) for at in range(len(given))])
        job = giants(state.target, state.giants, state.diagonals, rotations)
        run = worked(self.executor(r.device), job, r.progress)
        made = native.assemble(given, kernel.first, kernel.count, job.limbs(state.target))
        count = kernel.shape.outputs * (kernel.count - 1)
        products = kernel.shape.outputs * sum(state.diagonals.terms(g) for g in range(kernel.count))
        # Diagonals were transformed by `prepare`: the machine's own transforms are not all of the kernel's.
        return list(made), report_of(r.device, start, run, {**rotations_of(count), "plain_mul": products})

    def storage(self, state: _Giants) -> int:
        return state.diagonals.nbytes + (state.giants.key.nbytes if state.giants.key is not None else 0)


def register_kernels(kind: str, executor: Callable[[Any], Executor]) -> None:
    """Says how devices of a kind run the kernels; the devices have the attribute `config`."""
    register(BabiesKernel, kind, BabiesOn(executor))
    register(AffineKernel, kind, AffineOn(executor))
    register(IntegerMatvecKernel, kind, MatvecOn(executor))


register_kernels("rtl:omr", Turns)
