# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Devices `model:CONFIG`: results by the reference interpreter, cycles by the replica of the machine's timing.

Programs are those that the machine would run, so what does not fit is refused alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ringforge.hw.machines.aes import replica
from ringforge.hw.machines.aes.jobs import Job
from ringforge.hw.machines.aes.kernels import register_kernels
from ringforge.hw.machines.aes.runner import Interpreted, Run


class Modelled(Interpreted):
    """The interpreter, timed as the machine."""

    def run(self, job: Job, progress: Callable[[float], None] | None = None) -> Run:
        made, timed = super().run(job, progress), replica.run(job.target.config, job.program)
        busy = {unit.name: cycles for unit, cycles in timed.busy.items()}
        return replace(made, cycles=timed.cycles, busy=busy, bytes=replica.traffic(job.program, job.memory))


register_kernels("model:aes", lambda _: Modelled())
