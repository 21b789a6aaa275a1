# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a program takes on a pool of workers: its kernels in order, with the cost of each shard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ringforge.devices.sharding import Cost
from ringforge.matmul import planner
from ringforge.matmul.cost import ProductCost
from ringforge.matmul.engine import Product
from ringforge.matmul.grids import grouped
from ringforge.matmul.kernels import HltKernel, MultiplyKernel
from ringforge.matmul.machine import Grid
from ringforge.matmul.program import Program, symbols
from ringforge.matmul.shards import EACH, encoded, input_bytes, shard_costs
from ringforge.matmul.slots import SlotMatrix
from ringforge.matmul.tracer import Tracer


@dataclass(frozen=True)
class Run:
    """A run of a kernel; the next begins when all of its shards are there.

    Attributes:
        what: in words. costs: of its shards. read: bytes of all that they read, each ciphertext counted once.
        encoded: bytes of diagonals and masks that each worker makes once and keeps.
    """

    what: str
    costs: Sequence[Cost]
    read: int
    encoded: int


@dataclass(frozen=True)
class Forecast:
    """What a program takes on workers.

    Attributes:
        runs: in order. keys: bytes of the evaluation keys, stored once on each node.
    """

    runs: Sequence[Run]
    keys: int


class _Recorder(Tracer):
    """Writes down the kernels of a device with workers, where a server has it."""

    def __init__(self, program: Program, workers: int) -> None:
        super().__init__(program.context, program.planning)
        self.runs: list[Run] = []
        self._parts, self._apart = EACH * workers, True

    def products(self, a: Grid, b: Grid, bound: float | None) -> tuple[Grid, planner.Choice]:
        found = grouped(self, a, b, bound)
        if found is None:
            return super().products(a, b, bound)
        product = found.product
        for side, tiles in (("left", found.left), ("right", found.right)):
            count = sum((product, side) not in t.bases for t in tiles)
            if count:
                self._record(f"{side} operand", product.operands_kernel(side, count))
        self._record("products", found.kernel())
        self._apart = False
        made = super().products(a, b, bound)
        self._apart = True
        return made

    def run_transform(self, kernel: HltKernel, matrix: SlotMatrix, x: Any, again: bool) -> Any:
        self._record("transform", kernel)
        return super().run_transform(kernel, matrix, x, again)

    def run_bases(self, product: Product, side: str, x: Any) -> Any:
        if self._apart and product.plan.lazy:
            self._record(f"{side} operand", product.operands_kernel(side, 1))
        return super().run_bases(product, side, x)

    def run_product(self, product: Product, cost: ProductCost, left: Any, right: Any) -> Any:
        if self._apart and product.plan.lazy:
            self._record("product", product.products_kernel(1, 1, (((0, 0),),)))
        return super().run_product(product, cost, left, right)

    def run_times(self, x: Any, y: Any) -> Any:
        self._record("product entry by entry", MultiplyKernel(self.context, x.level))
        return super().run_times(x, y)

    def _record(self, what: str, kernel: Any) -> None:
        read = input_bytes(kernel)
        self.runs.append(Run(what, shard_costs(kernel, self._parts), read, encoded(kernel)))


def forecast(program: Program, workers: int) -> Forecast:
    """The kernels of a program on so many workers; products of plans that are not lazy are left out, and sums, which
    are the driver's.

    Seconds are of one thread of the processor that the planner's unit was measured on.
    """
    recorder = _Recorder(program, workers)
    program.run(symbols(recorder, program.inputs))
    gadget = program.context.gadget
    keys = sum(gadget.key_bytes(level + 1) for level in program.key_levels.values())
    if program.relin_level is not None:
        keys += gadget.key_bytes(program.relin_level + 1)
    return Forecast(recorder.runs, keys)
