# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A machine that computes nothing: it records keys, levels, memory, and predicts noise.

Predictions are the native library's, asked for ciphertexts of which only the metadata exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ringforge._native import Context, MetadataRules
from ringforge.errors import FormatError
from ringforge.matmul import planner
from ringforge.matmul.cost import ProductCost
from ringforge.matmul.engine import Product
from ringforge.matmul.kernels import HltKernel
from ringforge.matmul.machine import Array, Machine, Settings, Tile, same_places
from ringforge.matmul.operations import Symbol, SymbolOperations
from ringforge.matmul.slots import SlotMatrix

#: Operations on ciphertexts in one program; a file that asks for more is refused.
MAX_OPERATIONS = 1 << 16


@dataclass(frozen=True)
class _Repeat:
    """A product of two symbols and, for each, under which names its transformed operands are kept."""

    a: Symbol
    b: Symbol
    result: Tile
    choice: planner.Choice
    left: tuple[Any, ...]
    right: tuple[Any, ...]
    taken: int


def _named(tile: Tile) -> tuple[Any, ...]:
    return id(tile.value), tile.layout, tile.outside


def _has(tile: Tile, names: tuple[Any, ...]) -> bool:
    for name in names:
        found = tile.bases.get(name)
        if found is None:
            return False
        if isinstance(found, Tile):
            tile = found
    return True


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
        #: Bytes of ciphertexts: of all that come to be, of those that products take, of the most that one takes.
        self.made_bytes = self.taken_bytes = self.least_bytes = 0
        self.operations = 0
        self._rules = MetadataRules(context)
        self._symbols = SymbolOperations(context)
        # The objects themselves, not their addresses: those of freed ones are used again.
        self._kernels_stored: set[HltKernel] = set()
        self._products_stored: set[Product] = set()
        # What came out for symbols before; matrices of many blocks have few different ones. The entries keep the
        # symbols, whose addresses are part of the names.
        self._fresh: dict[tuple[int, float], Symbol] = {}
        self._made: dict[Any, tuple[Any, Any]] = {}
        self._required: dict[int, Mapping[int, int]] = {}
        self._repeats: dict[Any, _Repeat] = {}
        self._sums: dict[Any, tuple[Tile, Symbol, Symbol]] = {}
        self._touched: list[tuple[Tile, tuple[Any, str]]] = []

    def fresh(self, level: int, bound: float) -> Symbol:
        """A ciphertext made with the public key."""
        p, key = self.context.params, (level, bound)
        if key not in self._fresh:
            self._fresh[key] = Symbol(level, self._rules.encrypted(2.0**p.log_scale, bound, True), p.degree)
        return self._fresh[key]

    def require(self, keys: Mapping[int, int], relin_level: int | None) -> None:
        if self._required.get(id(keys)) is keys:
            return
        self._required[id(keys)] = keys
        for element, level in keys.items():
            if element != 1:
                self.key_levels[element] = max(level, self.key_levels.get(element, 0))
        if relin_level is not None:
            self.relin_level = max(relin_level, self.relin_level or 0)

    def product(
        self, a: Tile, b: Tile, bound: float | None = None, *, may_move: bool = True
    ) -> tuple[Tile, planner.Choice]:
        key = (_named(a), _named(b), bound, may_move)
        known = self._repeats.get(key)
        if known is not None and all(_has(t, names) for t, names in ((a, known.left), (b, known.right))):
            self._count()
            self._worked(known.choice.chosen.cost.weight)
            self.made_bytes += self._size([known.result.value])
            self.taken_bytes += known.taken
            return known.result.with_value(known.result.value), known.choice
        self._touched.clear()
        before = self.taken_bytes
        result, choice = super().product(a, b, bound, may_move=may_move)
        left, right = self._names(a), self._names(b)
        self._repeats[key] = _Repeat(a.value, b.value, result, choice, left, right, self.taken_bytes - before)
        return result, choice

    def kept_with(self, tile: Tile, key: tuple[Any, str]) -> None:
        self._touched.append((tile, key))

    def _names(self, tile: Tile) -> tuple[Any, ...]:
        """Under which names a product just found what is kept with a tile, and with what is kept there."""
        names: list[Any] = []
        for of, key in self._touched:
            if of.bases is tile.bases:
                names.append(key)
                if isinstance(tile.bases[key], Tile):
                    tile = tile.bases[key]
        return tuple(names)

    def add(self, a: Tile, b: Tile, what: str) -> Tile:
        key = (_named(a), _named(b))
        if key not in self._sums:
            made = super().add(a, b, what)
            if not same_places(a.layout, b.layout):
                return made
            self._sums[key] = made, a.value, b.value
        else:
            self._count()
        made = self._sums[key][0]
        return made.with_value(made.value)

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
        made = self._once(lambda: product.run_operand(side, x, self._symbols), product, side, x)
        self.made_bytes += self._size(made)
        return made

    def run_product(self, product: Product, cost: ProductCost, left: Any, right: Any) -> Any:
        self._count()
        if product not in self._products_stored:
            self._products_stored.add(product)
            self.storage += cost.plaintext_storage
            self.working = max(self.working, cost.working)
        made = self._once(lambda: product.describe(left, right, self._symbols), product, left, right)
        taken = self._size([*left, *right])
        self.taken_bytes += taken
        self.made_bytes += self._size([made])
        self.least_bytes = max(self.least_bytes, taken + self._size([made]))
        return made

    def run_sum(self, x: Any, y: Any) -> Any:
        self._count()
        return self._symbols.add(x, y)

    def run_times(self, x: Any, y: Any) -> Any:
        self._count()
        return self._symbols.rescale(self._symbols.multiply(x, y))

    def run_rotate(self, x: Any, step: int) -> Any:
        self._count()
        return self._symbols.rotate(x, step)

    def run_replicate(self, x: Any, steps: tuple[int, ...]) -> Any:
        self._count()
        return self._symbols.replicate(x, steps)

    def run_negative(self, x: Any) -> Any:
        return x

    def run_plain_sum(self, x: Any, values: Array) -> Any:
        self._count()
        known = self._rules.plain_sum(x.known, x.scale, float(np.abs(values).max()))
        return Symbol(x.level, known, x.degree)

    def run_drop(self, x: Any, level: int) -> Any:
        return self._once(lambda: replace(x, level=level), level, x)

    def _once(self, make: Callable[[], Any], *of: Any) -> Any:
        """What is made of these things, by what they are and not what is in them; the same thing each time."""
        key = tuple(map(id, of))
        if key not in self._made:
            self._made[key] = make(), of
        return self._made[key][0]

    def _size(self, values: Sequence[Symbol]) -> int:
        return sum(16 * x.degree * (x.level + 1) for x in values)

    def _count(self) -> None:
        self.operations += 1
        if self.operations > MAX_OPERATIONS:
            raise FormatError(f"the program takes more than {MAX_OPERATIONS} operations on ciphertexts: cut it up")


__all__ = ["MAX_OPERATIONS", "Symbol", "SymbolOperations", "Tracer"]
