# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Descriptor of the FHEW accelerator."""

from __future__ import annotations

from typing import Final

from ringforge.hw.core.machine import COMMON_PARTS, Machine
from ringforge.hw.machines.psi.config import PsiConfig

#: Modules at which synthesis cuts the machine.
PARTS: Final = COMMON_PARTS | {
    "psi_intt", "psi_source", "psi_digits", "psi_stage", "psi_mac", "psi_buffer", "psi_keys", "psi_fifo", "psi_rob",
    "psi_regs", "psi_queue", "psi_move", "rf_fifo", "rf_shell_control",
}  # fmt: skip

MACHINE: Final = Machine(
    name="psi",
    about="gates and private set intersection: products RLWE x RGSW and substitutions",
    room=PsiConfig.room,
    config=PsiConfig,
    top="psi_top",
    identity=0x49504652,
    default="psi-27",
    errors={
        1: "a register holds what this machine does not have",
        2: "an instruction names a substitution, gate or number that does not exist",
        3: "no such command, an address that is not aligned, a register or value that is not set so, or LOG_N while an "
        "RLWE is left in a FIFO",
        4: "the queue cannot go on: a command waits for what only later ones would do",
    },
    parts=PARTS,
    resized=frozenset({"psi_stage", "psi_buffer", "psi_fifo", "rf_bank", "rf_fifo"}),
    kernels="ringforge.hw.machines.psi.kernels",
    model="ringforge.hw.machines.psi.model_device",
    commands={
        "run": "ringforge.hw.machines.psi.run_cli:run_command",
        "cycles": "ringforge.hw.machines.psi.run_cli:cycles_command",
        "validate": "ringforge.hw.machines.psi.validate_cli:validate_command",
        "streams": "ringforge.hw.machines.psi.streams_cli:streams_command",
        "symmetric": "ringforge.hw.machines.psi.symmetric_cli:symmetric_command",
    },
    spaces={"ours": "ringforge.hw.machines.psi.space:PsiSpace"},
    tests=("python/tests/hw",),
)
