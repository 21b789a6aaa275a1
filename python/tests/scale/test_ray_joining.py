# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""How a process joins clusters, and what is left when it has left them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ray

from ringforge.devices import open_device
from ringforge.errors import ClusterError, Error, ParameterError
from ringforge.scale import cluster
from tests.psi.processes import environment
from tests.scale.clusters import cluster as running
from tests.scale.test_ray_pool import sums

NODE = "ray:local?cpus=1&store=80000000"


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every test leaves what it joined."""
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    yield
    ray.shutdown()


def opened(name: str, **options: Any) -> Any:
    return open_device(name, **options)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ray:os://head:6379", "names no cluster"),
        ("ray:ray://head:10001", "names no cluster"),
        ("ray:?workers=1", "names no cluster"),
        ("ray:local?workers=1&workers=2", "twice"),
        ("ray:local?workers", "is no option"),
        ("ray:local?threads=0", "is no option"),
        ("ray:local?threads=1.5", "is no option"),
        ("ray:local?what=1", "is no option"),
        ("ray:head:6379?cpus=2", "options of ray:local"),
    ],
)
def test_addresses_that_are_refused(name: str, said: str) -> None:
    """Nothing is started, and no module is imported that an address names."""
    with pytest.raises(ParameterError, match=said):
        open_device(name)
    assert not ray.is_initialized()


@pytest.mark.long
def test_devices_of_one_cluster_are_left_one_by_one() -> None:
    first, second = opened(NODE), opened("ray:local", workers=1)
    place = first.pool.cluster._place
    stored = first.pool.put(b"words")
    with pytest.raises(ParameterError, match="other cpus"):
        opened("ray:local?cpus=2")
    with pytest.raises(ParameterError, match="fewer threads"):
        opened("ray:local?threads=64")
    first.close()
    first.close()
    assert second.pool.put(b"others").bytes
    assert place.is_dir()
    second.close()
    assert not ray.is_initialized()
    assert not place.exists()
    assert not {"RAY_AUTH_MODE", "RAY_AUTH_TOKEN"} & os.environ.keys()

    # What was stored there is gone: who still has it is told so, also when there is a cluster again.
    third = opened(NODE)
    with pytest.raises(Error, match="has been left"):
        first.pool.put(b"more")
    assert third.pool.put(b"more").name != stored.name

    # A program may leave without us.
    ray.shutdown()
    with pytest.raises(Error, match="has been left: open the device anew"):
        third.pool.put(b"last")
    assert opened(NODE).pool.put(b"last").bytes


def test_what_cannot_start_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(**_: Any) -> None:
        raise ConnectionError

    monkeypatch.setattr(cluster.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(cluster.ray, "init", refuse)
    with pytest.raises(Error, match=r"did not start \(ConnectionError: no reason given\).*/dev/shm has room"):
        opened(NODE)
    assert not list(tmp_path.iterdir())
    assert "RAY_AUTH_TOKEN" not in os.environ


def slow(monkeypatch: pytest.MonkeyPatch, times: int) -> list[subprocess.Popen[bytes]]:
    """Has nodes not be there in time so many times. Returns what is left running, each in its own node's directory."""
    started, begin = [], ray.init

    def late(**options: Any) -> Any:
        if len(started) == times:
            return begin(**options)
        program = [sys.executable, "-c", "import time; time.sleep(600)", f"{options['_temp_dir']}/session"]
        started.append(subprocess.Popen(program))
        raise Exception("The current node timed out during startup.\nThis could happen")  # as Ray does

    monkeypatch.setattr(cluster.ray, "init", late)
    return started


def test_a_node_that_is_twice_too_late_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cluster.tempfile, "tempdir", str(tmp_path))
    started = slow(monkeypatch, 2)
    with pytest.raises(Error, match=r"did not start \(Exception: The current node timed out .*not overloaded"):
        opened(NODE)
    assert [process.wait(10) for process in started] == [-signal.SIGKILL] * 2
    assert not list(tmp_path.iterdir())
    assert "RAY_AUTH_TOKEN" not in os.environ


@pytest.mark.long
def test_a_node_that_is_too_late_is_started_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    left = slow(monkeypatch, 1)
    device = opened(NODE)
    shards, expected = sums(device.pool)
    assert device.pool.run(shards) == expected
    assert [process.wait(10) for process in left] == [-signal.SIGKILL]
    device.close()
    assert "RAY_AUTH_TOKEN" not in os.environ


def test_a_head_that_is_silent_from_the_start_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(_: Any) -> None:
        raise ClusterError("silent")

    monkeypatch.setattr(cluster.Cluster, "_look", silent)
    with pytest.raises(ClusterError, match="silent"):
        opened(NODE)
    assert not ray.is_initialized()
    assert "RAY_AUTH_TOKEN" not in os.environ


@pytest.mark.long
def test_more_threads_than_processors_leave_nothing() -> None:
    with pytest.raises(ParameterError, match="fewer threads"):
        opened(f"{NODE}&threads=64")
    assert not ray.is_initialized()


@pytest.mark.long
def test_a_program_that_closes_nothing_leaves_no_directory() -> None:
    program = f"from ringforge.devices import open_device\nprint(open_device({NODE!r}).pool.cluster._place)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert not Path(done.stdout.strip()).exists()


@pytest.mark.long
def test_a_head_that_is_stopped_is_no_endless_wait() -> None:
    with running(1) as (ours, device):
        shards, expected = sums(device.pool)
        assert device.pool.run(shards) == expected
        head = ours.head_node.all_processes["gcs_server"][0].process
        time.sleep(1.1)  # until what is known of the nodes is old
        os.kill(head.pid, signal.SIGSTOP)
        try:
            for most in (20, 3):
                begun = time.monotonic()
                with pytest.raises(ClusterError, match="silent for 10 s"):
                    device.pool.run(shards)
                assert time.monotonic() - begun < most
        finally:
            os.kill(head.pid, signal.SIGCONT)
        time.sleep(6)
        assert device.pool.run(shards) == expected
