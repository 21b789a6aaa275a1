# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The memory side of the replica: events, DRAM ports, and the bandwidth they share.

A port (rf_axi_read, rf_axi_write) grants one burst per cycle, round-robin over its clients, as long as fewer than
`OUTSTANDING` are in flight. Bursts of one direction of a port then move one after another, a beat per cycle, unless
all ports together want more than the memory gives.

A grant in cycle t is on the bus in t + 1; its first beat may move from t + 1 + latency on (a read), or t + 2 (a
write, whose acknowledgement comes `latency` cycles after its last beat).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Final, Protocol

#: A time that is not known yet.
NEVER: Final = 1 << 60
#: Bursts in flight per port and direction.
OUTSTANDING: Final = 16
#: Bursts of a write port whose beats are still to come.
DATA_QUEUE: Final = 2

# Within a cycle, what arrives comes before what is decided upon it.
ARRIVE: Final = 0
DECIDE: Final = 1


class Events:
    """Actions at cycles, carried out in order of time."""

    __slots__ = ("_count", "_heap", "handled")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Callable[[int, int], None], int]] = []
        self._count = 0
        self.handled = 0

    def at(self, time: int, phase: int, action: Callable[[int, int], None], argument: int = 0) -> None:
        """Calls action(time, argument) in a cycle."""
        self._count += 1
        heappush(self._heap, (2 * time + phase, self._count, action, argument))

    def next_time(self) -> int:
        """Cycle of the next action, or NEVER."""
        return self._heap[0][0] >> 1 if self._heap else NEVER

    def run(self) -> None:
        """Until nothing is left to happen."""
        heap = self._heap
        handled = 0
        while heap:
            key, _, action, argument = heappop(heap)
            handled += 1
            action(key >> 1, argument)
        self.handled += handled


