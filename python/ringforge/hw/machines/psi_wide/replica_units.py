# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Units of the streaming accelerator in the replica: memory ports, fetch, loads, stores, lines of linear instructions.

Times are cycles in which a signal of the SystemVerilog has its value; what registers show of an event comes one cycle
later. Constants are counted in the sources that they name.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

#: Cycles of a multiplier, and of a butterfly with the register before it (rf_pkg, psi_stream_stage).
MULTIPLY: Final = 12
STAGE: Final = 1 + MULTIPLY + 3
#: Bursts of either direction that are not answered (rf_axi_read, rf_axi_write), and those whose data are to be sent.
OUTSTANDING: Final = 16
UNSENT: Final = 2
#: Fetch: beats that it holds, beats of a request, instructions in a beat (psi_wide_fetch).
FETCH_DEPTH: Final = 16
FETCH_BEATS: Final = 4
PER_BEAT: Final = 4
#: Loads: commands that wait, commands that were asked for, beats (psi_wide_load).
LOADS: Final = 8
ASKED: Final = 4
LOAD_DEPTH: Final = 128
#: From a beat at the port to where it can be taken: a register, then a FIFO of fewer than 128 words, or of more.
SMALL_FIFO: Final = 1 + 1
LARGE_FIFO: Final = 1 + 3
#: Stores: commands that wait, lines that were asked for, beats; from a line's read to its cutting (psi_wide_store).
STORES: Final = 4
LINES_AHEAD: Final = 4
STORE_DEPTH: Final = 64
READ: Final = 3
#: Beats up to which a burst may go: 4 KiB.
STRIPE: Final = 64
#: In one cycle lines of linear instructions are written before lines of loads, and all else looks at what came of it.
RELEASE, LINEAR, LOAD, ELSE = range(4)


class Events:
    """What happens when: in order of cycles, in a cycle in the order above, then of asking."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Callable[[int], None]]] = []
        self.handled = 0

    def at(self, time: int, what: Callable[[int], None], order: int = ELSE) -> None:
        """Calls with the cycle, in that cycle."""
        self.handled += 1
        heapq.heappush(self._heap, (4 * time + order, self.handled, what))

    def run(self) -> None:
        """Until nothing is left to happen."""
        while self._heap:
            key, _, what = heapq.heappop(self._heap)
            what(key >> 2)


class Intervals:
    """Times in which a memory's port is taken, known before they come; asked about in the order of time."""

    def __init__(self) -> None:
        self._known: deque[tuple[int, int]] = deque()

    def add(self, first: int, size: int) -> None:
        """So many cycles from one on, behind all that were added."""
        self._known.append((first, first + size))

    def until(self, time: int) -> int:
        """The end of what is under way at a time; 0 where it is free."""
        while self._known and self._known[0][1] <= time:
            self._known.popleft()
        return self._known[0][1] if self._known and self._known[0][0] <= time else 0


@dataclass(frozen=True)
class Move:
    """A transfer.

    Attributes:
        id: of its instruction.
        plain: rows of numbers. table: a table. to_row: key rows, else slots.
        units, beats: how many, and of each one.
        beat: address.
        seen: when its command is at the head, at the earliest.
    """

    id: int
    plain: bool
    table: bool
    to_row: bool
    units: int
    beats: int
    beat: int
    seen: int


def burst(beat: int, left: int, most: int) -> int:
    """Beats of the next burst of a transfer."""
    return min(left, most, STRIPE - beat % STRIPE)


class ReadPort:
    """Reads of two clients in turns, answered in order (rf_axi_read, and memory of the kind `simple`)."""

    def __init__(self, events: Events, latency: int) -> None:
        self.events, self.latency = events, max(latency, 1)
        self.clients: tuple[Fetch, Load]
        self._last, self._at = 1, -1  # client, and when it was granted
        self._free = 0  # when the next beat may come
        self._ends: deque[int] = deque()
        self._asked = -1
        self.beats = 0

    def poke(self, time: int) -> None:
        """A client may have something to ask for."""
        if time != self._asked:
            self._asked = time
            self.events.at(time, self._grant)

    def _grant(self, time: int) -> None:
        if time == self._at:
            return
        while self._ends and self._ends[0] < time:
            self._ends.popleft()
        wanted = [client.wants(time) for client in self.clients]
        if not any(wanted):
            return
        if len(self._ends) == OUTSTANDING:
            self.poke(self._ends[0] + 1)
            return
        # Who was granted last comes last.
        which = 1 - self._last if wanted[1 - self._last] else self._last
        self._last, self._at = which, time
        first = max(time + 1 + self.latency, self._free)
        self._free = first + wanted[which]
        self._ends.append(self._free - 1)
        self.beats += wanted[which]
        self.clients[which].granted(time, first, wanted[which])
        self.poke(time + 1)


