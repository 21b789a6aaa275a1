# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Data behind Figures 1, 3, 8, 9 and 10.

The numbers of the paper's own Figures 8 to 10 are not available as text, so
these are what the models give for the same experiments.  Figures 1 and 3 follow
from the paper's equations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ringforge.hw.machines.matvec.published import LAYERS, Layer

from .cycles import Primitive
from .errors import PaperModelError
from .latency import Fold, Form, LayerLatency, layer_latency, paper_layers
from .parameters import CONFIGS, SETS
from .traffic import Entity, ReuseStep, Workload, breakdown, dram_costs, reuse_series

FIGURE_WORKLOAD: Final = Workload(m=1024, n=1024, degree=2**14, limbs=7)
"""The product that Figures 1 and 3 analyse: 1024 x 1024 under Set-B."""


@dataclass(frozen=True, slots=True)
class SpeedRow:
    """One layer of Figure 8 (Set-B).

    Attributes:
        layer: the layer.
        once: paper's form, rotate-and-sum once on the accumulated sum.
        per_partial_sum: paper's form, rotate-and-sum in every partial sum.
        horner: Horner form, one chain per PE group (two keys).
        horner_one_key: Horner form in a single chain (one key).
        cpu_seconds: measured CPU time, if given.
    """

    layer: Layer
    once: LayerLatency
    per_partial_sum: LayerLatency
    horner: LayerLatency
    horner_one_key: LayerLatency
    cpu_seconds: float | None

    @property
    def speedup(self) -> float | None:
        """Measured CPU seconds over modelled seconds of ``once``, if measured."""
        return None if self.cpu_seconds is None else self.cpu_seconds / self.once.seconds


def figure1(workload: Workload = FIGURE_WORKLOAD) -> dict[Entity, float]:
    """Share of each entity in the DRAM reads without on-chip storage, 0 to 1."""
    return breakdown(dram_costs(workload))


def figure3(workload: Workload = FIGURE_WORKLOAD) -> tuple[ReuseStep, ...]:
    """DRAM reads and minimal SRAM as entities move on chip, in bytes."""
    return reuse_series(workload)


def check_measured(measured: Mapping[str, float] | None) -> dict[str, float]:
    """Copy ``measured`` (layer name to seconds) after checking names and values."""
    checked = dict(measured or {})
    known = [entry.name for entry in LAYERS]
    for name, seconds in checked.items():
        if name not in known:
            raise PaperModelError(f"unknown layer {name!r}; known: {', '.join(known)}")
        if not (math.isfinite(seconds) and seconds > 0):
            raise PaperModelError(f"{name} took {seconds} s; give a positive, finite time")
    return checked


def figure8(measured: Mapping[str, float] | None = None) -> tuple[SpeedRow, ...]:
    """Modelled latency of each layer under Set-B, beside measured CPU seconds."""
    cpu = check_measured(measured)
    parameters, config = SETS["B"], CONFIGS["B"]
    once = paper_layers("B")
    each = paper_layers("B", fold=Fold.PER_PARTIAL_SUM)
    horner = paper_layers("B", form=Form.HORNER)
    return tuple(
        SpeedRow(
            layer=entry,
            once=once[i],
            per_partial_sum=each[i],
            horner=horner[i],
            horner_one_key=layer_latency(entry, parameters, config, form=Form.HORNER, chains=1),
            cpu_seconds=cpu.get(entry.name),
        )
        for i, entry in enumerate(LAYERS)
    )


def geometric_mean(values: list[float]) -> float:
    """Geometric mean of positive numbers."""
    if not values:
        raise PaperModelError("the geometric mean of no values is undefined; give one or more")
    return math.exp(math.fsum(math.log(v) for v in values) / len(values))


def figure9(fold: Fold = Fold.ONCE) -> dict[str, dict[Primitive, float]]:
    """Share of each primitive in the compute cycles of each layer, Set-B, 0 to 1."""
    return {row.layer.name: row.shares for row in paper_layers("B", fold=fold)}


def figure10(fold: Fold = Fold.ONCE) -> dict[str, tuple[LayerLatency, ...]]:
    """Modelled layers for each parameter set on the design that Table III gives it."""
    return {name: paper_layers(name, fold=fold) for name in SETS}
