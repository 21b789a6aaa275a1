# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Polynomials in the shards of a pool: the reply of `cpu` in every byte, costs, wrong results, parts that are none."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from ringforge import _native, devices
from ringforge.devices import conformance
from ringforge.errors import Error
from ringforge.psi.poly import shards
from ringforge.psi.poly.cases import cases
from ringforge.psi.poly.kernels import PolyKernel, PolyKeys, PolyTable
from tests.scale.local import Worker, device


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_conformance(workers: int) -> None:
    for case in cases(PolyKernel):
        suite = conformance._Suite(device(workers=workers), case)
        for check in conformance._CHECKS:
            check(suite)


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_costs_and_shards(workers: int) -> None:
    case = cases(PolyKernel)[1]
    plan, given, target = case.kernel.plan, case.given, device(workers=workers)
    handle = target.prepare(case.kernel, given.keys, given.operands)
    r = devices.base.Execution(target, case.kernel, handle.state, given.inputs(), 1, None)
    made = handle.implementation.shards(r, target.pool)
    assert [(c, b) for c, bs in shards.parts(plan, workers) for b in bs] == [(c, b) for c in (0, 1) for b in (0, 1)]
    assert len(made) == (2 if workers <= 2 else 4)
    assert [s.cost for s in made] == shards.shard_costs(plan, workers)
    for s in made:
        sent = len(pickle.dumps(s.arguments, protocol=5))
        result = len(pickle.dumps(s.function(Worker(1, lambda _: True), *s.arguments), protocol=5))
        stored = s.arguments[1].bytes + s.arguments[2].bytes
        for said, was in ((s.cost.sent, sent), (s.cost.result, result), (s.cost.stored, stored)):
            assert abs(said - was) <= 0.1 * was
        assert s.cost.seconds > 0
    before = len(target.pool._put)
    target.prepare(case.kernel, given.keys, given.operands)
    assert len(target.pool._put) == before
    assert isinstance(given.operands, PolyTable)
    assert given.keys.of(PolyKeys) is not None


@pytest.mark.parametrize("spoil", [lambda _: None, lambda x: x[:-1], lambda x: list(x), lambda x: x + b"x"])
def test_wrong_results_are_computed_again(spoil: Any) -> None:
    case = cases(PolyKernel)[0]
    given, cpu, target = case.given, devices.open_device("cpu"), device(workers=3, spoil=spoil)
    (want,), _ = cpu.run(cpu.prepare(case.kernel, given.keys, given.operands), given.inputs())
    handle = target.prepare(case.kernel, given.keys, given.operands)
    (reply,), _ = target.run(handle, given.inputs())
    assert reply == want
    pool: Any = target.pool
    assert len(pool.ran) == 2 * len(set(pool.ran)) > 0
    with pytest.raises(Error, match="cancelled"):
        target.run(handle, given.inputs(), progress=lambda _: False)


def test_parts_that_are_none() -> None:
    case = cases(PolyKernel)[0]
    plan, given, native = case.kernel.plan, case.given, _native.psi_poly
    keys = native.SessionKeys(plan, given.keys.of(PolyKeys).data)
    columns = native.cut_request(keys, given.inputs()[0])
    arrays = given.operands.arrays
    counts, plain = arrays.counts[0, :1].reshape(-1), arrays.plain[0, :1].reshape(-1)
    good = native.evaluate_part(keys, columns[0], counts, plain, 1)
    for column, c, p, count in (
        (columns[0][:-1], counts, plain, 1), (columns[0], counts[:-1], plain, 1), (columns[0], counts, plain[:-1], 1),
        (columns[0], counts, plain, 2), (columns[0], counts, plain, 0), (columns[0], counts + np.uint16(99), plain, 1),
        (b"\xff" * len(columns[0]), counts, plain, 1),
    ):  # fmt: skip
        with pytest.raises(Error):
            native.evaluate_part(keys, column, c, p, count)
    other = native.SessionKeys(plan, native.ClientKey(plan).evaluation_keys())
    with pytest.raises(Error, match="other keys"):
        native.cut_request(other, given.inputs()[0])
    with pytest.raises(Error):
        native.seal_reply(keys, good)
