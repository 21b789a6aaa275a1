# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Range check and compression on the workers of a pool.

The range check is one shard for one worker; for several, one for each clue, up to where clues meet, and one for the
rest. Compression is cut by units;
each of its shards makes the rotations times powers again, which all units are summed from.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

from ringforge._native import RelinKey
from ringforge._native.bfv import Ciphertext, Context, Evaluator, Noise
from ringforge._native.omr import CompressionContext, CompressionKeys, CompressionPlan
from ringforge.devices import Execution, Implementation, KeySet, Preparation, Report, register
from ringforge.devices.frozen import Frozen, freeze, stored, thaw
from ringforge.devices.sharding import Cost, Pool, Shard, Sharded, Stored, Task, cut, expect
from ringforge.errors import Error, FormatError, LevelError, MismatchError
from ringforge.omr.check_kernels import CompressionKernel, RangeCheckKernel, compression_keys
from ringforge.omr.pieces import Packed, Piece, pieces
from ringforge.omr.progress import within
from ringforge.omr.range_check import Reg, taken
from ringforge.omr.shards import (
    FRAME,
    Numbers,
    context_of,
    nanoseconds,
    numbers,
    opened_ciphertext,
    opened_key,
    report_of,
)

__all__ = ["costs"]


# ---- in workers ----------------------------------------------------------------------------------


def _piece(task: Task, of: Numbers, piece: Packed, relin: Stored, inputs: tuple[Stored, ...]) -> list[Frozen]:
    context = context_of(of)
    key: RelinKey = opened_key(task, relin)
    given = [opened_ciphertext(task, x) for x in inputs]
    evaluator = Evaluator(context, task.threads)
    return [freeze(c) for c in Piece.unpacked(piece).run(evaluator, key, given, task.progress)]


@cache
def compression_context(of: Numbers) -> CompressionContext:
    """The context of digests that goes with a BFV context."""
    p = context_of(of).params
    return CompressionContext.make(p.log_n, p.t, p.q[:2], p.p[:2], p.insecure)


def _part(
    task: Task,
    of: Numbers,
    size: tuple[int, int],
    keys: Stored,
    u: Stored,
    words: Stored,
    units: range,
) -> bytes:
    small = compression_context(of)
    opened: CompressionKeys = task.cached(
        ("omr compression keys", keys.name),
        lambda: CompressionKeys.from_bytes(task.get(keys), small, task.threads),
    )
    given = opened_ciphertext(task, u)
    plan = CompressionPlan(small, *size)
    made = plan.part(opened, given, task.get(words), units.start, len(units), task.threads, task.progress)
    return bytes(made)


# ---- keys ----------------------------------------------------------------------------------------

_PUT: WeakKeyDictionary[KeySet, WeakKeyDictionary[Pool, dict[str, Stored]]] = WeakKeyDictionary()
_PUTTING = threading.Lock()


def _put_once(pool: Pool, keys: KeySet, name: str, put: Callable[[], Stored]) -> Stored:
    """A key of a set, in the store for as long as the set is used: workers keep what they make of it by its name, and
    kernels are prepared for each bulletin anew."""
    with _PUTTING:
        of_pool = _PUT.setdefault(keys, WeakKeyDictionary()).setdefault(pool, {})
        if name not in of_pool:
            of_pool[name] = put()
        return of_pool[name]


# ---- range check ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Key:
    """As it was given, and in the store."""

    relin: RelinKey
    put: Stored


