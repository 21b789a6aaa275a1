# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What an instruction of the aes machine takes in time, from what the units' headers say; nothing is fitted.

A stream asks ahead for as many rows as its FIFO holds: where it does not bridge memory's latency, each FIFO's worth of
rows takes a latency and a burst.
"""

from __future__ import annotations

from typing import Final

from ringforge.hw.machines.aes.config import NARROW_WORDS, AesConfig
from ringforge.hw.machines.aes.program import INSTRUCTION_BYTES, Instruction, Op

#: From LOAD's taking of a command to its first row, besides memory's latency; from its last row to its end.
_ASKED: Final = 4
_WRITTEN: Final = 1
#: From a FIFO's room to a burst's first row, besides memory's latency.
_REFILL: Final = 3
#: From STORE's last row at the port to its end, besides memory's latency. A burst is asked for when its rows are there.
_ACKNOWLEDGED: Final = 6
#: Registers of rf_transform from a read to its write, below 32 lanes and from there on; of a product.
_DRAIN: Final = (28, 32)
_PRODUCT: Final = 20
#: Of the published engine: cycles of a product, of a reversal besides rows; from a pass of multiplications to that of
#: additions, and from the last step of all to the end; rows of words below which passes wait for all writes before, and
#: then from a pass of either kind to the next.
_PAPER_PRODUCT: Final = 29
_REVERSE: Final = 13
_TWISTED: Final = 20
_ENDED: Final = 9
_FEW: Final = 32
_TWISTED_FEW, _ADDED_FEW = 27, 7


class Timing:
    """Cycles of a machine's instructions.

    Args:
        config: the machine. log_n: log2 of N.
    """

    def __init__(self, config: AesConfig, log_n: int) -> None:
        self.config, self.log_n, self.n = config, log_n, 1 << log_n
        self.wide = self.n // config.lanes

    def latency(self, port: int) -> int:
        """Cycles from a request of a port to its first data."""
        return self.config.link_latency if port == 0 else self.config.dram_latency

    def answer(self, port: int) -> int:
        """Cycles from LOAD's taking of a command to its first row."""
        return self.latency(port) + _ASKED

    def written(self) -> int:
        """Cycles from the last row of a LOAD to its end."""
        return _WRITTEN

    def link_pace(self, port: int) -> float:
        """Cycles of a beat at best."""
        c = self.config
        return (c.link_burst + c.link_gap) / c.link_burst if port == 0 else 1.0

    def bridged(self, port: int) -> bool:
        """Whether a port's FIFO holds what comes in a latency and a burst."""
        c = self.config
        return self.round(port) <= c.read_rows * self.link_pace(port)

    def round(self, port: int) -> int:
        """Cycles from a FIFO's room for a burst to the burst's last row, where the port waits for nothing else."""
        return self.latency(port) + self.config.burst_rows + _REFILL

    def taken(self, i: Instruction) -> float:
        """Cycles of a beat that what it is for takes."""
        return 2.0 if i.half and i.op == Op.LOADS else 1.0

    def pace(self, i: Instruction) -> float:
        """Cycles of a beat of a LOAD or STORE that goes on."""
        best = self.link_pace(i.port)
        if not i.loads:
            return best
        return max(best, self.round(i.port) / self.config.read_rows, self.taken(i))

    def beats(self, i: Instruction) -> int:
        """Of a port, that an instruction moves."""
        return i.bytes(self.log_n) // INSTRUCTION_BYTES

    def exec(self, i: Instruction) -> int:
        """Cycles of EXEC and MOVE, from the command to done."""
        c, rows = self.config, self.wide
        if i.op in (Op.REVS, Op.REVX):
            return self.n // NARROW_WORDS + _REVERSE
        if c.fast:
            return self._fast(i)
        if i.op != Op.NTT:
            # Three buffers are read in turns.
            three = i.op == Op.MUL and not i.init and not i.key and i.src != i.src2
            return max(self.n // c.starts, 2 * rows if three else 0) + _PAPER_PRODUCT
        return sum(sum(self.passes(level)) for level in range(1, self.log_n + 1)) + _ENDED

    def passes(self, level: int) -> tuple[int, int]:
        """Cycles of the published engine's passes of a level, 1 ... log2(N): of multiplications, and of additions.

        From the first row that one reads to the first one that the next one reads; of the last one to its last row.
        """
        rows, groups, few = self.wide, self.config.lanes // self.config.starts, self.wide < _FEW
        added = rows + (_ADDED_FEW if few and level < self.log_n else 0)
        if level == 1:
            return 0, added
        # Odd words of a row, or, where they fill rows, half of all rows.
        in_row = 1 << level <= self.config.lanes
        steps = rows * max(groups // 2, 1) if in_row else rows // 2 * groups
        return steps + (_TWISTED_FEW if few else _TWISTED), added

    def _fast(self, i: Instruction) -> int:
        rows = self.wide
        if i.op != Op.NTT:
            return 2 * rows + _PRODUCT
        drain, paired = _DRAIN[self.config.lanes >= 32], i.half and not i.inverse
        # Stages of few rows wait until those that they read are written: rf_transform.
        stages, apart = self.log_n - paired, (rows // 2 - 1 if paired else (rows - 1) // 2) + 2
        return stages * rows + (stages - 1) * max(drain - apart, 0) + drain

    def store(self, i: Instruction) -> float:
        """Cycles of STORE, from the command to done."""
        return self.config.burst_rows + self.beats(i) * self.pace(i) + self.latency(i.port) + _ACKNOWLEDGED

    def busy(self, i: Instruction) -> int:
        """Cycles for which it keeps its unit, or its channel of LOAD."""
        return round(self.beats(i) * self.pace(i)) if i.loads else self.cycles(i)

    def cycles(self, i: Instruction) -> int:
        """From its start to its end, if nothing makes it wait."""
        if i.loads:
            return round(self.answer(i.port) + self.beats(i) * self.pace(i) + self.written())
        return round(self.store(i)) if i.op == Op.STORE else self.exec(i)
