# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Chooses the plan of a table: gadgets, one-hot selectors, modulus of the replies. docs/psi-algorithm.md derives it.

`ringforge` searches; `paper` is the published algorithm at its published parameters. Costs are counted in transforms of
one polynomial, by the exact counts of the native plan, with weights for what goes with them.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from rich.table import Table

from ringforge import _native
from ringforge.devices import KeySet, open_device
from ringforge.errors import ParameterError
from ringforge.psi.info import CutFields, PlanFields, TableInfo
from ringforge.psi.kernels import LookupKernel, LookupKeys, LookupTable
from ringforge.psi.table import Arrays

#: log2 of the probability, at most, that one bin of a reply decodes wrongly.
FAILURE_LOG2 = -80.0

#: log2 of the cells of a bin, at most.
_MOST_CELL_BITS = 26

#: log2 of the words of a cell, at most: where one answer holds a label, and where it takes several.
_MOST_LOG_CELL, _MOST_LOG_CELL_IN_PARTS = 6, 10

#: The published parameters: N = 2048, a 54-bit modulus, six digits to base 2^9, T = 8. Digits are balanced
#: here: plain ones decrypt wrongly with some keys (docs/psi-algorithm.md).
PAPER_MODULUS = 0x3FFFFFFFFED001
PAPER_REASON = "paper: its modulus has 54 bits, at N = 2048 the guideline's limit is 53"

_LOG_N = 11
_BITS = 50
_KEY_SQUARE = 2 * (1 << _LOG_N) / 3
_ERROR = 10.5
_MOST_REBUILD = 8

# Weights in transforms: what a gadget's row costs beyond its transform (inner product, cut), a product, a
# substitution and a plain row beyond theirs. From profiles of the answering loop; they only rank plans.
_ROW, _PRODUCT, _SUBSTITUTION, _PLAIN_ROW = 0.25, 1.0, 1.5, 0.5


@functools.cache
def modulus() -> int:
    """The largest prime below 2^50 that is 1 modulo 2^18: fast on CPUs, and what accelerators reduce by."""
    return int(_native.kernels.primes_below(_BITS, 1, 1 << 18)[0])


def _switch_variance(count: int, log_base: int, drop: int, length: float) -> float:
    """Variance of a key switch with balanced digits: errors of the key's rows, and the bits left out times the key."""
    square = (4.0**log_base + 2) / 12
    return count * (1 << _LOG_N) * square * _ERROR + (4.0**drop / 12 * length if drop else 0.0)


@functools.cache
def _best_cut(count: int, length: float = _KEY_SQUARE) -> tuple[CutFields, float]:
    """The base of `count` digits with the least variance; few digits leave low bits out.

    length: squared length of what the left-out bits meet, the key z or, when RGSW ciphertexts are rebuilt, z^2.
    """
    cuts = []
    for log_base in range(2, 26):
        drop = max(0, _BITS - log_base * count)
        cuts.append((_switch_variance(count, log_base, drop, length), log_base, drop))
    variance, log_base, drop = min(cuts)
    return CutFields(log_base=log_base, count=count, drop=drop), variance


@functools.cache
def _expansions() -> tuple[tuple[int, ...], ...]:
    """Digits of each stage, cheapest last: 2^s switches at stage s, whose variance grows by 2^(10-s) until the end.

    For a price lambda of a digit, the stages part: each minimises 2^(10-s)*variance + lambda*2^s*digits.
    """
    found: list[tuple[int, ...]] = []
    for exponent in np.arange(10, 60, 0.5):
        price = 2.0**exponent
        digits = tuple(
            min(
                range(2, 13),
                key=lambda d, s=s: 2.0 ** (_LOG_N - 1 - s) * _best_cut(d)[1] + price * 2.0**s * d,  # type: ignore[misc]
            )
            for s in range(_LOG_N)
        )
        if digits not in found:
            found.append(digits)
    return tuple(found)


