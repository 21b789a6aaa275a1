# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Queries in the shards of a pool: bytes of `cpu`, nothing done twice but the way down, costs, wrong results."""

from __future__ import annotations

import gc
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

from ringforge import _native, devices
from ringforge.devices import KeySet, conformance
from ringforge.devices.scaling import Cluster, predict
from ringforge.errors import Error, FormatError
from ringforge.psi import cases, forecast, shards
from ringforge.psi.kernels import LookupKernel, LookupKeys, LookupTable
from ringforge.psi.table import Arrays
from tests.scale.local import LocalPool, Worker, device

SEED = _native.TestSeed(bytes([9]) * 32)


def small(algorithm: str, log_bins: int, log_cell: int) -> Any:
    """Plans in a ring of 256: groups of 256 bins, replies of 256 >> log_cell."""
    made = cases._small() if algorithm == "paper" else cases._small_ringforge()
    numbers = list(shards.numbers(made))
    numbers[3], numbers[5] = log_bins, log_cell
    numbers[4] = 8 - log_cell + 1 + numbers[7]
    return shards.plan_of(tuple(numbers))


class Query:
    """A table with some cells in most bins, keys, and a request."""

    def __init__(self, plan: Any) -> None:
        rng = np.random.default_rng(1)
        rows = [np.sort(rng.choice(plan.cells, int(k), replace=False)) for k in rng.integers(0, 6, plan.bins)]
        cells = np.concatenate(rows).astype(np.uint32)
        words = rng.integers(0, 1 << plan.log_t, (len(cells), plan.cell_words)).astype(np.uint16)
        offsets = np.concatenate([[0], np.cumsum([len(x) for x in rows])]).astype(np.uint64)
        self.plan, self.arrays = plan, Arrays(offsets, cells, words, np.zeros(0, np.uint16))
        self.table = LookupTable(plan, self.arrays)
        self.client = _native.psi.ClientKey(plan, SEED)
        self.data = self.client.evaluation_keys()
        self.keys = _native.psi.SessionKeys(plan, self.data)
        self.request = self.client.query(rng.integers(0, plan.cells, plan.bins).astype(np.uint32))

    def expected(self) -> bytes:
        return bytes(_native.psi.evaluate(self.keys, self.request, self.table.native, fixed_seed_for_tests=SEED))

    def part(self, rows: list[bytes], group: int, below: int, prefix: int, threads: int, counts: Any) -> Any:
        table = shards.part_of(self.plan, self.arrays, group, below, prefix)
        return _native.psi.evaluate_part(self.keys, rows[group], *table, group, below, prefix, threads, counts=counts)


