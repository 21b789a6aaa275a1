# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Descriptor of the matvec accelerator."""

from __future__ import annotations

from typing import Final

from ringforge.hw.core.machine import Machine
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.vector import family

_HERE: Final = "ringforge.hw.machines.matvec"

MACHINE: Final = Machine(
    name="matvec",
    about="a plain matrix times an encrypted vector, by rotations",
    room=MatvecConfig.room,
    config=MatvecConfig,
    top="matvec_top",
    identity=0x564D4652,
    default="matvec-b",
    libraries=family.LIBRARIES,
    errors=family.ERRORS,
    parts=family.PARTS | {"matvec_group", "matvec_reduce"},
    kernels=f"{_HERE}.kernels",
    commands={
        "run": f"{_HERE}.run_cli:run_command",
        "cycles": f"{_HERE}.run_cli:cycles_command",
        "validate": f"{_HERE}.replica_cli:validate_command",
        "layers": f"{_HERE}.replica_cli:layers_command",
        "isa": f"{_HERE}.isa_cli:isa_command",
        "job": f"{_HERE}.job_cli:job_command",
    },
    figures=f"{_HERE}.figures:FIGURES",
    spaces={"ours": "ringforge.hw.machines.matvec.space:MatvecSpace"},
    tests=("python/tests/hw",),
)
