# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Plans of a product of two encrypted matrices: what is rotated, masked, multiplied and added, and where.

A plan says nothing of levels, keys or schedules. `ringforge.matmul.cost` counts what it takes,
:func:`simulate` runs it on plain numbers.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge.errors import ShapeError
from ringforge.matmul.layout import Layout
from ringforge.matmul.slots import Indices, SlotMatrix, period

Complex = npt.NDArray[np.complex128]


@dataclass(frozen=True, eq=False)
class Term:
    """One rotated copy of a base, masked or as it is.

    Args:
        base: number of the base.
        step: left rotation, 0 ... slots - 1.
        support: ascending slots (uint32) where the 0/1 mask is 1, numbered after the rotation; None multiplies
            by nothing and takes no level.
    """

    base: int
    step: int
    support: Indices | None = None


#: Sum of terms. In all shifts of one side of a lazy plan either every term has a mask, or there is one term only and
#: none has. Other plans may mix such shifts.
Shift = tuple[Term, ...]


@dataclass(frozen=True)
class OutlineTerm:
    """A term without its mask's slots.

    Args:
        base, step: as of the term.
        mask: what tells the mask from others, or None without one: a digest, and by how much it was moved.
        period: of the mask's slots, a power of two.
        size: slots where the mask is 1.
    """

    base: int
    step: int
    mask: tuple[Any, ...] | None = None
    period: int = 1
    size: int = 0


Outline = tuple[OutlineTerm, ...]


def outline(shift: Shift, slots: int) -> Outline:
    """A shift without its masks' slots."""
    return tuple(
        OutlineTerm(t.base, t.step)
        if t.support is None
        else OutlineTerm(t.base, t.step, _name(t.support), period(slots, t.support), len(t.support))
        for t in shift
    )


def _name(support: Indices) -> tuple[Any, ...]:
    return (blake2b(support.tobytes(), digest_size=16).digest(), 0)


@dataclass(frozen=True, eq=False)
class Transform:
    """A linear map of the slots; takes one level.

    Args:
        matrix: the map.
        generators: (stride, count) progressions 0, stride, ..., stride * (count - 1); stride may be negative. Each
            diagonal is, modulo slots, the sum of one element of each. A hint for splitting the diagonals into
            baby and giant steps; may be empty.
    """

    matrix: SlotMatrix
    generators: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Replicate:
    """For each step in turn, x += x rotated left by it; takes no level."""

    steps: tuple[int, ...]


@dataclass(frozen=True)
class Ladder:
    """The sum of some rotated copies of x, rotated left by 0, unit, 2 unit, ...; takes no level.

    Args:
        unit: slots between copies.
        additions: made[0] = x; each pair (i, j) makes one more: made[i] plus made[j], rotated on by what made[i] has.
            The last is the sum.
    """

    unit: int
    additions: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, unit: int, count: int) -> Ladder:
        """A short one for `count` copies: by bits, or by a factor and the rest."""
        counts, additions = [1], list[tuple[int, int]]()
        for number in _chain(count)[1:]:
            i = next(i for i, a in enumerate(counts) if number - a in counts)
            additions.append((i, counts.index(number - counts[i])))
            counts.append(number)
        return cls(unit, tuple(additions))

    @property
    def counts(self) -> list[int]:
        """Copies in each of what is made."""
        out = [1]
        for i, j in self.additions:
            out.append(out[i] + out[j])
        return out

    @property
    def steps(self) -> tuple[int, ...]:
        """The rotation of each addition."""
        counts = self.counts
        return tuple(counts[i] * self.unit for i, _ in self.additions)

    def run(self, x: Any, rotate: Callable[[Any, int], Any], add: Callable[[Any, Any], Any]) -> Any:
        """The sum, by these operations."""
        made = [x]
        for (i, j), step in zip(self.additions, self.steps, strict=True):
            made.append(add(made[i], rotate(made[j], step)))
        return made[-1]


