# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Memory of an element in the replica of the matmul machine: lines of all its ports, in lockstep.

An element's near ports are asked for the same offsets, and each has a memory of its own of the same rate, so they move
alike: one port stands for all. Requests are served one after the other (matmul_read and rf_line_read, matmul_write and
rf_line_write), as bursts; a line moves in a cycle at most, and takes a token of the memory, of which `rate` arrive a
cycle. Writes and reads of a port take their tokens in the order in which they are served.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from math import ceil
from typing import Final

from ringforge.hw.vector.replica_memory import DECIDE, NEVER, Events

#: Lines of a burst to near memory, and lines asked for ahead; the same of far memory (matmul_top, matmul_memory).
BURST: Final = 16
AHEAD: Final = 64
FAR_BURST: Final = 32
FAR_AHEAD: Final = 96
#: Tokens that memory saves up at most, for each of its ports (`kDepth` of hw/sim/memory.hpp).
SAVED: Final = 2.0
#: From a burst's begin to its request at memory; from a beat at the port to its line; from a line to its first row.
ISSUE: Final = 2
LINE: Final = 2
ROW: Final = 1
#: From a request to write to the first burst at memory; from a line to its beat at the port.
WRITE_ISSUE: Final = 4
BEAT: Final = 2
#: From a write's last acknowledgement at the port to the requester's.
ACKNOWLEDGED: Final = 4
#: Guard against sums of rates that come out a little below a whole number.
_EPSILON: Final = 1e-9

#: Told of a request: cycles in which its first and its last line are there.
Tell = Callable[[int, int], None]


class Tokens:
    """The rate of one memory: what moves takes tokens.

    Args:
        rate: tokens a cycle.
        saved: tokens that are saved up at most.
    """

    __slots__ = ("_saved", "_time", "_tokens", "rate")

    def __init__(self, rate: float, saved: float = SAVED) -> None:
        self.rate = rate
        self._saved = saved
        self._tokens = saved
        self._time = -1  # cycle that the tokens are of

    def move(self, start: int, lines: int, weight: float = 1.0) -> tuple[int, int]:
        """Cycles in which the first and the last of so many lines move, from cycle `start` on, one a cycle at most.

        Args:
            start: cycle.
            lines: how many.
            weight: tokens that a line takes.
        """
        have = min(self._saved, self._tokens + self.rate * max(0, start - self._time))
        need = lines * weight
        first = start + max(0, ceil((weight - have) / self.rate - _EPSILON))
        last = max(first + lines - 1, start + ceil((need - have) / self.rate - _EPSILON))
        self._tokens = have - need  # those still to come are owed
        self._time = max(self._time, start)
        return first, last


class LineReads:
    """Reads of an element's near memory, or of far memory, by clients in turn.

    Args:
        events: the clock.
        tokens: of the memory.
        latency: of the memory.
        clients: how many ask.
        burst: lines of a burst.
        ahead: lines that are asked for before they are taken.
        weight: tokens of a line.
    """

    def __init__(
        self,
        events: Events,
        tokens: Tokens,
        latency: int,
        clients: int,
        burst: int = BURST,
        ahead: int = AHEAD,
        weight: float = 1.0,
    ) -> None:
        self._events = events
        self._tokens = tokens
        self._latency = latency
        self._burst = burst
        self._ahead = ahead
        self._weight = weight
        #: By client: cycle from which it is visible, lines, number of the first one, slowest pace at which they are
        #: taken (cycles a line), who is told.
        self._queues: list[deque[tuple[int, int, int, float, Tell, Callable[[int], None]]]] = [
            deque() for _ in range(clients)
        ]
        self._at = clients - 1  # client granted last
        self._free = 0  # first cycle in which a request can be granted
        self._planned = NEVER
        self._begun = 0  # lines of bursts begun, ever
        #: Of bursts: lines up to their end, ever; cycles in which their first and last line are taken.
        self._bursts: deque[tuple[int, int, int]] = deque([(0, -1, -1)])
        self._next = 0  # first cycle in which a line can be taken

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
            tell: told the lines' cycles, when the request is granted.
            granted: told when that is, before.
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
                _, lines, first, pace, tell, granted = queues[at].popleft()
                begin, end = self._serve(now, lines, first, pace)
                granted(now)
                tell(begin, end)
                break
        soonest = min((q[0][0] for q in queues if q), default=NEVER)
        if soonest < NEVER:
            self._plan(soonest)

    def _when_taken(self, number: int) -> int:
        """Cycle in which so many lines have been taken, ever."""
        bursts = self._bursts
        while len(bursts) > 2 and bursts[1][0] < number:
            bursts.popleft()
        before = bursts[0]
        if number <= before[0]:
            return before[2]
        end, first, last = bursts[1]
        count = end - before[0]
        return last if number == end else first + ceil((number - before[0] - 1) * (last - first) / (count - 1))

    def _serve(self, now: int, lines: int, first: int, pace: float) -> tuple[int, int]:
        begin, place, left = now, first % self._burst, lines
        start = -1
        while left:
            beats = min(left, self._burst - place)
            begin = max(begin + 1, self._when_taken(self._begun + beats - self._ahead) + 1)
            head, tail = self._tokens.move(begin + ISSUE + self._latency, beats, self._weight)
            head = max(head + LINE, self._next)
            tail = max(tail + LINE, head + ceil((beats - 1) * pace - _EPSILON))
            self._next = tail + 1
            self._begun += beats
            self._bursts.append((self._begun, head, tail))
            start = head if start < 0 else start
            left -= beats
            place = 0
        self._free = begin + 1
        return start, self._next - 1


class LineWrites:
    """Writes to an element's near memory: stores and copied bursts, in turn.

    Args:
        events: the clock.
        tokens: of the memory.
        latency: of the memory.
    """

    def __init__(self, events: Events, tokens: Tokens, latency: int) -> None:
        self._events = events
        self._tokens = tokens
        self._latency = latency
        #: By client, stores and copies: cycle from which it is visible, lines, cycle of the first line at the earliest,
        #: cycles a line, who is told.
        self._queues: tuple[deque[tuple[int, int, int, float, Tell]], ...] = (deque(), deque())
        self._prefer = 0
        self._free = 0
        self._planned = NEVER

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
        order = (self._prefer, 1 - self._prefer)
        for client in order:
            queue = self._queues[client]
            if queue and queue[0][0] <= now:
                _, lines, data, pace, tell = queue.popleft()
                self._prefer = 1 - client
                first = now + max(data, WRITE_ISSUE)
                _, moved = self._tokens.move(first, lines)
                last = max(moved, first + ceil((lines - 1) * pace - _EPSILON))
                self._free = last + 1
                tell(last, last + BEAT + self._latency + ACKNOWLEDGED)
                break
        soonest = min((q[0][0] for q in self._queues if q), default=NEVER)
        if soonest < NEVER:
            self._plan(soonest)
