# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Descriptor of the matmul accelerator."""

from __future__ import annotations

from typing import Final

from ringforge.hw.core.machine import Machine
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.vector import family

_HERE: Final = "ringforge.hw.machines.matmul"

MACHINE: Final = Machine(
    name="matmul",
    about="products of encrypted matrices, by linear transforms with hoisted key switches",
    room=FameConfig.room,
    config=FameConfig,
    top="matmul_top",
    identity=0x4D4D4652,
    default="fame-s",
    libraries=family.LIBRARIES,
    errors=family.ERRORS,
    parts=family.SHARED_PARTS
    | {"matmul_memory", "matmul_copy", "matmul_read", "matmul_write", "rf_line_read", "rf_line_write"},
    slices=family.SHARED_SLICES,
    resized=family.SHARED_RESIZED | {"rf_line_read"},
    kernels=f"{_HERE}.kernels",
    model="ringforge.hw.machines.matmul.model_device",
    commands={
        "run": f"{_HERE}.run_cli:run_command",
        "cycles": f"{_HERE}.run_cli:cycles_command",
        "validate": f"{_HERE}.validate_cli:validate_command",
        "generate": f"{_HERE}.generate_cli:generate_command",
        "isa": f"{_HERE}.isa_cli:isa_command",
    },
    figures=f"{_HERE}.figures:FIGURES",
    spaces={"ours": "ringforge.hw.machines.matmul.space:FameSpace"},
    tests=("python/tests/hw",),
)
