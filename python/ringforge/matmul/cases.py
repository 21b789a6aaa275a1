# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Cases of the conformance suite: linear transforms in every schedule, sums of products, products."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ringforge._native import Diagonals, PairSumPlan, Schedule
from ringforge.devices import KeySet
from ringforge.devices.ciphertexts import SCALE, World, clear_parts, facts, words
from ringforge.devices.conformance import Case, Given, Refusal
from ringforge.errors import LevelError, MissingKeyError, ShapeError
from ringforge.matmul.kernels import HltKernel, MultiplyKernel, PairSumKernel

_STEPS = np.array([0, 1, 2, 5, 9, 500], np.uint32)


@functools.cache
def cases(kernel: type) -> list[Case]:
    """Cases of a type of kernels."""
    if kernel is HltKernel:
        return [_transform(s) for s in (Schedule.naive, Schedule.hoisted, Schedule.mo, Schedule.bsgs)]
    if kernel is PairSumKernel:
        return [_pairs("bare", masked=False), _pairs("masked, real part, folded", masked=True)]
    return [_product()]


def _transform(schedule: Schedule) -> Case:
    world, rng = World(4), np.random.default_rng(7)
    slots = world.params.slots
    counts = [slots // (i + 1) for i in range(len(_STEPS))]
    targets = np.concatenate([np.sort(rng.choice(slots, c, replace=False)) for c in counts]).astype(np.uint32)
    values: Any = (rng.uniform(-1, 1, len(targets)) + 1j * rng.uniform(-1, 1, len(targets))) / 8
    diagonals = Diagonals(slots, _STEPS, np.cumsum([0, *counts]).astype(np.uint64), targets, values)
    babies = (_STEPS % 4).astype(np.uint32)

    def at(level: int) -> HltKernel:
        return HltKernel(world.context, diagonals, level, schedule, babies, SCALE, SCALE, 1.0)

    kernel, given_slots = at(world.level), (rng.uniform(-1, 1, slots) + 1j * rng.uniform(-1, 1, slots)) / 2
    keys, x = world.keys(world.rotations(kernel.native().steps, world.level)), world.encrypt(given_slots)
    given = Given(keys, None, lambda: [x], world.decrypt)
    return Case(
        schedule.name,
        kernel,
        given,
        Given(keys, None, lambda: [world.clear(given_slots)], clear_parts),
        words,
        facts,
        1e-6,
        then=(at(world.level - 1), lambda results: results),
        refusals=[
            Refusal("no inputs", (ShapeError,), Given(keys, None, list, given.reveal)),
            Refusal("two inputs", (ShapeError,), Given(keys, None, lambda: [x, x], given.reveal)),
            Refusal("no keys", (MissingKeyError,), Given(KeySet(), None, given.inputs, given.reveal), secrecy=True),
            Refusal(
                "an input of another level",
                (LevelError,),
                Given(keys, None, lambda: [world.encrypt(given_slots, 1)], given.reveal),
                secrecy=True,
            ),
        ],
    )


def _pairs(name: str, *, masked: bool) -> Case:
    world, rng = World(4), np.random.default_rng(11)
    slots, q = world.params.slots, world.params.q
    masks = [np.sort(rng.choice(slots, slots // 2, replace=False)).astype(np.uint32) for _ in range(2)]
    plan = PairSumPlan(2, 1, masks if masked else [], masked, np.array([8] if masked else [], np.uint32))
    for outer in (0, 3):
        plan.add_group(outer)
        for step in (1, 4):
            left = [[0, step, 0, 0], [1, step + 7, 0, 1]] if masked else [[1, step, 0, -1]]
            plan.add_pair(left, [[0, step + 2, 0, -1]])
    at = math.sqrt(q[world.level - int(masked)] * SCALE / (2 if masked else 1))
    kernel = PairSumKernel(world.context, plan, world.level, at, at, SCALE, 1.0, 1.0, 64.0)
    keys = world.keys(kernel.native().required_keys)
    bases = [(rng.uniform(-1, 1, slots) + 1j * rng.uniform(-1, 1, slots)) / 2 for _ in range(3)]
    inputs = [world.encrypt(b, scale=at) for b in bases]
    given = Given(keys, None, lambda: list(inputs), world.decrypt)
    return Case(
        name,
        kernel,
        given,
        Given(keys, None, lambda: [world.clear(b, scale=at) for b in bases], clear_parts),
        words,
        facts,
        1e-5,
        refusals=[
            Refusal("a base too few", (ShapeError,), Given(keys, None, lambda: inputs[:2], given.reveal)),
            Refusal("no keys", (MissingKeyError,), Given(KeySet(), None, given.inputs, given.reveal), secrecy=True),
        ],
    )


def _product() -> Case:
    world, rng = World(3), np.random.default_rng(13)
    slots = [rng.uniform(-1, 1, world.params.slots) for _ in range(2)]
    keys, inputs = world.keys([]), [world.encrypt(s, scale=2.0**20) for s in slots]
    given = Given(keys, None, lambda: list(inputs), world.decrypt)
    kernel = MultiplyKernel(world.context, world.level)
    return Case(
        "of two ciphertexts",
        kernel,
        given,
        Given(keys, None, lambda: [world.clear(s, scale=2.0**20) for s in slots], clear_parts),
        words,
        facts,
        1e-1,
        then=(kernel, lambda results: [results[0], results[0]]),
        refusals=[
            Refusal("one input", (ShapeError,), Given(keys, None, lambda: inputs[:1], given.reveal)),
            Refusal(
                "no relinearisation key",
                (MissingKeyError,),
                Given(KeySet(), None, given.inputs, given.reveal),
                secrecy=True,
            ),
        ],
    )
