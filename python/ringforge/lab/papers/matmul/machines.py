# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""FAME's benchmarks on our machines fame-s, fame-m and fame-l, by their models and programs.

Prices are those of :mod:`ringforge.hw.machines.matmul`: the paper's schedule by its closed form, our plans by their
stages. Traffic is counted in compiled programs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np

from ringforge import _native, params
from ringforge._native import Diagonals, Schedule
from ringforge.hw.machines.matmul import stages
from ringforge.hw.machines.matmul.bounds import Bounds, bounds
from ringforge.hw.machines.matmul.closed_form import Gadget, Price, Primitives, price
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.machines.matmul.generator import Generated, generate
from ringforge.hw.machines.matmul.layout import CIPHERTEXTS
from ringforge.hw.machines.matmul.program import compile_hlt
from ringforge.hw.machines.matmul.replica_units import DRAIN
from ringforge.hw.machines.matmul.target import target_of
from ringforge.matmul import planner
from ringforge.matmul.kernels import HltKernel

from .parameters import HOST_BYTES_PER_SECOND, INSECURE_REASON, SETS, Benchmark

MACHINES: Final[Mapping[str, tuple[str, str]]] = {
    "A": ("fame-s", "fame-a"),
    "B": ("fame-m", "fame-b"),
    "C": ("fame-l", "fame-c"),
}
"""Our machine and our parameter set for each set of the paper."""


def config(set_name: str) -> FameConfig:
    """The machine that serves a set."""
    return FameConfig.named(MACHINES[set_name][0])


@lru_cache
def parameters(set_name: str) -> Any:
    """The set with primes of one length that stands for one of the paper's."""
    return params.named(MACHINES[set_name][1], INSECURE_REASON)


@lru_cache
def context(set_name: str) -> Any:
    """Of :func:`parameters`."""
    return _native.Context(parameters(set_name))


# ---- products ------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def paper_schedule(entry: Benchmark) -> Price:
    """Algorithm 2 at falling levels, keys and masks in near memory."""
    s = entry.shape
    return price(config(entry.set_name), parameters(entry.set_name), (s.m, s.l, s.n), "fame")


@dataclass(frozen=True)
class FromAfar:
    """Keys and masks of a product that near memory has no room for.

    Attributes:
        stored: bytes of all.
        crossing: bytes that cross the link in a product at least, what lies near being that which is read most often.
        far_seconds: from the card's own far memory; None: it does not hold them.
        host_seconds: from the host.
    """

    stored: int
    crossing: float
    far_seconds: float | None
    host_seconds: float


def from_afar(entry: Benchmark) -> FromAfar:
    """What :func:`paper_schedule` lacks. Keys are read several times each, masks once."""
    p, machine = paper_schedule(entry), config(entry.set_name)
    keys, masks = p.stored["keys"], p.stored["masks"]
    room = machine.dram_bytes - p.stored["twiddles"]
    near = min(keys, room)
    crossing = (keys - near) * p.bytes["keys"] / keys + max(0, masks - (room - near))
    missing = max(0, keys + masks - room)
    held = missing <= machine.far_bytes
    return FromAfar(
        keys + masks, crossing, crossing / machine.far_bytes_per_second if held else None,
        crossing / HOST_BYTES_PER_SECOND,
    )  # fmt: skip


@lru_cache(maxsize=64)
def our_plan(entry: Benchmark, level: int | None) -> tuple[planner.Choice, float]:
    """The planner's plan for a CPU on the machine: cycles, far memory by its rate. None: at the highest level."""
    s, c = entry.shape, context(entry.set_name)
    choice = planner.choose(c, s.m, s.l, s.n, c.params.max_level if level is None else level)
    pricing = stages.FamePricing(config(entry.set_name))
    return choice, pricing.weigh(c.gadget, choice.plan, choice.chosen.cost)


@lru_cache(maxsize=8)
def machine_plan(entry: Benchmark, level: int | None) -> stages.Planned:
    """The plan that suits the machine best, far memory planned copy by copy."""
    s, c = entry.shape, context(entry.set_name)
    level = c.params.max_level if level is None else level
    return stages.choose(config(entry.set_name), c, s.m, s.l, s.n, level)


def least_level(entry: Benchmark) -> int:
    """The lowest level at which the plan of :func:`our_plan` for low levels runs."""
    s = entry.shape
    return int(planner.choose(context(entry.set_name), s.m, s.l, s.n).level)


# ---- linear transforms ---------------------------------------------------------------------------


