# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The two sides of a stage's handshake, for benches of the blocks between buffers.

Both are called once a cycle: `drive` after the falling edge, `sample` when signals have settled.
"""

import random
from collections import deque
from collections.abc import Callable


class Upstream:
    """A buffer of polynomials that a block reads: `groups(poly)` are the four words that it gives for each group."""

    def __init__(self, dut, rng: random.Random, latency: int, polys: list[tuple[object, int]], groups: Callable):
        self.dut, self.rng, self.groups = dut, rng, groups
        self.waiting = deque(polys)  # what it holds, and what the block is told of it
        self.current: object = None
        self.pipe: deque[list[int] | None] = deque([None] * latency)
        self.reads = 0
        self.offered = False

    def drive(self, chance: float) -> None:
        self.offered = bool(self.waiting) and (self.offered or self.rng.random() < chance)
        self.dut.up_avail_i.value = int(self.offered)
        if self.offered:
            self.dut.up_meta_i.value = self.waiting[0][1]
        # Words that were not asked for are noise.
        words = self.pipe.popleft()
        self.dut.up_x_i.value = words if words else [self.rng.getrandbits(8) for _ in range(4)]

    def sample(self, at: Callable[[], int]) -> None:
        read = None
        if int(self.dut.up_re_o.value):
            read = self.groups(self.current, at())
            self.reads += 1
        self.pipe.append(read)
        if int(self.dut.up_done_o.value):
            self.current = None
        if int(self.dut.up_start_o.value):
            assert self.offered, "a polynomial was started that was not there"
            assert self.current is None, "a polynomial was started while another was read"
            self.current = self.waiting.popleft()[0]
            self.offered = False


class Downstream:
    """Reads polynomials out of a block's buffer, each in one go as stages do, and keeps their words by group."""

    def __init__(self, dut, rng: random.Random, latency: int, groups: int, lines: Callable | None):
        self.dut, self.rng, self.groups, self.lines = dut, rng, groups, lines
        self.group: int | None = None
        self.pipe: deque[bool] = deque([False] * latency)
        self.got: list[tuple[int, list[list[int]]]] = []  # what was told, and the words
        self.starting = False
        self.starts: list[int] = []
        self.cycle = 0

    def drive(self, chance: float) -> None:
        self.cycle += 1
        last = self.group == self.groups - 1
        avail = int(self.dut.avail_o.value)
        self.starting = bool(avail) and (self.group is None or last) and self.rng.random() < chance
        self.dut.start_i.value = int(self.starting)
        self.dut.re_i.value = int(self.group is not None)
        self.dut.done_i.value = int(last)
        if self.group is not None:
            if self.lines:
                self.dut.line_i.value = self.lines(self.group)
            else:
                self.dut.group_i.value = self.group

    def sample(self) -> None:
        if self.pipe.popleft():
            poly = next(words for _, words in self.got if len(words) < self.groups)
            poly.append([int(x) for x in self.dut.x_o.value])
        self.pipe.append(self.group is not None)
        if self.group is not None:
            self.group = None if self.group == self.groups - 1 else self.group + 1
        if self.starting:
            self.got.append((int(self.dut.meta_o.value), []))
            self.starts.append(self.cycle)
            self.group = 0

    def polys(self) -> list[tuple[int, list[list[int]]]]:
        """Those that are complete."""
        return [(told, words) for told, words in self.got if len(words) == self.groups]
