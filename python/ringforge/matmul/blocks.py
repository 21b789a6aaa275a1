# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Kernels of many blocks: the transforms of all operands of a grid, then all products of blocks with their sums.

They are for devices that compute several blocks at a time; what they give is what `HltKernel` and `PairSumKernel` give
one by one, in every word.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ringforge._native import Ciphertext, Context, Evaluator
from ringforge.devices import (
    Device,
    Execution,
    Handle,
    Implementation,
    KeySet,
    Needs,
    Preparation,
    Progress,
    Report,
    register,
    register_cases,
)
from ringforge.devices.cpu import counted
from ringforge.errors import Error, LevelError, MismatchError, ShapeError
from ringforge.matmul.kernels import HltKernel, PairSumKernel
from ringforge.matmul.plan import Ladder

#: A product: numbers of its left and of its right operand.
Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Stage:
    """A step of an operand's way to its bases.

    Attributes:
        level: of what it is done to.
        kernel: a transform, one level down; None: copies.
        steps: for each in turn, x += x rotated left by it.
    """

    level: int
    kernel: HltKernel | None
    steps: tuple[int, ...] = ()


def run_stages(
    stages: Sequence[Stage], x: Any, transform: Callable[[HltKernel, Any], Any], copies: Callable[[Any, Any], Any]
) -> Any:
    """What stages make of x, by these two operations."""
    for stage in stages:
        if stage.kernel is not None:
            x = transform(stage.kernel, x)
        if stage.steps:
            x = copies(x, stage.steps)
    return x


@dataclass(frozen=True, eq=False)
class OperandKernel:
    """The transforms of several operands of one side of a product.

    Inputs are the operands; results their bases, those of the first operand first. Keys: the Galois keys of all stages.

    Attributes:
        context: parameters.
        level: of the inputs.
        prefix, bases: stages of all bases, then of each.
        count: operands.
    """

    context: Context
    level: int
    prefix: tuple[Stage, ...]
    bases: tuple[tuple[Stage, ...], ...]
    count: int

    def needs(self) -> Needs:
        """What it asks of a device."""
        return Needs.of(self.context, self.level)

    @property
    def stages(self) -> list[Stage]:
        """All of them."""
        return [*self.prefix, *(s for base in self.bases for s in base)]

    @property
    def transforms(self) -> list[HltKernel]:
        """The transforms among the stages."""
        return [s.kernel for s in self.stages if s.kernel is not None]


@dataclass(frozen=True, eq=False)
class ProductsKernel:
    """Sums of products of operands that are transformed already, such as those of two grids of blocks.

    Inputs are the bases of all left operands, then of all right ones. Keys: those of `pairs` and of what follows it.

    Attributes:
        pairs: a product.
        ladder, tail: what follows in each, or None.
        left, right: operands.
        sums: of each result the products that are added up, in this order.
    """

    pairs: PairSumKernel
    ladder: Ladder | None
    tail: HltKernel | None
    left: int
    right: int
    sums: tuple[tuple[Pair, ...], ...]

    def needs(self) -> Needs:
        """What it asks of a device."""
        return self.pairs.needs()

    @property
    def context(self) -> Context:
        """Parameters."""
        return self.pairs.context

    @property
    def inputs(self) -> int:
        """How many it takes."""
        return self.left * self.pairs.plan.left_bases + self.right * self.pairs.plan.right_bases

    def bases(self, pair: Pair) -> tuple[range, range]:
        """Numbers of the inputs that a product takes.

        Raises:
            ShapeError: there are no such operands.
        """
        (i, j), a, b = pair, self.pairs.plan.left_bases, self.pairs.plan.right_bases
        if not (0 <= i < self.left and 0 <= j < self.right):
            raise ShapeError(f"a product of operands {i} and {j}; there are {self.left} and {self.right}")
        first = self.left * a + j * b
        return range(i * a, (i + 1) * a), range(first, first + b)


def check_inputs(inputs: Sequence[Any], count: int, level: int) -> None:
    """Refuses inputs of a kernel of blocks that are none, before anything is computed or sent.

    Raises:
        ShapeError: another number. MismatchError: no ciphertexts. LevelError: of another level.
    """
    if len(inputs) != count:
        raise ShapeError(f"{len(inputs)} inputs, where the kernel takes {count}")
    for c in inputs:
        if not isinstance(c, Ciphertext):
            raise MismatchError(f"the kernel takes ciphertexts, not {type(c).__name__}")
        if c.level != level:
            raise LevelError(f"the kernel takes inputs of level {level}, this one has {c.level}")


