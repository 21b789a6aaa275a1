# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A device `isa:CONFIG` that runs programs of the matmul accelerator on the reference interpreter."""

from __future__ import annotations

from ringforge.devices import Device, register_device
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.machines.matmul.executors import Interpreted
from ringforge.hw.machines.matmul.kernels import register_kernels

NAMES = ("fame-small", "fame-small-montgomery", "fame-s", "fame-m", "fame-l")


class InterpretedDevice(Device):
    """The reference interpreter of a configuration."""

    def __init__(self, config: str) -> None:
        self.config = FameConfig.named(config)
        self.name = f"isa:{config}"
        self.max_degree, self.max_prime_bits = self.config.max_degree, self.config.max_prime_bits


register_device("isa", InterpretedDevice, lambda: [f"isa:{name}" for name in NAMES])
register_kernels("isa", Interpreted())
