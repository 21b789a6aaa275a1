# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""How the matvec accelerator multiplies: as a driver of the card would.

It compiles the plan into programs, puts programs, keys, matrix and inputs into the card's memory, starts the machine,
waits, and reads results from that memory. It computes nothing on ciphertexts. What `prepare` computes concerns
constants only: encoding of the matrix, twiddle tables, and, on machines with Montgomery multipliers, the Montgomery
form of keys and matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge.devices import Execution, Implementation, Preparation, Report, register
from ringforge.devices.cpu import operation_counts
from ringforge.errors import ShapeError
from ringforge.hw.core.device import RtlDevice
from ringforge.hw.machines.matvec import Compiled, Options, compile_matvec
from ringforge.hw.machines.matvec.job import Job
from ringforge.hw.vector.layout import ENTITIES
from ringforge.matvec.kernels import MatvecKernel

Words = npt.NDArray[np.uint64]


@dataclass
class _State:
    native: _native.Matvec
    compiled: Compiled
    memory: list[tuple[int, Words]]
    operations: dict[str, int]


class _Matvec(Implementation):
    def check(self, device: RtlDevice, kernel: MatvecKernel) -> None:
        # Placing everything in the card's memory is quick and finds what does not fit.
        Job(device.config, kernel, True, device.options or Options())

    def prepare(self, p: Preparation[MatvecKernel]) -> _State:
        if p.operands is None:
            raise ShapeError("a matrix-vector kernel needs its matrix")
        compiled = compile_matvec(
            p.device.config, p.kernel, has_bias=p.operands.bias.size > 0, options=p.device.options or Options()
        )
        native = p.kernel.encoded(p.operands, p.threads, p.progress)
        memory = [(address, words) for address, words in compiled.prepared(native, p.keys.galois)]
        cost = _native.Matvec.cost(p.kernel.context, p.kernel.plan, p.kernel.level)
        return _State(native, compiled, memory, operation_counts(cost.ops))

    def run(self, r: Execution[MatvecKernel, _State]) -> tuple[list[Any], Report]:
        """Runs the machine; `threads` means nothing to it.

        Raises:
            HardwareError: the machine cannot be built, or stops with an error.
        """
        r.state.native.check_inputs(list(r.inputs))
        with r.device.turn():
            return self._run(r.device, r.state, r.inputs)

    def _run(self, device: RtlDevice, state: _State, inputs: Sequence[Any]) -> tuple[list[Any], Report]:
        compiled = state.compiled
        sim = device.simulation()
        sim.unmap_all()
        sim.clear_traffic()
        entity = compiled.job.layout.entity
        written: dict[int, Words] = {}
        for address, size in compiled.reserved():
            written[address] = np.zeros(size // 8, np.uint64)
        for address, words in (*state.memory, *compiled.loaded(inputs), *written.items()):
            sim.map(address, words, ENTITIES.index(entity(address)))
        cycles = sim.run(compiled.base, compiled.stride, progress=device.cycles)

        def read(address: int, count: int) -> Words:
            base = max(a for a in written if a <= address)
            first = (address - base) // 8
            return written[base][first : first + count]

        outputs = list(state.native.assemble(list(inputs), compiled.results(read)))
        traffic = sim.traffic({name: n for n, name in enumerate(ENTITIES)})
        device.end_waves()
        return outputs, Report(
            device.name,
            cycles / device.config.clock_hz,
            cycles=cycles,
            clock_hz=device.config.clock_hz,
            bytes={name: t.read + t.written for name, t in traffic.items()},
            operations=state.operations,
        )

    def storage(self, state: _State) -> int:
        return sum(words.nbytes for _, words in state.memory)


register(MatvecKernel, "rtl:matvec", _Matvec())
