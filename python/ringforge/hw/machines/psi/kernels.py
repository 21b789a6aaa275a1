# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""How the FHEW accelerator runs the kernels of gates and of private set intersection: as a driver of the card would.

Products and substitutions are the machine's; what is around them is the host's: exponents, accumulators, extraction and
key switch of gates, additions and monomials of a look-up.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ringforge import _native
from ringforge._native import fhew
from ringforge.devices import Execution, Implementation, KeySet, Preparation, Report, register
from ringforge.errors import MismatchError, MissingKeyError, ParameterError, ShapeError
from ringforge.gates.kernels import AccumulateKernel, GateLevelKernel
from ringforge.hw.core.small_ring import Words
from ringforge.hw.machines.psi.executors import Executor, Simulated
from ringforge.hw.machines.psi.job import KeyMemory
from ringforge.hw.machines.psi.lookup import Lookup, lookup_settings
from ringforge.hw.machines.psi.pipeline import Pipeline, gadget, gate_settings
from ringforge.hw.machines.psi.runtime import ap_indices
from ringforge.hw.machines.psi.settings import Settings
from ringforge.psi.kernels import LookupKernel, LookupKeys, LookupTable, SubstitutionKernel


def _chains(device: Any, params: fhew.GateParameters) -> Settings:
    """Settings for chains of gates; refuses what the machine cannot run."""
    settings = gate_settings(params)
    settings.check(device.config)
    last = params.n * params.ap_digits * params.ap_base - 1
    KeyMemory(device.config, params.log_n, params.a.count + params.b.count).address(last)
    return settings


def _ap_key(keys: KeySet, params: fhew.GateParameters, device: Any) -> fhew.EvaluationKey:
    key = keys.of(fhew.EvaluationKey)
    if key is None or key.method != fhew.Method.AP:
        raise MissingKeyError(
            f"device {device.name} runs gates with an evaluation key of method ap: make one with it, or take device cpu"
        )
    if key.params.hash != params.hash:
        raise MismatchError(f"the evaluation key belongs to {key.params.name}, the kernel to {params.name}")
    return key


class _Accumulate(Implementation):
    """Chains of products.

    Args:
        executor: runs jobs.
    """

    def __init__(self, executor: Executor) -> None:
        self.executor = executor

    def check(self, device: Any, kernel: AccumulateKernel) -> None:
        _chains(device, kernel.params)

    def prepare(self, p: Preparation[AccumulateKernel]) -> fhew.EvaluationKey:
        return _ap_key(p.keys, p.kernel.params, p.device)

    def run(self, r: Execution[AccumulateKernel, fhew.EvaluationKey]) -> tuple[list[Any], Report]:
        """Runs the machine; `threads` means nothing to it.

        Raises:
            HardwareError: the machine cannot be built, or stops with an error.
        """
        p = r.kernel.params
        out, indices = r.kernel.checked(r.inputs)
        limit = p.n * p.ap_digits * p.ap_base
        if indices.max(initial=0) >= limit:
            raise ShapeError(f"key index {int(indices.max())} of {limit}: take (i d_r + j) B_r + v, i below n")
        pipeline = Pipeline(r.device, self.executor, _chains(r.device, p))
        made = pipeline.chains(pipeline.ring.forward(out.astype(np.uint64)), indices, r.state)
        out[:] = pipeline.ring.inverse(made)
        return [out], pipeline.report({"external_product": int(np.count_nonzero(indices % p.ap_base))})


