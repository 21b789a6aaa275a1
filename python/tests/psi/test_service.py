# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The service: sizes, limits, quotas, turns, tokens, TLS, deadlines; what it says when it refuses, and that it goes on.

Behind it is a scripted server, so that computations take as long as a test wants.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringforge.errors import Error, FormatError, MismatchError, MissingKeyError, ParameterError
from ringforge.psi import access, wire
from ringforge.psi.listener import Running
from ringforge.psi.proto import psi_pb2 as pb
from ringforge.psi.quota import Quota, QuotaError
from ringforge.psi.remote import Connection, clean
from ringforge.psi.service import Limits
from ringforge.psi.sessions import BusyError, Memory, Sessions, Turns
from tests.psi import loopback
from tests.psi.loopback import KEY_BYTES, REPLY_BYTES, REQUEST_BYTES, Loop, keys, reply_to, request

TOKEN, OTHER = "token-of-client-one", "token-of-client-two"


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Loop]:
    with loopback.loop(tmp_path) as found:
        yield found


def exchange(loop: Loop, who: int = 0, **options: Any) -> None:
    """A session and a query that must work."""
    with Connection(loop.address, timeout=60, **options) as c:
        session = c.open_session(loop.table, keys(who))
        reply = c.query(loop.table, session, request(who), REPLY_BYTES)
        assert reply == reply_to(keys(who), request(who))
        c.close_session(session)


def status(loop: Loop, method: str, messages: list[bytes], metadata: Any = ()) -> tuple[grpc.StatusCode, str]:
    """What the service says to these raw messages."""
    channel = grpc.insecure_channel(loop.address)
    _, _, client_streams, server_streams = wire.METHODS[method]
    kind = ("stream" if client_streams else "unary") + "_" + ("stream" if server_streams else "unary")
    call = getattr(channel, kind)(f"/{wire.SERVICE}/{method}", None, None)
    try:
        answer = call(iter(messages) if client_streams else messages[0], timeout=30, metadata=metadata)
        list(answer) if server_streams else None
    except grpc.RpcError as e:
        return e.code(), e.details()
    finally:
        channel.close()
    return grpc.StatusCode.OK, ""


# ---- exchange ------------------------------------------------------------------------------------


def test_an_exchange(running: Loop) -> None:
    steps: list[tuple[float, int]] = []
    with Connection(running.address, timeout=60) as c:
        session = c.open_session(running.table, keys(3))
        reply = c.query(running.table, session, request(7), REPLY_BYTES, lambda d, w: steps.append((d, w)))
        assert reply == reply_to(keys(3), request(7))
        assert steps == [(i / wire.STEPS, 0) for i in range(wire.STEPS + 1)], "as many signs as agreed, in order"
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
        ([KEY_BYTES, wire.CHUNK, wire.CHUNK], "2097152 bytes came, 3000000 are needed"),
        ([KEY_BYTES, wire.CHUNK, 5], "a chunk of 5 bytes"),
        ([KEY_BYTES, 0], "a chunk of 0 bytes"),
        ([KEY_BYTES, wire.CHUNK, wire.CHUNK, wire.CHUNK], "a chunk of 1048576 bytes"),
        ([KEY_BYTES, wire.CHUNK, wire.CHUNK, KEY_BYTES - 2 * wire.CHUNK, 1], "a chunk of 1 bytes"),
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
    for size in (1, 2, 33, 1000, wire.CHUNK):
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
SIZES = st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, 1, KEY_BYTES, REQUEST_BYTES, wire.CHUNK]))


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
    code, _ = status(running, method, [bytes(wire.MAX_MESSAGE + 1)])
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


# ---- sessions and memory -------------------------------------------------------------------------


