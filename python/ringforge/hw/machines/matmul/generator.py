# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Configurations of the matmul accelerator from a parameter set and a card: elements, lanes, scratchpad.

As FAME's Section VI does it, made explicit. Of all machines of 1, 2 or 4 elements with a power of two of lanes, the one
with the shortest product of the set's square benchmark, by the closed form, among those that keep to

* multipliers: `dsp_per_lane` slices a lane, 21 in the paper;
* key stream: a rotation reads 2 beta rows of keys in 2 beta + 2 cycles, and memory has to keep up with that;
* scratchpad: 2 (L + 1) + beta + 1 polynomials an element (Equation 24) and one more for twiddles or a mask, in four
  banks: the outer two hold a limb of each digit, of P times the first component and of a mask, the inner two the rest;
* memory blocks: each bank is made of 18-kbit blocks (36 bits x 512) or ultra RAM (72 bits x 4096), the outer two of one
  kind and the inner two of one kind, of as few ultra RAMs as possible, with two twiddle tables and the stream buffer
  in 18-kbit blocks;
* rows: the machine takes polynomials of 8 to 256 rows.

>>> [g.name for g in (generate(parameters, U280).chosen for parameters in sets)]  # doctest: +SKIP
['2 x 128', '2 x 128', '1 x 256']
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import ceil
from typing import Final

from ringforge import _native
from ringforge.errors import ParameterError
from ringforge.hw.machines.matmul.closed_form import Gadget, price
from ringforge.hw.machines.matmul.config import LEAST_ROWS, MOST_ROWS, PORT_BYTES, FameConfig

#: Banks of a scratchpad.
BANKS: Final = 4
#: Bits and rows of a block: 18 kbit, ultra RAM.
BLOCKS: Final = {"bram18": (36, 512), "uram": (72, 4096)}
#: Rows that the stream buffer holds.
STREAM_ROWS: Final = 512
#: DSP slices of a lane: as the paper has it; by Yosys, with Barrett and with Montgomery multipliers.
DSP_PER_LANE: Final = {"paper": 21, "barrett": 17, "montgomery": 12, "montgomery-luts": 9}


@dataclass(frozen=True)
class Card:
    """What a card has: slices, blocks, memory. `clocks`: for lanes up to a number, in order."""

    name: str
    dsp: int
    bram18: int
    uram: int
    memory_bytes_per_second: float
    clocks: tuple[tuple[int, float], ...]

    def clock(self, lanes: int) -> float:
        """Of a machine with so many lanes an element."""
        return next((hz for most, hz in self.clocks if lanes <= most), self.clocks[-1][1])


#: The paper's card. Its clocks are those of Table IV: 350 MHz with 128 lanes an element, 300 with 256.
U280: Final = Card("U280", 9024, 2 * 2016, 960, 460.8e9, ((128, 350e6), (256, 300e6)))


@dataclass(frozen=True)
class Candidate:
    """One machine.

    Attributes:
        pes, lanes: elements, and lanes of each.
        clock_hz: assumed.
        limbs: polynomials of the set's degree that each scratchpad holds.
        bank_rows: of each bank.
        kinds: of the outer and of the inner banks' blocks.
        dsp, bram18, uram: of the whole machine.
        keys_per_second: bytes of keys that its rotations read.
        seconds: of the benchmark, by the closed form; infinite where the machine cannot be built.
        refused: why it cannot.
        config: of the machine.
    """

    pes: int
    lanes: int
    clock_hz: float
    limbs: int
    bank_rows: tuple[int, ...]
    kinds: tuple[str, str]
    dsp: int
    bram18: int
    uram: int
    keys_per_second: float
    seconds: float
    refused: tuple[str, ...]
    config: FameConfig

    @property
    def name(self) -> str:
        """Elements x lanes."""
        return f"{self.pes} x {self.lanes}"

    def as_dict(self) -> dict[str, object]:
        """The fields as plain values, for JSON."""
        plain = {k: v for k, v in self.__dict__.items() if k != "config"}
        return {**plain, "seconds": None if self.refused else self.seconds}


@dataclass(frozen=True)
class Generated:
    """All candidates for a set; the first is the chosen one."""

    parameters: str
    shape: tuple[int, int, int]
    candidates: tuple[Candidate, ...]

    @property
    def chosen(self) -> Candidate:
        """The fastest that can be built.

        Raises:
            ParameterError: none can; the message has the least refused one's reasons.
        """
        best = self.candidates[0]
        if best.refused:
            raise ParameterError(
                f"no machine for {self.parameters} fits the card; {best.name}: {'; '.join(best.refused)}. Take a set "
                "of fewer limbs, or a larger card"
            )
        return best

    @property
    def same(self) -> str:
        """The described machine that this is, by elements, lanes and banks; "" if none."""
        chosen = self.chosen
        for name in FameConfig.names():
            config = FameConfig.named(name)
            if (config.pes, config.lanes, config.bank_rows) == (chosen.pes, chosen.lanes, chosen.bank_rows):
                return name
        return ""


