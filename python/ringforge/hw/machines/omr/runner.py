# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What runs programs with their memory: the simulated machine, or the reference interpreter."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import numpy as np

from ringforge.hw.core import registers
from ringforge.hw.machines.omr.config import OmrConfig
from ringforge.hw.machines.omr.interpreter import Interpreter
from ringforge.hw.machines.omr.layout import ENTITIES, Memory
from ringforge.hw.machines.omr.program import Program

#: Units whose cycles the machine counts, and their registers.
BUSY: Final = ("XFORM", "CONV", "KMAC", "SUM")


@dataclass(frozen=True)
class Run:
    """What a run took.

    Attributes:
        seconds: of the wall clock. cycles: from start to end; None where nothing counts them.
        busy: cycles in which a unit was at work. bytes: read and written, by entity.
    """

    seconds: float
    cycles: int | None = None
    busy: Mapping[str, int] = field(default_factory=dict)
    bytes: Mapping[str, int] = field(default_factory=dict)


class Executor(ABC):
    """Runs programs."""

    @abstractmethod
    def run(self, program: Program, memory: Memory, progress: Callable[[int], None] | None = None) -> Run:
        """Works a program off.

        Args:
            progress: called now and then with what is done, of `length`; what it raises ends the run.

        Raises:
            HardwareError: it stops with an error.
        """

    def length(self, program: Program, cycles: int) -> int:  # noqa: ARG002
        """What `progress` is told at the end of a run that should take so many cycles: these, about."""
        return cycles


class Interpreted(Executor):
    """The reference interpreter."""

    def length(self, program: Program, cycles: int) -> int:  # noqa: ARG002
        """Instructions."""
        return len(program.instructions)

    def run(self, program: Program, memory: Memory, progress: Callable[[int], None] | None = None) -> Run:
        start = time.perf_counter()
        Interpreter(memory.config, memory.dram).run(program, progress)
        return Run(time.perf_counter() - start)


class Simulated(Executor):
    """The machine's SystemVerilog.

    Args:
        simulation: of the configuration that memory is for. limits: of `Simulation.run`.
    """

    def __init__(self, simulation: Any, **limits: Any) -> None:
        self.simulation, self.limits = simulation, limits

    def run(self, program: Program, memory: Memory, progress: Callable[[int], None] | None = None) -> Run:
        start, sim, words = time.perf_counter(), self.simulation, program.words()
        sim.unmap_all()
        sim.clear_traffic()
        sim.map_dram(memory.dram, memory.entities.__getitem__)
        # The program itself is not part of the memory: another run has another one.
        if words.size:
            rows = np.zeros(-(-words.size // 512) * 512, np.uint64)
            rows[: words.size] = words
            sim.map(memory.end, rows, ENTITIES.index("program"))
        for register, value in setup(memory.config, program):
            sim.write(register, value)
        cycles = sim.run(memory.end, progress=progress, **self.limits)
        busy = {name: _count(sim, memory.config, f"{name}_CYCLES") for name in BUSY}
        traffic = sim.traffic({name: number for number, name in enumerate(ENTITIES)})
        moved = {name: t.read + t.written for name, t in traffic.items() if t.read + t.written}
        return Run(time.perf_counter() - start, cycles, busy, moved)


def setup(config: OmrConfig, program: Program) -> list[tuple[int, int]]:
    """Registers to write before a program runs, and their values."""
    entries, s = _own(config), program.sums
    found = [(entries["LOG_N"], program.log_n), (entries["INSTRUCTIONS"], len(program.instructions))]
    strides = {
        "SUM_CT_COL": s.ct_col, "SUM_CT_TERM": s.ct_term, "SUM_DIAG_ROW": s.diag_row, "SUM_DIAG_TERM": s.diag_term,
        "SUM_OUT_ROW": s.out_row, "SUM_OUT_COL": s.out_col,
    }  # fmt: skip
    for name, value in strides.items():
        found += [(entries[name], value & 0xFFFFFFFF), (entries[f"{name}_HIGH"], value >> 32)]
    return found


@cache
def _own(config: OmrConfig) -> dict[str, int]:
    return {entry.name: entry.address for entry in registers.own(config.room / "registers.json").entries}


def _count(sim: Any, config: OmrConfig, name: str) -> int:
    at = registers.counter(list(registers.own(config.room / "registers.json").counters).index(name))
    return int(sim.read(at)) | int(sim.read(at + 4)) << 32
