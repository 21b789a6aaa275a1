# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Configurations of the matvec accelerator.

>>> machine = MatvecConfig.named("matvec-b")
>>> machine.rows(14), machine.elements, machine.slots(14)
(1024, 14, 12)
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from ringforge.hw.core.config import WORD_BYTES, room
from ringforge.hw.vector.config import VectorConfig

#: Bytes of the widest AXI4 data bus.
AXI_BYTES = 128


class MatvecConfig(VectorConfig):
    """One configuration of the matvec accelerator."""

    room: ClassVar = room("matvec")

    #: Rows of every data bank.
    bank_rows: Annotated[int, Field(ge=1, le=8192)]

    @model_validator(mode="after")
    def _fits_its_ports(self) -> Self:
        if self.row_bytes > AXI_BYTES:
            raise ValueError(
                f"a row is a beat of an AXI4 port, {AXI_BYTES} bytes at most; {self.lanes} lanes need "
                f"{self.row_bytes}: take {AXI_BYTES // WORD_BYTES} lanes or fewer"
            )
        return self

    def facts(self) -> dict[str, str]:
        return {
            **super().facts(),
            "clock": f"{self.clock_hz / 1e6:g} MHz (the paper's; only a vendor's tool can confirm it)",
        }
