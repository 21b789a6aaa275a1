# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a service holds for its clients: their keys, its memory, and whose turn it is to be computed."""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ringforge.cli.console import size_text
from ringforge.errors import Error, MissingKeyError

#: Bytes that name a session.
SESSION_BYTES = 16

#: Clients whose last turn is remembered while others wait.
_REMEMBERED = 4096


class BusyError(Error):
    """The service is at one of its limits; the message names the limit, and when to come again."""


class Memory:
    """A budget of bytes for keys, requests and replies of all clients together."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._used = 0
        self._lock = threading.Lock()

    @property
    def used(self) -> int:
        """Bytes set aside."""
        with self._lock:
            return self._used

    def reserve(self, count: int, what: str) -> Callable[[], None]:
        """Sets bytes aside; returns what gives them back, once.

        Raises:
            BusyError: there are not as many left.
        """
        with self._lock:
            if self._used + count > self.limit:
                raise BusyError(
                    f"{what} of {size_text(count)} do not fit into the server's memory now: {size_text(self._used)} of "
                    f"{size_text(self.limit)} are taken by other clients: try again later, or give the server a larger "
                    "--memory"
                )
            self._used += count
        given = threading.Lock()

        def give_back() -> None:
            if given.acquire(blocking=False):
                with self._lock:
                    self._used -= count

        return give_back


@dataclass
class Session:
    """One client's evaluation keys."""

    client: bytes
    keys: Any = field(repr=False)
    release: Callable[[], None] = field(repr=False)
    last_used: float
    running: int = 0
    closed: bool = False


