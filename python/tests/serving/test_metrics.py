# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The endpoint of `--metrics`: its numbers against what was done, what is not in them, and who is answered."""

from __future__ import annotations

import bisect
import hashlib
import json
import random
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

from ringforge.errors import Error, FormatError, ParameterError
from ringforge.psi import wire
from ringforge.psi.proto import psi_pb2 as psi
from ringforge.psi.remote import Connection
from ringforge.serving import framing, web
from ringforge.serving.access import Tokens
from ringforge.serving.meter import BOUNDS, Meter
from ringforge.serving.quota import Quota
from ringforge.serving.status import Load, Method, Status
from ringforge.serving.web import Web, metrics_address
from tests.psi import loopback
from tests.psi.loopback import BINS, KEY_BYTES, REPLY_BYTES, REQUEST_BYTES, exchange, keys, request, wait_for
from tests.serving.telling import Told, ask, told

TOKENS = ["first-client-" + "a" * 20, "other-client-" + "b" * 20]


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Told]:
    with told(tmp_path, monkeypatch) as found:
        yield found


# ---- numbers -------------------------------------------------------------------------------------


def test_calls_times_and_bytes(service: Told) -> None:
    """Counts are those of the calls, bytes those of the messages, and the histogram is one."""
    for who in range(3):
        exchange(service.loop, who)
    # A call is counted when its thread ends, a moment after its answer is read.
    wait_for(lambda: service.metrics().get(("ringforge_calls_total", "CloseSession", "ok")) == 3)
    wait_for(lambda: service.metrics()["ringforge_calls_under_way",] == 0)
    m = service.metrics()
    for method in ("OpenSession", "Query", "CloseSession"):
        assert m["ringforge_calls_total", method, "ok"] == 3
        buckets = [v for k, v in m.items() if k[0] == "ringforge_call_seconds_bucket" and method in k]
        assert sorted(buckets) == buckets
        assert buckets[-1] == m["ringforge_call_seconds_count", method] == 3
        assert m["ringforge_call_seconds_sum", method] > 0
    for what, size in (("OpenSession", KEY_BYTES), ("Query", REQUEST_BYTES)):
        assert 3 * size < m["ringforge_received_bytes_total", what] < 3 * size + 1000
    assert 3 * REPLY_BYTES < m["ringforge_sent_bytes_total", "Query"] < 3 * REPLY_BYTES + 10_000
    took = [e["seconds"] for e in service.loop.events("Query")]
    assert m["ringforge_call_seconds_sum", "Query"] == pytest.approx(sum(took), rel=1e-3, abs=1e-4)
    assert service.status()["load"]["methods"]["Info"]["outcomes"] == {}


def test_outcomes_are_fixed_words(service: Told) -> None:
    """Refusals by their kind; a fault without its place; what is refused at the door takes no time."""
    loopback.status(service.loop, "Query", [b"\xff"])
    blinded = psi.PrfRequest(table=service.loop.table, blinded=bytes(range(32))).SerializeToString()
    service.loop.server.fault = RuntimeError("secret words of a fault")
    assert loopback.status(service.loop, "EvaluatePrf", [blinded])[0] is grpc.StatusCode.INTERNAL
    wait_for(lambda: ("ringforge_calls_total", "EvaluatePrf", "fault") in service.metrics())
    m = service.metrics()
    assert m["ringforge_calls_total", "Query", "FormatError"] == 1
    assert m["ringforge_calls_total", "EvaluatePrf", "fault"] == 1
    text = service.ask("/metrics").body + service.ask("/status").body
    assert b"secret words" not in text
    assert b".py" not in text


def test_refusals_at_the_door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with told(tmp_path, monkeypatch, tokens=Tokens(TOKENS)) as service:
        for _ in range(5):
            assert loopback.status(service.loop, "Info", [b""])[0] is grpc.StatusCode.UNAUTHENTICATED
        wait_for(lambda: service.metrics().get(("ringforge_calls_total", "Info", "AccessError")) == 5)
        m = service.metrics()
        assert m["ringforge_call_seconds_count", "Info"] == 0
        assert m["ringforge_calls_under_way",] == 0


