# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Clients at their limits, however many, leave room for one more: sessions, memory, calls, turns."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from ringforge.errors import MissingKeyError
from ringforge.psi.proto import psi_pb2 as pb
from ringforge.psi.remote import Connection
from ringforge.serving.access import Tokens
from ringforge.serving.limits import Limits
from ringforge.serving.sessions import TURN_SECONDS, BusyError, Memory, Sessions, Turns, share
from tests.psi import loopback
from tests.psi.hostile import Hostile, framed
from tests.psi.loopback import KEY_BYTES, REPLY_BYTES, REQUEST_BYTES, exchange, keys, reply_to, request, wait_for

HONEST = "token-of-the-honest-one"


def hostile(count: int) -> list[str]:
    return [f"token-of-hostile-number-{i:03}" for i in range(count)]


@pytest.mark.parametrize("count", [4, 16, 20])
def test_idle_sessions_of_many_tokens_leave_one_for_the_honest(tmp_path: Path, count: int) -> None:
    """Each opens as many as it may; with 20 there are more tokens than the 16 places."""
    limits = Limits(sessions=16, sessions_each=4, grace_seconds=0)
    with loopback.loop(tmp_path, limits, tokens=Tokens([*hostile(count), HONEST])) as loop:
        opened = []
        for token in hostile(count):
            with Connection(loop.address, timeout=60, token=token) as eve, contextlib.suppress(BusyError):
                for _ in range(limits.sessions_each):
                    opened.append((token, eve.open_session(loop.table, keys())))
        assert len(loop.service.sessions) >= limits.sessions
        exchange(loop, token=HONEST)
        lost = []
        for token, session in opened:
            with Connection(loop.address, timeout=60, token=token) as eve:
                try:
                    eve.query(loop.table, session, request(), REPLY_BYTES)
                except MissingKeyError as e:
                    lost.append(str(e))
        assert all("to make room for clients with fewer: open another" in e for e in lost)
        if count < limits.sessions:
            assert lost, "who had most gave one up"
        assert len(opened) - len(lost) >= min(count, limits.sessions), "and everybody keeps one"


def test_keys_on_their_way_keep_nobody_out(tmp_path: Path) -> None:
    """All places, and all memory but the room for one query, are taken by keys that never come."""
    each, room = 4, REQUEST_BYTES + REPLY_BYTES
    limits = Limits(sessions=16, sessions_each=each, memory=16 * KEY_BYTES + room, stall_seconds=600, grace_seconds=0)
    with (
        loopback.loop(tmp_path, limits, tokens=Tokens([*hostile(4), HONEST])) as loop,
        contextlib.ExitStack() as held,
    ):
        header = framed(pb.OpenRequest(header=pb.OpenHeader(table=loop.table, total_bytes=KEY_BYTES)))
        for token in hostile(4):
            eve = held.enter_context(Hostile(loop.running.port, token=token))
            for _ in range(each):
                eve.send(eve.open("OpenSession"), header)
        wait_for(lambda: loop.service.memory.used == 16 * KEY_BYTES)
        exchange(loop, token=HONEST)
        assert {e["result"] for e in loop.events("OpenSession")} == {"ok", "displaced"}


def test_calls_of_others_keep_nobody_out(tmp_path: Path) -> None:
    limits = Limits(calls=8, calls_each=4, stall_seconds=600, grace_seconds=0)
    with (
        loopback.loop(tmp_path, limits, tokens=Tokens([*hostile(2), HONEST])) as loop,
        Hostile(loop.running.port, token=hostile(2)[0]) as one,
        Hostile(loop.running.port, token=hostile(2)[1]) as two,
    ):
        for eve in (one, two):
            for _ in range(4):
                eve.open("Query")
        wait_for(lambda: loop.service.meter.under_way == 8)
        with Hostile(loop.running.port, token=HONEST) as several:  # and its share is more than one
            for _ in range(share(8, 2) - 1):
                several.open("Query")
            wait_for(lambda: loop.service.meter.under_way == 9)
            exchange(loop, token=HONEST)
        wait_for(lambda: loop.service.meter.under_way == 8)