class _ShardedRangeCheck(Implementation):
    def prepare(self, p: Preparation[RangeCheckKernel]) -> _Key:
        relin = p.kernel.relin(p.keys.relin)
        pool: Pool = p.device.pool
        return _Key(relin, _put_once(pool, p.keys, "relinearisation", lambda: stored(pool, relin)))

    def run(self, r: Execution[RangeCheckKernel, _Key]) -> tuple[list[Any], Report]:
        start, kernel = time.perf_counter(), r.kernel
        pool: Pool = r.device.pool
        inputs = kernel.checked(r.inputs, Ciphertext)
        taken(kernel.program.inputs, inputs)
        for c in inputs:
            if c.key_id != r.state.relin.key_id:
                raise MismatchError("the relinearisation key was made under another secret key than the inputs")
        first, rest = _cut(kernel, pool.workers)
        prices = costs(kernel, 2 if first else 1)
        share = sum(x.seconds for x in prices[0]) / sum(x.seconds for stage in prices for x in stage)
        if first:
            shards = [
                self._shard(f"omr range check, clue {i}", r, pool, piece, [c], cost)
                for i, (piece, c, cost) in enumerate(zip(first, inputs, prices[0], strict=True))
            ]
            made = pool.run(shards, within(r.progress, 0.0, share))
            inputs = [c for results in made for c in results]
        else:
            share = 0.0
        last = self._shard("omr range check, rest", r, pool, rest, inputs, prices[-1][0])
        ((result,),) = pool.run([last], within(r.progress, share, 1.0))
        return [result], Report(r.device.name, time.perf_counter() - start)

    def _shard(
        self,
        name: str,
        r: Execution[RangeCheckKernel, _Key],
        pool: Pool,
        piece: Piece,
        inputs: Sequence[Ciphertext],
        cost: Cost,
    ) -> Shard:
        context, key_id = r.kernel.context, r.state.relin.key_id

        def check(given: Any) -> list[Ciphertext]:
            records = expect(given, list, name)
            if len(records) != len(piece.results):
                raise FormatError(f"a worker returned {len(records)} ciphertexts for {name}, not {len(piece.results)}")
            found = [_checked(context, x, reg, key_id, name) for x, reg in zip(records, piece.results, strict=True)]
            if planned and any(_apart(c.noise, reg.noise) for c, reg in zip(found, piece.results, strict=True)):
                raise FormatError(
                    f"a worker returned a ciphertext of other noise for {name} than follows from its inputs"
                )
            return found

        planned = not any(_apart(c.noise, reg.noise) for c, reg in zip(inputs, piece.inputs, strict=True))

        put = tuple(stored(pool, c) for c in inputs)
        return Shard(name, _piece, (numbers(context), piece.packed(), r.state.put, put), check, cost)


def _apart(a: Noise, b: Noise) -> bool:
    """Whether two differ by more than rounding."""
    return not (abs(a.log_deviation - b.log_deviation) <= 1e-9 and (a.degree, a.reuse) == (b.degree, b.reuse))


def _cut(kernel: RangeCheckKernel, workers: int) -> tuple[list[Piece], Piece]:
    """The pieces for so many workers."""
    program = kernel.program
    return pieces(program) if workers > 1 else ([], Piece(program.inputs, program.ops, (program.result,)))


def _checked(context: Context, record: Any, reg: Reg, key_id: int, what: str) -> Ciphertext:
    """A ciphertext that a worker returned for a register.

    Raises:
        FormatError: it is none, or of others.
    """
    c = expect(thaw(expect(record, Frozen, what), context, check=True), Ciphertext, what)
    if (
        c.limbs != reg.limbs
        or c.size != reg.parts
        or c.key_id != key_id
        or c.t != context.params.t
        or not -math.inf < c.noise.log_deviation <= reg.noise.log_deviation + 1e-9
    ):
        raise FormatError(f"a worker returned a ciphertext of {c.limbs} limbs and {c.size} parts for {what}")
    return c


# ---- compression ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Compression:
    """Keys as they were given, keys and words in the store."""

    given: CompressionKeys
    keys: Stored
    words: Stored
    bytes: int


