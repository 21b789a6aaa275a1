# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Gates on the workers of a pool: a level in chunks of gates, accumulation chains in batches.

The evaluation key is in the store once, and the workers of a node share its words there; each makes the spectra of it
that its processor takes. A chunk carries the wires that its gates read and no other, and brings its gates' outputs
back. A sum stays with the carry whose rotation it shares, so that the workers together rotate as often as one machine.
Gates without a rotation are evaluated where the level is put together: they take less than their wires take to travel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge.arrays import Residues, aligned_copy
from ringforge.devices import Execution, Preparation, Report, register
from ringforge.devices.base import implementation
from ringforge.devices.frozen import stored, thaw
from ringforge.devices.sharding import Cost, Pool, Shard, Sharded, Stored, Task, cut, expect
from ringforge.errors import FormatError, MismatchError, ParameterError, ShapeError
from ringforge.gates.kernels import AccumulateKernel, GateLevelKernel
from ringforge.gates.kinds import CARRIES, SUMS, GateKind
from ringforge.gates.search import CostModel
from ringforge.gates.sets import GateSet, named

if TYPE_CHECKING:
    from ringforge._native.fhew import EvaluationKey, GateParameters

Words = npt.NDArray[np.uint32]
Rows = npt.NDArray[np.int64]

_ARITY = np.array([kind.arity for kind in GateKind])
_ROTATIONS = np.array([kind.bootstraps for kind in GateKind])
_PAIRED = np.array([int(kind) for kind in (*CARRIES, *SUMS)])

#: Rotations of a chunk at least, where a level has enough for more chunks than workers.
_CHUNK = 64
#: Chunks for each worker at most: the last ones to end then keep the others waiting for little.
_CHUNKS = 4
#: Of a pickle beside the bytes of its arrays, about: of a chunk, and of a key.
_FRAME, _KEY_FRAME = 420, 390
_WHY = "the key's owner has accepted the set"


# ---- what travels --------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Key:
    """An evaluation key in the store, and the set that it is of."""

    name: str
    hash: bytes
    frozen: Stored

    @classmethod
    def put(cls, pool: Pool, key: EvaluationKey) -> _Key:
        return cls(key.params.name, key.params.hash, stored(pool, key))

    def thawed(self, task: Task) -> EvaluationKey:
        return task.cached(("gates", self.frozen.name), partial(self._thaw, task))

    def _thaw(self, task: Task) -> EvaluationKey:
        if _native.fhew.parameters(self.name, _WHY).hash != self.hash:
            raise MismatchError(f"this worker has another set {self.name}: install one release on all nodes")
        key: EvaluationKey = thaw(task.get(self.frozen), threads=task.threads)
        return key


def _gates(task: Task, key: _Key, kinds: npt.NDArray[np.uint8], sources: npt.NDArray[np.int32], wires: Words) -> Any:
    read, count = len(wires), len(kinds)
    rows = np.zeros((read + count, wires.shape[1]), np.uint32)
    rows[:read] = wires
    targets = np.arange(read, read + count, dtype=np.int32)
    rotations = _native.fhew.evaluate(key.thawed(task), kinds, sources, rows, targets, task.threads, task.progress)
    return int(rotations), rows[read:].copy()


def _chains(task: Task, key: _Key, accumulators: Residues, indices: Words) -> Residues:
    opened = key.thawed(task)
    out = aligned_copy(accumulators, accumulators.shape, opened.params.modulus)
    _native.fhew.accumulate(opened, out, indices, task.threads)
    return out


def _checked_gates(chunk: Rows, limit: int, most: int, shape: tuple[int, int], result: Any) -> tuple[Rows, int, Words]:
    """A chunk with its rotations and rows."""
    pair = expect(result, tuple, "a chunk of gates")
    if len(pair) != 2:
        raise FormatError(f"a worker returned {len(pair)} values for a chunk of gates, not rotations and outputs")
    rotations, rows = expect(pair[0], int, "rotations"), expect(pair[1], np.ndarray, "outputs of gates")
    if rows.shape != shape or rows.dtype != np.uint32:
        raise FormatError(f"a worker returned outputs {rows.dtype} {rows.shape}, not uint32 {shape}")
    if not 0 <= rotations <= most:
        raise FormatError(f"a worker counted {rotations} rotations, where {most} are the most")
    if rows.size and int(rows.max()) >= limit:
        raise FormatError(f"a worker returned the word {int(rows.max())}, words are below {limit}")
    return chunk, rotations, rows


def _checked_chains(limit: int, shape: tuple[int, ...], dtype: Any, result: Any) -> Residues:
    out = expect(result, np.ndarray, "accumulators")
    if out.shape != shape or out.dtype != dtype:
        raise FormatError(f"a worker returned accumulators {out.dtype} {out.shape}, not {dtype} {shape}")
    if int(out.max()) >= limit:
        raise FormatError(f"a worker returned the coefficient {int(out.max())}, coefficients are below {limit}")
    return out


# ---- plans ---------------------------------------------------------------------------------------


