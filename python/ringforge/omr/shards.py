# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Detection on the workers of a pool: how its kernels are cut, what travels, and what each part costs.

For one worker the affine transform is one shard, and the worker keeps the rotations of the key that it has made.
For several it is cut by limbs: the sums of all giant steps at one limb need that limb of the key's rotations and
no other, so that a worker reads its limbs and the bulletin's diagonals. Then each output's rotations are a shard of
their own; they go over all limbs. Rotations of the key are a chain, made by one worker. Words are those of `cpu`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ringforge._native import GaloisKeys, OpCounts
from ringforge._native.bfv import Ciphertext, Context, Parameters
from ringforge._native.omr import Babies
from ringforge.devices import Execution, Implementation, Preparation, Report, register
from ringforge.devices.frozen import stored, thaw
from ringforge.devices.sharding import Cost, Distant, Pool, Shard, Stored, Task, cut, expect
from ringforge.errors import Error, FormatError, MismatchError, ShapeError
from ringforge.omr.kernels import AffineKernel, AffineShape, BabiesKernel, Bytes
from ringforge.omr.progress import Progress, within

__all__ = ["RemoteBabies", "costs"]

Words = npt.NDArray[np.uint64]

#: Numbers that a context is made of again.
Numbers: TypeAlias = tuple[str, int, int, tuple[int, ...], tuple[int, ...], int, str]

#: Of a stored or returned value beside its arrays, at most; a list has some bytes for each array.
FRAME = 400


# ---- what travels --------------------------------------------------------------------------------


def numbers(context: Context) -> Numbers:
    """What a worker makes the context of again."""
    p = context.params
    return (p.name, p.log_n, p.t, tuple(p.q), tuple(p.p), p.limbs_per_digit, p.insecure)


@cache
def context_of(given: Numbers) -> Context:
    """The context of these numbers, one for each in a process."""
    name, log_n, t, q, p, digit, insecure = given
    return Context(Parameters(name, log_n, t, list(q), list(p), digit, insecure))


@dataclass(frozen=True)
class _Shape:
    """An `AffineShape` that travels."""

    context: Numbers
    columns: int
    outputs: int
    babies: int
    method: str
    limbs: int

    @classmethod
    def of(cls, s: AffineShape) -> _Shape:
        return cls(numbers(s.context), s.columns, s.outputs, s.babies, s.method, s.limbs)

    def opened(self) -> AffineShape:
        return AffineShape(context_of(self.context), self.columns, self.outputs, self.babies, self.method, self.limbs)


def opened_key(task: Task, put: Stored) -> Any:
    """Keys from the store; kept by the worker, with the words that are in the store."""
    return task.cached(("omr key", put.name), lambda: thaw(task.get(put)))


def opened_ciphertext(task: Task, put: Stored) -> Ciphertext:
    """A ciphertext from the store, without a copy: for inputs."""
    made: Ciphertext = thaw(task.get(put), borrow=True)
    return made


# ---- in workers ----------------------------------------------------------------------------------


def _babies(task: Task, shape: _Shape, key: Stored, galois: Stored) -> list[Words]:
    s = shape.opened()
    made = s.native.babies(opened_ciphertext(task, key), opened_key(task, galois), task.threads, task.progress)
    return [np.asarray(made.rows(i)) for i in range(s.limbs)]


def _sums(
    task: Task, shape: _Shape, first: int, diagonals: tuple[Stored, ...], limbs: range, rows: tuple[Stored, ...]
) -> list[list[Words]]:
    given = [task.get(d) for d in diagonals]
    rotations = [task.get(r) for r in rows]
    made = shape.opened().native.sums(first, given, list(limbs), rotations, task.threads, task.progress)
    return [list(np.asarray(limb)) for limb in made]


def _horner(task: Task, shape: _Shape, sums: Stored, galois: Stored) -> Words:
    s, limbs = shape.opened(), task.get(sums)
    keys = opened_key(task, galois)
    steps = [[[limb[g, part] for limb in limbs] for part in (0, 1)] for g in range(len(limbs[0]))]
    return np.asarray(s.native.horner(steps, keys, task.threads, task.progress))


