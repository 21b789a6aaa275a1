# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What runs programs with their memory: the simulated machine, or the reference interpreter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

from ringforge.hw.core.config import WORD_BYTES
from ringforge.hw.core.dram import ALIGNMENT, Dram
from ringforge.hw.core.simulator import Simulation
from ringforge.hw.machines.psi_wide.config import WideConfig
from ringforge.hw.machines.psi_wide.interpreter import Interpreter
from ringforge.hw.machines.psi_wide.layout import Setup, Words, tables
from ringforge.hw.machines.psi_wide.program import Program, Table


@dataclass
class Memory:
    """A machine's memory, filled from its beginning on.

    Attributes:
        config: the machine.
        dram: what lies where.
        end: address behind what was placed last.
    """

    config: WideConfig
    dram: Dram = field(init=False)
    end: int = ALIGNMENT

    def __post_init__(self) -> None:
        self.dram = Dram(self.config.dram_bytes)

    def put(self, words: Words, *, writable: bool = False) -> int:
        """Places an array, without a copy, and gives its address.

        Raises:
            ParameterError: it does not fit.
        """
        address = self.end
        self.dram.map(address, words, writable=writable)
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

    def _advance(self, size: int) -> None:
        self.end = -(-(self.end + size) // ALIGNMENT) * ALIGNMENT


def load_tables(program: Program, memory: Memory, setup: Setup) -> None:
    """Places a ring's tables, and begins a program with loading them."""
    for which, words in tables(memory.config, setup.ring).items():
        program.table(Table(which), memory.put(words))


class Executor(ABC):
    """Runs programs."""

    @abstractmethod
    def run(self, setup: Setup, program: Program, memory: Memory) -> int | None:
        """Works a program off and gives its cycles; None where nothing counts them.

        Raises:
            ParameterError: the machine cannot hold the setup.
            HardwareError: it stops with an error.
        """


class Interpreted(Executor):
    """The reference interpreter."""

    def run(self, setup: Setup, program: Program, memory: Memory) -> int | None:
        Interpreter(memory.config, setup, memory.dram).run(program)
        return None


class Simulated(Executor):
    """The machine's SystemVerilog.

    Args:
        simulation: of the configuration that memory is for.
        limits: of `Simulation.run`.
    """

    def __init__(self, simulation: Simulation[WideConfig], **limits: Any) -> None:
        self.simulation, self.limits = simulation, limits

    def run(self, setup: Setup, program: Program, memory: Memory) -> int | None:
        words = program.words()
        # The program itself is not part of the memory: another run has another one.
        address = memory.end
        writes = setup.writes(memory.config, len(program.instructions))
        self.simulation.unmap_all()
        self.simulation.map_dram(memory.dram)
        if words.size:
            self.simulation.map(address, words)
        for register, value in writes:
            self.simulation.write(register, value)
        return self.simulation.run(address, **self.limits)
