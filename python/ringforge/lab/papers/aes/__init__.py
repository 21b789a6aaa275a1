# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The published accelerator for LTV and homomorphic AES: its figures, and what follows from them.

Numbers as printed (:mod:`.figures`), cycles of the multiplier (:mod:`.cycles`), times of primitives, bytes, and the
account of AES (:mod:`.times`), what is wrong (:mod:`.contradictions`), and all of it side by side (:mod:`.tables`).
"""

from __future__ import annotations

from .contradictions import contradictions
from .tables import ALL, tables

__all__ = ["ALL", "contradictions", "tables"]
