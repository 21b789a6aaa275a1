# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The omr machine's time, instruction by instruction: dispatch, queues, waits, units, and who shares a way's port.

Units take what their structure says (`timing`): a lead, rows at a pace, a tail. A way's general port gives a row a
cycle, which the streams that run share evenly, none getting more than it asks for; ways are in step, so that one is
followed. Ports of keys and of the grid have one reader each. Memory answers after its latency. Its rate binds the run
as a whole, which takes no less than all its bytes do; that streams hold each other up for a while, where ports that all
read and write at once would ask for more (`asked`), is left out.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from math import ceil
from typing import Final

from ringforge.hw.machines.omr.config import OmrConfig
from ringforge.hw.machines.omr.layout import ENTITIES, Memory
from ringforge.hw.machines.omr.program import INSTRUCTION_WORDS, QUEUE, Op, Program, Unit
from ringforge.hw.machines.omr.timing import Timing

#: From a completion, or from the queue's input, to the unit that takes the instruction.
_TO_UNIT: Final = 3
#: From a unit's completion to its next instruction at the earliest.
_AGAIN: Final = 2
#: From the start of a run to the first instruction at hand, besides memory's latency; from the last end to the run's.
_START: Final = 4
_END: Final = 4


@dataclass(frozen=True)
class Timed:
    """What a program takes.

    Attributes:
        cycles: from start to end. busy: cycles of each unit.
    """

    cycles: int
    busy: Mapping[Unit, int]


@dataclass
class _Flow:
    """Rows that come over the shared port: how many are left, how many a cycle at most and now."""

    number: int
    left: float
    most: float
    rate: float = 0.0


class Replica:
    """A run of a program in time.

    Args:
        config: the machine. program: that it runs.
    """

    def __init__(self, config: OmrConfig, program: Program) -> None:
        self.config, self.program = config, program
        self.timing = Timing(config, program.log_n)
        self._of_unit: list[list[int]] = [[] for _ in Unit]
        for number, i in enumerate(program.instructions):
            self._of_unit[i.unit].append(number)
        count = len(program.instructions)
        self._ordinal = [0] * count
        for numbers in self._of_unit:
            for ordinal, number in enumerate(numbers):
                self._ordinal[number] = ordinal
        self._handed: list[float | None] = [None] * count
        self.starts: list[float | None] = [None] * count
        self.ends: list[float | None] = [None] * count
        self._given = 0  # instructions that were handed out
        self._started = [0] * len(Unit)
        self._idle = [True] * len(Unit)
        self._flows: dict[Unit, _Flow] = {}
        self._now = 0.0
        self._version = 0
        self._events: list[tuple[float, int, str, int]] = []
        self._serial = 0

    def run(self) -> Timed:
        """Plays it."""
        self._progress()
        while self._events:
            at, _, kind, what = heappop(self._events)
            if kind == "flows":
                if what == self._version:
                    self._flow(at)
                    self._share()
                continue
            i = self.program.instructions[what]
            if kind == "rows":
                work = self.timing.of(i)
                if work.shared:
                    self._flow(at)
                    self._flows[i.unit] = _Flow(what, work.rows, 1 / work.pace)
                    self._share()
                else:
                    self._push(at + work.rows * work.pace + work.tail, "done", what)
            else:
                self.ends[what] = at
                self._idle[i.unit] = True
                self._progress()
        busy = dict.fromkeys(Unit, 0.0)
        for i, start, end in zip(self.program.instructions, self.starts, self.ends, strict=True):
            busy[i.unit] += (end or 0) - (start or 0)
        total = max((end or 0 for end in self.ends), default=_START)
        return Timed(round(total + _END), {unit: round(cycles) for unit, cycles in busy.items()})

    def _push(self, at: float, kind: str, what: int) -> None:
        self._serial += 1
        heappush(self._events, (at, self._serial, kind, what))

    def _progress(self) -> None:
        """Hands out and starts what may, as far as the ends that are known say when."""
        moved = True
        while moved:
            moved = self._hand_out()
            for unit in Unit:
                moved = self._start(unit) or moved

    def _hand_out(self) -> bool:
        instructions, each = self.program.instructions, max(1.0, INSTRUCTION_WORDS / self.config.lanes)
        first = self._given
        while self._given < len(instructions):
            number = self._given
            unit, ordinal = instructions[number].unit, self._ordinal[number]
            before = self._handed[number - 1] if number else None
            at = before + each if before is not None else _START + self.config.dram_latency
            if ordinal >= QUEUE:
                room = self.starts[self._of_unit[unit][ordinal - QUEUE]]
                if room is None:
                    break
                at = max(at, room + 1)
            self._handed[number] = at
            self._given += 1
        return self._given > first

    def _start(self, unit: Unit) -> bool:
        at_unit = self._started[unit]
        if not self._idle[unit] or at_unit >= len(self._of_unit[unit]):
            return False
        number = self._of_unit[unit][at_unit]
        handed, i = self._handed[number], self.program.instructions[number]
        if handed is None:
            return False
        at = handed + _TO_UNIT
        if at_unit:
            at = max(at, (self.ends[self._of_unit[unit][at_unit - 1]] or 0) + _AGAIN)
        for other in range(len(Unit)):
            if i.need >> other & 1:
                end = self.ends[self._of_unit[other][i.wait[other] - 1]]
                if end is None:
                    return False
                at = max(at, end + _TO_UNIT)
        self.starts[number] = at
        self._started[unit] += 1
        self._idle[unit] = False
        self._push(at + self.timing.of(i).lead, "rows", number)
        return True

    # ---- the shared port ----

    def _flow(self, at: float) -> None:
        """Moves rows up to a time, and ends what is through."""
        for unit, flow in list(self._flows.items()):
            flow.left -= flow.rate * (at - self._now)
            if flow.left < 1e-6:
                del self._flows[unit]
                self._push(at + self.timing.of(self.program.instructions[flow.number]).tail, "done", flow.number)
        self._now = at

    def _share(self) -> None:
        """Gives each stream an even share, or what it asks for if that is less."""
        room, flows = 1.0, sorted(self._flows.values(), key=lambda flow: flow.most)
        for number, flow in enumerate(flows):
            flow.rate = min(flow.most, room / (len(flows) - number))
            room -= flow.rate
        self._version += 1
        if flows:
            self._push(self._now + min(flow.left / flow.rate for flow in flows), "flows", self._version)


