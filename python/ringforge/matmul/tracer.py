# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A machine that computes nothing: it records keys, levels, memory, and predicts noise.

The rules of noise are those of the native library, for ciphertexts of which only the metadata exist.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ringforge import _native
from ringforge._native import Context, Parameters
from ringforge.devices.base import HltKernel
from ringforge.errors import FormatError
from ringforge.matmul.cost import Gadget, ProductCost, split_steps
from ringforge.matmul.engine import Product
from ringforge.matmul.machine import Array, Machine, Settings
from ringforge.matmul.plan import Operand, Stage, Transform
from ringforge.matmul.slots import SlotMatrix

#: Operations on ciphertexts in one program; a file that asks for more is refused.
MAX_OPERATIONS = 1 << 16

#: Error variance of encryption, and of rounding.
_ERROR, _ROUND = 10.5, 1 / 12


@dataclass(frozen=True)
class Symbol:
    """What stands for a ciphertext in a program: its level, bound and predicted noise (docs/ckks.md)."""

    level: int
    scale: float
    bound: float
    variance: float
    degree: int
    spread: float = 1.0

    @property
    def error_bound(self) -> float:
        return float(_native.slot_error_bound(self.variance, self.degree)) / self.scale


@dataclass(frozen=True)
class Noise:
    """Noise rules of a parameter set, those of the native library."""

    params: Parameters

    @property
    def rounding(self) -> float:
        return (1 + 2 * self.params.degree / 3) / 12

    def switch(self, limbs: int) -> float:
        """Of a key switch with so many limbs."""
        p = self.params
        log_p = sum(math.log2(x) for x in p.p)
        digits = [p.q[i : min(i + p.limbs_per_digit, limbs)] for i in range(0, limbs, p.limbs_per_digit)]
        squares = (2 ** (2 * (sum(math.log2(x) for x in d) - log_p)) for d in digits)
        return sum(squares) / 12 * p.degree * _ERROR

    def transform(self, x: Symbol, matrix: SlotMatrix, giants: int, scale: float) -> Symbol:
        """A linear transform with so many giant steps other than 0."""
        size = np.abs(matrix.value)
        rows = np.bincount(matrix.target, size)
        row_sum, columns = float(rows.max()), float(np.bincount(matrix.source, size).max())
        square = float(np.bincount(matrix.target, size**2).max())
        several = bool(np.bincount(matrix.target).max() > 1)
        prime = float(self.params.q[x.level])
        plain = prime * scale / x.scale
        turned = self.switch(x.level + 1) if matrix.steps.any() else 0.0
        gathered = (x.variance * (x.spread if several else 1) + turned) * square * plain**2
        fresh = matrix.diagonals * (x.bound * x.scale) ** 2 / 12 + giants * (self.switch(x.level + 1) + self.rounding)
        peak = (x.variance * x.spread + turned) * row_sum * columns * plain**2
        variance = (gathered + fresh) / prime**2 + self.rounding
        spread = max(1.0, ((peak + fresh) / prime**2 + self.rounding) / variance)
        return replace(x, level=x.level - 1, scale=scale, bound=x.bound * row_sum, variance=variance, spread=spread)

    def sum(self, x: Symbol, y: Symbol) -> Symbol:
        variance = (math.sqrt(x.variance) + math.sqrt(y.variance)) ** 2
        return replace(x, variance=variance, spread=max(x.spread, y.spread), bound=x.bound + y.bound)

    def replicated(self, x: Symbol) -> Symbol:
        """Contents copied to empty slots by one rotation."""
        turned = x.variance + self.switch(x.level + 1) + self.rounding
        return replace(x, variance=(x.variance + turned) * x.spread, spread=2.0)

    def product(self, made: Product, left: list[Symbol], right: list[Symbol]) -> Symbol:
        """The second step of a product, after the operands' transforms."""
        p, plan, degree = self.params, made.plan, self.params.degree
        # The noisiest base of each side stands for all.
        a, b = (
            replace(
                bases[0],
                variance=max(x.variance for x in bases),
                spread=max(x.spread for x in bases),
                bound=max(x.bound for x in bases),
            )
            for bases in (left, right)
        )
        pairs = [plan.pair(k) for k in plan.pairs]
        masked = [any(t.support is not None for pair in pairs for t in pair[side]) for side in (0, 1)]
        prime, last, out = float(p.q[made.base_level]), float(p.q[made.product_level]), made.scale
        total = last * out / (2 if plan.real_part else 1)
        scales = [prime if masked[0] else 0.0, prime * (total / a.scale) / b.scale if masked[1] else 0.0]
        if masked[0] and not masked[1]:
            scales[0] = prime * (total / b.scale) / a.scale
        noise = []
        for side, x in enumerate((a, b)):
            terms = max(len(pair[side]) for pair in pairs)
            switched = self.switch((made.base_level if masked[side] else made.product_level) + 1)
            # A base rotated before it is decomposed has one key switch's noise more.
            turned = switched + (switched + self.rounding if made.options.via or terms > 1 else 0)
            if masked[side]:
                f = scales[side] / prime
                rounded = terms * (x.bound * x.scale) ** 2 / 12 / prime**2
                noise.append((x.variance * f**2, turned * f**2 + rounded + self.rounding, x.scale * f, x.spread))
            else:
                noise.append((x.variance, turned + self.rounding, x.scale, x.spread))
        (ia, fa, sa, wa), (ib, fb, sb, wb) = noise
        count = len(pairs)
        va = (ia * wa + fa) * count * (b.bound * sb) ** 2
        vb = (ib * wb + fb) * count * (a.bound * sa) ** 2
        v = (math.sqrt(va) + math.sqrt(vb)) ** 2 + count * degree * (ia + fa) * (ib + fb)
        outer = sum(g.outer != 0 for g in plan.groups)
        switched = self.switch(made.product_level + 1)
        v += (len(plan.groups) if plan.lazy else count) * switched + outer * (switched + self.rounding)
        v = v / last**2 + self.rounding
        spread, turned = max(wa, wb) * count, self.switch(made.product_level) + self.rounding
        if plan.real_part:
            v = (math.sqrt(v) + math.sqrt(v + turned)) ** 2
        for _ in plan.folds:
            v, spread = 2 * v + turned, 2 * spread
        return Symbol(made.product_level - 1, out, made.result_bound, v, degree, spread)


