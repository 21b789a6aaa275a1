# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What is known beforehand of the results of kernels of matrices: what those of a worker are held against."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

from ringforge._native import Ciphertext
from ringforge.matmul.blocks import OperandKernel, Pair, ProductsKernel, run_stages
from ringforge.matmul.kernels import HltKernel, PairSumKernel
from ringforge.matmul.operations import Symbol, SymbolOperations

#: Other processors may round otherwise.
_ROUNDING = 1e-9

_FACTS = ("scale", "bound", "variance", "spread", "float_error")


class Facts(Protocol):
    """What is known of a ciphertext, as `Metadata` has it."""

    @property
    def scale(self) -> float: ...
    @property
    def bound(self) -> float: ...
    @property
    def variance(self) -> float: ...
    @property
    def spread(self) -> float: ...
    @property
    def float_error(self) -> float: ...


def same(a: Facts, b: Facts) -> bool:
    """Whether two ciphertexts have the same scale, bound and predicted noise, up to rounding."""
    return all(math.isclose(getattr(a, name), getattr(b, name), rel_tol=_ROUNDING) for name in _FACTS)


def _facts(of: Sequence[Symbol]) -> tuple[Any, ...]:
    return tuple((x.level, *(getattr(x.known, name) for name in _FACTS)) for x in of)


class Expected:
    """Of the results of one run, by its inputs.

    Args:
        kernel: of this room. inputs: its ciphertexts.
    """

    def __init__(self, kernel: Any, inputs: Sequence[Ciphertext]) -> None:
        self._kernel, self._rules = kernel, SymbolOperations(kernel.context)
        degree = kernel.context.params.degree
        self._inputs = [Symbol(c.level, c, degree) for c in inputs]
        # Blocks of a matrix have the same metadata: most of them are predicted once.
        self._made: dict[Any, Any] = {}

    def of_operands(self, which: Sequence[int]) -> list[Symbol]:
        """The bases of these operands."""
        kernel: OperandKernel = self._kernel
        out = []
        for k in which:
            name = _facts([self._inputs[k]])
            if name not in self._made:
                self._made[name] = self._operand(kernel, self._inputs[k])
            out += self._made[name]
        return out

    def of_sum(self, pairs: Sequence[Pair]) -> Symbol:
        """The sum of these products."""
        total: Symbol | None = None
        for pair in pairs:
            made = self._product(pair)
            total = made if total is None else self._rules.add(total, made)
        assert total is not None
        return total

    def single(self) -> list[Symbol]:
        """The result of a kernel that is one shard."""
        if isinstance(self._kernel, HltKernel):
            return [self._rules.transform(self._kernel, self._inputs[0])]
        if isinstance(self._kernel, PairSumKernel):
            left = self._kernel.plan.left_bases
            return [self._pairs(self._kernel, self._inputs[:left], self._inputs[left:])]
        return [self._rules.multiply(*self._inputs)]

    def _operand(self, kernel: OperandKernel, x: Symbol) -> list[Symbol]:
        x = run_stages(kernel.prefix, x, self._rules.transform, self._rules.replicate)
        return [run_stages(stages, x, self._rules.transform, self._rules.replicate) for stages in kernel.bases]

    def _product(self, pair: Pair) -> Symbol:
        kernel: ProductsKernel = self._kernel
        left, right = ([self._inputs[k] for k in side] for side in kernel.bases(pair))
        name = _facts(left), _facts(right)
        if name not in self._made:
            self._made[name] = self._finished(kernel, left, right)
        found: Symbol = self._made[name]
        return found

    def _finished(self, kernel: ProductsKernel, left: Sequence[Symbol], right: Sequence[Symbol]) -> Symbol:
        made = self._pairs(kernel.pairs, left, right)
        if kernel.ladder is not None:
            made = kernel.ladder.run(made, self._rules.rotate, self._rules.add)
        return made if kernel.tail is None else self._rules.transform(kernel.tail, made)

    def _pairs(self, kernel: PairSumKernel, left: Sequence[Symbol], right: Sequence[Symbol]) -> Symbol:
        native = kernel.native()
        known = native.describe(
            [x.known for x in left],
            [x.known for x in right],
            *(kernel.left_scale, kernel.right_scale, kernel.output_scale),
            *(kernel.left_bound, kernel.right_bound, kernel.output_bound),
        )
        return Symbol(native.output_level, known, left[0].degree)