def weight(plan: Any) -> float:
    """Cost of one query in transforms."""
    c = plan.counts()
    rows = c.ntt - (c.row if plan.algorithm == "ringforge" else 0)
    return float(
        c.ntt + c.intt + _ROW * rows + _PRODUCT * c.external_product + _SUBSTITUTION * c.substitution
        + _PLAIN_ROW * c.row
    )  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """What a table must hold, and its cells.

    Attributes:
        log_bins, cell_bits, log_cell, log_t: as in the native plan.
        entries: cells set in a bin, at most, but for one bin in many millions.
    """

    log_bins: int
    cell_bits: int
    log_cell: int
    log_t: int
    entries: int


def shape(
    mode: str,
    capacity: int,
    log_bins: int,
    tag_bits: int,
    label_bytes: int,
    hashes: int,
    element_bits: int,
    log_t: int,
) -> Shape:
    """Cells for a table of up to `capacity` elements.

    Mode direct: w = b - k + ceil(log2 h) bits, one word. Mode oprf: words for tag and label, and so many cells
    that a random salt keeps the entries of a full bin apart once in about 50 tries: full^2/2^(w+1) is at most 4.
    """
    mean = hashes * capacity / (1 << log_bins)
    entries = math.ceil(mean + 6 * math.sqrt(mean) + 8)
    if mode == "direct":
        log_cell, bits = 0, element_bits - log_bins + (hashes - 1).bit_length()
    else:
        log_cell = max(0, math.ceil(math.log2((tag_bits + 8 * label_bytes) / log_t)))
        bits = math.ceil(math.log2(entries * entries / 8))
    return Shape(log_bins, max(bits, _LOG_N - min(log_cell, _LOG_N)), log_cell, log_t, entries)


def candidates(wanted: Shape) -> Iterator[tuple[float, PlanFields]]:
    """Plans by `ringforge` that fail rarely enough, with their weights."""
    rows = wanted.cell_bits + wanted.log_cell - _LOG_N
    expansions = _expansions()
    for log_onehot in range(max(0, min(rows, 3)), min(rows, 6) + 1):
        for digits in (1, 2, 3):
            for log_base in range(6, 17):
                if log_base * digits > _BITS:
                    continue
                gadget = CutFields(log_base=log_base, count=digits, drop=_BITS - log_base * digits)

                def fields(
                    expansion: tuple[int, ...],
                    rebuild: int,
                    log_onehot: int = log_onehot,
                    gadget: CutFields = gadget,
                    log_reply: int = wanted.log_t + 9,
                ) -> PlanFields:
                    return PlanFields(
                        algorithm="ringforge",
                        log_n=_LOG_N,
                        modulus=modulus(),
                        log_bins=wanted.log_bins,
                        cell_bits=wanted.cell_bits,
                        log_cell=wanted.log_cell,
                        log_t=wanted.log_t,
                        log_onehot=log_onehot,
                        gadget=gadget,
                        expansion=[_best_cut(d)[0] for d in expansion],
                        reconstruction=_best_cut(rebuild, 2 * _KEY_SQUARE**2)[0],
                        log_reply=log_reply,
                    )

                def fails(expansion: tuple[int, ...], rebuild: int) -> bool:
                    plan = fields(expansion, rebuild).native()
                    return bool(plan.failure_log2(wanted.entries) > FAILURE_LOG2)

                if fails(expansions[0], _MOST_REBUILD):
                    continue
                # Coarser expansions cost less and fail more: the coarsest that holds.
                low, high = 0, len(expansions) - 1
                while low < high:
                    middle = (low + high + 1) // 2
                    low, high = (low, middle - 1) if fails(expansions[middle], _MOST_REBUILD) else (middle, high)
                rebuild = next(r for r in range(2, _MOST_REBUILD + 1) if not fails(expansions[low], r))
                chosen = fields(expansions[low], rebuild)
                for log_reply in range(wanted.log_t + 5, wanted.log_t + 9):
                    smaller = fields(expansions[low], rebuild, log_reply=log_reply)
                    if smaller.native().failure_log2(wanted.entries) <= FAILURE_LOG2:
                        chosen = smaller
                        break
                yield weight(chosen.native()), chosen


