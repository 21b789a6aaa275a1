# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Devices `aesisa:CONFIG` that run programs of the aes machine on the reference interpreter."""

from __future__ import annotations

from ringforge.devices import Device, register_device
from ringforge.hw.machines.aes.config import AesConfig
from ringforge.hw.machines.aes.kernels import register_kernels
from ringforge.hw.machines.aes.runner import Interpreted

NAMES = ("aes-small", "aes-paper-small", "aes-paper64-small")


class InterpretedDevice(Device):
    """The reference interpreter of a configuration."""

    def __init__(self, config: str) -> None:
        self.config = AesConfig.named(config)
        self.name = f"aesisa:{config}"
        self.max_degree, self.max_prime_bits = self.config.max_degree, self.config.max_prime_bits


register_device("aesisa", InterpretedDevice, lambda: [f"aesisa:{name}" for name in NAMES])
register_kernels("aesisa", lambda _: Interpreted())
