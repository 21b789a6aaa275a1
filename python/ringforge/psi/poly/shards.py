# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Polynomials on the workers of a pool: a query in columns, and a column's bundles where there are few columns.

A part needs its column of the request and its bundles of the table. The powers of a column are made in each of its
parts: bundles are cut no further than the workers need. Replies are those of `cpu` in every byte.
"""

from __future__ import annotations

import threading
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from ringforge import _native
from ringforge.devices import Execution, Preparation, Report, register
from ringforge.devices.base import implementation
from ringforge.devices.sharding import Cost, Pool, Shard, Sharded, Stored, Task, cut, expect
from ringforge.errors import FormatError, ShapeError
from ringforge.psi.poly.kernels import PolyKernel, PolyKeys, PolyTable
from ringforge.psi.poly.plan import PlanFields
from ringforge.psi.poly.search import estimate

if TYPE_CHECKING:
    from ringforge._native.psi_poly import Plan

#: What a worker makes the plan of again: fields of `PlanFields` in order, tuples for lists.
_Numbers: TypeAlias = tuple[Any, ...]
_FIELDS = [name for name in PlanFields.model_fields if name != "algorithm"]
#: A column, and a range of its bundles.
_Part: TypeAlias = tuple[int, range]

#: Of a pickle beside the bytes of its arrays, about.
_FRAME = 500


def parts(plan: Plan, workers: int) -> list[_Part]:
    """A query's parts: columns, each in as many ranges of bundles as give every worker one."""
    each = cut(plan.bundles, -(-workers // plan.columns))
    return [(column, bundles) for column in range(plan.columns) for bundles in each]


def _bytes(plan: Plan) -> tuple[int, int]:
    """Of a request's column; of a reply's bundle."""
    n = 1 << plan.log_n
    column = len(plan.sources) * (32 + sum(n * (q - 1).bit_length() // 8 for q in plan.q))
    value = n * (plan.reply_bits - plan.reply_drop) // 8 + n * plan.reply_bits // 8
    return column, (1 + plan.label_words) * value


def shard_costs(plan: Plan, workers: int) -> list[Cost]:
    """Costs of a query's shards, without keys and data; seconds are those of full sub-bins."""
    column, value = _bytes(plan)
    n, block = 1 << plan.log_n, _native.psi_poly.BLOCK
    plain = (1 + plan.label_words) * plan.plain_limbs * (n // block) * (plan.degree + 1) * block * 8
    found = []
    for _, bundles in parts(plan, workers):
        count = len(bundles)
        fields = dict(zip(_FIELDS, numbers(plan), strict=True)) | {"columns": 1, "bundles": count}
        one = PlanFields(**_listed(fields))
        seconds = estimate(one, one.bins * count * plan.degree // 3, 1, plan).online_seconds
        table = count * (plain + 2 * (n // plan.felts))
        memory = plan.session_bytes + plan.query_bytes(1) + plan.key_bytes + count * value
        found.append(Cost(seconds, plan.key_bytes + table, column + _FRAME, count * value, memory))
    return found


def numbers(plan: Plan) -> _Numbers:
    """All that a plan is made of."""
    values = (getattr(plan, name) for name in _FIELDS)
    return tuple(tuple(v) if isinstance(v, list) else v for v in values)


@cache
def plan_of(given: _Numbers) -> Plan:
    """The plan of these numbers, one for each in a process."""
    return _native.psi_poly.Plan(**_listed(dict(zip(_FIELDS, given, strict=True))))


def _listed(fields: dict[str, Any]) -> dict[str, Any]:
    return {k: list(v) if isinstance(v, tuple) else v for k, v in fields.items()}


_TABLES: WeakKeyDictionary[PolyTable, WeakKeyDictionary[Pool, list[tuple[_Part, Stored]]]] = WeakKeyDictionary()
_PUTTING = threading.Lock()


def _put_table(pool: Pool, table: PolyTable) -> list[tuple[_Part, Stored]]:
    """The table's parts in the store, where they stay as long as the table is used: put once for all sessions."""
    with _PUTTING:
        of_pool = _TABLES.setdefault(table, WeakKeyDictionary())
        if pool not in of_pool:
            made = []
            for column, bundles in parts(table.plan, pool.workers):
                at = slice(bundles.start, bundles.stop)
                counts, plain = table.arrays.counts[column, at], table.arrays.plain[column, at]
                value = (np.ascontiguousarray(counts).reshape(-1), np.ascontiguousarray(plain).reshape(-1))
                made.append(((column, bundles), pool.put(value, object())))
            of_pool[pool] = made
        return of_pool[pool]


def _answer(task: Task, given: _Numbers, keys: Stored, table: Stored, column: bytes, count: int) -> bytes:
    plan = plan_of(given)
    opened = task.cached(
        ("psi poly", keys.name), lambda: _native.psi_poly.SessionKeys(plan, bytes(task.get(keys)), task.threads)
    )
    counts, plain = task.get(table)
    return _native.psi_poly.evaluate_part(opened, column, counts, plain, count, task.threads, task.progress)


def _checked(size: int, result: Any) -> bytes:
    """A part's values: any bits are a value, of which a client makes what its elements are."""
    values = expect(result, bytes, "values of polynomials")
    if len(values) != size:
        raise FormatError(f"a worker returned {len(values)} bytes of values, not {size}")
    return values


class _ShardedPoly(Sharded):
    def place(self, p: Preparation[PolyKernel], pool: Pool) -> tuple[Any, Stored, list[tuple[_Part, Stored]], Any]:
        known, given = implementation(PolyKernel, "cpu"), p.keys.of(PolyKeys)
        assert known is not None
        keys, table = known.prepare(p)
        assert given is not None
        return keys, pool.put(np.frombuffer(given.data, np.uint8), given), _put_table(pool, table), table

    def shards(self, r: Execution[PolyKernel, Any], pool: Pool) -> list[Shard]:  # noqa: ARG002
        if len(r.inputs) != 1 or not isinstance(r.inputs[0], bytes):
            raise ShapeError(f"{len(r.inputs)} inputs, where a query takes the bytes of one request")
        plan, (keys, stored, placed, _) = r.kernel.plan, r.state
        columns, given = _native.psi_poly.cut_request(keys, r.inputs[0]), numbers(plan)
        costs = shard_costs(plan, len(placed))
        made = []
        for ((column, bundles), table), cost in zip(placed, costs, strict=True):
            arguments = (given, stored, table, columns[column], len(bundles))
            check = partial(_checked, len(bundles) * _bytes(plan)[1])
            title = f"polynomials, column {column}, bundles {bundles.start} to {bundles.stop - 1}"
            made.append(Shard(title, _answer, arguments, check, cost))
        return made

    def combine(self, r: Execution[PolyKernel, Any], results: list[Any]) -> tuple[list[Any], Report]:
        plan, (keys, _, _, table) = r.kernel.plan, r.state
        reply = _native.psi_poly.seal_reply(keys, b"".join(results))
        traffic = {"table": table.arrays.bytes, "input": plan.request_bytes, "output": plan.reply_bytes}
        operations = {name: int(getattr(plan.counts(), name)) for name in ("row", "reply")}
        return [reply], Report(r.device.name, 0.0, bytes=traffic, operations=operations)

    def storage(self, state: Any) -> int:
        return int(state[0].bytes)


register(PolyKernel, "ray", _ShardedPoly())
