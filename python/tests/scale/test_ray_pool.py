# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The pool on a real Ray cluster: a head and three node managers on this machine."""

from __future__ import annotations

import gc
import itertools
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ray

from ringforge.devices.sharding import Cost, Shard
from ringforge.errors import (
    ClusterError,
    Error,
    FormatError,
    MemoryLimitError,
    ParameterError,
    ShapeError,
    StorageError,
)
from ringforge.scale import pool as ray_pool
from ringforge.scale.device import RayDevice
from ringforge.scale.pool import RayPool, RayStored
from tests.scale import toys
from tests.scale.clusters import cluster


@pytest.fixture(scope="module")
def device() -> Iterator[RayDevice]:
    with cluster(3) as (_, opened):
        yield opened


@pytest.fixture
def pool(device: RayDevice) -> RayPool:
    """With counts of its own."""
    return RayPool(device.pool.cluster, patience=2)


def shard(name: str, function: Any, *arguments: Any, check: Any = lambda x: x, **cost: Any) -> Shard:
    return Shard(name, function, arguments, check, Cost(**cost))


def sums(pool: RayPool, parts: int = 10) -> tuple[list[Shard], list[int]]:
    """Shards that sum parts of an array, and the sums."""
    array = np.arange(100_000)
    stored = pool.put(array)
    cuts = np.linspace(0, array.size, parts + 1).astype(int).tolist()
    pairs = list(itertools.pairwise(cuts))
    shards = [shard(f"sum {a}", toys.total, stored, a, b, check=toys.whole) for a, b in pairs]
    return shards, [int(array[a:b].sum()) for a, b in pairs]


def gone(path: Path, seconds: float = 20) -> None:
    """Waits until a process has ended, or computes nothing of ours: its number is in the file."""
    place, until = Path(f"/proc/{path.read_text()}/cmdline"), time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if not place.read_bytes() or b"ray::IDLE" in place.read_bytes():
                return
        except OSError:
            return
        time.sleep(0.05)
    raise AssertionError("the worker is still busy")


def appears(path: Path, seconds: float = 30) -> None:
    until = time.monotonic() + seconds
    while not path.exists() or not path.read_bytes():
        assert time.monotonic() < until, f"{path.name} does not appear"
        time.sleep(0.02)


def test_results_are_in_order_and_counted(pool: RayPool) -> None:
    shards, expected = sums(pool)
    seen: list[float] = []
    assert pool.run(shards, seen.append) == expected
    assert pool.workers == 3
    assert seen == sorted(seen)
    assert seen[-1] == 1
    assert dict(pool.counts.shards) == {s.name: 1 for s in shards}
    assert not pool.counts.failures
    assert pool.run([]) == []


def test_workers_are_processes_of_several_nodes(pool: RayPool, tmp_path: Path) -> None:
    found = {}
    for i in range(20):
        shards = [shard(f"{i} {k}", toys.slow, 0.3, str(tmp_path), f"{i}-{k}") for k in range(6)]
        pool.run(shards)
        found = {p.read_text() for p in tmp_path.glob("*.pid")}
        if len(found) == 3:
            break
    assert len(found) == 3
    assert str(os.getpid()) not in found


def test_stored_arrays_are_shared_read_only_and_aligned(pool: RayPool) -> None:
    array = np.arange(50_001)
    stored = pool.put(array)
    assert pool.put(array) is stored
    assert stored.bytes == pytest.approx(array.nbytes, rel=0.01)
    assert pool.run([shard("flags", toys.flags, stored)]) == [(False, False, 0)]
    assert pool.counts.put_bytes == stored.bytes


def test_bytes_are_those_of_what_travels(pool: RayPool) -> None:
    pool.run([shard("words", toys.words, 10_000, sent=60, result=80_000)])
    kind = pool.counts.kinds["tests.scale.toys.words"]
    assert kind.returned == pytest.approx(80_000, rel=0.01)
    assert 0 < kind.sent < 200
    assert kind.seconds > 0


def test_statistics_are_written(pool: RayPool, tmp_path: Path) -> None:
    shards, _ = sums(pool)
    pool.run(shards)
    pool.counts.write(tmp_path / "costs.json")
    written = json.loads((tmp_path / "costs.json").read_text())
    assert written["computed"] == len(shards)
    assert written["kinds"]["tests.scale.toys.total"]["shards"] == len(shards)


def test_a_dropped_value_is_freed(pool: RayPool) -> None:
    for _ in range(12):  # many times what the store holds
        pool.put(np.ones(10_000_000))
        gc.collect()


def test_a_full_store_is_refused(pool: RayPool) -> None:
    kept = [pool.put(np.ones(5_000_000))]
    kept.append(pool.put(np.ones(5_000_000)))
    with pytest.raises(StorageError, match="object-store-memory"):
        pool.put(np.ones(5_000_000))
    kept.clear()
    gc.collect()
    pool.put(np.ones(5_000_000))


def test_memory_that_no_node_has_is_refused(pool: RayPool) -> None:
    with pytest.raises(MemoryLimitError, match="largest node has 4,294,967,296 bytes"):
        pool.run([shard("large", toys.pid, memory=1 << 40)])


def test_workers_keep_what_is_made_until_its_value_is_freed(pool: RayPool) -> None:
    def made(stored: RayStored) -> set[tuple[int, float]]:
        return set(pool.run([shard(f"kept {i}", toys.kept, stored) for i in range(12)]))

    def kept_there() -> list[int]:
        """Of each worker that is asked, how much it keeps."""
        return pool.run([shard(f"held {i}", toys.held) for i in range(12)])

    stored = pool.put(np.ones(10))
    first = made(stored)
    assert len(first) == len({worker for worker, _ in first})
    again = dict(made(stored))
    assert any(again.get(worker) == when for worker, when in first)
    assert max(kept_there()) == 1
    del stored
    gc.collect()
    assert max(kept_there()) == 0