@functools.lru_cache(maxsize=64)
def choose(
    mode: str,
    capacity: int,
    log_bins: int,
    tag_bits: int,
    label_bytes: int,
    hashes: int,
    element_bits: int,
    algorithm: str,
) -> PlanFields:
    """The cheapest plan of a table of up to `capacity` elements in 2^log_bins bins.

    Args:
        mode: "oprf" or "direct".
        tag_bits, label_bytes: what a cell holds in mode oprf.
        element_bits: b in mode direct.
        algorithm: "ringforge" or "paper".

    Raises:
        ParameterError: no plan holds such a table; the message says what is too large.
    """
    if algorithm == "paper":
        wanted = shape(mode, capacity, log_bins, tag_bits, label_bytes, hashes, element_bits, 3)
        if wanted.log_cell > _MOST_LOG_CELL:
            wanted = replace(wanted, log_cell=_MOST_LOG_CELL, cell_bits=max(wanted.cell_bits, _LOG_N - _MOST_LOG_CELL))
        digits = CutFields(log_base=9, count=6, drop=0)
        return PlanFields(
            algorithm="paper", log_n=_LOG_N, modulus=PAPER_MODULUS, log_bins=log_bins, cell_bits=wanted.cell_bits,
            log_cell=wanted.log_cell, log_t=wanted.log_t, log_onehot=0, gadget=digits, expansion=[digits] * _LOG_N,
            log_reply=wanted.log_t + 9, insecure=PAPER_REASON,
        )  # fmt: skip
    best: tuple[float, PlanFields] | None = None
    for log_t in (1,) if mode == "direct" else (4, 5, 6):
        wanted = shape(mode, capacity, log_bins, tag_bits, label_bytes, hashes, element_bits, log_t)
        if wanted.cell_bits > _MOST_CELL_BITS or wanted.log_cell > _MOST_LOG_CELL:
            continue
        for found in candidates(wanted):
            if best is None or found[0] < best[0]:
                best = found
    if best is None and label_bytes:
        best = _in_parts(mode, capacity, log_bins, tag_bits, label_bytes, hashes)
    if best is None:
        raise ParameterError(
            f"no plan holds {capacity} elements in 2^{log_bins} bins with {tag_bits} bits of tag: a bin would need "
            f"more than 2^{_MOST_CELL_BITS} cells; take more bins, or shorter elements"
        )
    return best[1]


def _in_parts(
    mode: str, capacity: int, log_bins: int, tag_bits: int, label_bytes: int, hashes: int
) -> tuple[float, PlanFields] | None:
    """The cheapest plan whose cells hold a part of each label, with its weight for all parts; None: there is none."""
    best: tuple[float, PlanFields] | None = None
    for log_t in (6, 8):
        whole = shape(mode, capacity, log_bins, tag_bits, label_bytes, hashes, 0, log_t)
        if whole.cell_bits > _MOST_CELL_BITS:
            continue
        for log_cell in range(_MOST_LOG_CELL, min(whole.log_cell, _MOST_LOG_CELL_IN_PARTS) + 1, 2):
            smaller = replace(whole, log_cell=log_cell, cell_bits=max(whole.cell_bits, _LOG_N - log_cell))
            for cost, fields in candidates(smaller):
                total = cost * parts(fields, tag_bits, label_bytes)
                if best is None or total < best[0]:
                    best = total, fields
    return best


