# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""How the streaming accelerator runs kernels: levels of gates by GINX, chains by AP, substitutions, look-ups by our
algorithm.

The host sums, rounds, extracts and switches keys around the blind rotations of gates; it lays out a table's rows once,
opens requests, and masks results of look-ups. What it hands over is public, ciphertexts and evaluation keys, or the
server's own, its table; what of the table others may not know changes neither the program nor the host's work for it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np

from ringforge import _native
from ringforge._native import fhew
from ringforge.devices import Execution, Implementation, KeySet, Preparation, Progress, Report, register
from ringforge.errors import MismatchError, MissingKeyError, ParameterError, ShapeError
from ringforge.gates.kernels import AccumulateKernel, GateLevelKernel
from ringforge.hw.machines.psi_wide import lookup
from ringforge.hw.machines.psi_wide.batches import chains, substitution_setup, substitutions
from ringforge.hw.machines.psi_wide.config import WideConfig
from ringforge.hw.machines.psi_wide.gates import GinxMachine, Level, checked
from ringforge.hw.machines.psi_wide.layout import Setup, Words
from ringforge.hw.machines.psi_wide.leaves import Leaves, row_bytes
from ringforge.hw.machines.psi_wide.lookup import LookupMachine
from ringforge.hw.machines.psi_wide.program import Program
from ringforge.hw.machines.psi_wide.runner import Executor, Memory, Simulated
from ringforge.psi.kernels import LookupKernel, LookupKeys, LookupTable, SubstitutionKernel

#: Bytes of rows and monomials that a table may put into the simulated memory.
MAX_ROW_BYTES: Final = 8 << 30


class _Turns(Executor):
    """The simulated machine of a device, a program at a time."""

    def __init__(self, device: Any) -> None:
        self.device = device

    def run(self, setup: Setup, program: Program, memory: Memory, progress: Progress | None = None) -> int | None:
        with self.device.turn():
            try:
                simulated = Simulated(self.device.simulation(), cycles=self.device.cycles)
                return simulated.run(setup, program, memory, progress)
            finally:
                self.device.end_waves()


def _key(keys: KeySet, params: fhew.GateParameters, method: fhew.Method, device: Any) -> fhew.EvaluationKey:
    key = keys.of(fhew.EvaluationKey)
    if key is None or key.method != method:
        raise MissingKeyError(
            f"device {device.name} runs this with an evaluation key of method {method.name.lower()}: make one with "
            "it, or take device cpu"
        )
    if key.params.hash != params.hash:
        raise MismatchError(f"the evaluation key belongs to {key.params.name}, the kernel to {params.name}")
    return key


class _Runs(Implementation):
    """Kernels as programs.

    Args:
        executor: makes what runs them, of a device; default: its simulation.
    """

    def __init__(self, executor: Callable[[Any], Executor] = _Turns) -> None:
        self.executor = executor


class _Levels(_Runs):
    """Levels of gates."""

    def check(self, device: Any, kernel: GateLevelKernel) -> None:
        if kernel.method not in (None, fhew.Method.GINX):
            raise ParameterError(
                f"device {device.name} runs gates with keys of method ginx, not {kernel.method.name.lower()}: make a "
                "key of that method, or take device cpu"
            )
        checked(device.config, kernel.params)

    def prepare(self, p: Preparation[GateLevelKernel]) -> tuple[fhew.EvaluationKey, GinxMachine]:
        key = _key(p.keys, p.kernel.params, fhew.Method.GINX, p.device)
        return key, GinxMachine(p.device.config, key)

    def run(self, r: Execution[GateLevelKernel, tuple[fhew.EvaluationKey, GinxMachine]]) -> tuple[list[Any], Report]:
        """Runs the machine for all rotations of the level.

        Raises:
            ShapeError, ParameterError: as the library's. HardwareError: the machine stops with an error.
        """
        if len(r.inputs) != 4:
            raise ShapeError(f"{len(r.inputs)} inputs, where a level of gates has kinds, sources, wires and targets")
        (key, machine), (kinds, sources, wires, targets) = r.state, r.inputs
        start, executor, levels = time.perf_counter(), self.executor(r.device), list[Level]()

        def rotate(accumulators: Any, exponents: Any) -> None:
            levels.extend(machine.rotate(executor, accumulators, exponents))

        rotations = fhew.evaluate(key, kinds, sources, wires, targets, r.threads, r.progress, rotate=rotate)
        return [wires], _of_levels(r, start, levels, {"bootstrap": rotations})

    def storage(self, state: tuple[fhew.EvaluationKey, GinxMachine]) -> int:
        return int(state[1].keys.nbytes)


