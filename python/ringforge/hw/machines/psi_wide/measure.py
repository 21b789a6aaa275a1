# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Cycles of gates and of look-ups in RTL, amortised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ringforge import _native
from ringforge._native import fhew
from ringforge.errors import HardwareError
from ringforge.gates.kinds import GateKind
from ringforge.hw.machines.psi_wide.config import WideConfig
from ringforge.hw.machines.psi_wide.gates import GinxMachine
from ringforge.hw.machines.psi_wide.leaves import Leaves, monomials
from ringforge.hw.machines.psi_wide.lookup import LookupMachine
from ringforge.hw.machines.psi_wide.runner import Executor
from ringforge.psi.info import PlanFields
from ringforge.psi.table import Arrays


@dataclass(frozen=True)
class GateRun:
    """Blind rotations of several gates at a time.

    Attributes:
        gates, steps, products: interleaved gates, steps of each one's chain, products of all.
        cycles: from start to end, tables and accumulators loaded and stored.
        key_bytes: of keys that crossed the port.
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

    def rotate(accumulators: Any, exponents: Any) -> None:
        levels.extend(machine.rotate(executor, accumulators, exponents))

    fhew.evaluate(key, kinds, sources, got, targets, rotate=rotate)
    if not np.array_equal(got, want):
        raise HardwareError("the machine's gates differ from the library's")
    cycles = sum(level.cycles or 0 for level in levels)
    key_bytes, moved = sum(level.key_bytes for level in levels), sum(level.bytes.get("keys", 0) for level in levels)
    if cycles and key_bytes != moved:
        raise HardwareError(f"the programs load {key_bytes} bytes of keys, and {moved} crossed the port")
    return GateRun(gates, steps, sum(level.products for level in levels), cycles, key_bytes)


@dataclass(frozen=True)
class LookupCost:
    """Cycles of a query, by two small ones.

    Attributes:
        bins: of both. cycles: of both.
        each: cycles of a bin: the difference over the bins that one has more.
        transforms: of these, cycles in which a polynomial, or a monomial in its place, goes to the multipliers.
        bytes: that the longer query moved, by what they are of.
    """

    bins: tuple[int, int]
    cycles: tuple[int, int]
    each: float
    transforms: float
    bytes: Mapping[str, int] = field(default_factory=dict)


def lookup_cost(
    config: WideConfig, fields: PlanFields, entries: int, executor: Executor, log_bins: int = 2
) -> LookupCost:
    """Queries of 2^log_bins bins and of twice as many, with the plan's gadgets.

    All stages of the expansion have the digits of the last one, which does half of a query's substitutions. Replies
    of few bins are packed by traces, which a whole query does not need: a bin is a little dearer here.

    Args:
        entries: cells of every bin, the most that everybody knows of.

    Raises:
        HardwareError: the machine stops with an error, or its reply differs from the library's.
    """
    rng, found = np.random.default_rng(1), []
    for log in (log_bins, log_bins + 1):
        last = [fields.expansion[-1]] * len(fields.expansion)
        plan = fields.model_copy(update={"log_bins": log, "expansion": last}).native()
        client, fixed = _native.psi.ClientKey(plan), _native.TestSeed(bytes(32))
        offsets = np.arange(plan.bins + 1, dtype=np.uint64) * np.uint64(entries)
        cells = np.concatenate([np.sort(rng.choice(plan.cells, entries, replace=False)) for _ in range(plan.bins)])
        words = np.ones((len(cells), plan.cell_words), np.uint16)
        arrays = Arrays(offsets, cells.astype(np.uint32), words, np.zeros(0, np.uint16))
        keys = _native.psi.SessionKeys(plan, client.evaluation_keys())
        machine = LookupMachine(config, keys, executor)
        request = client.query(np.zeros(plan.bins, np.uint32))
        results = np.ascontiguousarray(machine.results(request, Leaves(config, plan, arrays, entries)))
        table = _native.psi.Table(plan, arrays.offsets, arrays.cells, arrays.words)
        want = _native.psi.evaluate(keys, request, table, fixed_seed_for_tests=fixed)
        if _native.psi.seal_reply(keys, results, fixed_seed_for_tests=fixed) != want:
            raise HardwareError("the machine's reply differs from the library's")
        # The transforms of the replies' masks are the host's.
        leaves = machine.operations.get("monomial", 0) - (int(plan.counts().row) if monomials(plan, entries) else 0)
        polynomials = int(plan.counts().ntt) - plan.replies + leaves
        found.append((plan.bins, machine.cycles or 0, polynomials * config.lines(plan.log_n)))
    (few, short, less), (many, long, more) = found
    bins = many - few
    return LookupCost((few, many), (short, long), (long - short) / bins, (more - less) / bins, machine.bytes)