def scratchpad(gadget: Gadget) -> tuple[int, int, int]:
    """Limbs of a scratchpad, of each outer and of each inner bank."""
    digits = len(gadget.digits(gadget.limbs))
    needed = 2 * gadget.limbs + digits + 1
    limbs = BANKS * ceil((needed + 1) / BANKS)
    outer = min(1 << (digits + 1).bit_length(), limbs // BANKS)
    return limbs, outer, (limbs - 2 * outer) // 2


def generate(
    parameters: _native.Parameters,
    card: Card = U280,
    *,
    side: int | None = None,
    dsp_per_lane: int = DSP_PER_LANE["paper"],
) -> Generated:
    """Machines for a set on a card, the chosen one first, then the others, those that cannot be built last.

    Args:
        parameters: the set.
        card: what there is.
        side: of the square matrices of the benchmark; default: the largest multiple of 32 that a ciphertext holds.
        dsp_per_lane: slices of a lane's multiplier.
    """
    shape = (_side(parameters, side),) * 3
    found = [
        candidate(parameters, card, pes, lanes, side=side, dsp_per_lane=dsp_per_lane)
        for pes, lanes in product((1, 2, 4), (1 << k for k in range(4, 10)))
    ]
    found.sort(key=lambda c: (len(c.refused), c.seconds))
    return Generated(parameters.name, shape, tuple(found))


def _blocks(rows: int, lanes: int, word_bits: int, kind: str) -> int:
    width, depth = BLOCKS[kind]
    return ceil(rows / depth) * ceil(lanes * word_bits / width)


def _built(
    bank_rows: tuple[int, ...], extra: int, lanes: int, pes: int, word_bits: int
) -> Iterator[tuple[tuple[str, str], int, int]]:
    """Ways to make the banks from blocks: kinds, and blocks of both kinds in all."""
    for outer, inner in product(BLOCKS, BLOCKS):
        used = dict.fromkeys(BLOCKS, 0)
        for rows, kind in zip(bank_rows, (outer, inner, inner, outer), strict=True):
            used[kind] += _blocks(rows, lanes, word_bits, kind)
        used["bram18"] += extra
        yield (outer, inner), pes * used["bram18"], pes * used["uram"]


def _side(parameters: _native.Parameters, side: int | None) -> int:
    slots = 1 << (Gadget.of(parameters).log_n - 1)
    return int(slots**0.5) // 32 * 32 if side is None else side


def candidate(
    parameters: _native.Parameters,
    card: Card,
    pes: int,
    lanes: int,
    *,
    side: int | None = None,
    dsp_per_lane: int = DSP_PER_LANE["paper"],
) -> Candidate:
    """One machine for a set on a card. Arguments as for `generate`."""
    word_bits, gadget = 54, Gadget.of(parameters)
    rows, clock = (1 << gadget.log_n) // lanes, card.clock(lanes)
    limbs, outer, inner = scratchpad(gadget)
    bank_rows = (outer * rows, inner * rows, inner * rows, outer * rows)
    extra = sum(_blocks(x, lanes, word_bits, "bram18") for x in (2 * rows, STREAM_ROWS))
    ways = list(_built(bank_rows, extra, lanes, pes, word_bits))
    fitting = [w for w in ways if w[1] <= card.bram18 and w[2] <= card.uram]
    # Ultra RAM only where the small blocks do not suffice, as in Table V.
    kinds, bram18, uram = (
        min(fitting, key=lambda w: w[2])
        if fitting
        else min(ways, key=lambda w: max(w[1] / max(card.bram18, 1), w[2] / max(card.uram, 1)))
    )
    digits = len(gadget.digits(gadget.limbs))
    keys = pes * lanes * word_bits / 8 * clock * 2 * digits / (2 * digits + 2)
    dsp = pes * lanes * dsp_per_lane
    refused = []
    if not LEAST_ROWS <= rows <= MOST_ROWS:
        refused.append(f"polynomials of {rows} rows, where {LEAST_ROWS} to {MOST_ROWS} are possible")
    if dsp > card.dsp:
        refused.append(f"{dsp:,} DSP slices of {card.dsp:,}")
    if keys > card.memory_bytes_per_second:
        refused.append(f"keys of {keys / 1e9:.0f} GB/s, memory moves {card.memory_bytes_per_second / 1e9:.0f}")
    if bram18 > card.bram18 or uram > card.uram:
        refused.append(
            f"{limbs} limbs an element take {bram18:,} blocks of 18 kbit and {uram:,} ultra RAMs, where there are "
            f"{card.bram18:,} and {card.uram:,}"
        )
    if lanes > 256:
        refused.append(f"{lanes} lanes, where an element has 256 at most")
    # One machine more: only what the closed form reads differs from a described one.
    config = FameConfig.named("fame-l").model_copy(
        update={
            "name": f"fame-{pes}x{lanes}",
            "about": f"{pes} elements of {lanes} lanes",
            "pes": pes,
            "lanes": lanes,
            "near_ports": max(1, lanes * 8 // PORT_BYTES),
            "bank_rows": bank_rows,
            "twiddle_rows": 2 * rows,
            "clock_hz": clock,
            "min_log_n": gadget.log_n,
            "max_log_n": gadget.log_n,
            "dram_bytes_per_second": card.memory_bytes_per_second,
        }
    )
    near = config.pes * config.near_ports
    ports = {"ports": near + config.pes * config.far_ports, "segment_bytes": config.dram_bytes // near}
    config = config.model_copy(update=ports)
    seconds = float("inf")
    if not refused:
        seconds = price(config, parameters, (_side(parameters, side),) * 3, "fame").seconds
    return Candidate(
        pes, lanes, clock, limbs, bank_rows, kinds, dsp, bram18, uram, keys, seconds, tuple(refused), config
    )
