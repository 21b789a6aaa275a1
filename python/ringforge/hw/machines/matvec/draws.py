# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Cases drawn by a fixed seed, on which replica and closed form are held against RTL.

A case is a machine, its memory, and a product. Machines are few, since each has to be built; memory (latency, rate,
kind), degree, limbs, shape and schedule vary freely. The first cases are of a seed whose draws the closed form's
constants were chosen by (`fitted`), the rest of one that was drawn when they stood.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np

from ringforge._native import Algorithm, Context, Packing, Parameters, Plan, Span, kernels
from ringforge.hw.core.memory import Kind
from ringforge.hw.core.simulator import Simulation, Traffic
from ringforge.hw.machines.matvec import Compiled, compile_matvec
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.vector.layout import ENTITIES
from ringforge.matvec.kernels import MatvecKernel

FITTED_SEED: Final = 16
FITTED: Final = 20
FRESH_SEED: Final = 2027
FRESH: Final = 28
#: The smallest ring of the library.
LEAST_LOG_N: Final = 10
_SCALE: Final = 40.0
_BITS: Final = 54

#: What the machines change of matvec-small (2 groups of 2 elements, 8 lanes, 2 ports, 128 rows of stream buffer).
SHAPES: Final[dict[str, dict[str, Any]]] = {
    "matvec-small": {},
    # Three ports, and a stream buffer of distributed RAM that holds no whole number of bursts.
    "three-ports": {"groups": 1, "pes": 3, "lanes": 4, "ports": 3, "stream_rows": 100},
    # One port for five elements.
    "one-port": {"groups": 1, "pes": 5, "lanes": 4, "ports": 1, "stream_rows": 150},
    # Four groups, a port each.
    "four-groups": {"groups": 4, "lanes": 4, "ports": 4},
    # Rows of 16 words.
    "wide": {"groups": 1, "pes": 3, "lanes": 16, "ports": 2, "bank_rows": 1024, "twiddle_rows": 1024, "min_log_n": 8},
}


@cache
def shape(name: str) -> MatvecConfig:
    """The machine of a shape."""
    small = MatvecConfig.named("matvec-small")
    changes = {"name": name, "max_log_n": 12, "bank_rows": 4096, "twiddle_rows": 4096, **SHAPES[name]}
    return MatvecConfig.model_validate({**small.model_dump(), **(changes if SHAPES[name] else {})})


@dataclass(frozen=True)
class Draw:
    """A product on a machine with a memory.

    Attributes:
        number: in the order of drawing.
        machine: name of its shape.
        log_n, limbs: ring and limbs of the input.
        rows, cols, algorithm, baby: the product, and how it is computed.
        latency: of memory, in cycles.
        rate: of memory, as a share of what all ports take.
        memory: kind of memory.
        fitted: the closed form's constants were chosen with this case in view.
    """

    number: int
    machine: str
    log_n: int
    limbs: int
    rows: int
    cols: int
    algorithm: str
    baby: int
    latency: int
    rate: float
    memory: Kind
    fitted: bool

    @property
    def name(self) -> str:
        """What the case is called in results."""
        how = self.algorithm + (f" {self.baby}" if self.algorithm == "bsgs" else "")
        return f"{self.rows}x{self.cols} {how}, 2^{self.log_n}, {self.limbs} limbs"

    @property
    def memory_name(self) -> str:
        """Its memory in a few words."""
        return f"{self.memory}, {self.latency} cycles, {100 * self.rate:.0f} %"

    @property
    def config(self) -> MatvecConfig:
        """The machine with this case's memory."""
        config = shape(self.machine)
        rate = self.rate * config.ports * config.row_bytes * config.clock_hz
        changes = {"dram_latency": self.latency, "dram_bytes_per_second": rate, "memory": self.memory}
        return config.model_copy(update=changes)

    def kernel(self) -> MatvecKernel:
        """The product, as the compiler takes it."""
        return _kernel(self.log_n, self.limbs, self.rows, self.cols, self.algorithm, self.baby)

    def compile(self) -> Compiled:
        """The product's programs."""
        return compile_matvec(self.config, self.kernel(), has_bias=True)


def _kernel(log_n: int, limbs: int, rows: int, cols: int, algorithm: str, baby: int) -> MatvecKernel:
    primes = kernels.primes_below(_BITS, limbs + 1, 1 << 18)
    params = Parameters("drawn", log_n, primes[:limbs], primes[limbs:], 1, _SCALE, "timing only")
    kind = getattr(Algorithm, algorithm)
    span = Span.spread if kind == Algorithm.bsgs else Span.compact
    plan = Plan(Packing(rows, cols, params.slots, span), kind, baby)
    return MatvecKernel(Context(params), plan, limbs - 1, 1, 2.0**_SCALE, 2.0**_SCALE, 1.0, True)


def cases() -> list[Draw]:
    """All cases: those used for fitting, then the fresh ones."""
    return [*drawn(FITTED, FITTED_SEED, fitted=True), *drawn(FRESH, FRESH_SEED, first=FITTED)]


def drawn(count: int, seed: int, *, first: int = 0, fitted: bool = False) -> list[Draw]:
    """The first `count` cases of a seed, numbered from `first` on."""
    random = np.random.default_rng(seed)

    def pick(choices: list[Any]) -> Any:
        return choices[int(random.integers(len(choices)))]

    out: list[Draw] = []
    names = list(SHAPES)
    for number in range(count):
        machine = names[number % len(names)]
        config = shape(machine)
        log_n = pick(list(range(LEAST_LOG_N, config.max_log_n + 1)))
        limbs = pick([2, 3, 3, 4, 5])
        algorithm = pick(["bsgs", "bsgs", "diagonal", "horner"])
        if algorithm == "bsgs":
            rows, cols, baby = pick([16, 64, 128, 200]), pick([32, 64, 128, 200]), pick([2, 4, 8])
            baby = min(baby, Packing(rows, cols, 1 << log_n - 1, Span.spread).diagonals)
        else:
            rows, cols, baby = pick([4, 6, 8, 12]), pick([8, 16, 24, 32]), 1
        latency = round(20 * 10 ** random.uniform(0, 1))
        rate = round(float(random.uniform(0.35, 1.1)), 2)
        memory = pick(["simple", "simple", "ddr4-2400", "hbm2"])
        out.append(
            Draw(first + number, machine, log_n, limbs, rows, cols, algorithm, baby, latency, rate, memory, fitted)
        )
    return out


def simulate(sim: Simulation[MatvecConfig], product: Compiled) -> tuple[int, dict[str, Traffic]]:
    """Cycles and traffic of a product in RTL, on memory full of zeros: timing does not depend on data."""
    sim.unmap_all()
    sim.clear_traffic()
    for r in product.job.layout.regions:
        if r.size:
            words = product.image() if r.entity == "program" else np.zeros(-(-r.size // 8), np.uint64)
            sim.map(r.address, words, ENTITIES.index(r.entity))
    cycles = sim.run(product.base, product.stride)
    return cycles, sim.traffic({e: n for n, e in enumerate(ENTITIES)})
