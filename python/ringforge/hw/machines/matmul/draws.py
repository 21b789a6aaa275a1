# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Cases drawn by a fixed seed, on which replica and closed form of the matmul machine are held against RTL.

A case is a machine, its memory, and what every element does with one parameter set: a memory-optimised linear transform
each, of its own number of rotations, or a relinearised product. Machines are few, since each has to be built; memory,
degree, limbs, special primes, digits and rotations vary freely. The first cases are of a seed whose draws the closed
form's constants were chosen by (`fitted`), the rest of another one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final, cast

import numpy as np

from ringforge import _native
from ringforge._native import Context, Parameters, Schedule, kernels
from ringforge.hw.core.simulator import Simulation, Traffic
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.machines.matmul.kernels import multiply_program
from ringforge.hw.machines.matmul.layout import ENTITIES, ElementLayout
from ringforge.hw.machines.matmul.ports import PortMemory
from ringforge.hw.machines.matmul.program import compile_hlt
from ringforge.hw.vector.isa import Words
from ringforge.matmul.kernels import HltKernel, MultiplyKernel

FITTED_SEED: Final = 17
FITTED: Final = 16
FRESH_SEED: Final = 2028
FRESH: Final = 24
#: The smallest ring of the library.
LEAST_LOG_N: Final = 10
_SCALE: Final = 45.0
_BITS: Final = 50
#: Programs begin here in every element's memory, behind all data.
_PROGRAMS: Final = 1 << 27

#: What the machines change of fame-small (2 elements of 16 lanes, 2 ports each).
SHAPES: Final[dict[str, dict[str, Any]]] = {
    "fame-small": {},
    # One element, longer polynomials, banks of different sizes.
    "long": {
        "pes": 1,
        "ports": 3,
        "dram_bytes": 2 << 28,
        "max_log_n": 12,
        "bank_rows": [1024, 3584, 3584, 1024],
        "twiddle_rows": 512,
        "stream_rows": 512,
    },
    # One element of more lanes: short polynomials.
    "wide": {"pes": 1, "lanes": 32, "near_ports": 4, "ports": 5, "dram_bytes": 4 << 28, "min_log_n": 8},
}


@cache
def shape(name: str) -> FameConfig:
    """The machine of a shape."""
    small = FameConfig.named("fame-small")
    changes = {"name": name, **SHAPES[name]}
    return FameConfig.model_validate({**small.model_dump(), **(changes if SHAPES[name] else {})})


@dataclass(frozen=True)
class Draw:
    """Linear transforms, or products, on a machine with a memory.

    Attributes:
        number: in the order of drawing.
        machine: name of its shape.
        log_n, limbs, special, digit: ring, limbs of the inputs, special primes, limbs of a digit.
        rotations: of the transform on each element; empty for a product on each.
        still: one more diagonal is not rotated.
        latency: of memory, in cycles.
        rate: of memory, as a share of a line a cycle.
        fitted: the closed form's constants were chosen with this case in view.
    """

    number: int
    machine: str
    log_n: int
    limbs: int
    special: int
    digit: int
    rotations: tuple[int, ...]
    still: bool
    latency: int
    rate: float
    fitted: bool

    @property
    def name(self) -> str:
        """What the case is called in results."""
        counts = " and ".join(map(str, self.rotations))
        what = f"{counts} rotations{' and one still' if self.still else ''}" if self.rotations else "products"
        return f"{what}, 2^{self.log_n}, {self.limbs} + {self.special} limbs, digits of {self.digit}"

    @property
    def memory_name(self) -> str:
        """Its memory in a few words."""
        return f"{self.latency} cycles, {100 * self.rate:.0f} %"

    @property
    def config(self) -> FameConfig:
        """The machine with this case's memory."""
        config = shape(self.machine)
        rate = self.rate * config.pes * config.line_bytes * config.clock_hz
        return config.model_copy(update={"dram_latency": self.latency, "dram_bytes_per_second": rate})

    @cached_property
    def parameters(self) -> Parameters:
        """Primes of one length."""
        primes = kernels.primes_below(_BITS, self.limbs + self.special, 1 << 18)
        return Parameters("drawn", self.log_n, primes[: self.limbs], primes[self.limbs :], self.digit, _SCALE, "timing")

    def compile(self) -> list[Timed]:
        """What each element does."""
        context, config = Context(self.parameters), self.config
        if not self.rotations:
            return [timed_product(config, context, self.limbs - 1)] * config.pes
        return [timed_transform(config, context, self.limbs - 1, r, self.still) for r in self.rotations]


@dataclass(frozen=True, eq=False)
class Timed:
    """The program of an element, and where it has what."""

    program: Words
    layout: ElementLayout


def timed_transform(config: FameConfig, context: Context, level: int, rotations: int, still: bool) -> Timed:
    """A linear transform with so many rotations, and one diagonal that is not rotated or none."""
    steps = np.arange(0 if still else 1, rotations + 1, dtype=np.uint32)
    count = len(steps)
    diagonals = _native.Diagonals(
        context.params.slots,
        steps,
        np.arange(count + 1, dtype=np.uint64),
        np.arange(count, dtype=np.uint32),
        np.zeros(0, np.complex128),
    )
    scale = 2.0**_SCALE
    compiled = compile_hlt(config, HltKernel(context, diagonals, level, Schedule.mo, steps, scale, scale, 1.0))
    return Timed(compiled.program, compiled.layout)


def timed_product(config: FameConfig, context: Context, level: int) -> Timed:
    """A relinearised product of two ciphertexts."""
    # No key is asked for: memory is not filled.
    program = multiply_program(config, MultiplyKernel(context, level), cast(Any, None))
    return Timed(program.words[0], program.jobs[0].layout)


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
        limbs = pick([2, 3, 4, 5, 6])
        # A limb of each digit and one more have to be in bank 0.
        room = config.bank_slots(log_n, 0) - 1
        digit = pick([d for d in (1, 2, 3, 5) if d <= limbs and -(-limbs // d) <= room])
        rotations = () if number % 4 == 3 else tuple(random.integers(1, 13, config.pes).tolist())
        latency = round(20 * 10 ** random.uniform(0, 0.8))
        rate = round(float(random.uniform(0.55, 1.1)), 2)
        # Special primes cover a digit.
        out.append(
            Draw(
                first + number, machine, log_n, limbs, digit, digit, rotations,
                bool(rotations) and pick([False, True]), latency, rate, fitted,
            )
        )  # fmt: skip
    return out


def simulate(sim: Simulation[FameConfig], config: FameConfig, compiled: list[Timed]) -> tuple[int, dict[str, Traffic]]:
    """Cycles and traffic of programs in RTL, on memory full of zeros: timing does not depend on data."""
    memory = PortMemory(config)
    for element, one in enumerate(compiled):
        for r in one.layout.regions:
            if r.size and r.entity != "program":
                memory.reserve(element, r.address, r.size, entity=ENTITIES.index(r.entity))
    memory.put_programs(_PROGRAMS, [c.program for c in compiled], entity=ENTITIES.index("program"))
    sim.unmap_all()
    sim.clear_traffic()
    memory.map(sim)
    cycles = sim.run(_PROGRAMS, 0)
    return cycles, sim.traffic({e: n for n, e in enumerate(ENTITIES)})
