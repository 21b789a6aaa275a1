# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Memory of an element in the replica of the matmul machine: lines of all its ports, in lockstep.

An element's near ports are asked for the same offsets, and each has a memory of its own of the same rate, so they move
alike: one port stands for all. Requests are served one after the other (matmul_read and rf_line_read, matmul_write and
rf_line_write), as bursts, whose beats share the memory's rate with those of the other direction.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from math import ceil
from typing import Final

from ringforge.hw.vector.replica_memory import DECIDE, NEVER, Bandwidth, Channel, Events

#: Lines of a burst to far memory, and lines asked for ahead (matmul_memory).
FAR_BURST: Final = 64
FAR_AHEAD: Final = 256
#: From a burst's begin to its request at memory; from a beat at the port to its line, with FIFOs that are memories 2
#: more; from a line to its first row.
ISSUE: Final = 2
LINE: Final = 2
LARGE: Final = 128
ROW: Final = 1
#: From the grant of a write to its first burst at memory; from a line to its beat at the port.
WRITE_ISSUE: Final = 4
BEAT: Final = 2
#: Lines between the writer and each port.
SKEW: Final = 8
#: From a write's acknowledgement at the port to the requester having seen it.
ACKNOWLEDGED: Final = 4
#: Guard against sums of paces that come out a little above a whole number.
_EPSILON: Final = 1e-9

#: Told of a request: cycles in which its first and its last line are there.
Tell = Callable[[int, int], None]


class Memory(Bandwidth):
    """What a port moves, read and written. Time passes in one step while one direction alone is limited by the rate."""

    __slots__ = ()

    def _contend_for_reads(self) -> None:
        if len(self._active) > 1:
            super()._contend_for_reads()
            return
        (channel,) = self._active
        time, beats = self._time, self._beats
        # What is saved up is cut when a cycle's tokens have been added. A beat moves in the first cycle whose tokens
        # are at least one for each so far.
        tokens = min(self._tokens, self._cap - beats)
        cycles = max(channel.left, ceil((channel.left - tokens) / beats - _EPSILON))
        moved = channel.left
        stop = self.events.next_time() - time
        if stop < cycles:
            cycles = max(stop, 1)
            moved = min(cycles, max(0, int(tokens + beats * cycles + _EPSILON)))
        channel.left -= moved
        self._tokens = min(tokens + beats * cycles - moved, self._cap)
        self._time = time + cycles


