# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Devices `model:CONFIG`: results by the reference interpreter; cycles of the streaming accelerator by its replica.

Programs are those that the machine would run, so what does not fit is refused alike.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from ringforge.devices import Progress
from ringforge.hw.machines.psi_wide import replica
from ringforge.hw.machines.psi_wide.config import PORT_BYTES
from ringforge.hw.machines.psi_wide.kernels import register_kernels
from ringforge.hw.machines.psi_wide.layout import Setup
from ringforge.hw.machines.psi_wide.program import BEAT_BYTES, Program
from ringforge.hw.machines.psi_wide.runner import ENTITIES, Interpreted, Memory


class Modelled(Interpreted):
    """The interpreter, timed as the machine."""

    def __init__(self, _: Any = None) -> None:
        pass

    def run(self, setup: Setup, program: Program, memory: Memory, progress: Progress | None = None) -> int | None:
        # What the replica does not time is refused before the work, what the machine refuses by the interpreter.
        replica.check(memory.config, setup.ring.log_n)
        super().run(setup, program, memory, progress)
        timed = replica.run(memory.config, setup.ring.log_n, [g.count for g in setup.gadgets], program)
        moved = dict.fromkeys(ENTITIES, 0)
        starts = [segment.address for segment in memory.dram]
        for i in program.instructions:
            units, beats = replica.size(memory.config, setup.ring.log_n, i)
            if units:
                begin = starts[bisect_right(starts, BEAT_BYTES * i.beat) - 1]
                moved[ENTITIES[memory.entity(begin)]] += units * beats * PORT_BYTES
        moved["program"] = timed.read_bytes + timed.written_bytes - sum(moved.values())
        memory.moved = moved
        return timed.cycles


register_kernels("model:psi_wide", Modelled)
