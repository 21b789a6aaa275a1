# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Devices: where fused kernels run.

A device is handed whole kernels (a matrix times an encrypted vector, a squaring), never single polynomial
operations. `prepare` does once what can be done before inputs arrive; `run` may then be called any number of
times. Every device answers with real results and a report. Applications compute through this interface only.
"""

from __future__ import annotations

from ringforge.devices.base import (
    Capabilities,
    Device,
    Handle,
    Keys,
    MatvecKernel,
    MatvecOperands,
    Report,
    SquareKernel,
)
from ringforge.devices.clear import ClearDevice, ClearVector
from ringforge.devices.cpu import CpuDevice
from ringforge.errors import ParameterError

__all__ = [
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
    "names",
    "open_device",
]

_DEVICES: dict[str, type[Device]] = {"cpu": CpuDevice, "clear": ClearDevice}


def names() -> list[str]:
    """Names that `open_device` takes."""
    return list(_DEVICES)


def open_device(name: str = "cpu") -> Device:
    """A device by name.

    Raises:
        ParameterError: there is no such device; the message lists those there are.
    """
    try:
        return _DEVICES[name]()
    except KeyError:
        raise ParameterError(f'there is no device "{name}"; the devices are {", ".join(names())}') from None
