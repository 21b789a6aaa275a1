# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Devices `rtl:CONFIG`: a machine's SystemVerilog, simulated by Verilator, with what it runs from its descriptor.

Which kernels a machine runs, and how, the module says that its descriptor names: it registers implementations for the
kind `rtl:NAME` of its machine.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ringforge.devices import Device, register_device
from ringforge.hw.core import machine as descriptors
from ringforge.hw.core.config import MachineConfig
from ringforge.hw.core.simulator import Simulation


class RtlDevice(Device):
    """A simulated accelerator card.

    Runs of several threads take turns; a process that was forked off has a simulation of its own.

    Args:
        config: name of a configuration of any machine, or of a file FILE.json with one, or a configuration.
        options: passes of the machine's compiler, as its room says; None: its own choice.
        waves: file for waveforms of the next run.
        cycles: called now and then with the cycles so far, while the machine runs.

    Raises:
        ParameterError: no such configuration. FormatError: the file holds none.
        HardwareError: the machine's kernels cannot be imported.
    """

    def __init__(
        self,
        config: str | MachineConfig,
        *,
        options: Any = None,
        waves: str | Path | None = None,
        cycles: Callable[[int], None] | None = None,
    ) -> None:
        if isinstance(config, str) and config.endswith(".json"):
            config = descriptors.described(config)
        if isinstance(config, str):
            self.machine = descriptors.of_configuration(config)
        else:
            self.machine = descriptors.of(config)
        #: Of the machine's own type.
        self.config: Any = self.machine.config.named(config) if isinstance(config, str) else config
        if self.machine.kernels:
            self.machine.load(self.machine.kernels)
        self.name = f"rtl:{self.config.name}"
        self.max_degree = self.config.max_degree
        self.max_prime_bits = self.config.max_prime_bits
        self.options = options
        self.waves = waves
        self.cycles = cycles
        self._simulation: Simulation[Any] | None = None
        self._process, self._lock = os.getpid(), threading.Lock()

    @property
    def kind(self) -> str:
        """Devices of one machine are of one kind, `rtl:NAME`."""
        return f"rtl:{self.machine.name}"

    @property
    def description(self) -> str:
        return ", ".join((f"{self.config.about}; {self.config.shape}".removesuffix("; "), "simulated"))

    def turn(self) -> threading.Lock:
        """Held by the run that has the machine."""
        if self._process != os.getpid():  # what a thread of the parent held is held by nobody here
            self._process, self._lock = os.getpid(), threading.Lock()
        return self._lock

    def simulation(self) -> Simulation[Any]:
        """The running machine; its first use compiles it.

        Raises:
            HardwareError: it cannot be built.
        """
        if self._simulation is None or not self._simulation.here:
            self._simulation = Simulation(self.config, waves=self.waves)
        return self._simulation

    def end_waves(self) -> None:
        """Writes the rest of the waveforms, if there are any, and ends the simulation that makes them."""
        if self.waves is not None and self._simulation is not None:
            self._simulation.close()
            self._simulation = None


def _names() -> list[str]:
    return [f"rtl:{name}" for name in descriptors.configurations()]


register_device("rtl", RtlDevice, _names, options=("waves",), files=(".json",))
