# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Compiler from a matvec kernel to the programs of the matvec accelerator.

`compile_matvec` is the entry; `program` describes what it returns. A `Job` places everything in memory, the schedules
(`diagonal`, `bsgs`, on top of `keyswitch` and `drop`) write the operations of each element in order, `allocate` finds
slots for their values.
"""

from ringforge.hw.machines.matvec.job import Options
from ringforge.hw.machines.matvec.program import Compiled, Traffic, compile_matvec, traffic

__all__ = ["Compiled", "Options", "Traffic", "compile_matvec", "traffic"]
