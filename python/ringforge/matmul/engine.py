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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ringforge import _native
from ringforge._native import Ciphertext, Context, Evaluator, PairSumPlan, Schedule
from ringforge.devices import Device, Handle, KeySet, Progress, Report, open_device
from ringforge.devices.cpu import counted
from ringforge.errors import LevelError, MismatchError, ParameterError, ShapeError
from ringforge.matmul.blocks import Pair, Stage, run_stages
from ringforge.matmul.cost import Pricing, split_steps
from ringforge.matmul.kernels import HltKernel, MultiplyKernel, PairSumKernel
from ringforge.matmul.operations import Operations
from ringforge.matmul.plan import Operand, ProductPlan, Replicate, Shift, Transform
from ringforge.matmul.shards import OperandKernel, ProductsKernel
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
        pricing: decides the baby steps of transforms; None: as the CPU does best.
    """

    schedule: str = "bsgs"
    compact: str = ""
    via: int = 0
    pricing: Pricing | None = None


@dataclass
class Bases:
    """An operand after its transforms: what products use again and again.

    Args:
        side: "left" or "right".
        ciphertexts: one for each base of the plan, as the device has them.
        report: what making them took.
    """

    side: str
    ciphertexts: list[Any]
    report: Report


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
        #: Scales of the bases. An operand without transforms has the default scale, and the other makes up for it.
        both = plan.left.transforms and plan.right.transforms
        made_up = math.sqrt(product) if both else product / self.scale
        self.left_scale = made_up if plan.left.transforms else self.scale
        self.right_scale = product / self.left_scale if plan.right.transforms else self.scale
        self.result_bound = plan.l * bounds[0] * bounds[1] if result_bound is None else result_bound
        self._stages = {
            "left": self._operand(plan.left, self.left_scale, bounds[0]),
            "right": self._operand(plan.right, self.right_scale, bounds[1]),
        }
        self._base_bound = {side: stages[1] for side, stages in self._stages.items()}
        self._handles: dict[Any, Handle] = {}
        self._keys: KeySet | None = None
        self.prepare_seconds = self.prepare_cpu_seconds = 0.0

    # ---- construction ----------------------------------------------------------------------------

    def _operand(
        self, operand: Operand, scale: float, bound: float
    ) -> tuple[tuple[list[Stage], list[list[Stage]]], float]:
        """Prefix and base stages of one side, and the bound of the bases' slots."""
        level, at = self.base_level + operand.transforms, self.scale
        largest = 0.0

        def chain(stages: Iterable[Transform | Replicate], level: int, at: float, bound: float) -> Any:
            made = []
            for s in stages:
                if isinstance(s, Replicate):
                    made.append(Stage(level, None, s.steps))
                    # Copies go to slots that are empty: the bound stays.
                    continue
                kernel = self._transform(s.matrix, s.generators, level, at, scale, bound)
                made.append(Stage(level, kernel))
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
            babies = split_steps(self.context, matrix.steps, level, generators, self.options.pricing)
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
            len(plan.left.bases),
            len(plan.right.bases),
            masks,
            plan.real_part,
            np.array(plan.folds, np.uint32),
            *plan.copies,
        )
        for outer, pairs in groups:
            native.add_group(outer % plan.slots)
            for left, right in pairs:
                native.add_pair(left, right)
        return native

    @cached_property
    def _pair_kernel(self) -> PairSumKernel:
        plan = self.plan
        return PairSumKernel(
            self.context,
            self._pair_plan,
            self.base_level,
            self.left_scale,
            self.right_scale,
            self.scale,
            self._base_bound["left"],
            self._base_bound["right"],
            self.result_bound / (plan.ladder.counts[-1] if plan.ladder is not None else 1),
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
        if self.plan.ladder is not None:
            for step in self.plan.ladder.steps:
                rotation(step, self.product_level - 1)
        if self.plan.tail is not None:
            for step in self._tail_kernel.native().steps:
                rotation(step, self.product_level - 1)
        return out

    @property
    def relin_level(self) -> int:
        """Level that the relinearisation key must cover."""
        return self.product_level

    # ---- running ---------------------------------------------------------------------------------

    def prepare(self, keys: KeySet, progress: Progress | None = None) -> None:
        """Encodes diagonals and masks; to be done before runs."""
        self._keys = keys
        kernels: list[HltKernel | PairSumKernel | MultiplyKernel] = [
            s.kernel
            for (prefix, bases), _ in self._stages.values()
            for s in [*prefix, *(x for b in bases for x in b)]
            if s.kernel is not None
        ]
        kernels.append(self._second_step)
        if self.plan.tail is not None:
            kernels.append(self._tail_kernel)
        for i, kernel in enumerate(kernels):

            def part(done: float, i: int = i) -> None:
                if progress:
                    progress((i + done) / len(kernels))

            self._handles[kernel] = self.device.prepare(kernel, keys, threads=self.threads, progress=part)
            self._prepared_in(self._handles[kernel].prepare_seconds, self._handles[kernel].prepare_cpu_seconds)
        if progress:
            progress(1.0)

    def _prepared_in(self, wall: float, cpu: float) -> None:
        self.prepare_seconds += wall
        self.prepare_cpu_seconds += cpu

    @property
    def prepared(self) -> bool:
        """Diagonals and masks are encoded."""
        return self._keys is not None

    @property
    def storage(self) -> int:
        """Bytes of what is encoded now."""
        return sum(h.storage for h in self._handles.values())

    def release(self) -> None:
        """Frees diagonals, masks and keys; `prepare` makes them again."""
        self._handles.clear()
        self._keys = None

    @cached_property
    def _second_step(self) -> PairSumKernel | MultiplyKernel:
        return self._pair_kernel if self.plan.lazy else MultiplyKernel(self.context, self.product_level)

    def left(self, a: Ciphertext, progress: Progress | None = None) -> Bases:
        """A after its transforms; may be used for any number of products."""
        return self._bases("left", a, progress)

    def right(self, b: Ciphertext, progress: Progress | None = None) -> Bases:
        """B after its transforms; may be used for any number of products."""
        return self._bases("right", b, progress)

    def _bases(self, side: str, x: Ciphertext, progress: Progress | None) -> Bases:
        if self._keys is None:
            raise ParameterError("call prepare with the evaluation keys first")
        operand = self.plan.left if side == "left" else self.plan.right
        start = self.base_level + operand.transforms
        if x.level < start:
            raise LevelError(f"the plan takes {side} operands of level {start} or more, this one has level {x.level}")
        operations = _Ciphertexts(self, self._keys)
        out = self.run_operand(side, x, operations, progress)
        return Bases(side, out, operations.report)

    def run_operand(self, side: str, x: Any, operations: Operations, progress: Progress | None = None) -> list[Any]:
        """The bases of an operand: what its transforms make of it."""
        (prefix, bases), _ = self._stages[side]
        operand = self.plan.left if side == "left" else self.plan.right
        done, total = 0, max(1, len(prefix) + sum(map(len, bases)))

        def run(stages: Sequence[Stage], x: Any) -> Any:
            nonlocal done
            for stage in stages:
                x = run_stages([stage], x, operations.transform, operations.replicate)
                done += 1
                if progress:
                    progress(done / total)
            return x

        x = run(prefix, operations.drop(x, self.base_level + operand.transforms))
        return [run(stages, x) for stages in bases]

    def operands_kernel(self, side: str, count: int) -> OperandKernel:
        """What makes the bases of so many operands, of `operand_level`."""
        (prefix, bases), _ = self._stages[side]
        return OperandKernel(
            self.context, self.operand_level(side), tuple(prefix), tuple(tuple(stages) for stages in bases), count
        )

    def operand_level(self, side: str) -> int:
        """The level at which an operand's transforms begin."""
        return self.base_level + (self.plan.left if side == "left" else self.plan.right).transforms

    def products_kernel(self, left: int, right: int, sums: tuple[tuple[Pair, ...], ...]) -> ProductsKernel:
        """What makes sums of products of so many operands.

        Raises:
            ShapeError: the plan is not lazy, so its products are no single kernels.
        """
        if not self.plan.lazy:
            raise ShapeError(f"products of method {self.plan.method} are several kernels each: multiply one by one")
        tail = None if self.plan.tail is None else self._tail_kernel
        return ProductsKernel(self._pair_kernel, self.plan.ladder, tail, left, right, sums)

    def multiply(self, left: Bases, right: Bases, progress: Progress | None = None) -> tuple[Any, Report]:
        """The product of two transformed operands, as the device has it."""
        if (left.side, right.side) != ("left", "right"):
            raise ShapeError(f"operands were transformed for the sides {left.side} and {right.side}")
        if left.ciphertexts[0].key_id != right.ciphertexts[0].key_id:
            raise MismatchError("the two operands were made under different keys")
        if self._keys is None:
            raise ParameterError("call prepare with the evaluation keys first")
        operations = _Ciphertexts(self, self._keys)
        if self.plan.lazy:
            (c,), operations.report = self.device.run(
                self._handles[self._second_step],
                [*left.ciphertexts, *right.ciphertexts],
                threads=self.threads,
                progress=progress,
            )
        else:
            c = self._separately(left.ciphertexts, right.ciphertexts, operations, progress)
        return self._finished(c, operations), operations.report

    def _finished(self, c: Any, operations: Operations) -> Any:
        """What follows the products and their folds."""
        if self.plan.ladder is not None:
            c = self.plan.ladder.run(c, operations.rotate, operations.add)
        return c if self.plan.tail is None else operations.transform(self._tail_kernel, c)

    def describe(self, left: Sequence[Any], right: Sequence[Any], operations: Operations) -> Any:
        """What `multiply` makes of two lists of symbols, as far as noise, bound and level go."""
        if self.plan.lazy:
            k = self._pair_kernel
            known = k.native().describe(
                [x.known for x in left],
                [x.known for x in right],
                *(k.left_scale, k.right_scale, k.output_scale),
                *(k.left_bound, k.right_bound, k.output_bound),
            )
            made = type(left[0])(self.product_level - 1, known, left[0].degree)
        else:
            made = self._separately(left, right, operations, None)
        return self._finished(made, operations)

    @cached_property
    def _tail_kernel(self) -> HltKernel:
        tail = self.plan.tail
        assert tail is not None
        return self._transform(
            tail.matrix, tail.generators, self.product_level - 1, self.scale, self.scale, self.result_bound
        )

    def operand_kernels(self, side: str) -> list[HltKernel]:
        """The transforms of an operand that has one base and no replications, in order.

        Raises:
            ShapeError: it has others.
        """
        (prefix, bases), _ = self._stages[side]
        stages = [*prefix, *(s for b in bases for s in b)]
        kernels = [s.kernel for s in stages if s.kernel is not None and not s.steps]
        if len(bases) != 1 or len(kernels) != len(stages):
            raise ShapeError(f"the {side} operand of method {self.plan.method} is not a chain of transforms")
        return kernels

    def pair_kernels(self, k: int) -> tuple[HltKernel, HltKernel]:
        """The transforms of both bases in pair k of a plan that is not lazy.

        Raises:
            ShapeError: one of them is no transform.
        """
        made: list[HltKernel] = []
        for side, shift, scale in zip(("left", "right"), self.plan.pair(k), self._shift_scales, strict=True):
            kernels = self._shift_kernels(side, shift, scale)
            if len(kernels) != 1 or not isinstance(kernels[0], HltKernel):
                raise ShapeError(f"pair {k} of method {self.plan.method} has a {side} factor that is no transform")
            made.append(kernels[0])
        return made[0], made[1]

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

    @property
    def _shift_scales(self) -> tuple[float, float]:
        """Scales of the shifted operands of plans that are not lazy.

        A side that is never masked has its bases' scale, the other's masks make the product's scale right.
        """
        plan = self.plan
        product = self.context.params.q[self.product_level] * self.scale / (2 if plan.real_part else 1)
        if any(t.support is not None for k in plan.pairs for t in plan.pair(k)[1]):
            return self.left_scale, product / self.left_scale
        return product / self.right_scale, self.right_scale

    def _separately(
        self, left: Sequence[Any], right: Sequence[Any], operations: Operations, progress: Progress | None
    ) -> Any:
        """One transform for each shift, one relinearisation for each pair: Algorithm 2 of the FAME paper."""
        plan, scales = self.plan, self._shift_scales

        def shifted(side: str, bases: Sequence[Any], shift: Shift, scale: float) -> Any:
            sums = None
            wall, cpu = time.perf_counter(), time.process_time()
            kernels = self._shift_kernels(side, shift, scale)
            self._prepared_in(time.perf_counter() - wall, time.process_time() - cpu)
            for kernel in kernels:
                if not isinstance(kernel, HltKernel):
                    return operations.rotate(operations.drop(bases[shift[0].base], self.product_level), kernel)
                y = operations.transform(kernel, bases[0])
                sums = y if sums is None else operations.add(sums, y)
            assert sums is not None
            return sums

        done, total = 0, None
        for group in plan.groups:
            part = None
            for k in group.pairs:
                wall, cpu = time.perf_counter(), time.process_time()
                first, second = plan.pair(k)
                self._prepared_in(time.perf_counter() - wall, time.process_time() - cpu)
                c = operations.multiply(
                    shifted("left", left, first, scales[0]), shifted("right", right, second, scales[1])
                )
                part = c if part is None else operations.add(part, c)
                done += 1
                if progress:
                    progress(done / len(plan.pairs))
            if group.outer:
                part = operations.rotate(part, group.outer)
            total = part if total is None else operations.add(total, part)
        c = operations.rescale(total)
        if plan.real_part:
            c = operations.double_real(c)
        for step in plan.folds:
            c = operations.add(c, operations.rotate(c, step))
        return c

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
        return self.device.download(c), left.report + right.report + report


class _Ciphertexts(Operations):
    """Operations on ciphertexts, with a product's prepared kernels and the keys it was prepared with.

    Results of kernels stay on the device until an operation of the host needs them.
    """

    def __init__(self, product: Product, keys: KeySet) -> None:
        self.product, self.keys, self.host = product, keys, product.device.download
        self.evaluator = Evaluator(product.context, product.threads)
        self.report = Report(product.device.name, 0.0)

    def drop(self, x: Any, level: int) -> Any:
        return x if x.level == level else self.evaluator.drop_to_level(self.host(x), level)

    def transform(self, kernel: HltKernel, x: Any) -> Any:
        p = self.product
        handle = p._handles.get(kernel)
        if handle is None:
            # A shift of a plan that is not lazy: encoded for this use.
            handle = p.device.prepare(kernel, self.keys, threads=p.threads)
            p._prepared_in(handle.prepare_seconds, handle.prepare_cpu_seconds)
        return self._run(handle, [x])

    def replicate(self, x: Any, steps: tuple[int, ...]) -> Any:
        return self._counted(x, lambda c: self.evaluator.replicate(c, list(steps), self.keys.galois))

    def rotate(self, x: Any, step: int) -> Any:
        return self._counted(x, lambda c: self.evaluator.rotate(c, step, self.keys.galois))

    def _counted(self, x: Any, run: Callable[[Any], Any]) -> Any:
        """Work of the host's, with what it took; beside a clocked device nothing of it is reported."""
        c = self.host(x)
        (y,), report = counted(self.product.context, [c], lambda: [run(c)])
        if self.product.device.name == report.device:
            self.report = self.report + report
        return y

    def multiply(self, x: Any, y: Any) -> Any:
        return self._run(self.product._handles[self.product._second_step], [x, y])

    def add(self, x: Any, y: Any) -> Any:
        return self.evaluator.add(self.host(x), self.host(y))

    def rescale(self, x: Any) -> Any:
        return self.evaluator.rescale(self.host(x))

    def double_real(self, x: Any) -> Any:
        return self._counted(x, lambda c: self.evaluator.double_real(c, self.keys.galois))

    def _run(self, handle: Handle, inputs: list[Any]) -> Any:
        (y,), report = self.product.device.run(handle, inputs, threads=self.product.threads)
        self.report = self.report + report
        return y


def _compose(groups: list[Any], slots: int, unit: int) -> None:
    """Splits every rotation of the terms into a multiple of `unit` steps (`via`) and a rest below it.

    Steps of a side are counted in their greatest common divisor. Changes the terms' lists in place.
    """
    for side in (0, 1):
        terms = [t for _, pairs in groups for pair in pairs for t in pair[side]]
        stride = math.gcd(slots, *(t[1] for t in terms)) * unit
        for t in terms:
            t[2] = t[1] - t[1] % stride
