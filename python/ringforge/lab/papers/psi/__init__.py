# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The published accelerator for third-generation FHE and its private set intersection: tables reproduced.

Numbers as printed (:mod:`.figures`), cycles (:mod:`.cycles`), operations and bounds of PSI (:mod:`.protocol`), bytes
(:mod:`.sizes`), this machine's times (:mod:`.timings`), what is wrong (:mod:`.contradictions`), and all of it side by
side (:mod:`.tables`).
"""

from __future__ import annotations

from .contradictions import contradictions
from .figures import GATE_ROWS, PSI_ROWS, GateRow, PsiRow
from .tables import ALL, tables
from .timings import QUICK_SETS, BinTime, GateTime, Measured, OperationTime, measure

__all__ = [
    "ALL",
    "GATE_ROWS",
    "PSI_ROWS",
    "QUICK_SETS",
    "BinTime",
    "GateRow",
    "GateTime",
    "Measured",
    "OperationTime",
    "PsiRow",
    "contradictions",
    "measure",
    "tables",
]
