# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The toy machine's configuration and descriptor: all that the flow is told."""

from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from ringforge.hw.core.config import WORD_BYTES, MachineConfig
from ringforge.hw.core.machine import Machine

ROOM = Path(__file__).parent


class ToyConfig(MachineConfig):
    """One configuration: as many residues a cycle as a beat of its port holds."""

    room: ClassVar = ROOM

    lanes: Annotated[int, Field(ge=1, le=16)]
    word_bits: Annotated[int, Field(ge=4, le=62)]
    #: Beats of the longest burst.
    burst_beats: Annotated[int, Field(ge=1, le=256)]

    def parameters(self, *, twin):  # noqa: ARG002 - it has no multipliers
        return {
            "Lanes": self.lanes,
            "WordBits": self.word_bits,
            "BurstBeats": self.burst_beats,
            "Ports": self.ports,
        }

    @property
    def port_bytes(self):
        return WORD_BYTES * self.lanes


MACHINE = Machine(
    name="toy",
    about="an example: adds two polynomials",
    room=ROOM,
    config=ToyConfig,
    top="toy_top",
    identity=int.from_bytes(b"RFTY", "little"),
    default="toy-8",
    errors={1: "no beats, or an address that is no multiple of 4 KiB"},
    commands={"run": "toy_machine.driver:run_command"},
)
