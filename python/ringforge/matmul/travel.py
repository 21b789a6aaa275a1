# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""How kernels of matrices are pickled: diagonals and plans as numbers and arrays, made anew elsewhere.

Importing this module makes the kernels' parts picklable; parameters and contexts are so by themselves.
"""

from __future__ import annotations

import copyreg
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge._native import Diagonals, PairSumPlan, Schedule


def _diagonals(d: Diagonals) -> tuple[Any, ...]:
    targets: list[npt.NDArray[np.uint32]] = []
    values: list[npt.NDArray[np.complex128]] = []
    for i in range(len(d)):
        row = d.diagonal(i)
        targets.append(np.flatnonzero(row).astype(np.uint32))
        values.append(row[targets[-1]])
    offsets = np.cumsum([0, *map(len, targets)]).astype(np.uint64)
    entries = np.concatenate(values) if values else np.zeros(0, np.complex128)
    # Ones are left away, as where the map was made.
    kept = np.zeros(0, np.complex128) if (entries == 1).all() else entries
    steps = np.ascontiguousarray(d.steps, np.uint32)
    return Diagonals, (d.slots, steps, offsets, np.concatenate(targets) if targets else steps[:0], kept)


def _pairs(plan: PairSumPlan) -> tuple[Any, ...]:
    masks = [np.array(m, np.uint32) for m in plan.masks]
    folds = np.array(plan.folds, np.uint32)
    made = (plan.left_bases, plan.right_bases, masks, plan.real_part, folds, plan.left_copies, plan.right_copies)
    return pair_plan, (made, plan.groups)


def pair_plan(made: tuple[Any, ...], groups: list[Any]) -> PairSumPlan:
    """A native plan of its parts."""
    plan = PairSumPlan(*made)
    for outer, pairs in groups:
        plan.add_group(outer)
        for left, right in pairs:
            plan.add_pair(left, right)
    return plan


def schedule(name: str) -> Schedule:
    """By name."""
    found: Schedule = getattr(Schedule, name)
    return found


def _schedule(s: Schedule) -> tuple[Any, ...]:
    return schedule, (s.name,)


copyreg.pickle(Diagonals, _diagonals)
copyreg.pickle(PairSumPlan, _pairs)
copyreg.pickle(Schedule, _schedule)
