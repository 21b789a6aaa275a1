# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Devices: where fused kernels run.

A device is handed whole kernels (a matrix times an encrypted vector, a squaring), never single polynomial
operations. `prepare` does once what can be done before inputs arrive; `run` may then be called any number of
times. Every device answers with real results and a report. Applications compute through this interface only.

`cpu` is this processor; `clear` the same kernels without encryption, for tests; `rtl:MACHINE` the SystemVerilog of an
accelerator, simulated: see `ringforge hw --help`.
"""

from __future__ import annotations

from ringforge.devices.base import (
    AccumulateKernel,
    Capabilities,
    Device,
    Handle,
    Keys,
    MatvecKernel,
    MatvecOperands,
    Report,
    SquareKernel,
    SubstitutionKernel,
)
from ringforge.devices.clear import ClearDevice, ClearVector
from ringforge.devices.cpu import CpuDevice
from ringforge.errors import ParameterError

__all__ = [
    "AccumulateKernel",
    "Capabilities",
    "ClearDevice",
    "ClearVector",
    "CpuDevice",
    "Device",
    "Handle",
    "Keys",
    "MatvecKernel",
    "MatvecOperands",
    "Report",
    "SquareKernel",
    "SubstitutionKernel",
    "names",
    "open_device",
]

_DEVICES: dict[str, type[Device]] = {"cpu": CpuDevice, "clear": ClearDevice}
_RTL = "rtl:"


def names() -> list[str]:
    """Names that `open_device` takes."""
    from ringforge.hw.config import configurations

    return [*_DEVICES, *(_RTL + machine for machine in configurations())]


def open_device(name: str = "cpu") -> Device:
    """A device by name.

    Raises:
        ParameterError: there is no such device; the message lists those there are.
    """
    if name in names() and name.startswith(_RTL):
        from ringforge.devices.rtl import RtlDevice

        return RtlDevice(name.removeprefix(_RTL))
    try:
        return _DEVICES[name]()
    except KeyError:
        raise ParameterError(f'there is no device "{name}"; the devices are {", ".join(names())}') from None