def asked(config: OmrConfig) -> tuple[float, float]:
    """Bytes a second that all ports together read, and that they write, when all of them do.

    >>> [round(x / 1e9, 1) for x in asked(OmrConfig.named("omr-u55c"))]
    [409.6, 153.6]
    """
    each = config.port_bytes * config.clock_hz
    return config.ports * each, (config.ways + config.rows) * each


def traffic(program: Program, memory: Memory) -> dict[str, int]:
    """Bytes that a program moves, read and written, by what they belong to."""
    found, starts = dict.fromkeys(ENTITIES, 0), sorted(memory.entities)
    found["program"] = _program_bytes(memory.config, program)
    for address, size in _pieces(memory.config, program):
        found[ENTITIES[memory.entities[starts[bisect_right(starts, address) - 1]]]] += size
    return {name: size for name, size in found.items() if size}


def _program_bytes(config: OmrConfig, program: Program) -> int:
    return -(-8 * INSTRUCTION_WORDS * len(program.instructions) // config.port_bytes) * config.port_bytes


def _pieces(config: OmrConfig, program: Program) -> Iterator[tuple[int, int]]:
    """Addresses and sizes of what instructions read and write."""
    sums, limb = program.sums, config.limb_bytes(program.log_n)
    for i in program.instructions:
        if i.op in (Op.LOADC, Op.LOADM):
            words = i.count * (4 if i.op == Op.LOADM else 1)
            yield i.addr0, -(-words // config.lanes) * config.port_bytes
        elif i.op == Op.SUM:
            for part in range(config.cols):
                for term in range(i.count):
                    yield i.addr0 + part * sums.ct_col + term * sums.ct_term, limb
                for row in range(i.src):
                    yield i.stride0 + row * sums.out_row + part * sums.out_col, limb
            for row in range(i.src):
                for term in range(i.count):
                    yield i.addr1 + row * sums.diag_row + term * sums.diag_term, limb
        else:
            first = i.op in (Op.LOADX, Op.LOADT, Op.STORE) or i.from_memory or (i.op == Op.FINAL and i.add)
            second = (2 if i.op == Op.KMAC and not i.add else 0) + (1 if i.op == Op.STORE and i.add else 0)
            for way in i.active():
                if first:
                    yield i.addr0 + way * i.stride0, limb
                if second:
                    yield i.addr1 + way * i.stride1, second * limb


def run(config: OmrConfig, program: Program) -> Timed:
    """A program's time."""
    timed = Replica(config, program).run()
    moved = _program_bytes(config, program) + sum(size for _, size in _pieces(config, program))
    return replace(timed, cycles=max(timed.cycles, ceil(moved * config.clock_hz / config.dram_bytes_per_second)))
