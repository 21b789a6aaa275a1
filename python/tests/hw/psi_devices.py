# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Simulated FHEW accelerators that share their builds with other tests of the machine."""

from __future__ import annotations

from typing import Any

from ringforge.hw.core.device import RtlDevice
from ringforge.hw.core.simulator import Simulation


class QuickDevice(RtlDevice):
    """`rtl:CONFIG` of a build that compiles quickly and runs slowly."""

    def simulation(self) -> Simulation[Any]:
        if self._simulation is None or not self._simulation.here:
            self._simulation = Simulation(self.config, optimise="-O1", waves=self.waves)
        return self._simulation
