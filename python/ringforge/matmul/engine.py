# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Runs a plan on ciphertexts: levels, scales, schedules and keys are decided here.

Levels. With T transforms in the longer pipeline, inputs of level L become bases of level L - T; masks take one
level, the product another. An operand with fewer transforms first drops primes.

Scales. Inputs and results have the set's default scale D exactly, whatever the primes are: with q the prime that
the product's rescale drops, both bases get the scale sqrt(q * D) (sqrt(q * D / 2) when the real part doubles the
result), and the multipliers' own scales make up the differences.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np

from ringforge import _native
from ringforge._native import Ciphertext, Context, Evaluator, PairSumPlan, Schedule
from ringforge.devices import Device, Report, open_device
from ringforge.devices.base import Handle, HltKernel, Keys, MultiplyKernel, PairSumKernel, Progress
from ringforge.errors import LevelError, MismatchError, ParameterError, ShapeError
from ringforge.matmul.cost import split_steps
from ringforge.matmul.plan import Operand, ProductPlan, Replicate, Shift, Transform
from ringforge.matmul.slots import SlotMatrix

SCHEDULES = ("naive", "hoisted", "mo", "bsgs")


@dataclass(frozen=True)
class Options:
    """How a plan is run.

    Args:
        schedule: of linear transforms: naive, hoisted, mo or bsgs.
        compact: encoded diagonals keep only coefficients; limbs are made when they are used. "masks": only those
            of the products do, "all": those of the transforms too, "": none.
        via: rotations of the product's operands are composed of multiples of `via` base steps and the rest, so
            that few keys are needed; 0 gives each rotation its own key.
    """

    schedule: str = "bsgs"
    compact: str = ""
    via: int = 0


@dataclass
class Bases:
    """An operand after its transforms: what products use again and again.

    Args:
        side: "left" or "right".
        ciphertexts: one for each base of the plan.
        report: what making them took.
    """

    side: str
    ciphertexts: list[Ciphertext]
    report: Report


@dataclass
class _Stage:
    """A transform with its place, or the steps of a replication."""

    level: int
    input_scale: float
    output_scale: float
    kernel: HltKernel | None
    steps: tuple[int, ...] = ()
    handle: Handle | None = field(default=None)


def diagonals(matrix: SlotMatrix) -> _native.Diagonals:
    """The native form of a map."""
    ones = bool((matrix.value == 1).all())
    return _native.Diagonals(
        matrix.slots,
        np.ascontiguousarray(matrix.steps),
        np.ascontiguousarray(matrix.offsets, dtype=np.uint64),
        np.ascontiguousarray(matrix.target),
        np.zeros(0, np.complex128) if ones else np.ascontiguousarray(matrix.value),
    )


def shift_matrix(slots: int, shift: Shift) -> SlotMatrix:
    """A shift of one base as a map of slots."""
    every = np.arange(slots, dtype=np.int64)
    targets = [every if t.support is None else t.support.astype(np.int64) for t in shift]
    sources = [(s + t.step) % slots for s, t in zip(targets, shift, strict=True)]
    target = np.concatenate(targets)
    return SlotMatrix(slots, target, np.concatenate(sources), np.ones(len(target)))


