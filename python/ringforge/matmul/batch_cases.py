# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Cases of the conformance suite: products of batches of matrices, by all forms of lines."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np

from ringforge._native import GaloisKeys, MatrixBatch
from ringforge.devices import KeySet, ciphertexts
from ringforge.devices.ciphertexts import World
from ringforge.devices.conformance import Case, Given, Refusal
from ringforge.errors import LevelError, MismatchError, MissingKeyError, ShapeError
from ringforge.matmul.batch_kernels import BatchKernel, Lines, native_lines
from ringforge.matmul.blocks import Pair

_DIM = 8


@functools.cache
def cases(kernel: type) -> list[Case]:  # noqa: ARG001
    """Cases of the kernel."""
    return [
        _case("of one pair", ("columns", "rows"), ((0, 1),), "columns"),
        _case("by all forms", ("columns", "rows", "rows", "columns"), ((0, 1), (0, 3), (2, 1), (2, 3)), "rows"),
        _case("of one batch with all", ("columns", "rows", "rows"), ((0, 1), (0, 2), (0, 0)), "columns"),
    ]


def lines(batch: MatrixBatch) -> list[Any]:
    """The ciphertexts of a batch."""
    return [batch.line(j) for j in range(len(batch))]


def words(batch: MatrixBatch) -> list[Any]:
    """All residues."""
    return [limb for line in lines(batch) for limb in ciphertexts.words(line)]


def facts(batch: MatrixBatch) -> Any:
    """Form, bound, and the metadata of the lines."""
    return batch.by, batch.bound, [(*ciphertexts.facts(c), c.spread, c.float_error) for c in lines(batch)]


def _case(name: str, forms: tuple[Lines, ...], pairs: tuple[Pair, ...], by: Lines) -> Case:
    world, rng = World(3), np.random.default_rng(23)
    kernel = BatchKernel(world.context, _DIM, world.level, forms, pairs, by)
    elements = kernel.native().required_keys
    keys = world.keys((element, world.level) for element in elements)

    def batch(by: Lines, level: int = world.level, of: World = world, count: int = _DIM) -> MatrixBatch:
        # Any ciphertexts are the lines of some matrices.
        slots = rng.uniform(-1, 1, (count, world.params.slots))
        return MatrixBatch([of.encrypt(x, level, 2.0**45) for x in slots], native_lines(by), 1.0 / _DIM)

    inputs = [batch(form) for form in forms]

    def reveal(results: list[Any]) -> Any:
        return world.decrypt([c for x in results for c in lines(x)])

    given = Given(keys, None, lambda: list(inputs), reveal)

    def other(what: MatrixBatch) -> Given:
        return replace(given, inputs=lambda: [what, *inputs[1:]])

    few = GaloisKeys()
    for element in elements[1:]:
        few.insert(world._client.galois_key(world._secret, element, world.level))
    first: Lines = forms[0]
    stranger = World(3, seed=2)
    # The results are by `by`: with themselves they are converted on one side.
    after = BatchKernel(world.context, _DIM, world.level - 1, (by,), ((0, 0),), by)
    return Case(
        name,
        kernel,
        given,
        None,
        words,
        facts,
        then=(after, lambda results: results[:1]),
        refusals=[
            Refusal("a batch too few", (ShapeError,), replace(given, inputs=lambda: inputs[1:])),
            Refusal("lines too few", (ShapeError,), other(batch(first, count=_DIM - 1))),
            Refusal("a ciphertext", (MismatchError,), other(inputs[0].line(0))),  # type: ignore[arg-type]
            Refusal("a batch of another form", (MismatchError,), other(inputs[0].transposed())),
            Refusal("a batch of another level", (LevelError,), other(batch(first, world.level - 1))),
            Refusal("a batch under another key", (MismatchError,), other(batch(first, of=stranger))),
            Refusal("no keys", (MissingKeyError,), replace(given, keys=KeySet())),
            Refusal("a key too few", (MissingKeyError,), replace(given, keys=KeySet(few, keys.relin))),
            Refusal("no relinearisation key", (MissingKeyError,), replace(given, keys=KeySet(keys.galois))),
            Refusal(
                "keys of different secret keys",
                (MismatchError,),
                replace(given, keys=KeySet(keys.galois, stranger.keys([]).relin)),
            ),
            Refusal(
                "keys of a lower level",
                (LevelError,),
                replace(given, keys=KeySet(world.keys((e, 1) for e in elements).galois, keys.relin)),
            ),
        ],
    )
