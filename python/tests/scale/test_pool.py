# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a pool knows of its store, without a cluster."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

pytest.importorskip("ray")

from ringforge.devices.sharding import Shard
from ringforge.errors import ClusterError, Error, StorageError
from ringforge.scale import pool as ray_pool
from ringforge.scale.cluster import Node
from ringforge.scale.pool import RayPool
from tests.scale import toys

STORE = 100_000


class Joined:
    """Stands for a cluster of one node."""

    home = "node"

    def __init__(self) -> None:
        self.nodes = [Node("node", "here", 2, 1 << 30, STORE)]
        self.forked = False

    def look(self) -> list[Node]:
        return self.nodes

    def answers(self) -> None:
        if self.forked:
            raise Error("this is a fork")


@pytest.fixture(autouse=True)
def stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_pool.ray, "put", lambda _: object())


def opened() -> RayPool:
    return RayPool(Joined())  # type: ignore[arg-type]


def test_values_of_a_cluster_that_was_left_take_no_room_in_the_next() -> None:
    first = opened()
    kept = first.put(bytes(60_000))
    with pytest.raises(StorageError):
        first.put(bytes(60_000))
    assert opened().put(bytes(60_000)).bytes == kept.bytes


def test_values_of_a_cluster_that_was_left_are_refused_in_the_next() -> None:
    """Ray would wait for them: what it calls them is known nowhere."""
    before = opened().put(b"words")
    with pytest.raises(ClusterError, match="sum reads what was stored in a Ray cluster that has been left"):
        opened().send(Shard("sum", toys.total, (before,), lambda x: x), 0, None)


def test_a_fork_is_told_so_while_a_thread_puts() -> None:
    """Of the parent's lock, which nobody gives back here."""
    pool: Any = opened()
    pool.cluster.forked = True
    with ThreadPoolExecutor(1) as threads, pool._lock, pytest.raises(Error, match="this is a fork"):
        threads.submit(pool.put, b"words").result(timeout=10)
