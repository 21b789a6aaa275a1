# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The aes machine's time, instruction by instruction: fetch, dispatch, queues, waits, units, and who has a port.

LOAD's channels move rows in the order in which they were asked for; what the program's stream asks for over port 0 goes
between them. Writes have a channel of their own. Memory's rate as a whole does not bind: what a port moves is less.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final

from ringforge.hw.machines.aes.config import AesConfig
from ringforge.hw.machines.aes.layout import ENTITIES, Memory
from ringforge.hw.machines.aes.program import INSTRUCTION_BYTES, Instruction, Op, Program, Unit
from ringforge.hw.machines.aes.timing import Timing

#: Instructions of a queue, and commands that a channel of LOAD has taken.
_QUEUE: Final = 4
_AHEAD: Final = 2
#: From the row of an instruction to its queue; from there, and from a completion, to the unit that takes it.
_HANDED: Final = 1
_TO_UNIT: Final = 1
_WAITED: Final = 2
#: From the start of a run to the request of its program; from the last end to the run's.
_START: Final = 2
_END: Final = 1


@dataclass(frozen=True)
class Timed:
    """What a program takes.

    Attributes:
        cycles: from start to end. busy: cycles in which each unit had an instruction.
    """

    cycles: int
    busy: Mapping[Unit, int]