class Tracer(Machine):
    """A machine that records levels, keys and predicted noise, and computes nothing."""

    def __init__(self, context: Context, settings: Settings | None = None) -> None:
        super().__init__(context, settings)
        #: Galois element of each key with the highest level it is used at.
        self.key_levels: dict[int, int] = {}
        self.relin_level: int | None = None
        #: Bytes of encoded diagonals and masks, and of the largest product's temporaries.
        self.storage = self.working = 0
        self.operations = 0
        self._noise = Noise(context.params)
        self._stored: set[int] = set()

    def fresh(self, level: int, bound: float) -> Symbol:
        """A ciphertext made with the public key."""
        p = self.context.params
        variance = _ERROR * (4 * p.degree / 3 + 1) + _ROUND
        return Symbol(level, 2.0**p.log_scale, bound, variance, p.degree)

    def require(self, keys: Mapping[int, int], relin_level: int | None) -> None:
        for element, level in keys.items():
            if element != 1:
                self.key_levels[element] = max(level, self.key_levels.get(element, 0))
        if relin_level is not None:
            self.relin_level = max(relin_level, self.relin_level or 0)

    def run_transform(self, kernel: HltKernel, matrix: SlotMatrix, x: Any, again: bool) -> Any:  # noqa: ARG002
        self._count()
        giants = np.unique((matrix.steps - kernel.babies.astype(np.int64)) % self.slots)
        if id(kernel) not in self._stored:
            self._stored.add(id(kernel))
            gadget = Gadget.of(self.context.params)
            self.storage += matrix.diagonals * gadget.extended(x.level + 1) * 8 * gadget.degree
        return self._noise.transform(x, matrix, int(np.count_nonzero(giants)), x.scale)

    def run_bases(self, product: Product, side: str, x: Any) -> Any:
        self._count()
        operand: Operand = product.plan.left if side == "left" else product.plan.right
        scale = product.left_scale if side == "left" else product.right_scale
        x = replace(x, level=product.base_level + operand.transforms)

        def run(stages: tuple[Stage, ...], x: Symbol) -> Symbol:
            for stage in stages:
                if isinstance(stage, Transform):
                    steps = stage.matrix.steps.astype(np.int64)
                    babies = split_steps(self.context, steps, x.level, stage.generators).astype(np.int64)
                    giants = np.count_nonzero(np.unique((steps - babies) % self.slots))
                    x = self._noise.transform(x, stage.matrix, int(giants), scale)
                else:
                    for _ in stage.steps:
                        x = self._noise.replicated(x)
            return x

        x = run(operand.prefix, x)
        return [run(stages, x) for stages in operand.bases]

    def run_product(self, product: Product, cost: ProductCost, left: Any, right: Any) -> Any:
        self._count()
        if id(product) not in self._stored:
            self._stored.add(id(product))
            self.storage += cost.plaintext_storage
            self.working = max(self.working, cost.working)
        out = self._noise.product(product, left, right)
        tail = product.plan.tail
        return out if tail is None else self._noise.transform(out, tail.matrix, tail.matrix.diagonals, out.scale)

    def run_sum(self, x: Any, y: Any) -> Any:
        self._count()
        return self._noise.sum(x, y)

    def run_negative(self, x: Any) -> Any:
        return x

    def run_plain_sum(self, x: Any, values: Array) -> Any:
        self._count()
        return replace(x, variance=x.variance + _ROUND, bound=x.bound + float(np.abs(values).max()))

    def run_drop(self, x: Any, level: int) -> Any:
        return replace(x, level=level)

    def _count(self) -> None:
        self.operations += 1
        if self.operations > MAX_OPERATIONS:
            raise FormatError(f"the program takes more than {MAX_OPERATIONS} operations on ciphertexts: cut it up")
