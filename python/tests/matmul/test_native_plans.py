# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Products of the C++ library are those of the Python package: plans entry by entry, counts, result words."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

from ringforge import _native
from ringforge.devices import KeySet
from ringforge.errors import LevelError, ShapeError
from ringforge.matmul.cost import cost, split_steps
from ringforge.matmul.engine import Product
from ringforge.matmul.methods import ringforge
from ringforge.matmul.plan import Operand, ProductPlan, Replicate, Transform
from ringforge.matmul.planner import choose

SHAPES = [
    *[(16, 16, 16), (32, 32, 32), (5, 3, 7), (20, 30, 10), (16, 32, 8), (1, 32, 32), (32, 32, 1)],
    *[(3, 50, 4), (50, 3, 20), (1, 1000, 1), (33, 17, 29), (2, 400, 2), (1, 1, 1), (4, 4, 4)],
]


@pytest.fixture(scope="module")
def context() -> _native.Context:
    return _native.Context(_native.Parameters.named("fame-small", "tests"))


def python_plan(context: _native.Context, shape: tuple[int, int, int], native: _native.MatrixPlan) -> ProductPlan:
    """Plans that differ only in how far they fill their bases share a label: the cheapest of them."""
    all_of_them = ringforge.candidates(*shape, context.params.slots, most=10_000)
    found = [p for p in all_of_them if (p.label, p.depth) == (native.label, native.depth)]
    assert found, f"Python has no plan {native.label}"
    return min(found, key=lambda p: cost(p, context.gadget, native.level + 1).weight)


def compare_operand(
    context: _native.Context, mine: Operand, native: _native.MatrixPlan, left: bool, level: int
) -> None:
    assert len(mine.bases) == 1
    transforms = list(native.transforms(left))
    copies: list[int] = []
    for stage in (*mine.prefix, *mine.bases[0]):
        if isinstance(stage, Replicate):
            copies += stage.steps
            continue
        assert isinstance(stage, Transform)
        made, babies = transforms.pop(0)
        assert made.steps.tolist() == stage.matrix.steps.tolist()
        for i in range(stage.matrix.diagonals):
            full = np.zeros(stage.matrix.slots, np.complex128)
            at, values = stage.matrix.diagonal(i)
            full[at] = values
            assert np.array_equal(made.diagonal(i), full)
        assert babies == split_steps(context, stage.matrix.steps, level, stage.generators).tolist()
        level -= 1
    assert not transforms
    assert copies == list(native.copies(left))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_plans_are_the_same(context: _native.Context, shape: tuple[int, int, int]) -> None:
    native = _native.plan_matrix_product(context, *shape)
    mine = python_plan(context, shape, native)
    assert (native.depth, native.stride) == (mine.depth, mine.out_layout.col_stride)
    product = Product(context, mine, native.level)
    for left, operand in ((True, mine.left), (False, mine.right)):
        compare_operand(context, operand, native, left, product.base_level + operand.transforms)
    pairs = product._pair_plan
    assert native.products.groups == pairs.groups
    assert native.products.masks == pairs.masks
    assert native.products.folds == pairs.folds
    assert native.products.real_part == pairs.real_part
    assert (native.products.left_copies, native.products.right_copies) == mine.copies
    found = cost(mine, context.gadget, native.level + 1)
    assert_same_work(native.work, found.ops)
    assert native.weight == found.weight
    assert native.key_storage == found.key_storage
    assert native.plaintext_storage == found.plaintext_storage
    assert native.working == found.working


def assert_same_work(one: Any, other: Any) -> None:
    names = [n for n in dir(other) if not n.startswith("_") and isinstance(getattr(other, n), int)]
    assert len(names) >= 11
    assert {n: getattr(one, n) for n in names} == {n: getattr(other, n) for n in names}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_best_is_taken(context: _native.Context, shape: tuple[int, int, int]) -> None:
    """Of plans with one base for each operand: Python's choice, where that is one."""
    native = _native.plan_matrix_product(context, *shape)
    chosen = choose(context, *shape, method="ringforge").chosen
    if " bases " not in chosen.plan.label:
        assert native.label == chosen.plan.label
    assert native.weight >= chosen.cost.weight


def test_words_are_the_same(context: _native.Context) -> None:
    """Keys, operands and result of AreThoseOfPython in cpp/tests/matrix_product_test.cpp."""
    m, l, n = 13, 17, 11  # noqa: E741
    native = _native.plan_matrix_product(context, m, l, n)
    plan = python_plan(context, (m, l, n), native)
    product = Product(context, plan, native.level)
    client = _native.Client(context, _native.TestSeed(bytes([7]) * 32))
    key = client.secret_key()
    galois = _native.GaloisKeys()
    for element, level in sorted(product.required_keys.items()):
        galois.insert(client.galois_key(key, element, level))
    keys = KeySet(galois, client.relin_key(key, product.relin_level))

    def encrypt(rows: int, cols: int, layout: Any, level: int) -> _native.Ciphertext:
        matrix = ((np.arange(rows * cols) * 37 % 101 - 50) / 64).reshape(rows, cols)
        slots = layout.pack(matrix, plan.slots)[: rows * cols].astype(np.complex128)
        return client.encrypt(context.encode(slots, product.scale, level), key, 1.0)

    a = encrypt(m, l, plan.left_layout, product.base_level + plan.left.transforms)
    b = encrypt(l, n, plan.right_layout, product.base_level + plan.right.transforms)
    product.prepare(keys)
    c, _ = product(a, b)
    words = b"".join(c.limb(part, i).tobytes() for part in range(2) for i in range(c.level + 1))
    assert hashlib.sha256(words).hexdigest() == "884959628d535b4146a92827cbde9ae520315bef56cf8803a772b0306aea286e"


def test_refusals(context: _native.Context) -> None:
    with pytest.raises(ShapeError, match="empty side"):
        _native.plan_matrix_product(context, 0, 1, 1)
    with pytest.raises(ShapeError, match="larger degree"):
        _native.plan_matrix_product(context, 64, 64, 1)
    with pytest.raises(LevelError, match="more primes"):
        _native.plan_matrix_product(context, 4, 4, 4, 1)
    with pytest.raises(ShapeError, match="power of two"):
        _native.baby_steps(np.arange(3, dtype=np.uint32), 12, [], 1.0)
