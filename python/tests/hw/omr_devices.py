# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Devices `omrisa:CONFIG` that run programs of the omr machine on the reference interpreter."""

from __future__ import annotations

from ringforge.devices import Device, register_device
from ringforge.hw.machines.omr.config import OmrConfig
from ringforge.hw.machines.omr.kernels import register_kernels
from ringforge.hw.machines.omr.runner import Interpreted

NAMES = ("omr-small", "omr-small-wide")


class InterpretedDevice(Device):
    """The reference interpreter of a configuration."""

    def __init__(self, config: str) -> None:
        self.config = OmrConfig.named(config)
        self.name = f"omrisa:{config}"
        self.max_degree, self.max_prime_bits = self.config.max_degree, self.config.max_prime_bits


register_device("omrisa", InterpretedDevice, lambda: [f"omrisa:{name}" for name in NAMES])
register_kernels("omrisa", lambda _: Interpreted())