@pytest.mark.parametrize("count", [4, 16, 64])
def test_a_full_queue_has_a_place_for_who_does_not_wait_yet(count: int) -> None:
    turns = Turns(32)
    tickets = []
    for who in range(count):
        for _ in range(32 // count or 1):
            tickets.append(turns.enter(b"%d" % who))
    with pytest.raises(BusyError):
        tickets += [turns.enter(b"0") for _ in range(33)]
    mine = turns.enter(b"honest")
    assert turns.ahead(mine) <= count + 1, "one of each comes first, not all"
    for _ in range(share(32, count) - 1):
        turns.enter(b"honest")
    with pytest.raises(BusyError, match="wait already"):
        turns.enter(b"honest")


def test_more_clients_than_sessions_take_turns() -> None:
    """Each holds one: a newcomer gets one too, and once one has been idle for its time it makes room."""
    now = [0.0]
    sessions, freed = Sessions(2, 2, 300.0, lambda: now[0]), []
    names = {}
    for client in (b"a", b"b", b"c"):
        with sessions.opening(client) as keep:
            names[client] = keep(client, lambda c=client: freed.append(c))  # type: ignore[misc]
        now[0] += 1
    assert (len(sessions), freed) == (3, [])
    now[0] += TURN_SECONDS
    with sessions.using(names[b"a"], b"a"):
        pass
    with sessions.opening(b"d") as keep:
        keep(b"d", lambda: None)
    assert freed == [b"b"], "the one that was idle the longest"
    with pytest.raises(MissingKeyError, match="to make room"), sessions.using(names[b"b"], b"b"):
        pass
    with pytest.raises(MissingKeyError, match="no such session"), sessions.using(names[b"b"], b"a"):
        pass
    with sessions.using(names[b"c"], b"c"), sessions.using(names[b"a"], b"a"):
        with sessions.opening(b"e") as keep:
            keep(b"e", lambda: None)
        assert freed == [b"b"], "what is in use stays"


def test_clients_with_one_session_each_are_all_served(tmp_path: Path) -> None:
    """Keys of all of them, and half a query beside them, would fill the memory: then no query would ever fit."""
    now, tokens = [0.0], hostile(4)
    limits = Limits(memory=4 * KEY_BYTES + (REQUEST_BYTES + REPLY_BYTES) // 2, grace_seconds=0)
    with (
        loopback.loop(tmp_path, limits, tokens=Tokens(tokens)) as loop,
        contextlib.ExitStack() as held,
    ):
        loop.service.sessions._clock = lambda: now[0]
        clients = [held.enter_context(Connection(loop.address, timeout=60, token=token)) for token in tokens]
        sessions: list[bytes | None] = []
        for c in clients:
            try:
                sessions.append(c.open_session(loop.table, keys()))
            except BusyError:
                sessions.append(None)
        refused = sessions.count(None)
        for _ in range(2):
            for i, c in enumerate(clients):
                now[0] += TURN_SECONDS / 3 + 1  # whoever rested meanwhile makes room
                session = sessions[i]
                try:
                    if session is None:
                        raise MissingKeyError
                    reply = c.query(loop.table, session, request(i), REPLY_BYTES)
                except MissingKeyError:
                    sessions[i] = session = c.open_session(loop.table, keys())
                    reply = c.query(loop.table, session, request(i), REPLY_BYTES)
                assert reply == reply_to(keys(), request(i))
        assert refused == 1, "the fourth would have taken the room of queries"


def test_what_is_kept_leaves_room_for_the_largest_work() -> None:
    memory = Memory(10)
    memory.reserve(3, "keys", b"a", room=2)
    memory.reserve(3, "keys", b"b", room=4)
    with pytest.raises(BusyError, match="4 bytes stay free for queries"):
        memory.reserve(1, "keys", b"c", room=1)
    work = memory.reserve(4, "a request", b"a")
    with pytest.raises(BusyError, match="a request of 1 bytes"):
        memory.reserve(1, "a request", b"b")
    work()
    memory.reserve(4, "a request", b"b")


def test_memory_comes_from_who_has_most() -> None:
    memory, gone = Memory(10), []

    def take(client: bytes, count: int) -> None:
        held = memory.reserve(count, "keys", client)

        def give_up(idle_seconds: float) -> bool:
            if idle_seconds:
                return False
            gone.append((client, count))
            held()
            return True

        held.give_up = give_up

    take(b"large", 3)
    take(b"large", 3)
    take(b"small", 2)
    take(b"new", 3)
    assert gone == [(b"large", 3)]
    assert memory.used == 8
    with pytest.raises(BusyError, match="do not fit"):
        take(b"small", 5)
    assert gone == [(b"large", 3)], "nobody has as much as it would have then"