def _whole(
    task: Task,
    shape: _Shape,
    key: Stored,
    babies: Stored,
    giants: Stored | None,
    first: int,
    diagonals: tuple[Stored, ...],
) -> list[Words]:
    s = shape.opened()
    given = [task.get(d) for d in diagonals]
    rotations = task.cached(
        ("omr rotations", key.name, babies.name, shape),
        lambda: s.native.babies(
            opened_ciphertext(task, key),
            opened_key(task, babies),
            task.threads,
            within(task.progress, 0.0, _BABIES_SHARE),
        ),
    )
    told = within(task.progress, _BABIES_SHARE, 1.0)
    galois = GaloisKeys() if giants is None else opened_key(task, giants)
    outputs = s.native.run(rotations, first, given, galois, task.threads, told)
    return [np.stack([[np.asarray(c.limb(part, i)) for i in range(s.limbs)] for part in (0, 1)]) for c in outputs]


def _value(task: Task, put: Stored) -> Any:
    return task.get(put)


# ---- results -------------------------------------------------------------------------------------


def _words(given: Any, shape: tuple[int, ...], primes: Sequence[int], what: str) -> Words:
    """Residues of one limb, or of one after the other along the axis before the last.

    Raises:
        FormatError: they are none.
    """
    words = expect(given, np.ndarray, what)
    if words.dtype != np.uint64 or words.shape != shape or not words.flags.c_contiguous:
        raise FormatError(f"a worker returned {words.dtype}{words.shape} for {what}; uint64{shape} is needed")
    for i, q in enumerate(primes):
        if int((words if len(primes) == 1 else words[..., i, :]).max()) >= q:
            raise FormatError(f"a worker returned words for {what} that are no residues of their prime")
    return words


def _list(given: Any, count: int, what: str) -> list[Any]:
    found = expect(given, list, what)
    if len(found) != count:
        raise FormatError(f"a worker returned {len(found)} arrays for {what}, not {count}")
    return found


# ---- rotations of a key --------------------------------------------------------------------------


class RemoteBabies(Distant):
    """Rotations of a key of signals in the store, limb by limb; or not yet made, where one worker does all.

    Args:
        device: its name. shape: of the transform. key: the encrypted key that they are of.
        galois: keys that they are made with, in the store; None where `rows` are there.
        rows: of each limb, uint64[rotations, 2, N].
    """

    def __init__(
        self, device: str, shape: AffineShape, key: Ciphertext, galois: Stored | None, rows: tuple[Stored, ...] = ()
    ) -> None:
        super().__init__(device)
        self.shape, self.key, self.galois = shape, key, galois
        self._rows, self._lock = rows, threading.Lock()
        self._placed: Stored | None = None

    def placed(self, pool: Pool) -> Stored:
        """The encrypted key in the store, for as long as this is there: workers keep rotations by its name."""
        with self._lock:
            if self._placed is None:
                self._placed = stored(pool, self.key)
            return self._placed

    def rows(self, pool: Pool, progress: Progress | None = None) -> tuple[Stored, ...]:
        """Of each limb, in the store; made once, where there are none yet."""
        with self._lock:
            if not self._rows:
                assert self.galois is not None
                (found,) = pool.run([_rotating(self.shape, self.key, self.galois, pool)], progress)
                # What was put holds no result of the shard, which would lie in the store beside it.
                self._rows = tuple(pool.put(limb, object()) for limb in found)
            return self._rows

    def fetched(self, pool: Pool) -> Babies:
        n, primes = self.shape.context.params.degree, self.shape.context.params.q
        wanted = (self.shape.layout.rotations, 2, n)

        def check(i: int) -> Callable[[Any], Words]:
            return lambda given: _words(given, wanted, [primes[i]], f"limb {i} of rotations of a key")

        rows = pool.run([Shard(f"omr limb {i}", _value, (x,), check(i)) for i, x in enumerate(self.rows(pool))])
        rotations = [[[limb[r, part] for limb in rows] for part in (0, 1)] for r in range(1, len(rows[0]))]
        return self.shape.native.assemble_babies(self.key, rotations)


