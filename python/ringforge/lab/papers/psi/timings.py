# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What this machine takes for the paper's gates, operations and queries.

A whole query of Table 4 takes minutes by the paper's algorithm, and one bin takes as long as the next: few bins are
measured, and scaled by the exact counts of the whole plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from ringforge import _native
from ringforge.errors import Error
from ringforge.lab.timing import Timing, median, timed
from ringforge.lab.timing import measure as measured
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
_OPERATIONS = "operations"
#: Bins of up to so many bits are measured 2^5 at a time.
_SMALL_BITS = 18
_REASON = "reproduction of the paper's tables"


@dataclass(frozen=True, slots=True)
class GateTime:
    """A NAND by AP, everything included.

    Attributes:
        alone: one gate on one thread.
        batch: each of twelve at once on all threads.
        key_bytes: the key in memory.
    """

    alone: Timing
    batch: Timing
    key_bytes: int


@dataclass(frozen=True, slots=True)
class OperationTime:
    """A substitution of the expansion, and an external product, on one thread at N = 2048 and 54 bits."""

    substitution: Timing
    product: Timing


@dataclass(frozen=True, slots=True)
class BinTime:
    """One bin.

    Attributes:
        few: of the few bins measured.
        scaled: wall seconds of a bin of the whole query, by the counts of both plans.
        bins: bins of the whole query.
    """

    few: Timing
    scaled: float
    bins: int

    @property
    def query(self) -> float:
        """Wall seconds of the whole query."""
        return self.scaled * self.bins


@dataclass(frozen=True, slots=True)
class Measured:
    """Everything measured; what is missing was not asked for or did not fit memory.

    Attributes:
        threads: of batches of gates and of queries.
        gates: by name of the set.
        skipped: sets, or "operations", that could not be measured, and why.
        operations: Table 3.
        bins: by (algorithm, b, k).
    """

    threads: int
    gates: dict[str, GateTime] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    operations: OperationTime | None = None
    bins: dict[tuple[str, int, int], BinTime] = field(default_factory=dict)