def chunks(kinds: npt.NDArray[np.uint8], sources: npt.NDArray[np.int32], workers: int) -> list[Rows]:
    """The gates of a level that rotate, by number, in chunks of nearly as many rotations; fewer than `workers` where
    there are not as many gates. What shares a rotation is in one chunk.

    Args:
        kinds: (gates,). sources: (gates, 3), rows of wires.
        workers: that compute at a time.
    """
    gates = np.flatnonzero(_ROTATIONS[kinds] > 0)
    if not len(gates):
        return []
    first = gates.copy()
    paired = np.flatnonzero(np.isin(kinds[gates], _PAIRED))
    if len(paired):
        used = np.where(np.arange(3) < _ARITY[kinds[gates[paired]]][:, None], sources[gates[paired]], -1)
        _, seen, inverse = np.unique(used, axis=0, return_index=True, return_inverse=True)
        first[paired] = gates[paired][seen][inverse.reshape(-1)]
    order = np.argsort(first, kind="stable")
    gates, first = gates[order], first[order]
    rotations = np.cumsum(_ROTATIONS[kinds[gates]])
    total = int(rotations[-1])
    parts = max(workers, min(_CHUNKS * workers, total // _CHUNK))
    starts = np.concatenate([[True], first[1:] != first[:-1]])
    before = np.concatenate([[0], rotations[:-1]])
    # All gates of a unit go where its first one goes.
    part = np.maximum.accumulate(np.where(starts, before * parts // total, 0))
    return [gates[part == i] for i in np.unique(part)]


def _set(params: GateParameters) -> GateSet:
    return named(params.name, _WHY)


def key_bytes(params: GateParameters, method: str = "ginx") -> int:
    """Bytes of an evaluation key in the store: the bootstrapping key, and the table of the key switch, whose rows are
    padded."""
    s = _set(params)
    word, step = (2, 32) if s.key_switch.modulus == "q" else (_word(s), 16)
    row = -(-(s.n + 1) // step) * step * word
    table = s.ring_degree * s.key_switch.count * s.key_switch.rows * row
    return _bootstrap_bytes(params, method) + table + _KEY_FRAME


def _word(s: GateSet) -> int:
    return 4 if s.modulus < 1 << 31 else 8


def _bootstrap_bytes(params: GateParameters, method: str) -> int:
    s, substitutions = _set(params), 0
    if method == "automorphism":
        substitutions = (params.window + 1) * s.automorphism.count * 2 * s.ring_degree * _word(s)
    return s.bootstrap_key_bytes(method) + substitutions


def _own_bytes(params: GateParameters, method: str) -> int:
    """Of a key in a worker alone, at the most: its spectra, which keys of 64-bit words have none of."""
    return 2 * _bootstrap_bytes(params, method) if _word(_set(params)) == 4 else 0


def _level_cost(params: GateParameters, method: str, rotations: int, gates: int, read: int) -> Cost:
    row = 4 * (params.n + 1)
    return Cost(
        seconds=rotations * CostModel().microseconds(_set(params)) * 1e-6,
        stored=key_bytes(params, method),
        sent=read * row + 13 * gates + _FRAME,
        result=gates * row + _FRAME // 2,
        memory=_own_bytes(params, method) + (2 * gates + read) * row,
    )


def _read(chunk: Rows, sources: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    return np.unique(sources[chunk][sources[chunk] >= 0])


def level_costs(
    params: GateParameters, method: str, kinds: npt.NDArray[np.uint8], sources: npt.NDArray[np.int32], workers: int
) -> list[Cost]:
    """Costs of a level's shards, without keys and wires.

    Args:
        method: of the evaluation key: ginx, ap, automorphism.
        kinds, sources: as of :class:`GateLevelKernel`.
    """
    return [
        _level_cost(params, method, int(_ROTATIONS[kinds[c]].sum()), len(c), len(_read(c, sources)))
        for c in chunks(kinds, sources, workers)
    ]


def shard_costs(kernel: AccumulateKernel, parts: int) -> list[Cost]:
    """Costs of the shards of accumulation chains, without keys."""
    p, s = kernel.params, _set(kernel.params)
    product = CostModel().microseconds(s) * 1e-6 / s.n
    found = []
    for batch in cut(kernel.batch, parts):
        out = len(batch) * 2 * kernel.degree * _word(s)
        sent = out + len(batch) * kernel.length * 4 + _FRAME
        memory = _own_bytes(p, "ap") + 2 * out
        found.append(Cost(len(batch) * kernel.length * product, key_bytes(p, "ap"), sent, out + _FRAME // 2, memory))
    return found


# ---- kernels -------------------------------------------------------------------------------------


def _placed(p: Preparation[Any], pool: Pool) -> tuple[EvaluationKey, _Key]:
    """The key that `cpu` would take, and the same in the store."""
    known = implementation(type(p.kernel), "cpu")
    assert known is not None
    key = known.prepare(p)
    return key, _Key.put(pool, key)


def _level(params: GateParameters, inputs: Sequence[Any]) -> Sequence[Any]:
    """Kinds, sources, wires and targets, by the library's rules.

    Raises:
        ShapeError, ParameterError: they break one.
    """
    if len(inputs) != 4:
        raise ShapeError(f"{len(inputs)} inputs, where a level of gates has kinds, sources, wires and targets")
    kinds, sources, wires, targets = inputs
    for array, dtype, axes, what in (
        (kinds, np.uint8, 1, "kinds"),
        (sources, np.int32, 2, "sources"),
        (wires, np.uint32, 2, "wires"),
        (targets, np.int32, 1, "targets"),
    ):
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != axes:
            raise ShapeError(f"{what} of a level are an array of {np.dtype(dtype)} with {axes} axes")
    if kinds.max(initial=0) >= len(GateKind):
        raise ParameterError(f"a gate is of kind {int(kinds.max())}; there are {len(GateKind)}")
    if sources.shape != (len(kinds), 3) or targets.shape != kinds.shape or wires.shape[1] != params.n + 1:
        raise ShapeError(f"a level of {len(kinds)} gates has as many rows of 3 sources, and targets")
    if ((sources >= 0) != (np.arange(3) < _ARITY[kinds][:, None])).any():
        raise ShapeError("a gate has more or fewer inputs than its kind takes")
    if max(sources.max(initial=-1), targets.max(initial=-1)) >= len(wires) or targets.min(initial=0) < 0:
        raise ShapeError(f"a gate names a wire that is none of {len(wires)}")
    if len(np.unique(targets)) != len(targets) or np.isin(targets, sources).any():
        raise ShapeError("a wire is written twice in one level, or read while it is written")
    return inputs


class _ShardedLevel(Sharded):
    def place(self, p: Preparation[GateLevelKernel], pool: Pool) -> tuple[EvaluationKey, _Key]:
        return _placed(p, pool)

    def shards(self, r: Execution[GateLevelKernel, tuple[EvaluationKey, _Key]], pool: Pool) -> list[Shard]:
        params, (key, placed) = r.kernel.params, r.state
        kinds, sources, wires, _ = _level(params, r.inputs)
        limit, method, made = 1 << params.log_q, key.method.name.lower(), []
        for chunk in chunks(kinds, sources, pool.workers):
            read, most = _read(chunk, sources), int(_ROTATIONS[kinds[chunk]].sum())
            rows = np.where(sources[chunk] < 0, -1, np.searchsorted(read, sources[chunk])).astype(np.int32)
            check = partial(_checked_gates, chunk, limit, most, (len(chunk), params.n + 1))
            cost = _level_cost(params, method, most, len(chunk), len(read))
            arguments = (placed, kinds[chunk], rows, wires[read])
            made.append(Shard(f"gates {chunk[0]} to {chunk[-1]}", _gates, arguments, check, cost))
        return made

    def combine(
        self, r: Execution[GateLevelKernel, tuple[EvaluationKey, _Key]], results: list[Any]
    ) -> tuple[list[Any], Report]:
        kinds, sources, wires, targets = r.inputs
        for chunk, _, rows in results:
            wires[targets[chunk]] = rows
        free = np.flatnonzero(_ROTATIONS[kinds] == 0)
        if len(free):
            _native.fhew.evaluate(r.state[0], kinds[free], sources[free], wires, targets[free], r.threads)
        rotations = sum(count for _, count, _ in results)
        return [wires], Report(r.device.name, 0.0, operations={"bootstrap": rotations})


class _ShardedChains(Sharded):
    def place(self, p: Preparation[AccumulateKernel], pool: Pool) -> tuple[EvaluationKey, _Key]:
        return _placed(p, pool)

    def shards(self, r: Execution[AccumulateKernel, tuple[EvaluationKey, _Key]], pool: Pool) -> list[Shard]:
        accumulators, indices = r.kernel.checked(r.inputs)
        p = r.kernel.params
        if indices.max(initial=0) >= p.n * p.ap_digits * p.ap_base:
            raise ShapeError(f"key index {int(indices.max())} stands for no key")
        made = []
        workers = pool.workers
        for rows, cost in zip(cut(r.kernel.batch, workers), shard_costs(r.kernel, workers), strict=True):
            part = slice(rows.start, rows.stop)
            given = accumulators[part]
            check = partial(_checked_chains, p.modulus, given.shape, given.dtype)
            arguments = (r.state[1], given, indices[part])
            made.append(Shard(f"chains {rows.start} to {rows.stop - 1}", _chains, arguments, check, cost))
        return made

    def combine(
        self, r: Execution[AccumulateKernel, tuple[EvaluationKey, _Key]], results: list[Any]
    ) -> tuple[list[Any], Report]:
        _, indices = r.kernel.checked(r.inputs)
        p = r.kernel.params
        rows, products = p.a.count + p.b.count, int(np.count_nonzero(indices % p.ap_base))
        operations = {"external_product": products, "ntt": rows * products, "intt": 2 * products}
        return [np.concatenate(results)], Report(r.device.name, 0.0, operations=operations)


register(GateLevelKernel, "ray", _ShardedLevel())
register(AccumulateKernel, "ray", _ShardedChains())
