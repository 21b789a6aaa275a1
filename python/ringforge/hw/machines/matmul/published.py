# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What was published of FAME, the accelerator that the matmul machine stands beside: Tables IV and V, and the card.

Literals of the paper. Where its figure is not of the paper, a field of :data:`U280` says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class Config:
    """One column of Table IV. `scratchpad_bytes` is for one PE; the paper's KB is read as KiB, its MB as MiB."""

    name: str
    set_name: str
    pes: int
    lanes: int
    scratchpad_bytes: int
    clock_hz: float


CONFIGS: Final[Mapping[str, Config]] = MappingProxyType(
    {
        "A": Config("FAME-S", "A", 2, 128, 864 << 10, 350e6),
        "B": Config("FAME-M", "B", 2, 128, round(7.6 * 2**20), 350e6),
        "C": Config("FAME-L", "C", 1, 256, round(30.4 * 2**20), 300e6),
    }
)
"""Table IV, by the set that each configuration serves."""

MACHINES: Final[Mapping[str, str]] = MappingProxyType({"A": "fame-s", "B": "fame-m", "C": "fame-l"})
"""The configuration of the matmul machine for each set."""


@dataclass(frozen=True, slots=True)
class Resources:
    """One row of Table V; `bram` as printed, in whatever unit."""

    dsp: int
    bram: int
    uram: int
    kilo_luts: int
    kilo_flip_flops: int


RESOURCES: Final[Mapping[str, Resources]] = MappingProxyType(
    {
        "A": Resources(5376, 1024, 0, 636, 998),
        "B": Resources(5376, 640, 192, 701, 1147),
        "C": Resources(5376, 3328, 672, 803, 1660),
    }
)
"""Table V."""

DSP_PER_LANE: Final = 21
"""DSP slices of one modular ALU (Section VI-C)."""


@dataclass(frozen=True, slots=True)
class Card:
    """The FPGA card. Figures marked "data sheet" are not in the paper."""

    dsp: int
    bram36: int
    """Data sheet."""
    uram: int
    """Data sheet."""
    kilo_luts: int
    kilo_flip_flops: int
    sram_bytes: int
    hbm_bytes: int
    """Data sheet."""
    hbm_bytes_per_second: float
    """Data sheet, peak."""


U280: Final = Card(9024, 2016, 960, 1304, 2607, 43_000_000, 8 << 30, 460e9)