class Sessions:
    """The keys of all clients, each under 16 random bytes that only its client has, and forgotten when idle.

    Args:
        most: sessions held at a time. each: of one client.
        idle_seconds: after which a session that computes nothing is forgotten.
        clock: seconds; for tests.
    """

    def __init__(self, most: int, each: int, idle_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.most, self._each, self.idle_seconds, self._clock = most, each, idle_seconds, clock
        self._lock = threading.Lock()
        self._held: dict[bytes, Session] = {}
        self._opening: list[bytes] = []

    def __len__(self) -> int:
        with self._lock:
            return len(self._held)

    @contextlib.contextmanager
    def opening(self, client: bytes) -> Iterator[Callable[[Any, Callable[[], None]], bytes]]:
        """A place for keys that are about to come, counted from now on.

        Yields:
            what takes the keys, and what gives back their memory, and returns the session's name.

        Raises:
            BusyError: there is no place.
        """
        self.sweep()
        with self._lock:
            every = [*(s.client for s in self._held.values()), *self._opening]
            for count, limit, whose in (
                (len(every), self.most, "this server has"),
                (every.count(client), self._each, "this client has"),
            ):
                if count >= limit:
                    raise BusyError(
                        f"{whose} {count} open sessions of {limit} allowed: close one, or try again when one has been "
                        f"idle for {self.idle_seconds:.0f} seconds"
                    )
            self._opening.append(client)

        def keep(keys: Any, release: Callable[[], None]) -> bytes:
            name = secrets.token_bytes(SESSION_BYTES)
            with self._lock:
                self._held[name] = Session(client, keys, release, self._clock())
            return name

        try:
            yield keep
        finally:
            with self._lock:
                self._opening.remove(client)

    @contextlib.contextmanager
    def using(self, name: bytes, client: bytes) -> Iterator[Any]:
        """The keys of a session, which is not idle meanwhile.

        Raises:
            MissingKeyError: this client has no such session.
        """
        self.sweep()
        with self._lock:
            session = self._held.get(name)
            # Somebody else's session is no session: the answer must not tell that it exists.
            if session is None or session.client != client:
                raise MissingKeyError(
                    "there is no such session of this client: it was closed, was idle for "
                    f"{self.idle_seconds:.0f} seconds, or the server started anew; open another"
                )
            session.running += 1
        try:
            yield session.keys
        finally:
            with self._lock:
                session.running -= 1
                session.last_used = self._clock()
                last = session.closed and not session.running
            if last:
                session.release()

    def close(self, name: bytes, client: bytes) -> bool:
        """Forgets a session, after what it computes just now; says whether there was one."""
        with self._lock:
            session = self._held.get(name)
            if session is None or session.client != client:
                return False
            del self._held[name]
            session.closed = True
            idle = not session.running
        if idle:
            session.release()
        return True

    def clear(self) -> None:
        """Forgets all sessions."""
        with self._lock:
            gone = list(self._held.values())
            self._held.clear()
        for session in gone:
            session.release()

    def sweep(self) -> int:
        """Forgets the sessions that have been idle for too long; returns how many."""
        with self._lock:
            limit = self._clock() - self.idle_seconds
            old = [n for n, s in self._held.items() if not s.running and s.last_used < limit]
            gone = [self._held.pop(n) for n in old]
        for session in gone:
            session.release()
        return len(gone)


class Turns:
    """Who computes next: a few at a time, and the client that has waited since its last turn the longest goes first.

    Within one client, first come, first served. So a client with many queries holds up its own, not others'. Queries
    that must not compute at the same time take no turn of others' while they wait for each other.

    Args:
        most: that may wait, those that compute not counted. at_once: that compute at a time.
    """

    def __init__(self, most: int, at_once: int = 1) -> None:
        self.most, self._at_once = most, at_once
        self._changed = threading.Condition()
        #: Client, ticket, and what no two compute at the same time, or None.
        self._waiting: list[tuple[bytes, object, Hashable]] = []
        self._running: dict[object, Hashable] = {}
        self._served: dict[bytes, int] = {}
        self._count = 0

    @property
    def busy(self) -> int:
        """Queries that compute or wait."""
        with self._changed:
            return len(self._waiting) + len(self._running)

    @property
    def waiting(self) -> int:
        """Queries that wait."""
        with self._changed:
            return len(self._waiting)

    def enter(self, client: bytes, alone: Hashable = None) -> object:
        """Queues up; returns a ticket for `wait` and `leave`.

        Args:
            alone: what it is about, if no other query about that may compute at the same time.

        Raises:
            BusyError: too many wait already.
        """
        with self._changed:
            if len(self._waiting) >= self.most and (self._waiting or len(self._running) >= self._at_once):
                raise BusyError(f"{len(self._waiting)} queries wait already, of {self.most} that may: try again later")
            ticket = object()
            self._waiting.append((client, ticket, alone))
            self._advance()
            return ticket

    def ahead(self, ticket: object) -> int:
        """Queries to be computed before this one, as things are; 0 when its turn has come, or is over."""
        with self._changed:
            order = [t for _, t, _ in self._order()]
            return order.index(ticket) + len(self._running) if ticket in order else 0

    def wait(self, ticket: object, going_on: Callable[[], bool], poll_seconds: float = 0.2) -> bool:
        """Waits for the ticket's turn; returns False when `going_on` does before."""
        with self._changed:
            while ticket not in self._running:
                if not going_on():
                    return False
                self._changed.wait(poll_seconds)
        return going_on()

    def leave(self, ticket: object) -> None:
        """Gives up the turn, or the place in the queue."""
        with self._changed:
            if ticket in self._running:
                del self._running[ticket]
            else:
                self._waiting = [w for w in self._waiting if w[1] is not ticket]
            self._advance()
            self._changed.notify_all()

    def _order(self) -> list[tuple[bytes, object, Hashable]]:
        """Those who wait in the order they will be served: clients in turn, each client's oldest first."""
        turns: dict[bytes, int] = {}
        keyed = []
        for place, waiting in enumerate(self._waiting):
            client = waiting[0]
            turn = turns.get(client, 0)
            turns[client] = turn + 1
            keyed.append(((turn, self._served.get(client, -1), place), waiting))
        return [w for _, w in sorted(keyed, key=lambda k: k[0])]

    def _advance(self) -> None:
        while self._waiting and len(self._running) < self._at_once:
            busy = {about for about in self._running.values() if about is not None}
            chosen = next((w for w in self._order() if w[2] not in busy), None)
            if chosen is None:  # all wait for those that compute
                break
            self._waiting.remove(chosen)
            self._running[chosen[1]] = chosen[2]
            self._count += 1
            self._served[chosen[0]] = self._count
            if len(self._served) > _REMEMBERED:
                del self._served[min(self._served, key=lambda c: self._served[c])]
            self._changed.notify_all()
        if not self._running:
            self._served.clear()  # nobody waits: there is nothing to be fair about, and nothing grows
