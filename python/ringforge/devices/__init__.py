# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Devices: where fused kernels run.

A device is handed whole kernels (a matrix times an encrypted vector, a level of gates), never single polynomial
operations. `prepare` does once what can be done before inputs arrive; `run` may then be called any number of
times. Every device answers with real results and a report. Applications compute through this interface only.

Kernels are values of the rooms that use them: `ringforge.matvec.kernels`, `matmul.kernels`, `gates.kernels`,
`psi.kernels`. docs/devices.md describes them; docs/adding.md shows how to make a device.

`cpu` is this processor; `clear` the same kernels without encryption, for tests; `rtl:MACHINE` the SystemVerilog of an
accelerator, simulated: see `ringforge hw --help`.
"""

from __future__ import annotations

from ringforge.devices.base import (
    Buffer,
    Capabilities,
    Device,
    Execution,
    Handle,
    Implementation,
    Kernel,
    KeySet,
    Needs,
    Preparation,
    Progress,
    Report,
    register,
)
from ringforge.devices.clear import ClearDevice, ClearVector
from ringforge.devices.cpu import CpuDevice
from ringforge.devices.registry import names, open_device, register_cases, register_device

__all__ = [
    "Buffer",
    "Capabilities",
    "ClearDevice",
    "ClearVector",
    "CpuDevice",
    "Device",
    "Execution",
    "Handle",
    "Implementation",
    "Kernel",
    "KeySet",
    "Needs",
    "Preparation",
    "Progress",
    "Report",
    "names",
    "open_device",
    "register",
    "register_cases",
    "register_device",
]

register_device("cpu", CpuDevice)
register_device("clear", ClearDevice)
