# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What benchmarks print with --json beside records."""

from __future__ import annotations

import json

from ringforge.cli.output import Result, emit
from ringforge.cli.records import RecordLine
from ringforge.runs import Clock, Record


class Measured(Result):
    """The machine that a time was measured on, and its load."""

    cpu: str
    """Name of the processor."""
    cores: int
    usable_cores: int
    date: str
    """When it was measured, ISO 8601 in UTC."""
    load_before: list[float]
    """Load averages of 1, 5 and 15 minutes when the work began."""
    load_after: list[float]
    """The same when it was done."""


class BenchLine(RecordLine):
    """A measurement with both clocks of both sides; `seconds`, `encode_seconds` and `peer_seconds` are by `clock`."""

    clock: Clock
    """Of the ratio, too."""
    wall_seconds: float
    cpu_seconds: float
    """Processor time of all threads and child processes."""
    peer_wall_seconds: float | None
    peer_cpu_seconds: float | None
    """Null where a publication states wall time only."""
    machine: Measured


class HltLine(Result):
    """One schedule of a linear transform; bytes are those of one run."""

    params: str
    diagonals: int
    schedule: str
    wall_seconds: float
    """Of one run."""
    cpu_seconds: float
    """Processor time of the same run."""
    machine: Measured
    read: int
    """Ciphertext limbs that operations read from memory."""
    written: int
    """Limbs that they wrote."""
    spilled: int
    """Of both, limbs that are put away and fetched again."""
    working: int
    """Most bytes held as working set at once; 0: the schedule states none."""
    held_out: int
    """Most bytes held as spilled buffers and outputs."""
    allocated: int
    """Growth of the high-water mark of allocations."""
    equation_24: int
    """Bytes of the paper's working set."""
    max_error: float
    """Largest difference from the exact result."""
    error_bound: float
    """Predicted."""


def emit_line(record: Record) -> None:
    """Print a measured record; for commands that declare `BenchLine` and print lines."""
    emit(BenchLine(**json.loads(record.to_json())))
