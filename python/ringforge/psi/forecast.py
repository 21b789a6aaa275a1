# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What queries take on workers, without keys and a table (`ringforge explain psi`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ringforge.devices.scaling import Stage, Workload
from ringforge.devices.sharding import Cost
from ringforge.errors import ParameterError
from ringforge.psi import planner, shards
from ringforge.psi.choice import lookup_bins
from ringforge.psi.poly import shards as poly_shards
from ringforge.psi.poly.search import suggest

#: Elements of the client, hash functions, and bits of a tag.
_CLIENT, _HASHES, _TAG_BITS = 1 << 13, 3, 64
_DEFAULT = 1 << 20

_POLY_ANSWER = f"{poly_shards.__name__}.{poly_shards._answer.__qualname__}"
_ANSWER = f"{shards.__name__}.{shards._answer.__qualname__}"


def _first(keys: int, tables: list[int]) -> list[Stage]:
    """The parts of the table, put once for all sessions, and the keys of one."""
    put = Stage("table into the store", tuple(Cost(stored=size) for size in tables), stays=True)
    return [put, Stage("keys into the store", (Cost(stored=keys),) * len(tables), keys, kept=sum(tables), stays=True)]


def _query(name: str, function: str, keys: int, rows: int, costs: Sequence[Cost]) -> list[Stage]:
    """A query: its request, of `rows` bytes where it is put, is all that is not there yet."""
    kept = keys + sum(c.stored - keys - rows for c in costs)
    return [Stage(name, tuple(replace(c, stored=rows) for c in costs), rows, 0.0, kept, function)]


def _tables(plan: Any, cells: int, workers: int) -> list[Stage]:
    rows = shards.stored_rows(plan, shards.depth(plan, workers))
    costs = shards.shard_costs(plan, workers, cells)
    return _first(plan.key_bytes, [c.stored - plan.key_bytes - rows for c in costs])


def _stages(plan: Any, cells: int, workers: int) -> list[Stage]:
    rows = shards.stored_rows(plan, shards.depth(plan, workers))
    return _query("look-up", _ANSWER, plan.key_bytes, rows, shards.shard_costs(plan, workers, cells))


def _poly_tables(plan: Any, workers: int) -> list[Stage]:
    return _first(plan.key_bytes, [c.stored - plan.key_bytes for c in poly_shards.shard_costs(plan, workers)])


def _poly_stages(plan: Any, workers: int) -> list[Stage]:
    return _query("polynomials", _POLY_ANSWER, plan.key_bytes, 0, poly_shards.shard_costs(plan, workers))


def workload(name: str, size: int) -> Workload:
    """One query of a client's elements, with its keys.

    Args:
        name: "direct" for integers of 32 bits in 2^14 bins, "oprf" for any elements, "poly" for any elements by
            polynomials; "" takes the first where the set is small enough. size: elements of the server; 0 takes 2^20.

    Raises:
        ParameterError: there is no such mode, or no table holds so many elements.
    """
    count = size or _DEFAULT
    mode = name or ("direct" if count <= 1 << 24 else "oprf")
    if mode == "poly":
        chosen = suggest(count, _CLIENT)
        what = f"{chosen.estimate.queries} queries of {_CLIENT:,} elements against {count:,} by polynomials"
        stages, tables = partial(_poly_stages, chosen.native), partial(_poly_tables, chosen.native)
        return Workload(what, stages, lambda _: chosen.estimate.queries, tables)
    if mode not in ("direct", "oprf"):
        raise ParameterError(f'"{mode[:32]}" is no mode of psi: direct, oprf or poly')
    capacity = 1 << (count - 1).bit_length()
    if mode == "direct":
        fields = planner.choose("direct", capacity, 14, 0, 0, _HASHES, 32, "ringforge")
    else:
        bins = lookup_bins(capacity, _CLIENT)
        fields = planner.choose("oprf", capacity, bins, _TAG_BITS, 0, _HASHES, 0, "ringforge")
    plan = fields.native()
    what = f"one query of up to {_CLIENT:,} elements against {count:,}, mode {mode}, 2^{plan.log_bins} bins"
    return lookups(plan, _HASHES * count, what)


def lookups(plan: Any, cells: int, what: str) -> Workload:
    """One query of a plan, with its keys, on a table of so many cells."""
    return Workload(what, partial(_stages, plan, cells), first=partial(_tables, plan, cells))
