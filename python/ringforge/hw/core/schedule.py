# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""An order for instructions of units that run beside each other: that in which they would start if every unit took the
oldest one that may.

Dispatch is in program order into short queues. In the order of starts a full queue holds up only what starts later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush


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
    busy: list[int]


def schedule(
    after: Sequence[Sequence[int]], units: Sequence[int], busy: Sequence[int], done: Sequence[int], count: int
) -> Schedule:
    """Starts of instructions, which begin when those that they come after are done and their unit is free.

    Args:
        after: for each instruction, earlier ones that it must come after. units: of each, below `count`.
        busy: cycles for which each keeps its unit. done: cycles from its start to its end, at least as many.
    """
    waiting = [len(earlier) for earlier in after]
    then: list[list[int]] = [[] for _ in after]
    for number, numbers in enumerate(after):
        for earlier in numbers:
            then[earlier].append(number)
    ready_at = [0] * len(after)
    pending: list[list[tuple[int, int]]] = [[] for _ in range(count)]  # by the time from which they may start
    oldest: list[list[int]] = [[] for _ in range(count)]  # that may start when the unit is free
    free, worked = [0] * count, [0] * count
    starts, order, end = [0] * len(after), list[int](), 0
    for number, left in enumerate(waiting):
        if not left:
            heappush(pending[units[number]], (0, number))
    while True:
        best: tuple[int, int] | None = None
        for unit in range(count):
            if oldest[unit]:
                at = free[unit]
            elif pending[unit]:
                at = max(free[unit], pending[unit][0][0])
            else:
                continue
            if best is None or at < best[0]:
                best = at, unit
        if best is None:
            return Schedule(order, starts, end, worked)
        at, unit = best
        while pending[unit] and pending[unit][0][0] <= at:
            heappush(oldest[unit], heappop(pending[unit])[1])
        number = heappop(oldest[unit])
        starts[number] = at
        order.append(number)
        free[unit] = at + busy[number]
        worked[unit] += busy[number]
        end = max(end, at + done[number])
        for later in then[number]:
            ready_at[later] = max(ready_at[later], at + done[number])
            waiting[later] -= 1
            if not waiting[later]:
                heappush(pending[units[later]], (ready_at[later], later))
