# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A server of AES that computes several requests at a time: what they share, what ends them, what goes on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ringforge.aes import wire
from ringforge.aes.jobs import Servers
from ringforge.aes.service import Kept
from ringforge.devices.sharding import ShardedDevice, Share
from ringforge.errors import Error, MissingKeyError, ParameterError
from ringforge.files import overwriting
from tests.aes.clear_engine import ClearServer
from tests.aes.test_aes_service import KEY, encrypt, folder, loop, opened, plain, sets, state_of
from tests.aes.test_clear_engine import library
from tests.scale.local import LocalPool

__all__ = ["folder"]

TWO = Kept(at_once=2)


class Gate:
    """Holds rounds up. `entered`: counts those that have come to it; `open`: lets all through."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entered, self.open = threading.Semaphore(0), threading.Event()
        original = ClearServer.round

        def held(server: ClearServer, state: Any, i: int, key: list[Any], progress: Any = None) -> Any:
            self.entered.release()
            while not self.open.wait(0.02):
                if progress is not None:
                    progress(0, 16)
            return original(server, state, i, key, progress)

        monkeypatch.setattr(ClearServer, "round", held)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    made = Gate(monkeypatch)
    yield made
    made.open.set()


def right(connection: Any, job: str, path: Path, x: np.ndarray) -> None:
    connection.watch(job)
    with overwriting():
        connection.fetch(job, path)
    assert np.array_equal(opened(path), library(KEY, x, "encrypt"))


def test_two_clients_at_a_time_and_a_third_request_waits(folder: Path, gate: Gate) -> None:
    others = plain()[::-1]
    for name in ("b2", "b3"):
        encrypt(folder / name, others)
    with loop(folder, kept=TWO, tokens=True) as found, found.connect(0) as one, found.connect(1) as two:
        mine, theirs = sets(one, folder), sets(two, folder)
        jobs = [one.submit(*mine, wire.BLOCKS, folder / "b"), two.submit(*theirs, wire.BLOCKS, folder / "b2")]
        assert gate.entered.acquire(timeout=30)
        assert gate.entered.acquire(timeout=30), "both are in a round at a time"
        third = one.submit(*mine, wire.BLOCKS, folder / "b3")
        assert not gate.entered.acquire(timeout=0.3)
        assert state_of(found, third) == "waiting"
        gate.open.set()
        right(one, jobs[0], folder / "x", plain())
        right(two, jobs[1], folder / "y", others)
        right(one, third, folder / "z", others)


def test_requests_with_the_same_keys_share_a_server(folder: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[ClearServer] = []
    original = ClearServer.__init__

    def noted(server: ClearServer, seconds: float = 0.0) -> None:
        made.append(server)
        original(server, seconds)

    monkeypatch.setattr(ClearServer, "__init__", noted)
    encrypt(folder / "b2", plain()[::-1])
    with loop(folder, kept=TWO) as found, found.connect() as c:
        names = sets(c, folder)
        jobs = [c.submit(*names, wire.BLOCKS, folder / name) for name in ("b", "b2")]
        assert all(gate.entered.acquire(timeout=30) for _ in jobs)
        gate.open.set()
        for job, x in zip(jobs, (plain(), plain()[::-1]), strict=True):
            right(c, job, folder / "x", x)
    assert len(made) == 1


def test_what_is_computed_on_one_stream_follows_its_rounds(folder: Path, gate: Gate) -> None:
    """A second request about a stream takes the rounds of the first; cancelled while it waits it ends at once. Another
    stream's is computed meanwhile, of two at a time."""
    encrypt(folder / "b2", plain()[::-1])
    with loop(folder, kept=TWO) as found, found.connect() as c:
        names = sets(c, folder)
        first = c.submit(*names, wire.STREAM, folder / "c")
        assert gate.entered.acquire(timeout=30)
        below, sums = (c.submit(*names, wire.STREAM, folder / "c", x) for x in ("below:97", "sums"))
        other = c.submit(*names, wire.BLOCKS, folder / "b2")
        assert gate.entered.acquire(timeout=30)
        assert [state_of(found, job) for job in (first, below, sums, other)] == ["running", *["waiting"] * 2, "running"]
        assert not gate.entered.acquire(timeout=0.3)
        assert c.cancel(sums)
        with pytest.raises(Error, match="was cancelled"):
            c.watch(sums)
        gate.open.set()
        for job in (first, below, other):
            c.watch(job)
        with overwriting():
            c.fetch(below, folder / "x")
        text = b"a text of thirty-three bytes, all"
        assert opened(folder / "x").tobytes()[: len(text)] == bytes(b < 97 for b in text)
        assert len(found.events("round")) == 11 + 2 * 11, "the stream once, two states of blocks"


