# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Integer matrix x vector in BFV as programs: baby steps that share their digits, giant steps with delayed divisions.

The library's LinearTransform, step by step, so that results are the same words. Baby steps stay over Q*P: the digits of
the input are made once, and multiplied with every baby's key while a limb of them is on chip. The giant steps' inner
sums are made by SUM over Q*P; of each but the first, part a is divided by P, switched, and added over Q*P. One division
by P ends a block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from math import prod

import numpy as np
import numpy.typing as npt

from ringforge.errors import ParameterError
from ringforge.hw.core.dram import ALIGNMENT
from ringforge.hw.machines.omr.affine import Job, finished, place_key
from ringforge.hw.machines.omr.config import QUOTIENTS
from ringforge.hw.machines.omr.layout import Group, Key, Limbs, Memory, Pair, Target, interleaved, multiplier
from ringforge.hw.machines.omr.program import Builder, Op, SumStrides
from ringforge.hw.machines.omr.rotation import Core, Sources

Words = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Block:
    """What a column block does: diagonals of steps 0, 1 ..., `baby` of them to a giant step.

    Attributes:
        diagonals: how many. baby: baby steps of a giant one.
    """

    diagonals: int
    baby: int

    @property
    def giants(self) -> int:
        """Giant steps."""
        return -(-self.diagonals // self.baby)

    @property
    def rotates(self) -> bool:
        """Whether there is a step other than 0."""
        return self.diagonals > 1

    def terms(self, giant: int) -> int:
        """Diagonals of a giant step."""
        return min(self.baby, self.diagonals - giant * self.baby)


@dataclass(frozen=True)
class Plan:
    """What a product does.

    Attributes:
        blocks: column blocks. row_blocks: how many. folds: rotations that end it, in order.
        elements: Galois element of each step.
    """

    blocks: Sequence[Block]
    row_blocks: int
    folds: Sequence[int]
    elements: Mapping[int, int]

    @property
    def steps(self) -> list[int]:
        """Steps that need a key."""
        found = set(self.folds)
        for block in self.blocks:
            found |= set(range(1, min(block.baby, block.diagonals)))
            found |= {g * block.baby for g in range(1, block.giants)}
        return sorted(found)


def check(target: Target) -> None:
    """Whether the machine has room for the digits of a ring.

    Raises:
        ParameterError: it has not.
    """
    digits, config = len(target.digits), target.config
    most = min(QUOTIENTS, config.buffers - 3)
    if digits > most:
        raise ParameterError(
            f"{digits} digits of {target.alpha} limbs; {config.name} multiplies {most} at a time: take a set with "
            "longer digits, or another configuration"
        )


@dataclass(frozen=True)
class Operands:
    """Constants in memory's form.

    Attributes:
        keys: Galois keys by step, as `galois_key`.
        diagonals: by row block and column block, (diagonals, limbs, N) over Q*P, or Q where nothing rotates, as second
            operands of multipliers.
        bias: by row block, (limbs, N) canonical; or none.
    """

    keys: Mapping[int, Words]
    diagonals: Sequence[Sequence[Words]]
    bias: Sequence[Words]


class _Silent(Builder):
    """Takes no instructions: for what would lie where."""

    def add(self, op: Op, **given: int) -> int:  # noqa: ARG002
        return 0


class _Product:
    """Emits a product. Args: as `product`; without operands, it is only laid out, with a bias."""

    def __init__(self, target: Target, plan: Plan, operands: Operands | None) -> None:
        self.target, self.plan, self.operands = target, plan, operands
        self.memory = Memory(target.config, operands is not None, "take a smaller matrix, or fewer limbs")
        lb = target.limb_bytes
        self.ext = len(target.ext)
        self.align = max(lb, ALIGNMENT)
        most = max(block.baby for block in plan.blocks)
        self.diagonal_row = -(-most * self.ext * lb // ALIGNMENT) * ALIGNMENT
        # Part, term: babies over Q*P; row: giant steps.
        self.strides = SumStrides(
            self.ext * lb, 2 * self.ext * lb, self.diagonal_row, self.ext * lb, 2 * self.ext * lb, self.ext * lb
        )
        made = _Silent if operands is None else Builder
        self.b = made(target.log_n, self.strides, target.config.cols)
        self.core = Core.begin(self.b, target, self.memory)
        keys: Mapping[int, Words | None] = dict.fromkeys(plan.steps) if operands is None else operands.keys
        self.keys = {step: place_key(target, self.memory, words) for step, words in keys.items()}
        self.raising = self._raising()

    def _raising(self) -> tuple[Key, Key]:
        """Keys that multiply with P into part 0, or into part 1, for the limbs of Q."""
        t, special, made = self.target, prod(self.target.p), []
        if self.operands is None:
            at = [self.reserve("tables", 2, t.limbs) for _ in range(2)]
            return Key(at[0], t.limbs, t.limb_bytes), Key(at[1], t.limbs, t.limb_bytes)
        for part in (0, 1):
            rows = np.zeros((t.limbs, 2 << t.log_n), np.uint64)
            for limb, q in enumerate(t.q):
                constant = multiplier(t.config, np.full(1 << t.log_n, special % q, np.uint64), q)
                zero = np.zeros_like(constant)
                rows[limb] = interleaved(t.config, *((constant, zero) if part == 0 else (zero, constant)))
            made.append(Key(self.memory.put("tables", rows.reshape(-1), self.align), t.limbs, t.limb_bytes))
        return made[0], made[1]

    def reserve(self, entity: str, polynomials: int, limbs: int | None = None) -> int:
        """Room for polynomials over Q*P, or of as many limbs."""
        size = polynomials * (self.ext if limbs is None else limbs) * self.target.limb_bytes
        return self.memory.reserve(entity, size, self.align)

    def pair(self, at: int) -> Pair:
        """A ciphertext over Q*P."""
        return Pair.at(at, self.ext, self.target.limb_bytes)

    # ---- pieces ----

    def _all_groups(self) -> list[tuple[int, Group]]:
        """Groups of the extended basis, and the run that each belongs to."""
        return [(run, group) for run, made in enumerate(self.target.groups) for group in made]

    def digits_of(self, c1: Limbs) -> dict[int, Sources]:
        """The digits of a polynomial over Q."""
        found: dict[int, Sources] = {}
        for _ in self.core.front(c1, found):
            pass
        return found

    def give(self, digits: dict[int, Sources]) -> None:
        """Gives digits back."""
        for s in digits.values():
            self.core.give_digit(s)

    def switched(self, c1: Limbs, jobs: Sequence[_Switch]) -> None:
        """Products of a polynomial's digits with keys, over Q*P."""
        core, digits = self.core, self.digits_of(c1)
        count = len(self.target.digits)
        # The upper buffers are for sums and what becomes of them, in turns where there are enough.
        pairs = [self.target.config.buffers - 3]
        if pairs[0] >= count + 2:
            pairs.append(pairs[0] - 2)
        turns = cycle(pairs)
        for run, group in self._all_groups():
            bank = core.table(group)
            held = {d: core.converted(group, d, digits[d], bank, min(pairs)) for d in range(count) if d != run}
            core.give_table(bank)
            for job in jobs:
                acc, first = core.take_acc(), True
                if job.raised is not None and run < count:
                    core.product(group, self.raising[0], 0, acc, init=True, of=job.raised)
                    first = False
                if job.plus is not None:
                    core.plus(group, acc, 0, job.plus, init=first)
                    first = False
                pair = core.take_x(2, next(turns))
                for d in range(count):
                    last = pair[0] if d == count - 1 else None
                    where = {"keep": held[d]} if d != run else {"of": c1}
                    core.product(group, job.key, d, acc, init=first, to_x=last, **where)
                    first = False
                core.give_acc(acc)
                for part in range(2):
                    x = pair[part]
                    if job.element is not None:
                        x = core.mapped(group, x, job.element)
                    add = job.to.parts[part] if job.accumulate else None
                    core.store(group, x, job.to.parts[part], add)
            core.give_x(*held.values())
        self.give(digits)

    def divided(self, of: Sequence[Limbs], parts: Sequence[int], to: Sequence[Limbs], add: Sequence[Limbs | None],
                plus: Limbs | None = None, element: int | None = None) -> None:  # fmt: skip
        """Polynomials over Q*P divided by P.

        Args:
            parts: number of each, for accumulators. plus: added to the first one before the map. add: to the results.
        """
        core, sources = self.core, []
        for source in of:
            s = core.take_part()
            for number, group in enumerate(self.target.groups[-1]):
                bank, x = core.table(group), core.loaded(group, source)
                core.source(group, x, bank, s, init=number == 0)
                core.give_table(bank)
            sources.append(s)
        for made in self.target.groups[:-1]:
            for group in made:
                bank, acc = core.table(group), core.take_acc()
                for number, (part, source) in enumerate(zip(parts, of, strict=True)):
                    core.plus(group, acc, part, source, init=number == 0)
                for number, part in enumerate(parts):
                    x = core.converted(group, len(self.target.digits), sources[number], bank)
                    x = core.final(group, x, acc, part, plus if number == 0 else None)
                    if element is not None:
                        x = core.mapped(group, x, element)
                    core.store(group, x, to[number], add[number])
                core.give_table(bank)
                core.give_acc(acc)
        for s in sources:
            core.give_part(s)

    # ---- the product ----

    def babies(self, given: Pair, count: int) -> int:
        """Babies of an input over Q*P, (count, 2, limbs of Q*P, N); the unrotated one times P."""
        t, core, lb = self.target, self.core, self.target.limb_bytes
        # P times the input is 0 modulo P's primes: zeros that lie there from the start.
        at = self.memory.begin(self.align)
        if self.operands is None:
            self.reserve("partial sums", 2)
        else:
            words = np.zeros((2, self.ext, 1 << t.log_n), np.uint64)
            self.memory.put("partial sums", words.reshape(-1), self.align, writable=True)
        if count > 1:
            self.memory.place("partial sums", at + 2 * self.ext * lb, (count - 1) * 2 * self.ext * lb)
        to = self.pair(at)
        for group in (group for made in t.groups[:-1] for group in made):
            acc, pair = core.take_acc(), core.take_x(2, 0)
            core.product(group, self.raising[0], 0, acc, init=True, of=given.parts[0])
            core.product(group, self.raising[1], 0, acc, init=False, of=given.parts[1], to_x=pair[0])
            core.give_acc(acc)
            for part in range(2):
                core.store(group, pair[part], to.parts[part])
        jobs = [
            _Switch(self.keys[step], self.pair(at + step * 2 * self.ext * lb), self.plan.elements[step], given.parts[0])
            for step in range(1, count)
        ]
        if jobs:
            self.switched(given.parts[1], jobs)
        return at

    def sums(self, babies: int, diagonals: int, block: Block, limbs: int) -> int:
        """Inner sums of all giant steps, (giants, 2, limbs of Q*P, N)."""
        t, lb, config = self.target, self.target.limb_bytes, self.target.config
        to, first = self.reserve("partial sums", 2 * block.giants), 0
        while first < block.giants:
            end = first + 1
            while end < block.giants and end - first < config.rows and block.terms(end) == block.terms(first):
                end += 1
            for j, entry in enumerate(t.sum_entries[:limbs]):
                for part in range(0, 2, config.cols):
                    self.b.add(
                        Op.SUM, src=end - first, mod=entry, count=block.terms(first), ways=1,
                        addr0=babies + part * self.strides.ct_col + j * lb,
                        addr1=diagonals + first * self.diagonal_row + j * lb,
                        stride0=to + first * self.strides.out_row + part * self.strides.out_col + j * lb,
                    )  # fmt: skip
            first = end
        return to

    def place_diagonals(self, row: int, column: int) -> int:
        """A block's diagonals, a giant step every `diagonal_row` bytes."""
        block = self.plan.blocks[column]
        if self.operands is None:
            return self.memory.reserve("matrix", block.giants * self.diagonal_row, self.align)
        words = self.operands.diagonals[row][column]
        full = np.zeros((block.diagonals, self.ext, 1 << self.target.log_n), np.uint64)
        full[:, : words.shape[1]] = words
        rows = [np.ascontiguousarray(full[g * block.baby : (g + 1) * block.baby]) for g in range(block.giants)]
        return self.memory.blocks("matrix", rows, len(rows), self.diagonal_row, self.align)

    def block(self, babies: int, row: int, column: int, result: Pair, *, accumulate: bool) -> None:
        """A column block's part of a row block's result."""
        t, block, size = self.target, self.plan.blocks[column], self.strides.out_row
        diagonals = self.place_diagonals(row, column)
        inner = self.sums(babies, diagonals, block, self.ext if block.rotates else t.limbs)
        total = self.pair(inner)
        for giant in range(1, block.giants):
            step, here = giant * block.baby, self.pair(inner + giant * size)
            c1 = Limbs(self.reserve("partial sums", 1, t.limbs), t.limb_bytes)
            self.divided([here.parts[1]], [1], [c1], [None])
            job = _Switch(self.keys[step], total, self.plan.elements[step], plus=here.parts[0], accumulate=True)
            self.switched(c1, [job])
        add = list(result.parts) if accumulate else [None, None]
        if block.rotates:
            self.divided(total.parts, [0, 1], result.parts, add)
        else:
            self.copied(total, result, add)

    def copied(self, source: Pair, to: Pair, add: Sequence[Limbs | None]) -> None:
        """Limbs of Q from one place to another."""
        for group in (group for made in self.target.groups[:-1] for group in made):
            for part in range(2):
                x = self.core.loaded(group, source.parts[part])
                self.core.store(group, x, to.parts[part], add[part])

    def unrotated(self, given: Pair) -> int:
        """An input as the only baby of a block that does not rotate."""
        at = self.reserve("partial sums", 2)
        self.copied(given, self.pair(at), [None, None])
        return at

    def emit(self, inputs: Sequence[Words]) -> list[Pair]:
        """The whole product of inputs (2, limbs, N), of none if it is only laid out; where the results lie."""
        t = self.target
        at = (
            [self.reserve("input", 2, t.limbs) for _ in self.plan.blocks]
            if self.operands is None
            else [self.memory.put("input", words, self.align) for words in inputs]
        )
        given = [Pair.at(address, t.limbs, t.limb_bytes) for address in at]
        held = [
            self.babies(pair, min(block.baby, block.diagonals)) if block.rotates else self.unrotated(pair)
            for pair, block in zip(given, self.plan.blocks, strict=True)
        ]
        results = []
        for row in range(self.plan.row_blocks):
            result = Pair.at(self.reserve("output", 2, t.limbs), t.limbs, t.limb_bytes)
            for column, babies in enumerate(held):
                self.block(babies, row, column, result, accumulate=column > 0)
            for step in self.plan.folds:
                made = self.pair(self.reserve("partial sums", 2))
                folded = Pair.at(self.reserve("output", 2, t.limbs), t.limbs, t.limb_bytes)
                self.switched(result.parts[1], [_Switch(self.keys[step], made)])
                self.divided(made.parts, [0, 1], folded.parts, result.parts, plus=result.parts[0],
                             element=self.plan.elements[step])  # fmt: skip
                result = folded
            if self.operands is None or self.operands.bias:
                bias = Limbs(self._bias(row), t.limb_bytes)
                final = Pair.at(self.reserve("output", 2, t.limbs), t.limbs, t.limb_bytes)
                self.copied(result, final, [bias, None])
                result = final
            results.append(result)
        return results

    def _bias(self, row: int) -> int:
        if self.operands is None:
            return self.reserve("matrix", 1, self.target.limbs)
        return self.memory.put("matrix", self.operands.bias[row], self.align)


@dataclass(frozen=True)
class _Switch:
    """A product with a key over Q*P.

    Attributes:
        key: the key. to: the result. element: of the map behind it; None: none.
        raised: a polynomial over Q that is added to part 0, P times. plus: one over Q*P that is added to part 0.
        accumulate: the result is added to what lies there.
    """

    key: Key
    to: Pair
    element: int | None = None
    raised: Limbs | None = None
    plus: Limbs | None = None
    accumulate: bool = False


def product(target: Target, plan: Plan, operands: Operands, inputs: Sequence[Words]) -> Job:
    """A matrix times a vector.

    Args:
        inputs: a ciphertext (2, limbs, N) for each column block.

    Raises:
        ParameterError: it does not fit into memory, or the ring not onto the machine.
    """
    check(target)
    made = _Product(target, plan, operands)
    results = made.emit(inputs)
    return finished(made.b, target.config, made.memory, results)


def check_memory(target: Target, plan: Plan) -> None:
    """Whether memory holds what a product needs.

    Raises:
        ParameterError: it does not.
    """
    _Product(target, plan, None).emit(())
