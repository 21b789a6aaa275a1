# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The service: exchanges, refusals, deadlines; what it says when it refuses, and that it goes on.

Behind it is a scripted server, so that computations take as long as a test wants.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringforge.errors import Error, FormatError, MismatchError, ParameterError
from ringforge.psi import wire
from ringforge.psi.proto import psi_pb2 as pb
from ringforge.psi.remote import Connection
from ringforge.serving import framing
from ringforge.serving.limits import MAX_SECONDS, Limits
from ringforge.serving.remote import clean
from tests.psi import loopback
from tests.psi.loopback import (
    KEY_BYTES,
    REPLY_BYTES,
    REQUEST_BYTES,
    Loop,
    exchange,
    keys,
    reply_to,
    request,
    status,
    wait_for,
)

# ---- exchange ------------------------------------------------------------------------------------


def test_an_exchange(running: Loop) -> None:
    steps: list[tuple[float, int]] = []
    with Connection(running.address, timeout=60) as c:
        session = c.open_session(running.table, keys(3))
        reply = c.query(running.table, session, request(7), REPLY_BYTES, lambda d, w: steps.append((d, w)))
        assert reply == reply_to(keys(3), request(7))
        assert steps == [(i / framing.STEPS, 0) for i in range(framing.STEPS + 1)], "as many signs as agreed, in order"
        sent, received = c.traffic.sent, c.traffic.received
        assert KEY_BYTES < sent["keys"] < KEY_BYTES + 200
        assert REQUEST_BYTES < sent["requests"] < REQUEST_BYTES + 200
        assert REPLY_BYTES < received["requests"] < REPLY_BYTES + 1000
        # The request's memory goes when the call's handler has ended, which the client need not have seen.
        until = time.monotonic() + 10
        while running.service.memory.used != KEY_BYTES and time.monotonic() < until:
            time.sleep(0.01)
        assert running.service.memory.used == KEY_BYTES
        c.close_session(session)
    assert running.service.memory.used == 0


def test_pseudorandom_function_in_batches(running: Loop) -> None:
    blinded = [i.to_bytes(32, "big") for i in range(1, wire.PRF_BATCH + 3)]
    with Connection(running.address, timeout=60) as c:
        found = c.evaluate_prf(running.table, blinded)
    assert found == running.server.evaluate_prf(blinded, lambda _: None)
    assert [e["elements"] for e in running.events("EvaluatePrf")] == [wire.PRF_BATCH, 2]


def test_many_clients_at_once(running: Loop) -> None:
    with ThreadPoolExecutor(10) as pool:
        list(pool.map(lambda who: exchange(running, who), range(10)))
    assert running.service.memory.used == 0
    assert len(running.service.sessions) == 0


# ---- refusals ------------------------------------------------------------------------------------


def header(loop: Loop, total: int) -> bytes:
    return bytes(pb.OpenRequest(header=pb.OpenHeader(table=loop.table, total_bytes=total)).SerializeToString())


def chunk(size: int) -> bytes:
    return bytes(pb.OpenRequest(chunk=bytes(size)).SerializeToString())


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ([KEY_BYTES + 1], "plan makes it 3000000"),
        ([KEY_BYTES - 1], "plan makes it 3000000"),
        ([0], "plan makes it 3000000"),
        ([(1 << 64) - 1], "plan makes it 3000000"),
        ([KEY_BYTES, framing.CHUNK, framing.CHUNK], "2097152 bytes came, 3000000 are needed"),
        ([KEY_BYTES, framing.CHUNK, 5], "a chunk of 5 bytes"),
        ([KEY_BYTES, 0], "a chunk of 0 bytes"),
        ([KEY_BYTES, framing.CHUNK, framing.CHUNK, framing.CHUNK], "a chunk of 1048576 bytes"),
        ([KEY_BYTES, framing.CHUNK, framing.CHUNK, KEY_BYTES - 2 * framing.CHUNK, 1], "a chunk of 1 bytes"),
    ],
)
def test_sizes_that_are_not_the_plans(running: Loop, sizes: list[int], words: str) -> None:
    messages = [header(running, sizes[0]), *map(chunk, sizes[1:])]
    code, text = status(running, "OpenSession", messages)
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert words in text
    assert running.service.memory.used == 0
    exchange(running)


def test_wrong_order_of_parts(running: Loop) -> None:
    for messages in ([chunk(5)], [], [header(running, KEY_BYTES), header(running, KEY_BYTES)]):
        code, text = status(running, "OpenSession", messages)
        assert code is grpc.StatusCode.INVALID_ARGUMENT, text
    query = pb.QueryRequest(header=pb.QueryHeader(table=running.table, session=b"short", total_bytes=REQUEST_BYTES))
    assert status(running, "Query", [query.SerializeToString()])[0] is grpc.StatusCode.INVALID_ARGUMENT
    assert status(running, "Query", [])[0] is grpc.StatusCode.INVALID_ARGUMENT
    exchange(running)