class Prepared:
    """Handles of the kernels within one, on a device whose buffers are the host's, and what computes with them."""

    def __init__(self, device: Device, kernels: Sequence[Any], keys: KeySet, threads: int, progress: Progress | None):
        self.device, self.keys = device, keys
        self.handles: dict[Any, Handle] = {}
        for done, kernel in enumerate(kernels):

            def part(fraction: float, done: int = done) -> bool | None:
                return None if progress is None else progress((done + fraction) / len(kernels))

            self.handles[kernel] = device.prepare(kernel, keys, threads=threads, progress=part)

    @classmethod
    def of(
        cls, device: Device, kernel: Any, keys: KeySet, threads: int = 1, progress: Progress | None = None
    ) -> Prepared:
        """For a kernel of blocks."""
        if isinstance(kernel, OperandKernel):
            return cls(device, kernel.transforms, keys, threads, progress)
        inner = [kernel.pairs] if kernel.tail is None else [kernel.pairs, kernel.tail]
        return cls(device, inner, keys, threads, progress)

    @property
    def storage(self) -> int:
        """Bytes of what is encoded."""
        return sum(h.storage for h in self.handles.values())

    def operand(self, kernel: OperandKernel, x: Any, threads: int) -> list[Any]:
        """The bases of one operand."""
        evaluator = Evaluator(kernel.context, threads)

        def transform(stage: HltKernel, y: Any) -> Any:
            return self._run(stage, [y], threads, None)

        def copies(y: Any, steps: Sequence[int]) -> Any:
            return evaluator.replicate(y, list(steps), self.keys.galois)

        x = run_stages(kernel.prefix, x, transform, copies)
        return [run_stages(stages, x, transform, copies) for stages in kernel.bases]

    def product(
        self, kernel: ProductsKernel, pair: Pair, inputs: Any, threads: int, progress: Progress | None = None
    ) -> Any:
        """One product; `inputs` has bases by number."""
        left, right = kernel.bases(pair)
        c = self._run(kernel.pairs, [inputs[k] for k in (*left, *right)], threads, progress)
        if kernel.ladder is not None:
            evaluator = Evaluator(kernel.context, threads)
            c = kernel.ladder.run(c, lambda x, step: evaluator.rotate(x, step, self.keys.galois), evaluator.add)
        return c if kernel.tail is None else self._run(kernel.tail, [c], threads, None)

    def total(
        self, kernel: ProductsKernel, pairs: Sequence[Pair], inputs: Any, threads: int, done: Callable[[], Any]
    ) -> Any:
        """The sum of products, in their order; `done` is called after each."""
        evaluator, total = Evaluator(kernel.context, threads), None
        for pair in pairs:
            c = self.product(kernel, pair, inputs, threads)
            total = c if total is None else evaluator.add(total, c)
            done()
        if total is None:
            raise ShapeError("a sum of no products has no ciphertext")
        return total

    def _run(self, kernel: Any, inputs: list[Any], threads: int, progress: Progress | None) -> Any:
        (y,), _ = self.device.run(self.handles[kernel], inputs, threads=threads, progress=progress)
        return y


class Counter:
    """Tells a progress function how many of so many things are done; Error "cancelled" where it returns False."""

    def __init__(self, progress: Progress | None, count: int) -> None:
        self._progress, self._count, self._done = progress, max(1, count), 0

    def __call__(self) -> None:
        self._done += 1
        if self._progress is not None and self._progress(self._done / self._count) is False:
            raise Error("cancelled")


class _Cpu(Implementation):
    def prepare(self, p: Preparation[Any]) -> Prepared:
        return Prepared.of(p.device, p.kernel, p.keys, p.threads, p.progress)

    def storage(self, state: Prepared) -> int:
        return state.storage


class _CpuOperand(_Cpu):
    def run(self, r: Execution[OperandKernel, Prepared]) -> tuple[list[Any], Report]:
        check_inputs(r.inputs, r.kernel.count, r.kernel.level)
        done = Counter(r.progress, len(r.inputs))

        def compute() -> list[Any]:
            out = []
            for x in r.inputs:
                out += r.state.operand(r.kernel, x, r.threads)
                done()
            return out

        return counted(r.kernel.context, r.inputs, compute)


class _CpuProducts(_Cpu):
    def run(self, r: Execution[ProductsKernel, Prepared]) -> tuple[list[Any], Report]:
        check_inputs(r.inputs, r.kernel.inputs, r.kernel.pairs.level)
        done = Counter(r.progress, sum(map(len, r.kernel.sums)))

        def compute() -> list[Any]:
            return [r.state.total(r.kernel, pairs, r.inputs, r.threads, done) for pairs in r.kernel.sums]

        return counted(r.kernel.context, r.inputs, compute)


register(OperandKernel, "cpu", _CpuOperand())
register(ProductsKernel, "cpu", _CpuProducts())
register_cases(OperandKernel, "ringforge.matmul.block_cases")
register_cases(ProductsKernel, "ringforge.matmul.block_cases")
