# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The kernels of gates, and how `cpu` and `clear` run them. None has operands."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge.arrays import Residues, aligned_copy
from ringforge.devices import Execution, Implementation, KeySet, Needs, Preparation, Report, register, register_cases
from ringforge.errors import MismatchError, MissingKeyError, ShapeError
from ringforge.gates.clear import ClearKey, bits_of, words_of
from ringforge.gates.kinds import GateKind, shared_rotations

if TYPE_CHECKING:
    from ringforge._native.fhew import EvaluationKey, GateParameters, Method

Words = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class GateLevelKernel:
    """Gates that do not depend on each other: a level of a circuit.

    Keys: an evaluation key. Inputs are kinds (gates,) uint8 of :class:`GateKind`; sources (gates, 3) int32, rows of the
    wires, -1 where a gate has fewer inputs; wires (count, n + 1) uint32, contiguous; targets (gates,) int32, rows of
    the wires that no gate of the level reads. The result is the wires with the gates' outputs in the rows `targets`.
    The device takes the wires over: whoever gave them uses the result.

    Attributes:
        params: parameters of the gates.
        method: of the evaluation key, where it is known already: a device that runs one method alone can say so.
    """

    params: GateParameters
    method: Method | None = None

    def needs(self) -> Needs:
        """What it asks of a device."""
        return _needs(self.params)


@dataclass(frozen=True)
class AccumulateKernel:
    """Accumulation chains: acc <- acc (x) key[index] for each index in turn, with the evaluation key of `ap`.

    Inputs are the accumulators, (batch, 2, N), a then b, coefficients modulo Q, and the indices, (batch, length)
    uint32: (i d_r + j) B_r + v stands for the RGSW ciphertext of v B_r^j s_i; v = 0 may be skipped. Words have 32 bits
    for Q below 2^31, else 64. The result is the accumulators.

    Attributes:
        params: parameters of the gates.
        batch: accumulators.
        length: products for each, n d_r for a gate.
    """

    params: GateParameters
    batch: int
    length: int

    def needs(self) -> Needs:
        """What it asks of a device."""
        return _needs(self.params)

    @property
    def degree(self) -> int:
        """N."""
        return 1 << self.params.log_n

    def checked(self, inputs: Sequence[Any]) -> tuple[Residues, npt.NDArray[np.uint32]]:
        """A copy of the accumulators, and the indices.

        Raises:
            ShapeError: they are of another form, or an index stands for no key.
        """
        if len(inputs) != 2:
            raise ShapeError(f"{len(inputs)} inputs, where the kernel takes accumulators and indices")
        out = aligned_copy(inputs[0], (self.batch, 2, self.degree), self.params.modulus)
        indices = np.ascontiguousarray(inputs[1], np.uint32)
        if indices.shape != (self.batch, self.length):
            raise ShapeError(f"indices of shape {indices.shape}; {(self.batch, self.length)} is needed")
        return out, indices


def _needs(params: GateParameters) -> Needs:
    return Needs(1 << params.log_n, 1, params.modulus.bit_length())


def _same(key: EvaluationKey | ClearKey, params: GateParameters) -> None:
    if key.params.hash != params.hash:
        raise MismatchError(f"the evaluation key belongs to {key.params.name}, the kernel to {params.name}")


# ---- cpu -----------------------------------------------------------------------------------------


class _CpuLevel(Implementation):
    def prepare(self, p: Preparation[GateLevelKernel]) -> EvaluationKey:
        key = p.keys.of(_native.fhew.EvaluationKey)
        if key is None:
            raise MissingKeyError("gates need an evaluation key: the key holder makes it with gates.keygen")
        _same(key, p.kernel.params)
        return key

    def run(self, r: Execution[GateLevelKernel, EvaluationKey]) -> tuple[list[Any], Report]:
        kinds, sources, wires, targets = _level(r.inputs)
        start = time.perf_counter()
        rotations = _native.fhew.evaluate(r.state, kinds, sources, wires, targets, r.threads, r.progress)
        return [wires], Report("cpu", time.perf_counter() - start, operations={"bootstrap": rotations})


class _CpuAccumulate(Implementation):
    def prepare(self, p: Preparation[AccumulateKernel]) -> EvaluationKey:
        key = p.keys.of(_native.fhew.EvaluationKey)
        if key is None or key.method != _native.fhew.Method.AP:
            raise MissingKeyError("an accumulation chain needs an evaluation key of method ap: make one with it")
        _same(key, p.kernel.params)
        return key

    def run(self, r: Execution[AccumulateKernel, EvaluationKey]) -> tuple[list[Any], Report]:
        start = time.perf_counter()
        out, indices = r.kernel.checked(r.inputs)
        _native.fhew.accumulate(r.state, out, indices, r.threads)
        rows = r.kernel.params.a.count + r.kernel.params.b.count
        products = int(np.count_nonzero(indices % r.kernel.params.ap_base))
        traffic = {
            "input": out.nbytes + indices.nbytes,
            "output": out.nbytes,
            "keys": products * rows * 2 * r.kernel.degree * out.itemsize,
        }
        operations = {"external_product": products, "ntt": rows * products, "intt": 2 * products}
        return [out], Report("cpu", time.perf_counter() - start, bytes=traffic, operations=operations)


