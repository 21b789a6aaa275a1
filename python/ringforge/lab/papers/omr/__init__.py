# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The published accelerator for oblivious message retrieval: its tables, and what follows from them.

Numbers as printed (:mod:`.figures`), counts and the latency model (:mod:`.cost`), bytes (:mod:`.sizes`), this machine's
times (:mod:`.timings`), what is wrong (:mod:`.contradictions`), and all of it side by side (:mod:`.tables`).
"""

from __future__ import annotations

from .contradictions import contradictions
from .figures import OPERATORS, SOPHOMR, STAGES
from .tables import ALL, tables
from .timings import Measured, measure

__all__ = ["ALL", "OPERATORS", "SOPHOMR", "STAGES", "Measured", "contradictions", "measure", "tables"]
