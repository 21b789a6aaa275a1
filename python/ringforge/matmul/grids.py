# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Products of grids of blocks as two kernels, for devices that compute many blocks at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ringforge.matmul import planner
from ringforge.matmul.blocks import Pair
from ringforge.matmul.engine import Product
from ringforge.matmul.machine import BLOCK_SUM, Decided, Grid, Machine, Tile
from ringforge.matmul.shards import ProductsKernel


@dataclass(frozen=True)
class Grouped:
    """All products of two grids, where they have one plan.

    Attributes:
        decided: of each cell of the result the products that are added up.
        left, right: the operands, each once.
    """

    decided: list[list[list[Decided]]]
    left: list[Tile]
    right: list[Tile]

    @property
    def product(self) -> Product:
        """The plan of all."""
        return self.decided[0][0][0].product

    @property
    def choice(self) -> planner.Choice:
        """What the planner considered."""
        return self.decided[0][0][0].choice

    @property
    def weight(self) -> float:
        """Of all products, as `Machine.work` counts it."""
        return sum(d.choice.chosen.cost.weight for row in self.decided for cell in row for d in cell)

    def kernel(self) -> ProductsKernel:
        """What computes them, of all operands' bases."""
        at, of = ({id(t.bases): i for i, t in enumerate(side)} for side in (self.left, self.right))

        def pair(d: Decided) -> Pair:
            return at[id(d.left.bases)], of[id(d.right.bases)]

        sums = tuple(tuple(map(pair, cell)) for row in self.decided for cell in row)
        return self.product.products_kernel(len(self.left), len(self.right), sums)

    def tiles(self, value: Callable[[], Any]) -> Grid:
        """The grid of results, whose ciphertexts `value` gives one after another."""
        return [[cell[0].result(value()) for cell in row] for row in self.decided]


def grouped(machine: Machine, a: Grid, b: Grid, bound: float | None) -> Grouped | None:
    """The products of two grids, if they can be kernels of many blocks: several of them, all of one plan.

    Raises:
        LevelError: too few levels, or a sum does not fit its level.
    """
    columns = range(len(b[0]))
    found = [[[machine.decided(x, b[k][j], bound) for k, x in enumerate(row)] for j in columns] for row in a]
    every = [d for row in found for cell in row for d in cell]
    product = every[0].product
    if len(every) == 1 or not product.plan.lazy or any(d.product is not product for d in every):
        return None
    machine.room(len(a[0]) * product.result_bound, product.result_level, BLOCK_SUM, product.result_level)
    left, right = ({id(t.bases): t for t in side} for side in ([d.left for d in every], [d.right for d in every]))
    return Grouped(found, list(left.values()), list(right.values()))
