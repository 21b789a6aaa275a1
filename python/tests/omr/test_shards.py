# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Detection cut for several workers: words of `cpu`, results that are wrong, what travels and how much of it."""

from __future__ import annotations

import functools
import gc
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ringforge._native import TestSeed, io
from ringforge.devices import conformance
from ringforge.devices.frozen import Frozen
from ringforge.devices.sharding import Cost, Shard
from ringforge.errors import Error
from ringforge.omr import check_shards, sets, shards
from ringforge.omr.compress import compression_plan
from ringforge.omr.engine import Engine, encode_diagonals
from ringforge.omr.keys import DetectionKey, ReceiverSecret, bfv_context
from ringforge.omr.pieces import pieces
from ringforge.omr.plan import Plan
from ringforge.omr.range_check import METHODS, Method, in_clear
from tests.scale.local import LocalPool, ShardedDevice, device

_KERNELS = ("BabiesKernel", "AffineKernel", "RangeCheckKernel", "CompressionKernel")
SET = sets.named("test", "tests")


@functools.cache
def secret() -> ReceiverSecret:
    return ReceiverSecret.make(SET, fixed_seed_for_tests=TestSeed(bytes([21]) * 32))


@functools.cache
def key() -> DetectionKey:
    return DetectionKey.make(secret(), fixed_seed_for_tests=TestSeed(bytes([22]) * 32))


@functools.cache
def bulletin() -> tuple[list[Any], Any, Any]:
    """Diagonals, second halves, weights."""
    rng = np.random.default_rng(23)
    a = rng.integers(0, SET.t, (SET.entries, SET.n)).astype(np.uint32)
    b = rng.integers(0, SET.t, (SET.entries, SET.clues)).astype(np.uint32)
    mine = secret().signal.public().signals(5)
    a[:5], b[:5] = mine.a, mine.b
    weights = rng.integers(0, SET.t, (SET.entries, 4)).astype(np.uint32)
    return encode_diagonals(Plan.make(SET), a), b, weights


def work(e: Engine, progress: Any = None) -> tuple[bytes, bytes]:
    """All stages: the result of the range check and a part of a digest, as records."""
    diagonals, b, weights = bulletin()
    u = e.detect(diagonals, b, progress)
    plan = compression_plan(SET, 30, 4)
    return bytes(io.to_bytes(bfv_context(SET), u)), e.compress(plan, u, weights, 0, plan.units)


@functools.cache
def expected() -> tuple[bytes, bytes]:
    return work(Engine(Plan.make(SET), key()))


@pytest.mark.parametrize(
    "workers", [pytest.param(1, marks=pytest.mark.long), 2, pytest.param(3, marks=pytest.mark.long), 40]
)
def test_the_suite_of_devices(workers: int) -> None:
    names = []
    for name, check in conformance.checks(device(workers=workers)):
        if name.startswith(_KERNELS):
            check()
            names.append(name)
    assert len(names) > 60


@pytest.mark.parametrize("workers", [1, 3])
def test_the_whole_work_has_the_words_of_cpu(workers: int) -> None:
    seen: list[float] = []
    assert work(Engine(Plan.make(SET), key(), device=device(workers=workers)), seen.append) == expected()
    assert seen == sorted(seen)
    assert seen[-1] == 1


def _spoilt(value: Any, how: int) -> Any:
    """Something else: of another type, cut off, with words that are no residues, of a stranger."""
    if isinstance(value, list):
        if how == 0:
            return value[:-1]
        return [_spoilt(x, how) for x in value]
    if isinstance(value, np.ndarray):
        if how == 1:
            return value.astype(np.uint32)
        return np.full_like(value, (1 << 64) - 1)
    if isinstance(value, Frozen):
        return replace(value, arrays=tuple(_spoilt(list(value.arrays), how))) if how < 3 else value.facts
    if isinstance(value, bytes):
        return value[:-1] if how < 2 else value[:200] + bytes(100) + value[300:]
    return None


