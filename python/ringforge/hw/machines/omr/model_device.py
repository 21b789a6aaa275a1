# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Devices `model:CONFIG`: results by the reference interpreter, cycles by the replica of the machine's timing.

Programs are those that the machine would run, so what does not fit is refused alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ringforge.hw.machines.omr import replica
from ringforge.hw.machines.omr.kernels import register_kernels
from ringforge.hw.machines.omr.layout import Memory
from ringforge.hw.machines.omr.program import Program
from ringforge.hw.machines.omr.runner import BUSY, Interpreted, Run


class Modelled(Interpreted):
    """The interpreter, timed as the machine."""

    def run(self, program: Program, memory: Memory, progress: Callable[[int], None] | None = None) -> Run:
        made, timed = super().run(program, memory, progress), replica.run(memory.config, program)
        busy = {unit.name: cycles for unit, cycles in timed.busy.items() if unit.name in BUSY}
        moved = replica.traffic(program, memory)
        return replace(made, cycles=timed.cycles, busy=busy, bytes=moved)


register_kernels("model:omr", lambda _: Modelled())
