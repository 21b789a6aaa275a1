# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a plan takes: exact operation counts, keys, memory, and one number to compare plans by.

What single operations, linear transforms and sums of products take is counted by the library that runs them
(`ringforge/circuits/cost.hpp` has the rules). Here they are put together as :mod:`ringforge.matmul.engine` does:
transforms of both operands, then for lazy plans a sum of products. Other plans take two transforms for each pair (bare
shifts: a full rotation), ModUp, key switch and two ModDowns that drop K to relinearise, and at the end two that drop
1. Then conjugation and folds as full rotations.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from ringforge._native import Context, GadgetShape, Schedule, Tally, Work
from ringforge.errors import LevelError, ParameterError
from ringforge.matmul.plan import Operand, Outline, ProductPlan, Replicate, Stage, Transform, outline
from ringforge.matmul.slots import SlotMatrix, period, split

SCHEDULES = ("naive", "hoisted", "mo", "bsgs")

#: Freed buffers that wait for another use, as a factor (measured: 3 to 12 % over six plans); maps, tables of rotations.
KEPT, SMALL_OBJECTS = 1.07, 8 << 20

Sizes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class StageWork:
    """Counts of one stage of a plan: a transform, copies of rows or columns, all products, or what follows them.

    Args:
        phase: "left", "right", "products" or "end".
        name: what it is, in a word or two.
        limbs: of what it works on.
        work: exact counts.
        steps: rotations of its key switches, but for products; those of a transform are its babies, then its giants.
    """

    phase: str
    name: str
    limbs: int
    work: Work
    steps: tuple[int, ...] = ()


class Pricing(Hashable, Protocol):
    """What steps and plans cost on something else than the CPU. Hashable; equal ones price alike."""

    def step_weights(self, gadget: GadgetShape, limbs: int) -> tuple[float, float]:
        """Weights of a baby step and of a giant step of a transform of so many limbs."""
        ...

    def weigh(self, gadget: GadgetShape, plan: ProductPlan, cost: ProductCost) -> float:
        """One number for a plan's counts, keys and encoded vectors."""
        ...


@dataclass(frozen=True)
class ProductCost:
    """What one product takes.

    Args:
        ops: exact counts.
        phases: the same for the left and right transforms, the products, and what follows.
        stages: the same by stage, in order.
        keys: limbs of the key of each rotation step; step -1 stands for conjugation, relinearisation is apart.
        relin_limbs: limbs of the relinearisation key.
        key_storage, plaintext_storage: bytes of all keys, of the encoded diagonals and masks.
        working: bytes of ciphertexts and temporaries, at most (an estimate).
        weight: of the counts; what the planner minimises.
    """

    ops: Work
    phases: dict[str, Work]
    stages: tuple[StageWork, ...]
    keys: dict[int, int]
    relin_limbs: int
    key_storage: int
    plaintext_storage: int
    working: int
    weight: float

    @property
    def memory(self) -> int:
        """Bytes that a process grows by: keys, encoded vectors, temporaries, and what the allocator keeps."""
        return int(KEPT * (self.key_storage + self.plaintext_storage + self.working)) + SMALL_OBJECTS