def _rotating(shape: AffineShape, key: Ciphertext, galois: Stored, pool: Pool) -> Shard:
    """The shard that makes the rotations of a key."""
    n, rotations, primes = shape.context.params.degree, shape.layout.rotations, shape.context.params.q
    mine = [[np.asarray(key.limb(part, i)) for part in (0, 1)] for i in range(shape.limbs)]

    def check(given: Any) -> list[Words]:
        found = _list(given, shape.limbs, "rotations of a key")
        rows = [
            _words(x, (rotations, 2, n), [primes[i]], f"limb {i} of rotations of a key") for i, x in enumerate(found)
        ]
        if not all(np.array_equal(rows[i][0], mine[i]) for i in range(shape.limbs)):
            raise FormatError("a worker returned rotations of another key")
        return rows

    ((cost,),) = costs(BabiesKernel(shape), 2)
    put = stored(pool, key)
    return Shard("omr rotations of a key", _babies, (_Shape.of(shape), put, galois), check, cost)


class _ShardedBabies(Implementation):
    def prepare(self, p: Preparation[BabiesKernel]) -> tuple[GaloisKeys, Stored]:
        return p.keys.galois, stored(p.device.pool, p.keys.galois)

    def run(self, r: Execution[BabiesKernel, tuple[GaloisKeys, Stored]]) -> tuple[list[Any], Report]:
        start, pool, shape, (galois, keys) = time.perf_counter(), r.device.pool, r.kernel.shape, r.state
        key = _key(r.inputs)
        shape.native.check_babies(key, galois)
        made = RemoteBabies(r.device.name, shape, key, keys)
        if pool.workers > 1:
            made.rows(pool, r.progress)
        elif r.progress is not None and r.progress(1.0) is False:
            raise Error("cancelled")
        report = report_of(shape.native.baby_counts())
        return [made], Report(
            r.device.name, time.perf_counter() - start, bytes=report.bytes, operations=report.operations
        )


def _key(inputs: Sequence[Any]) -> Ciphertext:
    if len(inputs) != 1:
        raise ShapeError(f"{len(inputs)} inputs, where the kernel takes one encrypted key of signals")
    if not isinstance(inputs[0], Ciphertext):
        raise MismatchError(f"the kernel takes one encrypted key of signals, not {type(inputs[0]).__name__}")
    return inputs[0]


# ---- affine transform ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Placed:
    """Keys as they were given and in the store, diagonals in the store."""

    galois: GaloisKeys
    keys: Stored | None
    diagonals: tuple[Stored, ...]
    bytes: int


#: Of the time of a worker's first transform: rotations of the key; of one in several shards: sums.
_BABIES_SHARE = 0.25
_SUMS_SHARE = 0.7


