# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Cases drawn by a fixed seed, on which replica and closed form of the published pipeline are held against RTL.

A case is a machine, its memory, a degree, digits, and chains of products in turns or a stream of operations; data do
not change time, so that all words are zero. Memory moves 1.6 beats a cycle and more, of the three that ports can ask
for. The first cases are of a seed whose draws the closed form was made with in view (`fitted`), the rest of another.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final, Literal

import numpy as np

from ringforge._native import kernels
from ringforge.hw.core.simulator import Simulation, Traffic
from ringforge.hw.core.small_ring import Gadget
from ringforge.hw.machines.psi.closed_form import Timing
from ringforge.hw.machines.psi.config import PsiConfig
from ringforge.hw.machines.psi.job import (
    ENTITIES,
    Job,
    KeyMemory,
    bootstraps_job,
    chains_job,
    products_job,
    substitutions_job,
)
from ringforge.hw.machines.psi.settings import Settings, bounds

FITTED_SEED: Final = 18
FITTED: Final = 16
FRESH_SEED: Final = 2029
FRESH: Final = 24
#: Machines, each of which has to be built once.
MACHINES: Final = ("psi-small", "psi-small-lean")
#: Machines of the published sizes, with some cases of fewer operations, and how many of each.
LARGE: Final = ("psi-27", "psi-54")
LARGE_CASES: Final = 3

Kind = Literal["gates", "chains", "products", "substitutions"]


@dataclass(frozen=True)
class Draw:
    """A case.

    Attributes:
        number: in the order of drawing.
        machine: a configuration.
        kind: chains of products whose accumulators are made on chip, or come in; products, substitutions of inputs.
        log_n: of the ring.
        count, products: chains and products of each; or operations, and 1.
        digits: of a and b of a product, of a of a substitution.
        latency: of memory, in cycles.
        rate: of memory, in beats of a port a cycle.
        fitted: the closed form was made with this case in view.
    """

    number: int
    machine: str
    kind: Kind
    log_n: int
    count: int
    products: int
    digits: tuple[int, int, int]
    latency: int
    rate: float
    fitted: bool

    @property
    def name(self) -> str:
        """What the case is called in results."""
        a, b, s = self.digits
        if self.kind in ("gates", "chains"):
            what = f"{self.count} {self.kind} of {self.products} products, {a} + {b} digits"
        else:
            what = f"{self.count} {self.kind}, {f'{a} + {b}' if self.kind == 'products' else s} digits"
        return f"{what}, 2^{self.log_n}"

    @property
    def memory_name(self) -> str:
        """Its memory in a few words."""
        return f"{self.latency} cycles, {self.rate:.2f} beats"

    @property
    def config(self) -> PsiConfig:
        """The machine with this case's memory."""
        config = PsiConfig.named(self.machine)
        rate = self.rate * config.port_bytes * config.clock_hz
        return config.model_copy(update={"dram_latency": self.latency, "dram_bytes_per_second": rate})

    @cached_property
    def job(self) -> Job:
        """The run: ciphertexts and keys of zeros."""
        config, n = self.config, 1 << self.log_n
        q = int(kernels.primes_below(config.word_bits, 1, 2 * n)[0])
        a, b, s = (Gadget(config.word_bits // d, d, config.word_bits % d) for d in self.digits)
        lwe = min(9, self.log_n + 1)
        looped = self.kind in ("gates", "chains")
        settings = Settings(self.log_n, q, a, b, s, bootstrap=looped, log_lwe=lwe, bounds=bounds(lwe))
        keys = KeyMemory(config, self.log_n, a.count + b.count)
        keys.put([0], np.zeros((1, a.count + b.count, 2, n), np.uint64))
        inputs, numbers = np.zeros((self.count, 2, n), np.uint64), [[0] * self.products] * self.count
        if self.kind == "gates":
            return bootstraps_job(config, settings, [3] * self.count, [1] * self.count, numbers, keys)
        if self.kind == "chains":
            return chains_job(config, settings, inputs, numbers, keys)
        if self.kind == "products":
            return products_job(config, settings, inputs, [0] * self.count, keys)
        element = n // 2 + 1
        rows = {element: np.zeros((s.count, 2, n), np.uint64)}
        return substitutions_job(config, settings, inputs, [element] * self.count, rows)

    def closed_form(self) -> float:
        """Its cycles in closed form."""
        timing, (a, b, s) = Timing(self.config, self.log_n), self.digits
        if self.kind in ("gates", "chains"):
            return timing.chains(self.count, self.products, a + b, made=self.kind == "gates")
        if self.kind == "products":
            return timing.stream(self.count, a + b, a + b)
        return timing.stream(self.count, s + 1, s)


def _draw(rng: np.random.Generator, number: int, fitted: bool, machine: str | None = None, most: int = 90) -> Draw:
    """A case of at most so many operations, of a machine or of one of `MACHINES`."""
    config = PsiConfig.named(machine or str(rng.choice(MACHINES)))
    kind: Kind = ("gates", "chains", "products", "substitutions")[rng.integers(4)]
    looped = kind in ("gates", "chains")
    count = int(rng.choice((1, 2, 3, 4, 6, 8, 12, 16))) if looped else int(rng.integers(1, most * 2 // 3))
    products = int(rng.integers(2, max(3, most // count))) if looped else 1
    return Draw(
        number,
        config.name,
        kind,
        int(rng.integers(config.min_log_n, config.max_log_n + 1)),
        count,
        products,
        tuple(int(d) for d in rng.integers(2, 7, 3)),  # type: ignore[arg-type]
        int(rng.choice((8, 32, 100, 250))),
        float(rng.choice((1.6, 2.0, 4.0))),
        fitted,
    )


@cache
def cases() -> tuple[Draw, ...]:
    """All cases, in order."""
    found = [_draw(np.random.default_rng((FITTED_SEED, i)), i, True) for i in range(FITTED)]
    found += [_draw(np.random.default_rng((FRESH_SEED, i)), FITTED + i, False) for i in range(FRESH)]
    for machine in LARGE:
        for _ in range(LARGE_CASES):
            number = len(found)
            found.append(_draw(np.random.default_rng((FRESH_SEED, number)), number, False, machine, 24))
    return tuple(found)


def simulate(sim: Simulation[PsiConfig], job: Job) -> tuple[int, dict[str, Traffic]]:
    """Cycles of a run in RTL, and its traffic by entity."""
    for register, value in job.settings.registers(job.config).items():
        sim.write(register, value)
    sim.unmap_all()
    sim.clear_traffic()
    for piece in (job.queue, *job.pieces):
        sim.map(piece.address, np.ascontiguousarray(piece.words.reshape(-1)), ENTITIES.index(piece.entity))
    results = np.zeros(job.results * max(4096, job.config.rlwe_bytes(job.settings.log_n)) // 8, np.uint64)
    if results.size:
        sim.map(job.output, results, ENTITIES.index("output"))
    cycles = sim.run(0)
    return cycles, sim.traffic({e: n for n, e in enumerate(ENTITIES)})