def test_queue_and_progress_during_queries(service: Told) -> None:
    """One computes, two wait: the queue says so, and progress moves while nobody is asked."""
    loop = service.loop
    loop.server.gate.clear()
    with ThreadPoolExecutor(3) as pool:
        asking = [pool.submit(exchange, loop, who) for who in range(3)]
        wait_for(lambda: service.metrics()["ringforge_queue_length", "queries"] == 2)
        wait_for(lambda: ("ringforge_work_progress_ratio", "0", "Query") in service.metrics())
        m = service.metrics()
        assert m["ringforge_queue_limit", "queries"] == 32
        assert m["ringforge_work_under_way", "Query"] == 1
        assert m["ringforge_calls_under_way",] == 3
        assert m["ringforge_used", "sessions"] == 3
        assert m["ringforge_used", "memory"] == 3 * (KEY_BYTES + REQUEST_BYTES + REPLY_BYTES)
        wait_for(lambda: service.metrics()["ringforge_work_progress_ratio", "0", "Query"] > 0.5)
        work = service.status()["load"]["work"]
        assert [t["waiting"] for t in work] == [0, 1, 2]
        assert work[0]["seconds_left"] > 0
        assert all(t["what"] == "Query" for t in work)
        loop.server.gate.set()
        for a in asking:
            a.result(60)
    wait_for(lambda: service.metrics()["ringforge_used", "memory"] == 0)
    assert not service.status()["load"]["work"]


