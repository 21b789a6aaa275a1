# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Look-ups on the workers of a pool: a query in subtrees of its expansion.

A part is the bins of one group whose numbers end in the same bits. It needs the request's ciphertexts of its group and
its own bins of the table, which is put once in parts; what is expanded in several parts is the way down to them, some
thousandths of the whole. A request whose groups are cut is put once, too. Packed results come back bare: they are
joined, masked by fresh randomness and switched where the query runs, so that no worker decides what a client's reply
is hidden by.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge._native.fhew import Cut
from ringforge.devices import Execution, Preparation, Report, register
from ringforge.devices.base import implementation
from ringforge.devices.sharding import Cost, Pool, Shard, Sharded, Stored, Task, expect
from ringforge.errors import FormatError, ShapeError
from ringforge.psi.kernels import LookupKernel, LookupKeys, LookupTable
from ringforge.psi.table import Arrays

if TYPE_CHECKING:
    from ringforge._native.psi import Plan, SessionKeys

Words = npt.NDArray[np.uint64]

#: What a worker makes the plan of again.
_Numbers: TypeAlias = tuple[Any, ...]

#: Parts for each worker: the last ones to end then keep the others waiting for little.
_PARTS = 4
_DEEPEST = 8
#: Of pickles beside the bytes of their arrays, about: of arguments and of results.
_FRAME, _RESULT_FRAME = 270, 150
#: Seconds of one transform of 2048 words, with what is computed between two of them, on one thread of an AMD EPYC
#: (Milan, AVX2): with a modulus of so many bits at the most, and with longer ones, whose products are of integers.
_TRANSFORM, _SHORT, _TRANSFORM_LONG = 1.2e-5, 50, 1.8e-5


# ---- plans ---------------------------------------------------------------------------------------


