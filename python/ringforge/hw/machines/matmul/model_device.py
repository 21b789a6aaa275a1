# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Devices `model:CONFIG`: results by this processor; cycles and traffic of the matmul machine by its replica.

The kernel is compiled as for the machine, so what does not fit is refused alike; the replica times the program without
data. Reports are those that the machine would give, as closely as the replica is validated
(`ringforge hw validate matmul`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ringforge.devices import Execution, Implementation, KeySet, Preparation, Report, register
from ringforge.devices.base import implementation
from ringforge.errors import ParameterError
from ringforge.hw.core.model import ModelDevice
from ringforge.hw.machines.matmul import replica
from ringforge.hw.machines.matmul.job import Program
from ringforge.hw.machines.matmul.kernels import kernel_program
from ringforge.matmul.kernels import HltKernel, MultiplyKernel, PairSumKernel

KIND = "model:matmul"


@dataclass(frozen=True)
class Timed:
    """What a program takes.

    Attributes:
        cycles: from start to end.
        bytes: of memory traffic by entity, packed.
    """

    cycles: int
    bytes: Mapping[str, int]


def timed(program: Program) -> Timed:
    """What a program takes, by the replica."""
    layouts = [job.layout for job in program.jobs]
    made = replica.run(program.config, program.words, entity_of=lambda e, address: layouts[e].entity(address))
    return Timed(made.cycles, {name: t.read + t.written for name, t in made.traffic.items()})


@dataclass(frozen=True)
class _State:
    """The processor's prepared kernel, and what the machine takes for it."""

    cpu: Any
    timed: Timed


class _Modelled(Implementation):
    """A kernel as the processor runs it, timed as the machine.

    Args:
        kernel: its type.
    """

    def __init__(self, kernel: type) -> None:
        found = implementation(kernel, "cpu")
        if found is None:
            raise ParameterError(f"device cpu does not run {kernel.__name__}: import its room first")
        self.cpu = found

    def check(self, device: ModelDevice, kernel: Any) -> None:
        kernel_program(device.config, kernel, KeySet())

    def prepare(self, p: Preparation[Any]) -> _State:
        return _State(self.cpu.prepare(p), timed(kernel_program(p.device.config, p.kernel, KeySet())))

    def run(self, r: Execution[Any, _State]) -> tuple[list[Any], Report]:
        outputs, _ = self.cpu.run(Execution(r.device, r.kernel, r.state.cpu, r.inputs, r.threads, r.progress))
        clock, took = r.device.config.clock_hz, r.state.timed
        return outputs, Report(r.device.name, took.cycles / clock, took.cycles, clock, took.bytes)

    def storage(self, state: _State) -> int:
        return self.cpu.storage(state.cpu)


for _kernel in (HltKernel, PairSumKernel, MultiplyKernel):
    register(_kernel, KIND, _Modelled(_kernel))