def test_quotas_are_sums(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with told(tmp_path, monkeypatch, tokens=Tokens(TOKENS), bins=10 * BINS) as service:
        for who, token in enumerate([*TOKENS, TOKENS[0]]):
            exchange(service.loop, who, token=token)
        wait_for(lambda: service.metrics()["ringforge_quota_used_today", "bins"] == 3 * BINS)
        m = service.metrics()
        assert m["ringforge_quota_clients_today", "bins"] == 2
        assert m["ringforge_quota_limit_each", "bins"] == 10 * BINS
        assert m["ringforge_quota_used_today", "prf"] == 0


def test_sums_of_quotas_against_the_clients(tmp_path: Path) -> None:
    """`used` is the sum over clients of what `left` lacks, of today alone."""
    now = [86_400.0 * 20_000]
    quota = Quota(tmp_path / "q", {"prf": 1000, "bins": 50}, clock=lambda: now[0])
    clients = [quota.client(f"token:{i}") for i in range(4)]
    rng = random.Random(3)
    for _ in range(40):
        quota.charge(rng.choice(clients), rng.choice(["prf", "bins"]), rng.randrange(1, 4))
    lacking = {k: [quota.limits[k] - quota.left(c)[k] for c in clients] for k in quota.limits}
    assert quota.used() == {k: (sum(v), sum(x > 0 for x in v)) for k, v in lacking.items()}
    now[0] += 86_400
    assert quota.used() == {}
    quota.close()


def test_nothing_of_clients_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No token, name, address, session, table of them, or what they sent, in any form that is told."""
    seen = []

    class Noting(Connection):
        def open_session(self, *args: Any, **options: Any) -> bytes:
            seen.append(super().open_session(*args, **options))
            return seen[-1]

    monkeypatch.setattr(loopback, "Connection", Noting)
    with told(tmp_path, monkeypatch, tokens=Tokens(TOKENS)) as service:
        for who, token in enumerate(TOKENS):
            exchange(service.loop, who, token=token)
        wait_for(lambda: len(service.loop.events("CloseSession")) == 2)
        names = {e["client"] for e in service.loop.events("Query")}
        wait_for(lambda: service.status()["load"]["methods"]["Query"]["outcomes"] == {"ok": 2})
        files = [p.read_bytes() for p in service.directory.iterdir()]
        told_ = b"\n".join([service.ask("/metrics").body, service.ask("/status").body, *files])
    assert len(names) == len(set(seen)) == 2
    needles = [*names, *TOKENS, *(hashlib.sha256(t.encode()).hexdigest()[:12] for t in TOKENS)]
    needles += [s.hex()[:12] for s in seen]
    assert not [n for n in needles if n.encode() in told_]
    assert b'"ok":2' in told_, "the counts are there, so that the search had something to look at"


def test_quantiles_are_within_the_class_of_the_true_ones() -> None:
    rng = np.random.default_rng(4)
    times = np.exp(rng.normal(-3, 2, 2000))
    meter = Meter(("m",))
    for t in times:
        meter.begin()
        meter.end("m", "ok", float(t))
    method = Method.of(meter.counted()["m"])
    edges = [0.0, *BOUNDS]
    for part in (0.01, 0.5, 0.9, 0.99):
        true = float(np.quantile(times, part, method="inverted_cdf"))
        place = bisect.bisect_left(BOUNDS, true)
        found = method.quantile(part)
        assert found is not None
        assert edges[place] <= found <= edges[place + 1]
    assert Method.of(Meter(("m",)).counted()["m"]).quantile(0.5) is None


def test_counts_of_many_threads_are_exact() -> None:
    meter = Meter(("m",))

    def work(_: int) -> None:
        for _i in range(500):
            meter.begin()
            meter.moved("m", 3, 5)
            meter.end("m", "ok", 0.01)
            meter.refused("unheard of", "AccessError")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    c = meter.counted()
    assert (c["m"].outcomes, sum(c["m"].times), c["m"].received, c["m"].sent) == ({"ok": 4000}, 4000, 12_000, 20_000)
    assert c["other"].outcomes == {"AccessError": 4000}
    assert meter.under_way == 0


# ---- who is answered -----------------------------------------------------------------------------


def test_health_and_readiness(service: Told) -> None:
    assert (service.ask("/healthz").status, service.ask("/healthz").body) == (200, b"ok\n")
    assert service.ask("/readyz").body == b"ready\n"
    service.published.stopping()
    assert service.ask("/readyz").status == 503
    assert service.ask("/healthz").status == 200
    assert service.metrics()["ringforge_ready",] == 0
    assert service.status()["state"] == "stopping"


def test_a_main_thread_that_is_stuck_is_not_well(service: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringforge.serving.published.BEAT_SECONDS", 0.2)
    service.published.beat()
    assert service.ask("/healthz").status == 200
    wait_for(lambda: service.ask("/healthz").status == 503)
    service.published.beat()
    assert service.ask("/healthz").status == 200


def test_only_gets_that_name_this_machine(service: Told) -> None:
    """Other methods, names that point here, and pages of other origins get nothing."""
    address = service.published.metrics
    port = address.rpartition(":")[2]
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH"):
        assert ask(address, "/metrics", method, Content_Length="0").status == 405
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1:1", "127.0.0.1", f"192.168.0.7:{port}", "["):
        refused = ask(address, "/metrics", Host=host)
        assert refused.status == 403, host
        assert b"ringforge_" not in refused.body
    for host in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}"):
        assert ask(address, "/metrics", Host=host).status == 200
    assert ask(address, "/metrics", Origin="https://evil.example").status == 403
    assert ask(address, "/metrics", Sec_Fetch_Site="cross-site").status == 403
    assert ask(address, "/secrets").status == 404
    assert "default-src 'none'" in ask(address, "/metrics").headers["Content-Security-Policy"]


def test_names_beyond_this_machine() -> None:
    """Endpoints are asked under any name there, so that containers find them; the page by its address alone."""
    for any_name in (True, False):
        there = Web("0.0.0.0:0", {"/": lambda: (200, "text/plain", b"here")}, "--metrics", any_name)
        with web.serving(there):
            at = f"127.0.0.1:{there.port}"
            assert ask(at, "/", Host=f"10.1.2.3:{there.port}").status == 200
            assert ask(at, "/", Host=f"evil.example:{there.port}").status == (200 if any_name else 403)


def test_addresses_of_endpoints() -> None:
    assert metrics_address("9464") == "127.0.0.1:9464"
    assert metrics_address("[::1]:0") == "[::1]:0"
    for wrong in ("", "x", "70000", "a:b", "http://127.0.0.1:1"):
        with pytest.raises(ParameterError, match="HOST:PORT"):
            metrics_address(wrong)
    taken = socket.create_server(("127.0.0.1", 0))
    with pytest.raises(Error, match="choose another address with --metrics"):
        Web(f"127.0.0.1:{taken.getsockname()[1]}", {}, "--metrics")
    taken.close()


def test_over_ipv6() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        with pytest.raises(Error, match="cannot listen at"):
            Web("[::1]:0", {}, "--metrics")
        return
    with web.serving(Web("[::1]:0", {"/": lambda: (200, "text/plain", b"here")}, "--metrics")) as there:
        assert ask(there.address, "/").body == b"here"


def test_silent_peers_hold_up_nobody(service: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections that say nothing take places for a while only; the service itself does not notice."""
    monkeypatch.setattr(web._Handler, "timeout", 1.0)
    host, _, port = service.published.metrics.rpartition(":")
    held = [socket.create_connection((host, int(port))) for _ in range(40)]
    exchange(service.loop)
    for s in held[::2]:
        s.sendall(b"GET /metrics HT")

    def answered() -> bool:
        try:
            return service.ask("/healthz").status == 200
        except OSError:
            return False

    wait_for(answered)
    for s in held:
        s.close()


def test_scrapes_by_many_at_once(service: Told) -> None:
    done = threading.Event()

    def scrape(_: int) -> int:
        count = 0
        while not done.is_set():
            m = service.metrics()
            assert m["ringforge_call_seconds_count", "Query"] == m["ringforge_call_seconds_bucket", "+Inf", "Query"]
            count += 1
        return count

    with ThreadPoolExecutor(6) as pool:
        scraping = [pool.submit(scrape, i) for i in range(6)]
        for who in range(4):
            exchange(service.loop, who)
        time.sleep(0.2)
        done.set()
        assert all(s.result(60) for s in scraping)


# ---- the record ----------------------------------------------------------------------------------


def record() -> dict[str, Any]:
    return json.loads(
        Status(service="psi", address="a", pid=1, started=1.0, now=2.0, state="ready", facts={}, load=Load()).to_json()
    )


@pytest.mark.parametrize(
    "change",
    [
        {"format": "another"},
        {"version": 2},
        {"now": float("nan")},
        {"started": -1.0},
        {"pid": -1},
        {"pid": "1"},
        {"service": "x" * 101},
        {"state": "<b>"},
        {"facts": {"a": 1}},
        {"facts": {str(i): "" for i in range(33)}},
        {"load": {"work": [{"what": "x", "fraction": 2.0, "seconds_left": 0.0}]}},
        {"load": {"methods": {"x": {"outcomes": {}, "times": [1], "seconds": 0.0, "received": 0, "sent": 0}}}},
        {"load": {"queues": {"x": {"waiting": 1 << 70, "most": 0}}}},
    ],
)
def test_records_that_are_none(change: dict[str, Any]) -> None:
    assert Status.from_json(json.dumps(record()).encode(), "it").service == "psi"
    with pytest.raises(FormatError, match="it does not tell of a service"):
        Status.from_json(json.dumps({**record(), **change}).encode(), "it")


def test_records_that_are_no_json() -> None:
    for data in (b"", b"{", b"[" * 100_000, b"null", b"\xff\xfe", b" " * (1 << 19)):
        with pytest.raises(FormatError):
            Status.from_json(data, "it")


def test_methods_are_those_of_the_protocol(service: Told) -> None:
    assert set(service.status()["load"]["methods"]) == set(wire.METHODS)
    assert framing.STEPS == 32
    with Connection(service.loop.address, timeout=60) as c:
        session = c.open_session(service.loop.table, keys())
        c.query(service.loop.table, session, request(), REPLY_BYTES)
