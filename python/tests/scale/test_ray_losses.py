# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What becomes of a run when a node, the head, or the driver is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ringforge.errors import Error
from tests.psi.processes import environment
from tests.scale import toys
from tests.scale.clusters import cluster
from tests.scale.test_ray_pool import appears, gone, shard, sums

#: Starts a node of its own, and is killed while a worker computes.
DRIVER = """
import sys
from ringforge.devices import open_device
from ringforge.devices.sharding import Shard
from tests.scale import toys
device = open_device("ray:local", cpus=1, store=100_000_000)
device.pool.run([Shard("long", toys.slow, (300.0, sys.argv[1], "long"), str)])
"""


def after(path: Path, action: Any) -> threading.Thread:
    """Does something when a file is there."""

    def work() -> None:
        appears(path)
        action()

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def end_manager(ours: Any, path: Path) -> None:
    """Kills the node manager of a worker, which is its parent; the worker's number is in the file."""
    parent = int(Path(f"/proc/{path.read_text()}/stat").read_text().rpartition(")")[2].split()[1])
    managers = [node.all_processes["raylet"][0].process for node in ours.worker_nodes]
    (process,) = (m for m in managers if m.pid == parent)
    process.kill()
    process.wait()


def named(word: str) -> list[str]:
    """Commands of the processes with this in them."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return [command for command in found if word in command]


@pytest.mark.long
def test_a_lost_node_costs_time_and_a_lost_head_ends_the_run(tmp_path: Path) -> None:
    with cluster(2) as (ours, device):
        pool = device.pool
        shards, expected = sums(pool)
        assert pool.run(shards) == expected
        killer = after(tmp_path / "a.pid", lambda: end_manager(ours, tmp_path / "a.pid"))
        assert pool.run([shard("a", toys.lingers, 100.0, str(tmp_path), "a"), *shards]) == [7, *expected]
        killer.join()
        assert pool.counts.how_often("lost") == 1
        assert pool.counts.shards["a"] == 1
        assert pool.run(shards) == expected

        head = ours.head_node.all_processes["gcs_server"][0].process
        started: list[float] = []

        def kill() -> None:
            started.append(time.monotonic())
            os.kill(head.pid, signal.SIGKILL)

        killer = after(tmp_path / "c.pid", kill)
        with pytest.raises(Error, match=r"the head of the Ray cluster, .* does not answer any more"):
            pool.run([shard("c", toys.slow, 300.0, str(tmp_path), "c")])
        killer.join()
        assert time.monotonic() - started[0] < 30
        with pytest.raises(Error, match="does not answer"):
            pool.put(b"more")


def test_a_killed_driver_leaves_no_worker(tmp_path: Path) -> None:
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(tmp_path)], env=environment(TMPDIR=str(tmp_path)), start_new_session=True
    )
    try:
        appears(tmp_path / "long.pid", 120)
        driver.kill()
        driver.wait()
        gone(tmp_path / "long.pid", 60)
        until = time.monotonic() + 60
        while named(str(tmp_path)):
            assert time.monotonic() < until, named(str(tmp_path))
            time.sleep(0.1)
    finally:
        driver.kill()
