# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The published pipeline's cycles in closed form: chains of products in turns, and streams of operations.

An operation takes the pipeline the longest of: its polynomials at one interval each, its rows of keys, its share of the
inverse transforms. Chains in turns wait for each other when they are many, each for itself when they are few.

>>> timing = Timing(PsiConfig.named("psi-27"), 10)
>>> timing.operation(6, 6), timing.chains(12, 1024, 6) / 12
(1614.0, 1653...)
"""

from __future__ import annotations

from dataclasses import dataclass

from ringforge.hw.machines.psi.config import PORT_BYTES, PsiConfig
from ringforge.hw.machines.psi.replica_units import BANK, DIGIT, OUT, STAGE, SUM


@dataclass(frozen=True)
class Timing:
    """A machine at a degree.

    Attributes:
        config: the machine, with its memory.
        log_n: log2 N.
    """

    config: PsiConfig
    log_n: int

    @property
    def quarter(self) -> int:
        """N/4: cycles of a polynomial in a unit of four coefficients a cycle."""
        return (1 << self.log_n) // 4

    @property
    def row(self) -> float:
        """Cycles of a row of a key, as memory brings it."""
        beats, config = self.config.key_beats(self.log_n), self.config
        slower = max(1.0, PORT_BYTES / config.dram_bytes_per_cycle) - 1
        return config.key_cycles(self.log_n) + slower * beats

    @property
    def inverse(self) -> int:
        """Cycles that an RLWE keeps an inverse transform: load, stages of both polynomials, the last one going out."""
        return self.quarter + 2 * self.quarter * self.log_n + 3

    @property
    def interval(self) -> float:
        """Cycles between polynomials: a stage's, or half of what a place behind one is taken."""
        half = self.quarter // 2 if self.config.drain == 0 else self.quarter - 1
        place = 2 + STAGE + DIGIT + half + self.quarter + 1
        return max(self.config.interval(self.log_n), place / 2)

    def operation(self, polynomials: int, rows: int, *, inverse: bool = True) -> float:
        """Cycles from one operation to the next in a full stream."""
        share = self.inverse / self.config.intts if inverse else 0.0
        return max(polynomials * self.interval, rows * self.row, share, 2 * self.quarter + STAGE + 1)

    def following(self, count: int, polynomials: int, rows: int) -> float:
        """Cycles by which the last of so many operations is behind the first; inverse transforms begin all at once."""
        pace = self.operation(polynomials, rows, inverse=False)
        turns, rest = divmod(count - 1, self.config.intts)
        return max((count - 1) * pace, turns * self.inverse + rest * pace)

    def forward(self) -> int:
        """Cycles from a polynomial's start to where sums can take it: all stages, one behind the other."""
        half = self.quarter // 2 if self.config.drain == 0 else self.quarter - 1
        slow = sum(s >= self.config.max_log_n - 2 for s in range(self.log_n))
        return self.log_n * (2 + STAGE + half) + slow * DIGIT

    def latency(self, polynomials: int, rows: int, *, inverse: bool = True) -> float:
        """Cycles from an RLWE's load to its result's last word."""
        interval = max(self.interval, self.row if rows else 0)
        into = self.quarter * (1 + 2 * (self.log_n - 1)) + 2 + STAGE if inverse else 0
        made = into + 2 * self.quarter + 2
        return made + self.forward() + (polynomials - 1) * interval + 2 * self.quarter + SUM + OUT

    @property
    def start(self) -> float:
        """Cycles from a run's start: the queue, and the table of twiddles in bursts of 128 words."""
        latency = self.config.dram_latency
        return latency + 8 + (1 << self.log_n) / 128 * (latency + 128 + BANK + 2)

    def bring(self) -> float:
        """Cycles in which an RLWE comes from memory, or a result gets there."""
        return self.config.dram_latency + self.quarter + 6

    def chains(self, count: int, products: int, rows: int, *, made: bool = True) -> float:
        """Cycles of so many chains of products each, in turns; accumulators are made on chip, or come in."""
        step = self.operation(rows, rows)
        first = self.latency(rows, rows, inverse=not made) + (0 if made else self.bring())
        turn = max(count * step, self.latency(rows, rows))
        return self.start + first + (products - 1) * turn + self.following(count, rows, rows) + self.bring()

    def stream(self, count: int, polynomials: int, rows: int) -> float:
        """Cycles of so many operations on RLWEs that come from memory and go there."""
        first = self.bring() + self.latency(polynomials, rows)
        return self.start + first + self.following(count, polynomials, rows) + self.bring()
