# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A device that runs every kernel as the processor does, and keeps every result in a buffer of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ringforge import bfv, devices, gates, ltv, matmul, matvec, psi
from ringforge.aes import byte_kernels
from ringforge.devices import base
from ringforge.matmul import batch_kernels
from ringforge.omr import kernels as omr
from ringforge.psi import poly

#: Their rooms register the kernels.
ROOMS = (batch_kernels, bfv, byte_kernels, gates, ltv, matmul, matvec, omr, psi, poly)


class Resident(devices.Buffer):
    """A result in the device's memory, which tells what can be told without a download."""

    def __init__(self, held: Any) -> None:
        super().__init__("resident")
        self.held = held

    def __getattr__(self, name: str) -> Any:
        if name in ("level", "scale", "bound", "variance", "error_bound", "key_id"):
            return getattr(self.held, name)
        raise AttributeError(f"the host asks a buffer for its {name}")


class ResidentDevice(devices.Device):
    """Counts what leaves it."""

    name = "resident"
    description = "tests: results stay in buffers"

    def __init__(self) -> None:
        self.runs = self.downloads = 0

    def fetch(self, buffer: Resident) -> Any:
        self.downloads += 1
        return buffer.held


class _Wrapped(devices.Implementation):
    def __init__(self, cpu: devices.Implementation) -> None:
        self.cpu = cpu

    def prepare(self, p: devices.Preparation[Any]) -> Any:
        # Kernels inside of a kernel run on the processor too.
        return self.cpu.prepare(replace(p, device=devices.open_device("cpu")))

    def run(self, r: devices.Execution[Any, Any]) -> tuple[list[Any], devices.Report]:
        here = [x.held if isinstance(x, Resident) else x for x in r.inputs]
        outputs, report = self.cpu.run(replace(r, inputs=here))
        r.device.runs += 1
        return [Resident(x) for x in outputs], devices.Report(
            r.device.name, report.seconds, bytes=report.bytes, operations=report.operations
        )

    def storage(self, state: Any) -> int:
        return self.cpu.storage(state)


devices.register_device("resident", ResidentDevice)
for kernel in base.kernels("cpu"):
    found = base.implementation(kernel, "cpu")
    assert found is not None
    devices.register(kernel, "resident", _Wrapped(found))