def depth(plan: Plan, workers: int) -> int:
    """Stages of the expansion above the parts of a query: enough that every worker has several parts."""
    stages, found = (plan.bins // plan.groups).bit_length() - 1, 0
    while workers > 1 and plan.groups << found < _PARTS * workers and found < min(stages, _DEEPEST):
        found += 1
    return found


def _cells(plan: Plan, arrays: Arrays, below: int) -> list[int]:
    """Cells of each part."""
    counts = np.diff(arrays.offsets).reshape(plan.groups, -1, 1 << below)
    return [int(x) for x in counts.sum(axis=1).reshape(-1)]


def shard_costs(plan: Plan, workers: int, cells: int | Sequence[int] = 0) -> list[Cost]:
    """Costs of a query's shards, without keys and data.

    Args:
        cells: of the table, in all, or in each part.
    """
    return _costs(plan, depth(plan, workers), cells)


def _costs(plan: Plan, below: int, cells: int | Sequence[int]) -> list[Cost]:
    parts = plan.groups << below
    each = [cells // parts] * parts if isinstance(cells, int) else list(cells)
    n, results, counts = 1 << plan.log_n, _native.psi.part_results(plan, below), plan.counts()
    rows, together = rows_bytes(plan), stored_rows(plan, below)
    transform = _TRANSFORM if plan.modulus.bit_length() <= _SHORT else _TRANSFORM_LONG
    seconds = (counts.ntt + counts.intt) * transform * n * plan.log_n / (2048 * 11) / parts
    result = results * 16 * n
    found = []
    for count in each:
        table = 8 * (plan.bins // parts + 1) + count * (4 + 2 * plan.cell_words)
        memory = plan.query_bytes(1) + plan.session_bytes + plan.key_bytes + rows + 2 * result
        sent = _FRAME + (0 if together else rows)
        found.append(Cost(seconds, plan.key_bytes + together + table, sent, result + _RESULT_FRAME, memory))
    return found


def rows_bytes(plan: Plan) -> int:
    """What the parts of one group need of a request: a seed of 32 bytes, and b-parts."""
    return int(32 + plan.outputs * (1 << plan.log_n) * plan.modulus.bit_length() // 8)


def stored_rows(plan: Plan, below: int) -> int:
    """Bytes of a request in the store: where its groups are cut further, all parts of a node share it; a part that
    is alone in its group is sent its own."""
    return rows_bytes(plan) * plan.groups if below else 0


# ---- what travels --------------------------------------------------------------------------------


def _cut_numbers(c: Cut) -> tuple[int, int, int, bool]:
    return c.log_base, c.count, c.drop, c.balanced


def numbers(plan: Plan) -> _Numbers:
    """All that a plan is made of."""
    p = plan
    rebuilt = _cut_numbers(p.reconstruction) if p.algorithm == "ringforge" else None
    return (
        p.algorithm, p.log_n, p.modulus, p.log_bins, p.cell_bits, p.log_cell, p.log_t, p.log_onehot,
        _cut_numbers(p.gadget), tuple(map(_cut_numbers, p.expansion)), rebuilt, p.log_reply, p.insecure,
    )  # fmt: skip


@cache
def plan_of(given: _Numbers) -> Plan:
    """The plan of these numbers, one for each in a process."""
    *small, gadget, expansion, rebuilt, log_reply, insecure = given
    cuts, last = [Cut(*c) for c in expansion], Cut(*rebuilt) if rebuilt else None
    arguments: list[Any] = [*small, Cut(*gadget), cuts, last, log_reply, insecure]
    return _native.psi.Plan(*arguments)


def part_of(plan: Plan, arrays: Arrays, group: int, below: int, prefix: int) -> tuple[Any, Any, Any]:
    """Offsets, cells and words of the bins of a part."""
    size = plan.bins // plan.groups
    bins = group * size + np.arange(prefix, size, 1 << below)
    starts = arrays.offsets[bins].astype(np.int64)
    counts = arrays.offsets[bins + 1].astype(np.int64) - starts
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    at = np.repeat(starts - offsets[:-1], counts) + np.arange(offsets[-1])
    return offsets.astype(np.uint64), np.asarray(arrays.cells)[at], np.asarray(arrays.words)[at]


_TABLES: WeakKeyDictionary[LookupTable, WeakKeyDictionary[Pool, dict[int, list[Stored]]]] = WeakKeyDictionary()
_PUTTING = threading.Lock()


def _put_table(pool: Pool, table: LookupTable, below: int) -> list[Stored]:
    """The table's parts in the store, where they stay as long as the table is used: put once for all sessions."""
    with _PUTTING:
        of_pool = _TABLES.setdefault(table, WeakKeyDictionary()).setdefault(pool, {})
        if below not in of_pool:
            of_pool.clear()  # sessions of another number of workers hold theirs as long as they run
            plan = table.plan
            of_pool[below] = [
                pool.put(part_of(plan, table.arrays, group, below, prefix), object())
                for group in range(plan.groups)
                for prefix in range(1 << below)
            ]
        return of_pool[below]


def _answer(
    task: Task, given: _Numbers, keys: Stored, table: Stored, rows: Stored | bytes, group: int, below: int, prefix: int
) -> Words:
    plan = plan_of(given)
    own = rows if isinstance(rows, bytes) else bytes(task.get(rows)[group])
    opened = task.cached(("psi", keys.name), lambda: _native.psi.SessionKeys(plan, bytes(task.get(keys)), task.threads))
    offsets, cells, words = task.get(table)
    made = _native.psi.evaluate_part(
        opened, own, offsets, cells, words, group, below, prefix, task.threads, task.progress
    )
    return np.asarray(made)


def _checked(shape: tuple[int, ...], modulus: int, result: Any) -> Words:
    """Packed results of a part."""
    words = expect(result, np.ndarray, "a part of a look-up")
    if words.shape != shape or words.dtype != np.uint64:
        raise FormatError(f"a worker returned results {words.dtype} {words.shape}, not uint64 {shape}")
    if int(words.max()) >= modulus:
        raise FormatError(f"a worker returned the coefficient {int(words.max())}, coefficients are below {modulus}")
    return words


def joined(keys: SessionKeys, parts: Sequence[Words], below: int) -> Words:
    """The packed results of a query, (replies, 2, N), of those of its parts."""
    return np.asarray(_native.psi.join_parts(keys, np.ascontiguousarray(parts), below))


def _depth_of(r: Execution[LookupKernel, Any]) -> int:
    return int(len(r.state[2]) // r.kernel.plan.groups).bit_length() - 1


# ---- the kernel ----------------------------------------------------------------------------------


class _ShardedLookup(Sharded):
    def place(self, p: Preparation[LookupKernel], pool: Pool) -> tuple[SessionKeys, Stored, list[Stored], LookupTable]:
        known, given = implementation(LookupKernel, "cpu"), p.keys.of(LookupKeys)
        assert known is not None
        keys, table = known.prepare(p)
        assert given is not None
        parts = _put_table(pool, table, depth(p.kernel.plan, pool.workers))
        return keys, pool.put(np.frombuffer(given.data, np.uint8), given), parts, table

    def shards(self, r: Execution[LookupKernel, Any], pool: Pool) -> list[Shard]:
        if len(r.inputs) != 1 or not isinstance(r.inputs[0], bytes):
            raise ShapeError(f"{len(r.inputs)} inputs, where a lookup takes the bytes of one request")
        # The table is cut for the workers that there were when it was prepared.
        plan, (_, keys, parts, table), below = r.kernel.plan, r.state, _depth_of(r)
        rows, given = _native.psi.cut_request(plan, r.inputs[0]), numbers(plan)
        stored = pool.put([np.frombuffer(x, np.uint8) for x in rows], object()) if below else None
        costs = _costs(plan, below, _cells(plan, table.arrays, below))
        check = partial(_checked, (_native.psi.part_results(plan, below), 2, 1 << plan.log_n), plan.modulus)
        made = []
        for i, (part, cost) in enumerate(zip(parts, costs, strict=True)):
            group, prefix = i >> below, i & ((1 << below) - 1)
            arguments = (given, keys, part, stored or rows[group], group, below, prefix)
            made.append(Shard(f"look-up, group {group}, part {prefix}", _answer, arguments, check, cost))
        return made

    def combine(self, r: Execution[LookupKernel, Any], results: list[Any]) -> tuple[list[Any], Report]:
        plan, (keys, _, _, table) = r.kernel.plan, r.state
        reply = _native.psi.seal_reply(keys, joined(keys, results, _depth_of(r)))
        counts = plan.counts()
        # Substitutions and transforms on the way down to a part are done in every part: no counts of `cpu`.
        operations = {name: int(getattr(counts, name)) for name in ("external_product", "reconstruction", "row")}
        traffic = {"table": table.arrays.bytes, "input": plan.request_bytes, "output": plan.reply_bytes}
        return [reply], Report(r.device.name, 0.0, bytes=traffic, operations=operations)

    def storage(self, state: Any) -> int:
        return int(state[0].bytes)


register(LookupKernel, "ray", _ShardedLookup())
