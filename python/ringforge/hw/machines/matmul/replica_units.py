# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Units of an element with shared ALUs in the replica: MACs that follow each other, transforms that go first.

Constants are cycles, counted in the sources and confirmed by runs of the simulated machine.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from ringforge.hw.vector.replica_memory import NEVER

#: From a MAC's issue to its first row; from a row's read to its write, which ends the MAC when it is the last.
MAC_START: Final = 2
MAC_LENGTH: Final = 18
#: MACs under way, at most.
MAC_QUEUE: Final = 4
#: From a transform's start to its first row; from that to the first cycle in which MACs read no row.
SPN_START: Final = 2
HOLD: Final = 5
#: From a row's read to the cycle in which it is written (rf_transform, Lend), and the same of an automorphism.
DRAIN: Final = 28
AUTO_WRITE: Final = 7


class Alu:
    """When transforms have the array: spans of cycles in which MACs read no row."""

    __slots__ = ("_spans",)

    def __init__(self) -> None:
        self._spans: deque[tuple[int, int]] = deque()

    def transform(self, first: int, log_n: int, rows: int, gap: int) -> None:
        """A transform whose first row is read in a cycle: stages of so many rows, with gaps between them."""
        at = first + HOLD
        if gap == 0:
            self._spans.append((at, at + log_n * rows))
            return
        for _ in range(log_n):
            self._spans.append((at, at + rows))
            at += rows + gap

    def forget(self, time: int) -> None:
        """Nothing before a cycle matters any more."""
        spans = self._spans
        while spans and spans[0][1] <= time:
            spans.popleft()

    def read(self, first: int, rows: int, ready: tuple[int, int] | None) -> int:
        """Cycle in which the last of so many rows is read, from a cycle on.

        Args:
            first: cycle.
            rows: how many.
            ready: cycles in which the first and the last row of a streamed operand are there; the rest in between.
        """
        at, done = first, 0
        for begin, end in self._spans:
            if end <= at:
                continue
            if begin > at:
                last = _finish(at, rows - done, ready)
                if last < begin:
                    return last
                done += begin - at
                if ready is not None:
                    done = min(done, _there(begin - 1, rows, ready))
            at = end
        return _finish(at, rows - done, ready)


def _finish(at: int, left: int, ready: tuple[int, int] | None) -> int:
    last = at + left - 1
    return last if ready is None else max(last, ready[1])


def _there(time: int, rows: int, ready: tuple[int, int]) -> int:
    """Rows of a streamed operand that are there in a cycle."""
    if time < ready[0]:
        return 0
    return min(rows - 1, (time - ready[0]) * (rows - 1) // max(1, ready[1] - ready[0]) + 1)


class Mac:
    """A MAC under way.

    Attributes:
        reads: slots.
        dst: slot.
        polynomial: number of the streamed polynomial that it takes, or -1.
        issued: cycle.
        start: cycle of its first row, if no operand is missing; NEVER: not known.
        last: cycle of its last row; NEVER: not known.
    """

    __slots__ = ("dst", "issued", "last", "polynomial", "reads", "start", "tag")

    def __init__(self, reads: tuple[int, ...], dst: int, polynomial: int, issued: int, tag: int) -> None:
        self.reads = reads
        self.dst = dst
        self.polynomial = polynomial
        self.issued = issued
        self.tag = tag
        self.start = self.last = NEVER

    @property
    def done(self) -> int:
        """Cycle of its last write."""
        return self.last + MAC_LENGTH if self.last < NEVER else NEVER