class Bandwidth:
    """What all channels share: tokens for `beats` beats arrive per cycle, and every beat that moves takes one.

    Follows the simulated memory (hw/sim/memory.hpp): the channels, reads of all ports and then writes, are asked in
    turn, starting one further every cycle. A read takes its token when it is offered; a write when it has moved, so
    writes of one cycle may overdraw. As long as there is enough for all, time passes in one step until the next burst
    is through; else cycle by cycle.

    Args:
        events: the clock.
        ports: DRAM ports.
        beats: bandwidth in beats per cycle.
        latency: from the last beat of a write to its acknowledgement.
        turn: channel that is asked first in cycle 0.
    """

    __slots__ = (
        "_active",
        "_beats",
        "_cap",
        "_known",
        "_orders",
        "_planned",
        "_ports",
        "_time",
        "_tokens",
        "_turn",
        "channels",
        "events",
    )

    def __init__(self, events: Events, ports: int, beats: float, latency: int, turn: int = 0) -> None:
        self.events = events
        self.channels = [Channel(self, i, latency) for i in range(2 * ports)]
        self._ports = ports
        self._beats = beats
        self._cap = 2.0 * ports
        self._tokens = self._cap
        self._turn = turn
        self._time = 0  # first cycle that has not passed
        self._active: list[Channel] = []  # channels that want to move a beat in that cycle
        self._orders: list[list[Channel]] = []
        self._known: dict[int, list[list[Channel]]] = {}  # orders by set of active channels
        self._planned = NEVER

    def start(self, channel: Channel, time: int) -> None:
        """A channel wants to move beats from a cycle on."""
        if time > self._time:
            self._pass(time)
        self._active.append(channel)
        self._changed()

    def _changed(self) -> None:
        """The set of active channels is another one."""
        active = self._active
        if not active:
            return
        mask = 0
        for c in active:
            mask |= 1 << c.index
        orders = self._known.get(mask)
        if orders is None:
            # By the channel asked first: the order in which the active ones are asked.
            chosen = [c for c in self.channels if mask >> c.index & 1]
            orders = [
                [c for c in chosen if c.index >= first] + [c for c in chosen if c.index < first]
                for first in range(len(self.channels))
            ]
            self._known[mask] = orders
        self._orders = orders
        self._plan()

    def _plan(self) -> None:
        if len(self._active) > self._beats or self._tokens < 0:
            time = self._time
        else:
            time = self._time + min([c.left for c in self._active]) - 1
        self._planned = time
        self.events.at(time, DECIDE, self._tick)

    def _pass(self, until: int) -> None:
        """Lets the cycles before `until` pass, in which no burst ends."""
        cycles = until - self._time
        active = self._active
        self._tokens = min(self._tokens + cycles * (self._beats - len(active)), self._cap - len(active))
        for c in active:
            c.left -= cycles
            c.before = until - 2 if cycles > 1 else c.last
            c.last = until - 1
        self._time = until

    def _tick(self, now: int, _: int) -> None:
        if now != self._planned:
            return
        self._planned = NEVER
        if len(self._active) <= self._beats and self._tokens >= 0:
            self._pass(now + 1)
        elif all(c.index < self._ports for c in self._active):
            self._contend_for_reads()
        else:
            self._contend()
        time = self._time
        done = [c for c in self._active if c.left == 0]
        same = True
        for c in done:
            if not c.advance(time):
                self._active.remove(c)
                same = False
        if same:
            self._plan()
        else:
            self._changed()
        for c in done:
            c.moved(time - 1, c.before)

    def _contend_for_reads(self) -> None:
        """As `_contend`, for reads only, which take a token each: who comes last goes without."""
        time, tokens, beats, cap = self._time, self._tokens, self._beats, self._cap
        active, orders = self._active, self._orders
        count, wanted = len(orders), len(active)
        enough = wanted <= beats
        stop = self.events.next_time()
        for c in active:
            c.due = time + c.left  # the cycle after its last beat, if it never goes without
        end = min([c.due for c in active])
        while True:
            tokens = min(tokens + beats, cap)
            granted = int(tokens) if tokens > 0 else 0
            if granted < wanted:
                for c in orders[(time + self._turn) % count][granted:]:
                    c.due += 1
                tokens -= granted
            else:
                tokens -= wanted
            time += 1
            if time >= end:
                end = min([c.due for c in active])
            if time >= end or time >= stop or (enough and tokens >= 0):
                break
        for c in active:
            c.left = c.due - time
        self._time, self._tokens = time, tokens

    def _contend(self) -> None:
        """Cycle by cycle, until a burst is through, something else happens, or there is enough for all."""
        time, tokens, beats, cap, ports = self._time, self._tokens, self._beats, self._cap, self._ports
        orders = self._orders
        count = len(orders)
        enough = len(self._active) <= beats
        stop = self.events.next_time()
        going = True
        while going:
            tokens = min(tokens + beats, cap)
            overdraft = 0
            for c in orders[(time + self._turn) % count]:
                if tokens >= 1.0:
                    c.left -= 1
                    c.before = c.last
                    c.last = time
                    if c.left == 0:
                        going = False
                    if c.index < ports:
                        tokens -= 1.0
                    else:
                        overdraft += 1
            tokens -= overdraft
            time += 1
            if time >= stop or (enough and tokens >= 0):
                break
        self._time, self._tokens = time, tokens


class Mover(Protocol):
    """Reads or writes of one port, as the port sees them; `Channel`, or what `replica_dram` has."""

    #: Called in the cycle of a part's last beat; `before`: cycle of the beat before.
    moved: Callable[[int, int], None]

    def push(self, parts: int, beats: int, ready: int, address: int) -> None:
        """A burst of `parts` times `beats` beats, each part to be told of, that may move from cycle `ready` on."""


class Writes(Mover, Protocol):
    """Writes of one port."""

    def answer(self, now: int, tell: Callable[[int], None]) -> None:
        """Tells the cycle of the acknowledgement of the burst that has just moved."""


