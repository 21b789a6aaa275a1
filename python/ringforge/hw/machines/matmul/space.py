# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Configurations of the matmul accelerator, for `ringforge explore matmul`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import ClassVar

from ringforge import params as parameter_sets
from ringforge._native import Parameters
from ringforge.hw.core.cards import Blocks, Card
from ringforge.hw.core.explore import Point, Space, Values
from ringforge.hw.core.synthesis import Module
from ringforge.hw.machines.matmul import generator
from ringforge.hw.machines.matmul.config import FameConfig

_SET = "fame-b"


@cache
def _parameters() -> Parameters:
    return parameter_sets.named(_SET, insecure="timing only")


class FameSpace(Space):
    """Elements, lanes, kind of multiplier; scratchpads as the generator lays them out."""

    machine: ClassVar = "matmul"
    workload = "The largest square product of encrypted matrices in a ciphertext of FAME's Set-B (Algorithm 2)."
    models = (
        "Time by the closed form of `ringforge hw validate matmul`; slices a lane as Yosys counts them (17 Barrett, 12 "
        "Montgomery, 9 with the short part in LUTs), blocks as the generator composes banks."
    )

    @property
    def axes(self) -> Mapping[str, Sequence[int | str]]:
        return {
            "multiplier": ("barrett", "montgomery", "montgomery-luts"),
            "pes": (1, 2, 4),
            "lanes": (16, 32, 64, 128, 256),
        }

    def published(self, card: Card) -> Values:  # noqa: ARG002
        return {"multiplier": "barrett", "pes": 2, "lanes": 128}

    def point(self, values: Values, card: Card, clock_hz: float) -> Point:
        there = generator.Card(
            card.title, card.dsp, 2 * card.bram36, card.uram, card.bytes_per_second, ((256, clock_hz),)
        )
        found = generator.candidate(
            _parameters(), there, int(values["pes"]), int(values["lanes"]),
            dsp_per_lane=card.multiplier(str(values["multiplier"]), 54),
        )  # fmt: skip
        config = found.config
        made = config.model_copy(update={"multiplier": str(values["multiplier"]).partition("-")[0]})
        return Point(
            values, found.seconds, clock_hz, found.dsp, Blocks(found.bram18 / 2, found.uram), found.keys_per_second,
            made.model_dump(mode="json"), found.refused,
        )  # fmt: skip

    def cells(self, point: Point) -> Sequence[tuple[Module, int]]:
        config = FameConfig.model_validate(point.config)
        kind = int(config.multiplier == "montgomery")
        lane = {"W": config.word_bits, "Lanes": 2, "Kind": kind}
        if point.values["multiplier"] == "montgomery-luts":
            lane["ShortInLuts"] = 1
        width = {"W": config.word_bits, "Lanes": config.lanes}
        rows = config.bank_rows if not isinstance(config.bank_rows, int) else (config.bank_rows,) * config.banks
        return (
            (Module.make("rf_alu", lane), config.pes * config.lanes // 2),
            *((Module.make("rf_bank", {**width, "Rows": r}), config.pes) for r in rows),
            (Module.make("rf_bank", {**width, "Rows": config.twiddle_rows}), config.pes),
        )