@pytest.mark.parametrize(("workers", "how"), [(1, 0), (1, 1), (1, 2), (3, 0), (3, 1), (3, 2), (3, 3)])
def test_results_that_are_wrong_cost_time_only(workers: int, how: int) -> None:
    pool = LocalPool(workers, spoil=lambda x: {} if how == 3 else _spoilt(x, how))
    assert work(Engine(Plan.make(SET), key(), device=ShardedDevice("ray:here", pool))) == expected()
    assert sorted(pool.ran) == sorted([*set(pool.ran), *set(pool.ran)])


def test_shards_do_not_depend_on_data_or_keys() -> None:
    ran = []
    other = DetectionKey.make(ReceiverSecret.make(SET))
    for k in (key(), other):
        pool = LocalPool(workers=2)
        work(Engine(Plan.make(SET), k, device=ShardedDevice("ray:here", pool)))
        ran.append(sorted(pool.ran))
    assert ran[0] == ran[1]


def test_workers_come_and_go_between_the_rotations_and_their_use() -> None:
    for before, after in ((1, 2), (2, 1)):
        pool = LocalPool(before)
        engine = Engine(Plan.make(SET), key(), device=ShardedDevice("ray:here", pool))
        engine.babies()
        pool.workers = after
        assert work(engine) == expected()


def test_workers_go_in_the_middle_of_a_transform() -> None:
    class Shrinking(LocalPool):
        def run(self, given: Any, progress: Any = None) -> list[Any]:
            made = super().run(given, progress)
            self.workers = 1 if given[0].name.startswith("omr sums") else self.workers
            return made

    assert work(Engine(Plan.make(SET), key(), device=ShardedDevice("ray:here", Shrinking(3)))) == expected()


def test_rotations_in_the_store_hold_no_result_of_a_shard() -> None:
    """Which would lie there, too."""
    babies = Engine(Plan.make(SET), key(), device=device(workers=2)).babies()
    assert len(babies._rows) == Plan.make(SET).shape.limbs
    assert not any(isinstance(row.of, np.ndarray) for row in babies._rows)


@pytest.mark.parametrize("workers", [1, 2])
def test_rotations_of_a_key_are_made_once(workers: int) -> None:
    """For all bulletins: by one worker, which keeps them, or limb by limb in the store."""
    pool = LocalPool(workers)
    engine = Engine(Plan.make(SET), key(), device=ShardedDevice("ray:here", pool))
    assert [work(engine) for _ in range(3)] == [expected()] * 3
    assert pool.made["omr rotations"] + pool.ran.count("omr rotations of a key") == 1


def test_keys_are_put_once_for_all_bulletins_of_a_session() -> None:
    """Workers keep what they make of keys by the names that these were put under."""
    pool = LocalPool(workers=1)
    engine = Engine(Plan.make(SET), key(), device=ShardedDevice("ray:here", pool))
    assert [work(engine) for _ in range(3)] == [expected()] * 3
    assert pool.made["omr compression keys"] == 1
    assert pool.made["omr key"] == 2, "Galois keys, and that of relinearisation"
    assert pool._put
    del engine
    gc.collect()
    assert not pool._put, "keys go with their session"


def test_several_bulletins_at_a_time_share_the_workers() -> None:
    pool = LocalPool(workers=2)
    engine = Engine(Plan.make(SET), key(), device=ShardedDevice("ray:here", pool).shared(2))
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(lambda _: work(engine), range(2))) == [expected()] * 2
    assert sorted(pool.ran) == sorted(2 * ["omr affine transform", "omr range check, rest", pool.ran[-1]])


def test_cancelling() -> None:
    calls: list[float] = []

    def told(done: float) -> bool:
        calls.append(done)
        return len(calls) < 3

    with pytest.raises(Error, match="cancelled"):
        work(Engine(Plan.make(SET), key(), device=device()), told)


