# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a case on which models are held against RTL came to, and what all of them say together."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from ringforge import runs


@dataclass(frozen=True)
class Validated:
    """A case in RTL, by the replica, and in closed form.

    Attributes:
        number, name, machine, memory: the case.
        cycles: in RTL.
        replica, closed_form: what both say; None where the closed form claims nothing.
        traffic_equal: the replica moves the same bytes for every entity.
        fitted: constants of the closed form were chosen with the case in view.
        seconds: CPU time of the simulation.
    """

    number: int
    name: str
    machine: str
    memory: str
    cycles: int
    replica: int
    closed_form: float | None
    traffic_equal: bool
    fitted: bool
    seconds: float

    @property
    def replica_error(self) -> float:
        """Relative to RTL."""
        return self.replica / self.cycles - 1

    @property
    def closed_error(self) -> float | None:
        """Relative to RTL; None where the closed form claims nothing."""
        return None if self.closed_form is None else self.closed_form / self.cycles - 1

    def record(self, params: str, algorithm: str, level: int, clock_hz: float, **extra: object) -> runs.Record:
        """A line of the results."""
        return runs.Record(
            "hw-validation",
            f"{self.name}; {self.memory}",
            params,
            algorithm,
            self.cycles / clock_hz,
            level=level,
            device=f"rtl:{self.machine}",
            cycles=self.cycles,
            extra={
                "case": self.number,
                "memory": self.memory,
                "replica": self.replica,
                "closed_form": self.closed_form,
                "traffic_equal": self.traffic_equal,
                "fitted": self.fitted,
                "simulation_seconds": self.seconds,
                **extra,
            },
        )


def summary(found: Sequence[Validated]) -> list[str]:
    """Largest and median errors in words, of the closed form also over the cases that were not used for fitting."""

    def of(errors: Sequence[float]) -> str:
        sizes = [abs(e) for e in errors]
        return f"largest {100 * max(sizes):.3f} %, median {100 * statistics.median(sizes):.3f} %"

    claimed = [(v.closed_error, v.fitted) for v in found if v.closed_error is not None]
    fresh = [error for error, fitted in claimed if not fitted]
    some = "" if len(claimed) == len(found) else f", {len(claimed)} cases that it is for"
    return [
        f"replica: {of([v.replica_error for v in found])}, {len(found)} cases",
        *([f"closed form{some}: {of([error for error, _ in claimed])}"] if claimed else []),
        *([f"closed form, {len(fresh)} cases not used for fitting: {of(fresh)}"] if fresh else []),
        f"{sum(v.seconds for v in found):.0f} s of CPU time in RTL simulation",
    ]
