# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The health protocol, asked by the stub of its own library: what it says, to whom, and that it holds up nobody."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from ringforge.psi import wire
from ringforge.serving import health
from ringforge.serving.access import Tokens
from ringforge.serving.limits import Limits
from tests.psi import loopback
from tests.psi.loopback import Loop, exchange, wait_for

pb: Any = health_pb2
SERVING, NOT_SERVING, UNKNOWN = (
    pb.HealthCheckResponse.SERVING,
    pb.HealthCheckResponse.NOT_SERVING,
    pb.HealthCheckResponse.SERVICE_UNKNOWN,
)


@pytest.fixture
def channel(running: Loop) -> Iterator[Any]:
    with grpc.insecure_channel(running.address) as found:
        yield found


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Loop]:
    with loopback.loop(tmp_path, Limits(grace_seconds=0, stall_seconds=1.0)) as found:
        yield found


def stub(channel: Any) -> Any:
    return health_pb2_grpc.HealthStub(channel)


def test_check(running: Loop, channel: Any) -> None:
    for name in ("", wire.SERVICE):
        assert stub(channel).Check(pb.HealthCheckRequest(service=name), timeout=30).status == SERVING
    with pytest.raises(grpc.RpcError) as refused:
        stub(channel).Check(pb.HealthCheckRequest(service="another"), timeout=30)
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND
    running.service.health.stop()
    assert stub(channel).Check(pb.HealthCheckRequest(), timeout=30).status == NOT_SERVING


def test_watch_hears_the_end(running: Loop, channel: Any) -> None:
    watching = stub(channel).Watch(pb.HealthCheckRequest(service=wire.SERVICE), timeout=60)
    strange = stub(channel).Watch(pb.HealthCheckRequest(service="another"), timeout=60)
    assert next(watching).status == SERVING
    assert next(strange).status == UNKNOWN
    ending = threading.Thread(target=lambda: running.running.stop(5))
    ending.start()
    assert [m.status for m in watching] == [NOT_SERVING]
    ending.join()


def test_no_token_is_asked_for_and_none_is_told(tmp_path: Path) -> None:
    with loopback.loop(tmp_path, tokens=Tokens(["a" * 32])) as loop, grpc.insecure_channel(loop.address) as channel:
        assert stub(channel).Check(pb.HealthCheckRequest(), timeout=30).status == SERVING
        assert loopback.status(loop, "Info", [b""])[0] is grpc.StatusCode.UNAUTHENTICATED
        assert not loop.events("Check")


def test_garbage(channel: Any) -> None:
    call = channel.unary_unary(f"/{health.SERVICE}/Check", None, None)
    with pytest.raises(grpc.RpcError) as refused:
        call(b"\xff\xff\xff", timeout=30)
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_watchers_are_few_and_leave_room(running: Loop) -> None:
    """All places taken and read, from several connections: one more takes the oldest's, clients are served."""
    held = []
    channels = [grpc.insecure_channel(running.address, [("grpc.use_local_subchannel_pool", 1)]) for _ in range(4)]
    for i in range(health.MOST_WATCHES):
        watching = stub(channels[i % 4]).Watch(pb.HealthCheckRequest(), timeout=120)
        assert next(watching).status == SERVING
        held.append(watching)
    wait_for(lambda: all(at == math.inf for at in running.service.health._watches._waiting.values()))
    more = stub(channels[0]).Watch(pb.HealthCheckRequest(), timeout=120)
    assert next(more).status == SERVING
    with pytest.raises(grpc.RpcError, match="watch again") as displaced:
        next(held[0])
    assert displaced.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert stub(channels[0]).Check(pb.HealthCheckRequest(), timeout=30).status == SERVING
    exchange(running)
    running.service.health.stop()
    for watching in (*held[1:], more):
        assert [m.status for m in watching] == [NOT_SERVING], "the others keep their places"
    for channel in channels:
        channel.close()


def test_who_never_sends_the_message_loses_the_place(running: Loop) -> None:
    """More hang than there are places, in silence: they are ended in time, and checks are answered again."""
    silence = threading.Event()

    def nothing() -> Iterator[bytes]:
        silence.wait(60)
        yield from ()

    channels = [grpc.insecure_channel(running.address, [("grpc.use_local_subchannel_pool", 1)]) for _ in range(4)]
    calls = [
        channels[i % 4].stream_unary(f"/{health.SERVICE}/Check", None, None).future(nothing(), timeout=60)
        for i in range(health.MOST_CHECKS + 8)
    ]
    exchange(running)
    codes = {call.code() for call in calls}  # waits for their ends
    assert codes <= {grpc.StatusCode.CANCELLED, grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNKNOWN}, codes
    with grpc.insecure_channel(running.address, [("grpc.use_local_subchannel_pool", 1)]) as channel:
        assert stub(channel).Check(pb.HealthCheckRequest(), timeout=30).status == SERVING
    silence.set()
    for c in channels:
        c.close()
