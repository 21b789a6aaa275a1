# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The order of a program: `ringforge.hw.core.schedule`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ringforge.hw.core import schedule as starts
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
    lengths = [cycles(i) for i in b.instructions]
    found = starts.schedule(b.after, [i.unit for i in b.instructions], lengths, lengths, len(Unit))
    return Schedule(found.order, found.starts, found.cycles, {unit: found.busy[unit] for unit in Unit})
