# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Devices `model:CONFIG`: results by the reference interpreter; cycles of the published pipeline by its replica.

Jobs are those that the machine would run, so what does not fit is refused alike.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ringforge.hw.machines.psi import replica
from ringforge.hw.machines.psi.executors import Interpreted, Run
from ringforge.hw.machines.psi.job import Job
from ringforge.hw.machines.psi.kernels import register_kernels


class Modelled(Interpreted):
    """The interpreter, timed as the machine. A polled run is timed as if its commands came from a queue."""

    def run(self, device: Any, job: Job) -> Run:
        made, timed = super().run(device, job), replica.run(job)
        # The table comes with the queue; RLWEs that are read are the rest of what their port brings.
        inputs = sum(piece.words.nbytes for piece in job.pieces if piece.entity == "input")
        moved = {
            "program": timed.read_bytes - inputs,
            "input": inputs,
            "output": timed.written_bytes,
            "keys": timed.key_bytes,
        }
        return replace(made, cycles=timed.cycles, bytes=moved)


register_kernels("model:psi", Modelled())
