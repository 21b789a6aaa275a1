# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Clients that want to stop the service for others, over raw HTTP/2: none of them does."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from ringforge.psi import wire
from ringforge.psi.proto import psi_pb2 as pb
from ringforge.psi.remote import Connection
from ringforge.serving import access, framing
from ringforge.serving.calls import Deadlines, Log, Refusals
from ringforge.serving.limits import Limits
from tests.psi import loopback
from tests.psi.hostile import Hostile, framed
from tests.psi.loopback import KEY_BYTES, REQUEST_BYTES, Loop, exchange, keys, request, wait_for

EVE, HONEST = "token-of-client-one", "token-of-client-two"

CANCELLED, RESOURCE_EXHAUSTED, UNIMPLEMENTED, UNAUTHENTICATED = 1, 8, 12, 16

#: Streams without a body, as in one connection that once stopped a service.
STREAMS = 104


def tokens() -> access.Tokens:
    return access.Tokens([EVE, HONEST])


def honest(loop: Loop) -> None:
    """A whole exchange of somebody else, over a connection of its own."""
    exchange(loop, 1, token=HONEST)


def upload(loop: Loop, eve: Hostile, session: bytes) -> int:
    """Sends a whole request."""
    stream = eve.open("Query")
    header = pb.QueryHeader(table=loop.table, session=session, total_bytes=REQUEST_BYTES)
    body = framed(pb.QueryRequest(header=header))
    eve.send(stream, body + b"".join(framed(pb.QueryRequest(chunk=c)) for c in framing.chunks(request(7))))
    eve.end(stream)
    return stream


@pytest.mark.parametrize("method", list(wire.METHODS))
def test_without_a_token_nothing_is_taken(tmp_path: Path, method: str) -> None:
    """Streams without a body: each is refused before anything is sent, and nobody waits for them."""
    limits = Limits(calls=2, calls_each=2, stall_seconds=600, moving_seconds=600, grace_seconds=0)
    with loopback.loop(tmp_path, limits, tokens=tokens()) as loop, Hostile(loop.running.port) as nobody:
        streams = [nobody.open(method) for _ in range(STREAMS)]
        honest(loop)
        nobody.until_ended(streams)
        assert set(nobody.statuses.values()) <= {UNAUTHENTICATED}
        honest(loop)
        assert not loop.events(method) or {e["result"] for e in loop.events(method)} == {"ok"}
        assert loop.events("refused")[0]["result"] == "AccessError"
        assert "127.0.0.1" not in loop.log.getvalue()


def test_a_client_has_so_many_calls_and_no_more(tmp_path: Path) -> None:
    """Streams with a valid token that send nothing: over two connections, since each has its own limit."""
    limits = Limits(calls=64, calls_each=3, stall_seconds=600, moving_seconds=600, grace_seconds=0)
    with (
        loopback.loop(tmp_path, limits, tokens=tokens()) as loop,
        Hostile(loop.running.port, token=EVE) as one,
        Hostile(loop.running.port, token=EVE) as two,
    ):
        first = [one.open("OpenSession") for _ in range(STREAMS)]
        one.until_ended(first[3:])
        assert len(one.resets) >= STREAMS - 3, "the connection has no more streams than are allowed"
        second = [two.open("Query") for _ in range(3)]
        two.until_ended(second)
        assert set(two.statuses.values()) == {RESOURCE_EXHAUSTED}, "nor has the client, however it connects"
        honest(loop)
        assert loop.events("refused")[0]["result"] == "BusyError"


def test_the_first_message_must_come(tmp_path: Path) -> None:
    with loopback.loop(tmp_path, Limits(stall_seconds=0.2, grace_seconds=0), tokens=tokens()) as loop:
        with Hostile(loop.running.port, token=EVE) as eve:
            streams = [eve.open(method) for method in wire.METHODS]
            eve.until_ended(streams)
        for method in wire.METHODS:
            wait_for(lambda name=method: bool(loop.events(name)))  # type: ignore[misc]
            assert [e["result"] for e in loop.events(method)] == ["stalled"]
        honest(loop)


