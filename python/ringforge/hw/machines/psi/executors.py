# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What runs jobs of the FHEW accelerator: the simulated machine, or the reference interpreter."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from ringforge.errors import HardwareError
from ringforge.hw.core.dram import Dram
from ringforge.hw.core.registers import Register
from ringforge.hw.core.simulator import Simulation
from ringforge.hw.core.small_ring import Words
from ringforge.hw.machines.psi.interpreter import Interpreter, execute_all
from ringforge.hw.machines.psi.job import ENTITIES, Job
from ringforge.hw.machines.psi.layout import ciphertexts
from ringforge.hw.machines.psi.program import Code, Command
from ringforge.hw.machines.psi.settings import addresses

#: Bit of FIFO_STATE: a command waits, so that no other may be written.
_COMMAND: Final = 1 << 10
#: Cycles between looks at FIFO_STATE while a command waits, and after which to give up.
_LOOK: Final = 16
_PATIENCE: Final = 10_000_000
#: Registers that commands are written to.
_WRITTEN: Final = {Code.EXEC: "INSTRUCTION", Code.INPUT: "INPUT", Code.OUTPUT: "OUTPUT", Code.TABLES: "TABLES"}
_PAGE_LOG: Final = 12


@dataclass(frozen=True)
class Run:
    """What a run gave.

    Attributes:
        results: (count, 2, N) in Eval order.
        seconds: of the wall clock.
        cycles: from start to end; None where nothing counts them.
        bytes: read and written, by entity.
    """

    results: Words
    seconds: float
    cycles: int | None = None
    bytes: Mapping[str, int] = field(default_factory=dict)


class Executor(ABC):
    """Runs jobs on one kind of device."""

    @abstractmethod
    def run(self, device: Any, job: Job) -> Run:
        """One run.

        Raises:
            HardwareError: the machine cannot be built, or stops with an error.
        """


class Interpreted(Executor):
    """The reference interpreter. It has no time."""

    def run(self, device: Any, job: Job) -> Run:  # noqa: ARG002
        start = time.perf_counter()
        memory = Dram(job.config.dram_bytes)
        for piece in (job.queue, *job.pieces):
            memory.map(piece.address, piece.words)
        if job.results:
            memory.reserve(job.output, job.stride * job.results)
        interpreter = Interpreter(job.config, job.settings, memory)
        if job.settings.queued:
            interpreter.run(job.queue.address)
        else:
            execute_all(interpreter, job.commands)
        words = 2 << job.settings.log_n
        found = [memory.read(job.output + i * job.stride, words) for i in range(job.results)]
        return Run(ciphertexts(np.array(found, np.uint64).reshape(-1, words)), time.perf_counter() - start)


class Simulated(Executor):
    """The machine in simulation: it works off a queue, or is polled, as the job's settings say."""

    def run(self, device: Any, job: Job) -> Run:
        start = time.perf_counter()
        output = np.zeros((max(job.results, 1), job.stride // 8), np.uint64)
        values = job.settings.registers(job.config)
        with device.turn():
            sim: Simulation[Any] = device.simulation()
            sim.unmap_all()
            sim.clear_traffic()
            for piece in (job.queue, *job.pieces):
                sim.map(piece.address, np.ascontiguousarray(piece.words), ENTITIES.index(piece.entity))
            sim.map(job.output, output, ENTITIES.index("output"))
            for address, value in values.items():
                sim.write(address, value)
            if job.settings.queued:
                cycles = sim.run(job.queue.address, 0, progress=device.cycles)
            else:
                cycles = polled(sim, job.commands)
            traffic = sim.traffic({name: n for n, name in enumerate(ENTITIES)})
            device.end_waves()
        found = ciphertexts(output[: job.results, : 2 << job.settings.log_n])
        moved = {name: t.read + t.written for name, t in traffic.items()}
        return Run(found, time.perf_counter() - start, cycles, moved)


def polled(sim: Simulation[Any], commands: Sequence[Command]) -> int:
    """Writes commands one by one, each when FIFO_STATE says that it can be taken, and returns the cycles of the run.

    Raises:
        HardwareError: the machine stops with an error, or takes no command for very long.
    """
    at = addresses()
    sim.start()
    try:
        for command in commands:
            _await(sim, lambda: not sim.read(at["FIFO_STATE"]) & _COMMAND)
            if command.code is Code.SET:
                sim.write(command.operand, command.value)
            elif command.code is Code.END:
                sim.write(at["FINISH"], 0)
            else:
                value = command.value if command.code is Code.EXEC else command.operand >> _PAGE_LOG
                sim.write(at[_WRITTEN[command.code]], value)
        _await(sim, lambda: False)
    except BaseException as e:
        try:
            if isinstance(e, HardwareError):
                sim.check()  # what the machine says is the cause
        finally:
            sim.reset()
        raise
    sim.check()
    return sim.read(Register.CYCLES) | sim.read(Register.CYCLES_HIGH) << 32


def _await(sim: Simulation[Any], met: Callable[[], bool]) -> None:
    """Waits for a state, or for the end of the run."""
    for _ in range(_PATIENCE // _LOOK):
        if met() or sim.advance(_LOOK):
            return
    raise HardwareError(f"machine {sim.config.name} took no command for {_PATIENCE} cycles: reset it")