class Channel:
    """Reads or writes of one port: bursts move in order.

    The owner's `moved(time, before)` is called in the cycle of a burst's last beat; `before` is the cycle of the beat
    before (of writes; reads have no use for it).
    """

    __slots__ = ("_bandwidth", "_latency", "_waiting", "before", "due", "index", "last", "left", "moved", "queue")

    def __init__(self, bandwidth: Bandwidth, index: int, latency: int) -> None:
        self.index = index
        self._latency = latency
        #: Bursts after the one that moves: beats, first cycle in which they may move.
        self.queue: deque[tuple[int, int]] = deque()
        #: Beats that the moving burst still has, and the cycles of the last two beats.
        self.left = self.due = 0
        self.last = self.before = 0
        self.moved: Callable[[int, int], None]
        self._bandwidth = bandwidth
        self._waiting = False  # a start is planned

    def push(self, parts: int, beats: int, ready: int, address: int) -> None:  # noqa: ARG002  all are alike here
        """A burst of `parts` times `beats` beats, each part to be told of, that may move from cycle `ready` on."""
        self.queue.extend([(beats, ready)] * parts)
        if self.left == 0 and not self._waiting:
            self._waiting = True
            self._bandwidth.events.at(ready, ARRIVE, self._start)

    def answer(self, now: int, tell: Callable[[int], None]) -> None:
        """Tells the cycle of the acknowledgement of the burst that has just moved."""
        tell(now + self._latency)

    def _start(self, now: int, _: int) -> None:
        self._waiting = False
        self.left = self.queue.popleft()[0]
        self._bandwidth.start(self, now)

    def advance(self, time: int) -> bool:
        """Turns to the next burst; False when there is none that may move in cycle `time`."""
        if not self.queue:
            return False
        beats, ready = self.queue[0]
        if ready > time:
            self._waiting = True
            self._bandwidth.events.at(ready, ARRIVE, self._start)
            return False
        self.queue.popleft()
        self.left = beats
        return True


class ReadClient:
    """Someone who reads: asks for bursts of `beats` beats from `address` on, from cycle `valid_from` on.

    A burst of a client with `pieces` is timed beat by beat.
    """

    __slots__ = ("address", "beats", "pieces", "port", "valid_from")

    def __init__(self) -> None:
        self.valid_from = NEVER
        self.beats = self.address = 0
        self.pieces = False
        self.port: ReadPort

    def ask(self, time: int) -> None:
        """Has a request from a cycle on."""
        self.valid_from = time
        self.port.wake(time)

    def granted(self, now: int) -> None:
        """The request of this cycle was taken: sets `valid_from` of the next one."""
        raise NotImplementedError

    def arrived(self, now: int) -> None:
        """The last beat of a burst, or a beat if timed so, crosses the port in this cycle."""
        raise NotImplementedError


