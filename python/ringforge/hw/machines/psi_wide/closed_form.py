# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The streaming accelerator's cycles in closed form: products in turns, and what a bin of a look-up takes.

A product takes the pipeline the longest of its digits' forward transforms, its inverse transforms at half the rate, and
its passes of the gather unit: 4 N/L with two digits of a and of b. Chains in turns wait for each other when they are
many, each for itself when they are few, all for keys where memory brings them later.

>>> timing = Timing(WideConfig.named("psi-wide"), 10)
>>> timing.operation((2, 2)), timing.chains(16, 687, (2, 2)) / (16 * 687)
(256, 256.78...)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ringforge.hw.machines.psi_wide.config import PORT_BYTES, WideConfig
from ringforge.hw.machines.psi_wide.replica import DIGITS, ENTRIES, GATHER, OPERANDS, START, SUM
from ringforge.hw.machines.psi_wide.replica_units import LARGE_FIFO, LOAD_DEPTH, READ, SMALL_FIFO, STAGE

#: From an instruction that is at hand to its start, and from one start to the next.
ISSUE = 2
#: From a polynomial that is whole to its first line on its way to the digits.
TAKEN = 2


@dataclass(frozen=True)
class Timing:
    """A machine at a degree.

    Attributes:
        config: the machine, with its memory.
        log_n: log2 N.
    """

    config: WideConfig
    log_n: int

    @property
    def lines(self) -> int:
        """N/L: cycles of a polynomial in the forward transform; twice as many in the inverse one."""
        return self.config.lines(self.log_n)

    @property
    def beats(self) -> int:
        """Beats of a ciphertext, or of a row of a key."""
        return self.config.rlwe_bytes(self.log_n) // PORT_BYTES

    @property
    def row(self) -> float:
        """Cycles in which a row of a key comes from memory: a beat a cycle, or a buffer a round trip."""
        there_and_back = self.config.dram_latency + LARGE_FIFO + 1
        return self.beats * max(1.0, (there_and_back + self.config.load_beats) / LOAD_DEPTH)

    def operation(self, digits: Sequence[int]) -> int:
        """Cycles from one product to the next in a full stream: digits of a, or of a and b."""
        return max(sum(digits), 2 * len(digits)) * self.lines

    def latency(self, digits: Sequence[int]) -> int:
        """Cycles from a product's start to that of one that needs its result."""
        half = 2 * self.lines
        end = 0
        for number, count in enumerate(digits):
            whole = GATHER + number * half + STAGE * self.log_n + half - 1 + half
            end = max(end, whole + TAKEN) + count * self.lines
        return end + DIGITS + STAGE * self.log_n + self.lines - 1 + OPERANDS + SUM + 1

    @property
    def start(self) -> float:
        """Cycles from a run's start to where its three tables are loaded."""
        ask = self.config.dram_latency + 1
        return START + ask + SMALL_FIFO + 3 * (ISSUE + 3 + ask + LARGE_FIFO + (1 << self.log_n))

    def bring(self, count: int) -> float:
        """Cycles in which ciphertexts come from memory."""
        return ISSUE + self.config.dram_latency + LARGE_FIFO + 4 + count * self.row

    def store(self, count: int) -> float:
        """Cycles in which they get there."""
        return ISSUE + self.config.dram_latency + READ + 4 + count * self.beats

    def chains(self, count: int, products: int, digits: Sequence[int]) -> float:
        """Cycles of so many chains in turns, every key loaded once for all of them, accumulators loaded and stored.

        Keys come in the order of `GinxMachine`, two sets or more ahead: as many as there is room for, and the first
        product waits for those that do not fit among instructions in flight.
        """
        rows, step = sum(digits), self.operation(digits)
        key, ahead = rows * self.row, min(self.config.key_rows // rows - 2, products)
        begin = self.start + self.bring(count)
        turns = max(1, ahead + 2 - ENTRIES) * key + (products - 1) * max(count * step, self.latency(digits))
        last = (count - 1) * step + self.latency(digits)
        return begin + max(turns, products * key) + last + self.store(count)

    def stream(self, count: int, digits: Sequence[int]) -> float:
        """Cycles of so many independent products of ciphertexts that are loaded and stored, with one key."""
        first = self.start + self.bring(count) + sum(digits) * self.row
        return first + (count - 1) * self.operation(digits) + self.latency(digits) + self.store(count)
