# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Descriptor of the streaming accelerator for third-generation schemes."""

from __future__ import annotations

from typing import Final

from ringforge.hw.core.machine import COMMON_PARTS, LANE_CELLS, Machine
from ringforge.hw.machines.psi_wide.config import WideConfig

MACHINE: Final = Machine(
    name="psi_wide",
    about="gates and private set intersection, streaming: products RLWE x RGSW, substitutions, sums of plain rows",
    room=WideConfig.room,
    config=WideConfig,
    top="psi_wide_top",
    identity=0x57504652,
    default="psi-wide",
    errors={
        1: "an instruction that it does not know",
        2: "an instruction names a slot or key rows that it does not have",
        3: "an instruction has a count of 0, a gadget without digits, an even element, or what it cannot combine",
        4: "a degree or a shift that it does not take",
        5: "a monomial in memory names a key row that its instruction has not",
    },
    parts=COMMON_PARTS
    | {"rf_mod_mul", "psi_stream_ntt", "psi_stream_intt", "psi_wide_gather", "psi_wide_digits", "psi_wide_issue"},
    lane_cells=LANE_CELLS | {"rf_mod_mul"},
    resized=frozenset({"rf_bank"}),
    kernels="ringforge.hw.machines.psi_wide.kernels",
    model="ringforge.hw.machines.psi_wide.model_device",
    commands={
        "cycles": "ringforge.hw.machines.psi_wide.cli:cycles_command",
        "validate": "ringforge.hw.machines.psi_wide.validate_cli:validate_command",
    },
    figures="ringforge.hw.machines.psi_wide.figures:FIGURES",
    tests=("python/tests/hw",),
)