class _ShardedAffine(Implementation):
    def prepare(self, p: Preparation[AffineKernel]) -> _Placed:
        pool: Pool = p.device.pool
        diagonals: list[Bytes] = p.kernel.checked(p.operands)
        galois = p.keys.galois
        keys = None
        if p.kernel.count > 1:
            shape = p.kernel.shape
            shape.context.check_key(galois, shape.native.giant_element, shape.limbs)
            keys = stored(pool, galois)
        return _Placed(galois, keys, tuple(pool.put(d) for d in diagonals), sum(d.nbytes for d in diagonals))

    def storage(self, state: _Placed) -> int:
        return state.bytes

    def run(self, r: Execution[AffineKernel, _Placed]) -> tuple[list[Any], Report]:
        start, pool = time.perf_counter(), r.device.pool
        babies = self._babies(r, pool)
        if pool.workers == 1 and babies.galois is not None:
            (outputs,) = pool.run([self._one(r, pool, babies)], r.progress)
            return self._made(r, start, babies, [[list(part) for part in words] for words in outputs])
        sums = pool.run(self._summing(r, pool, babies), within(r.progress, 0.0, _SUMS_SHARE))
        limbs = [limb for part in sums for limb in part]
        del sums
        outputs = self._rotated(r, pool, limbs, within(r.progress, _SUMS_SHARE, 1.0))
        return self._made(r, start, babies, outputs)

    def _made(
        self, r: Execution[AffineKernel, _Placed], start: float, babies: RemoteBabies, outputs: list[list[list[Words]]]
    ) -> tuple[list[Any], Report]:
        """Ciphertexts of the words of each output, [output][part][limb]."""
        kernel = r.kernel
        made = kernel.shape.native.assemble_of(babies.key, kernel.first, kernel.count, outputs)
        report = report_of(kernel.shape.native.run_counts(kernel.first, kernel.count))
        return list(made), Report(
            r.device.name, time.perf_counter() - start, bytes=report.bytes, operations=report.operations
        )

    def _babies(self, r: Execution[AffineKernel, _Placed], pool: Pool) -> RemoteBabies:
        """The input, in the store; held against shard and keys."""
        kernel, shape = r.kernel, r.kernel.shape
        if len(r.inputs) != 1:
            raise ShapeError(f"{len(r.inputs)} inputs, where the kernel takes rotations of a key")
        given = r.inputs[0]
        if isinstance(given, Babies):
            key = shape.native.key_of(given)
            put = tuple(pool.put(np.asarray(given.rows(i))) for i in range(shape.limbs))
            given = RemoteBabies(r.device.name, shape, key, None, put)
        if not isinstance(given, RemoteBabies):
            raise MismatchError(f"the kernel takes rotations of a key, not {type(given).__name__}")
        if given.shape.limbs != shape.limbs or given.shape.layout.rotations != shape.layout.rotations:
            raise ShapeError("the rotations of the key are of another transform: make them for this one")
        shape.native.check_giants(given.key, kernel.first, kernel.count, r.state.galois)
        return given

    def _one(self, r: Execution[AffineKernel, _Placed], pool: Pool, babies: RemoteBabies) -> Shard:
        """All of it, with the rotations of the key."""
        kernel, shape = r.kernel, r.kernel.shape
        wanted = (2, shape.limbs, shape.context.params.degree)

        def check(given: Any) -> list[Words]:
            primes, found = shape.context.params.q[: shape.limbs], _list(given, shape.outputs, "outputs")
            return [_words(x, wanted, primes, f"output {clue}") for clue, x in enumerate(found)]

        key, ((cost,),) = babies.placed(pool), costs(kernel, 1)
        arguments = (_Shape.of(shape), key, babies.galois, r.state.keys, kernel.first, r.state.diagonals)
        return Shard("omr affine transform", _whole, arguments, check, cost)

    def _summing(self, r: Execution[AffineKernel, _Placed], pool: Pool, babies: RemoteBabies) -> list[Shard]:
        # Workers come and go: here there were several, or the rotations are not a worker's own.
        kernel, shape, workers = r.kernel, r.kernel.shape, max(2, pool.workers)
        n, primes, what = shape.context.params.degree, shape.context.params.q, "sums of giant steps"
        travelling, rows = _Shape.of(shape), babies.rows(pool)

        def check(limbs: range, given: Any) -> list[list[Words]]:
            return [
                [
                    _words(x, (kernel.count, 2, n), [primes[i]], f"{what} at limb {i}")
                    for x in _list(of_limb, shape.outputs, what)
                ]
                for i, of_limb in zip(limbs, _list(given, len(limbs), what), strict=True)
            ]

        return [
            Shard(
                f"omr sums, limbs {limbs.start}..{limbs.stop}",
                _sums,
                (travelling, kernel.first, r.state.diagonals, limbs, rows[limbs.start : limbs.stop]),
                lambda given, limbs=limbs: check(limbs, given),  # type: ignore[misc]
                cost,
            )
            for limbs, cost in zip(cut(shape.limbs, workers), costs(kernel, workers)[0], strict=True)
        ]

    def _rotated(
        self, r: Execution[AffineKernel, _Placed], pool: Pool, limbs: list[list[Words]], progress: Progress | None
    ) -> list[list[list[Words]]]:
        """Words of each output, [output][part][limb]."""
        kernel, shape = r.kernel, r.kernel.shape
        keys = r.state.keys
        if keys is None:
            return [[[limb[clue][0, part] for limb in limbs] for part in (0, 1)] for clue in range(shape.outputs)]
        wanted = (2, shape.limbs, shape.context.params.degree)
        shards = [
            Shard(
                f"omr output {clue}",
                _horner,
                (_Shape.of(shape), pool.put([limb[clue] for limb in limbs]), keys),
                lambda given, clue=clue: _words(given, wanted, shape.context.params.q[: shape.limbs], f"output {clue}"),  # type: ignore[misc]
                cost,
            )
            for clue, cost in enumerate(costs(kernel, max(2, pool.workers))[1])
        ]
        limbs.clear()
        return [[list(words[part]) for part in (0, 1)] for words in pool.run(shards, progress)]


