# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Gates in the shards of a pool: words of `cpu`, no rotation done twice, costs as they turn out, wrong results."""

from __future__ import annotations

import functools
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ringforge import _native, devices
from ringforge._native import fhew
from ringforge.devices import KeySet, conformance
from ringforge.devices.frozen import freeze
from ringforge.devices.sharding import Shard
from ringforge.errors import Error, FormatError, MismatchError
from ringforge.gates import shards
from ringforge.gates.cases import cases
from ringforge.gates.kernels import AccumulateKernel, GateLevelKernel
from ringforge.gates.kinds import GateKind, shared_rotations
from tests.devices.test_frozen import Store
from tests.scale.local import LocalPool, Worker, device

WHY = "a test"


@pytest.fixture(scope="module")
def secret() -> fhew.SecretKey:
    return fhew.SecretKey(fhew.parameters("gates-toy", WHY), _native.TestSeed(bytes([8]) * 32))


@pytest.fixture(scope="module")
def key(secret: fhew.SecretKey) -> fhew.EvaluationKey:
    return fhew.EvaluationKey.make(secret, fhew.Method.GINX)


@functools.cache
def encrypted(secret: fhew.SecretKey) -> Any:
    return secret.encrypt(np.array([0, 1, 1, 0], np.uint8))


def level(secret: fhew.SecretKey, gates: int, seed: int = 1) -> list[Any]:
    """Gates of all kinds on few wires, so that many carries and sums share, and inputs are equal."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, len(GateKind), gates).astype(np.uint8)
    kinds[: gates // 3] = rng.choice([GateKind.SUM2, GateKind.AND, GateKind.SUM3, GateKind.MAJ3], gates // 3)
    sources = np.full((gates, 3), -1, np.int32)
    for i, kind in enumerate(kinds.tolist()):
        arity = GateKind(kind).arity
        sources[i, :arity] = np.sort(rng.integers(0, 4, arity))
    wires = np.zeros((4 + gates, secret.params.n + 1), np.uint32)
    wires[:4] = encrypted(secret)
    return [kinds, sources, wires, (4 + rng.permutation(gates)).astype(np.int32)]


def run(target: devices.Device, kernel: Any, key: Any, inputs: list[Any]) -> tuple[Any, devices.Report]:
    (out,), report = target.run(target.prepare(kernel, KeySet(own=(key,))), inputs)
    return out, report


@pytest.mark.parametrize("workers", [1, 3])
def test_conformance(workers: int) -> None:
    count = 0
    for kernel in (GateLevelKernel, AccumulateKernel):
        for case in cases(kernel):
            if "toy" not in case.name and case.kernel.params.name != "gates-toy":
                continue
            suite = conformance._Suite(device(workers=workers), case)
            for check in conformance._CHECKS:
                check(suite)
                count += 1
    assert count == 3 * len(conformance._CHECKS)


@pytest.mark.parametrize("method", ["GINX", "AP", "AUTOMORPHISM"])
@pytest.mark.parametrize(("workers", "gates"), [(1, 7), (2, 61), (3, 2), (3, 300), (5, 1)])
def test_levels_have_the_words_and_rotations_of_cpu(
    secret: fhew.SecretKey, method: str, workers: int, gates: int
) -> None:
    held = fhew.EvaluationKey.make(secret, fhew.Method[method])
    kernel = GateLevelKernel(secret.params)
    want, theirs = run(devices.open_device("cpu"), kernel, held, level(secret, gates))
    got, report = run(device(workers=workers), kernel, held, level(secret, gates))
    assert np.array_equal(got, want)
    assert report.operations == theirs.operations


def test_chunks_keep_together_what_shares_and_leave_nothing_out(secret: fhew.SecretKey) -> None:
    kinds, sources, _, _ = level(secret, 500)
    parts = shards.chunks(kinds, sources, 3)
    rotating = np.flatnonzero([GateKind(k).bootstraps > 0 for k in kinds])
    assert np.array_equal(np.sort(np.concatenate(parts)), rotating)

    def shared(rows: Any) -> int:
        return shared_rotations((GateKind(kinds[i]), [w for w in sources[i] if w >= 0]) for i in rows)

    assert sum(map(shared, parts)) == shared(range(500)) > 10
    sizes = [sum(GateKind(kinds[i]).bootstraps for i in p) for p in parts]
    assert len(parts) >= 3
    assert max(sizes) - min(sizes) <= max(sizes) // 2
    assert not shards.chunks(np.array([GateKind.NOT], np.uint8), np.array([[0, -1, -1]], np.int32), 3)


class Weighing(LocalPool):
    """Bytes that travel with each shard, both ways, beside what was predicted."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.sent: list[tuple[int, int]] = []
        self.returned: list[tuple[int, int]] = []
        self.stored: list[tuple[int, int]] = []

    def run(self, shards: Any, progress: Any = None) -> list[Any]:
        def weighed(s: Shard) -> Shard:
            self.sent.append((s.cost.sent, len(pickle.dumps(s.arguments, protocol=5))))
            self.stored.append((s.cost.stored, sum(held.bytes for held in self._put.values())))

            def check(result: Any) -> Any:
                self.returned.append((s.cost.result, len(pickle.dumps(result, protocol=5))))
                return s.check(result)

            return Shard(s.name, s.function, s.arguments, check, s.cost)

        return super().run([weighed(s) for s in shards], progress)


