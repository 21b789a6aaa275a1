# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Stands for `ringforge.psi.planner.choose` in protocol tests: cells as they are needed, gadgets that nobody uses."""

from __future__ import annotations

import math

from ringforge.psi.info import CutFields, PlanFields


def choose(
    mode: str,
    capacity: int,
    log_bins: int,
    tag_bits: int,
    label_bytes: int,
    hashes: int,
    element_bits: int,
    algorithm: str,
) -> PlanFields:
    log_n, log_t = 11, 5
    if mode == "direct":
        log_cell, cell_bits = 0, max(1, element_bits - log_bins + (hashes - 1).bit_length())
    else:
        log_cell = math.ceil(math.log2((tag_bits + 8 * label_bytes) / log_t))
        mean = hashes * capacity / (1 << log_bins)
        full = mean + 6 * math.sqrt(mean) + 8
        cell_bits = math.ceil(math.log2(full * full / 8))
    cut = CutFields(log_base=10, count=4, drop=10)
    return PlanFields.model_validate(
        {
            "algorithm": algorithm,
            "log_n": log_n,
            "modulus": 1125899906826241,
            "log_bins": log_bins,
            "cell_bits": max(cell_bits, log_n - log_cell),
            "log_cell": log_cell,
            "log_t": log_t,
            "log_onehot": 0,
            "gadget": CutFields(log_base=8, count=2, drop=34),
            "expansion": [cut] * log_n,
            "reconstruction": cut,
            "log_reply": 13,
        }
    )
