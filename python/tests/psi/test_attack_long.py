# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Three hostile clients at once for a minute, and what that costs an honest one. Run with -s for the figures.

They are paced, so that their own computing, on the same machine, is not what slows the honest client.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ringforge.psi import wire
from ringforge.psi.client import Client
from ringforge.psi.proto import psi_pb2 as pb
from ringforge.psi.remote import Connection, intersect
from ringforge.psi.store import Store
from ringforge.serving import framing
from tests.psi.hostile import Hostile, framed
from tests.psi.processes import PATIENCE, Serving

pytestmark = pytest.mark.long

SECONDS, PAUSE, STREAMS = 60.0, 1.0, 104
TOKENS = ("token-of-the-honest-one", "token-of-who-never-reads", "token-of-the-silent-one")


class Attack:
    """Three threads, until told to end; counts what they have done."""

    def __init__(self, port: int) -> None:
        self._port, self._over = port, threading.Event()
        self.opened = {"without a token": 0, "never reads": 0, "silent": 0}
        self.ended = dict.fromkeys(self.opened, 0)
        self._errors: list[BaseException] = []
        with Connection(f"127.0.0.1:{port}", token=TOKENS[1], timeout=PATIENCE) as c:
            info, _ = c.info()
            self._table = bytes.fromhex(info.digest())
            mine = Client(info, [b"x"])
            mine.finish_prf(c.evaluate_prf(self._table, mine.blinded()))
            self._session = c.open_session(self._table, mine.keys())
            self._request = mine.next_request() or b""
        kinds = (self._without_a_token, self._never_reads, self._silent)
        self._threads = [threading.Thread(target=self._guarded, args=(kind,)) for kind in kinds]

    def _guarded(self, kind: Callable[[], None]) -> None:
        try:
            kind()
        except BaseException as e:
            self._errors.append(e)

    def __enter__(self) -> Attack:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(PATIENCE)
        assert not self._errors, self._errors

    def _note(self, kind: str, opened: int, eve: Hostile) -> None:
        self.opened[kind] += opened
        self.ended[kind] += len(set(eve.statuses) | set(eve.resets))

    def _without_a_token(self) -> None:
        """Connections with 104 streams that have no body, one after the other; the old ones stay open."""
        kept: list[Hostile] = []
        while not self._over.wait(PAUSE):
            eve = Hostile(self._port)
            for i in range(STREAMS):
                eve.open(list(wire.METHODS)[i % len(wire.METHODS)])
            eve.take(0.2)
            self._note("without a token", STREAMS, eve)
            kept.append(eve)
        for eve in kept:
            eve.close()

    def _never_reads(self) -> None:
        """Whole requests for its session, on connections whose windows are zero and stay so."""
        header = pb.QueryHeader(table=self._table, session=self._session, total_bytes=len(self._request))
        body = framed(pb.QueryRequest(header=header))
        body += b"".join(framed(pb.QueryRequest(chunk=c)) for c in framing.chunks(self._request))
        while not self._over.is_set():
            with Hostile(self._port, token=TOKENS[1], window=0) as eve:
                count = 0
                for _ in range(8):
                    stream = eve.open("Query")
                    eve.send(stream, body, PATIENCE)
                    eve.end(stream)
                    count += 1
                while not self._over.is_set() and len(eve.statuses) + len(eve.resets) < count:
                    eve.take(0.2)
                self._note("never reads", count, eve)
            self._over.wait(PAUSE)

    def _silent(self) -> None:
        """All streams that one client may have, and more, without a byte in them; new ones when those are ended."""
        while not self._over.is_set():
            with Hostile(self._port, token=TOKENS[2]) as eve:
                streams = [eve.open(list(wire.METHODS)[i % len(wire.METHODS)]) for i in range(STREAMS)]
                while not self._over.is_set() and len(set(eve.statuses) | set(eve.resets)) < len(streams):
                    eve.take(0.2)
                self._note("silent", len(streams), eve)
            self._over.wait(PAUSE)


def test_an_honest_client_during_an_attack(tmp_path: Path) -> None:
    members = [f"element {i}".encode() for i in range(4000)]
    asked = members[3800:] + [f"other {i}".encode() for i in range(200)]
    Store.build(tmp_path / "table", members, log_bins=10)
    (tmp_path / "tokens").write_text("\n".join(TOKENS))
    (tmp_path / "tokens").chmod(0o600)
    options = ("--token-file", "tokens", "--prf-per-day", 1 << 30, "--bins-per-day", 1 << 30)

    def honest() -> float:
        """A whole run, from connecting to the result."""
        start = time.monotonic()
        with Connection(server.address, token=TOKENS[0], timeout=PATIENCE) as c:
            assert len(intersect(c, asked, threads=2).result.matches) == 200
        return time.monotonic() - start

    def runs(seconds: float) -> list[float]:
        until, found = time.monotonic() + seconds, []
        while time.monotonic() < until:
            found.append(honest())
        return found

    with Serving(tmp_path, *options, threads=0) as server:
        honest()
        before = runs(SECONDS / 3)
        with Attack(server.port) as attack:
            during = runs(SECONDS)
        after = runs(SECONDS / 3)
        memory = server.memory()
        assert server.stop() == 0
        refused = {(e["result"]): 0 for e in server.events("refused")}
        for e in server.events("refused"):
            refused[e["result"]] += e["count"]
        stalled = sum(e["result"] == "stalled" for name in wire.METHODS for e in server.events(name))
    alone = [*before, *after]
    ratio = statistics.median(during) / statistics.median(alone)
    lines = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "alone": f"{len(alone)} runs, median {statistics.median(alone):.3f} s, longest {max(alone):.3f} s",
        "attacked": f"{len(during)} runs in {SECONDS:.0f} s, median {statistics.median(during):.3f} s, longest "
        f"{max(during):.3f} s",
        "ratio of medians": f"{ratio:.2f}",
        "longest over median alone": f"{max(during) / statistics.median(alone):.2f}",
        "hostile streams": json.dumps(attack.opened),
        "of which ended by the server": json.dumps(attack.ended),
        "calls refused at the door": json.dumps(refused),
        "calls ended as stalled": str(stalled),
        "server's memory, most": f"{memory / 2**20:.0f} MiB",
    }
    print()
    for name, text in lines.items():
        print(f"{name:30} {text}")
    assert attack.opened["without a token"] >= 30 * STREAMS
    assert attack.opened["silent"] >= 2 * STREAMS
    assert attack.opened["never reads"] >= 8
    assert ratio <= 2