class _Watching(LocalPool):
    """Holds costs against what travels."""

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self.held: list[tuple[str, Cost, dict[str, int]]] = []

    def run(self, given: Any, progress: Any = None) -> list[Any]:
        return super().run([self._watched(s) for s in given], progress)

    def _watched(self, s: Shard) -> Shard:
        flat: list[Any] = []

        def walk(x: Any) -> None:
            if isinstance(x, tuple):
                for y in x:
                    walk(y)
            elif hasattr(x, "data") and hasattr(x, "buffers"):
                flat.append(x)

        walk(s.arguments)
        sent = len(pickle.dumps(s.arguments))
        stored = sum({x.name: x.bytes for x in flat}.values())

        def check(result: Any) -> Any:
            back = len(pickle.dumps(result, protocol=5))
            self.held.append((s.name, s.cost, {"sent": sent, "stored": stored, "result": back}))
            return s.check(result)

        return Shard(s.name, s.function, s.arguments, check, s.cost)


@pytest.mark.parametrize("workers", [1, 3])
def test_what_travels_is_predicted(workers: int) -> None:
    pool = _Watching(workers)
    work(Engine(Plan.make(SET), key(), device=ShardedDevice("ray:here", pool)))
    assert len(pool.held) == 3 if workers == 1 else len(pool.held) > 6
    for name, cost, found in pool.held:
        assert found["stored"] == pytest.approx(cost.stored, rel=0.1, abs=4096), name
        assert found["result"] == pytest.approx(cost.result, rel=0.1, abs=4096), name
        assert found["sent"] == pytest.approx(cost.sent, rel=0.1, abs=8192), name
        assert cost.seconds > 0
        assert cost.memory > 0


@pytest.mark.parametrize("method", METHODS)
def test_pieces_are_the_program(method: Method) -> None:
    program = Plan.make(SET, method).program
    first, rest = pieces(program)
    assert len(first) == SET.clues
    assert sorted(op.out.index for piece in [*first, rest] for op in piece.ops) == [op.out.index for op in program.ops]
    rng = np.random.default_rng(1)
    for values in ([0, 0], [SET.range, -SET.range], [SET.range + 1, 0], rng.integers(0, SET.t, 2).tolist()):
        assert in_clear(program, values, SET.t) == all(
            abs((v + SET.t // 2) % SET.t - SET.t // 2) <= SET.range for v in values
        )


def test_no_secret_is_put_into_the_store() -> None:
    kept: list[bytes] = []

    class Listening(LocalPool):
        def put(self, value: Any, of: Any = None, version: Any = None) -> Any:
            held = super().put(value, of, version)
            kept.extend([held.data, *held.buffers])
            return held

    work(Engine(Plan.make(SET), key(), device=ShardedDevice("ray:here", Listening())))
    record = bytes(io.to_bytes(bfv_context(SET), secret().bfv))
    pieces_of = [record[i : i + 24] for i in range(200, len(record) - 100, 97)]
    pieces_of += [secret().signal.secret_bytes()[:24], secret().box.secret_bytes()[:24]]
    everything = b"".join(kept)
    assert not any(x in everything for x in pieces_of)
    kept.append(record)
    assert all(x in b"".join(kept) for x in pieces_of[:3])


def test_costs_need_no_keys() -> None:
    from ringforge.omr.check_kernels import CompressionKernel, RangeCheckKernel
    from ringforge.omr.kernels import AffineKernel, BabiesKernel

    plan = Plan.make(sets.named("ringforge"))
    digest = compression_plan(plan.set, 254, 1 + plan.set.payload_words)
    context = plan.shape.context
    assert shards.costs(BabiesKernel(plan.shape)) == []
    assert len(shards.costs(BabiesKernel(plan.shape), 2)[0]) == 1
    sums, horner = shards.costs(AffineKernel(plan.shape, 0, plan.giants), 16)
    assert (len(sums), len(horner)) == (16, plan.set.clues)
    assert [len(x) for x in check_shards.costs(RangeCheckKernel(context, plan.program), 2)] == [2, 1]
    assert [len(x) for x in check_shards.costs(RangeCheckKernel(context, plan.program))] == [1]
    assert len(check_shards.costs(CompressionKernel(context, digest, 0, digest.units), 16)[0]) == 16