class Fetch:
    """Beats of the program (psi_wide_fetch).

    Args:
        count: instructions.
        came: called when beats come, with their first cycle.
    """

    def __init__(self, port: ReadPort, count: int, came: Callable[[int], None]) -> None:
        self.port, self.came = port, came
        self.left = -(-count // PER_BEAT)
        self._room = FETCH_DEPTH
        self._seen: deque[int] = deque()
        self._popped: deque[int] = deque()

    def wants(self, time: int) -> int:
        """Beats that it asks for, 0 if none."""
        while self._popped and self._popped[0] < time:
            self._popped.popleft()
            self._room += 1
        return min(self.left, FETCH_BEATS) if self._room >= FETCH_BEATS else 0

    def granted(self, _: int, first: int, beats: int) -> None:
        """A burst comes."""
        self.left -= beats
        self._room -= beats
        self._seen.extend(range(first + SMALL_FIFO, first + SMALL_FIFO + beats))
        self.came(first + SMALL_FIFO)

    def seen(self) -> int | None:
        """When the next beat can be taken; None where it was not asked for."""
        return self._seen[0] if self._seen else None

    def pop(self, time: int) -> None:
        """A beat's last instruction is taken."""
        self._seen.popleft()
        self._popped.append(time)
        self.port.poke(time + 1)


class Load:
    """From memory to slots, key rows, plain rows, tables (psi_wide_load).

    Args:
        most: beats of a burst. line_beats: of a line. row_lines, words: of a plain row, of a table, in a beat.
        lines: of a polynomial. rows: places for plain rows.
        busy: when results are written to slots and to key rows. linear: lines of linear instructions.
        done, row, room: called when an instruction ends, a plain row is there, a command was taken.
    """

    def __init__(
        self, events: Events, port: ReadPort, *, most: int, line_beats: int, row_lines: int, words: int, lines: int,
        rows: int, busy: tuple[Intervals, Intervals], linear: Linear, done: Callable[[int, int], None],
        row: Callable[[int], None], room: Callable[[int], None],
    ) -> None:  # fmt: skip
        self.events, self.port, self.most = events, port, most
        self.line_beats, self.row_lines, self.words, self.lines = line_beats, row_lines, words, lines
        self.busy, self.linear, self.done, self.row, self.room = busy, linear, done, row, room
        self.waiting = 0  # commands
        self.idle_from = 0
        self._moves: deque[Move] = deque()
        self._rows = rows
        # Asking: the transfer, its units, the unit's beats and their address; since when its place is reserved.
        self._asks: Move | None = None
        self._units = self._left = self._beat = 0
        self._opened: int | None = None
        self._unopened = False
        self._behind = 0
        self._room, self._starved = LOAD_DEPTH, False
        self._popped: deque[int] = deque()
        # Taking: transfers, bursts of theirs, the last step, beats of the line, lines and units that are left.
        self._work: deque[Move] = deque()
        self._came: deque[tuple[int, int]] = deque()
        self._step = 0
        self._sub, self._lines, self._unit = 0, lines, 0
        self._stepping = False

    def push(self, move: Move) -> None:
        """A command."""
        self.waiting += 1
        self._moves.append(move)
        self.events.at(move.seen, self._take)

    def _taken(self, time: int) -> None:
        self.waiting -= 1
        self.room(time)

    def _take(self, time: int) -> None:
        if self._asks is not None or not self._moves or self._moves[0].seen > time or self._behind == ASKED:
            return
        self._asks = move = self._moves.popleft()
        self._behind += 1
        self._work.append(move)
        self._units, self._left, self._beat = move.units, move.beats, move.beat
        self.events.at(time + 1, self._open, RELEASE)
        self.events.at(time + 1, self._taken, RELEASE)

    def _open(self, time: int) -> None:
        """Reserves the place of a unit."""
        assert self._asks is not None
        if self._asks.plain:
            self._unopened = self._rows == 0
            if self._unopened:
                return
            self._rows -= 1
        self._opened = time + 1
        self.port.poke(time + 1)

    def row_freed(self, time: int) -> None:
        """A plain row is read no more."""
        self._rows += 1
        if self._unopened:
            self._open(time)

    def wants(self, time: int) -> int:
        """Beats that it asks for, 0 if none."""
        if self._opened is None or self._opened > time:
            return 0
        while self._popped and self._popped[0] < time:
            self._popped.popleft()
            self._room += 1
        lacking = self.most - self._room
        if lacking <= 0:
            return burst(self._beat, self._left, self.most)
        if len(self._popped) >= lacking:
            self.port.poke(self._popped[lacking - 1] + 1)
        else:
            self._starved = True
        return 0

    def granted(self, time: int, first: int, beats: int) -> None:
        """A burst comes."""
        assert self._asks is not None
        self._room -= beats
        self._beat += beats
        self._left -= beats
        self._came.append((first, beats))
        if self._left == 0:
            self._units -= 1
            self._left = self._asks.beats
            self._opened = None
            if self._units == 0:
                self._asks = None
                self.events.at(time + 1, self._take)
            else:
                self.events.at(time + 1, self._open, RELEASE)
        self._feed()

    def _pop(self, time: int) -> None:
        self._popped.append(time)
        if self._starved:
            self._starved = False
            self.port.poke(time + 1)

    def _feed(self) -> None:
        """Takes beats that come, up to the end of a line, a row, or a table."""
        while self._came and not self._stepping:
            move = self._work[0]
            first, beats = self._came.popleft()
            if beats > 1:
                self._came.appendleft((first + 1, beats - 1))
            at = max(first + LARGE_FIFO, self._step + 1)
            if move.plain or move.table:
                steps = self.row_lines if move.plain else self.words
                self._step = at + steps - 1
                self._pop(self._step)
                self._sub += 1
                if self._sub == move.beats:
                    self._sub = 0
                    self._stepping = True
                    self.events.at(self._step, self._unit_end, LOAD)
            else:
                self._step = at
                self._sub += 1
                if self._sub == self.line_beats:
                    self._sub = 0
                    self._stepping = True
                    self.events.at(at, self._line, LOAD)
                else:
                    self._pop(at)

    def _line(self, time: int) -> None:
        """Writes a line, when nobody else writes there."""
        to_row = self._work[0].to_row
        until = self.busy[to_row].until(time)
        if until or self.linear.took[to_row] == time:
            self.events.at(until or time + 1, self._line, LOAD)
            return
        self._step = time
        self._pop(time)
        self._lines -= 1
        if self._lines == 0:
            self._lines = self.lines
            self._unit_end(time)
        else:
            self._stepping = False
            self._feed()

    def _unit_end(self, time: int) -> None:
        move = self._work[0]
        self._stepping = False
        if move.plain:
            self.row(time + 1)
        self._unit += 1
        if self._unit == move.units:
            self._unit = 0
            self._work.popleft()
            self.events.at(time + 1, self._end, RELEASE)
            self.idle_from = time + 1
            if not move.plain:
                self.done(time + 1, move.id)
        self._feed()

    def _end(self, time: int) -> None:
        self._behind -= 1
        self._take(time)


class Linear:
    """Lines of linear instructions on their way to the files (psi_wide_files): results go first.

    Args:
        visible: cycles from where a line comes to where it can be written.
        done: called when an instruction ends.
    """

    def __init__(
        self, events: Events, lines: int, visible: int, busy: tuple[Intervals, Intervals],
        done: Callable[[int, int], None],
    ) -> None:  # fmt: skip
        self.events, self.lines, self.visible, self.busy, self.done = events, lines, visible, busy, done
        #: When a line was last written to slots, and to key rows.
        self.took = [-1, -1]
        self._queue: deque[tuple[int, int, bool]] = deque()
        self._line, self._last = 0, -1

    def push(self, first: int, id_: int, to_row: bool) -> None:
        """An instruction whose lines come from a cycle on, one in two."""
        self._queue.append((first + self.visible, id_, to_row))
        if len(self._queue) == 1:
            self._next()

    def _next(self) -> None:
        self.events.at(max(self._queue[0][0] + 2 * self._line, self._last + 1), self._write, LINEAR)

    def _write(self, time: int) -> None:
        _, id_, to_row = self._queue[0]
        until = self.busy[to_row].until(time)
        if until:
            self.events.at(until, self._write, LINEAR)
            return
        self.took[to_row] = self._last = time
        self._line += 1
        if self._line == self.lines:
            self._line = 0
            self._queue.popleft()
            self.done(time + 1, id_)
        if self._queue:
            self._next()


class Store:
    """Slots to memory (psi_wide_store, rf_axi_write), a command at a time.

    Args:
        most: beats of a burst. line_beats: of a line. lines: of a polynomial. latency: of memory.
        busy: when the multipliers read slots.
        done, room: called when an instruction ends, a command was taken.
    """

    def __init__(
        self, events: Events, *, most: int, line_beats: int, lines: int, latency: int, busy: Intervals,
        done: Callable[[int, int], None], room: Callable[[int], None],
    ) -> None:  # fmt: skip
        self.events, self.most, self.line_beats, self.lines = events, most, line_beats, lines
        self.latency, self.busy, self.done, self.room = max(latency, 1), busy, done, room
        self.waiting = 0  # commands
        self._moves: deque[Move] = deque()
        self._move: Move | None = None
        self.beats = 0

    def push(self, move: Move) -> None:
        """A command."""
        self.waiting += 1
        self._moves.append(move)
        self.events.at(move.seen, self._take)

    def _taken(self, time: int) -> None:
        self.waiting -= 1
        self.room(time)

    def _take(self, time: int) -> None:
        if self._move is not None or not self._moves or self._moves[0].seen > time:
            return
        self._move = move = self._moves.popleft()
        self.events.at(time + 1, self._taken, RELEASE)
        self._lines = move.units * self.lines
        self._beat, self._left = move.beat, move.units * move.beats
        self._cut: list[int] = []  # when beats came to the FIFO, and when they left it
        self._sent: list[int] = []
        self._ends: list[int] = []  # bursts: the last beat leaves
        self._granted = -1
        self.beats += self._left
        self.events.at(time + 1, self._read)

    def _read(self, time: int) -> None:
        """Reads a line when the multipliers do not."""
        until = self.busy.until(time)
        if until:
            self.events.at(until, self._read)
            return
        self._lines -= 1
        for _ in range(self.line_beats):
            number = len(self._cut)
            at = max(time + READ, self._cut[-1] + 1 if number else 0)
            if number >= STORE_DEPTH:
                at = max(at, self._sent[number - STORE_DEPTH] + 1)
            self._cut.append(at)
            self._ask()
        if self._lines == 0:
            # Granted, sent, answered; then counted, and told.
            end = self._ends[-1] + 1 + self.latency + 2
            self.events.at(end + 1, self._end, RELEASE)
            return
        behind = len(self._cut) - LINES_AHEAD * self.line_beats + self.line_beats
        ready = self._cut[behind - 1] + 1 if behind >= self.line_beats else 0
        self.events.at(max(time + 1, ready), self._read)

    def _ask(self) -> None:
        """Asks for the next burst, once its beats are at hand."""
        beats = burst(self._beat, self._left, self.most)
        if not beats or len(self._cut) - len(self._sent) < beats:
            return
        at = max(self._cut[len(self._sent) + beats - 1], self._granted) + 1
        if len(self._ends) >= UNSENT:
            at = max(at, self._ends[-UNSENT] + 1)
        if len(self._ends) >= OUTSTANDING:
            at = max(at, self._ends[-OUTSTANDING] + 1 + self.latency + 1)
        self._granted = at
        first = max(at, self._sent[-1] if self._sent else 0) + 1
        self._sent.extend(range(first, first + beats))
        self._ends.append(first + beats - 1)
        self._beat += beats
        self._left -= beats

    def _end(self, time: int) -> None:
        assert self._move is not None
        self.done(time, self._move.id)
        self._move = None
        self._take(time)