@dataclass(frozen=True)
class TransformTraffic:
    """Near memory's traffic of a linear transform at the highest level, in bytes.

    Attributes:
        rotations: how many.
        ciphertexts: input, output, and what a program stores and fetches meanwhile.
        entities: read and written, by entity.
    """

    rotations: int
    ciphertexts: float
    entities: Mapping[str, float]


#: Rotations of the programs whose traffic is counted, memory-optimised and not; it grows by as much with each further
#: one.
_COUNTED: Final = {True: (8, 12), False: (2, 3)}


@lru_cache
def transform_traffic(set_name: str, rotations: int, optimised: bool) -> TransformTraffic:
    """Of a transform of so many rotations, memory-optimised, or with every rotation by itself through memory.

    Counted in programs of a few rotations, and continued in a line.
    """
    schedule, counted = Schedule.mo if optimised else Schedule.naive, _COUNTED[optimised]
    first, second = (compile_hlt(config(set_name), _transform(set_name, n, schedule)).traffic for n in counted)
    line = (rotations - counted[0]) / (counted[1] - counted[0])

    def total(name: str) -> float:
        a, b = (t[name].read + t[name].written for t in (first, second))
        return a + (b - a) * line

    entities = {name: total(name) for name in first}
    return TransformTraffic(rotations, sum(entities[name] for name in CIPHERTEXTS), entities)


def _transform(set_name: str, rotations: int, schedule: Schedule) -> HltKernel:
    """Steps 1, 2, ... with one entry each: only their number counts."""
    c = context(set_name)
    steps = np.arange(1, rotations + 1, dtype=np.uint32)
    diagonals = Diagonals(
        c.params.slots,
        steps,
        np.arange(rotations + 1, dtype=np.uint64),
        np.zeros(rotations, np.uint32),
        np.ones(rotations, np.complex128),
    )
    scale = 2.0**c.params.log_scale
    babies = np.zeros(rotations, np.uint32)
    return HltKernel(c, diagonals, int(c.params.max_level), schedule, babies, scale, scale, 1.0)


@lru_cache
def peak_limbs(set_name: str) -> int:
    """Limbs of ciphertexts on chip at most, in the memory-optimised program of :func:`transform_traffic`."""
    return compile_hlt(config(set_name), _transform(set_name, _COUNTED[True][0], Schedule.mo)).peak


@dataclass(frozen=True)
class LoopPrice:
    """Cycles of a rotation and of what a transform does once, at the highest level.

    Attributes:
        rows: of a polynomial.
        bound: of the array, rotation and once-per-transform part, conversions in mixed radix included.
        rotation, hoisted: by the closed form, keys and masks streaming.
        alone: share of a transform's cycles in which the array works, one transform at a time.
        paired: the same with two interleaved.
    """

    rows: int
    bound: Bounds
    rotation: float
    hoisted: float
    alone: float
    paired: float


def loop_price(set_name: str, served: str) -> LoopPrice:
    """Of a set on the machine that serves the same or another one."""
    machine = config(served)
    p, limbs = parameters(set_name), len(parameters(set_name).q)
    primitives = Primitives(machine, Gadget.of(p))
    one, two = (primitives.transform_of(limbs, n, False).cycles for n in (1, 2))
    rows, log_n = primitives.rows, int(p.log_n)
    return LoopPrice(
        rows,
        bounds(target_of(machine, p, limbs - 1), limbs),
        float(two["rotations"] - one["rotations"]),
        float(one["hoisted"]),
        log_n * rows / transform_cycles(log_n, rows),
        2 * log_n * rows / transform_cycles(log_n, 2 * rows),
    )


def transform_cycles(log_n: int, rows: int) -> int:
    """Cycles of a transform whose stages have so many rows, as the replica of the machine counts them.

    A row is written `DRAIN` cycles after it is read. The next stage begins with rows that the one before wrote first,
    so it need not wait where half a stage is longer than that.
    """
    gap = max(0, DRAIN - 1 - (rows + 1) // 2) if (rows - 1) // 2 + 2 < DRAIN else 0
    return log_n * rows + (log_n - 1) * gap + DRAIN


# ---- sizes ---------------------------------------------------------------------------------------


@lru_cache
def generated(set_name: str) -> Generated:
    """What the generator of machines makes of a set, with the paper's multipliers."""
    return generate(parameters(set_name))


def limbs_of(set_name: str) -> int:
    """Polynomials of a set's degree that an element of our machine holds."""
    return config(set_name).slots(SETS[set_name].degree.bit_length() - 1)
