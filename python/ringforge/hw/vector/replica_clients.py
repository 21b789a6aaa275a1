# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What an element has at its DRAM port, in the replica: instruction fetch, loads, the stream, stores.

Constants are cycles, counted in the sources and confirmed by runs of the simulated machine.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol

from ringforge.hw.vector.replica_memory import NEVER, ReadClient, WriteClient

#: From the last row read by a MAC to the unit seen idle: bank and MAC latency (2 + 14), done, scoreboard.
MAC_DRAIN: Final = 18
#: From the transfer of a LOAD's last beat to the unit seen idle: response register, write, done, scoreboard.
LOAD_DRAIN: Final = 4
#: From the transfer of a beat to its row at the stream buffer's output: response register, memory; a buffer of block
#: RAM, as rf_fifo has it from so many rows on, adds two registers.
STREAM_DRAIN: Final = 2
BLOCK_DRAIN: Final = 4
BLOCK_ROWS: Final = 128
#: From a STORE's last beat leaving the element to the unit seen idle.
STORE_DRAIN: Final = 2
#: From the transfer of a beat to its instructions at the fetch buffer's output, and to the end of the wait for it.
FETCH_DRAIN: Final = 2
#: First cycle in which elements ask for instructions, after the start write.
FIRST_FETCH: Final = 2
#: STREAMs that wait, next to the one that is read.
STREAM_QUEUE: Final = 8

# Units of an element.
SPN, MAC, LOAD, IN, OUT = range(5)


class Owner(Protocol):
    """The element, as its clients see it."""

    #: Bursts of instructions.
    fetched: int

    @property
    def rows(self) -> int:
        """Rows of a polynomial."""

    def resume(self) -> None:
        """Something that an instruction may have waited for is known."""

    def release(self, unit: int, time: int) -> None:
        """A unit that waited for something will be seen idle from cycle `time` on."""

    def loaded(self, time: int) -> None:
        """The oldest LOAD will be seen finished from cycle `time` on."""


class Fetch(ReadClient):
    """Instruction fetch (vector_fetch): so many beats at a time, and so many bursts that its buffer holds."""

    __slots__ = ("_asked", "_element", "_popped", "arrivals", "idle_from", "stop_at")

    def __init__(self, element: Owner, beats: int, bursts: int, program: int) -> None:
        super().__init__()
        self._element = element
        self.beats, self.address = beats, program
        self.pieces = True
        #: Cycle in which each beat is at the buffer's output.
        self.arrivals: list[int] = []
        self._asked = 0  # bursts
        self._popped = [0] * bursts  # cycles from which burst k may be asked for
        self.idle_from = 0
        self.stop_at = NEVER

    def popped(self, time: int) -> None:
        """The buffer has given the last beat of a burst."""
        self._popped.append(time + 1)
        if self.valid_from == NEVER and self.stop_at == NEVER and self._asked == len(self._popped) - 1:
            self.ask(time + 1)

    def stop(self, now: int, _: int) -> None:
        """No more requests."""
        self.valid_from = NEVER
        self.stop_at = now

    def granted(self, now: int) -> None:
        self._asked += 1
        self.valid_from = max(now + 1, self._popped[self._asked]) if self._asked < len(self._popped) else NEVER
        self._element.fetched += 1

    def arrived(self, now: int) -> None:
        self.arrivals.append(now + FETCH_DRAIN)
        self.idle_from = now + FETCH_DRAIN
        self._element.resume()


class Load(ReadClient):
    """LOADs (vector_load): the next one's requests follow the last one's, whose rows may still be on their way."""

    __slots__ = ("_asking", "_coming", "_element")

    def __init__(self, element: Owner) -> None:
        super().__init__()
        self._element = element
        #: LOADs with requests left: cycle from which they are visible, bursts, address.
        self._asking: deque[tuple[int, int, int]] = deque()
        #: Bursts that each LOAD under way still waits for.
        self._coming: deque[int] = deque()

    def begin(self, time: int, bursts: int, beats: int, address: int) -> None:
        """Starts a LOAD whose requests are visible from a cycle on."""
        self._asking.append((time, bursts, address))
        self._coming.append(bursts)
        self.beats = beats
        if len(self._asking) == 1:
            self.address = address
            self.ask(time)

    def granted(self, now: int) -> None:
        time, left, address = self._asking.popleft()
        if left > 1:
            self._asking.appendleft((time, left - 1, address))
        elif self._asking:
            self.address = self._asking[0][2]
        self.valid_from = max(now + 1, self._asking[0][0]) if self._asking else NEVER

    def arrived(self, now: int) -> None:
        self._coming[0] -= 1
        if self._coming[0] == 0:
            self._coming.popleft()
            self._element.loaded(now + LOAD_DRAIN)