def test_every_message_must_come(tmp_path: Path) -> None:
    """Keys of which the half comes: what was set aside for them is free again."""
    with loopback.loop(tmp_path, Limits(stall_seconds=0.3, grace_seconds=0), tokens=tokens()) as loop:
        with Hostile(loop.running.port, token=EVE) as eve:
            stream = eve.open("OpenSession")
            header = pb.OpenHeader(table=loop.table, total_bytes=KEY_BYTES)
            eve.send(stream, framed(pb.OpenRequest(header=header)))
            eve.send(stream, framed(pb.OpenRequest(chunk=bytes(framing.CHUNK))))
            eve.until_ended([stream])
        wait_for(lambda: bool(loop.events("OpenSession")))
        assert loop.events("OpenSession")[0]["result"] == "stalled"
        wait_for(lambda: loop.service.memory.used == 0)
        honest(loop)


@pytest.mark.parametrize("window", [0, 20, 100_000])
def test_every_message_must_be_taken(tmp_path: Path, window: int) -> None:
    """Windows that never open: they have room for no message, for the first, for a part of the reply."""
    limits = Limits(stall_seconds=0.5, sessions_each=1, grace_seconds=0)
    with loopback.loop(tmp_path, limits, tokens=tokens(), bins=loopback.BINS) as loop:
        with Connection(loop.address, timeout=60, token=EVE) as c:
            session = c.open_session(loop.table, keys())
        with Hostile(loop.running.port, token=EVE, window=window) as eve:
            stream = upload(loop, eve, session)
            eve.until_ended([stream])
            assert eve.statuses[stream] == CANCELLED
            assert not eve.closed, "the stream was ended, not the connection"
        wait_for(lambda: bool(loop.events("Query")))
        assert loop.events("Query")[0]["result"] == "stalled"
        wait_for(lambda: loop.service.memory.used == KEY_BYTES)
        assert len(loop.server.order) == (window > 0), "who takes nothing gets no turn"
        honest(loop)


def test_a_turn_is_not_held_by_who_does_not_read(tmp_path: Path) -> None:
    """The reply is computed and not taken, for as long as is allowed: others compute meanwhile."""
    limits = Limits(stall_seconds=600, moving_seconds=600, grace_seconds=0)
    with loopback.loop(tmp_path, limits, tokens=tokens()) as loop:
        with Connection(loop.address, timeout=60, token=EVE) as c:
            session = c.open_session(loop.table, keys())
        with Hostile(loop.running.port, token=EVE, window=100_000) as eve:
            for _ in range(5):
                upload(loop, eve, session)
            for _ in range(5):
                loop.server.computing.acquire()
            honest(loop)
            assert not loop.events("Query")[1:], "the hostile calls still wait to be taken"


def test_compressed_messages_are_refused(tmp_path: Path) -> None:
    """Small messages that become large ones."""
    with loopback.loop(tmp_path) as loop, Hostile(loop.running.port) as eve:
        stream = eve.open("Info", ("grpc-encoding", "gzip"))
        eve.until_ended([stream])
        assert eve.statuses[stream] == UNIMPLEMENTED
        exchange(loop)


def test_refusals_cannot_fill_the_log() -> None:
    now = [0.0]
    stream = io.StringIO()
    refusals = Refusals(Log(stream), lambda: now[0])
    for _ in range(1000):
        refusals("AccessError")
    refusals("BusyError")
    now[0] = 1.5
    refusals("AccessError")
    refusals("AccessError")
    refusals.flush(now=True)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(e["event"], e["result"], e["count"]) for e in lines] == [
        ("refused", "AccessError", 1),
        ("refused", "BusyError", 1),
        ("refused", "AccessError", 1000),
        ("refused", "AccessError", 1),
    ]


def test_deadlines_that_are_kept_take_no_room() -> None:
    deadlines = Deadlines()
    called: list[int] = []
    for _ in range(10_000):
        with deadlines.within(600, lambda: called.append(1)):
            pass
    assert len(deadlines._due) < 200
    with deadlines.within(0.01, lambda: called.append(2)):
        wait_for(lambda: bool(called))
    assert called == [2]