@pytest.fixture
def same_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replies are masked by SEED, so that they are equal in every byte."""
    seal = _native.psi.seal_reply
    monkeypatch.setattr(_native.psi, "seal_reply", lambda keys, packed: seal(keys, packed, SEED))


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_conformance(workers: int) -> None:
    count = 0
    for case in cases.cases(LookupKernel):
        if case.kernel.plan.log_n == 8:
            suite = conformance._Suite(device(workers=workers), case)
            for check in conformance._CHECKS:
                check(suite)
                count += 1
    assert count == 2 * len(conformance._CHECKS)


@pytest.mark.parametrize(
    ("algorithm", "log_bins", "log_cell"),
    [("paper", 1, 0), ("paper", 3, 0), ("ringforge", 3, 4), ("ringforge", 6, 4), ("ringforge", 9, 6)],
)
def test_replies_are_those_of_cpu_in_every_byte(algorithm: str, log_bins: int, log_cell: int) -> None:
    """With the same masks. Each part is computed from what travels alone; counts differ by the way down."""
    q = Query(small(algorithm, log_bins, log_cell))
    plan, stages = q.plan, (q.plan.bins // q.plan.groups).bit_length() - 1
    whole = _native.psi.Counts()
    want = _native.psi.evaluate(q.keys, q.request, q.table.native, 1, None, whole, SEED)
    assert whole == plan.counts()
    rows = _native.psi.cut_request(plan, q.request)
    assert len(rows) == plan.groups
    for below in range(min(stages, 4) + 1):
        for threads in (1, 2):
            counts = _native.psi.Counts()
            parts = [
                q.part(rows, group, below, prefix, threads, counts)
                for group in range(plan.groups)
                for prefix in range(1 << below)
            ]
            packed = _native.psi.join_parts(q.keys, np.ascontiguousarray(parts), below, counts)
            assert _native.psi.seal_reply(q.keys, packed, SEED) == want
            again = plan.groups * plan.outputs * (below * (1 << below) - (1 << below) + 1)
            assert counts.substitution == whole.substitution + again
            for name in ("external_product", "reconstruction", "row"):
                assert getattr(counts, name) == getattr(whole, name)


@pytest.mark.usefixtures("same_masks")
@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_a_query_on_a_pool_and_its_costs(workers: int) -> None:
    q = Query(small("ringforge", 9, 4))
    target = device(workers=workers)
    keys = LookupKeys(q.data)
    handle = target.prepare(LookupKernel(q.plan), KeySet(own=(keys,)), q.table)
    (reply,), _ = target.run(handle, [q.request])
    assert reply == q.expected()
    names = target.pool.ran
    assert len(set(names)) == len(names) >= workers

    # A second session of the same table puts its keys alone.
    before = len(target.pool._put)
    second = target.prepare(LookupKernel(q.plan), KeySet(own=(LookupKeys(q.data),)), q.table)
    assert len(target.pool._put) == before + 1
    del second

    r = devices.base.Execution(target, handle.kernel, handle.state, [q.request], 1, None)
    made = handle.implementation.shards(r, target.pool)
    for s in made:
        sent = len(pickle.dumps(s.arguments, protocol=5))
        result = len(pickle.dumps(s.function(Worker(1, lambda _: True), *s.arguments), protocol=5))
        stored = sum(getattr(given, "bytes", 0) for given in s.arguments)
        for said, was in ((s.cost.sent, sent), (s.cost.result, result), (s.cost.stored, stored)):
            assert abs(said - was) <= 0.1 * was
        assert s.cost.seconds > 0
        assert s.cost.memory > q.plan.session_bytes
    # A request goes with its groups, or is put once for all parts of them: a query leaves one value behind.
    assert len({id(s.arguments[3]) for s in made}) == (q.plan.groups if workers == 1 else 1)
    assert all(isinstance(s.arguments[3], bytes) == (workers == 1) for s in made)
    cells = shards._cells(q.plan, q.arrays, shards.depth(q.plan, workers))
    assert shards.shard_costs(q.plan, workers, cells) == [s.cost for s in made]
    even = shards.shard_costs(q.plan, workers, len(q.arrays.cells))
    assert abs(sum(c.stored for c in even) / sum(s.cost.stored for s in made) - 1) < 0.1


def test_bytes_of_a_query_are_as_explained() -> None:
    """All that is put and sent, of the table and of one query, beside what the stages of `explain` say."""
    q = Query(small("ringforge", 8, 4))
    for workers in (1, 2, 5):
        target: Any = device(workers=workers)
        handle = target.prepare(LookupKernel(q.plan), KeySet(own=(LookupKeys(q.data),)), q.table)
        r = devices.base.Execution(target, handle.kernel, handle.state, [q.request], 1, None)
        made = handle.implementation.shards(r, target.pool)
        put = sum(held.bytes for held in target.pool._put.values())
        sizes = [len(pickle.dumps(s.arguments, protocol=5)) for s in made]
        sent = sum(sizes)
        sizes += [len(pickle.dumps(s.function(Worker(1, lambda _: True), *s.arguments), protocol=5)) for s in made]
        back = sum(sizes) - sent
        cluster, cells = Cluster(workers, per_node=1), len(q.arrays.cells)
        stages = [*forecast._tables(q.plan, cells, workers), *forecast._stages(q.plan, cells, workers)]
        found = [predict([stage], cluster) for stage in stages]
        assert sum(p.put for p in found) == pytest.approx(put + sent, rel=0.1)
        assert found[-1].results == pytest.approx(back, rel=0.1)
        assert found[-1].store == pytest.approx(put + sum(x for x in sizes if x > 100 << 10), rel=0.1)
        # What all parts read goes to the other nodes, of the rest as much as is computed there.
        common = handle.state[1].bytes + (made[0].arguments[3].bytes if workers > 1 else 0)
        moved = (workers - 1) * (common + (put + sent + back - common) / workers)
        assert sum(p.traffic for p in found) == pytest.approx(moved, rel=0.1)


SPOILT = [
    lambda _: None,
    lambda x: x[:, :1],
    lambda x: x.astype(np.int64),
    lambda x: x + np.uint64(1 << 40),
    lambda x: x.tolist(),
]


@pytest.mark.usefixtures("same_masks")
@pytest.mark.parametrize("which", range(len(SPOILT)))
def test_wrong_results_are_computed_again(which: int) -> None:
    q = Query(small("ringforge", 3, 4))
    target: Any = device(workers=2, spoil=SPOILT[which])
    handle = target.prepare(LookupKernel(q.plan), KeySet(own=(LookupKeys(q.data),)), q.table)
    (reply,), _ = target.run(handle, [q.request])
    assert reply == q.expected()
    assert len(target.pool.ran) == 2 * len(set(target.pool.ran)) > 0


def test_cancelling_and_parts_that_are_none() -> None:
    q = Query(small("ringforge", 3, 4))
    target = device(workers=2)
    handle = target.prepare(LookupKernel(q.plan), KeySet(own=(LookupKeys(q.data),)), q.table)
    with pytest.raises(Error, match="cancelled"):
        target.run(handle, [q.request], progress=lambda _: False)
    rows = _native.psi.cut_request(q.plan, q.request)
    offsets, cells, words = shards.part_of(q.plan, q.arrays, 0, 1, 0)
    native = _native.psi

    def attempt(**changes: Any) -> None:
        given = {"rows": rows[0], "offsets": offsets, "cells": cells, "words": words, "group": 0, "depth": 1,
                 "prefix": 0} | changes  # fmt: skip
        native.evaluate_part(q.keys, **given)

    attempt()
    for bad in (
        {"rows": rows[0][:-1]}, {"rows": b""}, {"rows": bytes([255]) * len(rows[0])}, {"offsets": offsets[:-1]},
        {"cells": cells[::-1].copy()}, {"group": 1}, {"depth": 9}, {"prefix": 2}, {"words": words + np.uint16(2)},
    ):  # fmt: skip
        with pytest.raises(Error):
            attempt(**bad)
    with pytest.raises(FormatError):
        native.cut_request(q.plan, q.request[:-1])
    good = np.zeros((2, 1, 2, 256), np.uint64)
    for packed, below in ((good, 3), (good[:1], 1), (good + np.uint64(1 << 40), 1)):
        with pytest.raises(Error):
            native.join_parts(q.keys, packed, below)


def test_a_table_is_stored_as_it_was_cut_last() -> None:
    q = Query(small("ringforge", 3, 4))
    pool = LocalPool(workers=2)
    for below in (1, 2, 1):
        parts = shards._put_table(pool, q.table, below)
        assert list(shards._TABLES[q.table][pool]) == [below]
        assert len(parts) == q.plan.groups << below


def test_a_table_that_is_dropped_leaves_the_store() -> None:
    q = Query(small("ringforge", 3, 4))
    pool = LocalPool(workers=2)
    parts = shards._put_table(pool, q.table, 1)
    assert shards._put_table(pool, q.table, 1) is parts
    table = weakref.ref(q.table)
    del q
    gc.collect()
    assert table() is None
    assert not any(parts is kept for of in shards._TABLES.values() for p in of.values() for kept in p.values())
