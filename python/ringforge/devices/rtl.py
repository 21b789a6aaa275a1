# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The matvec accelerator's SystemVerilog, simulated by Verilator: `rtl:matvec-b` and its siblings.

The device does what a driver of the card would do: it compiles the plan into programs, puts programs, keys, matrix
and inputs into the card's memory, starts the machine, waits, and reads results from that memory. It computes nothing on
ciphertexts. What `prepare` computes concerns constants only: encoding of the matrix, twiddle tables, and, on machines
with Montgomery multipliers, the Montgomery form of keys and matrix.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge.devices.base import (
    Capabilities,
    Device,
    Handle,
    Kernel,
    Keys,
    MatvecKernel,
    MatvecOperands,
    Progress,
    Report,
)
from ringforge.devices.cpu import operation_counts
from ringforge.errors import ParameterError, ShapeError
from ringforge.hw.config import MachineConfig
from ringforge.hw.matvec import Compiled, Options, compile_matvec
from ringforge.hw.matvec.layout import ENTITIES
from ringforge.hw.simulator import Simulation

Words = npt.NDArray[np.uint64]


@dataclass
class _State:
    native: _native.Matvec
    compiled: Compiled
    memory: list[tuple[int, Words]]
    operations: dict[str, int]


class RtlDevice(Device):
    """A simulated accelerator card.

    Args:
        machine: name of a configuration in hw/matvec/config, or a configuration.
        options: compiler passes.
        waves: file for waveforms of the next run.
        cycles: called now and then with the cycles so far, while the machine runs.

    Raises:
        ParameterError: no such machine.
    """

    def __init__(
        self,
        machine: str | MachineConfig = "matvec-b",
        *,
        options: Options | None = None,
        waves: str | Path | None = None,
        cycles: Callable[[int], None] | None = None,
    ) -> None:
        self.config = MachineConfig.named(machine) if isinstance(machine, str) else machine
        self.name = f"rtl:{self.config.name}"
        self.options = options or Options()
        self.waves = waves
        self.cycles = cycles
        self._simulation: Simulation | None = None

    def capabilities(self) -> Capabilities:
        c = self.config
        return Capabilities(
            self.name,
            f"{c.about}; {c.groups} groups x {c.pes} elements x {c.lanes} lanes, {c.multiplier} multipliers of "
            f"{c.word_bits} bits, simulated",
            frozenset({MatvecKernel}),
            max_degree=1 << c.max_log_n,
            max_limbs=None,
            max_prime_bits=c.word_bits,
        )

    def check(self, kernel: Kernel) -> None:
        super().check(kernel)
        if isinstance(kernel, MatvecKernel):
            # Placing everything in the card's memory is quick and finds what does not fit.
            from ringforge.hw.matvec.job import Job

            Job(self.config, kernel, True, self.options)

    def prepare(
        self,
        kernel: Kernel,
        keys: Keys,
        operands: MatvecOperands | None = None,
        *,
        threads: int = 1,
        progress: Progress | None = None,
    ) -> Handle:
        start = time.perf_counter()
        if not isinstance(kernel, MatvecKernel):
            raise ParameterError(f"device {self.name} does not run {type(kernel).__name__}")
        if operands is None:
            raise ShapeError("a matrix-vector kernel needs its matrix")
        compiled = compile_matvec(self.config, kernel, has_bias=operands.bias.size > 0, options=self.options)
        native = _native.Matvec(kernel.context, kernel.plan, kernel.level, kernel.batch)
        native.encode(
            operands.matrix,
            operands.bias,
            kernel.input_scale,
            kernel.output_scale,
            kernel.input_bound,
            kernel.fresh_inputs,
            threads,
            progress,
        )
        memory = [(address, words) for address, words in compiled.prepared(native, keys.galois)]
        cost = _native.Matvec.cost(kernel.context, kernel.plan, kernel.level)
        state = _State(native, compiled, memory, operation_counts(cost.ops))
        return Handle(self.name, kernel, time.perf_counter() - start, state)

    def run(
        self,
        handle: Handle,
        inputs: Sequence[Any],
        *,
        threads: int = 1,  # noqa: ARG002
        progress: Progress | None = None,  # noqa: ARG002
    ) -> tuple[list[Any], Report]:
        """Runs the machine; `threads` means nothing to it.

        Raises:
            HardwareError: the machine cannot be built, or stops with an error.
        """
        self.own(handle, self.name)
        state: _State = handle.state
        compiled = state.compiled
        state.native.check_inputs(list(inputs))
        sim = self._open()
        sim.unmap_all()
        sim.clear_traffic()
        entity = compiled.job.layout.entity
        written: dict[int, Words] = {}
        for address, size in compiled.reserved():
            written[address] = np.zeros(size // 8, np.uint64)
        for address, words in (*state.memory, *compiled.loaded(inputs), *written.items()):
            sim.map(address, words, ENTITIES.index(entity(address)))
        cycles = sim.run(compiled.base, compiled.stride, progress=self.cycles)

        def read(address: int, count: int) -> Words:
            base = max(a for a in written if a <= address)
            first = (address - base) // 8
            return written[base][first : first + count]

        outputs = list(state.native.assemble(list(inputs), compiled.results(read)))
        traffic = sim.traffic({name: n for n, name in enumerate(ENTITIES)})
        if self.waves is not None:
            sim.close()
            self._simulation = None
        return outputs, Report(
            self.name,
            cycles / self.config.clock_hz,
            cycles=cycles,
            clock_hz=self.config.clock_hz,
            bytes={name: t.read + t.written for name, t in traffic.items()},
            operations=state.operations,
        )

    def _open(self) -> Simulation:
        if self._simulation is None:
            self._simulation = Simulation(self.config, waves=self.waves)
        return self._simulation