def test_sessions_are_counted(tmp_path: Path) -> None:
    limits = Limits(sessions=3, sessions_each=2, grace_seconds=0)
    tokens = access.Tokens([TOKEN, OTHER])
    with (
        loopback.loop(tmp_path, limits, tokens=tokens) as loop,
        Connection(loop.address, timeout=60, token=TOKEN) as one,
        Connection(loop.address, timeout=60, token=OTHER) as two,
    ):
        mine = [one.open_session(loop.table, keys()) for _ in range(2)]
        with pytest.raises(BusyError, match="this client has 2 open sessions of 2"):
            one.open_session(loop.table, keys())
        theirs = two.open_session(loop.table, keys(1))
        with pytest.raises(BusyError, match="this server has 3 open sessions of 3"):
            two.open_session(loop.table, keys(1))
        # Nobody can use or close another client's session, nor learn that there is one.
        with pytest.raises(MissingKeyError, match="no such session"):
            one.query(loop.table, theirs, request(), REPLY_BYTES)
        one.close_session(theirs)
        assert two.query(loop.table, theirs, request(), REPLY_BYTES) == reply_to(keys(1), request())
        one.close_session(mine[0])
        one.open_session(loop.table, keys())


def test_idle_sessions_are_forgotten() -> None:
    now = [0.0]
    freed: list[int] = []
    sessions = Sessions(2, 2, 10.0, lambda: now[0])
    with sessions.opening(b"a") as keep:
        name = keep("keys", lambda: freed.append(1))
    now[0] = 9.0
    with sessions.using(name, b"a") as held:
        assert held == "keys"
        now[0] = 100.0
        assert sessions.sweep() == 0, "it is being used"
        assert sessions.close(name, b"a")
        assert not freed, "its memory is free once it is not used"
    assert freed == [1]
    with sessions.opening(b"a") as keep:
        name = keep("keys", lambda: freed.append(2))
    now[0] = 111.0
    assert sessions.sweep() == 1
    assert freed == [1, 2]
    with pytest.raises(MissingKeyError, match="idle for 10 seconds"), sessions.using(name, b"a"):
        pass


def test_memory_is_bounded(tmp_path: Path) -> None:
    room = KEY_BYTES + REQUEST_BYTES + REPLY_BYTES
    with pytest.raises(ParameterError, match="--memory 7MiB"), loopback.loop(tmp_path, Limits(memory=room - 1)):
        pass
    with (
        loopback.loop(tmp_path, Limits(memory=room, grace_seconds=0)) as loop,
        Connection(loop.address, timeout=60) as c,
    ):
        session = c.open_session(loop.table, keys())
        second = c.open_session(loop.table, keys())
        with pytest.raises(BusyError, match="do not fit into the server's memory now"):
            c.open_session(loop.table, keys())
        with pytest.raises(BusyError, match="a request and its reply"):
            c.query(loop.table, session, request(), REPLY_BYTES)
        c.close_session(second)
        assert c.query(loop.table, session, request(), REPLY_BYTES) == reply_to(keys(), request())
        assert loop.service.memory.used == KEY_BYTES


def test_memory_is_given_back_once() -> None:
    memory = Memory(10)
    back = memory.reserve(6, "keys")
    with pytest.raises(BusyError):
        memory.reserve(5, "keys")
    back()
    back()
    assert memory.used == 0


# ---- turns ---------------------------------------------------------------------------------------


def test_turns_are_fair() -> None:
    turns = Turns(10)
    names: dict[object, str] = {}
    for client in "aaabbc":
        names[turns.enter(client.encode())] = client
    assert [turns.ahead(t) for t in names] == [0, 3, 5, 1, 4, 2]
    order = []
    while names:
        ticket = min(names, key=turns.ahead)
        assert turns.ahead(ticket) == 0
        assert turns.wait(ticket, lambda: True)
        order.append(names.pop(ticket))
        turns.leave(ticket)
    assert order == list("abcaba"), "each client in turn, not the one with most queries"
    assert turns.busy == 0


def test_turns_are_bounded_and_can_be_given_up() -> None:
    turns = Turns(1)
    first, second = turns.enter(b"a"), turns.enter(b"b")
    with pytest.raises(BusyError, match="1 queries wait already, of 1"):
        turns.enter(b"c")
    assert not turns.wait(second, lambda: False)
    turns.leave(second)
    third = turns.enter(b"c")
    assert turns.ahead(third) == 1
    turns.leave(first)
    assert turns.wait(third, lambda: True)
    turns.leave(third)
    assert turns.ahead(third) == 0, "it may be asked by whoever has not heard yet that it is over"
    assert turns.busy == 0