class ReadPort:
    """Grants bursts to clients (rf_axi_read)."""

    __slots__ = (
        "_channel",
        "_clients",
        "_flying",
        "_last",
        "_latency",
        "_next",
        "_parts",
        "_planned",
        "_row",
        "events",
    )

    def __init__(self, events: Events, channel: Mover, latency: int, row_bytes: int) -> None:
        self.events = events
        self._channel = channel
        self._latency = latency
        self._row = row_bytes
        self._clients: list[ReadClient] = []
        self._flying = 0  # bursts granted whose last beat has not moved
        self._parts: deque[tuple[ReadClient, bool]] = deque()  # what moves: of whom, and whether it ends a burst
        self._last = -1  # client granted last
        self._next = 0  # first cycle in which a grant is possible
        self._planned = NEVER
        channel.moved = self._moved

    def attach(self, client: ReadClient) -> None:
        """Adds a client."""
        client.port = self
        self._clients.append(client)

    def wake(self, time: int) -> None:
        """A client asks from a cycle on."""
        if self._flying < OUTSTANDING:
            time = max(time, self._next)
            if time < self._planned:
                self._planned = time
                self.events.at(time, DECIDE, self._grant)

    def _grant(self, now: int, _: int) -> None:
        if now != self._planned:
            return
        self._planned = NEVER
        clients = self._clients
        count = len(clients)
        at = self._last
        for _ in range(count):
            at = at + 1 if at + 1 < count else 0
            if clients[at].valid_from <= now:
                break
        else:
            self._plan(now)
            return
        client = clients[at]
        self._last = at
        self._next = now + 1
        self._flying += 1
        parts = client.beats if client.pieces else 1
        for left in range(parts - 1, -1, -1):
            self._parts.append((client, left == 0))
        self._channel.push(parts, client.beats // parts, now + 1 + self._latency, client.address)
        client.address += client.beats * self._row
        client.granted(now)
        self._plan(now + 1)

    def _plan(self, earliest: int) -> None:
        if self._flying < OUTSTANDING:
            soonest = min([c.valid_from for c in self._clients])
            if soonest < NEVER:
                self._planned = max(soonest, earliest)
                self.events.at(self._planned, DECIDE, self._grant)

    def _moved(self, now: int, _before: int) -> None:
        client, last = self._parts.popleft()
        client.arrived(now)
        if last:
            self._flying -= 1
            if self._flying == OUTSTANDING - 1:
                self._next = max(self._next, now + 1)
                self.wake(min([c.valid_from for c in self._clients]))


class WriteClient:
    """Someone who writes: asks for `left` bursts of `beats` beats, data at hand from cycle `data_from` on."""

    __slots__ = ("address", "beats", "data_from", "left", "port", "unsent", "valid_from")

    def __init__(self) -> None:
        self.valid_from = NEVER
        self.address = self.beats = self.left = self.unsent = 0
        self.data_from = 0
        self.port: WritePort

    def ask(self, time: int, bursts: int, beats: int, data_from: int, address: int) -> None:
        """Has so many bursts to write from a cycle on."""
        self.valid_from, self.left, self.unsent, self.beats, self.data_from = time, bursts, bursts, beats, data_from
        self.address = address
        self.port.wake(time)

    def written(self, now: int) -> None:
        """All bursts asked for have moved: the cycle in which the last beat left."""
        raise NotImplementedError

    def acknowledged(self, time: int) -> None:
        """The cycle in which the next of what was asked for, in order, is known to be acknowledged."""
        raise NotImplementedError


class WritePort:
    """Grants bursts to clients and takes their beats in order (rf_axi_write)."""

    __slots__ = (
        "_acks", "_blocked", "_channel", "_clients", "_events", "_last", "_next", "_planned", "_queue", "_row",
        "_unanswered",
    )  # fmt: skip

    def __init__(self, events: Events, channel: Writes, row_bytes: int) -> None:
        self._events = events
        self._channel = channel
        self._row = row_bytes
        self._clients: list[WriteClient] = []
        self._queue: deque[WriteClient] = deque()
        self._acks: deque[int] = deque()  # cycles in which bursts that have moved stop counting as in flight
        # Bursts that have moved and whose acknowledgement is not known: the client, if it is its last one.
        self._unanswered: deque[WriteClient | None] = deque()
        self._blocked = False  # until an acknowledgement is known
        self._last = -1
        self._next = 0
        self._planned = NEVER
        channel.moved = self._moved

    def attach(self, client: WriteClient) -> None:
        """Adds a client."""
        client.port = self
        self._clients.append(client)

    def wake(self, time: int) -> None:
        """A client asks from a cycle on."""
        if len(self._queue) < DATA_QUEUE:
            time = max(time, self._next)
            if time < self._planned:
                self._planned = time
                self._events.at(time, DECIDE, self._grant)

    def _grant(self, now: int, _: int) -> None:
        if now != self._planned:
            return
        self._planned = NEVER
        acks = self._acks
        while acks and acks[0] <= now:
            acks.popleft()
        if len(self._queue) + len(acks) + len(self._unanswered) >= OUTSTANDING:
            self._blocked = not acks
            if acks:
                self._next = acks[0]
                self.wake(acks[0])
            return
        clients = self._clients
        count = len(clients)
        at = self._last
        for _ in range(count):
            at = at + 1 if at + 1 < count else 0
            if clients[at].valid_from <= now:
                break
        else:
            self._plan(now)
            return
        client = clients[at]
        self._last = at
        self._next = now + 1
        self._queue.append(client)
        self._channel.push(1, client.beats, max(now + 2, client.data_from), client.address)
        client.address += client.beats * self._row
        client.left -= 1
        client.valid_from = now + 1 if client.left else NEVER
        self._plan(now + 1)

    def _plan(self, earliest: int) -> None:
        if len(self._queue) < DATA_QUEUE:
            soonest = min([c.valid_from for c in self._clients])
            if soonest < NEVER:
                self._planned = max(soonest, earliest)
                self._events.at(self._planned, DECIDE, self._grant)

    def _moved(self, now: int, before: int) -> None:
        client = self._queue.popleft()
        client.unsent -= 1
        ends = client.unsent == 0
        self._unanswered.append(client if ends else None)
        self._channel.answer(now, self._answer)
        if len(self._queue) == DATA_QUEUE - 1:
            self._next = max(self._next, before + 1)
            self.wake(min([c.valid_from for c in self._clients]))
        if ends:
            client.written(before)

    def _answer(self, time: int) -> None:
        self._acks.append(time + 1)
        client = self._unanswered.popleft()
        if client is not None:
            client.acknowledged(time + 2)
        if self._blocked:
            self._blocked = False
            self._next = time + 1
            self.wake(time + 1)
