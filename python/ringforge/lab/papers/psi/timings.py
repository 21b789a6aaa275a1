# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What this machine takes for the paper's gates, operations and queries.

A whole query of Table 4 takes minutes by the paper's algorithm, and one bin takes as long as the next: few bins are
measured, and scaled by the exact counts of the whole plan.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from ringforge import _native
from ringforge.errors import Error
from ringforge.matmul.planner import free_memory
from ringforge.psi import planner
from ringforge.psi.info import PlanFields

from . import sizes
from .figures import GATE_ROWS, PSI_ROWS, GateRow, PsiRow

#: Sets that are measured unless all are asked for.
QUICK_SETS = ("paper-medium", "paper-std128-ap")
#: Gates in flight in the accelerator, whose times are amortised over them.
BATCH = 12

_NAND = 2
#: Bins of up to so many bits are measured 2^5 at a time.
_SMALL_BITS = 18
_REASON = "reproduction of the paper's tables"


@dataclass(frozen=True, slots=True)
class GateTime:
    """Microseconds of a NAND by AP, everything included.

    Attributes:
        alone_us: CPU time of one gate on one thread.
        batch_us: wall time of each, twelve at once on all threads.
        key_bytes: the key in memory.
    """

    alone_us: float
    batch_us: float
    key_bytes: int


@dataclass(frozen=True, slots=True)
class OperationTime:
    """Microseconds on one thread at N = 2048 and 54 bits: a substitution of the expansion, an external product."""

    substitution_us: float
    product_us: float


@dataclass(frozen=True, slots=True)
class BinTime:
    """Seconds of one bin.

    Attributes:
        few: of the few bins measured.
        scaled: of a bin of the whole query, by the counts of both plans.
        bins: bins of the whole query.
    """

    few: float
    scaled: float
    bins: int

    @property
    def query(self) -> float:
        """Seconds of the whole query."""
        return self.scaled * self.bins


@dataclass(frozen=True, slots=True)
class Measured:
    """Everything measured; what is missing was not asked for or did not fit memory.

    Attributes:
        threads: of batches of gates and of queries.
        gates: by name of the set.
        skipped: sets that do not fit memory, and why.
        operations: Table 3.
        bins: by (algorithm, b, k).
    """

    threads: int
    gates: dict[str, GateTime] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    operations: OperationTime | None = None
    bins: dict[tuple[str, int, int], BinTime] = field(default_factory=dict)


