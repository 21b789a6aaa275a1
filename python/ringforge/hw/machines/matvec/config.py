# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Configurations of the matvec accelerator.

>>> machine = MatvecConfig.named("matvec-b")
>>> machine.rows(14), machine.elements, machine.slots(14)
(1024, 14, 12)
"""

from __future__ import annotations

from typing import ClassVar

from ringforge.hw.core.config import room
from ringforge.hw.vector.config import VectorConfig


class MatvecConfig(VectorConfig):
    """One configuration of the matvec accelerator."""

    room: ClassVar = room("matvec")

    def facts(self) -> dict[str, str]:
        return {
            **super().facts(),
            "clock": f"{self.clock_hz / 1e6:g} MHz (the paper's; only a vendor's tool can confirm it)",
        }
