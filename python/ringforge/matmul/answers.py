# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What the commands of products of encrypted matrices print with --json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from ringforge.cli.output import Number, Result


class Operand(Result):
    """An input."""

    name: str
    shape: list[int]
    """(m, n) or (n,)."""
    bound: float
    """Largest |entry|."""
    tile: list[int] | None
    """Rows and columns of each ciphertext."""
    level: int
    """It is encrypted at."""
    plain: bool
    """Given to the server in the clear."""


class OutputOf(Result):
    """A result."""

    shape: list[int]
    level: int
    bound: Number
    """Largest |entry| there can be."""
    error: Number
    """Largest error of an entry (probability of more: 2^-40)."""


class ProgramAnswer(Result):
    """A program: inputs, steps and results."""

    system: Literal["matmul"]
    params: str
    """Name of the set."""
    secure: bool
    """At least 128 bits."""
    inputs: list[Operand]
    outputs: Mapping[str, OutputOf]
    steps: list[Mapping[str, Any]]
    """As in the program's file (docs/formats.md)."""
    galois_keys: int
    relin_level: int | None
    """Level of the relinearisation key; null if there is none."""


class Planned(ProgramAnswer):
    """A program: inputs, steps, results, and what the server needs."""

    bytes: Mapping[str, int]
    """Memory of the server by what it holds."""


class ScratchUse(Result):
    """What a scratch file took, in bytes."""

    size: int
    written: int
    read: int
    peak: int
    """Most ciphertexts in memory."""


class Multiplied(Result):
    """What a product took at the server."""

    system: Literal["matmul"]
    params: str
    threads: int
    seconds: float
    """Of computing, encoding left out."""
    encode_seconds: float
    """Of encoding diagonals and masks."""
    operations: Mapping[str, int]
    """Counts by name."""
    cycles: int | None = None
    """Of clocked devices alone, as the two that follow."""
    clock_hz: float | None = None
    scratch: ScratchUse | None = None
    """With --scratch."""
    bytes: Mapping[str, int] | None = None
    """Memory traffic by what moved."""


class Ran(ProgramAnswer):
    """A product from encryption to decryption: the program, and what it took."""

    seconds: Mapping[str, float]
    """By what was done."""
    max_error: float
    """Largest difference from numpy."""
    predicted_error: float
    """Largest there can be (probability of more: 2^-40)."""
    threads: int
    operations: Mapping[str, int]
    cycles: int | None = None
    """Of clocked devices alone, as the one that follows."""
    clock_hz: float | None = None
    scratch: ScratchUse | None = None
    """With --scratch."""
    bytes: Mapping[str, int]
    """Memory of the server by what it holds; of clocked devices memory traffic by what moved."""
