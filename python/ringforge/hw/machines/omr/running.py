# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What all kernels of the omr machine do: runs that tell how far they are, and reports of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge.devices import Progress, Report
from ringforge.errors import Error
from ringforge.hw.machines.omr.affine import Job
from ringforge.hw.machines.omr.layout import Memory, Target
from ringforge.hw.machines.omr.program import Op, Program
from ringforge.hw.machines.omr.runner import Executor, Run, Simulated

Words = npt.NDArray[np.uint64]


class Turns(Executor):
    """The simulated machine of a device, a program at a time."""

    def __init__(self, device: Any) -> None:
        self.device = device

    def run(self, program: Program, memory: Memory, progress: Callable[[int], None] | None = None) -> Run:
        def told(cycles: int) -> None:
            if self.device.cycles is not None:
                self.device.cycles(cycles)
            if progress is not None:
                progress(cycles)

        with self.device.turn():
            try:
                return Simulated(self.device.simulation()).run(program, memory, told)
            finally:
                self.device.end_waves()


def words_of(limb: Callable[[int, int], Words], target: Target) -> Words:
    """A ciphertext's words, (2, limbs, N), by part and limb."""
    return np.stack([np.stack([limb(part, i) for i in range(target.limbs)]) for part in (0, 1)])


def worked(executor: Executor, job: Job, progress: Progress | None) -> Run:
    """A run of a job that tells how far it is.

    Raises:
        Error: "cancelled", if it is told so.
    """
    if progress is None:
        return executor.run(job.program, job.memory)
    total = max(executor.length(job.program, job.cycles), 1)

    def told(done: int) -> None:
        if progress(min(done / total, 0.99)) is False:
            raise Error("cancelled")

    run = executor.run(job.program, job.memory, told)
    if progress(1.0) is False:
        raise Error("cancelled")
    return run


def report_of(device: Any, start: float, run: Run, operations: Mapping[str, int]) -> Report:
    """What a run took."""
    if run.cycles is None:
        return Report(device.name, time.perf_counter() - start, bytes=run.bytes, operations=operations)
    clock = device.config.clock_hz
    return Report(device.name, run.cycles / clock, run.cycles, clock, run.bytes, operations)


def transforms_of(program: Program) -> dict[str, int]:
    """Transforms that the machine makes, of both directions."""
    done = {Op.NTT: 0, Op.INTT: 0}
    for i in program.instructions:
        if i.op in done:
            done[i.op] += i.ways.bit_count()
    return {"ntt": done[Op.NTT], "intt": done[Op.INTT]}


def rotations_of(count: int) -> dict[str, int]:
    """What so many rotations consist of."""
    return {"mod_up": count, "mod_down": 2 * count, "key_switch": count, "rotation": count}
