# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Descriptor of the aes machine."""

from __future__ import annotations

from typing import Final

from ringforge.hw.core.machine import COMMON_PARTS, LANE_CELLS, Machine
from ringforge.hw.core.slices import Slices
from ringforge.hw.machines.aes.config import AesConfig

MACHINE: Final = Machine(
    name="aes",
    about="encrypted AES under LTV: transforms and products of 2^16 words modulo primes of 31 bits, relinearisation",
    room=AesConfig.room,
    config=AesConfig,
    top="aes_top",
    identity=0x45414652,
    default="aes-fast",
    errors={
        1: "an instruction that it does not know, or that its engine does not have",
        2: "an instruction names a buffer, a slot or a port that it does not have, or operands that do not go together",
        3: "an instruction has no rows, or more than a table has",
        4: "a length of transforms that it does not take",
    },
    parts=COMMON_PARTS
    | {"aes_issue", "aes_memories", "aes_buffer", "aes_load", "aes_store", "aes_read", "aes_write"}
    | {"aes_fast", "aes_twiddles", "aes_butterfly"}
    | {"aes_paper", "aes_address", "aes_roots", "aes_root_map", "aes_multipliers", "aes_barrett"},
    lane_cells=LANE_CELLS | {"aes_butterfly"},
    slices={
        "rf_transform": Slices(("W",), 2),
        "aes_buffer": Slices(("Lanes",), 32),
        "aes_memories": Slices(("Lanes",), 32, ("MaxLogN",)),
    },
    resized=frozenset({"aes_read", "aes_buffer", "rf_bank", "rf_axi_read"}),
    family="xc7",
    kernels="ringforge.hw.machines.aes.kernels",
    model="ringforge.hw.machines.aes.model_device",
    commands={
        "cycles": "ringforge.hw.machines.aes.cli:cycles_command",
        "validate": "ringforge.hw.machines.aes.validate_cli:validate_command",
    },
    spaces={"ours": "ringforge.hw.machines.aes.space:AesSpace"},
    figures="ringforge.hw.machines.aes.figures:FIGURES",
    tests=("python/tests/hw",),
)