def near(pairs: list[tuple[int, int]]) -> bool:
    return bool(pairs) and all(abs(said - was) <= 0.1 * was for said, was in pairs)


def test_costs_are_what_travels(secret: fhew.SecretKey, key: fhew.EvaluationKey) -> None:
    target = device(workers=2)
    target.pool = pool = Weighing(workers=2)
    inputs = level(secret, 200)
    said = shards.level_costs(secret.params, "ginx", inputs[0], inputs[1], 2)
    run(target, GateLevelKernel(secret.params), key, inputs)
    assert near(pool.sent)
    assert near(pool.returned)
    assert near(pool.stored)
    assert [(c.sent, c.stored) for c in said] == [(a[0], b[0]) for a, b in zip(pool.sent, pool.stored, strict=True)]

    held = fhew.EvaluationKey.make(secret, fhew.Method.AP)
    case = next(c for c in cases(AccumulateKernel) if c.kernel.params.name == "gates-toy")
    target.pool = pool = Weighing(workers=2)
    run(target, case.kernel, held, case.given.inputs())
    assert near(pool.sent)
    assert near(pool.returned)
    assert near(pool.stored)


@pytest.mark.parametrize("name", ["gates-toy", "gates-128"])
@pytest.mark.parametrize("method", ["ginx", "ap", "automorphism"])
def test_keys_in_the_store_are_as_long_as_predicted(name: str, method: str) -> None:
    if (name, method) == ("gates-128", "ap"):
        params = fhew.parameters(name)  # gigabytes: the formula is that of the toy set
        assert shards.key_bytes(params, "ap") > 10 * shards.key_bytes(params)
        return
    owner = fhew.SecretKey(fhew.parameters(name, WHY))
    held = fhew.EvaluationKey.make(owner, fhew.Method[method.upper()])
    was = LocalPool().put(freeze(held)).bytes
    assert abs(shards.key_bytes(owner.params, method) - was) < 100
    said = shards._own_bytes(owner.params, method)
    assert held.spectral_bytes == said if name == "gates-128" else held.spectral_bytes <= said


class Placed(Worker):
    """A task that is given what lies in a store."""

    def __init__(self, store: Store) -> None:
        super().__init__(1, lambda _: True)
        self.store = store

    def get(self, stored: Any) -> Any:  # noqa: ARG002
        return self.store.load()


def test_workers_share_the_words_of_the_key(key: fhew.EvaluationKey) -> None:
    placed = shards._Key.put(LocalPool(), key)
    store = Store(freeze(key))
    thawed = placed.thawed(Placed(store))
    assert all(store.holds(words) for words in freeze(thawed).arrays)


def test_a_worker_with_another_set_is_refused(key: fhew.EvaluationKey) -> None:
    placed = replace(shards._Key.put(LocalPool(), key), hash=bytes(32))
    with pytest.raises(MismatchError, match="install one release on all nodes"):
        placed.thawed(Placed(Store(freeze(key))))


def _spoilt(result: Any) -> list[Any]:
    rotations, rows = result
    high = rows.copy()
    high[0, 0] = 1 << 20
    return [None, (rotations,), (rotations, rows[:-1]), (rotations, rows.astype(np.uint64)), (rotations, high),
            (-1, rows), (1 << 40, rows), ("1", rows), (rotations, rows.tolist())]  # fmt: skip


@pytest.mark.parametrize("which", range(9))
def test_wrong_results_are_computed_again(secret: fhew.SecretKey, key: fhew.EvaluationKey, which: int) -> None:
    kernel = GateLevelKernel(secret.params)
    want, _ = run(devices.open_device("cpu"), kernel, key, level(secret, 20))
    target = device(workers=2, spoil=lambda result: _spoilt(result)[which])
    got, _ = run(target, kernel, key, level(secret, 20))
    assert np.array_equal(got, want)
    assert len(target.pool.ran) == 2 * len(set(target.pool.ran)) > 0


def test_a_check_refuses_accumulators_that_are_none() -> None:
    good = np.zeros((1, 2, 8), np.uint32)
    assert shards._checked_chains(5, good.shape, good.dtype, good) is good
    for bad in (good + np.uint32(5), good[:, :1], good.astype(np.uint64), b"", None):
        with pytest.raises(FormatError, match="a worker returned"):
            shards._checked_chains(5, good.shape, good.dtype, bad)


def test_progress_ends_a_run_and_the_key_is_stored_once(secret: fhew.SecretKey, key: fhew.EvaluationKey) -> None:
    target = device(workers=2)
    handle = target.prepare(GateLevelKernel(secret.params), KeySet(own=(key,)))
    before = level(secret, 20)
    with pytest.raises(Error, match="cancelled"):
        target.run(handle, before, progress=lambda _: False)
    assert not before[2][4:].any()
    target.prepare(GateLevelKernel(secret.params), KeySet(own=(key,)))
    assert len(target.pool._put) == 1
