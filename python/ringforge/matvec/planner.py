# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Chooses how each matrix is applied: algorithm, packing and number of baby steps, by counted cost.

A candidate's operation counts are exact: the run-time counters of the CPU device equal them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ringforge._native import Algorithm, Context, Matvec, MatvecCost, Packing, Plan, Span
from ringforge.errors import MemoryLimitError, ParameterError
from ringforge.shown import ShownTable

ALGORITHMS = ("auto", "bsgs", "diagonal", "horner")


@dataclass(frozen=True)
class Candidate:
    """One way to apply a matrix, with what it costs."""

    plan: Plan
    span: str
    cost: MatvecCost
    #: Bytes: keys, encoded matrix and temporaries.
    memory: int
    #: Why it may not be used, or empty.
    refused: str = ""

    @property
    def algorithm(self) -> str:
        return self.plan.algorithm.name


@dataclass(frozen=True)
class Choice:
    """The candidates of one layer and the one taken."""

    rows: int
    cols: int
    level: int
    candidates: tuple[Candidate, ...]
    chosen: Candidate

    def explain(self, everything: bool = False) -> ShownTable:
        """The candidates as a table, the chosen one marked; the best of each kind unless `everything`."""
        table = ShownTable(title=f"{self.rows} x {self.cols} matrix at level {self.level}", show_lines=False)
        for name in ("", "plan", "packing"):
            table.add_column(name, no_wrap=True)
        for name in ("rot", "KS", "NTT", "pt·ct", "keys", "key MiB", "pt MiB", "read MiB", "weight"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("", overflow="fold")
        for c in self.candidates if everything else self._best():
            ops = c.cost.ops
            how = f"bsgs {c.plan.baby}x{c.plan.giants}" if c.algorithm == "bsgs" else c.algorithm
            table.add_row(
                "→" if c is self.chosen else "",
                how,
                c.span,
                str(ops.rotation),
                str(ops.key_switch),
                str(ops.ntt + ops.intt),
                str(ops.plain_mul),
                str(c.cost.keys),
                f"{c.cost.key_storage / 2**20:.1f}",
                f"{c.cost.plaintext_storage / 2**20:.1f}",
                f"{(ops.key_bytes + ops.plaintext_bytes) / 2**20:.0f}",
                f"{c.cost.weight / 1e6:.1f} M",
                "chosen" if c is self.chosen else c.refused,
            )
        return table

    def _best(self) -> list[Candidate]:
        """The best of each kind, and the chosen one's neighbours."""
        near = {self.chosen.plan.baby // 2, self.chosen.plan.baby * 2}
        best = {id(self.chosen)}
        for kind in {(c.algorithm, c.span) for c in self.candidates}:
            best.add(
                id(
                    min(
                        (c for c in self.candidates if (c.algorithm, c.span) == kind),
                        key=lambda c: c.cost.weight,
                    )
                )
            )
        return [
            c
            for c in self.candidates
            if id(c) in best
            or ((c.algorithm, c.span) == (self.chosen.algorithm, self.chosen.span) and c.plan.baby in near)
        ]


def choose(
    context: Context,
    rows: int,
    cols: int,
    level: int,
    *,
    batch: int = 1,
    input_period: int = 0,
    algorithm: str = "auto",
    memory: int | None = None,
    price: Callable[[Plan], float] | None = None,
) -> Choice:
    """Lists candidates for a matrix and picks the cheapest that fits.

    Args:
        rows, cols: shape of the matrix.
        level: of the inputs.
        batch: vectors interleaved in a ciphertext.
        input_period: 0 for fresh inputs (any packing), else the period an earlier layer left them with.
        algorithm: "auto", or one of bsgs, diagonal, horner.
        memory: bytes that keys, encoded matrix and temporaries may take together.
        price: what a plan costs where it will run; default: the weight of its counted operations on the CPU. With a
            price of their own, numbers of baby steps that are no powers of two are candidates as well.

    Raises:
        ParameterError: unknown algorithm. MemoryLimitError: nothing fits; the message names the smallest.
    """
    if algorithm not in ALGORITHMS:
        raise ParameterError(f'there is no algorithm "{algorithm}"; choose one of {", ".join(ALGORITHMS)}')
    slots = context.params.slots // batch
    candidates: list[Candidate] = []
    packings = [("compact", Packing(rows, cols, slots, Span.compact, input_period))]
    if input_period == 0:
        spread = Packing(rows, cols, slots, Span.spread, 0)
        if spread.span != packings[0][1].span:
            packings.insert(0, ("spread", spread))
    for span, packing in packings:
        if algorithm in {"auto", "bsgs"}:
            candidates += [
                _candidate(context, Plan(packing, Algorithm.bsgs, baby), span, level, memory)
                for baby in _baby_steps(packing.diagonals, price is not None)
            ]
        # The paper's method and its one-key form use the paper's packing.
        if span == "compact":
            candidates += [
                _candidate(context, Plan(packing, a, 1), span, level, memory)
                for a in (Algorithm.diagonal, Algorithm.horner)
                if algorithm in {"auto", a.name}
            ]
    usable = [c for c in candidates if not c.refused]
    if not usable:
        least = min(candidates, key=lambda c: c.memory)
        raise MemoryLimitError(
            f"no plan for the {rows} x {cols} matrix fits in {(memory or 0) / 2**20:.1f} MiB; "
            f"the smallest ({least.algorithm}, {least.span}) needs {math.ceil(least.memory / 2**20)} MiB: "
            "raise the limit, or let inputs enter at a lower level"
        )

    def weigh(candidate: Candidate) -> float:
        return candidate.cost.weight if price is None else price(candidate.plan)

    return Choice(rows, cols, level, tuple(candidates), min(usable, key=weigh))


def _baby_steps(diagonals: int, every: bool) -> list[int]:
    """Numbers of baby steps to try: powers of two, or also `every` one up to twice the square root and a little."""
    powers = {1 << k for k in range(diagonals.bit_length())}
    return sorted(powers | set(range(1, min(diagonals, 2 * math.isqrt(diagonals) + 2) + 1)) if every else powers)


def _candidate(context: Context, plan: Plan, span: str, level: int, memory: int | None) -> Candidate:
    cost = Matvec.cost(context, plan, level)
    total = cost.key_storage + cost.plaintext_storage + cost.working
    refused = ""
    if memory is not None and total > memory:
        refused = f"needs {total / 2**20:.0f} MiB of {memory / 2**20:.0f}"
    return Candidate(plan, span, cost, total, refused)
