# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Times by both clocks, medians, sides that take turns, and the machine's load beside them.

Every bench measures by this module. Processor time is that of this process with all its threads and of the child
processes that it has waited for; peers that run apart measure themselves in the same way. A ratio divides times of one
clock: processor time where both sides have one thread, which does not depend on what else the machine does; wall time
where threads share the work, where processes wait for each other, or where a publication states no more.
"""

import datetime
import os
import resource
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ringforge import _native
from ringforge.runs import Clock, environment

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Timing:
    """Seconds of one run by both clocks: medians where there were several runs."""

    wall: float
    cpu: float
    iterations: int = 1

    def by(self, clock: Clock) -> float:
        """Seconds by one of the clocks."""
        return self.cpu if clock == "processor" else self.wall

    def times(self, factor: float) -> "Timing":
        """The time of so many of these, or of a part."""
        return Timing(factor * self.wall, factor * self.cpu, self.iterations)

    def less(self, part: "Timing") -> "Timing":
        """The time without that of a part of the same run, clock by clock."""
        return Timing(self.wall - part.wall, self.cpu - part.cpu, self.iterations)


def total(timings: Iterable[Timing]) -> Timing:
    """The sum of parts that ran one after another; as many iterations as the part with the fewest."""
    parts = list(timings)
    return Timing(sum(t.wall for t in parts), sum(t.cpu for t in parts), min((t.iterations for t in parts), default=0))


def median(timings: Iterable[Timing]) -> Timing:
    """Medians of each clock over rounds; iterations of all of them."""
    rounds = list(timings)
    return Timing(
        statistics.median(t.wall for t in rounds),
        statistics.median(t.cpu for t in rounds),
        sum(t.iterations for t in rounds),
    )


def cpu_seconds() -> float:
    """Processor time of this process, all its threads, and the children it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class Watch:
    """Both clocks, from when it is made."""

    def __init__(self) -> None:
        self._cpu, self._wall = cpu_seconds(), time.perf_counter()

    def read(self) -> Timing:
        """The time since then."""
        wall = time.perf_counter() - self._wall
        return Timing(wall, cpu_seconds() - self._cpu)


def timed(run: Callable[[], _Value]) -> tuple[Timing, _Value]:
    """Runs once: the time it took, and its result."""
    watch = Watch()
    value = run()
    return watch.read(), value


def measure(fn: Callable[[], object], budget_s: float = 1.0, *, warmup: int = 1, at_least: int = 1) -> Timing:
    """Runs `fn` unmeasured `warmup` times, then until the budget is spent and `at_least` runs are done."""
    for _ in range(warmup):
        fn()
    runs: list[Timing] = []
    begin = time.perf_counter()
    while len(runs) < max(at_least, 1) or time.perf_counter() - begin < budget_s:
        runs.append(timed(fn)[0])
    return median(runs)


def alternate(sides: Mapping[str, Callable[[], Timing]], rounds: int) -> dict[str, list[Timing]]:
    """Lets the sides take turns, so that a machine's drift meets all of them; returns the rounds of each side.

    A side does its work and returns its own times of it. Every other round goes in the opposite order.

    Raises:
        ValueError: fewer rounds than one.
    """
    if rounds < 1:
        raise ValueError(f"rounds is {rounds}; give at least 1")
    runs: dict[str, list[Timing]] = {name: [] for name in sides}
    for turn in range(rounds):
        names = list(sides)
        for name in reversed(names) if turn % 2 else names:
            runs[name].append(sides[name]())
    return runs


def both_clocks(
    ours: Timing,
    peer: Timing | None = None,
    *,
    threads: int = 1,
    stated: float | None = None,
    clock: Clock | None = None,
) -> dict[str, Any]:
    """The fields of a record that are times: both clocks of both sides, and `seconds` of both by one of the clocks.

    Args:
        ours, peer: what was measured.
        threads: of ours; processor time counts with one thread, wall time with more.
        stated: wall seconds that a publication states, in place of a peer that is measured: wall time counts.
        clock: the clock that counts, where it is another.
    """
    if clock is None:
        clock = "processor" if threads == 1 and stated is None else "wall"
    return {
        "clock": clock,
        "seconds": ours.by(clock),
        "wall_seconds": ours.wall,
        "cpu_seconds": ours.cpu,
        "peer_seconds": stated if peer is None else peer.by(clock),
        "peer_wall_seconds": stated if peer is None else peer.wall,
        "peer_cpu_seconds": None if peer is None else peer.cpu,
    }


class Machine:
    """The machine that measures: what it is, and what it is loaded with before and after each record."""

    def __init__(self) -> None:
        built = "-O3, kernels by CPU feature"
        self.environment = environment(kernels=_native.kernels.active(), compiler_flags=built)
        self.environment["load_before"] = self._load = load()

    def around(self) -> dict[str, Any]:
        """What stands beside a record: processor, cores, date; the load when the last record was made, and now."""
        before, self._load = self._load, load()
        self.environment["load_after"] = self._load
        known = {name: self.environment[name] for name in ("cpu", "cores", "usable_cores")}
        date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        return known | {"date": date, "load_before": before, "load_after": self._load}

    def text(self) -> str:
        """One line about the machine, its load and the commit."""
        e = self.environment
        loads = " and ".join(", ".join(f"{x:.2f}" for x in e.get(name, e["load_before"])) for name in _LOADS)
        return (
            f"{e['cpu']}, {e['usable_cores']} of {e['cores']} cores, kernels {e['kernels']}, commit {e['commit']}, "
            f"{e['date']}; load of 1, 5 and 15 minutes before and after: {loads}"
        )


_LOADS = ("load_before", "load_after")


def load() -> list[float]:
    """Processes that ran or waited for a core, averages of 1, 5 and 15 minutes."""
    return [round(x, 2) for x in os.getloadavg()]
