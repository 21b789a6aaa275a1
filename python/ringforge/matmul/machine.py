# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Decides how operations on single ciphertexts are done: plans, levels, places, keys.

Decisions depend on shapes, levels and bounds alone. So a machine that only records
(:mod:`ringforge.matmul.program`) and one that computes (:mod:`ringforge.matmul.roles`) decide alike.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge._native import Context, Schedule
from ringforge.devices import Device, open_device
from ringforge.errors import LevelError, ParameterError, ShapeError
from ringforge.matmul import planner
from ringforge.matmul.cost import ProductCost, split_steps
from ringforge.matmul.engine import Product, diagonals
from ringforge.matmul.kernels import HltKernel
from ringforge.matmul.layout import Layout
from ringforge.matmul.methods.fold import Places, spreading
from ringforge.matmul.plan import Ladder, Operand, ProductPlan, Stage, Transform
from ringforge.matmul.slots import SlotMatrix

Array = npt.NDArray[np.float64]

#: Slots outside of a tile hold partial results or old ones, which are nobody's business.
MIXED = "mixed"


@dataclass(frozen=True)
class Settings:
    """How products are planned and run.

    Args:
        method: "auto", or a method of the planner.
        memory: bytes that keys, encoded diagonals and temporaries of one product may take; None: no limit.
        keys: "all" gives each rotation its own key; "few" composes rotations; "auto": few if all do not fit.
        schedule: of linear transforms.
        level_price: a plan may cost so many times more if it saves a level.
        version: of the rules by which it is decided, those of programs of this version: 1 has no method fold, and
            transposes at once.
    """

    method: str = "auto"
    memory: int | None = None
    keys: str = "all"
    schedule: str = "bsgs"
    level_price: float = 1.5
    version: int = 2


#: What the sum of products over the inner blocks is called.
BLOCK_SUM = "a sum of block products"


class Kept(dict[tuple[Any, str], Any]):
    """What is kept with a ciphertext for further use; told from others by identity, so that it can be referred to."""

    __hash__ = object.__hash__  # type: ignore[assignment]
    __eq__ = object.__eq__
    __ne__ = object.__ne__


@dataclass(eq=False)
class Tile:
    """One ciphertext of a matrix, or what stands for it in a program that is only recorded.

    Args:
        value: has `level`, `bound`, `error_bound`.
        layout: where the tile's entries are.
        outside: what the other slots hold: "" for zeros, MIXED for who knows what, else copies of the entries,
            named by the rotations that made them.
        bases: the transformed operand of products it took part in, by product and side.
    """

    value: Any
    layout: Layout
    outside: str = ""
    bases: Kept = field(default_factory=Kept)

    def relabelled(self, layout: Layout) -> Tile:
        """The same ciphertext seen as another matrix."""
        return Tile(self.value, layout, self.outside, self.bases)

    def with_value(self, value: Any) -> Tile:
        """Another ciphertext whose entries lie as here."""
        return Tile(value, self.layout, self.outside)


#: A grid of ciphertexts, row by row.
Grid = list[list[Tile]]


@dataclass(frozen=True)
class Decided:
    """How a product of two tiles is made.

    Attributes:
        product, choice: its plan. left, right: the tiles, where the plan wants them.
    """

    product: Product
    choice: planner.Choice
    left: Tile
    right: Tile

    def result(self, value: Any) -> Tile:
        """The tile of the product, given its ciphertext."""
        return Tile(value, self.product.plan.out_layout, _outside(self.product.plan))


