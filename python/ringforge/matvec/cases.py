# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Cases of the conformance suite: products with matrices in every algorithm, squares."""

from __future__ import annotations

import functools

import numpy as np

from ringforge import _native
from ringforge._native import Algorithm, Packing, Plan, Span
from ringforge.devices.ciphertexts import SCALE, World, clear_parts, facts, words
from ringforge.devices.conformance import Case, Given, Refusal
from ringforge.errors import LevelError, MissingKeyError, ShapeError
from ringforge.matvec.kernels import MatvecKernel, MatvecOperands, PolynomialKernel, SquareKernel


@functools.cache
def cases(kernel: type) -> list[Case]:
    """Cases of a type of kernels."""
    if kernel is SquareKernel:
        return [_square()]
    if kernel is PolynomialKernel:
        return [_polynomial()]
    return [
        _matvec("bsgs, spread", 64, 128, Plan(Packing(64, 128, 512, Span.spread), Algorithm.bsgs, 4)),
        _matvec("diagonal, compact", 12, 16, Plan(Packing(12, 16, 512, Span.compact), Algorithm.diagonal)),
        _matvec("horner, compact", 8, 8, Plan(Packing(8, 8, 512, Span.compact), Algorithm.horner)),
        _matvec("several blocks", 600, 8, Plan(Packing(600, 8, 512, Span.compact), Algorithm.bsgs, 4)),
    ]


def _matvec(name: str, rows: int, cols: int, plan: Plan) -> Case:
    world, rng = World(3), np.random.default_rng(rows)
    kernel = MatvecKernel(world.context, plan, world.level, 1, SCALE, SCALE, 1.0, True)
    keys = world.keys(_native.Matvec(world.context, plan, world.level).required_keys)
    operands = MatvecOperands(rng.uniform(-1, 1, (rows, cols)) / cols, rng.uniform(-1, 1, rows))
    vector, slots = rng.uniform(-1, 1, cols), []
    for block in range(len(plan.packing.blocks)):
        columns = plan.packing.columns(block)
        slots.append(np.where(columns < cols, vector[np.minimum(columns, cols - 1)], 0.0))
    inputs = [world.encrypt(s) for s in slots]
    given = Given(keys, operands, lambda: list(inputs), world.decrypt)
    clear = Given(keys, operands, lambda: [world.clear(s) for s in slots], clear_parts)
    lower = MatvecKernel(world.context, plan, world.level - 1, 1, SCALE, SCALE, 2.0, False)
    return Case(
        name,
        kernel,
        given,
        clear,
        words,
        facts,
        1e-6,
        then=(lower, lambda results: results[:1]) if len(inputs) == 1 else None,
        refusals=[
            Refusal("no matrix", (ShapeError,), Given(keys, None, given.inputs, given.reveal)),
            Refusal("no inputs", (ShapeError,), Given(keys, operands, list, given.reveal)),
            Refusal(
                "no keys", (MissingKeyError,), Given(world.keys([]), operands, given.inputs, given.reveal), secrecy=True
            ),
            Refusal(
                "inputs of another level",
                (LevelError,),
                Given(keys, operands, lambda: [world.encrypt(s, world.level - 1) for s in slots], given.reveal),
                secrecy=True,
            ),
        ],
    )


def _square() -> Case:
    world, rng = World(3), np.random.default_rng(1)
    slots = [rng.uniform(-1, 1, world.params.slots) for _ in range(2)]
    scale = 2.0**48
    keys, inputs = world.keys([]), [world.encrypt(s, scale=scale) for s in slots]
    given = Given(keys, None, lambda: list(inputs), world.decrypt)
    return Case(
        "of two ciphertexts",
        SquareKernel(world.context, world.level),
        given,
        Given(keys, None, lambda: [world.clear(s, scale=scale) for s in slots], clear_parts),
        words,
        facts,
        1e-6,
        then=(SquareKernel(world.context, world.level - 1), lambda results: results),
        refusals=[
            Refusal("no inputs", (ShapeError,), Given(keys, None, list, given.reveal)),
            Refusal(
                "no relinearisation key",
                (MissingKeyError,),
                Given(type(keys)(), None, given.inputs, given.reveal),
                secrecy=True,
            ),
        ],
    )


def _polynomial() -> Case:
    world, rng = World(3), np.random.default_rng(2)
    slots = [rng.uniform(-1, 1, world.params.slots) for _ in range(2)]
    scale, series = float(world.params.q[-1]) / 2, (0.25, 0.5, -0.125, 0.5)
    keys, inputs = world.keys([]), [world.encrypt(s, scale=scale) for s in slots]
    given = Given(keys, None, lambda: list(inputs), world.decrypt)
    kernel = PolynomialKernel(world.context, world.level, series, 2, scale, SCALE, 2.0)
    low = [world.encrypt(s, world.level - 1, scale=scale) for s in slots]
    return Case(
        "of degree 3",
        kernel,
        given,
        Given(keys, None, lambda: [world.clear(s, scale=scale) for s in slots], clear_parts),
        words,
        facts,
        1e-6,
        refusals=[
            Refusal("no inputs", (ShapeError,), Given(keys, None, list, given.reveal)),
            Refusal(
                "no relinearisation key",
                (MissingKeyError,),
                Given(type(keys)(), None, given.inputs, given.reveal),
                secrecy=True,
            ),
            Refusal(
                "inputs of another level", (LevelError,), Given(keys, None, lambda: low, given.reveal), secrecy=True
            ),
        ],
    )
