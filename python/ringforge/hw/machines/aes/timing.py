# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What an instruction of the aes machine does in time, from the structure of its unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ringforge.hw.machines.aes.config import NARROW_WORDS, AesConfig
from ringforge.hw.machines.aes.program import INSTRUCTION_BYTES, Instruction, Op

#: Registers of our engine's transform from a read to its write, and of its products.
_DRAIN: Final = 60
_PRODUCT: Final = 25
#: Of the published engine's passes and products.
_PASS: Final = 40
_PAPER_PRODUCT: Final = 29
#: From a command to its done besides rows, of MOVE and STORE.
_MOVE: Final = 20
_STORE: Final = 30


@dataclass(frozen=True)
class Work:
    """What an instruction does in time.

    Attributes:
        lead: cycles before its beats. beats: of a port. tail: cycles behind.
    """

    lead: int
    beats: int
    tail: int


class Timing:
    """Work of a machine's instructions.

    Args:
        config: the machine. log_n: log2 of N.
    """

    def __init__(self, config: AesConfig, log_n: int) -> None:
        self.config, self.log_n, self.n = config, log_n, 1 << log_n
        self.wide = self.n // config.lanes

    def latency(self, port: int) -> int:
        """Cycles from a request of a port to its first data."""
        return self.config.link_latency if port == 0 else self.config.dram_latency

    def pace(self, port: int) -> float:
        """Cycles of a beat, at best."""
        c = self.config
        return (c.link_burst + c.link_gap) / c.link_burst if port == 0 else 1.0

    def beats(self, i: Instruction) -> int:
        """Of a port, that an instruction moves."""
        return i.bytes(self.log_n) // INSTRUCTION_BYTES

    def exec(self, i: Instruction) -> int:
        """Cycles of EXEC and MOVE, from the command to done."""
        c, rows = self.config, self.wide
        if i.op in (Op.REVS, Op.REVX):
            return self.n // NARROW_WORDS + _MOVE
        if c.fast:
            if i.op == Op.NTT:
                halves = i.half and not i.inverse
                return (self.log_n - halves) * rows + _DRAIN
            return (3 if i.op == Op.MUL and not i.init and not i.key else 2) * rows + _PRODUCT
        if i.op != Op.NTT:
            three = 2 * rows if i.op == Op.MUL and not i.init and not i.key else 0
            return max(self.n // c.starts, three) + _PAPER_PRODUCT
        multiply = max(rows, self.n // 2 // c.starts)
        return rows + (self.log_n - 1) * (multiply + rows + _PASS) + _PASS

    def busy(self, i: Instruction) -> int:
        """Cycles for which it keeps its unit, or its channel of LOAD."""
        if i.loads:
            return round(self.beats(i) * max(self.pace(i.port), 2 if i.half and i.op == Op.LOADS else 1))
        return self.cycles(i)

    def cycles(self, i: Instruction) -> int:
        """From its start to its end, if nothing makes it wait."""
        if i.loads:
            return self.busy(i) + self.latency(i.port) + 10
        if i.op == Op.STORE:
            return round(self.beats(i) * self.pace(i.port)) + self.latency(i.port) + _STORE
        return self.exec(i)