class Machine(ABC):
    """Decides how each operation is done, and has it done by the methods that subclasses add.

    Args:
        context: parameters.
        settings: planning.
        threads: threads to use.
        device: where kernels run, if this machine runs any.
    """

    def __init__(
        self, context: Context, settings: Settings | None = None, threads: int = 1, device: str | Device = "cpu"
    ) -> None:
        self.device = open_device(device) if isinstance(device, str) else device
        self.context = context
        self.settings = settings or Settings()
        self.threads = threads
        #: Work done so far, in the planner's weights; `progress` is told.
        self.work = 0.0
        self.progress: Callable[[float], bool | None] | None = None
        self._products: dict[Any, Product] = {}
        self._kernels: dict[Any, HltKernel] = {}
        self._merges: dict[Any, bool] = {}
        self._choices: dict[Any, planner.Choice] = {}
        #: Something was decided as programs of version 1 do not.
        self.novel = False

    # ---- what subclasses do ----

    @abstractmethod
    def require(self, keys: Mapping[int, int], relin_level: int | None) -> None:
        """Told before use: Galois elements with levels, and the level of the relinearisation key."""

    @abstractmethod
    def run_transform(self, kernel: HltKernel, matrix: SlotMatrix, x: Any, again: bool) -> Any:
        """The linear transform `matrix`; x has the kernel's level. `again`: the same kernel may come again."""

    @abstractmethod
    def run_bases(self, product: Product, side: str, x: Any) -> Any:
        """What products use of an operand; x has the product's level."""

    @abstractmethod
    def run_product(self, product: Product, cost: ProductCost, left: Any, right: Any) -> Any:
        """The product of two transformed operands."""

    @abstractmethod
    def run_sum(self, x: Any, y: Any) -> Any:
        """x + y of equal levels."""

    @abstractmethod
    def run_times(self, x: Any, y: Any) -> Any:
        """x times y slot by slot, relinearised and rescaled; of equal levels."""

    @abstractmethod
    def run_rotate(self, x: Any, step: int) -> Any:
        """x rotated left."""

    @abstractmethod
    def run_replicate(self, x: Any, steps: tuple[int, ...]) -> Any:
        """For each step in turn, x += x rotated left by it, where slots are empty."""

    @abstractmethod
    def run_negative(self, x: Any) -> Any:
        """-x."""

    @abstractmethod
    def run_plain_sum(self, x: Any, values: Array) -> Any:
        """x plus plain slots."""

    @abstractmethod
    def run_drop(self, x: Any, level: int) -> Any:
        """x at a lower level."""

    def kept_with(self, tile: Tile, key: tuple[Any, str]) -> None:  # noqa: B027
        """Told when something that is kept with a tile, in `bases`, is made or used."""

    def forget_tile(self, tile: Tile) -> None:
        """Frees what is kept with a tile."""
        tile.bases.clear()

    def decrypt(self, matrix: Any) -> Any:  # noqa: ARG002
        """The matrix in the clear, where the machine has a secret key."""
        raise ParameterError("nobody here can decrypt: give the result to the key holder")

    def save(self, path: Any, matrix: Any) -> int:  # noqa: ARG002
        """Write a matrix to a file, where the machine has ciphertexts; return the number of bytes."""
        raise ParameterError(
            "this matrix stands for one in a program, and holds no ciphertexts: the program has to_bytes and save"
        )

    def without_entries(self, function: Callable[..., Any], *operands: Any) -> Any:  # noqa: ARG002
        """Return the result of a numpy function where an operand, or the result, has no entries.

        Raises:
            ShapeError: the machine computes with ciphertexts, of which there would be none.
        """
        shapes = " and ".join(str(x.shape) for x in operands)
        raise ShapeError(f"without entries there is nothing to compute: the operands have shapes {shapes}")

    # ---- decisions ----

    def multiple(self, tile: Tile, factor: float, *, whole: bool) -> Tile:
        """The tile times a number; a whole one is made of sums, which are exact and take no level."""
        if not whole:
            return self.masked(tile, factor, "a product with a number")
        self.room(tile.value.bound * abs(factor), tile.value.level, "a multiple", tile.value.level)
        x = total = tile.value
        if factor == 0:
            return Tile(self.run_sum(x, self.run_negative(x)), tile.layout)
        for bit in bin(abs(int(factor)))[3:]:
            total = self.run_sum(total, total)
            if bit == "1":
                total = self.run_sum(total, x)
        return tile.with_value(self.run_negative(total) if factor < 0 else total)

    def masked(self, tile: Tile, factor: float, what: str) -> Tile:
        """The tile times a number, with zeros in all other slots; one level down."""
        places = tile.layout.index().ravel()
        matrix = SlotMatrix(self.slots, places, places, np.full(len(places), factor))
        return self.transform(tile, matrix, tile.layout, (), what, matrix)

    def weighted(self, tile: Tile, block: Array, what: str) -> Tile:
        """The tile times a plain block entry by entry, with zeros in all other slots; one level down."""
        places = tile.layout.index().ravel()
        matrix = SlotMatrix(self.slots, places, places, block.ravel())
        every = SlotMatrix(self.slots, places, places, np.ones(len(places)))
        return self.transform(tile, matrix, tile.layout, (), what, every)

    def plain_sum(self, tile: Tile, block: Array) -> Tile:
        """The tile plus a plain block of its shape, added to all copies."""
        self.room(tile.value.bound + float(np.abs(block).max()), tile.value.level, "a sum", tile.value.level)
        slots = tile.layout.pack(block, self.slots)
        if tile.outside != MIXED:
            for step in map(int, tile.outside.split()):
                slots = slots + np.roll(slots, -step)
        return tile.with_value(self.run_plain_sum(tile.value, slots))

    @property
    def slots(self) -> int:
        """Numbers in a ciphertext."""
        return int(self.context.params.slots)

    def room(self, bound: float, level: int, what: str, at: int) -> None:
        """Refuses results that the modulus of their level cannot hold.

        Args:
            bound, level, what: of the result.
            at: level of the operands.

        Raises:
            LevelError: with the bits needed and there.
        """
        p = self.context.params
        have = sum(math.log2(q) for q in p.q[: level + 1])
        need = p.log_scale + 1.5 + math.log2(max(bound, 1e-30))
        if need > have:
            wanted = next((i for i in range(level, len(p.q)) if sum(map(math.log2, p.q[: i + 1])) >= need), len(p.q))
            more = wanted - level
            higher = f"choose parameters with {more} more primes"
            if at + more <= p.max_level:
                levels = f"{more} level{'s' * (more > 1)}"
                higher = f"encrypt {levels} higher (the highest is {p.max_level}; else {higher})"
            raise LevelError(
                f"{what} may have entries up to {bound:.4g}, which takes {need:.1f} bits; level {level} of "
                f"{p.name} has {have:.1f}: {higher}, declare smaller bounds, or say how large entries really get: "
                "A.matmul(B, bound=...)"
            )

    def drop(self, tile: Tile, level: int) -> Tile:
        """The tile at a level not above its own."""
        return tile if tile.value.level == level else tile.with_value(self.run_drop(tile.value, level))

    def transform(
        self,
        tile: Tile,
        matrix: SlotMatrix,
        layout: Layout,
        generators: tuple[tuple[int, int], ...],
        what: str,
        pattern: SlotMatrix | None = None,
        *,
        scale: float | None = None,
    ) -> Tile:
        """A linear transform of one ciphertext, one level down.

        `pattern` has all diagonals that matrices of this shape may have: the keys depend on no others. `scale`: of the
        result, for those that make a product's scale right.
        """
        level = tile.value.level
        if level < 1:
            raise LevelError(
                f"{what} takes 1 level, its operand has {level}: encrypt at a higher level (the highest is "
                f"{self.context.params.max_level}), or use parameters with more primes"
            )
        every = matrix.steps if pattern is None else pattern.steps
        babies = split_steps(self.context, every, level, generators).astype(np.int64)
        steps = np.union1d(babies, (every - babies) % self.slots)
        babies = babies[np.isin(every, matrix.steps)]
        bound, given = _rounded(tile.value.bound), 2.0**self.context.params.log_scale
        wanted = scale or given
        kernel = HltKernel(
            self.context, diagonals(matrix), level, Schedule.bsgs, babies.astype(np.uint32), given, wanted, bound
        )
        if pattern is None:
            # Maps without values come again and again; those with values are encoded for one use.
            key = (level, bound, wanted, matrix.target.tobytes(), matrix.source.tobytes())
            kernel = self._kernels.setdefault(key, kernel)
        self.room(tile.value.bound * kernel.map.row_sum, level - 1, what, level)
        self.require({self.context.rotation_element(int(s)): level for s in steps if s}, None)
        moved = Tile(self.run_transform(kernel, matrix, tile.value, pattern is None), layout)
        self._worked(len(steps) * self.context.gadget.step_weights(level + 1)[1])
        return moved

    def times(self, a: Tile, b: Tile) -> Tile:
        """The product entry by entry, in the places of a; b may be a row, a column or a number.

        Two levels: one factor is brought to the places of the other, with the scale that makes the product's right.
        """
        what, shapes = "a product entry by entry", [(t.layout.rows, t.layout.cols) for t in (a, b)]
        still, moved = (a, b) if shapes[0] != shapes[1] or b.value.level >= a.value.level else (b, a)
        level = min(still.value.level, moved.value.level - 1)
        if level < 1:
            raise LevelError(
                f"{what} takes 2 levels, its operands have {a.value.level} and {b.value.level}: encrypt at a higher "
                f"level (the highest is {self.context.params.max_level}), or use parameters with more primes"
            )
        largest = a.value.bound * b.value.bound
        self.room(largest, level - 1, what, still.value.level)
        scale = float(self.context.params.q[level])
        made = self.spread(self.drop(moved, level + 1), still.layout, what, scale=scale)
        self.require({}, level)
        value = self.run_times(made.value, self.drop(still, level).value)
        self._worked(self.context.gadget.step_weights(level + 1)[1])
        return Tile(value, still.layout, "" if "" in (still.outside, made.outside) else MIXED)

    def spread(
        self,
        tile: Tile,
        want: Layout,
        what: str,
        *,
        scale: float | None = None,
        valid: tuple[int, int] | None = None,
    ) -> Tile:
        """A tile at other places, a row, column or number copied to all of them; one level down.

        `valid`: copies go to so many rows and columns and no further; without it slots beyond may have some too.
        """
        key = (self, f"spread {want} {valid} {tile.value.level} {scale}")
        if key not in tile.bases:
            moves = spreading(tile.layout, want, self.slots, not tile.outside, valid)
            level, gadget = tile.value.level, self.context.gadget
            x = self._replicated(tile, moves.before)
            x = self.transform(x, moves.mask.matrix, want, moves.mask.generators, what, scale=scale)
            x = self._replicated(x, moves.after)
            self._worked((len(moves.before) + len(moves.after)) * gadget.step_weights(level + 1)[1])
            tile.bases[key] = Tile(x.value, want, "" if moves.exact else MIXED)
        self.kept_with(tile, key)
        made: Tile = tile.bases[key]
        return made

    def _replicated(self, tile: Tile, steps: tuple[int, ...]) -> Tile:
        if not steps:
            return tile
        self.require({self.context.rotation_element(s): tile.value.level for s in steps}, None)
        return tile.with_value(self.run_replicate(tile.value, steps))

    def summed(self, tile: Tile, axis: int, valid: int) -> Tile:
        """The sum over rows (axis 0) or columns (1), of which `valid` are more than zero; takes no level."""
        have = tile.layout
        unit, count, over = (
            (have.row_stride, have.rows, have.col_stride)
            if axis == 0
            else (have.col_stride, have.cols, have.row_stride)
        )
        want = Layout(1, have.cols, 1, have.col_stride) if axis == 0 else Layout(have.rows, 1, have.row_stride, 1)
        if valid == 1:
            return Tile(tile.value, want, tile.outside if count == 1 else MIXED)
        most = count
        if not tile.outside:
            other = have.cols if axis == 0 else have.rows
            most = max(count, over // unit if over > unit and other > 1 else (self.slots - have.extent) // unit + count)
        ladder = min(
            (Ladder.of(unit, c) for c in range(valid, min(most, 2 * valid) + 1)),
            key=lambda found: (len(found.additions), found.counts[-1]),
        )
        level = tile.value.level
        self.room(tile.value.bound * ladder.counts[-1], level, "a sum", level)
        self.require({self.context.rotation_element(s % self.slots): level for s in ladder.steps}, None)
        self._worked(len(ladder.steps) * self.context.gadget.step_weights(level + 1)[1])
        return Tile(ladder.run(tile.value, self.run_rotate, self.run_sum), want, MIXED)

    def product(
        self, a: Tile, b: Tile, bound: float | None = None, *, may_move: bool = True
    ) -> tuple[Tile, planner.Choice]:
        """The product of two ciphertexts' matrices, with the plan that the planner takes."""
        d = self.decided(a, b, bound, may_move=may_move)
        left, right = self._bases(d.product, "left", d.left), self._bases(d.product, "right", d.right)
        cost = d.choice.chosen.cost
        result = d.result(self.run_product(d.product, cost, left, right))
        self._worked(cost.weight)
        return result, d.choice

    def products(self, a: Grid, b: Grid, bound: float | None) -> tuple[Grid, planner.Choice]:
        """The product of two grids of blocks.

        Args:
            a, b: rows of tiles, none empty. bound: of each product of blocks, a promise.
        """
        made: Grid = []
        choice = None
        for row in a:
            made.append([])
            for j in range(len(b[0])):
                total: Tile | None = None
                for k, left in enumerate(row):
                    part, choice = self.product(left, b[k][j], bound)
                    total = part if total is None else self.add(total, part, BLOCK_SUM)
                assert total is not None
                made[-1].append(total)
        assert choice is not None
        return made, choice

    def decided(self, a: Tile, b: Tile, bound: float | None, *, may_move: bool = True) -> Decided:
        """How two ciphertexts' matrices are multiplied; operands that lie elsewhere are moved if that is better."""
        shape = (a.layout.rows, a.layout.cols, b.layout.cols)
        level = min(a.value.level, b.value.level)
        places = None
        if 1 in (shape[0], shape[2]):
            places = Places(a.layout, b.layout, not a.outside, not b.outside)
        choice = self.choose(*shape, level, places)
        self.novel |= choice.plan.method == "fold"
        if choice.plan.depth < level and may_move:
            # A move that costs many diagonals is better made before, if a level is left for it.
            moved = [self._brought(choice.plan, t, side) for t, side in ((a, "left"), (b, "right"))]
            if moved[0] is not a or moved[1] is not b:
                return self.decided(moved[0], moved[1], bound, may_move=False)
        bounds = _rounded(a.value.bound), _rounded(b.value.bound)
        natural = shape[1] * a.value.bound * b.value.bound
        largest = natural if bound is None else min(natural, bound)
        key = (shape, level, a.layout, b.layout, bounds, largest, choice.plan.label)
        made = self._products.get(key)
        if made is None:
            plan = replace(
                choice.plan,
                left=_moved(choice.plan.left, a.layout, choice.plan.left_layout, self.slots),
                right=_moved(choice.plan.right, b.layout, choice.plan.right_layout, self.slots),
                left_layout=a.layout,
                right_layout=b.layout,
            )
            made = Product(
                self.context,
                plan,
                level,
                bounds=bounds,
                result_bound=largest,
                options=choice.options,
                device=self.device,
                threads=self.threads,
            )
            what = f"a product of {shape[0]} x {shape[1]} by {shape[1]} x {shape[2]}"
            self.room(largest, made.result_level, what, level)
            self._products[key] = made
        self.require(made.required_keys, made.relin_level)
        return Decided(made, choice, a, b)

    def choose(
        self,
        m: int,
        l: int,  # noqa: E741
        n: int,
        level: int,
        places: Places | None = None,
    ) -> planner.Choice:
        """The planner's candidates for a shape, and the one that is best when levels have their price."""
        key = (m, l, n, level, places)
        if key not in self._choices:
            self._choices[key] = self._chosen(*key)
        return self._choices[key]

    def _chosen(
        self,
        m: int,
        l: int,  # noqa: E741
        n: int,
        level: int,
        places: Places | None,
    ) -> planner.Choice:
        s, method = self.settings, self.settings.method
        if s.version == 1 and method == "auto":
            method = "ringforge"
        choice = planner.choose(
            *(self.context, m, l, n, level),
            method=method,
            memory=s.memory,
            keys=s.keys,
            schedule=s.schedule,
            places=places,
        )
        usable = (c for c in choice.candidates if not c.refused)
        best = min(usable, key=lambda c: c.cost.weight * s.level_price**c.plan.depth)
        return choice if best is choice.chosen else replace(choice, chosen=best)

    def _worked(self, weight: float) -> None:
        self.work += weight
        if self.progress:
            self.progress(self.work)

    def _bases(self, product: Product, side: str, tile: Tile) -> Any:
        key = (product, side)
        if key not in tile.bases:
            tile.bases[key] = self.run_bases(product, side, self.drop(tile, product.level).value)
        self.kept_with(tile, key)
        return tile.bases[key]

    def _brought(self, plan: ProductPlan, tile: Tile, side: str) -> Tile:
        """The tile where the plan wants it, if merging that move into the plan's first transform costs more."""
        operand, want = (plan.left, plan.left_layout) if side == "left" else (plan.right, plan.right_layout)
        if same_places(tile.layout, want):
            return tile
        key = (plan.label, side, tile.layout, want)
        if key not in self._merges:
            merged = _moved(operand, tile.layout, want, self.slots)
            extra = 2 * _move(tile.layout, want, self.slots).diagonals + 16
            self._merges[key] = _first_diagonals(merged) <= _first_diagonals(operand) + extra
        return tile if self._merges[key] else self._placed(tile, want)

    def _placed(self, tile: Tile, want: Layout) -> Tile:
        """The tile with its entries elsewhere: a linear transform, made once."""
        if same_places(tile.layout, want):
            return tile
        key = (self, f"at {want}")
        if key not in tile.bases:
            move = _move(tile.layout, want, self.slots)
            tile.bases[key] = self.transform(tile, move, want, (), "a move to other slots")
        self.kept_with(tile, key)
        made: Tile = tile.bases[key]
        return made

    def add(self, a: Tile, b: Tile, what: str) -> Tile:
        """The sum of matrices of one shape; the one of higher level is moved where places differ."""
        if not same_places(a.layout, b.layout):
            if a.value.level > b.value.level:
                a = self._placed(a, b.layout)
            else:
                b = self._placed(b, a.layout)
        level = min(a.value.level, b.value.level)
        self.room(a.value.bound + b.value.bound, level, what, level)
        total = self.run_sum(self.drop(a, level).value, self.drop(b, level).value)
        return Tile(total, a.layout, a.outside if a.outside == b.outside else MIXED)

    def forget(self) -> None:
        """Frees encoded diagonals and masks; they are made again when needed."""
        self._products.clear()
        self._kernels.clear()


def _rounded(bound: float) -> float:
    """A bound rounded up to a power of 2^(1/4), so that kernels serve operands of like size."""
    return float(2.0 ** (math.ceil(4 * math.log2(max(bound, 2.0**-40)) - 1e-9) / 4))


def _outside(plan: ProductPlan) -> str:
    """What slots outside of the result of a plan hold."""
    if plan.method == "fold":
        return MIXED
    if plan.tail is not None or not plan.folds:
        return ""
    # Ringforge's blocks are whole copies; the published methods leave sums of some of their bands.
    return " ".join(map(str, plan.folds)) if plan.method == "ringforge" else MIXED


def same_places(a: Layout, b: Layout) -> bool:
    return a == b or np.array_equal(a.index(), b.index())


def _move(have: Layout, want: Layout, slots: int) -> SlotMatrix:
    """The map that takes a matrix from one place to another."""
    target, source = want.index().ravel(), have.index().ravel()
    return SlotMatrix(slots, target, source, np.ones(len(target)))


def _moved(operand: Operand, have: Layout, want: Layout, slots: int) -> Operand:
    """An operand's stages for a matrix that lies elsewhere: the move is merged into the first transforms.

    Raises:
        ShapeError: the operand has no transform to merge it into.
    """
    if same_places(have, want):
        return operand
    move = _move(have, want, slots)

    def merged(stages: tuple[Stage, ...]) -> tuple[Stage, ...]:
        if not stages or not isinstance(stages[0], Transform):
            raise ShapeError("this method takes its operands as they were encrypted only: choose another method")
        return (Transform(stages[0].matrix @ move), *stages[1:])

    if operand.prefix:
        return Operand(merged(operand.prefix), operand.bases)
    return Operand((), tuple(map(merged, operand.bases)))


def _first_diagonals(operand: Operand) -> int:
    first = [operand.prefix] if operand.prefix else list(operand.bases)
    return sum(s[0].matrix.diagonals for s in first if s and isinstance(s[0], Transform))