def least_seconds(transforms: float, degree: int) -> float:
    """Seconds that transforms take at the least on any processor: 6 GHz, 16 butterflies a cycle, nothing else."""
    return transforms * (degree // 2) * (degree.bit_length() - 1) / (16 * 6e9)


def gate_transforms(row: GateRow) -> float:
    """Transforms of a gate by AP: 2 for each digit of a product, 2 back. Half of the products count, as digits may be
    zero.
    """
    return row.products / 2 * (2 * row.digits + 2)


def _pair(gate: int) -> tuple[int, int]:
    """The wires that a gate of a batch reads: two of its own."""
    return 2 * gate, 2 * gate + 1


def gate(row: GateRow, threads: int, repeat: int = 5) -> GateTime:
    """NAND by AP at one of the paper's sets.

    Every gate has two ciphertexts of its own: a gate whose inputs are equal, or known, takes no bootstrap.

    Raises:
        Error: the key does not fit free memory, a gate gave a wrong bit or took no bootstrap, or less time than its
            transforms can take.
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
    bits = np.arange(2 * BATCH) % 3 > 0
    wires = np.zeros((3 * BATCH, params.n + 1), np.uint32)
    wires[: 2 * BATCH] = secret.encrypt(bits.astype(np.uint8))
    inputs = np.array([[*_pair(i), -1] for i in range(BATCH)], np.int32)
    outputs = np.arange(2 * BATCH, 3 * BATCH, dtype=np.int32)

    def run(count: int, workers: int) -> Callable[[], None]:
        kinds = np.full(count, _NAND, np.uint8)

        def once() -> None:
            rotations = fhew.evaluate(key, kinds, inputs[:count], wires, outputs[:count], workers)
            if rotations != count:
                raise Error(f"{row.ours}: {count} gates took {rotations} bootstraps: their times would be no gates'")

        return once

    alone = measured(run(1, 1), 0.0, at_least=repeat)
    batch = measured(run(BATCH, threads), 0.0, at_least=max(3, repeat // 2)).times(1 / BATCH)
    wrong = int((secret.decrypt(wires[2 * BATCH :]) != ~(bits[::2] & bits[1::2])).sum())
    if wrong > 1:
        raise Error(f"{row.ours}: {wrong} of {BATCH} gates gave a wrong bit: this build of ringforge is broken")
    least = least_seconds(gate_transforms(row), row.degree)
    for seconds in (alone.wall, alone.cpu, batch.wall * threads, batch.cpu):
        if seconds < least:
            raise Error(f"{row.ours}: {1e6 * seconds:.1f} us for a gate, whose transforms take {1e6 * least:.0f} us")
    return GateTime(alone, batch, int(key.bytes))


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
    taken: dict[str, list[Timing]] = {name: [] for name in runs}
    for _ in range(repeat):
        for name, (run, _counts) in runs.items():
            taken[name].append(timed(run)[0])
    times = {name: median(values) for name, values in taken.items()}
    return split(times, {name: c for name, (_run, c) in runs.items()}, base.gadget.count)


def split(times: Mapping[str, Timing], counts: Mapping[str, Any], digits: int) -> OperationTime:
    """The two operations from the times and counts of four queries: narrow, wide, short, long.

    Raises:
        Error: the times give an operation less than its transforms can take.
    """
    more = _transforms(counts["wide"]) - _transforms(counts["narrow"])
    product = times["wide"].less(times["narrow"]).times((2 + 2 * digits) / more)
    products = counts["long"].external_product - counts["short"].external_product
    substitutions = counts["long"].substitution - counts["short"].substitution
    rest = times["long"].less(times["short"]).less(product.times(products))
    found = OperationTime(rest.times(1 / substitutions), product)
    for name, taken, transforms in (
        ("an external product", found.product, 2 + 2 * digits),
        ("a substitution", found.substitution, 1 + digits),
    ):
        if min(taken.wall, taken.cpu) < (least := least_seconds(transforms, 2048)):
            raise Error(
                f"{name} would take {1e6 * min(taken.wall, taken.cpu):.1f} us, its transforms alone take "
                f"{1e6 * least:.1f} us: the machine does too much else; measure when it does less"
            )
    return found


@cache
def _seconds(fields: str, threads: int) -> Timing:
    """The time of a bin; rows of Table 4 that differ only in the bins of the whole query share a measurement."""
    small = PlanFields.model_validate_json(fields)
    run, bins = planner.few_bins(small, threads, small.log_bins)
    return measured(run, 0.0, at_least=3).times(1 / bins)


def few_bins(row: PsiRow, algorithm: str) -> PlanFields:
    """The plan of a row of Table 4 with 2^5 bins, or 2^3 where bins are large."""
    fields = sizes.plan_fields(row.bits, row.log_bins, algorithm)
    return fields.model_copy(update={"log_bins": 5 if fields.cell_bits <= _SMALL_BITS else 3})


def scaled(row: PsiRow, algorithm: str, taken: Timing, threads: int) -> BinTime:
    """One bin of a row of Table 4 from the time of one of few bins.

    A small query ends its expansion early and shares less of the packing; the ratio of both plans' costs, in
    transforms and what goes with them, corrects that.

    Raises:
        Error: the time is less than its transforms can take.
    """
    whole, few = sizes.plan_fields(row.bits, row.log_bins, algorithm).native(), few_bins(row, algorithm).native()
    least = least_seconds(_transforms(few.counts()) / few.bins, 1 << int(few.log_n))
    if (seconds := min(taken.wall * threads, taken.cpu)) < least:
        raise Error(f"a bin would take {1e6 * seconds:.0f} us, its transforms alone take {1e6 * least:.0f} us")
    ratio = (planner.weight(whole) / whole.bins) / (planner.weight(few) / few.bins)
    return BinTime(taken, taken.wall * ratio, whole.bins)


def bin_time(row: PsiRow, algorithm: str, threads: int) -> BinTime:
    """One bin of a row of Table 4, measured over few of them."""
    return scaled(row, algorithm, _seconds(few_bins(row, algorithm).model_dump_json(), threads), threads)


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
        try:
            operation_times = operations()
        except Error as e:
            found.skipped[_OPERATIONS] = str(e)
    if 4 in wanted:
        for line in PSI_ROWS:
            for algorithm in ("paper", "ringforge"):
                progress(f"bins of b = {line.bits}, k = {line.log_bins}, {algorithm}")
                found.bins[algorithm, line.bits, line.log_bins] = bin_time(line, algorithm, threads)
    return Measured(threads, found.gates, found.skipped, operation_times, found.bins)