def test_errors_arrive_as_they_are(pool: RayPool) -> None:
    with pytest.raises(ShapeError, match=r"^three rows, where two are needed$"):
        pool.run([shard("refuse", toys.refuse)])
    with pytest.raises(Error, match=r"StrangeError: 1 and 2"):
        pool.run([shard("strange", toys.strange)])
    assert not pool.counts.failures


@pytest.mark.parametrize("how", ["dies", "stops", "wrong"])
def test_what_goes_wrong_once_costs_time_only(pool: RayPool, tmp_path: Path, how: str) -> None:
    shards, expected = sums(pool)
    bad = shard(how, getattr(toys, how), str(tmp_path), how, check=toys.whole)
    assert pool.run([*shards[:4], bad, *shards[4:]]) == [*expected[:4], 7, *expected[4:]]
    assert dict(pool.counts.failures) == {(how, {"dies": "lost", "stops": "hung", "wrong": "wrong"}[how]): 1}
    assert all(count == 1 for count in pool.counts.shards.values())
    assert pool.run(shards) == expected


def test_what_goes_wrong_always_is_said(pool: RayPool) -> None:
    with pytest.raises(Error, match=r"always went wrong 3 times \(process \d+ of node \w+: lost, WorkerCrashed"):
        pool.run([shard("always", toys.always_dies)])

    def never(_: Any) -> Any:
        raise FormatError("no such thing")

    with pytest.raises(Error, match=r"never went wrong 3 times .*wrong, no such thing"):
        pool.run([shard("never", toys.pid, check=never)])


def test_a_worker_killed_in_the_middle_costs_time_only(pool: RayPool, tmp_path: Path) -> None:
    def kill() -> None:
        appears(tmp_path / "a.pid")
        os.kill(int((tmp_path / "a.pid").read_text()), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    assert pool.run([shard("a", toys.slow, 1.5, str(tmp_path), "a")]) == ["done"]
    killer.join()
    assert pool.counts.how_often("lost") == 1


@pytest.mark.parametrize("function", [toys.slow, toys.deaf])
def test_a_run_is_cancelled_within_a_second(pool: RayPool, tmp_path: Path, function: Any) -> None:
    told: list[float] = []

    def progress(_: float) -> bool:
        if not told and (tmp_path / "long.pid").exists():
            told.append(time.monotonic())
        return not told

    with pytest.raises(Error, match=r"^cancelled$"):
        pool.run([shard("long", function, 300.0, str(tmp_path), "long")], progress)
    assert time.monotonic() - told[0] < 1
    gone(tmp_path / "long.pid")
    assert (tmp_path / "long.cancelled").exists() == (function is toys.slow)
    shards, expected = sums(pool)
    assert pool.run(shards) == expected


def test_fractions_of_shards_are_told(pool: RayPool, tmp_path: Path) -> None:
    seen: list[float] = []
    pool.run([shard("slow", toys.slow, 1.5, str(tmp_path), "slow")], seen.append)
    assert len({x for x in seen if 0 < x < 1}) >= 2
    assert seen == sorted(seen)


def test_two_threads_share_a_pool(pool: RayPool) -> None:
    results: list[Any] = []

    def work() -> None:
        shards, expected = sums(pool, 15)
        results.append(pool.run(shards) == expected)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [True, True]


def test_threads_of_a_pool_have_its_workers_together(pool: RayPool, tmp_path: Path) -> None:
    one = RayPool(pool.cluster, workers=1)
    most: list[int] = []

    def work(name: str) -> None:
        shards = [shard(f"{name}{i}", toys.alone, str(tmp_path), f"{name}{i}") for i in range(3)]
        most.extend(one.run(shards))

    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert most == [1] * 6
    assert not one._under_way


def test_a_small_run_does_not_wait_for_all_of_a_large_one(pool: RayPool, tmp_path: Path) -> None:
    ended: list[str] = []

    def work(name: str, count: int) -> None:
        pool.run([shard(f"{name} {i}", toys.slow, 0.3, str(tmp_path), f"{name}-{i}") for i in range(count)])
        ended.append(name)

    large = threading.Thread(target=work, args=("large", 60))
    large.start()
    appears(tmp_path / "large-0.pid")
    work("small", 1)
    assert len(list(tmp_path.glob("large-*.pid"))) < 40
    large.join()
    assert ended == ["small", "large"]


def test_processors_that_others_have_are_waited_for_and_then_it_is_said(
    device: RayDevice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = RayPool(device.pool.cluster, patience=0.2)
    monkeypatch.setattr(ray_pool, "_NOTHING", 2)
    taken = [ray.remote(num_cpus=1)(lambda: time.sleep(60)).remote() for _ in range(pool.workers)]
    time.sleep(1)
    try:
        with pytest.raises(ClusterError, match="has not begun, and no worker has told anything"):
            pool.run([shard("a", toys.slow, 0.0, str(tmp_path), "a")])
    finally:
        for task in taken:
            ray.cancel(task, force=True)


def test_a_fork_is_refused(pool: RayPool) -> None:
    shards, _ = sums(pool)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            pool.run(shards)
        except Error as e:
            os.write(write, str(e).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as f:
        assert b"of which this is a fork" in f.read()
    os.waitpid(child, 0)


def test_fewer_workers_than_there_are(device: RayDevice) -> None:
    one = RayPool(device.pool.cluster, workers=1)
    assert one.workers == 1
    shards, expected = sums(one)
    assert one.run(shards) == expected
    with pytest.raises(ParameterError, match="fewer threads"):
        RayPool(device.pool.cluster, threads=64)
