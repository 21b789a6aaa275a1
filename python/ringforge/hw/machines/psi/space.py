# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Configurations of the FHEW accelerator, for `ringforge explore psi`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from ringforge.hw.core.cards import Blocks, Card
from ringforge.hw.core.explore import Point, Space, Values
from ringforge.hw.core.synthesis import Module
from ringforge.hw.machines.psi.closed_form import Timing
from ringforge.hw.machines.psi.config import KEY_BURST, LEAST_DRAIN, PsiConfig

#: STD128_AP: log2 N, products of a gate, rows of a key.
_LOG_N, _PRODUCTS, _ROWS = 10, 1024, 6


class PsiSpace(Space):
    """Inverse transforms, idle cycles, gates at a time, keys ahead."""

    machine: ClassVar = "psi"
    workload = "A NAND at STD128_AP, 1,024 products RLWE x RGSW, several gates in turns; time for each."
    models = (
        "Time by the closed form (within 0.6 % of RTL on the saved cases); DSP slices, block and ultra RAMs by counts "
        "of butterflies, multipliers and banks."
    )

    @property
    def axes(self) -> Mapping[str, Sequence[int | str]]:
        return {
            "intts": (1, 2, 3, 4, 5, 6, 8),
            "pipeline": ("paper", "lean"),
            "gates": (1, 2, 4, 8, 12, 16, 24),
            "key_rows": (4, 8, 16),
        }

    def published(self, card: Card) -> Values:  # noqa: ARG002
        return {"intts": 4, "pipeline": "paper", "gates": 12, "key_rows": 8}

    def point(self, values: Values, card: Card, clock_hz: float) -> Point:
        gates = int(values["gates"])
        lean = values["pipeline"] == "lean"
        config = PsiConfig.named("psi-27").model_copy(
            update={
                "name": f"psi-27-{values['intts']}-{values['pipeline']}-{gates}-{values['key_rows']}",
                "about": "a point of the space of configurations",
                "intts": int(values["intts"]),
                "drain": 0 if lean else LEAST_DRAIN,
                "key_pauses": not lean,
                "key_rows": int(values["key_rows"]),
                "loop_slots": max(16, gates),
                "clock_hz": clock_hz,
                "dram_bytes_per_second": card.bytes_per_second,
            }
        )
        cycles = Timing(config, _LOG_N).chains(gates, _PRODUCTS, _ROWS) / gates
        seconds = cycles / clock_hz
        keys = _PRODUCTS * config.key_bytes(_LOG_N, _ROWS)
        dsp = card.multiplier("barrett", config.word_bits) * self._multipliers(config)
        refused = (
            [] if config.key_rows * config.key_beats(_LOG_N) >= 2 * KEY_BURST else ["no room for two bursts of keys"]
        )
        return Point(
            values, seconds, clock_hz, dsp, self._blocks(config, card), keys / seconds,
            config.model_dump(mode="json"), tuple(refused),
        )  # fmt: skip

    @staticmethod
    def _multipliers(config: PsiConfig) -> int:
        """Two butterflies of each stage and each inverse transform, eight multipliers of keys."""
        return 2 * config.max_log_n + 2 * config.intts + 8

    @staticmethod
    def _blocks(config: PsiConfig, card: Card) -> Blocks:
        n, w = 1 << config.max_log_n, config.word_bits
        line = 8 * w
        blocks = (card.bank(n // 4, 2 * w) * 4 + card.bank(n // 2, w) * 2) * config.intts  # buffers, twiddles
        blocks += card.bank(n // 2, 2 * w) * (2 * config.max_log_n)  # between stages
        blocks += card.bank(n // 4, line) * 2  # sums
        blocks += card.bank(3 * n // 2, 2 * w) * 2  # substitution
        for slots in (config.loop_slots, config.input_slots, config.output_slots):
            blocks += card.bank(slots * n // 4, line)
        return blocks + card.bank(config.key_rows * n // 4, line)

    def cells(self, point: Point) -> Sequence[tuple[Module, int]]:
        config = PsiConfig.model_validate(point.config)
        w, n = config.word_bits, 1 << config.max_log_n
        butterfly = {"W": w, "Lanes": 1, "Kind": 0, "ShiftWidth": 4, "Word": config.montgomery_word}
        return (
            (Module.make("rf_butterfly", butterfly), 2 * config.max_log_n + 2 * config.intts),
            (Module.make("rf_mod_mul", {"W": w, "Lanes": 1, "Kind": 0}), 8),
            (Module.make("rf_bank", {"W": w, "Lanes": 2, "Rows": n // 2}), 2 * config.max_log_n),
            (Module.make("rf_bank", {"W": w, "Lanes": 2, "Rows": n // 4}), 4 * config.intts),
            (Module.make("rf_bank", {"W": w, "Lanes": 1, "Rows": n // 2}), 2 * config.intts),
            (Module.make("rf_bank", {"W": w, "Lanes": 8, "Rows": config.key_rows * n // 4}), 1),
            *(
                (Module.make("rf_bank", {"W": w, "Lanes": 8, "Rows": slots * n // 4}), 1)
                for slots in (config.loop_slots, config.input_slots, config.output_slots)
            ),
        )
