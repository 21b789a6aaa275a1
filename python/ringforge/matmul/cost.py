# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a plan takes: exact operation counts, keys, memory, and one number to compare plans by.

The rules, with x limbs at a point, K special primes, ext = x + K, dn digits of alpha limbs (dn = ceil(x / alpha)):

* ModUp: x inverse transforms, dn ext - x transforms. A key switch (inner product only) reads 2 dn ext N words.
* ModDown of one polynomial that drops d limbs and keeps x': d inverse transforms, x' transforms. A full rotation is
  ModUp, key switch and two ModDowns that drop K.
* Transform, `hoisted` and `mo`: one ModUp, one key switch for each diagonal but 0, at the end two ModDowns that
  drop K + 1 limbs. `naive`: a full rotation for each diagonal but 0, at the end two that drop 1. `bsgs`: one ModUp if a
  baby step is not 0, one key switch for each of those, ModDown of one polynomial, ModUp and key switch for
  each giant step that is not 0, and the same end as `hoisted`. One that does not rotate ends like `naive`.
* Products of lazy plans: one ModUp for each base that is rotated; a bare rotation is a key switch and two ModDowns
  that drop K, made once for all pairs that use it. A masked shift is one key switch and two ModDowns that drop K + 1:
  all terms take the first one's rotation, after masks on bases rotated by what the others lack; those are few,
  made like bare rotations, have a ModUp each, and the last DERIVED of them are kept. Without a rotation it is two
  ModDowns that drop 1. Each group: ModUp and key switch to relinearise; with an outer
  rotation ModDown of one polynomial, ModUp and key switch more. At the end two ModDowns that drop K + 1, then
  conjugation and folds as full rotations.
* Other plans: two transforms for each pair (bare shifts: a full rotation), ModUp, key switch and two ModDowns that
  drop K to relinearise; at the end two ModDowns that drop 1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ringforge.errors import LevelError, ParameterError
from ringforge.matmul.plan import Operand, Outline, OutlineTerm, ProductPlan, Replicate, Stage, outline
from ringforge.matmul.slots import SlotMatrix, period, split

SCHEDULES = ("naive", "hoisted", "mo", "bsgs")

#: Weights: of a butterfly, of a word streamed from memory, of a word multiplied and added, of one in a base conversion.
BUTTERFLY, STREAMED, MULTIPLIED, CONVERTED = 1.0, 2.0, 1.0, 0.6

#: Freed buffers that wait for another use, as a factor (measured: 3 to 12 % over six plans); maps, tables of rotations.
KEPT, SMALL_OBJECTS = 1.07, 8 << 20

#: Rotated bases, and blends of two bases for complementary masks, that a side keeps.
DERIVED, BLENDS = 4, 2


