# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Cases of the conformance suite: products of one level and over levels, relinearised by keys of both kinds, in a small
ring."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ringforge._native import TestSeed
from ringforge._native.ltv import BatchEvaluator, Ciphertext, Client, Context, EvalKey, Evaluator, Parameters
from ringforge.devices import KeySet
from ringforge.devices.conformance import Case, Given, Refusal
from ringforge.errors import LevelError, MismatchError, MissingKeyError, ShapeError
from ringforge.ltv.kernels import ProductSumsKernel, RelinearizeKernel

_SEED, _WHY = bytes([7]) * 32, "conformance of devices"

_NO_CIPHERTEXTS = (None, 3, "x")


class _Side:
    """A key, and ciphertexts of fixed messages. Transforms have 256 words."""

    def __init__(self, gadget: str, window: int, m: int = 255, seed: bytes = _SEED) -> None:
        q = Parameters.named("ltv-test-aes", insecure=_WHY).q[:4]
        self.context = Context(Parameters(m, q, gadget=gadget, window=window, insecure=_WHY))
        self.client = Client(self.context, TestSeed(seed))
        self.secret, self.public = self.client.keys()
        self._rng = np.random.default_rng(11)

    def encrypted(self, level: int, count: int = 1) -> list[Ciphertext]:
        bits = self._rng.integers(0, 2, (count, self.context.params.degree), np.uint8)
        return [self.client.encrypt(row, self.public, level) for row in bits]

    def key(self, level: int, lag: int = 0) -> EvalKey:
        return self.client.eval_key(self.secret, self.public, level, lag=lag)

    def reveal(self, results: list[Any]) -> Any:
        return np.array([self.client.decrypt(c, self.secret) for c in results], np.float64)


@dataclass(frozen=True)
class _Sides:
    own: _Side
    #: The same parameters, another secret; other parameters.
    other: _Side
    foreign: _Side


@cache
def _sides(gadget: str = "windows", window: int = 16) -> _Sides:
    of = gadget, window
    return _Sides(_Side(*of), _Side(*of, seed=bytes([8]) * 32), _Side(*of, m=155))


def _words(c: Any) -> list[Any]:
    return [c.words]


def _facts(c: Any) -> Any:
    return (c.level, c.degree, c.lag, c.limbs, c.key_id, c.noise.log_deviation, c.noise.factors)


@cache
def cases(kernel: type) -> list[Case]:
    """Cases of a type of kernels."""
    return [_one_level(), _over_levels()] if kernel is ProductSumsKernel else [_squares(), _lagging(), _by_residues()]


def _one_level() -> Case:
    sides = _sides()
    own, context = sides.own, sides.own.context
    kernel = ProductSumsKernel(context, 1, ((0,), (1, 2), (0, 1, 3), (3,)), (((0, 1), (2, 3)), ((1, 1),), ((2, 0),)))
    inputs = own.encrypted(1, 4)
    product = Evaluator(context).mul(inputs[0], inputs[1])
    return _products("of one level", kernel, inputs, own.key(2), product)


def _over_levels() -> Case:
    own = _sides().own
    batch = BatchEvaluator(own.context)
    inputs = [*batch.carry(own.encrypted(0, 2), 2), *own.encrypted(2, 2)]
    kernel = ProductSumsKernel(
        own.context, 2, ((0, 1), (2,), (2, 3), (0,)), (((0, 1), (2, 3)), ((3, 1),)), ((2, 3), ()), True
    )
    product = batch.products(inputs, [[0], [2]], [[(0, 1)]])[0]
    return _products("over levels, with linear terms", kernel, inputs, own.key(3, 2), product)


def _products(
    name: str, kernel: ProductSumsKernel, inputs: list[Ciphertext], key: EvalKey, product: Ciphertext
) -> Case:
    sides, level = _sides(), kernel.level
    keys = KeySet(own=(key,))

    def given(values: list[Any]) -> Given:
        return Given(keys, None, lambda: list(values), sides.own.reveal)

    return Case(
        name,
        kernel,
        given(inputs),
        None,
        _words,
        _facts,
        then=(RelinearizeKernel(kernel.context, level + 1, key.lag), list),
        refusals=[
            Refusal("no inputs", (ShapeError,), given([])),
            Refusal("an input too few", (ShapeError,), given(inputs[:-1])),
            Refusal("another level", (LevelError,), given([*inputs[:-1], *sides.own.encrypted(level - 1)])),
            Refusal("another key", (MismatchError,), given([*inputs[:-1], *sides.other.encrypted(level)])),
            Refusal("other parameters", (MismatchError,), given([*inputs[:-1], *sides.foreign.encrypted(level)])),
            Refusal("a product", (LevelError,), given([*inputs[:-1], product])),
            *[Refusal(f"{x!r}", (MismatchError,), given([*inputs[:-1], x])) for x in _NO_CIPHERTEXTS],
        ],
    )


def _squares() -> Case:
    own = _sides().own
    ev, (a, b) = Evaluator(own.context), own.encrypted(0, 2)
    return _relinearised("of products", RelinearizeKernel(own.context, 1), [ev.mul(a, b), ev.mul(a, a), b], _sides())


def _lagging() -> Case:
    own = _sides().own
    batch = BatchEvaluator(own.context)
    inputs = [*batch.carry(own.encrypted(0), 1), *own.encrypted(1)]
    products = batch.products(inputs, [[0], [1]], [[(0, 1)]])
    return _relinearised("of a product over levels", RelinearizeKernel(own.context, 2, 1), products, _sides())


def _by_residues() -> Case:
    """Digits of residues, three of 13 bits for each prime."""
    sides = _sides("rns", 13)
    context, (a, b) = sides.own.context, sides.own.encrypted(1, 2)
    return _relinearised("by residues", RelinearizeKernel(context, 2), [Evaluator(context).mul(a, b)], sides)


def _relinearised(name: str, kernel: RelinearizeKernel, inputs: list[Ciphertext], sides: _Sides) -> Case:
    level, lag = kernel.level, kernel.lag
    key = sides.own.key(level, lag)

    def given(values: list[Any], *own: EvalKey) -> Given:
        return Given(KeySet(own=own), None, lambda: list(values), sides.own.reveal)

    return Case(
        name,
        kernel,
        given(inputs, key),
        None,
        _words,
        _facts,
        refusals=[
            Refusal("no keys", (MissingKeyError,), given(inputs)),
            Refusal("the key of another level", (LevelError,), given(inputs, sides.own.key(level + 1, lag))),
            Refusal("a key with another lag", (MismatchError,), given(inputs, sides.own.key(level, lag - 1)))
            if lag
            else Refusal("a key of another secret", (MismatchError,), given(inputs, sides.other.key(level, lag))),
            Refusal("a key of other parameters", (MismatchError,), given(inputs, sides.foreign.key(level, lag))),
            Refusal("a ciphertext of another level", (LevelError,), given(sides.own.encrypted(level), key)),
            Refusal("a ciphertext of another key", (MismatchError,), given(sides.other.encrypted(level - 1), key)),
            Refusal("other parameters", (MismatchError,), given(sides.foreign.encrypted(level - 1), key)),
            *[Refusal(f"{x!r}", (MismatchError,), given([*inputs, x], key)) for x in _NO_CIPHERTEXTS],
        ],
    )