class Product:
    """A plan for products of two encrypted matrices, at one level of one parameter set.

    Args:
        context: parameters; their slots must be the plan's.
        plan: what is computed.
        level: of the inputs; the maximum by default.
        bounds: largest |entry| of A and of B that will be declared.
        result_bound: promised largest |entry| of the result; by default l times both bounds.
        options: schedules and memory.
        device: where kernels run.

    Raises:
        LevelError: fewer levels than the plan takes; the message says how many.
        ShapeError: the plan is for another number of slots.
    """

    def __init__(
        self,
        context: Context,
        plan: ProductPlan,
        level: int | None = None,
        *,
        bounds: tuple[float, float] = (1.0, 1.0),
        result_bound: float | None = None,
        options: Options | None = None,
        device: str | Device = "cpu",
        threads: int = 1,
    ) -> None:
        params = context.params
        options = options or Options()
        if options.schedule not in SCHEDULES:
            raise ParameterError(f'there is no schedule "{options.schedule}"; choose one of {", ".join(SCHEDULES)}')
        if plan.slots != params.slots:
            raise ShapeError(f"the plan is for {plan.slots} slots, the parameters have {params.slots}")
        self.context, self.plan, self.options, self.threads = context, plan, options, threads
        self.level = params.max_level if level is None else level
        if self.level < plan.depth:
            raise LevelError(
                f"a {plan.m} x {plan.l} by {plan.l} x {plan.n} product by {plan.method} takes {plan.depth} levels, the "
                f"operands have {self.level}: encrypt at a higher level, or use parameters with more primes"
            )
        self.device = open_device(device) if isinstance(device, str) else device
        self.bounds = bounds
        self.scale = 2.0**params.log_scale
        #: Level of the bases, of the products, and of the result.
        self.base_level = self.level - plan.transforms
        self.product_level = self.base_level - int(plan.masked)
        self.result_level = self.level - plan.depth
        product = params.q[self.product_level] * self.scale / (2 if plan.real_part else 1)
        inner = math.sqrt(product)
        #: Scales of the bases.
        self.left_scale = inner if plan.left.transforms else self.scale
        self.right_scale = product / self.left_scale if plan.right.transforms else self.scale
        self.result_bound = plan.l * bounds[0] * bounds[1] if result_bound is None else result_bound
        self._stages = {
            "left": self._operand(plan.left, self.left_scale, bounds[0]),
            "right": self._operand(plan.right, self.right_scale, bounds[1]),
        }
        self._base_bound = {side: stages[1] for side, stages in self._stages.items()}
        self._sum: Handle | None = None
        self._multiply: Handle | None = None
        self._tail: Handle | None = None
        self._keys: Keys | None = None
        self.prepare_seconds = 0.0

    # ---- construction ----------------------------------------------------------------------------

    def _operand(
        self, operand: Operand, scale: float, bound: float
    ) -> tuple[tuple[list[_Stage], list[list[_Stage]]], float]:
        """Prefix and base stages of one side, and the bound of the bases' slots."""
        level, at = self.base_level + operand.transforms, self.scale
        largest = 0.0

        def chain(stages: Iterable[Transform | Replicate], level: int, at: float, bound: float) -> Any:
            made = []
            for s in stages:
                if isinstance(s, Replicate):
                    made.append(_Stage(level, at, at, None, s.steps))
                    # Copies go to slots that are empty: the bound stays.
                    continue
                kernel = self._transform(s.matrix, s.generators, level, at, scale, bound)
                made.append(_Stage(level, at, scale, kernel))
                bound *= kernel.map.row_sum
                level, at = level - 1, scale
            return made, level, at, bound

        prefix, level, at, bound = chain(operand.prefix, level, at, bound)
        bases = []
        for stages in operand.bases:
            made, _, _, b = chain(stages, level, at, bound)
            bases.append(made)
            largest = max(largest, b)
        return (prefix, bases), largest

    def _transform(
        self,
        matrix: SlotMatrix,
        generators: tuple[tuple[int, int], ...],
        level: int,
        input_scale: float,
        output_scale: float,
        bound: float,
    ) -> HltKernel:
        schedule = self.options.schedule
        babies = matrix.steps
        if schedule == "bsgs":
            babies = split_steps(self.context, matrix.steps, level, generators)
        return HltKernel(
            self.context,
            diagonals(matrix),
            level,
            getattr(Schedule, schedule),
            np.ascontiguousarray(babies, dtype=np.uint32),
            input_scale,
            output_scale,
            bound,
            self.options.compact == "all",
        )

    @cached_property
    def _pair_plan(self) -> PairSumPlan:
        """The native plan of the second step, for lazy plans."""
        plan, masks, place = self.plan, list[Any](), dict[bytes, int]()

        def terms(shift: Shift) -> list[list[int]]:
            out = []
            for t in shift:
                mask = -1
                if t.support is not None:
                    mask = place.setdefault(t.support.tobytes(), len(masks))
                    if mask == len(masks):
                        masks.append(np.ascontiguousarray(t.support, dtype=np.uint32))
                out.append([t.base, t.step, 0, mask])
            return out

        groups = [(g.outer, [tuple(map(terms, plan.pair(k))) for k in g.pairs]) for g in plan.groups]
        if self.options.via:
            _compose(groups, plan.slots, self.options.via)
        native = PairSumPlan(
            len(plan.left.bases), len(plan.right.bases), masks, plan.real_part, np.array(plan.folds, np.uint32)
        )
        for outer, pairs in groups:
            native.add_group(outer % plan.slots)
            for left, right in pairs:
                native.add_pair(left, right)
        return native

    @cached_property
    def _pair_kernel(self) -> PairSumKernel:
        return PairSumKernel(
            self.context,
            self._pair_plan,
            self.base_level,
            self.left_scale,
            self.right_scale,
            self.scale,
            self._base_bound["left"],
            self._base_bound["right"],
            self.result_bound,
            self.options.compact != "",
        )

    # ---- keys ------------------------------------------------------------------------------------

    @cached_property
    def required_keys(self) -> Mapping[int, int]:
        """Galois element of each key a run needs, with the highest level it is used at."""
        out: dict[int, int] = {}

        def need(element: int, level: int) -> None:
            if element != 1:
                out[element] = max(level, out.get(element, 0))

        def rotation(step: int, level: int) -> None:
            need(self.context.rotation_element(step % self.plan.slots), level)

        for (prefix, bases), _ in self._stages.values():
            for stage in [*prefix, *(s for b in bases for s in b)]:
                for step in stage.steps:
                    rotation(step, stage.level)
                if stage.kernel is not None:
                    for step in stage.kernel.native().steps:
                        rotation(step, stage.level)
        if self.plan.lazy:
            for element, level in self._pair_kernel.native().required_keys:
                need(element, level)
        else:
            for k in self.plan.pairs:
                for side, shift in zip(("left", "right"), self.plan.pair(k), strict=True):
                    for kernel in self._shift_kernels(side, shift):
                        for step in kernel.native().steps if isinstance(kernel, HltKernel) else (kernel,):
                            rotation(step, self.base_level)
            for step in self.plan.folds:
                rotation(step, self.product_level - 1)
            if self.plan.real_part:
                need(self.context.conjugation_element, self.product_level - 1)
        if self.plan.tail is not None:
            for step in self._tail_kernel.native().steps:
                rotation(step, self.product_level - 1)
        return out

    @property
    def relin_level(self) -> int:
        """Level that the relinearisation key must cover."""
        return self.product_level

    # ---- running ---------------------------------------------------------------------------------

    def prepare(self, keys: Keys, progress: Progress | None = None) -> None:
        """Encodes diagonals and masks; runs do it when it has not been done."""
        self._keys = keys
        stages = [
            s
            for (prefix, bases), _ in self._stages.values()
            for s in [*prefix, *(x for b in bases for x in b)]
            if s.kernel is not None
        ]
        for i, s in enumerate(stages):
            assert s.kernel is not None
            self.device.check(s.kernel)

            def part(done: float, i: int = i) -> None:
                if progress:
                    progress((i + done) / (len(stages) + 1))

            s.handle = self.device.prepare(s.kernel, keys, threads=self.threads, progress=part)
            self.prepare_seconds += s.handle.prepare_seconds
        if self.plan.lazy:
            self.device.check(self._pair_kernel)
            self._sum = self.device.prepare(self._pair_kernel, keys, threads=self.threads)
            self.prepare_seconds += self._sum.prepare_seconds
        else:
            self._multiply = self.device.prepare(MultiplyKernel(self.context, self.product_level), keys)
        if self.plan.tail is not None:
            self.device.check(self._tail_kernel)
            self._tail = self.device.prepare(self._tail_kernel, keys, threads=self.threads)
            self.prepare_seconds += self._tail.prepare_seconds
        if progress:
            progress(1.0)

    def left(self, a: Ciphertext, progress: Progress | None = None) -> Bases:
        """A after its transforms; may be used for any number of products."""
        return self._bases("left", a, progress)

    def right(self, b: Ciphertext, progress: Progress | None = None) -> Bases:
        """B after its transforms; may be used for any number of products."""
        return self._bases("right", b, progress)

    def _bases(self, side: str, x: Ciphertext, progress: Progress | None) -> Bases:
        if self._keys is None:
            raise ParameterError("call prepare with the evaluation keys first")
        ev = Evaluator(self.context, self.threads)
        (prefix, bases), _ = self._stages[side]
        operand = self.plan.left if side == "left" else self.plan.right
        start = self.base_level + operand.transforms
        if x.level < start:
            raise LevelError(f"the plan takes {side} operands of level {start} or more, this one has level {x.level}")
        if x.level > start:
            x = ev.drop_to_level(x, start)
        report = Report("cpu", 0.0)
        done, total = 0, max(1, len(prefix) + sum(map(len, bases)))

        def run(stage: _Stage, x: Ciphertext) -> Ciphertext:
            nonlocal report, done
            if stage.handle is not None:
                (x,), r = self.device.run(stage.handle, [x], threads=self.threads)
                report = report + r
            if stage.steps:
                x = ev.replicate(x, list(stage.steps), cast(Keys, self._keys).galois)
            done += 1
            if progress:
                progress(done / total)
            return x

        for stage in prefix:
            x = run(stage, x)
        out = []
        for stages in bases:
            y = x
            for stage in stages:
                y = run(stage, y)
            out.append(y)
        return Bases(side, out, report)

    def multiply(self, left: Bases, right: Bases, progress: Progress | None = None) -> tuple[Ciphertext, Report]:
        """The product of two transformed operands."""
        if (left.side, right.side) != ("left", "right"):
            raise ShapeError(f"operands were transformed for the sides {left.side} and {right.side}")
        if left.ciphertexts[0].key_id != right.ciphertexts[0].key_id:
            raise MismatchError("the two operands were made under different keys")
        if self.plan.lazy:
            assert self._sum is not None
            (c,), report = self.device.run(
                self._sum, [*left.ciphertexts, *right.ciphertexts], threads=self.threads, progress=progress
            )
        else:
            c, report = self._multiply_eagerly(left.ciphertexts, right.ciphertexts, progress)
        if self._tail is not None:
            (c,), r = self.device.run(self._tail, [c], threads=self.threads)
            report = report + r
        return c, report

    @cached_property
    def _tail_kernel(self) -> HltKernel:
        tail = self.plan.tail
        assert tail is not None
        return self._transform(
            tail.matrix, tail.generators, self.product_level - 1, self.scale, self.scale, self.result_bound
        )

    def _shift_kernels(self, side: str, shift: Shift, scale: float | None = None) -> list[HltKernel | int]:
        """The transform of a shift of a plan that is not lazy, or the step of one that is a bare rotation."""
        if len(shift) == 1 and shift[0].support is None:
            return [shift[0].step]
        if any(t.base for t in shift):
            raise ShapeError("plans that are not lazy have one base for each operand")
        at = self.left_scale if side == "left" else self.right_scale
        return [
            self._transform(
                shift_matrix(self.plan.slots, shift), (), self.base_level, at, scale or at, self._base_bound[side]
            )
        ]

    def _multiply_eagerly(
        self, left: Sequence[Ciphertext], right: Sequence[Ciphertext], progress: Progress | None
    ) -> tuple[Ciphertext, Report]:
        """One transform for each shift, one relinearisation for each pair: Algorithm 2 of the FAME paper."""
        assert self._multiply is not None
        assert self._keys is not None
        ev, keys, plan = Evaluator(self.context, self.threads), self._keys, self.plan
        report, total = Report("cpu", 0.0), None
        product = self.context.params.q[self.product_level] * self.scale / (2 if plan.real_part else 1)
        # A side that is never masked has its bases' scale, the other's masks make the product's scale right.
        scales = [self.left_scale, product / self.left_scale]
        if not any(t.support is not None for k in plan.pairs for t in plan.pair(k)[1]):
            scales = [product / self.right_scale, self.right_scale]

        def shifted(side: str, bases: Sequence[Ciphertext], shift: Shift, scale: float) -> Ciphertext:
            nonlocal report
            sums: Ciphertext | None = None
            start = time.perf_counter()
            kernels = self._shift_kernels(side, shift, scale)
            self.prepare_seconds += time.perf_counter() - start
            for kernel in kernels:
                if not isinstance(kernel, HltKernel):
                    base = ev.drop_to_level(bases[shift[0].base], self.product_level)
                    return ev.rotate(base, kernel, keys.galois)
                handle = self.device.prepare(kernel, keys, threads=self.threads)
                (y,), r = self.device.run(handle, [bases[0]], threads=self.threads)
                self.prepare_seconds += handle.prepare_seconds
                report = report + r
                sums = y if sums is None else ev.add(sums, y)
            assert sums is not None
            return sums

        done, pairs = 0, len(plan.pairs)
        for group in plan.groups:
            part = None
            for k in group.pairs:
                start = time.perf_counter()
                first, second = plan.pair(k)
                self.prepare_seconds += time.perf_counter() - start
                operands = [shifted("left", left, first, scales[0]), shifted("right", right, second, scales[1])]
                (c,), r = self.device.run(self._multiply, operands, threads=self.threads)
                report = report + r
                part = c if part is None else ev.add(part, c)
                done += 1
                if progress:
                    progress(done / pairs)
            assert part is not None
            if group.outer:
                part = ev.rotate(part, group.outer, keys.galois)
            total = part if total is None else ev.add(total, part)
        assert total is not None
        c = ev.rescale(total)
        if plan.real_part:
            c = ev.double_real(c, keys.galois)
        for step in plan.folds:
            c = ev.add(c, ev.rotate(c, step, keys.galois))
        return c, report

    def __call__(self, a: Ciphertext, b: Ciphertext, progress: Progress | None = None) -> tuple[Ciphertext, Report]:
        """A times B, both of the plan's level or above."""

        def part(first: float, share: float) -> Progress:
            def report(done: float) -> None:
                if progress:
                    progress(first + share * done)

            return report

        left = self.left(a, part(0.0, 0.2))
        right = self.right(b, part(0.2, 0.2))
        c, report = self.multiply(left, right, part(0.4, 0.6))
        return c, left.report + right.report + report


def _compose(groups: list[Any], slots: int, unit: int) -> None:
    """Splits every rotation of the terms into a multiple of `unit` steps (`via`) and a rest below it.

    Steps of a side are counted in their greatest common divisor. Changes the terms' lists in place.
    """
    for side in (0, 1):
        terms = [t for _, pairs in groups for pair in pairs for t in pair[side]]
        stride = math.gcd(slots, *(t[1] for t in terms)) * unit
        for t in terms:
            t[2] = t[1] - t[1] % stride
