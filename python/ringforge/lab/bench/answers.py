# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What benchmarks print with --json beside records."""

from __future__ import annotations

from ringforge.cli.output import Result


class HltLine(Result):
    """One schedule of a linear transform; bytes are those of one run."""

    params: str
    diagonals: int
    schedule: str
    cpu_seconds: float
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
