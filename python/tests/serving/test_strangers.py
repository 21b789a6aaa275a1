# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Health, readiness and metrics are told while strangers hang; ready means that a call is served."""

from __future__ import annotations

import contextlib
import socket
import sqlite3
import threading
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from ringforge.errors import Error
from ringforge.psi import wire
from ringforge.psi.remote import Connection
from ringforge.serving import frontdoor, health, web
from ringforge.serving.access import Tokens
from ringforge.serving.calls import PROBE_KEY
from ringforge.serving.limits import Limits
from ringforge.serving.quota import QuotaFileError
from ringforge.serving.service import READY
from tests.psi import loopback
from tests.psi.hostile import Hostile
from tests.psi.loopback import exchange, wait_for
from tests.serving.telling import told

pb: Any = health_pb2
LIMITS = Limits(stall_seconds=600, moving_seconds=600, grace_seconds=0)


def check(address: str) -> Any:
    with grpc.insecure_channel(address, [("grpc.use_local_subchannel_pool", 1)]) as channel:
        return health_pb2_grpc.HealthStub(channel).Check(pb.HealthCheckRequest(), timeout=30).status


def test_silent_streams_of_strangers_take_no_check_away(tmp_path: Path) -> None:
    """Three connections with 90 streams each, of checks, watches and calls, all silent: 40 checks, 40 answers."""
    with loopback.loop(tmp_path, LIMITS, tokens=Tokens(["a" * 32])) as loop, contextlib.ExitStack() as held:
        for service, method in ((health.SERVICE, "Check"), (health.SERVICE, "Watch"), (wire.SERVICE, "Query")):
            for _ in range(3):
                eve = held.enter_context(Hostile(loop.running.port))
                for _ in range(90):
                    eve.open(method, service=service)
        answers = [check(loop.address) for _ in range(40)]
        assert answers == [pb.HealthCheckResponse.SERVING] * 40
        exchange(loop, token="a" * 32)


def test_answers_that_are_not_taken_take_no_check_away(tmp_path: Path) -> None:
    """Watches and checks whose message is never read, windows of zero: the oldest go."""
    message = b"\0\0\0\0\0"
    with loopback.loop(tmp_path, LIMITS) as loop, contextlib.ExitStack() as held:
        for method in ("Check", "Watch"):
            for _ in range(3):
                eve = held.enter_context(Hostile(loop.running.port, window=0))
                for _ in range(30):
                    stream = eve.open(method, service=health.SERVICE)
                    eve.send(stream, message)
                    eve.end(stream)
        assert [check(loop.address) for _ in range(20)] == [pb.HealthCheckResponse.SERVING] * 20


def test_silent_connections_of_strangers_take_no_page_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with told(tmp_path, monkeypatch) as service, contextlib.ExitStack() as held:
        host, _, port = service.published.metrics.rpartition(":")
        for _ in range(3 * web._MOST):
            held.enter_context(socket.create_connection((host, int(port))))
        for path in ("/readyz", "/healthz", "/metrics") * 3:
            assert service.ask(path).status == 200


def test_ready_is_a_call_that_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the door is shut nobody is served, and /readyz says so; once it is open again, /readyz does too."""
    monkeypatch.setattr(frontdoor, "LOOK_SECONDS", 0.3)
    monkeypatch.setattr(frontdoor, "_FRESH_SECONDS", 0.0)
    with told(tmp_path, monkeypatch) as service:
        assert (service.ask("/readyz").status, service.ask("/readyz").body) == (200, b"ready\n")
        with service.loop.service._door._lock:
            assert service.ask("/readyz").status == 503
            with Connection(service.loop.address, timeout=0.3) as c, pytest.raises(Error, match="not done it within"):
                c.info()
            assert b"DEADLINE_EXCEEDED" in service.ask("/readyz").body
        monkeypatch.setattr(frontdoor, "LOOK_SECONDS", 5.0)
        wait_for(lambda: service.ask("/readyz").status == 200)
        exchange(service.loop)
        assert "Ready" not in service.status()["load"]["methods"], "its own look counts as no call"


def test_ready_needs_what_a_call_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Quotas that cannot be counted: calls are refused, so the service is not ready."""
    monkeypatch.setattr(frontdoor, "_FRESH_SECONDS", 0.0)
    with told(tmp_path, monkeypatch) as service:
        assert service.ask("/readyz").status == 200
        service.loop.quota.close()
        answer = service.ask("/readyz")
        assert (answer.status, answer.body) == (503, b"a call was not served: UNAVAILABLE\n")


def test_a_locked_quota_file_makes_no_service_mute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process has the file while many calls would count: not ready, until it gives it back, and never mute."""
    monkeypatch.setattr(frontdoor, "LOOK_SECONDS", 2.0)
    monkeypatch.setattr(frontdoor, "_FRESH_SECONDS", 0.0)
    with loopback.loop(tmp_path) as loop, contextlib.ExitStack() as held:
        assert loop.running.door.seen().ready
        over, mute = threading.Event(), threading.Event()

        def charge() -> None:
            while not over.is_set():
                with contextlib.suppress(QuotaFileError):
                    loop.quota.charge(b"x" * 16, "prf", 1)

        other = held.enter_context(contextlib.closing(sqlite3.connect(tmp_path / "quota.sqlite", isolation_level=None)))
        other.execute("BEGIN IMMEDIATE")
        threads = [threading.Thread(target=charge) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            wait_for(loop.quota._lock.locked)
            watched = threading.Event()
            looked, seen = loop.running.door._look, list[frontdoor.Seen]()

            def look(seconds: float) -> frontdoor.Seen:
                seen.append(looked(seconds))
                if len(seen) > frontdoor._MUTE:
                    watched.set()
                return seen[-1]

            monkeypatch.setattr(loop.running.door, "_look", look)
            loop.running.door.watch(watched, mute.set, every=0.01)
            assert not mute.is_set(), seen
            assert not any(s.ready for s in seen)
        finally:
            over.set()
            other.execute("ROLLBACK")
            for thread in threads:
                thread.join()
        wait_for(lambda: loop.running.door.seen().ready)


def test_ready_is_asked_with_tokens_and_by_nobody_else(tmp_path: Path) -> None:
    with loopback.loop(tmp_path, tokens=Tokens(["a" * 32])) as loop:
        assert loop.running.door.seen().ready
        for address in (loop.address, loop.running._inside):
            with grpc.insecure_channel(address) as channel:
                ready = channel.unary_unary(f"/{wire.SERVICE}/{READY}")
                with pytest.raises(grpc.RpcError) as refused:
                    ready(b"", timeout=30, metadata=((PROBE_KEY, "0" * 64),))
                assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
        with grpc.insecure_channel(loop.running._inside) as channel:  # clients come by the address that has TLS
            info = channel.unary_unary(f"/{wire.SERVICE}/Info")
            with pytest.raises(grpc.RpcError) as refused:
                info(b"", timeout=30, metadata=(("authorization", f"Bearer {'a' * 32}"),))
            assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
