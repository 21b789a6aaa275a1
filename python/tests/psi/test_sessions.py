# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a service holds for clients: sessions, memory, turns."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ringforge.errors import MissingKeyError, ParameterError
from ringforge.psi.remote import Connection
from ringforge.serving import access
from ringforge.serving.calls import Call
from ringforge.serving.limits import Limits
from ringforge.serving.sessions import BusyError, Memory, Sessions, Turns
from tests.psi import loopback
from tests.psi.loopback import (
    KEY_BYTES,
    REPLY_BYTES,
    REQUEST_BYTES,
    keys,
    reply_to,
    request,
)

TOKEN, OTHER = "token-of-client-one", "token-of-client-two"


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
        with pytest.raises(BusyError, match=r"do not fit into the server's memory now.* stay free for queries"):
            c.open_session(loop.table, keys())
        assert c.query(loop.table, session, request(), REPLY_BYTES) == reply_to(keys(), request())
        assert loop.service.memory.used == KEY_BYTES


def test_memory_of_a_query_is_free_when_its_client_has_the_reply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One query after the other, with room for one: none is refused for what the last one held, even if the server is
    late to notice that the call is over."""
    when_over = Call.when_over
    monkeypatch.setattr(Call, "when_over", lambda call, act: when_over(call, lambda: (time.sleep(0.1), act())))
    room = KEY_BYTES + REQUEST_BYTES + REPLY_BYTES
    with (
        loopback.loop(tmp_path, Limits(memory=room, grace_seconds=0)) as loop,
        Connection(loop.address, timeout=60) as c,
    ):
        session = c.open_session(loop.table, keys())
        for _ in range(4):
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
        turns.enter(b"b")
    assert not turns.wait(second, lambda: False)
    turns.leave(second)
    third = turns.enter(b"c")
    assert turns.ahead(third) == 1
    turns.leave(first)
    assert turns.wait(third, lambda: True)
    turns.leave(third)
    assert turns.ahead(third) == 0, "it may be asked by whoever has not heard yet that it is over"
    assert turns.busy == 0


def test_several_may_compute_at_a_time() -> None:
    turns = Turns(1, at_once=2)
    first, second, third = (turns.enter(c) for c in (b"a", b"a", b"a"))
    assert [turns.wait(t, lambda: True) for t in (first, second)] == [True, True]
    assert not turns.wait(third, lambda: False)
    assert (turns.busy, turns.waiting, turns.ahead(third)) == (3, 1, 2)
    with pytest.raises(BusyError, match="1 queries wait already, of 1"):
        turns.enter(b"a")
    turns.leave(second)
    assert turns.wait(third, lambda: True)
    for t in (first, third):
        turns.leave(t)
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


def test_queries_about_the_same_take_no_turn_of_others():
    turns = Turns(10, at_once=2)
    one, same, again = (turns.enter(b"a", "bulletin 1") for _ in range(3))
    other = turns.enter(b"b", "bulletin 2")
    assert [turns.ahead(t) for t in (one, other)] == [0, 0]
    assert all(turns.wait(t, lambda: True) for t in (one, other))
    assert not turns.wait(same, iter([True, False]).__next__, 0.01)
    turns.leave(other)
    assert not turns.wait(same, iter([True, False]).__next__, 0.01), "while the first is computed"
    third = turns.enter(b"c")
    assert turns.wait(third, lambda: True)
    turns.leave(one)
    assert turns.wait(same, lambda: True)
    turns.leave(third)
    turns.leave(same)
    assert turns.wait(again, lambda: True)
