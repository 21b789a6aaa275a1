# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Replica and closed form of the aes machine held against RTL on drawn cases.

A case is a machine, the latencies of link and memory, a length, and sums of products or a relinearisation of some
shape. Data do not change time, so that all words are zero. The closed form is `cost`'s; none is fitted.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

import numpy as np

from ringforge import runs
from ringforge.hw.core.build import library
from ringforge.hw.core.simulator import Simulation
from ringforge.hw.core.validation import Validated
from ringforge.hw.machines.aes import cost, replica
from ringforge.hw.machines.aes.config import AesConfig
from ringforge.hw.machines.aes.jobs import BATCH, Job, product, relinearise, transform
from ringforge.hw.machines.aes.measure import Size
from ringforge.hw.machines.aes.runner import Simulated

SEED: Final = 20
CASES: Final = 15
#: Machines, each of which has to be built once.
MACHINES: Final = ("aes-small", "aes-paper-small", "aes-paper64-small")


@dataclass(frozen=True)
class Draw:
    """A case.

    Attributes:
        number: in the order of drawing. machine: a configuration. link, card: latencies, in cycles.
        log_n, primes: of transforms.
        outputs: of sums of products, the number of their operands `operands`, pairs of them; () for others.
        digits, ciphertexts: of a relinearisation; 0 for others. Neither: transforms alone.
    """

    number: int
    machine: str
    link: int
    card: int
    log_n: int
    primes: int
    operands: int
    outputs: tuple[tuple[tuple[int, int], ...], ...]
    digits: int
    ciphertexts: int

    @property
    def kind(self) -> str:
        """What it does."""
        return "product" if self.outputs else "relinearisation" if self.digits else "transforms"

    @property
    def name(self) -> str:
        """What the case is called in results."""
        ring = f"N = 2^{self.log_n}, {self.primes} primes"
        if self.outputs:
            return f"{sum(map(len, self.outputs))} products of {self.operands} in {len(self.outputs)} sums, {ring}"
        if self.digits:
            return f"{self.ciphertexts} x {self.digits} digits, {ring}"
        return f"{self.operands} transforms, {ring}"

    @property
    def memory_name(self) -> str:
        """Its memory in a few words."""
        return f"{self.link} and {self.card} cycles"

    @property
    def config(self) -> AesConfig:
        """The machine with this case's memory."""
        update = {"link_latency": self.link, "dram_latency": self.card}
        return AesConfig.named(self.machine).model_copy(update=update)

    @cached_property
    def job(self) -> Job:
        """The run, on memory of zeros."""
        target = Size(self.log_n, self.primes).target(self.config)
        n = target.n
        if self.digits:
            keys = [np.zeros((self.primes, n), np.uint32)] * self.digits
            return relinearise(target, keys, [np.zeros((self.digits, n // 2), np.uint16)] * self.ciphertexts)
        operands = np.zeros((self.operands, self.primes, n // 2), np.uint32)
        return product(target, operands, self.outputs) if self.outputs else transform(target, operands)

    def closed_form(self) -> float | None:
        """Its cycles in closed form, which knows relinearisations, and sums of products of different operands."""
        if self.digits:
            batch = BATCH if self.config.fast else 1
            sizes = [min(batch, self.ciphertexts - first) for first in range(0, self.ciphertexts, batch)]
            return sum(
                cost.relinearisation(self.config, self.log_n, self.primes, self.digits, size).cycles for size in sizes
            )
        factors = [s for terms in self.outputs for pair in terms for s in pair]
        if len(self.outputs) == 1 and len(set(factors)) == len(factors):
            return cost.product(self.config, self.log_n, self.primes, len(self.outputs[0])).cycles
        return None


@cache
def cases() -> list[Draw]:
    """All cases, in order."""
    rng, found = np.random.default_rng(SEED), list[Draw]()
    for number in range(CASES):
        machine = MACHINES[number % len(MACHINES)]
        config, kind = AesConfig.named(machine), number // len(MACHINES) % 5
        log_n = int(rng.integers(config.min_log_n, min(config.max_log_n, 11) + 1))
        link, card = (int(latency) for latency in np.exp(rng.uniform(np.log(5), np.log(300), 2)))
        operands, digits = int(rng.integers(2, 7)), 0
        outputs: tuple[tuple[tuple[int, int], ...], ...] = ()
        if kind in (0, 3):
            pairs = rng.integers(0, operands, (int(rng.integers(1, 4)), int(rng.integers(1, 4)), 2))
            outputs = tuple(tuple((int(a), int(b)) for a, b in terms) for terms in pairs)
        elif kind != 2:
            digits = int(rng.integers(2, 9))
        found.append(
            Draw(
                number, machine, link,
                card, log_n, int(rng.integers(1, 4)), operands, outputs, digits,
                int(rng.integers(1, 4)) if digits else 0,
            )
        )  # fmt: skip
    return found


def validate_draw(draw: Draw) -> tuple[Validated, runs.Record]:
    """A drawn case, on a simulated machine of its own memory."""
    library(draw.config, optimise="-O1")
    start = time.process_time()
    with Simulation[AesConfig](draw.config, optimise="-O1") as simulation:
        run = Simulated(simulation).run(draw.job)
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
    return entry, entry.record("drawn", draw.kind, 0, draw.config.clock_hz)
