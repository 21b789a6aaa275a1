# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What runs jobs: the simulated machine, or the reference interpreter; and how far they are."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import numpy as np

from ringforge.hw.core import registers
from ringforge.hw.machines.aes.config import AesConfig
from ringforge.hw.machines.aes.interpreter import Interpreter
from ringforge.hw.machines.aes.jobs import Job
from ringforge.hw.machines.aes.layout import ENTITIES
from ringforge.hw.machines.aes.program import Program

#: Units whose cycles the machine counts.
BUSY: Final = ("LOAD", "MOVE", "EXEC", "STORE")


@dataclass(frozen=True)
class Run:
    """What a run took.

    Attributes:
        seconds: of the wall clock. cycles: from start to end; None where nothing counts them.
        busy: cycles in which a unit had an instruction. bytes: read and written, by entity.
    """

    seconds: float
    cycles: int | None = None
    busy: Mapping[str, int] = field(default_factory=dict)
    bytes: Mapping[str, int] = field(default_factory=dict)


class Executor(ABC):
    """Runs jobs."""

    @abstractmethod
    def run(self, job: Job, progress: Callable[[float], None] | None = None) -> Run:
        """Works a job off.

        Args:
            progress: called now and then with about the part that is done, below 1; what it raises ends the run.

        Raises:
            HardwareError: it stops with an error.
        """


class Interpreted(Executor):
    """The reference interpreter."""

    def run(self, job: Job, progress: Callable[[float], None] | None = None) -> Run:
        start, count = time.perf_counter(), len(job.program.instructions)

        def told(done: int) -> None:
            if progress is not None:
                progress(min(done / count, 0.99))

        Interpreter(job.target.config, job.memory.dram).run(job.program, told)
        return Run(time.perf_counter() - start)


class Simulated(Executor):
    """The machine's SystemVerilog.

    Args:
        simulation: of the configuration that jobs are for. cycles: called now and then with the cycles so far.
        limits: of `Simulation.run`.
    """

    def __init__(self, simulation: Any, cycles: Callable[[int], None] | None = None, **limits: Any) -> None:
        self.simulation, self.cycles, self.limits = simulation, cycles, limits

    def run(self, job: Job, progress: Callable[[float], None] | None = None) -> Run:
        start = time.perf_counter()
        self.simulation.unmap_all()
        try:
            cycles, busy, moved = self._run(job, progress)
        finally:
            # Keys and results are the caller's: nothing of them stays with the machine.
            self.simulation.unmap_all()
        return Run(time.perf_counter() - start, cycles, busy, moved)

    def _run(self, job: Job, progress: Callable[[float], None] | None) -> tuple[int, dict[str, int], dict[str, int]]:
        sim, memory = self.simulation, job.memory
        sim.clear_traffic()
        sim.map_dram(memory.dram, memory.entities.__getitem__)
        # The program itself is not part of the memory: another run has another one.
        words = job.program.words()
        if words.size:
            rows = np.zeros(-(-words.size // 512) * 512, np.uint64)
            rows[: words.size] = words
            sim.map(memory.end, rows, ENTITIES.index("program"))
        config = job.target.config
        for register, value in setup(config, job.program):
            sim.write(register, value)

        def told(cycles: int) -> None:
            if self.cycles is not None:
                self.cycles(cycles)
            if progress is not None:
                progress(min(cycles / max(job.cycles, 1), 0.99))

        cycles = sim.run(memory.end, progress=told, **self.limits)
        busy = {name: _count(sim, config, f"{name}_CYCLES") for name in BUSY}
        traffic = sim.traffic({name: number for number, name in enumerate(ENTITIES)})
        moved = {name: t.read + t.written for name, t in traffic.items() if t.read + t.written}
        return int(cycles), busy, moved


def setup(config: AesConfig, program: Program) -> list[tuple[int, int]]:
    """Registers to write before a program runs, and their values."""
    entries = _own(config)
    return [(entries["LOG_N"], program.log_n), (entries["INSTRUCTIONS"], len(program.instructions))]


@cache
def _own(config: AesConfig) -> dict[str, int]:
    return {entry.name: entry.address for entry in registers.own(config.room / "registers.json").entries}


def _count(sim: Any, config: AesConfig, name: str) -> int:
    at = registers.counter(list(registers.own(config.room / "registers.json").counters).index(name))
    return int(sim.read(at)) | int(sim.read(at + 4)) << 32
