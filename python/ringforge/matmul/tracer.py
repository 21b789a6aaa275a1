# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A machine that computes nothing: it records keys, levels, memory, and predicts noise.

Predictions are the native library's, asked for ciphertexts of which only the metadata exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ringforge import _native
from ringforge._native import Context, Metadata, MetadataRules
from ringforge.errors import FormatError
from ringforge.matmul.cost import ProductCost
from ringforge.matmul.engine import Operations, Product
from ringforge.matmul.kernels import HltKernel
from ringforge.matmul.machine import Array, Machine, Settings
from ringforge.matmul.slots import SlotMatrix

#: Operations on ciphertexts in one program; a file that asks for more is refused.
MAX_OPERATIONS = 1 << 16


@dataclass(frozen=True)
class Symbol:
    """What stands for a ciphertext in a program: its level and its metadata (docs/ckks.md)."""

    level: int
    known: Metadata
    degree: int

    @property
    def scale(self) -> float:
        return float(self.known.scale)

    @property
    def bound(self) -> float:
        return float(self.known.bound)

    @property
    def variance(self) -> float:
        return float(self.known.variance)

    @property
    def error_bound(self) -> float:
        return float(_native.error_bound(self.known, self.degree))


class SymbolOperations(Operations):
    """What the second step of a product does, on symbols."""

    def __init__(self, context: Context) -> None:
        self.rules = MetadataRules(context)
        self.primes = len(context.params.q)

    def drop(self, x: Any, level: int) -> Any:
        return replace(x, level=level)

    def transform(self, kernel: HltKernel, x: Any) -> Any:
        known = kernel.native().describe(x.known, kernel.input_scale, kernel.output_scale, kernel.input_bound)
        return Symbol(kernel.level - 1, known, x.degree)

    def replicate(self, x: Any, steps: tuple[int, ...]) -> Any:
        return self._with(x, self.rules.replicated(x.known, x.level + 1, len(steps)))

    def rotate(self, x: Any, step: int) -> Any:  # noqa: ARG002
        return self._with(x, self.rules.switched(x.known, x.level + 1))

    def multiply(self, x: Any, y: Any) -> Any:
        return self._with(x, self.rules.switched(self.rules.product(x.known, y.known), x.level + 1))

    def add(self, x: Any, y: Any) -> Any:
        return self._with(x, self.rules.sum(x.known, y.known))

    def rescale(self, x: Any) -> Any:
        return Symbol(x.level - 1, self.rules.rescaled(x.known, x.level + 1), x.degree)

    def double_real(self, x: Any) -> Any:
        return self._with(x, self.rules.doubled_real(x.known, x.level + 1))

    def _with(self, x: Symbol, known: Metadata) -> Symbol:
        return Symbol(x.level, known, x.degree)


class Tracer(Machine):
    """A machine that records levels, keys and predicted noise, and computes nothing."""

    def __init__(self, context: Context, settings: Settings | None = None) -> None:
        super().__init__(context, settings)
        #: Galois element of each key with the highest level it is used at.
        self.key_levels: dict[int, int] = {}
        self.relin_level: int | None = None
        #: Bytes of encoded diagonals and masks that are kept, of the largest that are encoded for one use, and of the
        #: largest product's temporaries.
        self.storage = self.passing = self.working = 0
        self.operations = 0
        self._rules = MetadataRules(context)
        self._symbols = SymbolOperations(context)
        # The objects themselves, not their addresses: those of freed ones are used again.
        self._kernels_stored: set[HltKernel] = set()
        self._products_stored: set[Product] = set()

    def fresh(self, level: int, bound: float) -> Symbol:
        """A ciphertext made with the public key."""
        p = self.context.params
        return Symbol(level, self._rules.encrypted(2.0**p.log_scale, bound, True), p.degree)

    def require(self, keys: Mapping[int, int], relin_level: int | None) -> None:
        for element, level in keys.items():
            if element != 1:
                self.key_levels[element] = max(level, self.key_levels.get(element, 0))
        if relin_level is not None:
            self.relin_level = max(relin_level, self.relin_level or 0)

    def run_transform(self, kernel: HltKernel, matrix: SlotMatrix, x: Any, again: bool) -> Any:
        self._count()
        gadget = self.context.gadget
        taken = matrix.diagonals * gadget.extended(x.level + 1) * 8 * gadget.degree
        if not again:
            self.passing = max(self.passing, taken)
        elif kernel not in self._kernels_stored:
            self._kernels_stored.add(kernel)
            self.storage += taken
        return self._symbols.transform(kernel, x)

    def run_bases(self, product: Product, side: str, x: Any) -> Any:
        self._count()
        return product.run_operand(side, x, self._symbols)

    def run_product(self, product: Product, cost: ProductCost, left: Any, right: Any) -> Any:
        self._count()
        if product not in self._products_stored:
            self._products_stored.add(product)
            self.storage += cost.plaintext_storage
            self.working = max(self.working, cost.working)
        return product.describe(left, right, self._symbols)

    def run_sum(self, x: Any, y: Any) -> Any:
        self._count()
        return self._symbols.add(x, y)

    def run_negative(self, x: Any) -> Any:
        return x

    def run_plain_sum(self, x: Any, values: Array) -> Any:
        self._count()
        known = self._rules.plain_sum(x.known, x.scale, float(np.abs(values).max()))
        return Symbol(x.level, known, x.degree)

    def run_drop(self, x: Any, level: int) -> Any:
        return replace(x, level=level)

    def _count(self) -> None:
        self.operations += 1
        if self.operations > MAX_OPERATIONS:
            raise FormatError(f"the program takes more than {MAX_OPERATIONS} operations on ciphertexts: cut it up")


__all__ = ["MAX_OPERATIONS", "Symbol", "SymbolOperations", "Tracer"]
