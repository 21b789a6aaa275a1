# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Analytical models of the HE matrix-vector FPGA paper, and its tables reproduced.

Sizes and DRAM traffic (:mod:`.traffic`), on-chip allocation (:mod:`.sram`), FPGA
resources (:mod:`.resources`), cycles (:mod:`.cycles`), layer latency
(:mod:`.latency`) and the paper's tables and figures beside them
(:mod:`.tables`, :mod:`.plots`).  Pure Python; matplotlib is needed to draw figures, and
imported when used.
"""

from __future__ import annotations

from .contradictions import contradictions
from .cycles import (
    KeySwitchBounds,
    KeySwitchSchedule,
    Primitive,
    PrimitiveCycles,
    TransformCount,
    automorphism_cycles,
    elementwise_cycles,
    key_switch_bounds,
    key_switch_cycles,
    key_switch_schedule,
    key_switch_transforms,
    key_switches_per_second,
    ntt_cycles,
    primitive_cycles,
)
from .errors import MissingDependencyError, NoConfigurationError, PaperModelError
from .figures import figure1, figure3, figure8, figure9, figure10
from .latency import (
    Fold,
    Form,
    LayerLatency,
    layer_latency,
    minimum_key_stream_seconds,
    paper_layers,
)
from .parameters import (
    CONFIGS,
    SETS,
    AcceleratorConfig,
    ParameterSet,
    accelerator_config,
    layer,
    parameter_set,
)
from .plots import write_plots
from .resources import (
    CalibrationRow,
    Candidate,
    ResourceEstimate,
    calibration,
    choose_config,
    estimate,
    explore,
    group_limits,
)
from .sram import (
    Allocation,
    FusionBuffer,
    Place,
    Placement,
    allocate,
    allocate_best,
    default_fusion,
)
from .tables import tables
from .traffic import (
    Counts,
    Entity,
    ReuseStep,
    Workload,
    breakdown,
    compulsory_bytes,
    dram_cost,
    dram_costs,
    paper_counts,
    resident_bytes,
    reuse_series,
    total_traffic,
)

__all__ = [
    "CONFIGS",
    "SETS",
    "AcceleratorConfig",
    "Allocation",
    "CalibrationRow",
    "Candidate",
    "Counts",
    "Entity",
    "Fold",
    "Form",
    "FusionBuffer",
    "KeySwitchBounds",
    "KeySwitchSchedule",
    "LayerLatency",
    "MissingDependencyError",
    "NoConfigurationError",
    "PaperModelError",
    "ParameterSet",
    "Place",
    "Placement",
    "Primitive",
    "PrimitiveCycles",
    "ResourceEstimate",
    "ReuseStep",
    "TransformCount",
    "Workload",
    "accelerator_config",
    "allocate",
    "allocate_best",
    "automorphism_cycles",
    "breakdown",
    "calibration",
    "choose_config",
    "compulsory_bytes",
    "contradictions",
    "default_fusion",
    "dram_cost",
    "dram_costs",
    "elementwise_cycles",
    "estimate",
    "explore",
    "figure1",
    "figure3",
    "figure8",
    "figure9",
    "figure10",
    "group_limits",
    "key_switch_bounds",
    "key_switch_cycles",
    "key_switch_schedule",
    "key_switch_transforms",
    "key_switches_per_second",
    "layer",
    "layer_latency",
    "minimum_key_stream_seconds",
    "ntt_cycles",
    "paper_counts",
    "paper_layers",
    "parameter_set",
    "primitive_cycles",
    "resident_bytes",
    "reuse_series",
    "tables",
    "total_traffic",
    "write_plots",
]
