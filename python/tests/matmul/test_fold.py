# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Vectors times matrices by replicate, multiply, fold: right on plain numbers, as cheap as counted, chosen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringforge import _native, matmul, params
from ringforge._native import Context, Parameters
from ringforge.errors import ShapeError
from ringforge.matmul import planner
from ringforge.matmul.layout import Layout
from ringforge.matmul.methods import fold
from ringforge.matmul.plan import Ladder, simulate
from tests.matmul.test_matrix import SEED, small, uniform

#: Most key switches of a vector times a matrix.
MOST = 25


def wide() -> Parameters:
    """4,096 slots; for speed, not for secrecy."""
    p = params.named("set-c")
    return Parameters("wide", 13, p.q[:5], p.p, 1, 40.0, "tests")


@given(st.integers(1, 3000), st.integers(1, 50))
def test_ladders_add_up(count: int, unit: int) -> None:
    ladder = Ladder.of(unit, count)
    assert ladder.counts[-1] == count
    assert len(ladder.additions) <= max(0, 2 * (count.bit_length() - 1))
    copies = ladder.run({0: 1}, lambda x, s: {k + s: v for k, v in x.items()}, lambda x, y: {**x, **y})
    assert copies == {i * unit: 1 for i in range(count)}


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.booleans(), st.integers(0, 5), st.integers(1, 3))
def test_on_plain_numbers(l: int, n: int, row: bool, gap: int, apart: int) -> None:  # noqa: E741
    """Vectors that lie close or apart, matrices with gaps between columns, in either order of the strides."""
    m, n = (1, n) if row else (n, 1)
    rng = np.random.default_rng((l, m, n))
    a, b = rng.uniform(-1, 1, (m, l)), rng.uniform(-1, 1, (l, n))
    across = Layout.column_major(l, n, l + gap) if row else Layout.column_major(m, l, m + gap)
    along = Layout(1, l, 1, apart) if row else Layout(l, 1, apart, 1)
    flipped = Layout(l, n, n + gap, 1) if row else Layout(m, l, l + gap, 1)
    for matrix in (across, flipped):
        left, right = (along, matrix) if row else (matrix, along)
        plans = fold.candidates(m, l, n, 4096, fold.Places(left, right))
        assert plans
        for plan in plans:
            assert np.abs(simulate(plan, a, b) - a @ b).max() < 1e-11, plan


def test_shapes_that_are_no_vectors() -> None:
    with pytest.raises(ShapeError, match="choose method auto"):
        fold.candidates(3, 4, 5, 4096)
    context = Context(params.named("matmul-a", "counts"))
    with pytest.raises(ShapeError, match="method auto"):
        planner.choose(context, 3, 4, 5, method="fold")


@pytest.mark.parametrize("size", [32, 48, 64, 100, 127, 128])
def test_counts_and_choice(size: int) -> None:
    """At most 25 key switches by the planner's counts, and what it takes of two methods."""
    context = Context(params.named("matmul-b", "counts"))
    for shape in ((1, size, size), (size, size, 1)):
        choice = planner.choose(context, *shape, 3)
        assert choice.plan.method == "fold"
        if size == 127 and shape[0] > 1:
            continue  # a prime number of rows takes a diagonal of the mask for each
        assert choice.chosen.cost.ops.key_switch <= (MOST if shape[0] == 1 or size != 100 else 35), shape


@pytest.mark.parametrize("size", [32, 64])
def test_as_many_as_the_library_counts(size: int) -> None:
    """r @ X, X @ r, X.T @ r and r @ X.T: key switches by the library's own counters, and results as predicted."""
    s = matmul.Session(wide(), fixed_seed_for_tests=SEED)
    x, r = uniform(size, size), uniform(size)
    X, R = s.encrypt(x), s.encrypt(r)
    products: dict[str, tuple[Any, Any]] = {
        "r @ X": (lambda: R @ X, r @ x),
        "X @ r": (lambda: X @ R, x @ r),
        "X.T @ r": (lambda: X.T @ R, x.T @ r),
        "r @ X.T": (lambda: R @ X.T, r @ x.T),
    }
    for name, (product, exact) in products.items():
        with _native.counting() as did:
            y = product()
        assert y.step.choice is not None
        assert y.step.choice.plan.method == "fold", name
        # Transformed operands are kept: what was counted before is not counted again.
        assert did.operations.key_switch <= y.step.choice.chosen.cost.ops.key_switch <= MOST, name
        values = y.decrypt()
        assert values.shape == exact.shape
        assert np.abs(values - exact).max() <= y.error_bound < 1e-2
        assert y.level == X.level - 2
    s.forget()
    fresh = s.encrypt(r)
    s.reports.clear()
    y = fresh @ s.encrypt(x)
    assert sum(k.operations.get("key_switch", 0) for _, k in s.reports) == y.step.choice.chosen.cost.ops.key_switch


def test_chains_need_no_moves() -> None:
    """The result of a matrix times a vector lies as the transposed product wants its vector."""
    s = matmul.Session(small(8), fixed_seed_for_tests=SEED)
    x, w, y = uniform(16, 16), uniform(16), uniform(16, seed=2)
    X = s.encrypt(x)
    z = X.T @ (X @ s.encrypt(w) - s.encrypt(y))
    assert z.step.choice.chosen.cost.ops.key_switch <= MOST
    assert np.abs(z.decrypt() - x.T @ (x @ w - y)).max() <= z.error_bound < 1e-2


def test_matrices_in_blocks() -> None:
    s = matmul.Session(small(6), fixed_seed_for_tests=SEED)
    x, r, c = uniform(50, 37), uniform(50), uniform(37)
    X = s.encrypt(x, tile=(16, 16))
    for got, exact in ((s.encrypt(r) @ X, r @ x), (X @ s.encrypt(c), x @ c), (X.T @ s.encrypt(r), x.T @ r)):
        assert np.abs(got.decrypt() - exact).max() <= got.error_bound < 1e-2


def test_programs_of_version_1_are_followed_by_its_rules() -> None:
    """They have no method fold, and transpose at once; what needs neither has version 1 still."""
    new = matmul.trace(small(8), lambda X, r: X.T @ r, X=(7, 4), r=(7,))
    assert new.version == 2
    old = matmul.trace(small(8), lambda A, B: A @ B, A=(7, 4), B=(4, 5))
    assert old.version == 1
    spec = new.model_dump()
    for step in spec["steps"]:
        step["level"] = None
    planned = matmul.Program.model_validate({**spec, "version": 1})
    with_old_rules = planned.traced.results["result"].step
    choice = with_old_rules.choice
    assert choice is not None
    assert choice.plan.method == "ringforge"
    assert "fold" in new.traced.results["result"].step.ancestors()[2].detail or any(
        "fold" in step.detail for step in new.traced.results["result"].step.ancestors()
    )