@pytest.mark.parametrize("method", list(wire.METHODS))
def test_garbage(running: Loop, method: str, capfd: pytest.CaptureFixture[str]) -> None:
    random.seed(5)
    for size in (1, 2, 33, 1000, framing.CHUNK):
        code, _ = status(running, method, [random.randbytes(size)])
        assert code is grpc.StatusCode.INVALID_ARGUMENT or (method == "Info" and code is grpc.StatusCode.OK)
    exchange(running)
    assert "Traceback" not in "".join(capfd.readouterr())
    assert {e["result"] for e in running.events(method)} <= {"FormatError", "ok"}


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loop]:
    with loopback.loop(tmp_path_factory.mktemp("loop")) as found:
        yield found


BYTES = st.one_of(st.binary(max_size=40), st.just(bytes(32)), st.just(b"\xff" * 16))
SIZES = st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, 1, KEY_BYTES, REQUEST_BYTES, framing.CHUNK]))


@given(st.lists(st.tuples(st.integers(0, 2), BYTES, BYTES, SIZES, st.booleans()), max_size=4))
def test_well_formed_nonsense(lasting: Loop, parts: list[tuple[int, bytes, bytes, int, bool]]) -> None:
    """Messages of the right kind with any contents: an answer in plain words, no fault, nothing held afterwards."""
    for method, message in (("OpenSession", pb.OpenRequest), ("Query", pb.QueryRequest)):
        made = []
        for kind, name, session, size, known in parts:
            fields = {"table": lasting.table if known else name, "total_bytes": size}
            if method == "OpenSession":
                header: Any = pb.OpenHeader(**fields)
            else:
                header = pb.QueryHeader(**fields, session=session)
            part = {} if kind == 0 else {"header": header} if kind == 1 else {"chunk": name}
            made.append(message(**part).SerializeToString())
        code, text = status(lasting, method, made)
        assert code in (
            grpc.StatusCode.INVALID_ARGUMENT,
            grpc.StatusCode.FAILED_PRECONDITION,
            grpc.StatusCode.NOT_FOUND,
        ), text
        assert text
    for name, session, known in ((p[1], p[2], p[4]) for p in parts):
        asked = pb.PrfRequest(table=lasting.table if known else name, blinded=session)
        status(lasting, "EvaluatePrf", [asked.SerializeToString()])
        status(lasting, "CloseSession", [pb.CloseRequest(session=session).SerializeToString()])
    assert lasting.service.memory.used == 0
    assert "fault" not in lasting.log.getvalue()


@pytest.mark.parametrize("method", list(wire.METHODS))
def test_a_message_too_large(running: Loop, method: str) -> None:
    code, _ = status(running, method, [bytes(framing.MAX_MESSAGE + 1)])
    assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
    exchange(running)


def test_keys_that_the_server_refuses(running: Loop) -> None:
    with Connection(running.address, timeout=60) as c:
        with pytest.raises(FormatError, match="refused: no evaluation keys"):
            c.open_session(running.table, bytes(KEY_BYTES))
        assert running.service.memory.used == 0
        with pytest.raises(FormatError, match="no valid encoding"):
            c.evaluate_prf(running.table, [bytes(32)])
        with pytest.raises(FormatError, match="a table is named by 32 bytes"):
            c.evaluate_prf(b"", [b"a" * 32])
    exchange(running)


def test_another_state_of_the_table(running: Loop) -> None:
    old = running.table
    with Connection(running.address, timeout=60) as c:
        session = c.open_session(old, keys())
        running.server.newer = loopback.Info(version=2)
        running.service.reload()
        # Who asked before is answered from the state it knows; who comes with old knowledge is told.
        assert c.query(old, session, request(), REPLY_BYTES) == reply_to(keys(), request())
        for call in (lambda: c.open_session(old, keys()), lambda: c.evaluate_prf(old, [b"a" * 32])):
            with pytest.raises(MismatchError, match="has changed"):
                call()
        with pytest.raises(MismatchError, match="has changed"):
            c.query(running.table, session, request(), REPLY_BYTES)
    exchange(running)


def test_a_fault_of_ours_says_nothing_about_contents(running: Loop, capfd: pytest.CaptureFixture[str]) -> None:
    running.server.fault = RuntimeError("a secret value")
    with (
        Connection(running.address, timeout=60) as c,
        pytest.raises(Error, match="the server failed; its log says where"),
    ):
        c.evaluate_prf(running.table, [b"a" * 32])
    said = running.log.getvalue() + "".join(capfd.readouterr())
    assert "fault RuntimeError at loopback.py" in said
    assert "secret" not in said
    assert "Traceback" not in said


def test_a_servers_words_are_cleaned() -> None:
    assert clean("a\x1b[31mb\n c\u202e") == "a [31mb c"
    assert len(clean("x" * 10_000)) < 700


