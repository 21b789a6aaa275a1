# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Configurations of the aes machine, for `ringforge explore aes`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from ringforge.hw.core.cards import Blocks, Card
from ringforge.hw.core.explore import Point, Space, Values
from ringforge.hw.core.synthesis import Module
from ringforge.hw.machines.aes import cost
from ringforge.hw.machines.aes.config import AesConfig

#: The top level of AES: words of a transform, primes, digits of 16 bits.
_LOG_N, _PRIMES, _DIGITS = 16, 41, 80
#: Ciphertexts that share a reading of the keys.
_BATCH: Final = 2


class AesSpace(Space):
    """Engine, words of a row, multiplications begun in a cycle, ports, ciphertexts at a time."""

    machine: ClassVar = "aes"
    workload = (
        "A product and the relinearisation of its result at the top level of AES: 41 primes, 80 digits of 16 bits."
    )
    models = (
        "Time by the closed form (ringforge.hw.machines.aes.cost), the host's link, 32 bytes a cycle less headers, "
        "included; DSP slices and memories by count."
    )

    @property
    def axes(self) -> Mapping[str, Sequence[int | str]]:
        return {
            "engine": ("paper", "fast"),
            "lanes": (16, 32, 64, 128, 256),
            "starts": (4, 8, 16, 32, 64),
            "ports": (1, 2),
            "batch": (1, _BATCH),
        }

    def published(self, card: Card) -> Values:  # noqa: ARG002
        return {"engine": "paper", "lanes": 256, "starts": 64, "ports": 1, "batch": 1}

    def point(self, values: Values, card: Card, clock_hz: float) -> Point:
        lanes, starts, ports, batch = (int(values[name]) for name in ("lanes", "starts", "ports", "batch"))
        fast = values["engine"] == "fast"
        refused = []
        if fast and starts != 4:
            refused.append("the fast engine has no multiplications in 4 cycles: starts is 4 there")
        if not fast and not lanes // 16 <= starts <= lanes:
            refused.append(f"{starts} multiplications begin in a cycle, and a row of {lanes} words takes 16 at most")
        config = AesConfig.named("aes-fast" if fast else "aes-paper").model_copy(
            update={
                "name": "aes-" + "-".join(str(v) for v in values.values()),
                "about": "a point of the space of configurations",
                "lanes": lanes,
                "starts": starts,
                "ports": ports,
                "clock_hz": clock_hz,
                "dram_bytes_per_second": card.bytes_per_second,
            }
        )
        one = cost.product(config, _LOG_N, _PRIMES)
        many = cost.relinearisation(config, _LOG_N, _PRIMES, _DIGITS, batch)
        seconds = (one.cycles + many.cycles / batch) / clock_hz
        blocks = sum(cost.memories(config, card).values(), Blocks())
        dsp = cost.multipliers(config) * cost.multiplier_dsp(config)
        moved = (one.card + many.card / batch) / seconds
        return Point(
            values, seconds, clock_hz, dsp, blocks, moved, config.model_dump(mode="json"), tuple(refused)
        )  # fmt: skip

    def cells(self, point: Point) -> Sequence[tuple[Module, int]]:
        config = AesConfig.model_validate(point.config)
        lanes, rows = config.lanes, (1 << config.max_log_n) // config.lanes
        bank = {"W": 32, "Lanes": lanes}
        found = [
            (Module.make("rf_bank", {**bank, "Rows": rows}), 4),
            (Module.make("rf_bank", {**bank, "Rows": 2 * rows}), 2 + int(config.fast)),
        ]
        if config.fast:
            return (*found, (Module.make("aes_butterfly", {"W": 31, "Lanes": 1}), lanes // 2))
        return (*found, (Module.make("aes_barrett", {}), 4 * config.starts))