class Stream(ReadClient):
    """Stream of multipliers (vector_stream) and the MAC that consumes it.

    Room in the buffer is counted in bursts where it holds a whole number of them, else row by row.
    """

    __slots__ = (
        "_asked", "_capacity", "_consumed", "_drain", "_element", "_free", "_from", "_last", "_left", "_pushed",
        "_ready", "_released", "_rows", "_want", "idle_from", "popped", "pushed",
    )  # fmt: skip

    def __init__(self, element: Owner, rows: int, burst_rows: int) -> None:
        super().__init__()
        self._element = element
        self._rows = rows
        self._drain = STREAM_DRAIN if rows < BLOCK_ROWS else BLOCK_DRAIN
        self.pieces = rows % burst_rows != 0
        self._capacity = 0  # bursts (rows) that the buffer holds
        self._asked = self._consumed = 0  # bursts (rows)
        self._left = 0  # bursts of the polynomial that is read now still to be asked for
        self._free = 0  # cycle from which the next polynomial may leave the queue
        self._from = 0  # cycle from which the next burst would be asked for if the buffer had room
        self._pushed: deque[tuple[int, int, int, int]] = deque()  # cycle in the queue, bursts, beats, address
        #: Polynomials that came to the queue, and the cycles in which they left it.
        self.pushed = 0
        self.popped: list[int] = []
        # Cycles from which the room of the last bursts (rows) that were consumed is free again, oldest first.
        self._released: deque[int] = deque()
        # What has arrived: cycle of the last row at the output, rows.
        self._ready: deque[tuple[int, int]] = deque()
        self._want = 0  # bursts (rows) that the running MAC waits for
        self._last = 0  # cycle of the last row it has read
        #: Cycle from which nothing is queued, on its way or in the buffer; NEVER while a MAC is to come.
        self.idle_from = 0

    def push(self, time: int, bursts: int, beats: int, address: int) -> None:
        """A STREAM, issued in cycle `time`."""
        self.idle_from = NEVER
        self.pushed += 1
        self._pushed.append((time + 1, bursts, beats, address))
        if self._left == 0:
            self._next()

    def _next(self) -> None:
        """Takes the next polynomial from the queue."""
        time, self._left, self.beats, self.address = self._pushed.popleft()
        time = max(time, self._free)
        self.popped.append(time)
        self._capacity = self._rows if self.pieces else self._rows // self.beats
        self._from = time + 1
        self._request()

    def _request(self) -> None:
        """Asks for a burst as soon as the buffer has room."""
        need = self._asked + (self.beats if self.pieces else 1) - self._capacity  # bursts (rows) to be consumed before
        if need <= 0:
            self.ask(self._from)
        elif need <= self._consumed:
            released = self._released
            while len(released) > self._consumed - need + 1:
                released.popleft()
            self.ask(max(self._from, released[0]))

    def granted(self, now: int) -> None:
        self._asked += self.beats if self.pieces else 1
        self._left -= 1
        self._from = now + 1
        self.valid_from = NEVER
        if self._left:
            self._request()
            return
        self._free = now + 1
        if self._pushed:
            self._next()
            self._element.resume()

    def arrived(self, now: int) -> None:
        self._ready.append((now + self._drain, 1 if self.pieces else self.beats))
        if self._want:
            done = self._consume()
            if done < NEVER:
                self._element.release(MAC, done)

    def begin(self, start: int, bursts: int) -> int:
        """A MAC that reads its first row after cycle `start`; when its unit is idle again, or NEVER."""
        self._want = self._element.rows if self.pieces else bursts
        self._last = start
        return self._consume()

    def _consume(self) -> int:
        ready, released = self._ready, self._released
        last = self._last
        while self._want and ready:
            visible, beats = ready.popleft()
            last = max(last + beats, visible)
            released.append(last + 1)
            self._consumed += 1
            self._want -= 1
        self._last = last
        if self._left and self.valid_from == NEVER:
            self._request()
        if self._want:
            return NEVER
        if not self._left and not self._pushed and self._consumed == self._asked:
            self.idle_from = last + 1
        return last + MAC_DRAIN


class Store(WriteClient):
    """STORE's side of the outward mover (vector_out)."""

    __slots__ = ("_element", "_open", "clear_from")

    def __init__(self, element: Owner) -> None:
        super().__init__()
        self._element = element
        self._open = 0  # stores whose last acknowledgement is not known
        #: Cycle from which every store is acknowledged; NEVER while that is not known.
        self.clear_from = 0

    def ask(self, time: int, bursts: int, beats: int, data_from: int, address: int) -> None:
        self._open += 1
        self.clear_from = NEVER
        super().ask(time, bursts, beats, data_from, address)

    def written(self, now: int) -> None:
        self._element.release(OUT, now + STORE_DRAIN)

    def acknowledged(self, time: int) -> None:
        self._open -= 1
        if self._open == 0:
            self.clear_from = time
            self._element.resume()