# ---- deadlines, and clients that go ----------------------------------------------------------------


def test_a_deadline_ends_the_computation(running: Loop) -> None:
    running.server.gate.clear()
    with Connection(running.address, timeout=60) as c:
        session = c.open_session(running.table, keys())
        with (
            Connection(running.address, timeout=1.0) as hurried,
            pytest.raises(Error, match=r"within 1 seconds.*--timeout"),
        ):
            hurried.query(running.table, session, request(), REPLY_BYTES)
        wait_for(lambda: running.server.cancelled == 1)
        running.server.gate.set()
        assert c.query(running.table, session, request(), REPLY_BYTES) == reply_to(keys(), request())
    wait_for(lambda: running.service.memory.used == KEY_BYTES)


def test_a_client_that_goes_away(running: Loop) -> None:
    running.server.gate.clear()
    c = Connection(running.address, timeout=60)
    session = c.open_session(running.table, keys())
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(c.query, running.table, session, request(), REPLY_BYTES)
        running.server.computing.acquire()
        c.close()
        with pytest.raises((Error, ValueError)):
            asked.result()
    wait_for(lambda: running.server.cancelled == 1)
    running.server.gate.set()
    exchange(running, 1)
    wait_for(lambda: running.service.memory.used == KEY_BYTES)  # its session, until it is idle for long
    wait_for(lambda: "gone" in {e["result"] for e in running.events("Query")})


def test_an_upload_that_stops_is_ended(tmp_path: Path) -> None:
    with loopback.loop(tmp_path, Limits(moving_seconds=0.3, grace_seconds=0)) as loop:
        channel = grpc.insecure_channel(loop.address)
        never = threading.Event()

        def messages() -> Iterator[bytes]:
            yield header(loop, KEY_BYTES)
            never.wait(30)

        call = channel.stream_unary(f"/{wire.SERVICE}/OpenSession", None, None)
        with pytest.raises(grpc.RpcError) as failure:
            call(messages(), timeout=60)
        assert failure.value.code() is grpc.StatusCode.CANCELLED
        never.set()
        wait_for(lambda: loop.service.memory.used == 0)
        channel.close()


def test_stopping_lets_queries_end(tmp_path: Path) -> None:
    with loopback.loop(tmp_path) as loop, Connection(loop.address, timeout=60) as c, ThreadPoolExecutor(2) as pool:
        session = c.open_session(loop.table, keys())
        loop.server.gate.clear()
        asked = pool.submit(c.query, loop.table, session, request(), REPLY_BYTES)
        loop.server.computing.acquire()
        stopping = pool.submit(loop.running.stop, 30)
        loop.server.gate.set()
        assert asked.result() == reply_to(keys(), request())
        stopping.result()
        with pytest.raises(Error, match=r"nobody answers|broke"):
            c.open_session(loop.table, keys())


def test_stopping_cancels_what_takes_too_long(tmp_path: Path) -> None:
    with loopback.loop(tmp_path) as loop, Connection(loop.address, timeout=60) as c, ThreadPoolExecutor(1) as pool:
        session = c.open_session(loop.table, keys())
        loop.server.gate.clear()
        asked = pool.submit(c.query, loop.table, session, request(), REPLY_BYTES)
        loop.server.computing.acquire()
        loop.running.stop(0.1)
        with pytest.raises(Error, match=r"ended the call|broke|went away"):
            asked.result()
        assert loop.server.cancelled == 1


# ---- limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["idle_seconds", "moving_seconds", "stall_seconds", "grace_seconds"])
@pytest.mark.parametrize("value", [-1.0, math.inf, -math.inf, math.nan, 1e308, 604_801.0])
def test_times_are_checked(name: str, value: float) -> None:
    with pytest.raises(ParameterError, match=f"{name.removesuffix('_seconds')} .* to 604800 seconds"):
        Limits(**{name: value})


@pytest.mark.parametrize("name", ["memory", "sessions", "sessions_each", "waiting", "calls", "calls_each"])
@pytest.mark.parametrize("value", [0, -1, 1 << 60])
def test_counts_are_checked(name: str, value: int) -> None:
    with pytest.raises(ParameterError, match="are possible"):
        Limits(**{name: value})  # type: ignore[arg-type]


def test_the_longest_times_work(tmp_path: Path) -> None:
    longest = {f"{name}_seconds": MAX_SECONDS for name in ("idle", "moving", "stall", "grace")}
    with loopback.loop(tmp_path, Limits(**longest)) as loop:  # type: ignore[arg-type]
        exchange(loop)


def test_logs_have_no_way_in_for_contents(running: Loop) -> None:
    exchange(running, 0x41)
    with Connection(running.address) as c:
        c.evaluate_prf(running.table, [b"B" * 32])
    for line in running.log.getvalue().splitlines():
        assert len(line) < 300, line
        assert "AAAA" not in line
        assert "BBBB" not in line
        assert "127.0.0.1" not in line
