# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What the commands of the accelerators print with --json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import RootModel

from ringforge.cli.output import Number, Result


class ResourcesAnswer(Result):
    """Primitives of the FPGA."""

    dsp: int
    bram36: float
    """Block RAMs of 36 kbit; halves count."""
    uram: int
    lut: int
    flip_flops: int


class CellAnswer(Result):
    """A common cell."""

    name: str
    variant: str
    parameters: Mapping[str, Any]
    takes: ResourcesAnswer


class PartAnswer(Result):
    """A module and how often it is there."""

    module: str
    parameters: Mapping[str, Any]
    count: int
    each: ResourcesAnswer


class WholeAnswer(Result):
    """An element or a machine."""

    total: ResourcesAnswer
    parts: list[PartAnswer]


class PublishedResources(ResourcesAnswer):
    """What was published."""

    sets: str
    """Of which parameters."""


class Check(Result):
    """What the project states of the figures."""

    holds: bool
    what: str


class Synthesised(Result):
    """A machine on its FPGA, by Yosys."""

    config: Mapping[str, Any]
    tool: str
    flags: str
    cells: list[CellAnswer]
    elements: Mapping[str, WholeAnswer]
    """By kind of multiplier."""
    machines: Mapping[str, WholeAnswer]
    """By kind of multiplier."""
    paper: PublishedResources | None
    checks: list[Check]


class BlockTiming(Result):
    """What placement and routing say of a block."""

    block: str
    """Module and parameters."""
    change: float | None
    """Of the clock, against what was saved."""
    mhz: float
    """Highest clock, of the fastest seed."""
    spread: list[float]
    """Clocks of all seeds, in MHz."""
    start: str
    """Where the longest path begins."""
    end: str
    """Where it ends."""
    logic: float
    """Of that path, in ns."""
    routing: float
    """Of that path, in ns."""
    lut: int
    flip_flops: int
    dsp: int
    """Multipliers of 18 x 18 bits."""
    ram: int
    """Block RAMs of 18 kbit."""
    seconds: float
    """That it took."""
    digest: str
    """Of the sources."""
    tool: str


class Timings(RootModel[list[BlockTiming]]):
    """Blocks of a machine."""


class ProofAnswer(Result):
    """A property of a module."""

    module: str
    parameters: Mapping[str, Any]
    property: str
    words: str
    """What it says."""
    engine: str
    mode: str
    depth: int
    result: str
    """How far it is proved."""
    failed: bool
    seconds: float
    """That the module took."""
    digest: str
    """Of the sources."""
    tool: str


class Proofs(RootModel[list[ProofAnswer]]):
    """Properties of a machine's modules."""


class PointAnswer(Result):
    """A configuration."""

    values: Mapping[str, Any]
    seconds: Number | None
    """Of the machine's usual work; null where it cannot be built."""
    clock_hz: float
    dsp: int
    bram36: float
    uram: int
    bytes_per_second: Number
    """Of memory."""
    config: Mapping[str, Any]
    """As device rtl:FILE.json takes it; empty where a space has no machine."""
    refused: list[str]
    """Why it cannot be built."""


class Explored(Result):
    """Configurations of a machine on a card."""

    machine: str
    workload: str
    models: str
    card: str
    clock_hz: float
    space: int
    """Configurations there are."""
    evaluated: int
    fitting: int
    front: list[PointAnswer]
    """That no other is better than in everything."""
    published: PointAnswer | None


class Explorations(RootModel[list[Explored]]):
    """Of each machine and card."""
