# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Configurations of the matvec accelerator, for `ringforge explore matvec`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

from ringforge import params as parameter_sets
from ringforge._native import Context
from ringforge.hw.core.cards import Card
from ringforge.hw.core.explore import Point, Space, Values
from ringforge.hw.core.synthesis import Module
from ringforge.hw.machines.matvec.closed_form import cycles
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.machines.matvec.layers import layer_kernel
from ringforge.hw.machines.matvec.program import compile_matvec, traffic
from ringforge.matvec.kernels import MatvecKernel

#: The layer, and the set: rnnt-fc0 of Table IV at Set-B, as the paper packs it.
_ROWS, _COLS, _SET, _ALGORITHM = 512, 1344, "set-b", "diagonal"


@cache
def _kernel() -> MatvecKernel:
    context = Context(parameter_sets.named(_SET, insecure="timing only"))
    return layer_kernel(context, _ROWS, _COLS, context.params.max_level, _ALGORITHM)[0]


@cache
def _bytes() -> int:
    """Bytes that a product moves, as compiled for matvec-b; machines differ in spills, which are few."""
    moved = traffic(compile_matvec(MatvecConfig.named("matvec-b"), _kernel(), has_bias=True))
    return sum(t.read + t.written for t in moved.values())


class MatvecSpace(Space):
    """Groups, elements, lanes, kind of multiplier."""

    machine: ClassVar = "matvec"
    workload = "A plain 512 x 1,344 layer (rnnt-fc0) times an encrypted vector at set-b, by the paper's diagonals."
    models = (
        "Time by the closed form of `ringforge hw validate matvec`; DSP slices, block and ultra RAMs by counts of "
        "lanes and banks, as Yosys finds them for matvec-a and matvec-b."
    )

    @property
    def axes(self) -> Mapping[str, Sequence[int | str]]:
        return {
            "multiplier": ("barrett", "montgomery"),
            "groups": (1, 2, 3, 4),
            "pes": (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16),
            "lanes": (4, 8, 16),
        }

    def published(self, card: Card) -> Values:  # noqa: ARG002
        return {"multiplier": "barrett", "groups": 2, "pes": 7, "lanes": 16}

    def point(self, values: Values, card: Card, clock_hz: float) -> Point:
        base = MatvecConfig.named("matvec-b")
        groups, pes, lanes = (int(values[name]) for name in ("groups", "pes", "lanes"))
        rows = base.bank_rows * base.lanes // lanes
        update: dict[str, Any] = {
            "name": f"matvec-{values['multiplier']}-{groups}x{pes}x{lanes}",
            "about": "a point of the space of configurations",
            "multiplier": values["multiplier"],
            "groups": groups,
            "pes": pes,
            "lanes": lanes,
            "ports": 2 * groups,
            "bank_rows": min(rows, 8192),
            "twiddle_rows": min(rows, 8192),
            "clock_hz": clock_hz,
            "dram_bytes_per_second": card.bytes_per_second,
        }
        refused = [] if rows <= 8192 else [f"banks of {rows:,} rows, 8,192 at most"]
        if rows > 8192:
            update |= {"max_log_n": 14}
            refused = [] if rows // 2 <= 8192 else refused
        config = base.model_copy(update=update)
        seconds = float(cycles(config, _kernel())) / clock_hz
        elements = groups * pes
        dsp = elements * (lanes + lanes // 2) * card.multiplier(config.multiplier, config.word_bits)
        bank = card.bank(config.bank_rows, lanes * config.word_bits)
        stream = card.bank(config.stream_rows, lanes * config.word_bits)
        blocks = (bank * (config.banks + 1) + stream) * elements
        return Point(
            values, seconds, clock_hz, dsp, blocks, _bytes() / seconds, config.model_dump(mode="json"), tuple(refused)
        )

    def cells(self, point: Point) -> Sequence[tuple[Module, int]]:
        config = MatvecConfig.model_validate(point.config)
        elements, kind = config.groups * config.pes, int(config.multiplier == "montgomery")
        lane = {"W": config.word_bits, "Lanes": 1, "Kind": kind}
        bank = {"W": config.word_bits, "Lanes": config.lanes, "Rows": config.bank_rows}
        return (
            (Module.make("rf_mac", lane), elements * config.lanes),
            (Module.make("rf_butterfly", lane), elements * config.lanes // 2),
            (Module.make("rf_bank", bank), elements * (config.banks + 1)),
            (Module.make("rf_bank", {**bank, "Rows": config.stream_rows}), elements),
        )
