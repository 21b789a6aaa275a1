# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What an instruction of the omr machine does in time, from the structure of its unit: a lead, rows, a tail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ringforge.hw.machines.omr.config import OmrConfig
from ringforge.hw.machines.omr.program import Instruction, Op

#: From a request of rows to the first one, besides memory's latency.
_ANSWER: Final = 6
#: Acknowledgement of the last row written, besides memory's latency.
_ACKNOWLEDGED: Final = 8
#: Latency of a modular multiplier (rf_pkg).
_MULTIPLIER: Final = 12
#: Registers of a transform from a read to its write, and of an automorphism.
_DRAIN: Final = 27
_MAP: Final = 8


@dataclass(frozen=True)
class Work:
    """What an instruction does in time.

    Attributes:
        lead: cycles before its rows. rows: that it works through. pace: cycles of a row at best. tail: cycles behind.
        shares: of the way's general port, rows of it for each row of work.
    """

    lead: int
    rows: int
    pace: float
    tail: int
    shares: float = 0.0


class Timing:
    """Work of a machine's instructions.

    Args:
        config: the machine. log_n: log2 of the degree.
    """

    def __init__(self, config: OmrConfig, log_n: int) -> None:
        self.config, self.log_n = config, log_n
        self.rows = config.limb_rows(log_n)
        self.wide = (1 << log_n) // config.wide
        self.answer = config.dram_latency + _ANSWER
        # Rows of CONV's results share a reduction.
        lanes = config.lanes
        self.share = (min(8, lanes) if config.sources == 1 else 2) if lanes > 1 else 1

    def of(self, i: Instruction) -> Work:
        """What an instruction does."""
        rows, config = self.rows, self.config
        match i.op:
            case Op.LOADX | Op.LOADT:
                return Work(2 + self.answer, rows, 1, 4, 1)
            case Op.LOADC:
                return Work(2 + self.answer, i.count, 1, 4)
            case Op.LOADM:
                return Work(2 + self.answer, 4 * i.count, 1, 4)
            case Op.NTT | Op.INTT:
                stage = self.wide + (_DRAIN if self.wide < 4 * _DRAIN else 0)
                drained = 0 if self.wide < 4 * _DRAIN else _DRAIN
                return Work(3, self.log_n, stage, drained)
            case Op.AUTO:
                return Work(3, self.wide, 1, _MAP)
            case Op.SCALE:
                return Work(4, rows, 1, 19)
            case Op.CONV:
                each = max(-(-i.count // config.sources), self.share)
                levels = (config.sources - 1).bit_length() + config.banks.bit_length()
                return Work(4, rows, each, i.count + 19 + levels + self.share)
            case Op.KMAC:
                streams = i.from_memory or not i.add
                return Work(4 + (self.answer if streams else 0), rows, 2, 15, 1.0 if i.from_memory else 0.0)
            case Op.FINAL:
                return Work(4 + (self.answer if i.add else 0), rows, 1, 15, 1.0 if i.add else 0.0)
            case Op.STORE:
                lead = 8 if not i.add else max(8, 2 + self.answer)
                return Work(lead, rows, 1, _ACKNOWLEDGED + config.dram_latency, 1.0 if i.add else 0.0)
        passes = -(-i.count // config.groups)
        lead = max(config.rows, config.cols) + config.groups + self.answer
        tail = _MULTIPLIER + (config.groups - 1).bit_length() + 3 + _ACKNOWLEDGED + config.dram_latency
        return Work(lead, rows, passes, tail + (config.cols - 1) * (rows + tail))

    def cycles(self, i: Instruction) -> int:
        """From its start to its end, if nothing makes it wait."""
        work = self.of(i)
        return round(work.lead + work.rows * work.pace + work.tail)
