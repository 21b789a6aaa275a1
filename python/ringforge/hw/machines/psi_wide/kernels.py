# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""How the streaming accelerator runs kernels: levels of gates by GINX, and look-ups by our algorithm.

The host sums, rounds, extracts and switches keys around the blind rotations of gates; it opens requests, lays out plain
rows, and masks results of look-ups. What it hands over is public: ciphertexts, evaluation keys, the server's table.
"""

from __future__ import annotations

import time
from typing import Any, Final

import numpy as np

from ringforge import _native
from ringforge.devices import Execution, Implementation, Preparation, Report, register
from ringforge.errors import MismatchError, MissingKeyError, ParameterError, ShapeError
from ringforge.gates.kernels import GateLevelKernel
from ringforge.hw.machines.psi_wide.gates import GinxMachine, Level
from ringforge.hw.machines.psi_wide.layout import Setup
from ringforge.hw.machines.psi_wide.lookup import LookupMachine
from ringforge.hw.machines.psi_wide.program import Program
from ringforge.hw.machines.psi_wide.runner import Executor, Memory, Simulated
from ringforge.psi.kernels import LookupKernel, LookupKeys, LookupTable

#: Bytes of plain rows that a query may put into the simulated memory.
MAX_ROW_BYTES: Final = 8 << 30


class _Turns(Executor):
    """The simulated machine of a device, a program at a time."""

    def __init__(self, device: Any) -> None:
        self.device = device

    def run(self, setup: Setup, program: Program, memory: Memory) -> int | None:
        with self.device.turn():
            try:
                simulated = Simulated(self.device.simulation(), progress=self.device.cycles)
                return simulated.run(setup, program, memory)
            finally:
                self.device.end_waves()


class _Levels(Implementation):
    """Levels of gates."""

    def check(self, device: Any, kernel: GateLevelKernel) -> None:
        device.config.check_ring(kernel.params.modulus, kernel.params.log_n)

    def prepare(self, p: Preparation[GateLevelKernel]) -> tuple[_native.fhew.EvaluationKey, GinxMachine]:
        key, params = p.keys.of(_native.fhew.EvaluationKey), p.kernel.params
        if key is None:
            raise MissingKeyError("gates need an evaluation key: the key holder makes it with gates.keygen")
        if key.params.hash != params.hash:
            raise MismatchError(f"the evaluation key belongs to {key.params.name}, the kernel to {params.name}")
        return key, GinxMachine(p.device.config, key)

    def run(
        self, r: Execution[GateLevelKernel, tuple[_native.fhew.EvaluationKey, GinxMachine]]
    ) -> tuple[list[Any], Report]:
        if len(r.inputs) != 4:
            raise ShapeError(f"{len(r.inputs)} inputs, where a level of gates has kinds, sources, wires and targets")
        (key, machine), (kinds, sources, wires, targets) = r.state, r.inputs
        start, executor, levels = time.perf_counter(), _Turns(r.device), list[Level]()

        def rotate(accumulators: Any, exponents: Any) -> None:
            levels.extend(machine.rotate(executor, accumulators, exponents))

        rotations = _native.fhew.evaluate(key, kinds, sources, wires, targets, r.threads, r.progress, rotate=rotate)
        operations = {"bootstrap": rotations, "external_product": sum(level.products for level in levels)}
        return [wires], _report(r, start, sum(level.cycles or 0 for level in levels), operations)

    def storage(self, state: tuple[_native.fhew.EvaluationKey, GinxMachine]) -> int:
        return int(state[1].keys.nbytes)


class _Lookups(Implementation):
    """Look-ups."""

    def check(self, device: Any, kernel: LookupKernel) -> None:
        device.config.check_ring(kernel.plan.modulus, kernel.plan.log_n)
        if kernel.plan.algorithm != "ringforge":
            raise ParameterError(f"{device.config.name} runs plans of the algorithm ringforge: plan the table so")
        rows = 2 << (kernel.plan.log_bins + kernel.plan.row_bits + kernel.plan.log_n)
        if rows > MAX_ROW_BYTES:
            raise ParameterError(
                f"a query has {rows >> 20} MiB of plain rows, the simulated memory at most {MAX_ROW_BYTES >> 20}: "
                "plan the table with fewer bins or cells, or answer on cpu"
            )

    def prepare(self, p: Preparation[LookupKernel]) -> tuple[_native.psi.SessionKeys, LookupTable]:
        if p.operands is None:
            raise ShapeError("a lookup needs its table")
        if p.operands.plan.hash != p.kernel.plan.hash:
            raise MismatchError("keys and table belong to different plans")
        given = p.keys.of(LookupKeys)
        if given is None:
            raise MissingKeyError("a lookup needs the evaluation keys of the client that asks: it sends them first")
        return _native.psi.SessionKeys(p.kernel.plan, given.data, p.threads), p.operands

    def run(self, r: Execution[LookupKernel, tuple[_native.psi.SessionKeys, LookupTable]]) -> tuple[list[Any], Report]:
        if len(r.inputs) != 1 or not isinstance(r.inputs[0], bytes):
            raise ShapeError(f"{len(r.inputs)} inputs, where a lookup takes the bytes of one request")
        keys, table = r.state
        start = time.perf_counter()
        machine = LookupMachine(r.device.config, keys, _Turns(r.device))
        results = np.ascontiguousarray(machine.results(r.inputs[0], table.arrays))
        reply = _native.psi.seal_reply(keys, results)
        return [reply], _report(r, start, machine.cycles or 0, {})


def _report(r: Execution[Any, Any], start: float, cycles: int, operations: dict[str, int]) -> Report:
    hz = r.device.config.clock_hz
    seconds = cycles / hz if cycles else time.perf_counter() - start
    return Report(r.device.name, seconds, cycles or None, hz, operations=operations)


register(GateLevelKernel, "rtl:psi_wide", _Levels())
register(LookupKernel, "rtl:psi_wide", _Lookups())
