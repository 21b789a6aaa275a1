# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Models of FAME, the published accelerator for products of two encrypted matrices, and its tables reproduced.

Numbers as printed (:mod:`.parameters`), diagonals and rotations (:mod:`.counts`), memory (:mod:`.memory`), cycles
(:mod:`.cycles`), resources (:mod:`.resources`), security (:mod:`.security`), what is wrong (:mod:`.findings`), and
all of it side by side (:mod:`.tables`).
"""

from __future__ import annotations

from .counts import (
    EquationCounts,
    Operations,
    ProductCounts,
    equation_counts,
    equation_degree,
    least_degree,
    product_counts,
    table_i,
    transforms,
)
from .cycles import CycleModel, Latency, cycle_model
from .findings import findings
from .memory import CONVENTIONS, MemoryModel
from .parameters import (
    BENCHMARKS,
    CLAIMS,
    CONFIGS,
    OUR_SETS,
    RESOURCES,
    SETS,
    U280,
    Benchmark,
    Config,
    ParameterSet,
    Resources,
    Shape,
    benchmark,
)
from .resources import Consistency, consistency
from .security import NamedSet, Security, named_sets, security, working_digits
from .tables import load_measured, tables

__all__ = [
    "BENCHMARKS",
    "CLAIMS",
    "CONFIGS",
    "CONVENTIONS",
    "OUR_SETS",
    "RESOURCES",
    "SETS",
    "U280",
    "Benchmark",
    "Config",
    "Consistency",
    "CycleModel",
    "EquationCounts",
    "Latency",
    "MemoryModel",
    "NamedSet",
    "Operations",
    "ParameterSet",
    "ProductCounts",
    "Resources",
    "Security",
    "Shape",
    "benchmark",
    "consistency",
    "cycle_model",
    "equation_counts",
    "equation_degree",
    "findings",
    "least_degree",
    "load_measured",
    "named_sets",
    "product_counts",
    "security",
    "table_i",
    "tables",
    "transforms",
    "working_digits",
]
