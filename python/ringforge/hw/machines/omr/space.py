# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Configurations of the omr machine, for `ringforge explore omr`: ours, and the paper's with the paper's costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from ringforge.hw.core.cards import Blocks, Card
from ringforge.hw.core.explore import Point, Space, Values
from ringforge.hw.core.synthesis import Module
from ringforge.hw.machines.omr import cost
from ringforge.hw.machines.omr.config import OmrConfig

#: Primes by the bits of a word: the paper's 19 + 10 of 60 bits, or 24 + 12 of 50 in words of 54.
_CHAINS: Final = {60: cost.PUBLISHED_CHAIN, 54: cost.Chain(16, 24, 12, 12)}
_SIZE: Final = cost.Sum()


def _moved(config: OmrConfig, chain: cost.Chain) -> int:
    """Bytes of a product."""
    rotations = _SIZE.baby - 1 + _SIZE.giant - 1
    return rotations * cost.rotation_bytes(chain) + cost.sum_bytes(config, chain, _SIZE)


class OmrSpace(Space):
    """Words, multipliers, lanes, butterflies, ways, sources, grid of products."""

    machine: ClassVar = "omr"
    workload = "A matrix of 65,536 x 1,024 times an encrypted vector under BFV (45 baby and 22 giant rotations)."
    models = (
        "Time and resources by formula from the configuration (ringforge.hw.machines.omr.cost): cycles of the units' "
        "structure, no less than memory takes for their bytes; DSP slices of the multipliers' tiles, memories by width "
        "and depth."
    )

    @property
    def axes(self) -> Mapping[str, Sequence[int | str]]:
        return {
            "word": (54, 60),
            "multiplier": ("barrett", "montgomery"),
            "lanes": (2, 4, 8, 16),
            "butterflies": (16, 32, 64),
            "ways": (1, 2, 4),
            "sources": (1, 2, 3, 4, 6),
            "rows": (1, 2, 4),
            "cols": (1, 2),
            "groups": (1, 2, 3, 4, 6, 8),
        }

    def published(self, card: Card) -> Values:  # noqa: ARG002
        return {
            "word": 60, "multiplier": "barrett", "lanes": 16, "butterflies": 64, "ways": 1, "sources": 1, "rows": 1,
            "cols": 1, "groups": 2,
        }  # fmt: skip

    def point(self, values: Values, card: Card, clock_hz: float) -> Point:
        number = {k: int(v) for k, v in values.items() if k != "multiplier"}
        chain = _CHAINS[number["word"]]
        grid = number["groups"] * (number["rows"] + number["cols"])
        name = "-".join(str(v) for v in values.values())
        base = OmrConfig.named("omr-paper")
        config = base.model_copy(
            update={
                "name": f"omr-{name}",
                "about": "a point of the space of configurations",
                "multiplier": values["multiplier"],
                "word_bits": number["word"],
                "ports": 2 * number["ways"] + grid,
                "banks": chain.limbs + 2 * chain.special,
                "buffers": 6 if number["ways"] == 1 else 8,
                "clock_hz": clock_hz,
                "dram_bytes_per_second": card.bytes_per_second,
                **{k: number[k] for k in ("lanes", "butterflies", "ways", "sources", "rows", "cols", "groups")},
            }
        )
        seconds = cost.matmul_cycles(config, chain, _SIZE) / clock_hz
        total = cost.total(config)
        blocks = Blocks(total.bram36, total.uram)
        if not card.uram:  # what would lie in ultra RAM takes block RAM eight times as large
            blocks = Blocks(total.bram36 + 8 * total.uram, 0)
        dsp = total.dsp
        if card.family != "xcup":  # cost.py counts tiles of UltraScale+
            there = cost.multiplier_dsp(config.word_bits, montgomery=config.montgomery)
            dsp = dsp * card.multiplier(config.multiplier, config.word_bits) // there
        refused = [] if config.ports <= 64 else [f"{config.ports} ports, 64 at most"]
        made = config.model_dump(mode="json")
        return Point(values, seconds, clock_hz, dsp, blocks, _moved(config, chain) / seconds, made, tuple(refused))

    def cells(self, point: Point) -> Sequence[tuple[Module, int]]:
        config = OmrConfig.model_validate(point.config)
        w, lanes, kind = config.word_bits, config.lanes, int(config.montgomery)
        rows = config.max_degree // lanes
        multiplier = {"W": w, "Lanes": 1, "Kind": kind}
        plain = {"WA": w, "WB": w}
        limb = {"W": w, "Lanes": lanes, "Rows": rows}
        wide = {**limb, "Rows": config.max_degree // config.wide}
        groups = config.wide // lanes
        return (
            (Module.make("rf_butterfly", multiplier), config.ways * config.butterflies),
            (Module.make("rf_mod_mul", multiplier), config.pcmul_lanes + 3 * config.ways * lanes),
            (Module.make("rf_mul_tiled", plain), config.ways * lanes * (config.sources + 1)),
            (Module.make("rf_bank", limb), config.banks + config.rows * config.cols + 4 * config.ways),
            (Module.make("rf_bank", wide), config.ways * (config.buffers + 2) * groups),
            (Module.make("rf_bank", {**limb, "W": w + 6}), 4),
        )


class PublishedSpace(Space):
    """P_coef of CCadd, PCmul and Rot, P_BU, P_inst, with the paper's operators."""

    machine: ClassVar = "omr"
    workload = OmrSpace.workload
    models = (
        "The paper's: Eqs 3 to 7 with the operators of Table IV, at the 200 MHz that its times imply; lanes above 16 "
        "are left out, as they waste ultra RAM."
    )

    @property
    def axes(self) -> Mapping[str, Sequence[int | str]]:
        return {
            "CCadd P_coef": (2, 4, 8, 16),
            "PCmul P_coef": (2, 4, 8, 16),
            "Rot P_coef": (2, 4, 8, 16),
            "Rot P_BU": (16, 32, 64, 128),
            "P_inst": (1, 2, 4, 8, 16),
        }

    def published(self, card: Card) -> Values:  # noqa: ARG002
        return {"CCadd P_coef": 16, "PCmul P_coef": 16, "Rot P_coef": 16, "Rot P_BU": 64, "P_inst": 2}

    def point(self, values: Values, card: Card, clock_hz: float) -> Point:  # noqa: ARG002
        add, product, turn, butterflies, groups = (int(values[name]) for name in self.axes)
        found = cost.published_point(product, groups, turn, butterflies, add)
        seconds = found.ms / 1e3 * cost.PUBLISHED_HZ / clock_hz
        blocks = Blocks(found.resources.bram36, found.resources.uram)
        chain = cost.PUBLISHED_CHAIN
        limb = 60 // 4 * 2 ** (chain.log_n - 1)  # bytes
        keys = 67 * 2 * len(chain.digits) * (chain.limbs + chain.special)
        moved = limb * (keys + 3 * _SIZE.terms * chain.limbs + 67 * 4 * chain.limbs)
        return Point(values, seconds, clock_hz, found.dsp, blocks, moved / seconds)
