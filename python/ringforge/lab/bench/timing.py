# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Times of functions: wall and processor time, medians, and sides that take turns."""

import resource
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Timing:
    """Median seconds of one run: wall time, and processor time with that of finished child processes."""

    wall: float
    cpu: float
    iterations: int


@dataclass(frozen=True)
class SideTiming:
    """Medians for one side over all rounds; `reported` is the side's own number."""

    reported: float
    wall: float
    cpu: float
    rounds: int

    def speedup_over(self, other: "SideTiming") -> float:
        """How many times faster this side is than the other, by the sides' own numbers."""
        return other.reported / self.reported


def cpu_seconds() -> float:
    """Processor time of this process, all its threads, and the children it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def measure(fn: Callable[[], object], budget_s: float = 1.0, *, warmup: int = 1, at_least: int = 1) -> Timing:
    """Runs `fn` unmeasured `warmup` times, then until the budget is spent and `at_least` runs are done."""
    for _ in range(warmup):
        fn()
    walls: list[float] = []
    cpus: list[float] = []
    begin = time.perf_counter()
    while len(walls) < max(at_least, 1) or time.perf_counter() - begin < budget_s:
        wall, cpu, _ = _once(fn)
        walls.append(wall)
        cpus.append(cpu)
    return Timing(statistics.median(walls), statistics.median(cpus), len(walls))


def alternate(sides: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, SideTiming]:
    """Lets the sides take turns, so that a machine's drift meets all of them; returns each side's medians.

    A side does its work and returns its own number of seconds. Every other round goes in the opposite order.
    """
    if rounds < 1:
        raise ValueError(f"rounds is {rounds}; give at least 1")
    runs: dict[str, list[tuple[float, float, float]]] = {name: [] for name in sides}
    for turn in range(rounds):
        names = list(sides)
        for name in reversed(names) if turn % 2 else names:
            runs[name].append(_once(sides[name]))
    return {name: _summary(samples) for name, samples in runs.items()}


def _once(fn: Callable[[], _Value]) -> tuple[float, float, _Value]:
    cpu, wall = cpu_seconds(), time.perf_counter()
    value = fn()
    wall = time.perf_counter() - wall
    return wall, cpu_seconds() - cpu, value


def _summary(samples: list[tuple[float, float, float]]) -> SideTiming:
    walls, cpus, reported = (statistics.median(column) for column in zip(*samples, strict=True))
    return SideTiming(reported, walls, cpus, len(samples))