class _Level(Implementation):
    """Levels of gates: blind rotations by the machine, all else by the library.

    Args:
        executor: runs jobs.
    """

    def __init__(self, executor: Executor) -> None:
        self.executor = executor

    def check(self, device: Any, kernel: GateLevelKernel) -> None:
        if kernel.method not in (None, fhew.Method.AP):
            raise ParameterError(
                f"device {device.name} runs gates with keys of method ap, not {kernel.method.name.lower()}: make a key "
                "of that method, or take device cpu"
            )
        _chains(device, kernel.params)

    def prepare(self, p: Preparation[GateLevelKernel]) -> fhew.EvaluationKey:
        return _ap_key(p.keys, p.kernel.params, p.device)

    def run(self, r: Execution[GateLevelKernel, fhew.EvaluationKey]) -> tuple[list[Any], Report]:
        """Runs the machine for all rotations of the level; `threads` means nothing to it.

        Raises:
            ShapeError, ParameterError: as the library's. HardwareError: the machine stops with an error.
        """
        if len(r.inputs) != 4:
            raise ShapeError(f"{len(r.inputs)} inputs, where a level of gates has kinds, sources, wires and targets")
        kinds, sources, wires, targets = r.inputs
        p, ring_words = r.kernel.params, np.uint64
        pipeline = Pipeline(r.device, self.executor, _chains(r.device, p))

        def rotate(accumulators: Any, exponents: Any) -> None:
            indices = ap_indices(p, exponents[:, : p.n])
            made = pipeline.chains(pipeline.ring.forward(accumulators.astype(ring_words)), indices, r.state)
            accumulators[:] = pipeline.ring.inverse(made)

        done = fhew.evaluate(r.state, kinds, sources, wires, targets, r.threads, r.progress, rotate)
        return [wires], pipeline.report({"bootstrap": done})


class _Substitution(Implementation):
    """Substitutions of a batch.

    Args:
        executor: runs jobs.
    """

    def __init__(self, executor: Executor) -> None:
        self.executor = executor

    def check(self, device: Any, kernel: SubstitutionKernel) -> None:
        self._settings(device, kernel)

    def _settings(self, device: Any, kernel: SubstitutionKernel) -> Settings:
        cut = gadget(kernel.cut)
        settings = Settings(kernel.log_n, kernel.modulus, cut, cut, cut, substitutions=((kernel.element, 0),))
        settings.check(device.config)
        return settings

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
        """Runs the machine; `threads` means nothing to it. Raises HardwareError: it stops with an error."""
        out = r.kernel.checked(r.inputs)
        pipeline = Pipeline(r.device, self.executor, self._settings(r.device, r.kernel))
        made = pipeline.substitutions(pipeline.ring.forward(out.astype(np.uint64)), r.kernel.element, r.state)
        out[:] = pipeline.ring.inverse(made)
        return [out], pipeline.report({"substitution": r.kernel.batch})

    def storage(self, state: Words) -> int:
        return int(state.nbytes)


class _Lookup(Implementation):
    """Queries on a table, by the published algorithm.

    Args:
        executor: runs jobs.
    """

    def __init__(self, executor: Executor) -> None:
        self.executor = executor

    def check(self, device: Any, kernel: LookupKernel) -> None:
        lookup_settings(device.config, kernel.plan)

    def prepare(self, p: Preparation[LookupKernel]) -> Lookup:
        given = p.keys.of(LookupKeys)
        if given is None:
            raise MissingKeyError("a lookup needs the evaluation keys of the client that asks: it sends them first")
        table: LookupTable | None = p.operands
        if table is None:
            raise ShapeError("a lookup needs its table: give a LookupTable as operands")
        if table.plan.hash != p.kernel.plan.hash:
            raise MismatchError("keys and table belong to different plans")
        return Lookup(_native.psi.SessionKeys(p.kernel.plan, given.data, p.threads), table)

    def run(self, r: Execution[LookupKernel, Lookup]) -> tuple[list[Any], Report]:
        """Runs the machine; `threads` means nothing to it.

        Raises:
            FormatError: the request is none. Error: "cancelled". HardwareError: the machine stops with an error.
        """
        if len(r.inputs) != 1 or not isinstance(r.inputs[0], bytes):
            raise ShapeError(f"{len(r.inputs)} inputs, where a lookup takes the bytes of one request")
        pipeline = Pipeline(r.device, self.executor, lookup_settings(r.device.config, r.kernel.plan))
        reply, operations = r.state.answer(pipeline, r.inputs[0], r.progress)
        return [reply], pipeline.report(operations)

    def storage(self, state: Lookup) -> int:
        return int(state.keys.bytes)


def register_kernels(kind: str, executor: Executor) -> None:
    """Says how devices of a kind run kernels; the devices have the attribute `config`."""
    register(AccumulateKernel, kind, _Accumulate(executor))
    register(GateLevelKernel, kind, _Level(executor))
    register(SubstitutionKernel, kind, _Substitution(executor))
    register(LookupKernel, kind, _Lookup(executor))


register_kernels("rtl:psi", Simulated())