def test_one_that_is_cancelled_leaves_the_other(folder: Path, gate: Gate) -> None:
    encrypt(folder / "b2", plain()[::-1])
    with loop(folder, kept=TWO) as found, found.connect() as c:
        names = sets(c, folder)
        jobs = [c.submit(*names, wire.BLOCKS, folder / name) for name in ("b", "b2")]
        assert all(gate.entered.acquire(timeout=30) for _ in jobs)
        assert c.cancel(jobs[0])
        with pytest.raises(Error, match="was cancelled"):
            c.watch(jobs[0])
        gate.open.set()
        right(c, jobs[1], folder / "x", plain()[::-1])


def test_both_go_on_after_a_restart(folder: Path, gate: Gate) -> None:
    encrypt(folder / "b2", plain()[::-1])
    with loop(folder, kept=TWO) as found, found.connect() as c:
        names = sets(c, folder)
        jobs = [c.submit(*names, wire.BLOCKS, folder / name) for name in ("b", "b2")]
        assert all(gate.entered.acquire(timeout=30) for _ in jobs)
    with loop(folder, kept=TWO) as found, found.connect() as c:
        assert all(gate.entered.acquire(timeout=30) for _ in jobs), "both are taken up at a time"
        gate.open.set()
        right(c, jobs[0], folder / "x", plain())
        right(c, jobs[1], folder / "y", plain()[::-1])
        # Round 0 of each was kept.
        assert [e["round"] for e in found.events("round") if e["state"] == 0].count(0) == 0


# ---- keys in memory ------------------------------------------------------------------------------


def test_keys_in_use_stay_and_idle_ones_go_first() -> None:
    read: list[Any] = []

    def make(owner: Any) -> Any:
        if owner == ("c", "gone"):
            raise MissingKeyError("gone")
        read.append(owner)
        return object()

    servers, a, b, c = Servers(2, make), ("c", "a"), ("c", "b"), ("d", "a")
    with servers.using(a) as used:
        with servers.using(a) as again:
            assert again is used
        with servers.using(b):
            pass
        with servers.using(c), servers.using(a) as still:
            assert still is used, "b went, which nobody used"
        with pytest.raises(MissingKeyError), servers.using(("c", "gone")):
            pass
        with servers.using(a) as still:
            assert still is used
    assert read == [a, b, c]
    with servers.using(b), servers.using(c):
        assert len(servers._open) == 2
    assert read == [a, b, c, b, c]


def test_one_at_a_time_is_the_least() -> None:
    with pytest.raises(ParameterError, match="at once: 0; 1 is the least"):
        Kept(at_once=0)


@pytest.mark.parametrize("name", ["bgv", "ltv"])
def test_each_request_has_its_share_of_the_workers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from ringforge.aes.keys import SCHEMES

    where = ShardedDevice("ray:here", LocalPool(workers=4))
    monkeypatch.setattr("ringforge.devices.open_device", lambda _: where)
    shared = SCHEMES[name].on("ray:here", 2)._device  # type: ignore[attr-defined]
    assert isinstance(shared.pool, Share)
    assert shared.pool.workers == 2
    assert SCHEMES[name].on("ray:here")._device is where  # type: ignore[attr-defined]
