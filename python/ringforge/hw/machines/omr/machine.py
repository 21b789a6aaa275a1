# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Descriptor of the omr machine."""

from __future__ import annotations

from typing import Final

from ringforge.hw.core.machine import COMMON_PARTS, LANE_CELLS, Machine
from ringforge.hw.machines.omr.config import OmrConfig

MACHINE: Final = Machine(
    name="omr",
    about="oblivious message retrieval: matrix x vector under BFV, by rotations and sums of products on single limbs",
    room=OmrConfig.room,
    config=OmrConfig,
    top="omr_top",
    identity=0x4D4F4652,
    default="omr-paper",
    errors={
        1: "an instruction that it does not know",
        2: "an instruction names a buffer, a table, a way or rows that it does not have, or results over an operand "
        "that it still reads",
        3: "an instruction has a count of 0 or one that is too large, or an even element",
        4: "a degree that it does not take",
    },
    parts=COMMON_PARTS
    | {"rf_mod_mul", "omr_issue", "omr_read", "omr_write", "omr_sum", "omr_rot", "omr_xform", "omr_buffer", "omr_banks"}
    | {"omr_sources", "omr_tables", "omr_load", "omr_store", "omr_scale", "omr_conv", "omr_kmac", "omr_final"},
    lane_cells=LANE_CELLS | {"rf_mod_mul"},
    resized=frozenset({"omr_read", "rf_bank", "rf_axi_read", "omr_banks"}),
    kernels="ringforge.hw.machines.omr.kernels",
    model="ringforge.hw.machines.omr.model_device",
    commands={
        "cycles": "ringforge.hw.machines.omr.cli:cycles_command",
        "validate": "ringforge.hw.machines.omr.validate_cli:validate_command",
    },
    spaces={
        "ours": "ringforge.hw.machines.omr.space:OmrSpace",
        "paper": "ringforge.hw.machines.omr.space:PublishedSpace",
    },
    tests=("python/tests/hw",),
)