def parts(fields: Any, tag_bits: int, label_bytes: int) -> int:
    """Return how many answers hold a tag and a sealed label of so many bytes: words of one cell after the other."""
    return max(1, -(-(tag_bits + 8 * label_bytes) // int(fields.log_t << fields.log_cell)))


# ---- what it will take ----------------------------------------------------------------------------


def measure(fields: PlanFields, threads: int = 1, log_bins: int | None = None) -> float:
    """Seconds for one bin on this machine: a query of the same shape over few bins and an empty table.

    Args:
        log_bins: of the query; by default 5, fewer where a bin takes seconds.
    """
    run, bins = few_bins(fields, threads, log_bins)
    return min(run() for _ in range(2)) / bins


def few_bins(fields: PlanFields, threads: int, log_bins: int | None = None) -> tuple[Callable[[], float], int]:
    """A query of the same shape over few bins, and how many they are; each call runs it and returns its seconds.

    The table is empty: its rows are transformed whatever they hold.

    Args:
        log_bins: as in `measure`.
    """
    if log_bins is None:
        log_bins = 5 if fields.cell_bits < 18 else 2 if fields.cell_bits < 22 else 0
    few = fields.model_copy(update={"log_bins": min(log_bins, fields.log_bins)}).native()
    client, cpu = _native.psi.ClientKey(few), open_device("cpu")
    words = np.zeros((0, few.cell_words), np.uint16)
    arrays = Arrays(np.zeros(few.bins + 1, np.uint64), np.zeros(0, np.uint32), words, np.zeros(0, np.uint16))
    keys = KeySet(own=(LookupKeys(client.evaluation_keys()),))
    handle = cpu.prepare(LookupKernel(few), keys, LookupTable(few, arrays))
    request = client.query(np.zeros(few.bins, np.uint32))
    return lambda: float(cpu.run(handle, [request], threads=threads)[1].seconds), int(few.bins)


def estimate(info: TableInfo, threads: int = 1) -> float | None:
    """Seconds that one query of a look-up takes on this machine, by a measurement of a few bins; else None."""
    plan = info.plan
    if plan.algorithm == "poly":
        return None
    return measure(plan, threads or os.cpu_count() or 1) * (1 << plan.log_bins) * info.parts


def explain(fields: PlanFields, entries: int, answers: int = 1) -> Table:
    """The plan's costs as a table: operations of a bin and of a query, bytes, chances.

    Args:
        entries: cells set in a bin, at most.
        answers: to each request, of labels in several parts; operations are those of one.
    """
    plan = fields.native()
    counts, bins = plan.counts(), plan.bins
    table = Table(title=f"{fields.algorithm}: 2^{fields.log_bins} bins of 2^{fields.cell_bits} cells", show_header=True)
    for name in ("", "in each bin", "in a query"):
        table.add_column(name, justify="left" if not name else "right", overflow="fold")

    def row(name: str, count: int) -> None:
        table.add_row(name, f"{count / bins:,.1f}", f"{count:,}")

    row("RLWE substitutions (expansion, packing)", counts.substitution)
    row("external products RLWE x RGSW", counts.external_product)
    if counts.reconstruction:
        row("key switches that rebuild RGSW", counts.reconstruction)
    row("plain rows", counts.row)
    row("transforms of 2,048 points", counts.ntt + counts.intt)
    table.add_section()
    onehot = f"{1 << fields.log_onehot} one-hot selectors, " if fields.algorithm == "ringforge" else ""
    table.add_row("row", f"{onehot}{plan.tree_bits} levels of CMUX", f"{1 << plan.row_bits} rows of {1 << 11}")
    table.add_row("cell", f"{plan.rotation_bits} bits of rotation", f"{plan.cell_words} words of {fields.log_t} bits")
    gadget = fields.gadget
    table.add_row("gadget", f"{gadget.count} x 2^{gadget.log_base}", f"2^{gadget.drop} and below left out")
    table.add_row("expansion", "digits by stage", " ".join(str(c.count) for c in fields.expansion))
    table.add_row("ciphertexts of a bin", str(plan.outputs), f"{plan.outputs * plan.groups} on the wire")
    table.add_section()
    for name, size in (
        ("evaluation keys", plan.key_bytes),
        ("request", plan.request_bytes),
        ("reply", plan.reply_bytes * answers),
    ):
        table.add_row(name, "", f"{size / 2**20:.2f} MiB")
    if answers > 1:
        table.add_row("labels", "", f"in {answers:,} parts: a request is answered as often")
    table.add_row("server memory of a query", "", f"{plan.query_bytes(2) / 2**20:.0f} MiB, 2 threads")
    table.add_row("wrong decoding of a bin", f"2^{plan.failure_log2(entries):.0f}", "at most")
    if fields.insecure:
        table.add_row("security", "", fields.insecure)
    return table