@lru_cache(maxsize=4096)
def _chain(count: int) -> tuple[int, ...]:
    """A short addition chain: ascending numbers from 1, each the sum of two before it."""
    if count == 1:
        return (1,)
    below = _chain(count // 2)
    best = (*below, count) if count % 2 == 0 else (*below, count - 1, count)
    for factor in range(3, math.isqrt(count) + 1, 2):
        if count % factor == 0:
            for a, b in ((factor, count // factor), (count // factor, factor)):
                chain = (*_chain(a), *(a * x for x in _chain(b)[1:]))
                best = min(best, chain, key=len)
    return best


Stage = Transform | Replicate


@dataclass(frozen=True, eq=False)
class Operand:
    """What becomes of one input: stages for all (`prefix`), then each base's own.

    The bases are the ciphertexts that `Term.base` numbers. They leave their stages at one common level.
    """

    prefix: tuple[Stage, ...]
    bases: tuple[tuple[Stage, ...], ...]

    @cached_property
    def transforms(self) -> int:
        """Levels that the longest chain of stages takes."""

        def levels(stages: Iterable[Stage]) -> int:
            return sum(isinstance(s, Transform) for s in stages)

        return levels(self.prefix) + max(map(levels, self.bases))


@dataclass(frozen=True)
class Group:
    """Pairs whose products are added, then rotated left by `outer` (0: not at all)."""

    outer: int
    pairs: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ProductPlan:
    """How C = A B is computed for A (m x l) and B (l x n), one ciphertext each.

    C = tail(ladder(fold(Re(sum over groups of Rot_outer(sum over the pairs of left shift * right shift))))), where
    Re, fold, ladder and tail are there if the plan says so.

    Args:
        method: which method made it.
        m, l, n: shape.
        slots: numbers in a ciphertext.
        left_layout, right_layout, out_layout: of A, of B, of C.
        left, right: the transforms of the operands.
        groups: the pairs and the rotation of each group's sum.
        pair: makes the two shifts of a pair; its masks are built at each call and not kept.
        lazy: products of a group are added before they are relinearised, and the two operands share ModUps.
        real_part: the sum is replaced by its real part.
        folds: for each step in turn, x += x rotated left by it.
        ladder: a sum of copies that follows the folds, or None; lazy plans only.
        tail: last transform, or None.
        note: what slots outside of the result hold, and where the plan deviates from its source.
        label: short name of this variant among others of the same method.
        copies: that a mask makes of each entry in the left and in the right bases, where a slot of the result gathers
            one of them at most; 0 where it gathers one at most of those that rotations make after that too. What
            copies of one error can add up to depends on it.
    """

    method: str
    m: int
    l: int  # noqa: E741
    n: int
    slots: int
    left_layout: Layout
    right_layout: Layout
    out_layout: Layout
    left: Operand
    right: Operand
    groups: tuple[Group, ...]
    pair: Callable[[int], tuple[Shift, Shift]]
    lazy: bool
    real_part: bool = False
    folds: tuple[int, ...] = ()
    tail: Transform | None = None
    note: str = ""
    label: str = field(default="")
    ladder: Ladder | None = None
    copies: tuple[int, int] = (1, 1)

    @property
    def pairs(self) -> tuple[int, ...]:
        """All pairs in the order of their groups."""
        return tuple(k for g in self.groups for k in g.pairs)

    @cached_property
    def masked(self) -> bool:
        """Some shift has a mask, so all products happen one level below the bases."""
        return any(t.support is not None for k in self.pairs for side in self.pair(k) for t in side)

    @cached_property
    def transforms(self) -> int:
        """Levels above the bases: both operands start where the one with more transforms needs it."""
        return max(self.left.transforms, self.right.transforms)

    @cached_property
    def depth(self) -> int:
        """Levels from the inputs to the result."""
        return self.transforms + int(self.masked) + 1 + int(self.tail is not None)

    def __repr__(self) -> str:
        name = f"{self.method} {self.label}".strip()
        return f"ProductPlan({name}, {self.m}x{self.l}x{self.n} in {self.slots} slots)"


def simulate(plan: ProductPlan, a: npt.ArrayLike, b: npt.ArrayLike) -> npt.NDArray[Any]:
    """The plan on plain numbers: C = A B, (m, n). Complex if the plan keeps imaginary parts and some are not 0.

    Raises:
        ShapeError: the matrices do not have the plan's shapes.
    """
    out = plan.out_layout.unpack(simulate_slots(plan, a, b))
    return out if np.abs(out.imag).max() > 0 else out.real


def simulate_slots(plan: ProductPlan, a: npt.ArrayLike, b: npt.ArrayLike) -> Complex:
    """As :func:`simulate`, but all slots of the result, (slots,)."""
    left = _bases(plan.left, plan.left_layout.pack(a, plan.slots))
    right = _bases(plan.right, plan.right_layout.pack(b, plan.slots))
    total: Complex = np.zeros(plan.slots, dtype=np.complex128)
    for group in plan.groups:
        part = np.zeros(plan.slots, dtype=np.complex128)
        for k in group.pairs:
            first, second = plan.pair(k)
            part += shifted(left, first) * shifted(right, second)
        total += np.roll(part, -group.outer)
    if plan.real_part:
        total = total.real.astype(np.complex128)
    for step in plan.folds:
        total = total + np.roll(total, -step)
    if plan.ladder is not None:
        total = plan.ladder.run(total, lambda x, step: np.roll(x, -step), operator.add)
    return total if plan.tail is None else plan.tail.matrix.apply(total)


def run_stages(stages: Iterable[Stage], x: Complex) -> Complex:
    """Stages applied to plain slots, (slots,)."""
    for stage in stages:
        if isinstance(stage, Transform):
            x = stage.matrix.apply(x)
        else:
            for step in stage.steps:
                x = x + np.roll(x, -step)
    return x


def _bases(operand: Operand, x: npt.NDArray[np.float64]) -> list[Complex]:
    start = run_stages(operand.prefix, x.astype(np.complex128))
    return [run_stages(stages, start) for stages in operand.bases]


def shifted(bases: list[Complex], shift: Shift) -> Complex:
    """A shift of plain bases.

    Raises:
        ShapeError: a term without a mask has company.
    """
    if len(shift) > 1 and any(t.support is None for t in shift):
        raise ShapeError("a shift is one bare rotation, or masked terms only")
    out = np.zeros_like(bases[0])
    for term in shift:
        rotated = np.roll(bases[term.base], -term.step)
        if term.support is None:
            return rotated
        out[term.support] += rotated[term.support]
    return out
