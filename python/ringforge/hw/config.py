# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Configurations of the matvec accelerator, and where the hardware's sources are.

>>> machine = MachineConfig.named("matvec-b")
>>> machine.rows(14), machine.elements, machine.slots(14)
(1024, 14, 12)
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ringforge.errors import FormatError, ParameterError

#: Bytes of one residue in DRAM.
WORD_BYTES = 8
#: Bytes of one instruction.
INSTRUCTION_BYTES = 32
#: Bits per round of the word-wise Montgomery multiplier.
MONTGOMERY_WORD = 18
#: Primes may be this many bits shorter than the machine's words.
MAX_SHIFT = 7


@cache
def sources() -> Path:
    """Folder of the hardware's sources: beside this module in an installed package, `hw/` in a checkout.

    Raises:
        FormatError: neither is there; the message names both places.
    """
    installed, checkout = Path(__file__).parent / "sources", Path(__file__).parents[3] / "hw"
    for place in (installed, checkout):
        if (place / "matvec" / "isa.json").is_file():
            return place
    raise FormatError(
        f"the hardware's sources are neither in {installed} nor in {checkout}: run `make build` in a checkout again"
    )


def configurations() -> list[str]:
    """Names of the machines that are described."""
    return sorted(p.stem for p in (sources() / "matvec" / "config").glob("*.json"))


class MachineConfig(BaseModel):
    """One configuration of the matvec accelerator: groups of processing elements with lanes and banks."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    name: str
    about: str
    #: Groups; a group works on one partial sum at a time.
    groups: Annotated[int, Field(ge=1, le=16)]
    #: Processing elements of a group; limb i of every polynomial lives on element i mod pes.
    pes: Annotated[int, Field(ge=1, le=32)]
    #: Residues of a row: what a unit processes per cycle.
    lanes: Annotated[int, Field(ge=4, le=64)]
    #: Data banks of an element, next to the twiddle bank.
    banks: Annotated[int, Field(ge=2, le=7)]
    bank_rows: Annotated[int, Field(ge=1, le=8192)]
    twiddle_rows: Annotated[int, Field(ge=1, le=8192)]
    word_bits: Annotated[int, Field(ge=32, le=62)]
    multiplier: Literal["barrett", "montgomery"]
    min_log_n: Annotated[int, Field(ge=4, le=17)]
    max_log_n: Annotated[int, Field(ge=4, le=17)]
    #: Rows that an element's stream buffer holds.
    stream_rows: int
    #: Rows of one DRAM burst.
    burst_rows: int
    #: DRAM ports, each one row wide.
    ports: Annotated[int, Field(ge=1)]
    clock_hz: Annotated[float, Field(gt=0)]
    #: Cycles from a read request to its first data.
    dram_latency: int
    #: Of all ports together.
    dram_bytes_per_second: Annotated[float, Field(gt=0)]
    dram_bytes: Annotated[int, Field(gt=0)]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.lanes & (self.lanes - 1):
            raise ValueError("lanes must be a power of two")
        if self.ports % self.groups:
            raise ValueError("every group needs the same number of ports")
        if min(self.bank_rows, self.twiddle_rows) < self.rows(self.max_log_n):
            raise ValueError("a bank is smaller than the largest polynomial")
        return self

    @classmethod
    def named(cls, name: str) -> MachineConfig:
        """A described machine.

        Raises:
            ParameterError: no such machine; the message lists those there are.
        """
        if name not in configurations():
            raise ParameterError(f'no machine is called "{name}"; there are {", ".join(configurations())}')
        return cls.load(sources() / "matvec" / "config" / f"{name}.json")

    @classmethod
    def load(cls, path: str | Path) -> MachineConfig:
        """Reads a configuration file.

        Raises:
            FormatError: it is no valid configuration; the message says where.
        """
        path = Path(path)
        try:
            return cls.model_validate(json.loads(path.read_bytes()))
        except ValidationError as e:
            first = e.errors(include_url=False, include_context=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"])) or "the file"
            raise FormatError(f"{path.name} is not a machine configuration: {where}: {first['msg']}") from None
        except (UnicodeDecodeError, json.JSONDecodeError) as e:
            raise FormatError(f"{path.name} is not a machine configuration: {e}") from None

    # ---- sizes ----

    @property
    def elements(self) -> int:
        """Processing elements of all groups."""
        return self.groups * self.pes

    @property
    def row_bytes(self) -> int:
        """Bytes of one row in DRAM: what a port moves per cycle."""
        return self.lanes * WORD_BYTES

    @property
    def row_bits(self) -> int:
        """Bits of one row in a bank."""
        return self.lanes * self.word_bits

    @property
    def scratchpad_bytes(self) -> int:
        """Bytes of one element's data banks, words of 8 bytes."""
        return self.banks * self.bank_rows * self.row_bytes

    def rows(self, log_n: int) -> int:
        """Rows of a polynomial of degree 2^log_n."""
        return (1 << log_n) // self.lanes

    def polynomial_bytes(self, log_n: int) -> int:
        """Bytes of a polynomial in DRAM."""
        return WORD_BYTES << log_n

    def bank_slots(self, log_n: int) -> int:
        """Polynomials that one bank holds."""
        return self.bank_rows // self.rows(log_n)

    def slots(self, log_n: int) -> int:
        """Polynomials that the data banks of one element hold."""
        return self.banks * self.bank_slots(log_n)

    def twiddle_slots(self, log_n: int) -> int:
        """Twiddle tables that one element holds."""
        return self.twiddle_rows // self.rows(log_n)

    # ---- numbers ----

    @property
    def montgomery(self) -> bool:
        return self.multiplier == "montgomery"

    @property
    def montgomery_bits(self) -> int:
        """Bits r of the Montgomery radix R = 2^r."""
        return -(-self.word_bits // MONTGOMERY_WORD) * MONTGOMERY_WORD

    def shift(self, prime_bits: int) -> int:
        """Bits by which residues are shifted left inside the machine.

        Raises:
            ParameterError: primes of this length do not fit the machine's words.
        """
        if not self.word_bits - MAX_SHIFT <= prime_bits <= self.word_bits:
            raise ParameterError(
                f"machine {self.name} takes primes of {self.word_bits - MAX_SHIFT} to {self.word_bits} bits, "
                f"these have {prime_bits}"
            )
        return 0 if self.montgomery else self.word_bits - prime_bits

    # ---- ports ----

    @property
    def group_ports(self) -> int:
        """DRAM ports of one group."""
        return self.ports // self.groups

    def port_of(self, group: int, pe: int) -> int:
        """DRAM port of element `pe` of a group."""
        return group * self.group_ports + pe % self.group_ports

    @property
    def dram_bytes_per_cycle(self) -> float:
        """What all ports together move per cycle, at most."""
        return self.dram_bytes_per_second / self.clock_hz
