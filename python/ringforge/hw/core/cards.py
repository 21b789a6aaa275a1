# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""FPGA cards: what designs are fitted to. Figures of data sheets; nothing is taken off for shells.

>>> card("u55c").dsp, card("vc709").uram
(9024, 0)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Final

from ringforge.errors import ParameterError


@dataclass(frozen=True)
class Card:
    """A card.

    Attributes:
        name: word for it in commands.
        title: what it is called.
        family: of its FPGA, as Yosys names it: xcup (UltraScale+), xc7 (Virtex-7).
        dsp, bram36, uram, lut, flip_flops: what the FPGA has.
        memory_bytes: of the memory beside it.
        bytes_per_second: peak of that memory.
        clock_hz: assumed of designs where nobody says another.
    """

    name: str
    title: str
    family: str
    dsp: int
    bram36: int
    uram: int
    lut: int
    flip_flops: int
    memory_bytes: int
    bytes_per_second: float
    clock_hz: float

    def multiplier(self, kind: str, bits: int) -> int:
        """DSP slices of a modular multiplier.

        Raises:
            KeyError: none of this kind and width was synthesised.
        """
        return MULTIPLIERS[self.family][kind, bits]

    def bank(self, rows: int, bits: int) -> Blocks:
        """Blocks of a memory of `rows` x `bits` with a read port and a write port, as Yosys maps `rf_bank`: ultra
        RAM where it is more than 1,024 deep and the card has it, else block RAM."""
        if self.uram and rows > 1024:
            return Blocks(0.0, ceil(rows / 4096) * ceil(bits / 72))
        return Blocks(block_ram(rows, bits), 0)


#: DSP slices of a modular multiplier by Yosys: family, kind, bits. Tiles are cut for the 27 x 18 bits of UltraScale+; a
#: slice of Virtex-7 takes 25 x 18, so that most of them need two.
MULTIPLIERS: Final = {
    "xcup": {
        ("barrett", 27): 6, ("barrett", 54): 17, ("barrett", 60): 27,
        ("montgomery", 54): 12, ("montgomery", 60): 20, ("montgomery-luts", 54): 9,
    },
    "xc7": {
        ("barrett", 27): 11, ("barrett", 54): 32, ("barrett", 60): 47,
        ("montgomery", 54): 21, ("montgomery", 60): 32, ("montgomery-luts", 54): 18,
    },
}  # fmt: skip


@dataclass(frozen=True)
class Blocks:
    """Memory blocks: 36-kbit block RAMs (halves count) and ultra RAMs."""

    bram36: float = 0.0
    uram: int = 0

    def __add__(self, other: Blocks) -> Blocks:
        return Blocks(self.bram36 + other.bram36, self.uram + other.uram)

    def __mul__(self, times: int) -> Blocks:
        return Blocks(self.bram36 * times, self.uram * times)


def block_ram(rows: int, bits: int) -> float:
    """36-kbit block RAMs of a simple dual-port memory: 72 bits wide at 512 rows, 36 at 1,024 and so on; half ones hold
    half the width."""
    depth = 512
    while depth < rows and depth < 16384:
        depth *= 2
    width = 72 * 512 // depth
    return ceil(rows / depth) * ceil(2 * bits / width) / 2


_CARDS: Final = {
    c.name: c
    for c in (
        Card("u55c", "Alveo U55C", "xcup", 9024, 2016, 960, 1_304_000, 2_607_000, 16 << 30, 460e9, 200e6),
        Card("u280", "Alveo U280", "xcup", 9024, 2016, 960, 1_304_000, 2_607_000, 8 << 30, 460e9, 300e6),
        Card("u200", "Alveo U200", "xcup", 6840, 2160, 960, 1_182_000, 2_364_000, 64 << 30, 77e9, 180e6),
        Card("f1", "AWS F1 (VU9P)", "xcup", 6840, 2160, 960, 1_182_000, 2_364_000, 64 << 30, 77e9, 125e6),
        Card("vc709", "VC709 (Virtex-7 690T)", "xc7", 3600, 1470, 0, 433_200, 866_400, 8 << 30, 29.8e9, 150e6),
    )
}


def names() -> list[str]:
    """Words for the cards."""
    return list(_CARDS)


def card(name: str) -> Card:
    """A card by its word.

    Raises:
        ParameterError: there is none; the message lists those there are.
    """
    if name not in _CARDS:
        raise ParameterError(f'there is no card "{name}"; there are {", ".join(_CARDS)}')
    return _CARDS[name]