def test_one_query_computes_and_the_queue_is_bounded(tmp_path: Path) -> None:
    with (
        loopback.loop(tmp_path, Limits(waiting=1, grace_seconds=0)) as loop,
        Connection(loop.address, timeout=60) as c,
        ThreadPoolExecutor(2) as pool,
    ):
        session = c.open_session(loop.table, keys())
        loop.server.gate.clear()
        places: list[int] = []
        ask = lambda n, note=None: c.query(loop.table, session, request(n), REPLY_BYTES, note)  # noqa: E731
        first = pool.submit(ask, 1)
        loop.server.computing.acquire()
        waits = threading.Event()

        def note(_: float, place: int) -> None:
            places.append(place)
            waits.set()

        second = pool.submit(ask, 2, note)
        assert waits.wait(30)
        with pytest.raises(BusyError, match="queries wait already"):
            ask(3)
        loop.server.gate.set()
        assert first.result() == reply_to(keys(), request(1))
        assert second.result() == reply_to(keys(), request(2))
        assert places[0] == 1, "it was told that one comes first"
        assert places[-1] == 0


# ---- deadlines, and clients that go ----------------------------------------------------------------


def wait_for(condition: Callable[[], bool]) -> None:
    tick = threading.Event()
    for _ in range(3000):
        if condition():
            return
        tick.wait(0.01)
    raise AssertionError("it does not happen")


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
    assert "gone" in {e["result"] for e in running.events("Query")}


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


# ---- quotas --------------------------------------------------------------------------------------


def test_quota_is_charged_before_and_survives(tmp_path: Path) -> None:
    with loopback.loop(tmp_path, prf=100, bins=loopback.BINS) as loop, Connection(loop.address, timeout=60) as c:
        with pytest.raises(QuotaError, match=r"101 evaluations .* 100 of 100 a day are left"):
            c.evaluate_prf(loop.table, [b"a" * 32] * 101)
        c.evaluate_prf(loop.table, [b"a" * 32] * 60)
        session = c.open_session(loop.table, keys())
        c.query(loop.table, session, request(), REPLY_BYTES)
        with pytest.raises(QuotaError, match="0 of 256 a day are left"):
            c.query(loop.table, session, request(), REPLY_BYTES)
        assert len(loop.server.order) == 1, "what is over the quota is not computed"
        wait_for(lambda: loop.service.memory.used == KEY_BYTES)
    with loopback.loop(tmp_path, prf=100, bins=loopback.BINS) as loop, Connection(loop.address, timeout=60) as c:
        with pytest.raises(QuotaError, match="40 of 100 a day are left"):
            c.evaluate_prf(loop.table, [b"a" * 32] * 41)
        c.evaluate_prf(loop.table, [b"a" * 32] * 40)


def test_a_cancelled_query_is_charged(running: Loop) -> None:
    before = running.quota.left(running.quota.client("address:127.0.0.1"))["bins"]
    running.server.gate.clear()
    with Connection(running.address, timeout=60) as c:
        session = c.open_session(running.table, keys())
        with Connection(running.address, timeout=0.5) as hurried, pytest.raises(Error, match="--timeout"):
            hurried.query(running.table, session, request(), REPLY_BYTES)
    wait_for(lambda: running.server.cancelled == 1)
    after = running.quota.left(running.quota.client("address:127.0.0.1"))["bins"]
    assert before - after == loopback.BINS


def test_quota_counts_exactly(tmp_path: Path) -> None:
    now = [86_400.0 * 100 + 80_000]
    quota = Quota(tmp_path / "q", {"prf": 1000, "bins": 10}, lambda: now[0])
    one, two = quota.client("one"), quota.client("two")
    assert one != two
    refused = []

    def spend(_: int) -> None:
        try:
            quota.charge(one, "prf", 7)
        except QuotaError:
            refused.append(1)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(spend, range(200)))
    assert len(refused) == 200 - 1000 // 7
    assert quota.left(one) == {"prf": 1000 % 7, "bins": 10}
    assert quota.left(two) == {"prf": 1000, "bins": 10}
    quota.charge(one, "prf", 1000 % 7)
    with pytest.raises(QuotaError, match=r"1\.8 hours"):
        quota.charge(one, "prf", 1)
    now[0] += 6_400
    assert quota.left(one)["prf"] == 1000, "a new day"
    quota.charge(one, "prf", 1000)
    quota.close()