def _level(inputs: Sequence[Any]) -> Sequence[Any]:
    if len(inputs) != 4:
        raise ShapeError(f"{len(inputs)} inputs, where a level of gates has kinds, sources, wires and targets")
    return inputs


# ---- clear ---------------------------------------------------------------------------------------


def _clear_key(keys: KeySet, params: GateParameters) -> ClearKey:
    key = keys.of(ClearKey)
    if key is None:
        raise MissingKeyError("the clear device runs gates with gates.ClearKey, which encrypts nothing, not real keys")
    _same(key, params)
    return key


class _ClearLevel(Implementation):
    def prepare(self, p: Preparation[GateLevelKernel]) -> ClearKey:
        return _clear_key(p.keys, p.kernel.params)

    def run(self, r: Execution[GateLevelKernel, ClearKey]) -> tuple[list[Any], Report]:
        start = time.perf_counter()
        kinds, sources, wires, targets = _level(r.inputs)
        gates = [GateKind(k) for k in kinds.tolist()]
        _check_level(r.kernel.params, gates, sources, wires, targets)
        used = np.unique(sources[sources >= 0])
        bits = dict(zip(used.tolist(), bits_of(wires[used], r.kernel.params).tolist(), strict=True))
        found = [
            kind.of([bits[wire] for wire in row[: kind.arity]])
            for kind, row in zip(gates, sources.tolist(), strict=True)
        ]
        wires[targets] = words_of(np.array(found, np.uint8), r.kernel.params)
        if r.progress:
            r.progress(1.0)
        rotations = sum(kind.bootstraps for kind in gates)
        if r.state.method != _native.fhew.Method.AUTOMORPHISM:
            rows = zip(gates, sources.tolist(), strict=True)
            rotations -= shared_rotations((kind, row[: kind.arity]) for kind, row in rows)
        return [wires], Report(r.device.name, time.perf_counter() - start, operations={"bootstrap": rotations})


def _check_level(params: GateParameters, gates: Sequence[GateKind], sources: Any, wires: Any, targets: Any) -> None:
    """The library's rules for levels."""
    arity = np.array([kind.arity for kind in gates])
    if sources.shape != (len(gates), 3) or targets.shape != (len(gates),) or wires.shape[1:] != (params.n + 1,):
        raise ShapeError(f"a level of {len(gates)} gates has as many rows of 3 sources, and targets")
    if ((sources >= 0) != (np.arange(3) < arity[:, None])).any():
        raise ShapeError("a gate has more or fewer inputs than its kind takes")
    if max(sources.max(initial=-1), targets.max(initial=-1)) >= len(wires) or targets.min(initial=0) < 0:
        raise ShapeError(f"a gate names a wire that is none of {len(wires)}")
    if len(np.unique(targets)) != len(targets) or np.isin(targets, sources).any():
        raise ShapeError("a wire is written twice in one level, or read while it is written")


class _ClearAccumulate(Implementation):
    def prepare(self, p: Preparation[AccumulateKernel]) -> ClearKey:
        return _clear_key(p.keys, p.kernel.params)

    def run(self, r: Execution[AccumulateKernel, ClearKey]) -> tuple[list[Any], Report]:
        """Each b, as the message, times X^(2N/R) to the sum of what its indices stand for."""
        start = time.perf_counter()
        out, indices = r.kernel.checked(r.inputs)
        if out[:, 0].any():
            raise MismatchError("the clear device turns accumulators that are not encrypted: their a is 0")
        p, n = r.kernel.params, r.kernel.degree
        rest, v = np.divmod(indices.astype(np.int64), p.ap_base)
        i, j = np.divmod(rest, p.ap_digits)
        if i.max(initial=0) >= p.n:
            raise ShapeError(f"key index {int(indices.max())} stands for no key")
        exponents = (v * p.ap_base**j * r.state.secret[i]).sum(axis=1) * (2 * n // p.rotation_modulus)
        for row, exponent in zip(out[:, 1], exponents.tolist(), strict=True):
            row[:] = turned(row, exponent % (2 * n), p.modulus)
        products = int(np.count_nonzero(v))
        return [out], Report(r.device.name, time.perf_counter() - start, operations={"external_product": products})


def turned(values: Residues, exponent: int, modulus: int) -> Residues:
    """A polynomial times X^exponent, exponent in [0, 2N), modulo X^N + 1."""
    n = len(values)
    moved = np.roll(values, exponent % n)
    negated = np.where(moved == 0, moved, modulus - moved)
    below = np.arange(n) < exponent % n
    return np.asarray(np.where(below != (exponent >= n), negated, moved), values.dtype)


register(GateLevelKernel, "cpu", _CpuLevel())
register(AccumulateKernel, "cpu", _CpuAccumulate())
register(GateLevelKernel, "clear", _ClearLevel())
register(AccumulateKernel, "clear", _ClearAccumulate())
register_cases(GateLevelKernel, "ringforge.gates.cases")
register_cases(AccumulateKernel, "ringforge.gates.cases")
