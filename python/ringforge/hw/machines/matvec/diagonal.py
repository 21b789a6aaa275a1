# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The paper's diagonal method, and its one-key form.

For every diagonal d the matrix's plaintext times the input is rescaled and rotated by d; the results are summed.
Group k takes the diagonals d = k mod g, keeps its sum on chip, and the groups add up their sums once per result.

`horner` computes the same sum as acc = P_d + Rot_1(acc), one rotation after the other, with one key: a chain that
only one group can work on, so row blocks are shared among the groups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ringforge._native import Algorithm
from ringforge.hw.machines.matvec.finish import Pair, add_pairs, finish, inputs, reduce_pair, zeros
from ringforge.hw.machines.matvec.job import Job
from ringforge.hw.vector.drop import rescale
from ringforge.hw.vector.ir import KEEP, GroupCode, Limbs, Value
from ringforge.hw.vector.keyswitch import rotate


class _PartialSums:
    """Rescaled products of one group, diagonal by diagonal, with the next plaintext loaded ahead."""

    def __init__(self, job: Job, g: GroupCode, order: list[tuple[int, int]]) -> None:
        self.job, self.g = job, g
        self.inputs = inputs(job)
        self.pending = [term for at in order for term in job.terms[at]]
        self.loaded: Limbs = {}

    def load(self) -> None:
        """Loads the next plaintext."""
        if not self.loaded and self.pending:
            term = self.pending[0][0]
            job, g = self.job, self.g
            self.loaded = {i: g.at(i).load(job.matrix(term, i), bank=KEEP) for i in range(job.limbs)}

    def next(self, row_block: int, diagonal: int, beside: Sequence[Sequence[Callable[[], None]]] = ()) -> Pair:
        """The partial sum of a diagonal: for each input product and rescale, and their sum.

        Args:
            row_block, diagonal: which one.
            beside: per element, writes operations that may run beside the first transforms.
        """
        job, g = self.job, self.g
        total: Pair | None = None
        for _, block, _ in job.terms[row_block, diagonal]:
            self.load()
            self.pending.pop(0)
            plain, self.loaded = self.loaded, {}
            x = self.inputs[block]
            product = (
                {i: g.at(i).multiply(x[0][i], plain[i], i, bank=KEEP) for i in plain},
                {i: g.at(i).multiply(x[1][i], plain[i], i, bank=0) for i in plain},
            )
            if not job.options.tiling:
                g.flush(*x)
            g.primitive(*product)
            scaled = rescale(g, product, beside)
            beside = ()
            g.primitive(*scaled)
            total = add_pairs(g, total, scaled)
        assert total is not None
        return total


class _Total:
    """The sum of a group's rotated partial sums. The last one is added beside the first transforms of the next."""

    def __init__(self, job: Job, g: GroupCode) -> None:
        self.job, self.g = job, g
        self.sums: Pair = ({}, {})
        self.last: Pair | None = None

    @property
    def begun(self) -> bool:
        """Something has been added."""
        return bool(self.sums[0])

    def add(self, pair: Pair) -> None:
        """Remembers a partial sum; the one before must have been written."""
        assert self.last is None
        self.last = pair

    def writes(self) -> list[list[Callable[[], None]]]:
        """Per element, what adds the last partial sum."""
        last, self.last = self.last, None
        out: list[list[Callable[[], None]]] = [[] for _ in range(self.g.pes)]
        if last is not None:
            for part in (0, 1):
                for i, value in last[part].items():
                    out[self.g.owner(i)].append(self._write(part, i, value))
        return out

    def complete(self) -> Pair | None:
        """The sum, or None when there is nothing."""
        for writes in self.writes():
            for write in writes:
                write()
        return self.sums if self.begun else None

    def _write(self, part: int, limb: int, value: Value) -> Callable[[], None]:
        def write() -> None:
            element, sums = self.g.at(limb), self.sums[part]
            if limb in sums:
                value_now = element.add(value, sums[limb], limb, self.g.target.one(limb), bank=KEEP)
                if not (self.job.options.fusion and self.job.options.tiling):
                    element.flush(value_now)
                sums[limb] = value_now
            else:
                sums[limb] = value

        return write


def write(job: Job, g: GroupCode, group: int) -> None:
    """Writes one group's operations."""
    if group >= job.groups:
        return
    if job.algorithm == Algorithm.horner:
        _write_horner(job, g, group)
    else:
        _write_diagonal(job, g, group)


def _write_diagonal(job: Job, g: GroupCode, group: int) -> None:
    mine = job.mine(group, 0, job.diagonals)
    partial = _PartialSums(job, g, [(r, d) for r in range(job.row_blocks) for d in mine])
    for row_block in range(job.row_blocks):
        sums = _Total(job, g)
        for d in mine:
            pair = partial.next(row_block, d, sums.writes())
            if d > 0:
                # The first one stays as the sum; the others are added to it from other banks.
                banks = (0, 1) if sums.begun else (KEEP, KEEP)
                pair = rotate(g, pair, job.element(d), job.key(d), before_turn=partial.load, banks=banks)
            sums.add(pair)
        total = sums.complete() or zeros(job, job.limbs - 1)
        if job.groups > 1:
            total = reduce_pair(g, total)
        finish(job, g, row_block, total, group if job.groups > 1 else None)


def _write_horner(job: Job, g: GroupCode, group: int) -> None:
    rows = job.mine(group, 0, job.row_blocks)
    down = range(job.diagonals - 1, -1, -1)
    partial = _PartialSums(job, g, [(r, d) for r in rows for d in down])
    for row_block in rows:
        total: Pair | None = None
        for d in down:
            pair = partial.next(row_block, d)
            if total is not None:
                pair = add_pairs(
                    g, pair, rotate(g, total, job.element(1), job.key(1), before_turn=partial.load, banks=(0, 1))
                )
            total = pair
            if not job.options.tiling:
                g.flush(*total)
        assert total is not None
        finish(job, g, row_block, total)
