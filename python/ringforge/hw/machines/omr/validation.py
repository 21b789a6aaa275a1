# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Replica and closed form of the omr machine held against RTL on drawn cases.

A case is a machine, its memory's latency, a ring, its primes and digits, and a chain of rotations or giant steps with
their sums. Data do not change time, so that all words are zero. Closed forms are those of `cost`, made from the units'
headers; none is fitted.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

import numpy as np

from ringforge import runs
from ringforge._native.kernels import primes_below
from ringforge.hw.core.build import library
from ringforge.hw.core.simulator import Simulation
from ringforge.hw.core.validation import Validated
from ringforge.hw.machines.omr import cost, replica
from ringforge.hw.machines.omr.affine import Diagonals, Giants, Job, babies, giants
from ringforge.hw.machines.omr.config import MONTGOMERY_STEP, OmrConfig
from ringforge.hw.machines.omr.layout import Target
from ringforge.hw.machines.omr.runner import Simulated

SEED: Final = 26
CASES: Final = 15
#: Machines, each of which has to be built once.
MACHINES: Final = ("omr-small", "omr-small-wide", "omr-small-32")


@dataclass(frozen=True)
class Draw:
    """A case.

    Attributes:
        number: in the order of drawing. machine: a configuration. latency: of memory, in cycles.
        log_n, limbs, special, digit: the ring. rotations: of a chain; 0: giant steps.
        giants, terms, outputs: giant steps, diagonals of each, and matrices.
    """

    number: int
    machine: str
    latency: int
    log_n: int
    limbs: int
    special: int
    digit: int
    rotations: int
    giants: int
    terms: int
    outputs: int

    @property
    def name(self) -> str:
        """What the case is called in results."""
        ring = f"2^{self.log_n}, {self.limbs} + {self.special} limbs, digits of {self.digit}"
        if self.rotations:
            return f"{self.rotations} rotations, {ring}"
        return f"{self.giants} giant steps of {self.terms}, {self.outputs} outputs, {ring}"

    @property
    def memory_name(self) -> str:
        """Its memory in a few words."""
        return f"{self.latency} cycles"

    @property
    def config(self) -> OmrConfig:
        """The machine with this case's memory."""
        return OmrConfig.named(self.machine).model_copy(update={"dram_latency": self.latency})

    @property
    def target(self) -> Target:
        """The ring on it."""
        config = self.config
        step = max(2 << self.log_n, MONTGOMERY_STEP if config.montgomery else 1)
        primes = [int(q) for q in primes_below(config.word_bits - 1, self.limbs + self.special, step)]
        return Target(config, self.log_n, tuple(primes[self.special :]), tuple(primes[: self.special]), self.digit)

    @cached_property
    def job(self) -> Job:
        """The run, on memory of zeros."""
        t, n = self.target, 1 << self.log_n
        key = np.zeros(len(t.digits) * len(t.ext) * 2 * n, np.uint64)
        if self.rotations:
            return babies(t, key, np.zeros((2, t.limbs, n), np.uint64), self.rotations)
        blocks = [np.zeros((self.terms, t.limbs, n), np.uint64)] * self.giants
        rotations = np.zeros((self.terms + self.outputs - 1, 2, t.limbs, n), np.uint64)
        needs = Giants(key, 5, self.outputs, self.terms)
        return giants(t, needs, Diagonals([self.terms] * self.giants, 1, blocks), rotations)

    def closed_form(self) -> float:
        """Its cycles in closed form."""
        chain = cost.Chain(self.log_n, self.limbs, self.special, self.digit)
        each = cost.rotation_chained(self.config, chain)
        if self.rotations:
            return cost.rotation_cycles(self.config, chain) + (self.rotations - 1) * each
        size = cost.Sum(self.terms, self.giants, self.terms * self.giants, self.outputs)
        sums = cost.inner_sums(self.config, chain, size)
        return max(sums, self.outputs * (self.giants - 1) * each)


@cache
def cases() -> list[Draw]:
    """All cases, in order."""
    rng, found = np.random.default_rng(SEED), []
    for number in range(CASES):
        machine = MACHINES[number % len(MACHINES)]
        digit = int(rng.integers(2, 5))
        limbs = int(rng.integers(digit, 2 * digit + 1))
        rotates = number // len(MACHINES) % 3 < 2
        found.append(
            Draw(
                number, machine, int(rng.integers(5, 61)), int(rng.integers(8, 12)), limbs,
                digit + int(rng.integers(0, 2)), digit, int(rng.integers(1, 4)) if rotates else 0,
                int(rng.integers(2, 5)), int(rng.integers(3, 8)), int(rng.integers(1, 3)),
            )
        )  # fmt: skip
    return found


def validate_draw(draw: Draw) -> tuple[Validated, runs.Record]:
    """A drawn case, on a simulated machine of its own memory."""
    library(draw.config, optimise="-O1")
    start = time.process_time()
    with Simulation[OmrConfig](draw.config, optimise="-O1") as simulation:
        run = Simulated(simulation).run(draw.job.program, draw.job.memory)
    spent = time.process_time() - start
    timed = replica.run(draw.config, draw.job.program)
    entry = Validated(
        number=draw.number,
        name=draw.name,
        machine=draw.machine,
        memory=draw.memory_name,
        cycles=run.cycles or 0,
        replica=timed.cycles,
        closed_form=draw.closed_form(),
        traffic_equal=dict(run.bytes) == replica.traffic(draw.job.program, draw.job.memory),
        fitted=False,
        seconds=spent,
    )
    return entry, entry.record("drawn", "rotations" if draw.rotations else "giants", 0, draw.config.clock_hz)