@dataclass(frozen=True)
class Gadget:
    """N, special primes K, and limbs per digit alpha."""

    degree: int
    special: int
    alpha: int

    @classmethod
    def of(cls, parameters: Any) -> Gadget:
        """That of a parameter set."""
        return cls(parameters.degree, len(parameters.p), parameters.limbs_per_digit)

    def digits(self, x: int) -> int:
        return -(-x // self.alpha)

    def extended(self, x: int) -> int:
        return x + self.special

    def key_bytes(self, x: int) -> int:
        """Bytes of a switching key for x limbs."""
        return 16 * self.digits(x) * self.extended(x) * self.degree

    def raising(self, x: int) -> int:
        """Limb products of the base conversions of a ModUp; digits of one limb need none."""
        ext = self.extended(x)
        sizes = (min(self.alpha, x - first) for first in range(0, x, self.alpha))
        return sum(s * (ext - s) for s in sizes if s > 1)

    def weight(self, transforms: float, streamed: float, multiplied: float, converted: float = 0.0) -> float:
        """Transforms of one limb, limbs streamed, multiplied and added, and converted, as one number."""
        n = self.degree
        butterflies = transforms * n / 2 * (n.bit_length() - 1)
        return BUTTERFLY * butterflies + n * (STREAMED * streamed + MULTIPLIED * multiplied + CONVERTED * converted)

    def step_weights(self, x: int) -> tuple[float, float]:
        """Weights of a baby step and of a giant step at x limbs."""
        dn, ext = self.digits(x), self.extended(x)
        baby = self.weight(0, 2 * dn * ext, 2 * dn * ext)
        down = self.special * x if self.special > 1 else 0
        return baby, baby + self.weight(self.special + x + dn * ext, 0, 0, self.raising(x) + down)


@dataclass
class OpCount:
    """Counts as the library's counters have them, and limbs multiplied and added, and converted, which it has not."""

    ntt: int = 0
    intt: int = 0
    mod_up: int = 0
    mod_down: int = 0
    key_switch: int = 0
    rotation: int = 0
    plain_mul: int = 0
    key_bytes: int = 0
    plaintext_bytes: int = 0
    multiplied: int = 0
    converted: int = 0

    def __add__(self, other: OpCount) -> OpCount:
        return OpCount(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def weight(self, g: Gadget) -> float:
        """One number: butterflies, words streamed, words multiplied."""
        words = (self.key_bytes + self.plaintext_bytes) / (8 * g.degree)
        return g.weight(self.ntt + self.intt, words, self.multiplied, self.converted)


@dataclass(frozen=True)
class ProductCost:
    """What one product takes.

    Args:
        ops: exact counts.
        phases: the same for the left and right transforms, the products, and what follows.
        keys: limbs of the key of each rotation step; step -1 stands for conjugation, relinearisation is apart.
        relin_limbs: limbs of the relinearisation key.
        key_storage, plaintext_storage: bytes of all keys, of the encoded diagonals and masks.
        working: bytes of ciphertexts and temporaries, at most (an estimate).
        weight: of the counts; what the planner minimises.
    """

    ops: OpCount
    phases: dict[str, OpCount]
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
    context: Any, steps: Sequence[int] | np.ndarray[Any, Any], level: int, generators: Sequence[tuple[int, int]] = ()
) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """The baby step of each diagonal for a transform at a level of a context; the giant step is the rest."""
    gadget = Gadget.of(context.params)
    return split(steps, gadget.degree // 2, generators, *gadget.step_weights(level + 1)).baby_of


CONJUGATION = -1


@dataclass
class _Counter:
    """Counts of one phase, and what all phases share: keys, memory."""

    g: Gadget
    compact: bool
    ops: OpCount = field(default_factory=OpCount)
    keys: dict[int, int] = field(default_factory=dict)
    storage: int = 0
    working: int = 0

    def mod_up(self, x: int) -> None:
        self.ops.mod_up += 1
        self.ops.intt += x
        self.ops.ntt += self.g.digits(x) * self.g.extended(x) - x
        self.ops.converted += self.g.raising(x)

    def drop(self, gone: int, kept: int, times: int) -> None:
        self.ops.mod_down += times
        self.ops.intt += gone * times
        self.ops.ntt += kept * times
        self.ops.converted += gone * kept * times if gone > 1 else 0

    def switch(self, x: int, step: int | None) -> None:
        """Inner product with the key of a step, or of relinearisation (None)."""
        self.ops.key_switch += 1
        self.ops.key_bytes += self.g.key_bytes(x)
        self.ops.multiplied += 2 * self.g.digits(x) * self.g.extended(x)
        if step is not None:
            self.ops.rotation += 1
            self.keys[step] = max(x, self.keys.get(step, 0))

    def rotate(self, x: int, step: int) -> None:
        """A full rotation, or the conjugation."""
        if step != 0:
            self.mod_up(x)
            self.switch(x, step)
            self.drop(self.g.special, x, 2)

    def multiply(self, terms: int, limbs: int) -> None:
        """Products with encoded vectors."""
        self.ops.plain_mul += terms
        self.ops.plaintext_bytes += 8 * terms * limbs * self.g.degree
        self.ops.multiplied += 2 * terms * limbs

    def keep(self, period: int, limbs: int) -> int:
        """Bytes of an encoded vector with that period of its slots: runs of 16 equal words or more are stored once.

        Such runs have N / (2 period) words. A constant is taken to be real: one word.
        """
        n = self.g.degree
        if 32 * period <= n:
            return (16 * period if period > 1 else 8) * limbs
        return 8 * n * (1 if self.compact else limbs)

    def expand(self, period: int, limbs: int) -> None:
        """Transforms that make the limbs of a compactly kept vector."""
        if self.compact and 32 * period > self.g.degree:
            self.ops.ntt += limbs

    def need(self, limbs: int) -> None:
        """At least so many limbs are held at a time."""
        self.working = max(self.working, 8 * limbs * self.g.degree)


def cost(
    plan: ProductPlan,
    gadget: Gadget,
    limbs: int,
    *,
    schedule: str = "bsgs",
    via: int = 0,
    compact: str = "",
) -> ProductCost:
    """Counts of a plan for inputs of `limbs` limbs (level + 1).

    Args:
        schedule: of the transforms (and of the shifts, if the plan is not lazy).
        via: lazy plans: rotations of the products are made in two parts, a multiple of `via` steps and the rest;
            0: in one.
        compact: encoded vectors keep coefficients only; their limbs are made at each use: "masks" those of the
            products, "all", or "" for none.

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
    c = _Counter(gadget, compact == "all")
    phases: dict[str, OpCount] = {}

    def phase(name: str) -> None:
        phases[name] = c.ops
        c.ops = OpCount()

    for name, operand in (("left", plan.left), ("right", plan.right)):
        _operand(c, operand, base + operand.transforms, schedule)
        phase(name)
    if plan.lazy:
        c.compact = compact != ""
        _products(c, plan, base, product, via)
        c.compact = compact == "all"
    else:
        _separate(c, plan, base, product, schedule)
    phase("products")
    if plan.real_part:
        c.rotate(product - 1, CONJUGATION)
    for step in plan.folds:
        c.rotate(product - 1, step)
    if plan.tail is not None:
        _transform(c, plan.tail.matrix, plan.tail.generators, product - 1, schedule)
    phase("end")
    total = OpCount()
    for ops in phases.values():
        total = total + ops
    key_storage = sum(map(gadget.key_bytes, c.keys.values())) + gadget.key_bytes(product)
    # Both inputs live on.
    working = c.working + 32 * limbs * gadget.degree
    return ProductCost(
        total, phases, dict(sorted(c.keys.items())), product, key_storage, c.storage, working, total.weight(gadget)
    )


# ---- transforms ----------------------------------------------------------------------------------


def _operand(c: _Counter, operand: Operand, x: int, schedule: str) -> None:
    x = _stages(c, operand.prefix, x, schedule)
    for stages in operand.bases:
        _stages(c, stages, x, schedule)


def _stages(c: _Counter, stages: Iterable[Stage], x: int, schedule: str) -> int:
    for stage in stages:
        if isinstance(stage, Replicate):
            for step in stage.steps:
                c.rotate(x, step)
        else:
            _transform(c, stage.matrix, stage.generators, x, schedule)
            x -= 1
    return x


def _transform(c: _Counter, matrix: SlotMatrix, generators: tuple[tuple[int, int], ...], x: int, schedule: str) -> None:
    c.storage += _hlt(c, matrix.steps, matrix_periods(matrix), matrix.slots, generators, x, schedule)


def _hlt(
    c: _Counter,
    steps: np.ndarray[Any, Any],
    periods: Sequence[int],
    slots: int,
    generators: tuple[tuple[int, int], ...],
    x: int,
    schedule: str,
) -> int:
    """Counts a transform with these diagonals; bytes of the diagonals."""
    g = c.g
    ext = g.extended(x)
    moving = [int(z) for z in steps if z]
    if not moving or schedule == "naive":
        for z in moving:
            c.rotate(x, z)
        c.multiply(len(steps), x)
        c.drop(1, x - 1, 2)
        for p in periods:
            c.expand(p, x)
        c.need(8 * x + g.digits(x) * ext)
        return sum(c.keep(p, x) for p in periods)
    if schedule == "bsgs":
        parts = split(steps, slots, generators, *g.step_weights(x))
        rotated = parts.baby_of != 0
        babies = [b for b in parts.babies if b]
        giants = [z for z in parts.giants if z]
        held = len(parts.giants) * 2 * ext
    else:
        rotated = np.asarray(steps) != 0
        babies, giants = moving, []
        held = 2 * ext
    if babies:
        c.mod_up(x)
    for z in babies:
        c.switch(x, z)
    c.multiply(len(steps), ext)
    for p, r in zip(periods, rotated, strict=True):
        c.expand(p, ext if r else x)
    for z in giants:
        c.drop(g.special, x, 1)
        c.mod_up(x)
        c.switch(x, z)
    c.drop(g.special + 1, x - 1, 2)
    c.need(held + 4 * ext + 4 * x + g.digits(x) * ext)
    return sum(c.keep(p, ext) for p in periods)


_periods: WeakKeyDictionary[SlotMatrix, tuple[int, ...]] = WeakKeyDictionary()


def matrix_periods(matrix: SlotMatrix) -> tuple[int, ...]:
    """The period of each diagonal's slots, a power of two up to the number of slots."""
    if matrix not in _periods:
        _periods[matrix] = tuple(period(matrix.slots, *matrix.diagonal(d)) for d in range(matrix.diagonals))
    return _periods[matrix]


# ---- products ------------------------------------------------------------------------------------

#: Base, rotation, and which of several made alike.
_Source = tuple[int, int, int]


class _Side:
    """One operand of the products of a lazy plan: what is kept and made anew as the pairs go by."""

    def __init__(self, c: _Counter, shifts: Sequence[Outline], slots: int, base: int, product: int, via: int) -> None:
        self.c = c
        self.slots = slots
        self.masked = any(t.mask is not None for shift in shifts for t in shift)
        self.x = base if self.masked else product
        steps = [t.step for shift in shifts for t in shift]
        self.unit = math.gcd(slots, *steps) * via if via else 0
        #: Rotated bases that are kept, the last used first, by base, step and a number of their own; those among all
        #: sources that have been through ModUp; blends of two sources.
        self.derived: list[_Source] = []
        self.raised: set[_Source] = set()
        self.blends: list[tuple[_Source, ...]] = []
        self.made = 0
        self.uses = Counter((shift[0].base, shift[0].step) for shift in shifts)
        self.bare: set[tuple[int, int]] = set()
        #: Most rotated bases that wait for another use.
        self.waiting = 0

    def rest(self, t: OutlineTerm) -> int:
        """The part of a rotation that is not made beforehand."""
        return t.step % self.unit if self.unit else t.step

    def source(self, base: int, via: int) -> _Source:
        """A base, or a base rotated by `via`: made when it is not among those kept."""
        if not via:
            return (base, 0, 0)
        for known in self.derived:
            if known[:2] == (base, via):
                self.derived.remove(known)
                self.derived.insert(0, known)
                return known
        if len(self.derived) == DERIVED:
            self.derived.pop()
        self.turn((base, 0, 0), via)
        self.made += 1
        self.derived.insert(0, (base, via, self.made))
        return self.derived[0]

    def turn(self, source: _Source, step: int) -> None:
        """A rotation from shared digits, with its ModDown."""
        self.lift(source)
        self.c.switch(self.x, step)
        self.c.drop(self.c.g.special, self.x, 2)

    def lift(self, source: _Source) -> None:
        if source not in self.raised:
            self.raised.add(source)
            self.c.mod_up(self.x)

    def operand(self, shift: Outline) -> None:
        """The shifted operand of one pair."""
        if self.masked:
            self.combine(shift)
            return
        t = shift[0]
        key = (t.base, t.step)
        if key not in self.bare:
            rest = self.rest(t)
            source = self.source(t.base, t.step - rest)
            if rest:
                self.turn(source, rest)
        self.uses[key] -= 1
        (self.bare.add if self.uses[key] else self.bare.discard)(key)
        self.waiting = max(self.waiting, len(self.bare))

    def combine(self, shift: Outline) -> None:
        """A masked shift: the first term's rotation, after masks on the bases rotated by what the others lack."""
        c, g = self.c, self.c.g
        rest = self.rest(shift[0])
        sources = tuple(self.source(t.base, (t.step - rest) % self.slots) for t in shift)
        if not rest:
            c.multiply(len(shift), self.x)
            c.drop(1, self.x - 1, 2)
            for t in shift:
                c.expand(t.period, self.x)
            return
        ext, digits = g.extended(self.x), g.digits(self.x)
        two = self.complements(shift)
        for source in sources:
            self.lift(source)
        if two:
            if sources in self.blends:
                self.blends.remove(sources)
            else:
                c.ops.multiplied += 2 * digits * ext
            self.blends = [sources, *self.blends[: BLENDS - 1]]
        c.switch(self.x, rest)
        c.ops.plain_mul += len(shift)
        c.ops.plaintext_bytes += 8 * len(shift) * ext * g.degree
        masks = shift[:1] if two else shift
        c.ops.multiplied += len(masks) * (digits * ext + self.x)
        for t in masks:
            c.expand(t.period, ext)
        c.drop(g.special + 1, self.x - 1, 2)

    def complements(self, shift: Outline) -> bool:
        """Two masks that add up to 1 everywhere."""
        return len(shift) == 2 and shift[0].size + shift[1].size == self.slots

    def storage(self, shifts: Iterable[Outline]) -> int:
        """Bytes of the masks; nothing for the complement of another."""
        if not self.masked:
            return 0
        kept = [t for shift in shifts for t in (shift[:1] if self.complements(shift) else shift)]
        rotates = any(self.rest(t) for t in kept)
        return sum(self.c.keep(t.period, self.c.g.extended(self.x) if rotates else self.x) for t in kept)


def pair_outline(plan: ProductPlan, k: int) -> tuple[Outline, Outline]:
    """Both shifts of a pair without their masks' slots; some methods remember it."""
    remembered = getattr(plan.pair, "outline", None)
    if remembered is not None:
        known: tuple[Outline, Outline] = remembered(k)
        return known
    left, right = plan.pair(k)
    return outline(left, plan.slots), outline(right, plan.slots)


def _products(c: _Counter, plan: ProductPlan, base: int, product: int, via: int) -> None:
    """The second step of a lazy plan: shared ModUps, sums before relinearising."""
    g = c.g
    pairs = [pair_outline(plan, k) for k in plan.pairs]
    sides = [_Side(c, [p[i] for p in pairs], plan.slots, base, product, via) for i in (0, 1)]
    place = 0
    for group in plan.groups:
        for _ in group.pairs:
            for side, shift in zip(sides, pairs[place], strict=True):
                side.operand(shift)
            c.ops.multiplied += 4 * product
            place += 1
        c.mod_up(product)
        c.switch(product, None)
        if group.outer:
            c.drop(g.special, product, 1)
            c.mod_up(product)
            c.switch(product, group.outer % plan.slots)
    c.drop(g.special + 1, product - 1, 2)
    held = 0
    for i, side in enumerate(sides):
        c.storage += side.storage(p[i] for p in pairs)
        bases = len((plan.left, plan.right)[i].bases)
        # The bases, copies of them at a lower level, rotated ones; digits; blends of two; operands of four pairs.
        held += 2 * (bases * (base + (side.x if side.x != base else 0)) + len(side.derived) * side.x)
        raised = g.digits(side.x) * g.extended(side.x) + side.x
        held += len(side.raised) * raised + 2 * len(side.blends) * raised
        held += (side.waiting + 4) * 2 * product
    c.need(held + 4 * g.extended(product) + 4 * product + 2 * g.extended(base))


def _separate(c: _Counter, plan: ProductPlan, base: int, product: int, schedule: str) -> None:
    """Two transforms, a product and a relinearisation for each pair; one rescale of the sum."""
    g = c.g
    largest = 0
    for group in plan.groups:
        for k in group.pairs:
            encoded = 0
            for shift in pair_outline(plan, k):
                if len(shift) == 1 and shift[0].mask is None:
                    c.rotate(product, shift[0].step)
                    continue
                for number in sorted({t.base for t in shift}):
                    mine = sorted((t for t in shift if t.base == number), key=lambda t: t.step)
                    periods = [t.period for t in mine]
                    steps = np.array([t.step for t in mine], dtype=np.int64)
                    encoded += _hlt(c, steps, periods, plan.slots, (), base, schedule)
            largest = max(largest, encoded)
            c.ops.multiplied += 4 * product
            c.mod_up(product)
            c.switch(product, None)
            c.drop(g.special, product, 2)
        if group.outer:
            c.rotate(product, group.outer % plan.slots)
    c.drop(1, product - 1, 2)
    c.storage += largest
    bases = len(plan.left.bases) + len(plan.right.bases)
    c.need(bases * 2 * base + 8 * product + g.digits(base) * g.extended(base) + 6 * g.extended(base))
