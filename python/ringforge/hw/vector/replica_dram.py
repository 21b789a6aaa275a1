# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Memory with banks, rows and refresh in the replica: as `Dram` of hw/sim/memory.hpp, number by number.

Bursts that come to ports in one cycle are scheduled in the next, in the simulation's order: by port, what is written
before what is read. A port then moves what it has, in order, a beat per cycle at most.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from typing import Final

from ringforge.hw.core.memory import STRIPE, UNIT, Timing
from ringforge.hw.vector.replica_memory import ARRIVE, DECIDE, Events

#: Told when a burst's data begin to move on the bus of its channel, in 1/256 cycle.
Scheduled = Callable[[int], None]

# A channel: end of its last data, next refresh, whether it wrote last.
_FREE, _REFRESH, _WROTE = range(3)
# A bank: open row, when it was opened, when columns may be accessed, when it may be closed.
_ROW, _OPENED, _COLUMN, _CLOSABLE = range(4)


class Dram:
    """All channels of a memory.

    Args:
        events: the clock.
        timing: of the memory.
        beat: bytes of a port's beat.
    """

    def __init__(self, events: Events, timing: Timing, beat: int) -> None:
        self.events = events
        self.pace: Final = timing.pace
        self._t = timing
        self._beat = beat
        self._channels = [[0, timing.refi, 0] for _ in range(timing.channels)]
        self._banks = [[[-1, 0, 0, 0] for _ in range(timing.banks)] for _ in range(timing.channels)]
        #: By cycle: port, whether it reads, address, beats, whom to tell.
        self._come: defaultdict[int, list[tuple[int, bool, int, int, Scheduled]]] = defaultdict(list)

    def request(self, time: int, port: int, read: bool, address: int, beats: int, tell: Scheduled) -> None:
        """A burst that comes to a port in a cycle."""
        come = self._come[time]
        if not come:
            self.events.at(time + 1, ARRIVE, self._flush)
        come.append((port, read, address, beats, tell))

    def _flush(self, now: int, _: int) -> None:
        for _port, read, address, beats, tell in sorted(self._come.pop(now - 1), key=lambda r: r[:2]):
            tell(self.schedule((now - 1) * UNIT, address, beats, not read))

    def schedule(self, now: int, address: int, beats: int, write: bool) -> int:
        """When the data of a burst that comes at `now` begin to move on the channel's bus, in 1/256 cycle."""
        t, beat = self._t, self._beat
        stripe = address // STRIPE
        number = stripe % t.channels
        channel, banks = self._channels[number], self._banks[number]
        local = stripe // t.channels * STRIPE + address % STRIPE
        start = now + t.front
        while max(start, channel[_FREE]) >= channel[_REFRESH]:
            channel[_FREE] = max(channel[_REFRESH], channel[_FREE]) + t.rfc
            for bank in banks:
                bank[:] = -1, 0, 0, channel[_FREE]
            channel[_REFRESH] += t.refi
        data = max(start + t.cl, channel[_FREE] + (t.turnaround if channel[_WROTE] != write else 0))
        touched = []
        offset = 0
        while offset < beats * beat:
            at = local + offset
            bank, row = banks[at // t.row_bytes % t.banks], at // (t.row_bytes * t.banks)
            touched.append(bank)
            if bank[_ROW] != row:
                ready = max(start, bank[_CLOSABLE])
                bank[_OPENED] = ready if bank[_ROW] < 0 else max(ready, bank[_OPENED] + t.ras) + t.rp
                bank[_COLUMN] = bank[_OPENED] + t.rcd
                bank[_ROW] = row
            data = max(data, max(start, bank[_COLUMN]) + t.cl - offset // beat * t.pace)
            offset += t.row_bytes - at % t.row_bytes
        channel[_FREE] = data + beats * t.pace
        channel[_WROTE] = write
        for bank in touched:
            bank[_CLOSABLE] = channel[_FREE] + (t.wr if write else 0)
        return data


def _cycle(time: int) -> int:
    """First cycle in which a time is past."""
    return -(-time // UNIT)


class DramReads:
    """What a port reads: bursts in order, beats no faster than a channel's bus gives them."""

    def __init__(self, dram: Dram, port: int, latency: int) -> None:
        self._dram, self._port, self._latency = dram, port, latency
        self.moved: Callable[[int, int], None]
        self._last = -1  # cycle of the last beat

    def push(self, parts: int, beats: int, ready: int, address: int) -> None:
        """A burst of `parts` times `beats` beats, each part to be told of; on the bus `latency` before `ready`."""

        def scheduled(data: int) -> None:
            pace = self._dram.pace
            for part in range(parts):
                first = _cycle(data + (part * beats + 1) * pace)
                last = _cycle(data + (part + 1) * beats * pace)
                # The slowest of: beats without a gap, from the last burst or the first beat on; the last beat's data.
                self._last = max(self._last + beats, first + beats - 1, last)
                self._dram.events.at(self._last, DECIDE, self._move)

        self._dram.request(ready - self._latency, self._port, True, address, parts * beats, scheduled)

    def _move(self, now: int, _: int) -> None:
        self.moved(now, now)


class DramWrites:
    """What a port writes: a beat per cycle."""

    def __init__(self, dram: Dram, port: int, latency: int) -> None:
        self._dram, self._port, self._latency = dram, port, latency
        self.moved: Callable[[int, int], None]
        self._last = -1
        self._bursts: deque[tuple[int, int]] = deque()  # address and beats of what has moved
        self._moving: deque[tuple[int, int, int]] = deque()
        self._answered = -1

    def push(self, parts: int, beats: int, ready: int, address: int) -> None:
        """A burst whose data are there from cycle `ready` on."""
        assert parts == 1
        before = self._last
        self._last = max(self._last + 1, ready) + beats - 1
        self._moving.append((self._last - 1 if beats > 1 else before, address, beats))
        self._dram.events.at(self._last, DECIDE, self._move)

    def _move(self, now: int, _: int) -> None:
        before, address, beats = self._moving.popleft()
        self._bursts.append((address, beats))
        self.moved(now, before)

    def answer(self, now: int, tell: Callable[[int], None]) -> None:
        """When the burst that has just moved is acknowledged: later than its data, and than what went before."""
        address, beats = self._bursts.popleft()

        def scheduled(data: int) -> None:
            end = _cycle(data + beats * self._dram.pace)
            self._answered = max(self._answered + 1, now + self._latency, end)
            tell(self._answered)

        self._dram.request(now, self._port, False, address, beats, scheduled)
