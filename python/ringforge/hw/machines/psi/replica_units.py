# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Units of the published pipeline in the replica: inverse transforms, source buffers, stages, sums, keys.

Polynomials are one event each: a unit starts one when the unit before offers it and the unit after has a place, as in
`psi_stage` and its like, whose constants these are (counted in the sources, confirmed by runs of the machine).
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ringforge.hw.machines.psi.config import KEY_BURST, KEY_BURSTS, PsiConfig

#: Cycles of a multiplier, of a butterfly and of a memory (rf_pkg), and of a digit (psi_core_pkg).
MULTIPLY: Final = 12
BUTTERFLY: Final = MULTIPLY + 3
BANK: Final = 2
DIGIT: Final = 4
#: From the address of a line pair to its result.
STAGE: Final = BANK + BUTTERFLY
#: From the last words of a sum to the first that is read again (psi_mac), and from that to its FIFO.
SUM: Final = BANK + MULTIPLY + 2
OUT: Final = 3
#: RLWEs between inverse and forward transform; polynomials behind a stage; sums.
SOURCE_SLOTS: Final = 3
STAGE_SLOTS: Final = 2
SUM_SLOTS: Final = 2
#: From a burst's grant to its request on the port, and from a beat on the port to the multipliers.
KEY_ASK: Final = 1
KEY_GIVE: Final = 3


