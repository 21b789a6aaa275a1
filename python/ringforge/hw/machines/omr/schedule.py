# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The order of a program: that in which its instructions would start if every unit took the oldest one that may.

Dispatch is in program order into short queues. In the order of starts a full queue holds up only what starts later.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush

from ringforge.hw.machines.omr.program import Builder, Instruction, Unit


@dataclass(frozen=True)
class Schedule:
    """Estimated starts.

    Attributes:
        order: numbers of instructions, by start.
        starts: of each instruction.
        cycles: until all are done. busy: cycles of each unit.
    """

    order: list[int]
    starts: list[int]
    cycles: int
    busy: dict[Unit, int]


def schedule(b: Builder, cycles: Callable[[Instruction], int]) -> Schedule:
    """Starts of a builder's instructions; `cycles` says how long each takes."""
    count = len(b.instructions)
    waiting = [len(after) for after in b.after]
    then: list[list[int]] = [[] for _ in range(count)]
    for number, after in enumerate(b.after):
        for earlier in after:
            then[earlier].append(number)
    ready_at = [0] * count
    pending: list[list[tuple[int, int]]] = [[] for _ in Unit]  # by the time from which they may start
    oldest: list[list[int]] = [[] for _ in Unit]  # that may start when the unit is free
    free, busy = [0] * len(Unit), dict.fromkeys(Unit, 0)
    starts, order = [0] * count, []
    for number in range(count):
        if not waiting[number]:
            heappush(pending[b.instructions[number].unit], (0, number))
    while True:
        best: tuple[int, Unit] | None = None
        for unit in Unit:
            if oldest[unit]:
                at = free[unit]
            elif pending[unit]:
                at = max(free[unit], pending[unit][0][0])
            else:
                continue
            if best is None or at < best[0]:
                best = at, unit
        if best is None:
            break
        at, unit = best
        while pending[unit] and pending[unit][0][0] <= at:
            heappush(oldest[unit], heappop(pending[unit])[1])
        number = heappop(oldest[unit])
        length = cycles(b.instructions[number])
        starts[number] = at
        order.append(number)
        free[unit] = at + length
        busy[unit] += length
        for later in then[number]:
            ready_at[later] = max(ready_at[later], at + length)
            waiting[later] -= 1
            if not waiting[later]:
                heappush(pending[b.instructions[later].unit], (ready_at[later], later))
    return Schedule(order, starts, max(free), busy)