class Replica:
    """A run of a program in time.

    Args:
        config: the machine. program: that it runs.
    """

    def __init__(self, config: AesConfig, program: Program) -> None:
        self.config, self.program, self.timing = config, program, Timing(config, program.log_n)
        count = len(program.instructions)
        self._of_unit: list[list[int]] = [[] for _ in Unit]
        self._ordinal = [0] * count
        for number, i in enumerate(program.instructions):
            self._ordinal[number] = len(self._of_unit[i.unit])
            self._of_unit[i.unit].append(number)
        self.starts: list[float | None] = [None] * count
        self.ends: list[float | None] = [None] * count
        self._events: list[tuple[float, int, int]] = []
        self._serial = 0
        # Fetch: rows that have come and when, and when each was handed out.
        self._fetch = min(8, config.burst_rows)
        self._rows: list[float] = []
        self._handed: list[float] = []
        self._start_at = [0] * len(Unit)  # the next of each unit
        # Channels of LOAD: when what was asked for has come, commands under way in order, and when they end.
        self._free = [0.0] * config.ports
        # Where latencies are longer than FIFOs bridge: when rows came last, and when the last FIFO's bursts were gone.
        self._came = [0.0] * config.ports
        window = max(config.read_rows // config.burst_rows, 1)
        self._gone = [deque([-1e9] * window, window) for _ in range(config.ports)]
        self._under_way: list[list[int]] = [[] for _ in range(config.ports)]
        self._taken = [0.0] * config.ports
        self._data: dict[int, float] = {}  # the end of each command's rows
        self._told = 0  # LOADs that are complete, as they are counted
        self._ready: dict[int, float] = {}  # LOADs that are written

    def run(self) -> Timed:
        """Plays it."""
        self._ask(_START)
        self._ask(_START)
        self._progress()
        while self._events:
            at, _, what = heappop(self._events)
            self._end(at, what)
            self._progress()
        total = max((end or 0.0 for end in self.ends), default=float(_START))
        return Timed(round(total + _END), {unit: self._busy(unit) for unit in Unit})

    def _busy(self, unit: Unit) -> int:
        """Cycles in which a unit has instructions; LOAD has some at once."""
        total, until = 0.0, 0.0
        for number in self._of_unit[unit]:
            start, end = self.starts[number] or 0.0, self.ends[number] or 0.0
            total += max(0.0, end - max(start, until))
            until = max(until, end)
        return round(total)

    def _push(self, at: float, what: int) -> None:
        self._serial += 1
        heappush(self._events, (at, self._serial, what))

    # ---- the program's rows ----

    def _ask(self, at: float) -> None:
        """Asks for a burst of instructions, which comes when what LOAD asked for before has come."""
        count = min(self._fetch, len(self.program.instructions) - len(self._rows))
        if count <= 0:
            return
        pace, t = self.timing.link_pace(0), self.timing
        backlog = min(max(self._free[0] - at, 0.0), self.config.read_rows * pace)
        first = at + max(t.answer(0), backlog)
        if self._rows:
            first = max(first, self._rows[-1] + pace)
        self._rows += [first + k * pace for k in range(count)]
        # What comes later over a port that is at work all the time, comes so much later.
        if self._free[0] > first and t.bridged(0):
            self._free[0] += count * pace
            for number in self._under_way[0]:
                if self._data[number] > first:
                    self._data[number] += count * pace

    # ---- dispatch and starts ----

    def _progress(self) -> None:
        moved = True
        while moved:
            moved = self._hand_out()
            for unit in Unit:
                while self._start(unit):
                    moved = True

    def _hand_out(self) -> bool:
        instructions, first = self.program.instructions, len(self._handed)
        while len(self._handed) < len(self._rows):
            number = len(self._handed)
            unit, ordinal = instructions[number].unit, self._ordinal[number]
            at = self._rows[number] + _HANDED
            if number:
                at = max(at, self._handed[-1] + 1)
            if ordinal >= _QUEUE:
                room = self.starts[self._of_unit[unit][ordinal - _QUEUE]]
                if room is None:
                    break
                at = max(at, room + 1)
            self._handed.append(at)
            if len(self._handed) % self._fetch == 0:
                self._ask(at)
        return len(self._handed) > first

    def _start(self, unit: Unit) -> bool:
        at_unit = self._start_at[unit]
        if at_unit >= len(self._of_unit[unit]):
            return False
        number = self._of_unit[unit][at_unit]
        if number >= len(self._handed):
            return False
        i, at = self.program.instructions[number], self._handed[number] + _TO_UNIT
        for other in range(len(Unit)):
            if i.need >> other & 1:
                end = self.ends[self._of_unit[other][i.wait[other] - 1]]
                if end is None:
                    return False
                at = max(at, end + _WAITED)
        if at_unit:
            before = self._of_unit[unit][at_unit - 1]
            if unit == Unit.LOAD:
                at = max(at, (self.starts[before] or 0.0) + 1)
            else:
                end = self.ends[before]
                if end is None:
                    return False
                at = max(at, end + (unit == Unit.STORE))
        if unit == Unit.LOAD:
            if len(self._under_way[i.port]) >= _AHEAD:
                return False
            at = max(at, self._taken[i.port])
        self.starts[number] = at
        self._start_at[unit] += 1
        if unit == Unit.LOAD:
            self._load(number, at)
        else:
            self._push(at + (self.timing.store(i) if i.op == Op.STORE else self.timing.exec(i)), number)
        return True

    def _load(self, number: int, at: float) -> None:
        i, t = self.program.instructions[number], self.timing
        port = i.port
        first = max(at + t.answer(port), self._free[port])
        end = first + t.beats(i) * t.pace(i) if t.bridged(port) else self._bursts(i, first)
        self._free[port] = self._data[number] = end
        self._under_way[port].append(number)
        self._push(end, number)

    def _bursts(self, i: Instruction, first: float) -> float:
        """The end of rows that come burst by burst, each asked for when the FIFO has room for it."""
        t, left = self.timing, self.timing.beats(i)
        came, gone = self._came[i.port], self._gone[i.port]
        while left:
            rows = min(left, self.config.burst_rows)
            left -= rows
            came = max(first + rows * t.link_pace(i.port), came + rows * t.link_pace(i.port), gone[0] + t.round(i.port))
            gone.append(max(came, gone[-1] + rows * t.taken(i)))
        self._came[i.port] = came
        return gone[-1]

    def _end(self, at: float, what: int) -> None:
        i = self.program.instructions[what]
        if i.unit != Unit.LOAD:
            self.ends[what] = at
            return
        if at < self._data[what] - 1e-6:
            self._push(self._data[what], what)
            return
        self._under_way[i.port].remove(what)
        self._taken[i.port] = at + 1
        self._ready[what] = at + self.timing.written()
        loads = self._of_unit[Unit.LOAD]
        while self._told < len(loads) and loads[self._told] in self._ready:
            number = loads[self._told]
            self.ends[number] = max(self._ready[number], at)
            self._told += 1


def traffic(program: Program, memory: Memory) -> dict[str, int]:
    """Bytes that a program moves, read and written, by what they belong to."""
    found = dict.fromkeys(ENTITIES, 0)
    found["program"] = INSTRUCTION_BYTES * len(program.instructions)
    starts = sorted(memory.entities)
    for i in program.instructions:
        if size := i.bytes(program.log_n):
            found[ENTITIES[memory.entities[starts[bisect_right(starts, i.addr) - 1]]]] += size
    return {name: size for name, size in found.items() if size}


def run(config: AesConfig, program: Program) -> Timed:
    """A program's time."""
    return Replica(config, program).run()
