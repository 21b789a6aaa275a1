# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What an instruction of the omr machine does in time, from the structure of its unit: a lead, rows, a tail.

A stream asks ahead for as many rows as its FIFO holds, and for a burst more when a burst of them has gone: of longer
latencies than it bridges, each FIFO's worth of rows takes a latency and a burst.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ringforge.hw.machines.omr.config import OmrConfig
from ringforge.hw.machines.omr.program import Instruction, Op

#: From a request of rows to the first one, besides memory's latency; from a FIFO's room to a burst's first row.
_ANSWER: Final = 1
_REFILL: Final = 3
#: From the last row written to its acknowledgement, besides its burst and memory's latency.
_ACKNOWLEDGED: Final = 8
#: Latency of a modular multiplier (rf_pkg).
_MULTIPLIER: Final = 12
#: Registers from a read to its write: a bank's, a network's, those around; a transform has butterflies and a second
#: network besides. Networks have two more where rows are long (omr_xform).
_BANK, _AROUND, _NETWORK, _BUTTERFLY, _LONG = 2, 2, 4, _MULTIPLIER + 3, 32


def mapped(config: OmrConfig) -> int:
    """Cycles of an automorphism beyond its rows.

    >>> [mapped(OmrConfig.named(name)) for name in ("omr-small", "omr-paper")]
    [8, 10]
    """
    return _BANK + _AROUND + _NETWORK + (2 if config.wide >= _LONG else 0)


def drain(config: OmrConfig) -> int:
    """Cycles of a transform from a row's reading to its writing.

    >>> [drain(OmrConfig.named(name)) for name in ("omr-small", "omr-paper")]
    [27, 31]
    """
    return 2 * mapped(config) - _BANK - _AROUND + _BUTTERFLY


def acknowledged(config: OmrConfig) -> int:
    """Cycles from the last row written to its acknowledgement: a burst is asked for when all of it is at hand."""
    return _ACKNOWLEDGED + config.burst_rows + config.dram_latency


@dataclass(frozen=True)
class Work:
    """What an instruction does in time.

    Attributes:
        lead: cycles before its rows. rows: that it works through. pace: cycles of a row at best. tail: cycles behind.
        shared: a stream of a way's general port brings the rows.
    """

    lead: int
    rows: float
    pace: float
    tail: int
    shared: bool = False


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
        period = config.dram_latency + config.burst_rows + _REFILL
        #: Cycles of a streamed row; rows that come without waiting at first.
        self.pace, self.ahead = max(1.0, period / config.read_rows), config.read_rows
        # Lanes share the reduction of CONV's results.
        self.share = 2 if config.sources > 1 else min(8, config.lanes)

    def _streamed(self, lead: int, rows: int, tail: int, *, each: int = 1, shared: bool = True) -> Work:
        """Work on rows, `each` of which brings so many of a stream."""
        first = min(self.ahead / each, rows)
        return Work(lead, rows - first * (1 - 1 / self.pace), each * self.pace, tail, shared)

    def of(self, i: Instruction) -> Work:
        """What an instruction does."""
        rows, config = self.rows, self.config
        match i.op:
            case Op.LOADX | Op.LOADT:
                return self._streamed(2 + self.answer, rows, 4)
            case Op.LOADC:
                return Work(2 + self.answer, i.count, 1, 4)
            case Op.LOADM:
                return Work(2 + self.answer, 4 * i.count, 1, 4)
            case Op.NTT | Op.INTT:
                # Stages of few rows wait for the one before.
                fill = drain(config)
                waits = self.wide < 4 * fill
                return Work(3, self.log_n, self.wide + (fill if waits else 0), 0 if waits else fill)
            case Op.AUTO:
                return Work(3, self.wide, 1, mapped(config))
            case Op.SCALE:
                return Work(4, rows, 1, 19)
            case Op.CONV:
                each = max(-(-i.count // config.sources), self.share)
                levels = (config.sources - 1).bit_length() + config.banks.bit_length()
                return Work(4, rows, each, i.count + 19 + levels + self.share)
            case Op.KMAC:
                if not i.add:
                    return self._streamed(4 + self.answer, rows, 15, each=2, shared=i.from_memory)
                return Work(4 + (self.answer if i.from_memory else 0), rows, 2 * self.pace, 15, i.from_memory)
            case Op.FINAL:
                return self._streamed(4 + self.answer, rows, 15) if i.add else Work(4, rows, 1, 15)
            case Op.STORE:
                tail = acknowledged(config)
                return self._streamed(2 + self.answer, rows, tail) if i.add else Work(3, rows, 1, tail)
        lead = max(config.rows, config.cols) + config.groups + self.answer
        tail = _MULTIPLIER + (config.groups - 1).bit_length() + 3 + acknowledged(config)
        more = (config.cols - 1) * (rows + tail)
        return self._streamed(lead, rows * -(-i.count // config.groups), tail + more, shared=False)

    def cycles(self, i: Instruction) -> int:
        """From its start to its end, if nothing makes it wait."""
        work = self.of(i)
        return round(work.lead + work.rows * work.pace + work.tail)