def test_quota_file_holds_no_client(tmp_path: Path) -> None:
    path = tmp_path / "q"
    quota = Quota(path, {"prf": 10, "bins": 10})
    quota.charge(quota.client(f"token:{TOKEN}"), "prf", 1)
    quota.charge(quota.client("address:192.0.2.77"), "prf", 1)
    quota.close()
    data = path.read_bytes()
    assert TOKEN.encode() not in data
    assert b"192.0.2.77" not in data
    assert path.stat().st_mode & 0o077 == 0


def test_no_quota_file(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("this is no database " * 100)
    with pytest.raises(FormatError, match="no quota file"):
        Quota(tmp_path / "text", {"prf": 1, "bins": 1})
    other = sqlite3.connect(tmp_path / "newer")
    other.execute("PRAGMA user_version = 7")
    other.close()
    with pytest.raises(FormatError, match="version 7"):
        Quota(tmp_path / "newer", {"prf": 1, "bins": 1})
    with pytest.raises(ParameterError, match="0 is the least"):
        Quota(tmp_path / "x", {"prf": -1, "bins": 1})


# ---- who may talk --------------------------------------------------------------------------------


def test_tokens(tmp_path: Path) -> None:
    with loopback.loop(tmp_path, tokens=access.Tokens([TOKEN, OTHER]), prf=10) as loop:
        for metadata in (
            (),
            (("authorization", "Bearer wrong-wrong-wrong"),),
            (("authorization", TOKEN),),
            (("authorization", f"Bearer {TOKEN[:-1]}"),),
            (("authorization", f"Bearer {TOKEN}"), ("authorization", f"Bearer {TOKEN}")),
            (("token", TOKEN),),
        ):
            for method in wire.METHODS:
                code, text = status(loop, method, [b""], metadata)
                assert code is grpc.StatusCode.UNAUTHENTICATED, (method, metadata)
                assert "--token-file" in text
        with (
            Connection(loop.address, token="another-token-123") as c,
            pytest.raises(Error, match="refused this client"),
        ):
            c.evaluate_prf(loop.table, [b"a" * 32])
        exchange(loop, token=TOKEN)
        for token in (TOKEN, OTHER):  # each has a quota of its own
            with Connection(loop.address, token=token) as c:
                c.evaluate_prf(loop.table, [b"a" * 32] * 10)
                with pytest.raises(QuotaError):
                    c.evaluate_prf(loop.table, [b"a" * 32])
        assert TOKEN not in loop.log.getvalue()


def test_token_files(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text(f"# clients\n\n  {TOKEN}  \n{OTHER}\n")
    assert access.read_tokens(path) == [TOKEN, OTHER]
    for text, words in (("", "holds no token"), ("# x\nshort\n", "line 2"), ("spaces in a long token\n", "line 1")):
        path.write_text(text)
        with pytest.raises(FormatError, match=words):
            access.read_tokens(path)
    path.write_bytes("sechzehn-zeichen-ä".encode())
    with pytest.raises(FormatError, match="ASCII"):
        access.read_tokens(path)


@pytest.mark.parametrize(
    ("peer", "identity"),
    [
        ("ipv4:192.0.2.1:4711", "address:192.0.2.1"),
        ("ipv6:%5B2001:db8:1:2:3:4:5:6%5D:4711", "address:2001:db8:1:2::/64"),
        ("ipv6:%5B::ffff:192.0.2.1%5D:1", "address:192.0.2.1"),
        ("unix:/run/psi", "unix"),
        ("", ""),
    ],
)
def test_clients_without_token_are_addresses(peer: str, identity: str) -> None:
    assert access.peer_identity(peer) == identity


def test_addresses() -> None:
    assert access.split_address("127.0.0.1:80") == ("127.0.0.1", 80)
    assert access.split_address("[::1]:8760") == ("[::1]", 8760)
    for text in ("", "host", ":80", "host:", "host:99999", "a b:80", "::1:80", "unix:/x", "host:80/x"):
        with pytest.raises(ParameterError, match="HOST:PORT"):
            access.split_address(text)
    with pytest.raises(ParameterError, match="port 0"):
        Connection("127.0.0.1:0")
    with pytest.raises(ParameterError, match="--plaintext"):
        Connection("example.org:80")
    with pytest.raises(ParameterError, match="more than 0"):
        Connection("127.0.0.1:80", timeout=0)
    for host in ("127.0.0.1", "127.9.9.9", "[::1]", "localhost"):
        assert access.is_local(host)
    for host in ("0.0.0.0", "[::]", "192.0.2.1", "localhost.example.org"):
        assert not access.is_local(host)


def test_nobody_there() -> None:
    with Connection("127.0.0.1:1", timeout=20) as c, pytest.raises(Error, match=r"nobody answers at 127\.0\.0\.1:1"):
        c.info()


def test_two_services_at_one_address(running: Loop) -> None:
    with pytest.raises(Error, match="another program does"):
        Running(running.service, running.address)


def test_another_program_at_the_port() -> None:
    """A gRPC server of something else."""
    server = grpc.server(ThreadPoolExecutor(1))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with Connection(f"127.0.0.1:{port}", timeout=20) as c, pytest.raises(Error, match="no server of private set"):
        c.info()
    server.stop(0).wait()


# ---- TLS -----------------------------------------------------------------------------------------


def openssl(folder: Path, words: str) -> None:
    subprocess.run(["openssl", *words.split()], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two authorities, and a certificate of the first for this machine."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl command")
    folder = tmp_path_factory.mktemp("tls")
    new = "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
    for name in ("ca", "stranger"):
        openssl(folder, f"{new} -x509 -days 2 -subj /CN={name} -keyout {name}.key -out {name}.pem")
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    openssl(folder, f"{new} -subj /CN=x -keyout s.key -out s.csr")
    openssl(folder, "x509 -req -in s.csr -CA ca.pem -CAkey ca.key -days 2 -extfile names -out s.pem")
    return folder


def test_tls(certificates: Path, tmp_path: Path) -> None:
    credentials = access.server_credentials(certificates / "s.pem", certificates / "s.key")
    with loopback.loop(tmp_path, credentials=credentials) as loop:
        exchange(loop, ca=certificates / "ca.pem")
        with (
            Connection(loop.address, ca=certificates / "stranger.pem", timeout=30) as c,
            pytest.raises(Error, match="no protected connection"),
        ):
            c.info()
        with Connection(loop.address, timeout=30) as c, pytest.raises(Error, match="TLS"):
            c.info()
        exchange(loop, ca=certificates / "ca.pem")
    with (
        loopback.loop(tmp_path) as loop,
        Connection(loop.address, ca=certificates / "ca.pem", timeout=30) as c,
        pytest.raises(Error, match="no protected connection"),
    ):
        c.info()


def test_tls_files(certificates: Path, tmp_path: Path) -> None:
    assert access.server_credentials(None, None) is None
    with pytest.raises(ParameterError, match="both"):
        access.server_credentials(certificates / "s.pem", None)
    with pytest.raises(FormatError, match="no PRIVATE KEY"):
        access.server_credentials(certificates / "s.pem", certificates / "s.pem")
    with pytest.raises(FormatError, match="no CERTIFICATE"):
        access.client_credentials(certificates / "s.key")
    wrong = access.server_credentials(certificates / "ca.pem", certificates / "s.key")
    with pytest.raises(Error, match="do not belong together"), loopback.loop(tmp_path, credentials=wrong):
        pass


# ---- limits --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values", [{"memory": 0}, {"sessions": 0}, {"waiting": 0}, {"idle_seconds": 0.0}, {"grace_seconds": -1.0}]
)
def test_limits_are_checked(values: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        Limits(**values)


def test_logs_have_no_way_in_for_contents(running: Loop) -> None:
    exchange(running, 0x41)
    with Connection(running.address) as c:
        c.evaluate_prf(running.table, [b"B" * 32])
    for line in running.log.getvalue().splitlines():
        assert len(line) < 300, line
        assert "AAAA" not in line
        assert "BBBB" not in line
        assert "127.0.0.1" not in line
