# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What `ringforge hw generate matmul` prints with --json."""

from __future__ import annotations

from ringforge.cli.output import Result


class CandidateAnswer(Result):
    """One machine."""

    pes: int
    """Elements."""
    lanes: int
    """Of each."""
    clock_hz: float
    """Assumed."""
    limbs: int
    """Polynomials of the set's degree that each scratchpad holds."""
    bank_rows: list[int]
    """Of each bank."""
    kinds: list[str]
    """Of the outer and of the inner banks' blocks."""
    dsp: int
    bram18: int
    uram: int
    keys_per_second: float
    """Bytes of keys that its rotations read."""
    seconds: float | None
    """Of the benchmark, by the closed form; null where it cannot be built."""
    refused: list[str]
    """Why it cannot."""


class GeneratedSet(Result):
    """Machines for one set; the first is the chosen one."""

    parameters: str
    shape: tuple[int, int, int]
    """m, l, n of the product that times are of."""
    machines: list[CandidateAnswer]