class _Accumulate(_Runs):
    """Chains of products."""

    def check(self, device: Any, kernel: AccumulateKernel) -> None:
        checked(device.config, kernel.params)

    def prepare(self, p: Preparation[AccumulateKernel]) -> fhew.EvaluationKey:
        return _key(p.keys, p.kernel.params, fhew.Method.AP, p.device)

    def run(self, r: Execution[AccumulateKernel, fhew.EvaluationKey]) -> tuple[list[Any], Report]:
        """Runs the machine; `threads` means nothing to it.

        Raises:
            ShapeError: as the kernel's. Error: "cancelled". HardwareError: the machine stops with an error.
        """
        p, start = r.kernel.params, time.perf_counter()
        out, indices = r.kernel.checked(r.inputs)
        limit = p.n * p.ap_digits * p.ap_base
        if indices.max(initial=0) >= limit:
            raise ShapeError(f"key index {int(indices.max())} of {limit}: take (i d_r + j) B_r + v, i below n")
        accumulators = out.astype(np.uint64)
        out[:], levels = chains(r.device.config, r.state, self.executor(r.device), accumulators, indices, r.progress)
        return [out], _of_levels(r, start, levels, {})


class _Substitution(_Runs):
    """Substitutions of a batch."""

    def check(self, device: Any, kernel: SubstitutionKernel) -> None:
        self._setup(device, kernel)

    def _setup(self, device: Any, kernel: SubstitutionKernel) -> Setup:
        return substitution_setup(device.config, kernel.modulus, kernel.log_n, kernel.element, kernel.cut)

    def prepare(self, p: Preparation[SubstitutionKernel]) -> Words:
        key = p.keys.of(fhew.SubstitutionKey)
        if key is None:
            raise MissingKeyError(
                f"a substitution needs the key of element {p.kernel.element}, which this key set lacks"
            )
        have = (key.log_n, key.modulus, key.element, key.cut)
        want = (p.kernel.log_n, p.kernel.modulus, p.kernel.element, p.kernel.cut)
        if have != want:
            raise MismatchError(f"the substitution key is of {have}, the kernel needs {want}")
        return np.array(key.rows(), np.uint64)

    def run(self, r: Execution[SubstitutionKernel, Words]) -> tuple[list[Any], Report]:
        """Runs the machine; `threads` means nothing to it.

        Raises:
            ShapeError: as the kernel's. Error: "cancelled". HardwareError: the machine stops with an error.
        """
        start, out = time.perf_counter(), r.kernel.checked(r.inputs)
        setup, given = self._setup(r.device, r.kernel), out.astype(np.uint64)
        executor, element = self.executor(r.device), r.kernel.element
        out[:], levels = substitutions(r.device.config, setup, executor, given, element, r.state, r.progress)
        return [out], _report(r, start, levels, {"substitution": r.kernel.batch})

    def storage(self, state: Words) -> int:
        return int(state.nbytes)