class LineReads:
    """Reads of an element's near memory, or of far memory, by clients in turn.

    Args:
        events: the clock.
        channel: of the memory.
        latency: of the memory.
        clients: how many ask.
        burst: lines of a burst.
        ahead: lines that are asked for before they are taken.
    """

    def __init__(self, events: Events, channel: Channel, latency: int, clients: int, burst: int, ahead: int) -> None:
        self._events = events
        self._channel = channel
        self._latency = latency
        self._burst = burst
        self._ahead = ahead
        self._line = LINE + 2 * (ahead >= LARGE)
        channel.moved = self._arrived
        #: By client: cycle from which it is visible, lines, number of the first one, cycles that the taker needs for a
        #: line, who is told the lines' cycles and who is told of the grant.
        self._queues: list[deque[tuple[int, int, int, float, Tell, Callable[[int], None]]]] = [
            deque() for _ in range(clients)
        ]
        self._at = clients - 1  # client granted last
        self._free = 0  # first cycle in which a request can be granted
        self._planned = NEVER
        # The request whose bursts are begun: lines left, place of the next in its block; cycle of the last begin.
        self._left = self._place = 0
        self._begin = 0
        self._begun = self._taken = 0  # lines, ever
        #: Bursts under way: lines, cycle at memory, pace, who is told if it ends a request, whether it begins one.
        self._bursts: deque[tuple[int, int, float, Tell | None, bool]] = deque()
        self._request: tuple[float, Tell]
        self._opens = False
        self._next = 0.0  # from which a line can be taken
        self._last = -1  # cycle in which the last line was taken
        #: Of the last burst: lines taken before, cycles of its first and last line.
        self._burst_lines = (0, -1, -1)
        self._first = 0  # the same of the first one of the request that comes

    def ask(
        self, client: int, time: int, lines: int, first: int, pace: float, tell: Tell, granted: Callable[[int], None]
    ) -> None:
        """A request that is visible from a cycle on.

        Args:
            client: whose.
            time: cycle; NEVER: `change` says later.
            lines: how many.
            first: number of the first one, which says where bursts end.
            pace: cycles that the taker needs for a line, at least.
            tell: told the lines' cycles, when the last one has come.
            granted: told when the request is granted.
        """
        self._queues[client].append((time, lines, first, pace, tell, granted))
        self._plan(time)

    def change(self, client: int, time: int) -> None:
        """The last request of a client is visible from another cycle on."""
        queue = self._queues[client]
        if queue[-1][0] != time:
            queue[-1] = (time, *queue[-1][1:])
            self._plan(time)

    def _plan(self, time: int) -> None:
        if self._left:
            return
        time = max(time, self._free)
        if time < self._planned:
            self._planned = time
            self._events.at(time, DECIDE, self._decide)

    def _decide(self, now: int, _: int) -> None:
        if now != self._planned:
            return
        self._planned = NEVER
        queues = self._queues
        count = len(queues)
        for k in range(1, count + 1):
            at = (self._at + k) % count
            if queues[at] and queues[at][0][0] <= now:
                self._at = at
                _, self._left, first, pace, tell, granted = queues[at].popleft()
                self._place, self._begin = first % self._burst, now
                self._request, self._opens = (pace, tell), True
                granted(now)
                self._go()
                return
        self._wait()

    def _wait(self) -> None:
        soonest = min((q[0][0] for q in self._queues if q), default=NEVER)
        if soonest < NEVER:
            self._plan(soonest)

    def _go(self) -> None:
        """Begins bursts as long as there is room for their lines."""
        while self._left:
            beats = min(self._left, self._burst - self._place)
            if self._begun + beats - self._taken > self._ahead:
                return
            begin = self._begin = max(self._begin, self._when_taken(self._begun + beats - self._ahead)) + 1
            self._left -= beats
            self._place = 0
            self._begun += beats
            pace, tell = self._request
            ready = begin + ISSUE + self._latency
            self._bursts.append((beats, ready, pace, None if self._left else tell, self._opens))
            self._opens = False
            self._channel.push(1, beats, ready, 0)
        self._free = self._begin + 1
        self._wait()

    def _when_taken(self, lines: int) -> int:
        """Cycle in which so many lines have been taken, if the last burst has some of them."""
        before, head, tail = self._burst_lines
        if lines <= before:
            return -1
        count = self._taken - before
        return tail if lines >= self._taken else head + (lines - before - 1) * (tail - head) // max(1, count - 1)

    def _arrived(self, now: int, _before: int) -> None:
        """The last beat of a burst has crossed the port."""
        beats, ready, pace, tell, opens = self._bursts.popleft()
        if opens:
            self._first = max(ready + self._line, ceil(self._next - _EPSILON))
        paced = max(float(ready + self._line), self._next) + (beats - 1) * pace
        tail = max(now + self._line, int(paced + _EPSILON))
        self._next = max(float(tail + 1), paced + pace)
        # Of this burst: its first and last line.
        head = max(ready + self._line, self._last + 1 + (tail - self._last - 1) // beats)
        self._burst_lines = self._taken, head, tail
        self._taken += beats
        self._last = tail
        if tell is not None:
            tell(self._first, tail)
        if self._left:
            self._go()


class LineWrites:
    """Writes to an element's near memory: stores and copied bursts, in turn.

    Args:
        events: the clock.
        channel: of the memory.
        burst: lines of a burst.
    """

    def __init__(self, events: Events, channel: Channel, burst: int) -> None:
        self._events = events
        self._channel = channel
        self._size = burst
        channel.moved = self._arrived
        #: By client, stores and copies: cycle from which it is visible, lines, from the grant to the first line, cycles
        #: a line, who is told.
        self._queues: tuple[deque[tuple[int, int, int, float, Tell]], ...] = (deque(), deque())
        self._prefer = 0
        self._free = 0
        self._planned = NEVER
        self._moving = False
        # The request that moves: lines that have moved, all, first line, pace, who is told; the last beat of all.
        self._moved = self._lines = 0
        self._first = 0
        self._pace = 1.0
        self._tell: Tell
        self._beat = -1

    def ask(self, client: int, time: int, lines: int, data: int, pace: float, tell: Tell) -> None:
        """A request of a client (0: a store, 1: a copy).

        Args:
            client: whose.
            time: cycle from which it is visible.
            lines: how many.
            data: from the grant to the first line.
            pace: cycles in which a line is made.
            tell: told when the last line has been taken, and when all is acknowledged.
        """
        self._queues[client].append((time, lines, data, pace, tell))
        if not self._moving:
            self._plan(time)

    def _plan(self, time: int) -> None:
        time = max(time, self._free)
        if time < self._planned:
            self._planned = time
            self._events.at(time, DECIDE, self._decide)

    def _decide(self, now: int, _: int) -> None:
        if now != self._planned:
            return
        self._planned = NEVER
        for client in (self._prefer, 1 - self._prefer):
            queue = self._queues[client]
            if queue and queue[0][0] <= now:
                _, self._lines, data, self._pace, self._tell = queue.popleft()
                self._prefer = 1 - client
                self._moving = True
                self._moved = 0
                self._first = now + max(data, WRITE_ISSUE)
                self._burst()
                return
        self._wait()

    def _wait(self) -> None:
        soonest = min((q[0][0] for q in self._queues if q), default=NEVER)
        if soonest < NEVER:
            self._plan(soonest)

    def _made(self, line: int) -> int:
        """Cycle in which a line is there."""
        return self._first + ceil(line * self._pace - _EPSILON)

    def _burst(self) -> None:
        self._part = min(self._size, self._lines - self._moved)
        self._channel.push(1, self._part, max(self._made(self._moved) + BEAT, self._beat + 1), 0)

    def _arrived(self, now: int, _before: int) -> None:
        """Some lines have moved."""
        self._moved += self._part
        tail = self._beat = max(now, self._made(self._moved - 1) + BEAT)
        if self._moved < self._lines:
            self._burst()
            return
        # The last lines wait between the rows and the port.
        late = tail - self._made(self._lines - 1) - BEAT
        last = max(self._made(self._lines - 1), tail - BEAT - SKEW) if late > 0 else self._made(self._lines - 1)
        self._moving = False
        self._free = last + 1
        self._channel.answer(tail, lambda time: self._tell(last, time + ACKNOWLEDGED))
        self._wait()
