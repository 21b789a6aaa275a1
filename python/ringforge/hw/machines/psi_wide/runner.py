# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What runs programs with their memory: the simulated machine, or the reference interpreter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from ringforge.devices import Progress
from ringforge.errors import Error
from ringforge.hw.core.config import WORD_BYTES
from ringforge.hw.core.dram import ALIGNMENT, Dram
from ringforge.hw.core.registers import Register
from ringforge.hw.core.simulator import Simulation
from ringforge.hw.machines.psi_wide.config import WideConfig
from ringforge.hw.machines.psi_wide.interpreter import Interpreter
from ringforge.hw.machines.psi_wide.layout import Setup, Words, tables
from ringforge.hw.machines.psi_wide.program import BEAT_BYTES, Program, Table

#: What lies in memory, as the simulated one counts its bytes.
ENTITIES: Final = ("work", "program", "tables", "keys", "input", "table", "output")


@dataclass
class Memory:
    """A machine's memory, filled from its beginning on.

    Attributes:
        config: the machine.
        dram: what lies where.
        end: address behind what was placed last.
        moved: bytes that the last run read and wrote, by what they are of; empty where nothing counts them.
    """

    config: WideConfig
    dram: Dram = field(init=False)
    end: int = ALIGNMENT
    moved: dict[str, int] = field(default_factory=dict)
    _entities: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.dram = Dram(self.config.dram_bytes)

    def put(self, words: Words, entity: str = "work", *, writable: bool = False) -> int:
        """Places an array, without a copy, and gives its address.

        Args:
            entity: what it is, one of `ENTITIES`.

        Raises:
            ParameterError: it does not fit.
        """
        address = self.end
        self.dram.map(address, words, writable=writable)
        self._entities[address] = entity
        self._advance(words.size * WORD_BYTES)
        return address

    def reserve(self, size: int) -> int:
        """Places `size` bytes that are written later.

        Raises:
            ParameterError: they do not fit.
        """
        address = self.end
        self.dram.reserve(address, size)
        self._advance(size)
        return address

    def entity(self, address: int) -> int:
        """Number of what begins at an address."""
        return ENTITIES.index(self._entities.get(address, "work"))

    def _advance(self, size: int) -> None:
        self.end = -(-(self.end + size) // ALIGNMENT) * ALIGNMENT


def load_tables(program: Program, memory: Memory, setup: Setup) -> None:
    """Places a ring's tables, and begins a program with loading them."""
    for which, words in tables(memory.config, setup.ring).items():
        program.table(Table(which), memory.put(words, "tables"))


class Executor(ABC):
    """Runs programs."""

    @abstractmethod
    def run(self, setup: Setup, program: Program, memory: Memory, progress: Progress | None = None) -> int | None:
        """Works a program off and gives its cycles; None where nothing counts them.

        Args:
            progress: called with the fraction of what is to be read from memory; False cancels.

        Raises:
            ParameterError: the machine cannot hold the setup.
            Error: "cancelled". HardwareError: it stops with an error.
        """


class Interpreted(Executor):
    """The reference interpreter."""

    def run(self, setup: Setup, program: Program, memory: Memory, progress: Progress | None = None) -> int | None:
        Interpreter(memory.config, setup, memory.dram).run(program)
        if progress is not None:
            progress(1.0)
        return None


class Simulated(Executor):
    """The machine's SystemVerilog.

    Args:
        simulation: of the configuration that memory is for.
        cycles: called now and then with the cycles so far.
        limits: of `Simulation.run`.
    """

    def __init__(
        self, simulation: Simulation[WideConfig], *, cycles: Callable[[int], None] | None = None, **limits: Any
    ) -> None:
        self.simulation, self.cycles, self.limits = simulation, cycles, limits

    def run(self, setup: Setup, program: Program, memory: Memory, progress: Progress | None = None) -> int | None:
        words, sim = program.words(), self.simulation
        # The program itself is not part of the memory: another run has another one.
        address = memory.end
        writes = setup.writes(memory.config, len(program.instructions))
        sim.unmap_all()
        sim.clear_traffic()
        sim.map_dram(memory.dram, memory.entity)
        if words.size:
            sim.map(address, words, ENTITIES.index("program"))
        for register, value in writes:
            sim.write(register, value)

        def tell(cycles: int) -> None:
            if self.cycles is not None:
                self.cycles(cycles)
            if progress is None:
                return
            moved = (sim.read(Register.READ_BEATS) | sim.read(Register.READ_BEATS_HIGH) << 32) * BEAT_BYTES
            if progress(min(1.0, moved / whole)) is False:
                raise Error("cancelled")

        whole = program.read_bytes(setup.ring.log_n, memory.config.word_bytes)
        cycles = sim.run(address, progress=tell, **self.limits)
        traffic = sim.traffic({name: n for n, name in enumerate(ENTITIES)})
        memory.moved = {name: t.read + t.written for name, t in traffic.items()}
        if progress is not None:
            progress(1.0)
        return cycles