class Events:
    """What happens when, in order of cycles, then of asking."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._asked: set[tuple[int, Callable[[], None]]] = set()
        self._count = 0
        self.now = 0

    def at(self, time: int, what: Callable[[], None]) -> None:
        """Does something in a cycle, this one at the earliest."""
        self._count += 1
        heapq.heappush(self._heap, (max(time, self.now), self._count, what))

    def once(self, time: int, what: Callable[[], None]) -> None:
        """As `at`, unless the same is to be done in that cycle anyway."""
        wanted = (max(time, self.now), what)
        if wanted not in self._asked:
            self._asked.add(wanted)
            self.at(time, what)

    def run(self) -> None:
        """Until nothing is left to happen."""
        heap, asked = self._heap, self._asked
        while heap:
            self.now, _, what = heapq.heappop(heap)
            asked.discard((self.now, what))
            what()

    @property
    def handled(self) -> int:
        """Events so far."""
        return self._count


@dataclass(slots=True, eq=False)
class Operation:
    """An instruction under way.

    Attributes:
        unit: an inverse transform works on its RLWE; not so for an accumulator that is made on chip.
        loop: its RLWE comes from the loop FIFO, not from the input FIFO.
        to_loop: where its result goes.
        polynomials, rows: that it transforms, and rows of its key, which the first of them meet.
    """

    unit: bool
    loop: bool
    to_loop: bool
    polynomials: int
    rows: int


class Source:
    """Buffers that digits are cut from."""

    def __init__(self, events: Events, quarter: int) -> None:
        self._events, self._quarter = events, quarter
        self.used = 0
        self.filling = False
        self._jobs: deque[Operation] = deque()
        self._given = 0  # polynomials of the first job that have started
        self.reader: Callable[[], None] = lambda: None
        self.freed: Callable[[], None] = lambda: None

    def takes(self) -> bool:
        """A buffer is free and none is being filled."""
        return not self.filling and self.used < SOURCE_SLOTS

    def fill(self, job: Operation) -> None:
        """Words of an operation that is sent in this cycle."""
        self.used += 1
        self.filling = True
        # The last stage of the inverse transform, or an accumulator that is made here.
        last = 2 * self._quarter + (STAGE if job.unit else 0)

        def filled() -> None:
            self.filling = False
            self._jobs.append(job)
            self.reader()
            self.freed()

        self._events.at(self._events.now + last + 1, filled)

    @property
    def available(self) -> bool:
        """A polynomial can be read."""
        return bool(self._jobs)

    def take(self) -> tuple[Operation, int]:
        """The next polynomial is read from the next cycle on."""
        job, number = self._jobs[0], self._given
        self._given += 1
        if self._given == job.polynomials:
            self._jobs.popleft()
            self._given = 0
            self._events.at(self._events.now + self._quarter + 1, self._release)
        return job, number

    def _release(self) -> None:
        self.used -= 1
        self.freed()


class Stage:
    """A stage of the forward transform and the buffer behind it."""

    def __init__(self, events: Events, before: Source | Stage, quarter: int, drain: int, latency: int) -> None:
        self._events, self._before, self._quarter = events, before, quarter
        self._interval = quarter + drain
        # The next stage may begin when half of a polynomial is written; with cycles to drain, when all is.
        self._offer = 2 + latency + (quarter - 1 if drain else quarter // 2)
        self._next = 0
        self._used = 0
        self._ready: deque[tuple[Operation, int]] = deque()
        self.reader: Callable[[], None] = lambda: None
        self.started = 0
        before.reader = self.start

    @property
    def available(self) -> bool:
        """A polynomial can be read."""
        return bool(self._ready)

    def head(self) -> tuple[Operation, int]:
        """It."""
        return self._ready[0]

    def take(self) -> tuple[Operation, int]:
        """The next polynomial is read from the next cycle on."""
        return self._ready.popleft()

    def read(self) -> None:
        """A polynomial has been read: its place is free."""
        self._used -= 1
        self.start()

    def start(self) -> None:
        """Begins the next polynomial if it can."""
        now = self._events.now
        if not self._before.available or self._used == STAGE_SLOTS:
            return
        if now < self._next:
            self._events.once(self._next, self.start)
            return
        found = self._before.take()
        self._used += 1
        self._next = now + self._interval
        self.started += 1
        before = self._before

        def offered() -> None:
            self._ready.append(found)
            self.reader()

        if isinstance(before, Stage):
            self._events.at(now + self._quarter + 1, before.read)
        self._events.at(now + self._offer, offered)
        if before.available:
            self._events.once(self._next, self.start)


class Keys:
    """Bursts of key rows, and the FIFO that they wait in.

    `arrived` holds for every burst that was asked for, in order, the cycles in which its first and its last beat can
    be multiplied.
    """

    def __init__(self, events: Events, config: PsiConfig, log_n: int, requests: int) -> None:
        self._events, self._config = events, config
        self.beats = min(KEY_BURST, config.key_beats(log_n))
        self.bursts = config.key_beats(log_n) // self.beats
        self._room = config.key_rows << (config.max_log_n - 2)
        self._requests = requests
        self._waiting: deque[int] = deque()
        self._active = 0  # bursts of the request that are still to be asked for
        self._ends: deque[int] = deque()
        self._next_grant = 0
        self._free = 0  # cycle in which the port may bring another beat
        self._number = 0
        self.arrived: deque[tuple[int, int]] = deque()
        self.reader: Callable[[], None] = lambda: None
        self.freed: Callable[[], None] = lambda: None
        self.read_bytes = 0
        self._per_beat = max(1.0, config.port_bytes / config.dram_bytes_per_cycle)
        self._owed = 0.0

    def takes(self) -> bool:
        """A request has a place."""
        return len(self._waiting) < self._requests

    def request(self, rows: int) -> None:
        """A key of so many rows, in this cycle."""
        self._waiting.append(rows * self.bursts)
        self._events.once(self._events.now + 1, self.ask)

    def popped(self, beats: int) -> None:
        """Beats have left the FIFO."""
        self._room += beats
        self.ask()

    def ask(self) -> None:
        """Asks for bursts while there is room."""
        now = self._events.now
        if self._active == 0:
            if not self._waiting:
                return
            self._active = self._waiting.popleft()
            self.freed()
            self._events.once(now + 1, self.ask)
            return
        while self._ends and self._ends[0] <= now:
            self._ends.popleft()
        if self._room < self.beats:
            return
        if len(self._ends) == KEY_BURSTS:
            self._events.once(self._ends[0], self.ask)
            return
        if now < self._next_grant:
            self._events.once(self._next_grant, self.ask)
            return
        self._room -= self.beats
        self._active -= 1
        self._next_grant = now + 1
        self._number += 1
        first = max(now + KEY_ASK + self._config.dram_latency, self._free)
        self._owed += (self._per_beat - 1.0) * self.beats
        more, self._owed = int(self._owed), self._owed % 1.0
        last = first + self.beats - 1 + more
        self._free = last + 1
        if self._config.key_pauses:
            self._free += 2 if self._number % self.bursts == 0 else 1
        self._ends.append(last + 1)
        self.read_bytes += self.beats * self._config.port_bytes
        self.arrived.append((first + KEY_GIVE, last + KEY_GIVE))
        self.reader()
        self._events.once(self._next_grant, self.ask)


class Sums:
    """Multiplies digits by key rows, sums, and gives results out."""

    def __init__(
        self, events: Events, last: Stage, keys: Keys, quarter: int, result: Callable[[Operation, int], None]
    ) -> None:
        """`result` is told of a finished sum and the cycle from which it can be read; `release` ends that."""
        self._events, self._last, self._keys, self._quarter, self._result = events, last, keys, quarter, result
        self._job: Operation | None = None
        self._number = 0
        self._bursts = 0  # of the row, still to come
        self._at = 0  # cycle of the next group
        self._used = 0
        self.waited = 0
        last.reader = self.start
        keys.reader = self.advance

    def start(self) -> None:
        """Begins the next polynomial if it can."""
        now = self._events.now
        if self._job is not None or not self._last.available:
            return
        job, number = self._last.head()
        if number == 0 and self._used == SUM_SLOTS:
            return
        self._last.take()
        self._job, self._number = job, number
        self._used += number == 0
        self._at = now + 1
        if number < job.rows:
            self._bursts = self._keys.bursts
            self.advance()
        else:
            self._bursts = 0
            self._end(now + self._quarter)

    def advance(self) -> None:
        """Takes the bursts of a row that have been asked for."""
        while self._job is not None and self._bursts and self._keys.arrived:
            first, last = self._keys.arrived.popleft()
            beats = self._keys.beats
            begin = max(self._at, first)
            end = max(begin + beats, last + 1)
            self.waited += end - self._at - beats
            self._at = end
            self._bursts -= 1
            self._events.at(end, lambda beats=beats: self._keys.popped(beats))  # type: ignore[misc]
            if self._bursts == 0:
                self._end(end - 1)

    def _end(self, last: int) -> None:
        """The last group is read in a cycle; the next polynomial may start then."""
        job, number = self._job, self._number
        assert job is not None

        def ended() -> None:
            self._job = None
            self._events.at(self._events.now + 1, self._last.read)
            if number == job.polynomials - 1:
                self._result(job, self._events.now + SUM)
            self.start()

        self._events.at(last, ended)

    def release(self) -> None:
        """A sum has been read."""
        self._used -= 1
        self.start()
