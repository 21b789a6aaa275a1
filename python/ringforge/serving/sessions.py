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


def share(most: int, others: int) -> int:
    """Return how many of what there is a client may have beside others that have some, whatever these have taken."""
    return max(1, most // (others + 1))


class BusyError(Error):
    """The service is at one of its limits; the message names the limit, and when to come again."""


#: Seconds for which a session that is its client's only one is left alone, when there are more clients than places.
TURN_SECONDS = 10.0

#: Sessions and queries beyond the limit of all clients, at the most: parts of shares of which others have taken more.
_FIRST = 1024

#: Seconds to wait for memory that others have been told to give back.
_GIVEN_SECONDS = 5.0

#: Frees what a part of the memory is held for; returns whether it does. With seconds above 0 only if it has not been
#: used for so long.
GiveUp = Callable[[float], bool]


def _keep(_: float) -> bool:
    return False


class Reserved:
    """Bytes set aside for a client; called, it gives them back, once.

    give_up: ends what they are held for, when another client has less and needs them.
    room: bytes of work that must fit beside them for as long as they are kept; 0 if they are for work themselves.
    """

    def __init__(self, memory: Memory, client: bytes, count: int, give_up: GiveUp, room: int = 0) -> None:
        self._memory, self.client, self.count, self.give_up, self.room = memory, client, count, give_up, room
        self.asked = False

    def __call__(self) -> None:
        self._memory.give_back(self)


class Memory:
    """A budget of bytes for keys, requests and replies of all clients together.

    Whoever needs some when all are taken gets them from the client that holds the most, as long as that one keeps more
    than who needs them has: its idle sessions are closed, then its calls are ended. When all hold as little as that,
    sessions that were idle for `TURN_SECONDS` go, the longest idle first.

    Keys stay when the work with them has ended, so they never take all: what is kept leaves room for one piece of work,
    the largest that any of it needs. So work is refused only while other work is under way, and keys that would fill
    that room are refused, or take the place of others' keys.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._used = 0
        self._changed = threading.Condition()
        self._held: dict[int, Reserved] = {}  # in the order in which they came

    @property
    def used(self) -> int:
        """Bytes set aside."""
        with self._changed:
            return self._used

    def reserve(self, count: int, what: str, client: bytes = b"", give_up: GiveUp = _keep, room: int = 0) -> Reserved:
        """Set bytes aside; returns what gives them back, once.

        Args:
            what: they are for, in messages. client: whose. give_up: ends what they are held for.
            room: of what stays when a call has ended, as keys do: bytes of the work that is to fit beside it.

        Raises:
            BusyError: there are not as many left, and no other client has more than its share.
        """
        reserved, tried, until = Reserved(self, client, count, give_up, room), set[int](), 0.0
        while True:
            with self._changed:
                if self._fits(reserved, [*self._held.values()]):
                    self._used += count
                    self._held[id(reserved)] = reserved
                    return reserved
                coming = any(h.asked for h in self._held.values())
                enough = self._fits(reserved, [h for h in self._held.values() if not h.asked])
                found = None if enough else self._victim(reserved, tried)
                if found is None:
                    until = until or time.monotonic() + _GIVEN_SECONDS
                    if coming and self._changed.wait(until - time.monotonic()):
                        continue
                    free = max(h.room for h in (*self._held.values(), reserved))
                    beside = f", and {size_text(free)} stay free for queries" if room else ""
                    raise BusyError(
                        f"{what} of {size_text(count)} do not fit into the server's memory now: "
                        f"{size_text(self._used)} of {size_text(self.limit)} are taken by other clients{beside}: try "
                        "again later, or give the server a larger --memory"
                    )
                victim, idle_seconds = found
                tried.add(id(victim))
                victim.asked = True
            given = victim.give_up(idle_seconds)
            with self._changed:
                victim.asked = given and id(victim) in self._held

    def _kept_fits(self, new: Reserved, held: list[Reserved]) -> bool:
        """Whether work still has its room when this is kept beside what is."""
        kept = [h for h in (*held, new) if h.room]
        return not new.room or sum(h.count for h in kept) + max(h.room for h in kept) <= self.limit

    def _fits(self, new: Reserved, held: list[Reserved]) -> bool:
        return sum(h.count for h in held) + new.count <= self.limit and self._kept_fits(new, held)

    def _victim(self, new: Reserved, tried: set[int]) -> tuple[Reserved, float] | None:
        """What is to be given up next, and how long it must have been idle."""
        client, count, have = new.client, new.count, dict[bytes, int]()
        only_kept = not self._kept_fits(new, [h for h in self._held.values() if not h.asked])
        for h in self._held.values():
            if not h.asked:
                have[h.client] = have.get(h.client, 0) + h.count
        mine = have.pop(client, 0)
        for whose in sorted(have, key=lambda c: -have[c]):
            if have[whose] >= mine + count:
                for h in self._held.values():
                    if h.client == whose and not h.asked and id(h) not in tried and (h.room or not only_kept):
                        return h, 0.0 if have[whose] > mine + count else TURN_SECONDS
        return None

    def give_back(self, reserved: Reserved) -> None:
        """Take back what was set aside; a second time nothing."""
        with self._changed:
            if self._held.pop(id(reserved), None) is not None:
                self._used -= reserved.count
                self._changed.notify_all()


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

    When all places are taken, who needs one gets it from the client with most sessions, if that one keeps more than who
    needs it has: the one that was idle for longest is closed. A client always gets its `share`, one at least: beyond
    the limit, if the others' are all in use. With more clients than places, a session that was idle for `TURN_SECONDS`
    goes, though it is its client's only one.

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
        self._evicted: dict[bytes, bytes] = {}  # sessions closed for others, by name, with whose they were

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
            mine = every.count(client)
            if mine >= self._each:
                raise self._full("this client has", mine, self._each)
            evicted = self._evict_for(client, every) if len(every) >= self.most else None
            fair = mine < share(self.most, len({*every} - {client})) and len(every) < self.most + _FIRST
            if len(every) >= self.most and evicted is None and not fair:
                raise self._full("this server has", len(every), self.most)
            self._opening.append(client)
        if evicted is not None:
            evicted.release()

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

    def _full(self, whose: str, count: int, limit: int) -> BusyError:
        return BusyError(
            f"{whose} {count} open sessions of {limit} allowed: close one, or try again when one has been idle for "
            f"{self.idle_seconds:.0f} seconds"
        )

    def _evict_for(self, client: bytes, every: list[bytes]) -> Session | None:
        """Take away the session that must make room for a client, if one must."""
        have = {c: every.count(c) for c in set(every)}
        mine, least = have.get(client, 0), self._clock() - TURN_SECONDS
        idle = [
            (name, s)
            for name, s in self._held.items()
            if not s.running
            and s.client != client
            and (have[s.client] > mine + 1 or (have[s.client] > mine and s.last_used < least))
        ]
        if not idle:
            return None
        name, session = min(idle, key=lambda found: (-have[found[1].client], found[1].last_used))
        self._forget(name, session)
        return session

    def _forget(self, name: bytes, session: Session) -> None:
        del self._held[name]
        session.closed = True
        self._evicted[name] = session.client
        if len(self._evicted) > _REMEMBERED:
            del self._evicted[next(iter(self._evicted))]

    def evict(self, name: bytes, idle_seconds: float = 0.0) -> bool:
        """Close a session to make room for others, unless it is in use or was within so many seconds."""
        with self._lock:
            session = self._held.get(name)
            if session is None or session.running or session.last_used > self._clock() - idle_seconds:
                return False
            self._forget(name, session)
        session.release()
        return True

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
                if self._evicted.get(name) == client:
                    raise MissingKeyError(
                        "this session was closed while it was idle, to make room for clients with fewer: open another"
                    )
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
    that must not compute at the same time take no turn of others' while they wait for each other. A client of which
    less than a `share` waits may let more wait though all places are taken, so that a few cannot take them all.

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
            mine = sum(who == client for who, _, _ in self._waiting)
            fair = mine < share(self.most, len({who for who, _, _ in self._waiting} - {client}))
            full = len(self._waiting) >= self.most and (self._waiting or len(self._running) >= self._at_once)
            if full and (not fair or len(self._waiting) >= self.most + _FIRST):
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
                self._advance()  # whoever left may have had no memory for it
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
