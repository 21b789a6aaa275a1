# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Services whose work a cluster does: answers, quotas, deadlines, clients that go, what stays when they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ringforge.aes import wire
from ringforge.aes.client import Connection as AesConnection
from ringforge.cli import main
from ringforge.devices.sharding import Shard
from ringforge.errors import Error
from ringforge.omr.detector_client import Connection as DetectorConnection
from ringforge.omr.detector_client import key_name
from ringforge.omr.keys import DetectionKey, ReceiverSecret
from ringforge.omr.reading import SecretReader
from ringforge.omr.receiver import Run, Wanted
from ringforge.omr.steps import Request
from ringforge.psi import Server
from ringforge.psi.remote import Connection, intersect
from ringforge.psi.store import Store
from ringforge.scale.device import RayDevice
from ringforge.scale.pool import RayPool
from ringforge.serving.quota import QuotaError
from tests.aes.test_aes_service import KEY
from tests.aes.test_clear_engine import library
from tests.omr.test_detector_process import serving as detector
from tests.omr.world import SMALL, Person, bulletin, new_board, posts, texts
from tests.psi.processes import Serving, environment, query
from tests.psi.serving import real
from tests.scale import toys
from tests.scale.clusters import cluster
from tests.scale.memory import below

PATIENCE = 240
LOCAL = "ray:local?cpus=2&store=300000000"
ELEMENTS = [f"element {i}".encode() for i in range(200)]


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.fixture(scope="module")
def device() -> Iterator[RayDevice]:
    with cluster(2) as (_, opened):
        yield opened


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("table")
    Store.build(folder / "table", {e: b"label of " + e for e in ELEMENTS}, log_bins=8)
    return folder


@pytest.fixture
def short() -> Iterator[Path]:
    """A directory for temporary files, whose name leaves room for those of sockets."""
    with tempfile.TemporaryDirectory(prefix="", dir="/tmp") as place:
        yield Path(place)


def left(place: Path) -> list[Path]:
    """Directories of `ray:local` among temporary files; that of running services stays."""
    return [p for p in place.glob("ringforge-*") if p.name != f"ringforge-{os.getuid()}"]


class Slow(RayPool):
    """A pool whose shards take `seconds` longer, and note whether they are cancelled."""

    def __init__(self, device: RayDevice, place: Path) -> None:
        super().__init__(device.pool.cluster)
        self.place, self.seconds = place, 0.0

    def run(self, shards: Any, progress: Any = None) -> list[Any]:
        return super().run([self._slow(i, s) for i, s in enumerate(shards)], progress)

    def _slow(self, i: int, s: Shard) -> Shard:
        return replace(
            s, function=toys.late, arguments=(self.seconds, str(self.place), f"{i}", s.function, *s.arguments)
        )

    def noted(self, what: str) -> bool:
        return any(self.place.glob(f"*.{what}"))


@pytest.mark.long
def test_queries_quotas_deadlines_and_clients_that_go(device: RayDevice, store: Path, tmp_path: Path) -> None:
    pool = Slow(device, tmp_path)
    server = Server(store / "table", device=RayDevice(device.name, pool))
    asked = [*ELEMENTS[:20], b"a stranger"]
    wanted = {e: b"label of " + e for e in ELEMENTS[:20]}

    def ask(address: str, timeout: float = PATIENCE) -> dict[Any, Any]:
        with Connection(address, timeout=timeout) as c:
            return dict(intersect(c, asked).result.matches)

    with real(server, tmp_path, bins=3 * 256) as service:
        assert ask(service.address) == wanted
        done = pool.counts.shards.total()
        assert done >= 2

        # The client's time is over: shards under way are cancelled, their workers are free.
        pool.seconds = 300.0
        with pytest.raises(Error, match="within 5 seconds"):
            ask(service.address, 5.0)
        wait_for(lambda: pool.noted("cancelled"), 20)
        assert pool.counts.shards.total() == done
        pool.seconds = 0.0
        assert ask(service.address) == wanted
        computed = pool.counts.shards.total()
        with pytest.raises(QuotaError):
            ask(service.address)
        assert pool.counts.shards.total() == computed, "what the quota refuses is not computed"


@pytest.mark.long
@pytest.mark.parametrize("busy", [False, True])
def test_a_server_that_is_told_to_stop_leaves_nothing(store: Path, tmp_path: Path, short: Path, busy: bool) -> None:
    """No process, no directory, and not a line on standard error that is no event."""
    mine = ELEMENTS[:20]
    (tmp_path / "mine").write_text("\n".join(e.decode() for e in mine))
    with Serving(tmp_path, "--device", LOCAL, "--grace", 5, table=str(store / "table"), TMPDIR=str(short)) as server:
        assert len(query(server, tmp_path, "mine")["matches"]) == 20
        there = below(server.process.pid)
        assert any("raylet" in name for name in there.values())
        assert left(short)
        if busy:
            os.kill(next(pid for pid, name in there.items() if "ray::" in name), signal.SIGSTOP)
        begun = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - begun < 20
        assert [e["event"] for e in map(json.loads, server.lines)][-1] == "stopped"
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in there), 20)
    assert not left(short)


