# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The host side of the accelerators: their configurations, instructions, an interpreter and compilers.

The machines themselves are SystemVerilog, in the folder that `sources` finds.
"""

from ringforge.hw.config import MachineConfig, configurations, sources
from ringforge.hw.isa import Instruction, Opcode

__all__ = ["Instruction", "MachineConfig", "Opcode", "configurations", "sources"]
