# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Descriptor of the FHEW accelerator."""

from __future__ import annotations

from typing import Final

from ringforge.hw.core.machine import COMMON_PARTS, Machine
from ringforge.hw.machines.psi.config import PsiConfig

_HERE: Final = "ringforge.hw.machines.psi"

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
        3: "no such command, an address that is not aligned, or a register that no command sets",
        4: "the queue cannot go on: a command waits for what only later ones would do",
    },
    parts=COMMON_PARTS,
    kernels=f"{_HERE}.kernels",
    commands={
        "cycles": f"{_HERE}.cycles_cli:cycles_command",
        "symmetric": f"{_HERE}.symmetric_cli:symmetric_command",
        "validate": f"{_HERE}.validate_cli:validate_command",
    },
    tests=("python/tests/hw",),
)
