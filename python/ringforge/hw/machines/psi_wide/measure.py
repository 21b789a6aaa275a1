# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Cycles of gates and of look-ups in RTL: what a gate takes amortised, and a query piece by piece."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ringforge import _native
from ringforge._native import fhew
from ringforge.errors import HardwareError
from ringforge.gates.kinds import GateKind
from ringforge.hw.machines.psi_wide.config import WideConfig
from ringforge.hw.machines.psi_wide.gates import GinxMachine
from ringforge.hw.machines.psi_wide.lookup import LookupMachine, Maker
from ringforge.hw.machines.psi_wide.runner import Executor
from ringforge.psi.table import Arrays

if TYPE_CHECKING:
    from ringforge._native.psi import Plan


@dataclass(frozen=True)
class GateRun:
    """Blind rotations of several gates at a time.

    Attributes:
        gates, steps, products: interleaved gates, steps of each one's chain, products of all.
        cycles: from start to end, tables and accumulators loaded and stored.
        key_bytes: loaded keys.
    """

    gates: int
    steps: int
    products: int
    cycles: int
    key_bytes: int


def run_gates(config: WideConfig, key: fhew.EvaluationKey, secret: fhew.SecretKey, executor: Executor, gates: int,
              steps: int) -> GateRun:  # fmt: skip
    """NANDs of LWE ciphertexts that end after `steps` numbers; results are held against the library's.

    Raises:
        HardwareError: they differ, or the machine stops.
    """
    machine = GinxMachine(config, key, steps=steps)
    wires = np.zeros((3 * gates, secret.params.n + 1), np.uint32)
    wires[: 2 * gates] = secret.encrypt(np.arange(2 * gates, dtype=np.uint8) % 3 % 2)
    wires[:, steps : secret.params.n] = 0
    sources = np.full((gates, 3), -1, np.int32)
    sources[:, 0], sources[:, 1] = np.arange(gates), gates + np.arange(gates)
    targets = np.arange(2 * gates, 3 * gates, dtype=np.int32)
    kinds = np.full(gates, int(GateKind.NAND), np.uint8)
    want, got, levels = wires.copy(), wires.copy(), []
    fhew.evaluate(key, kinds, sources, want, targets)
    fhew.evaluate(key, kinds, sources, got, targets, rotate=lambda a, e: levels.extend(machine.rotate(executor, a, e)))
    if not np.array_equal(got, want):
        raise HardwareError("the machine's gates differ from the library's")
    cycles = sum(level.cycles or 0 for level in levels)
    return GateRun(gates, steps, sum(level.products for level in levels), cycles, len(levels) * machine.keys.nbytes)


@dataclass(frozen=True)
class LookupCost:
    """Cycles of a query's pieces.

    Attributes:
        expansions: of a node, by stage. lookup: of a bin, packing not counted. pack: of two halves of a reply.
        total: of the query, by the pieces' numbers. transforms: of these, cycles of the forward transform alone.
    """

    expansions: tuple[int, ...]
    lookup: int
    pack: int
    total: int
    transforms: int


def lookup_cost(config: WideConfig, plan: Plan, executor: Executor) -> LookupCost:
    """Runs every kind of piece by itself on an empty table, and adds them up; loading of tables is not counted.

    Raises:
        HardwareError: the machine stops with an error.
    """
    keys = _native.psi.SessionKeys(plan, _native.psi.ClientKey(plan).evaluation_keys())
    machine = LookupMachine(config, keys, executor)
    words = np.zeros((0, plan.cell_words), np.uint16)
    table = Arrays(np.zeros(plan.bins + 1, np.uint64), np.zeros(0, np.uint32), words, np.zeros(0, np.uint16))
    opened = np.zeros((1, plan.outputs, 2, 1 << plan.log_n), np.uint64)

    def piece(write: Callable[[Maker], None]) -> int:
        maker = Maker(config, plan, keys, machine.setup, machine.places, opened, table)
        maker.begin()
        write(maker)
        return (executor.run(machine.setup, maker.program, maker.memory) or 0) - idle

    def loaded() -> int:
        maker = Maker(config, plan, keys, machine.setup, machine.places, opened, table)
        maker.begin()
        return executor.run(machine.setup, maker.program, maker.memory) or 0

    idle = loaded()
    stages = min(plan.log_bins, plan.log_n)
    packing = min(stages, plan.rotation_bits)
    expansions = tuple(piece(lambda m, s=s: m.expand(m.roots[0], m.nodes[s], s)) for s in range(stages))  # type: ignore[misc]
    lookup = piece(lambda m: m.lookup(m.roots[0], 0))
    pack = piece(lambda m: m.pack(m.halves[0], stages - packing)) if packing else 0
    total = plan.groups * sum(cycles << stage for stage, cycles in enumerate(expansions))
    total += plan.bins * lookup + (plan.bins - plan.replies) * pack
    transforms = int(plan.counts().ntt) * config.lines(plan.log_n)
    return LookupCost(expansions, lookup, pack, total, transforms)