def median_seconds(run: Callable[[], object], repeat: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Median over `repeat` runs."""
    taken = []
    for _ in range(repeat):
        start = clock()
        run()
        taken.append(clock() - start)
    return statistics.median(taken)


def gate(row: GateRow, threads: int, repeat: int = 5) -> GateTime:
    """NAND by AP at one of the paper's sets.

    Raises:
        Error: the key does not fit free memory, or a gate gave a wrong bit.
    """
    need, have = sizes.gate_key_expanded(sizes.gate_set(row.ours)), free_memory()
    if need > have:
        raise Error(
            f"the key of {row.ours} takes {need / 2**30:.1f} GiB, {have / 2**30:.1f} GiB are free to use: close other "
            "programs or leave this set out"
        )
    fhew = _native.fhew
    params = fhew.parameters(row.ours, _REASON)
    secret = fhew.SecretKey(params)
    key = fhew.EvaluationKey.make(secret, fhew.Method.AP, threads)
    wires = np.zeros((2 + BATCH, params.n + 1), np.uint32)
    wires[:2] = secret.encrypt(np.array([0, 1], np.uint8))

    def run(count: int, workers: int) -> Callable[[], object]:
        kinds = np.full(count, _NAND, np.uint8)
        inputs = np.tile(np.array([[1, 1, -1]], np.int32), (count, 1))
        outputs = np.arange(2, 2 + count, dtype=np.int32)
        return lambda: fhew.evaluate(key, kinds, inputs, wires, outputs, workers)

    alone = median_seconds(run(1, 1), repeat, time.process_time)
    batch = median_seconds(run(BATCH, threads), max(3, repeat // 2)) / BATCH
    wrong = int(secret.decrypt(wires[2:]).sum())
    if wrong > 1:
        raise Error(f"{row.ours}: {wrong} of {BATCH} gates gave NAND(1, 1) = 1: this build of ringforge is broken")
    return GateTime(alone * 1e6, batch * 1e6, int(key.bytes))


def _query(fields: Any) -> tuple[Callable[[], object], Any]:
    """A query over an empty table, and its counts."""
    plan = fields.native()
    psi = _native.psi
    client = psi.ClientKey(plan)
    keys = psi.SessionKeys(plan, client.evaluation_keys())
    words = np.zeros((0, plan.cell_words), np.uint16)
    table = psi.Table(plan, np.zeros(plan.bins + 1, np.uint64), np.zeros(0, np.uint32), words)
    request = client.query(np.zeros(plan.bins, np.uint32))
    return lambda: psi.evaluate(keys, request, table, 1), plan.counts()


def _transforms(counts: Any) -> int:
    return int(counts.ntt + counts.intt)


def operations(repeat: int = 7) -> OperationTime:
    """A substitution and a product by the paper's parameters, from queries that differ in little else.

    * product: one bin of 2^18 cells, in rows of words or of pairs of words: 128 CMUXes more, one rotation less, the
      request unchanged. CMUXes of plain leaves are cheaper, so time is divided by transforms and a product has 14.
    * substitution: 2^6 bins less 2^5 bins: as many products more as bins, and the expansion's last stage, whose
      substitutions include adding and subtracting the image.
    """
    base = sizes.plan_fields(32, 14, "paper")
    narrow = base.model_copy(update={"log_bins": 0})
    wide = narrow.model_copy(update={"log_cell": 1})
    short = base.model_copy(update={"log_bins": 5, "cell_bits": 11})
    runs = {
        "narrow": _query(narrow),
        "wide": _query(wide),
        "short": _query(short),
        "long": _query(short.model_copy(update={"log_bins": 6})),
    }
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeat):
        for name, (run, _counts) in runs.items():
            taken[name].append(median_seconds(run, 1, time.process_time))
    seconds = {name: statistics.median(values) for name, values in taken.items()}
    counts = {name: c for name, (_run, c) in runs.items()}
    digits = base.gadget.count
    more = _transforms(counts["wide"]) - _transforms(counts["narrow"])
    product = (seconds["wide"] - seconds["narrow"]) / more * (2 + 2 * digits)
    products = counts["long"].external_product - counts["short"].external_product
    substitutions = counts["long"].substitution - counts["short"].substitution
    substitution = (seconds["long"] - seconds["short"] - products * product) / substitutions
    return OperationTime(substitution * 1e6, product * 1e6)


@cache
def _seconds(fields: str, threads: int) -> float:
    """Seconds of a bin; rows of Table 4 that differ only in the bins of the whole query share a measurement."""
    small = PlanFields.model_validate_json(fields)
    return planner.measure(small, threads, small.log_bins)


def bin_time(row: PsiRow, algorithm: str, threads: int) -> BinTime:
    """One bin of a row of Table 4, from a query of 2^5 bins, or 2^3 where bins are large.

    A small query ends its expansion early and shares less of the packing; the ratio of both plans' costs, in
    transforms and what goes with them, corrects that.
    """
    fields = sizes.plan_fields(row.bits, row.log_bins, algorithm)
    whole = fields.native()
    log_bins = 5 if fields.cell_bits <= _SMALL_BITS else 3
    small = fields.model_copy(update={"log_bins": log_bins})
    few = small.native()
    seconds = _seconds(small.model_dump_json(), threads)
    ratio = (planner.weight(whole) / whole.bins) / (planner.weight(few) / few.bins)
    return BinTime(seconds, seconds * ratio, whole.bins)


def measure(
    tables: Iterable[int],
    threads: int = 2,
    every_set: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Measured:
    """Measures what the tables asked for need.

    Args:
        tables: 2, 3, 4; others need nothing.
        threads: of batches of gates and of queries.
        every_set: all six sets of Table 2, each as free memory allows.
        progress: is told what comes next.
    """
    wanted = set(tables)
    found = Measured(threads)
    if 2 in wanted:
        for row in GATE_ROWS:
            if not every_set and row.ours not in QUICK_SETS:
                continue
            progress(f"gates of {row.ours}")
            try:
                found.gates[row.ours] = gate(row, threads)
            except Error as e:
                found.skipped[row.ours] = str(e)
    operation_times = None
    if 3 in wanted:
        progress("substitution and external product")
        operation_times = operations()
    if 4 in wanted:
        for line in PSI_ROWS:
            for algorithm in ("paper", "ringforge"):
                progress(f"bins of b = {line.bits}, k = {line.log_bins}, {algorithm}")
                found.bins[algorithm, line.bits, line.log_bins] = bin_time(line, algorithm, threads)
    return Measured(threads, found.gates, found.skipped, operation_times, found.bins)
