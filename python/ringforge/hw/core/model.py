# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Devices `model:CONFIG`: results computed here, cycles and traffic by the model of a machine's timing.

Which kernels, and how, the module says that a machine's descriptor names as its model: it registers implementations for
the kind `model:NAME` of its machine.
"""

from __future__ import annotations

from typing import Any

from ringforge.devices import Device, register_device
from ringforge.errors import ParameterError
from ringforge.hw.core import machine as descriptors


class ModelDevice(Device):
    """A configuration of a machine by its model.

    Args:
        config: name of a configuration, or of a file FILE.json with one.

    Raises:
        ParameterError: no such configuration, or nothing models its machine. FormatError: the file holds none.
        HardwareError: the machine's model cannot be imported.
    """

    def __init__(self, config: str) -> None:
        read = descriptors.described(config) if config.endswith(".json") else None
        self.machine = descriptors.of_configuration(config) if read is None else descriptors.of(read)
        if not self.machine.model:
            raise ParameterError(f"nothing models machine {self.machine.name}: take device rtl:{config}")
        self.machine.load(self.machine.model)
        #: Of the machine's own type.
        self.config: Any = self.machine.config.named(config) if read is None else read
        self.name = f"model:{self.config.name}"
        self.max_degree, self.max_prime_bits = self.config.max_degree, self.config.max_prime_bits

    @property
    def kind(self) -> str:
        """Devices of one machine are of one kind, `model:NAME`."""
        return f"model:{self.machine.name}"

    @property
    def description(self) -> str:
        return f"{self.config.about}; {self.config.shape}; computed here, timed by the model"


def _names() -> list[str]:
    return [f"model:{name}" for m in descriptors.machines() if m.model for name in m.config.names()]


register_device("model", ModelDevice, _names, files=(".json",))