def report_of(counts: OpCounts) -> Report:
    """What a kernel counts, by its plan."""
    names = ("ntt", "intt", "mod_up", "mod_down", "key_switch", "rotation", "plain_mul")
    traffic = {"keys": int(counts.key_bytes), "matrix": int(counts.plaintext_bytes)}
    return Report("", 0.0, bytes=traffic, operations={name: int(getattr(counts, name)) for name in names})


# ---- costs ---------------------------------------------------------------------------------------

#: Of one thread of an AMD EPYC (Milan) with AVX2: a transform, for each word and halving; reading a word of a key or of
#: the babies and multiplying with it; what else a key switch does, for each word of its input; a byte that is returned.
_TRANSFORM_NS, _PRODUCT_NS, _SWITCH_NS, _RETURN_NS = 0.45, 0.7, 47.0, 2.0


def nanoseconds(counts: OpCounts, degree: int, limbs: int) -> float:
    """One thread, roughly, for operations at so many limbs."""
    transforms = (counts.ntt + counts.intt) * degree * (degree.bit_length() - 1) * _TRANSFORM_NS
    switches = counts.key_switch * limbs * degree * _SWITCH_NS
    return float(transforms + switches + (counts.key_bytes / 8 + 2 * counts.plain_mul * limbs * degree) * _PRODUCT_NS)


def costs(kernel: BabiesKernel | AffineKernel, parts: int = 1) -> list[list[Cost]]:
    """What the shards of a kernel take, stage by stage: the shards of a stage run beside each other.

    Args:
        parts: workers that there are. One makes the rotations of the key where it does all the rest.
    """
    shape = kernel.shape
    p, layout, native = shape.context.params, shape.layout, shape.native
    n, limbs = p.degree, shape.limbs
    keys = 2 * int(shape.context.gadget.key_bytes(p.max_limbs))
    if isinstance(kernel, BabiesKernel):
        seconds = nanoseconds(native.baby_counts(), n, limbs) / 1e9
        size = int(native.baby_bytes)
        seconds += size * _RETURN_NS / 1e9
        return [] if parts == 1 else [[Cost(seconds, keys + 2 * limbs * n * 8, FRAME, size + FRAME, 2 * size)]]
    first, count = kernel.first, kernel.count
    whole = native.run_counts(first, count)
    diagonals = sum(int(layout.bytes(g)) for g in range(first, first + count))
    row, out = layout.rotations * 2 * n * 8, shape.outputs * count * 2 * n * 8
    products = shape.outputs * sum(int(layout.terms(g)) for g in range(first, first + count))
    transforms = layout.matrices * sum(int(layout.terms(g)) for g in range(first, first + count))
    each = (transforms * (n.bit_length() - 1) * _TRANSFORM_NS + 2 * products * _PRODUCT_NS) * n / 1e9
    room = int(native.run_bytes(first, count, 1))
    if parts == 1:
        babies, given = int(native.baby_bytes), 2 * limbs * n * 8
        seconds = (nanoseconds(native.baby_counts(), n, limbs) + nanoseconds(whole, n, limbs)) / 1e9
        return [[Cost(seconds, keys + given + diagonals, 2 * FRAME, shape.outputs * given, babies + room)]]
    sums = [
        Cost(
            len(x) * (each + out * _RETURN_NS / 1e9),
            diagonals + len(x) * row,
            2 * FRAME,
            len(x) * out + FRAME,
            len(x) * out + room,
        )
        for x in cut(limbs, parts)
    ]
    if count == 1:
        return [sums]
    rotating = nanoseconds(whole, n, limbs) / 1e9 - limbs * each
    one = limbs * count * 2 * n * 8
    result = 2 * limbs * n * 8
    horner = Cost(rotating / shape.outputs, keys + one, 2 * FRAME, result, 6 * result)
    return [sums, [horner] * shape.outputs]


register(BabiesKernel, "ray", _ShardedBabies())
register(AffineKernel, "ray", _ShardedAffine())