class _ShardedCompression(Sharded):
    def place(self, p: Preparation[CompressionKernel], pool: Pool) -> _Compression:
        keys, words = compression_keys(p), p.kernel.checked(p.operands)
        _matching(p.kernel)
        put = _put_once(pool, p.keys, "compression", lambda: pool.put(keys.to_bytes(), keys))
        return _Compression(keys, put, pool.put(words, p.operands), words.nbytes)

    def storage(self, state: _Compression) -> int:
        return state.bytes

    def shards(self, r: Execution[CompressionKernel, _Compression], pool: Pool) -> list[Shard]:
        kernel, state = r.kernel, r.state
        u = kernel.input(r.inputs)
        plan = kernel.plan
        if u.limbs != 2:
            raise LevelError(f"compression takes a ciphertext of two limbs, this one has {u.limbs}")
        if u.key_id != state.given.from_id:
            raise MismatchError("the keys of compression belong to another secret key: use keys made together")
        of, put = numbers(kernel.context), stored(pool, u)

        def check(units: range, given: Any) -> bytes:
            try:
                found = plan.part_range(expect(given, bytes, "a part of a digest"))
            except Error as e:
                raise FormatError(f"a worker returned no part of a digest: {e}") from None
            if found != (units.start, len(units)):
                raise FormatError(f"a worker returned units {found} of a digest, not {units}")
            return bytes(given)

        workers = pool.workers  # which come and go
        arguments = (of, (plan.messages, plan.words), state.keys, put, state.words)
        return [
            Shard(
                f"omr compression, units {units.start}..{units.stop}",
                _part,
                (*arguments, units),
                lambda given, units=units: check(units, given),  # type: ignore[misc]
                cost,
            )
            for units, cost in zip(_units(kernel, workers), costs(kernel, workers)[0], strict=True)
        ]

    def combine(self, r: Execution[CompressionKernel, _Compression], results: list[Any]) -> tuple[list[Any], Report]:
        counts = r.kernel.plan.part_counts(r.kernel.first, r.kernel.count)
        return [bytes(r.kernel.plan.joined(results))], report_of(counts)


def _matching(kernel: CompressionKernel) -> None:
    """Refuses a plan that workers would make otherwise.

    Raises:
        MismatchError: it is of other parameters than the context's.
    """
    plan = kernel.plan
    if CompressionPlan(compression_context(numbers(kernel.context)), plan.messages, plan.words).hash != plan.hash:
        raise MismatchError("the plan of the digest is of other parameters than the range check's")


def _units(kernel: CompressionKernel, parts: int) -> list[range]:
    return [range(kernel.first + x.start, kernel.first + x.stop) for x in cut(kernel.count, parts)]


# ---- costs ---------------------------------------------------------------------------------------

#: Nanoseconds of one thread of an AMD EPYC (Milan) with AVX2, for each word and unit of `range_check.weight`.
_WEIGHT_NS = 65.0


def costs(kernel: RangeCheckKernel | CompressionKernel, parts: int = 1) -> list[list[Cost]]:
    """What the shards of a kernel take, stage by stage: the shards of a stage run beside each other.

    Args:
        parts: workers that there are.
    """
    p = kernel.context.params
    n = p.degree
    if isinstance(kernel, CompressionKernel):
        plan = kernel.plan
        held = n * plan.words * 4 + CompressionKeys.saved_bytes(compression_context(numbers(kernel.context)))
        held += 4 * n * 8
        each = 2 * sum(-(-(q - 1).bit_length() * (n // 4) // 8) for q in p.q[:2])  # packed, over the small ring
        return [
            [
                Cost(
                    nanoseconds(plan.part_counts(x.start, len(x)), n, 2) / 1e9,
                    held,
                    FRAME,
                    len(x) * each,
                    int(plan.memory(1)) + n * plan.words * 4,
                )
                for x in _units(kernel, parts)
            ]
        ]
    first, rest = _cut(kernel, parts)
    key = int(kernel.context.gadget.key_bytes(p.max_limbs))

    def cost(piece: Piece) -> Cost:
        taking = sum(reg.parts * reg.limbs * n * 8 for reg in piece.inputs)
        giving = sum(reg.parts * reg.limbs * n * 8 for reg in piece.results)
        sent = FRAME + 40 * len(piece.ops)
        return Cost(piece.weight * n * _WEIGHT_NS / 1e9, key + taking, sent, giving, piece.live * n * 8)

    stages = [[cost(piece) for piece in first]] if first else []
    return [*stages, [cost(rest)]]


register(RangeCheckKernel, "ray", _ShardedRangeCheck())
register(CompressionKernel, "ray", _ShardedCompression())