def split_steps(
    context: Context,
    steps: Sequence[int] | npt.NDArray[Any],
    level: int,
    generators: Sequence[tuple[int, int]] = (),
    pricing: Pricing | None = None,
) -> npt.NDArray[np.uint32]:
    """The baby step of each diagonal for a transform at a level of a context; the giant step is the rest."""
    return _babies(context.gadget, steps, context.gadget.degree // 2, generators, level + 1, pricing)


def _babies(
    gadget: GadgetShape,
    steps: Sequence[int] | npt.NDArray[Any],
    slots: int,
    generators: Sequence[tuple[int, int]],
    limbs: int,
    pricing: Pricing | None,
) -> npt.NDArray[np.uint32]:
    weights = gadget.step_weights(limbs) if pricing is None else pricing.step_weights(gadget, limbs)
    return split(steps, slots, generators, *weights).baby_of


CONJUGATION = -1


def cost(
    plan: ProductPlan,
    gadget: GadgetShape,
    limbs: int,
    *,
    schedule: str = "bsgs",
    via: int = 0,
    compact: str = "",
    pricing: Pricing | None = None,
) -> ProductCost:
    """Counts of a plan for inputs of `limbs` limbs (level + 1).

    Args:
        gadget: of the parameters, `context.gadget`.
        schedule: of the transforms (and of the shifts, if the plan is not lazy).
        via: lazy plans: rotations of the products are made in two parts, a multiple of `via` steps and the rest;
            0: in one.
        compact: encoded vectors keep coefficients only; their limbs are made at each use: "masks" those of the
            products, "all", or "" for none.
        pricing: decides baby steps and weight; None: as the CPU does best.

    Raises:
        LevelError: fewer limbs than the plan's depth and one more. ParameterError: unknown schedule.
    """
    if schedule not in SCHEDULES:
        raise ParameterError(f'there is no schedule "{schedule}"; choose one of {", ".join(SCHEDULES)}')
    if limbs <= plan.depth:
        raise LevelError(
            f"a {plan.m} x {plan.l} by {plan.l} x {plan.n} product by {plan.method} takes {plan.depth} levels, the "
            f"operands have {limbs - 1}: encrypt at a higher level, or use parameters with more primes"
        )
    base = limbs - plan.transforms
    product = base - int(plan.masked)
    run = _Run(Tally(gadget, compact == "all"), schedule, pricing)
    for name, operand in (("left", plan.left), ("right", plan.right)):
        run.operand(name, operand, base + operand.transforms)
    tally = run.tally
    if plan.lazy:
        tally.compact = compact != ""
        (left_terms, left_first), (right_terms, right_first) = _sides(plan)
        groups = [(g.outer % plan.slots, len(g.pairs)) for g in plan.groups]
        bases = len(plan.left.bases), len(plan.right.bases)
        left, right = (bases[0], left_terms, left_first), (bases[1], right_terms, right_first)
        tally.pair_sum(*left, *right, groups, plan.slots, base, product, via)
        tally.compact = compact == "all"
    else:
        run.separate(plan, base, product)
    run.stage("products", "products", base)
    steps = (CONJUGATION,) * plan.real_part + plan.folds
    for step in steps:
        tally.rotate(product - 1, step)
    if plan.ladder is not None:
        steps += plan.ladder.steps
        for step in plan.ladder.steps:
            tally.rotate(product - 1, step)
    run.stage("end", "conjugation, folds", product - 1, steps)
    if plan.tail is not None:
        rotations = run.transform(plan.tail, product - 1)
        run.stage("end", "last transform", product - 1, rotations)
    total = Work()
    phases = {name: Work() for name in ("left", "right", "products", "end")}
    for stage in run.stages:
        total = total + stage.work
        phases[stage.phase] = phases[stage.phase] + stage.work
    keys = dict(tally.keys)
    key_storage = sum(map(gadget.key_bytes, keys.values())) + gadget.key_bytes(product)
    # Both inputs live on.
    working = tally.working + 32 * limbs * gadget.degree
    found = ProductCost(
        *(total, phases, tuple(run.stages), keys, product, key_storage, tally.storage, working, total.weight(gadget))
    )
    return found if pricing is None else replace(found, weight=pricing.weigh(gadget, plan, found))


# ---- transforms ----------------------------------------------------------------------------------


class _Run:
    """Counts a plan, stage by stage."""

    def __init__(self, tally: Tally, schedule: str, pricing: Pricing | None) -> None:
        self.tally, self.schedule, self.pricing = tally, schedule, pricing
        self.stages: list[StageWork] = []

    def stage(self, phase: str, name: str, limbs: int, steps: tuple[int, ...] = ()) -> None:
        """What has been counted since the last one."""
        self.stages.append(StageWork(phase, name, limbs, self.tally.work + Work(), steps))
        self.tally.work = Work()

    def operand(self, phase: str, operand: Operand, x: int) -> None:
        x = self._chain(phase, operand.prefix, x)
        for stages in operand.bases:
            self._chain(phase, stages, x)

    def _chain(self, phase: str, stages: Iterable[Stage], x: int) -> int:
        for stage in stages:
            if isinstance(stage, Replicate):
                for step in stage.steps:
                    self.tally.rotate(x, step)
                self.stage(phase, "copies", x, stage.steps)
            else:
                steps = self.transform(stage, x)
                self.stage(phase, f"{stage.matrix.diagonals} diagonals", x, steps)
                x -= 1
        return x

    def transform(self, transform: Transform, x: int) -> tuple[int, ...]:
        """Counts a transform; returns the rotations of its key switches."""
        matrix = transform.matrix
        kept, rotations = self.diagonals(matrix.steps, matrix_periods(matrix), matrix.slots, transform.generators, x)
        self.tally.storage += kept
        return rotations

    def diagonals(
        self,
        steps: npt.NDArray[np.uint32],
        periods: Sizes,
        slots: int,
        generators: tuple[tuple[int, int], ...],
        x: int,
    ) -> tuple[int, tuple[int, ...]]:
        """Counts a transform with these diagonals; returns their bytes and the rotations of its key switches."""
        babies = steps
        if self.schedule == "bsgs":
            babies = _babies(self.tally.gadget, steps, slots, generators, x, self.pricing)
        giants = (steps.astype(np.int64) - babies) % slots
        rotations = tuple(s for of in (babies, giants) for s in np.unique(of).tolist() if s)
        return self.tally.transform(steps, babies, periods, slots, x, getattr(Schedule, self.schedule)), rotations

    def separate(self, plan: ProductPlan, base: int, product: int) -> None:
        """Two transforms, a product and a relinearisation for each pair; one rescale of the sum."""
        tally, gadget = self.tally, self.tally.gadget
        largest = 0
        for group in plan.groups:
            for k in group.pairs:
                encoded = 0
                for shift in pair_outline(plan, k):
                    if len(shift) == 1 and shift[0].mask is None:
                        tally.rotate(product, shift[0].step)
                        continue
                    for number in sorted({t.base for t in shift}):
                        mine = sorted((t for t in shift if t.base == number), key=lambda t: t.step)
                        steps = np.array([t.step for t in mine], dtype=np.uint32)
                        periods = np.array([t.period for t in mine], dtype=np.int64)
                        encoded += self.diagonals(steps, periods, plan.slots, (), base)[0]
                largest = max(largest, encoded)
                tally.multiplied(4 * product)
                tally.mod_up(product)
                tally.key_switch(product, None)
                tally.mod_down(gadget.special, product, 2)
            if group.outer:
                tally.rotate(product, group.outer % plan.slots)
        tally.mod_down(1, product - 1, 2)
        tally.storage += largest
        bases = len(plan.left.bases) + len(plan.right.bases)
        tally.need(
            bases * 2 * base + 8 * product + gadget.digits(base) * gadget.extended(base) + 6 * gadget.extended(base)
        )


_periods: WeakKeyDictionary[SlotMatrix, Sizes] = WeakKeyDictionary()


def matrix_periods(matrix: SlotMatrix) -> Sizes:
    """The period of each diagonal's slots, a power of two up to the number of slots."""
    if matrix not in _periods:
        found = [period(matrix.slots, *matrix.diagonal(d)) for d in range(matrix.diagonals)]
        _periods[matrix] = np.array(found, dtype=np.int64)
    return _periods[matrix]


# ---- products ------------------------------------------------------------------------------------


def pair_outline(plan: ProductPlan, k: int) -> tuple[Outline, Outline]:
    """Both shifts of a pair without their masks' slots; some methods remember it."""
    remembered = getattr(plan.pair, "outline", None)
    if remembered is not None:
        known: tuple[Outline, Outline] = remembered(k)
        return known
    left, right = plan.pair(k)
    return outline(left, plan.slots), outline(right, plan.slots)


_Side = tuple[Sizes, Sizes]
_known_sides: WeakKeyDictionary[ProductPlan, tuple[_Side, _Side]] = WeakKeyDictionary()


def _sides(plan: ProductPlan) -> tuple[_Side, _Side]:
    """For each side the terms of all shifts, (terms, 4): base, step, period, size or -1; and where shifts begin."""
    if plan not in _known_sides:
        pairs = [pair_outline(plan, k) for k in plan.pairs]
        _known_sides[plan] = _flat([p[0] for p in pairs]), _flat([p[1] for p in pairs])
    return _known_sides[plan]


def _flat(shifts: list[Outline]) -> _Side:
    terms = [(t.base, t.step, t.period, -1 if t.mask is None else t.size) for shift in shifts for t in shift]
    first = np.cumsum([0, *map(len, shifts)], dtype=np.int64)
    return np.array(terms, dtype=np.int64).reshape(-1, 4), first