@pytest.mark.long
def test_a_detector_on_a_cluster(tmp_path: Path) -> None:
    """A digest, one that is cancelled, the quota; told to stop in the middle of a step it leaves nothing."""
    secret = ReceiverSecret.make(SMALL)
    DetectionKey.make(secret).save(tmp_path / "key")
    found = texts(8)
    with new_board(tmp_path) as board:
        for i in range(4):
            bulletin(board, posts(Person(secret.signal, secret.box), found[2 * i : 2 * i + 2]))
    device = ("--device", "ray:local?cpus=2&store=500000000", "--shards", "2", "--bulletins-per-day", "7")
    process, address = detector(tmp_path, *device)
    try:
        with DetectorConnection(address, timeout=PATIENCE) as c:
            outcome = Run(c, SecretReader(secret), tmp_path / "key", SMALL.entries, Wanted())()
            assert [m.text for m in outcome.messages] == found

        with DetectorConnection(address, timeout=PATIENCE) as c:
            # Four are counted; other windows are new requests, of which three are left.
            name = key_name(tmp_path / "key")
            requests = [
                Request(name, n, d, "messages", 40, 0, SMALL.entries - 1) for n, d in c.info().bulletins.items()
            ]
            jobs = [c.submit(r) for r in requests[:3]]
            assert c.cancel(jobs[2])
            with pytest.raises(Error, match="cancelled"):
                c.watch(jobs[2])
            c.watch(jobs[0])
            assert c.fetch(jobs[0])
            with pytest.raises(QuotaError):
                c.submit(requests[3])
            there = below(process.pid)
            assert any("raylet" in x for x in there.values())
            process.send_signal(signal.SIGTERM)
            assert process.wait(45) == 0
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in there), 20)


@pytest.mark.long
def test_aes_of_two_requests_at_a_time_under_ltv(tmp_path: Path) -> None:
    """By the command: both are right, and nothing stays when it is told to stop."""
    folder, why = tmp_path, "a test"
    (folder / "aes.key").write_bytes(KEY)
    (folder / "aes.key").chmod(0o600)
    secret = ("--secret", folder / "s", "--keys", folder / "k")
    aes("keygen", "--scheme", "ltv", "--set", "ltv-test-aes", "--insecure", why, *secret)
    aes("encrypt", *secret, "--aes-key-file", folder / "aes.key", "--round-keys", folder / "r")
    blocks = np.random.default_rng(5).integers(0, 256, (2, 16, 16), dtype=np.uint8)
    for i, each in enumerate(blocks):
        (folder / f"plain{i}").write_bytes(each.tobytes())
        aes("encrypt", *secret, "--in", folder / f"plain{i}", "--out", folder / f"b{i}")
    command = [sys.executable, "-m", "ringforge.cli", "aes", "serve", "--scheme", "ltv", "--set", "ltv-test-aes"]
    command += ["--insecure", why, "--store", str(folder / "store"), "--listen", "127.0.0.1:0", "--at-once", "2"]
    command += ["--device", LOCAL, "--log", str(folder / "log")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(TMPDIR="/tmp"))
    try:
        assert process.stdout is not None
        address = f"127.0.0.1:{json.loads(process.stdout.readline())['port']}"
        with AesConnection(address, timeout=PATIENCE) as c:
            names = c.put(wire.EVALUATION, folder / "k"), c.put(wire.ROUND_KEYS, folder / "r")
            jobs = [c.submit(*names, wire.BLOCKS, folder / f"b{i}") for i in range(2)]
            for i, job in enumerate(jobs):
                c.watch(job)
                c.fetch(job, folder / f"e{i}")
        there = below(process.pid)
        assert any("raylet" in x for x in there.values())
        process.send_signal(signal.SIGTERM)
        assert process.wait(45) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    rounds = [e["job"] for e in map(json.loads, (folder / "log").read_text().splitlines()) if e["event"] == "round"]
    assert len(rounds) == 22
    for i, each in enumerate(blocks):
        aes("decrypt", *secret, "--in", folder / f"e{i}", "--out", folder / f"d{i}")
        assert (folder / f"d{i}").read_bytes() == library(KEY, each, "encrypt").tobytes()
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in there), 20)


def aes(*words: Any) -> None:
    assert main(["aes", *map(str, words)]) == 0
