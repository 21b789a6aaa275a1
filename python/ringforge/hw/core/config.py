# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What the configurations of all machines have in common: a name, a clock, memory behind ports."""

from __future__ import annotations

import json
from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ringforge.errors import FormatError, ParameterError
from ringforge.hw.core.sources import sources
from ringforge.unique import once_each

#: Bytes of one residue in DRAM.
WORD_BYTES = 8


@dataclass(frozen=True)
class MemoryPorts:
    """A memory behind ports of a machine, which follow those of the memories before it.

    Attributes:
        ports: how many it has.
        latency: cycles from a read request to its first data.
        bytes_per_second: of its ports together.
        kind: as `MachineConfig.memory`.
        channels: of a kind with banks; 0: as many as the kind has, or the rate has room for.
    """

    ports: int
    latency: int
    bytes_per_second: float
    kind: str
    channels: int = 0


class MachineConfig(BaseModel):
    """One configuration of a machine: a file in its room's folder `config`, the only place where its sizes stand."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    #: Folder of the machine that such files describe.
    room: ClassVar[Path]

    name: str
    about: str
    #: DRAM ports.
    ports: Annotated[int, Field(ge=1, le=64)]
    clock_hz: Annotated[float, Field(gt=0)]
    #: Cycles from a read request to its first data.
    dram_latency: Annotated[int, Field(ge=1, le=10_000)]
    #: Of all ports together.
    dram_bytes_per_second: Annotated[float, Field(gt=0)]
    dram_bytes: Annotated[int, Field(gt=0)]
    #: Kind of memory that is simulated: with latency and rate as above, or with banks (`ringforge.hw.core.memory`).
    memory: Literal["simple", "ddr4-2400", "hbm2"] = "simple"

    @classmethod
    def names(cls) -> list[str]:
        """Names of the configurations that are described."""
        return sorted(p.stem for p in (cls.room / "config").glob("*.json"))

    @classmethod
    def named(cls, name: str) -> Self:
        """A described configuration.

        Raises:
            ParameterError: there is none of this name; the message lists those there are.
        """
        if name not in cls.names():
            raise ParameterError(f'no machine is called "{name}"; there are {", ".join(cls.names())}')
        return cls.load(cls.room / "config" / f"{name}.json")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Reads a configuration file.

        Raises:
            FormatError: it is no valid configuration; the message says where.
        """
        path = Path(path)
        try:
            return cls.model_validate(json.loads(path.read_bytes(), object_pairs_hook=once_each))
        except ValidationError as e:
            first = e.errors(include_url=False, include_context=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"])) or "the file"
            raise FormatError(f"{path.name} is not a machine configuration: {where}: {first['msg']}") from None
        except ValueError as e:
            raise FormatError(f"{path.name} is not a machine configuration: {e}") from None

    @abstractmethod
    def parameters(self, *, twin: bool) -> dict[str, int]:
        """Parameters of the top module. `twin`: arithmetic cells written with a plain `*`, for simulation."""

    @property
    @abstractmethod
    def port_bytes(self) -> int:
        """Bytes that a DRAM port moves per cycle."""

    @property
    def ports_to_far(self) -> int:
        """How many ports, the last ones, are to a memory of their own behind the near one."""
        return 0

    def memories(self) -> list[MemoryPorts]:
        """The memories behind the ports, in the ports' order."""
        return [MemoryPorts(self.ports, self.dram_latency, self.dram_bytes_per_second, self.memory)]

    @property
    def max_degree(self) -> int | None:
        """Largest ring degree that it takes; None: it says itself what it takes."""
        return None

    @property
    def max_prime_bits(self) -> int | None:
        """Bits of the widest prime that it takes; None: it says itself what it takes."""
        return None

    @property
    def shape(self) -> str:
        """Its sizes in a few words; "" if its description says enough."""
        return ""

    def facts(self) -> dict[str, str]:
        """What the page about the machine says of it, by what it is said of."""
        return {
            "machine": f"{self.name}: {self.about}",
            "DRAM": f"{self.ports} ports of {self.port_bytes} bytes a cycle, {self.dram_bytes_per_second / 1e9:g} GB/s "
            f"together, {self.dram_latency} cycles of latency",
            "clock": f"{self.clock_hz / 1e6:g} MHz (only a vendor's tool can confirm it)",
        }

    @property
    def dram_bytes_per_cycle(self) -> float:
        """What all ports together move per cycle, at most."""
        return self.dram_bytes_per_second / self.clock_hz


def room(name: str) -> Path:
    """Folder of one of our machines: `hw/NAME`."""
    return sources() / name
