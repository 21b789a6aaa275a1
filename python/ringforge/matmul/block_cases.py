# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Cases of the conformance suite: the transforms of several operands, and sums of products of blocks."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import Any

import numpy as np

from ringforge._native import PairSumPlan, Schedule
from ringforge.devices import KeySet
from ringforge.devices.ciphertexts import SCALE, World, facts, words
from ringforge.devices.conformance import Case, Given, Refusal
from ringforge.errors import LevelError, MissingKeyError, ShapeError
from ringforge.matmul.blocks import OperandKernel, ProductsKernel, Stage
from ringforge.matmul.engine import diagonals
from ringforge.matmul.kernels import HltKernel, PairSumKernel
from ringforge.matmul.plan import Ladder
from ringforge.matmul.slots import SlotMatrix


@functools.cache
def cases(kernel: type) -> list[Case]:
    """Cases of a type of kernels."""
    if kernel is OperandKernel:
        return [_operands(1), _operands(3)]
    return [_products("of one cell", ((0, 0),)), _products("of a grid", *_GRID), _products("one by one", *_SINGLE)]


_GRID = (((0, 0), (1, 1), (2, 0)), ((1, 0), (0, 1)), ((2, 1),))
_SINGLE = tuple(((i, j),) for i in range(3) for j in range(2))


def _transform(world: World, level: int, steps: list[int], seed: int) -> HltKernel:
    rng, slots = np.random.default_rng(seed), world.params.slots
    every = np.arange(slots)
    values = rng.uniform(-1, 1, (len(steps), slots)) / 8
    matrix = SlotMatrix(
        slots,
        np.tile(every, len(steps)),
        np.concatenate([(every + s) % slots for s in steps]),
        values.ravel(),
    )
    babies = (matrix.steps % 4).astype(np.uint32)
    return HltKernel(world.context, diagonals(matrix), level, Schedule.bsgs, babies, SCALE, SCALE, 1.0)


def _operands(count: int) -> Case:
    world, rng = World(4), np.random.default_rng(17)
    top = world.level
    first = Stage(top, _transform(world, top, [0, 1, 6], 1))
    bases = (
        (Stage(top - 1, None, (8, 16)), Stage(top - 1, _transform(world, top - 1, [0, 3], 2))),
        (Stage(top - 1, _transform(world, top - 1, [2], 3)),),
    )
    kernel = OperandKernel(world.context, top, (first,), bases, count)
    elements = [x for t in kernel.transforms for x in world.rotations(t.native().steps, top)]
    keys = world.keys([*elements, *world.rotations([8, 16], top)])
    inputs = [world.encrypt(rng.uniform(-1, 1, world.params.slots)) for _ in range(count)]
    given = Given(keys, None, lambda: list(inputs), world.decrypt)
    return Case(
        f"of {count}",
        kernel,
        given,
        None,
        words,
        facts,
        refusals=[
            Refusal("no inputs", (ShapeError,), replace(given, inputs=list)),
            Refusal("no keys", (MissingKeyError,), replace(given, keys=KeySet())),
            Refusal(
                "inputs of another level",
                (LevelError,),
                replace(given, inputs=lambda: [world.encrypt([0.5], 1) for _ in range(count)]),
            ),
        ],
    )


def _products(name: str, *sums: tuple[tuple[int, int], ...]) -> Case:
    world, rng = World(5), np.random.default_rng(19)
    slots, q = world.params.slots, world.params.q
    left, right = 1 + max(i for s in sums for i, _ in s), 1 + max(j for s in sums for _, j in s)
    masks = [np.sort(rng.choice(slots, slots // 2, replace=False)).astype(np.uint32)]
    plan = PairSumPlan(2, 1, masks, False, np.array([8], np.uint32))
    plan.add_group(3)
    plan.add_pair([[0, 1, 0, 0], [1, 4, 0, 0]], [[0, 2, 0, -1]])
    at = math.sqrt(q[world.level - 1] * SCALE)
    pairs = PairSumKernel(world.context, plan, world.level, at, at, SCALE, 1.0, 1.0, 64.0)
    below = pairs.native().output_level
    tail = _transform(world, below, [0, 5], 4)
    tail = replace(tail, input_bound=256.0)
    kernel = ProductsKernel(pairs, Ladder.of(16, 3), tail, left, right, sums)
    steps = [*kernel.ladder.steps, *tail.native().steps] if kernel.ladder else []
    keys = world.keys((dict(world.rotations(steps, below)) | dict(pairs.native().required_keys)).items())
    inputs = [world.encrypt(rng.uniform(-1, 1, slots), scale=at) for _ in range(2 * left + right)]
    given = Given(keys, None, lambda: list(inputs), world.decrypt)

    def other(**changed: Any) -> Given:
        return replace(given, **changed)

    return Case(
        name,
        kernel,
        given,
        None,
        words,
        facts,
        refusals=[
            Refusal("a base too few", (ShapeError,), other(inputs=lambda: inputs[1:])),
            Refusal("no keys", (MissingKeyError,), other(keys=KeySet())),
            Refusal(
                "bases of another level",
                (LevelError,),
                other(inputs=lambda: [world.encrypt([0.5], 1, at) for _ in inputs]),
            ),
        ],
    )