class _Lookups(_Runs):
    """Look-ups."""

    def __init__(self, executor: Callable[[Any], Executor] = _Turns) -> None:
        super().__init__(executor)
        #: Leaves by table and lanes, as long as the table is used.
        self._laid: WeakKeyDictionary[LookupTable, dict[int, Leaves]] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def check(self, device: Any, kernel: LookupKernel) -> None:
        lookup.checked(device.config, kernel.plan)
        if kernel.most is not None:
            _check_rows(kernel.plan, kernel.most)

    def prepare(self, p: Preparation[LookupKernel]) -> tuple[_native.psi.SessionKeys, Leaves]:
        """Lays the table's leaves out, once for all keys on machines of as many lanes.

        Raises besides what the kernel demands: ParameterError, a bin of the table has more cells than its description
        says, or leaves that the memory does not hold. Error: "cancelled".
        """
        if p.operands is None:
            raise ShapeError("a lookup needs its table: give a LookupTable as operands")
        if p.operands.plan.hash != p.kernel.plan.hash:
            raise MismatchError("keys and table belong to different plans")
        given = p.keys.of(LookupKeys)
        if given is None:
            raise MissingKeyError("a lookup needs the evaluation keys of the client that asks: it sends them first")
        keys = _native.psi.SessionKeys(p.kernel.plan, given.data, p.threads)
        return keys, self._leaves(p.device.config, p.operands, p.progress)

    def _leaves(self, config: WideConfig, table: LookupTable, progress: Progress | None) -> Leaves:
        _check_rows(table.plan, table.most)
        with self._lock:
            of_table = self._laid.setdefault(table, {})
            if config.lanes not in of_table:
                of_table[config.lanes] = Leaves(config, table.plan, table.arrays, table.most, progress)
            return of_table[config.lanes]

    def run(self, r: Execution[LookupKernel, tuple[_native.psi.SessionKeys, Leaves]]) -> tuple[list[Any], Report]:
        """Runs the machine; `threads` means nothing to it.

        Raises:
            FormatError: the request is none. Error: "cancelled". HardwareError: the machine stops with an error.
        """
        if len(r.inputs) != 1 or not isinstance(r.inputs[0], bytes):
            raise ShapeError(f"{len(r.inputs)} inputs, where a lookup takes the bytes of one request")
        (keys, leaves), start = r.state, time.perf_counter()
        machine = LookupMachine(r.device.config, keys, self.executor(r.device))
        results = machine.results(r.inputs[0], leaves, r.progress)
        reply = _native.psi.seal_reply(keys, np.ascontiguousarray(results))
        took = Level(0, machine.cycles, bytes=machine.bytes)
        return [reply], _report(r, start, [took], machine.operations)

    def storage(self, state: tuple[_native.psi.SessionKeys, Leaves]) -> int:
        """Keys, and the leaves, which other keys may share."""
        return int(state[0].bytes) + state[1].nbytes


def _check_rows(plan: _native.psi.Plan, most: int | None) -> None:
    need = row_bytes(plan, most)
    if need > MAX_ROW_BYTES:
        raise ParameterError(
            f"a table of this plan has {need >> 20} MiB of rows or monomials in the machine's order, the simulated "
            f"memory at most {MAX_ROW_BYTES >> 20}: plan the table with fewer bins or cells, or answer on cpu"
        )


def _of_levels(r: Execution[Any, Any], start: float, levels: Sequence[Level], operations: dict[str, int]) -> Report:
    products = {"external_product": sum(level.products for level in levels)}
    return _report(r, start, levels, operations | products)


def _report(r: Execution[Any, Any], start: float, levels: Sequence[Level], operations: dict[str, int]) -> Report:
    """What all runs took: by the machine's clock, where they have cycles."""
    hz, cycles = r.device.config.clock_hz, sum(level.cycles or 0 for level in levels)
    seconds = cycles / hz if cycles else time.perf_counter() - start
    moved: dict[str, int] = {}
    for level in levels:
        for name, count in level.bytes.items():
            moved[name] = moved.get(name, 0) + count
    return Report(r.device.name, seconds, cycles or None, hz if cycles else None, moved, operations)


def register_kernels(kind: str, executor: Callable[[Any], Executor]) -> None:
    """What devices of a kind run, by executors made of the device."""
    register(GateLevelKernel, kind, _Levels(executor))
    register(AccumulateKernel, kind, _Accumulate(executor))
    register(SubstitutionKernel, kind, _Substitution(executor))
    register(LookupKernel, kind, _Lookups(executor))


register_kernels("rtl:psi_wide", _Turns)
