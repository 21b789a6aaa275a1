# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Integer matrices times encrypted vectors: exact against Python's integers, counted as planned, explained."""

from __future__ import annotations

import numpy as np
import pytest

import ringforge as rf
from ringforge import bfv
from ringforge.devices.cpu import operation_counts
from tests.bfv.test_scheme import SEED, T, parameters


@pytest.fixture(scope="module")
def session() -> bfv.Session:
    return bfv.Session(parameters(11, limbs=3), threads=2, fixed_seed_for_tests=SEED)


def product(
    s: bfv.Session, layer: bfv.Linear, x: np.ndarray, tight: bool = True, **options: object
) -> tuple[np.ndarray, object]:
    plan = layer.plan(s.context, **options)  # type: ignore[arg-type]
    s.add_galois_keys(plan.elements)
    inputs = [s.client.encrypt(p, s.secret_key, plan.limbs) for p in plan.encode(x)]
    results, report = layer.prepare(plan, s.galois_keys).run(inputs, threads=2)
    assert report.operations == operation_counts(plan.cost.ops)
    assert report.bytes["keys"] == plan.cost.ops.key_bytes
    predicted = plan.noise(inputs[0].noise)
    for c in results:
        assert c.noise == predicted
        left = s.context.rules.budget(predicted, plan.limbs)
        assert 0 < left <= s.noise_budget(c), (left, s.noise_budget(c))
        # Any matrix: one whose diagonals are alike, with all of their norm at one root of unity, may have 5 bits more.
        assert not tight or s.noise_budget(c) <= left + 8 + 5, (left, s.noise_budget(c))
    got = plan.decode([s.client.decrypt(c, s.secret_key) for c in results])
    assert np.array_equal(got, layer(x, T))
    return got, plan


@pytest.mark.parametrize(
    ("rows", "cols"), [(1, 1), (2, 1), (1, 37), (16, 16), (100, 60), (33, 1024), (2, 1500), (1025, 3), (2500, 20)]
)
def test_products_are_exact_in_every_shape(session: bfv.Session, rows: int, cols: int) -> None:
    rng = np.random.default_rng(rows * 4099 + cols)
    layer = bfv.Linear(rng.integers(-40000, 40000, (rows, cols)), rng.integers(-T, T, rows))
    got, _ = product(session, layer, rng.integers(-(T // 2), T // 2, cols))
    assert got.shape == (rows,)


def test_matrices_whose_diagonals_are_equal_are_predicted(session: bfv.Session) -> None:
    """Errors then depend on each other as much as they can. Results of all matrices state the same noise: what they
    have less tells of the matrix."""
    for value in (1, T // 2):
        product(session, bfv.Linear(np.full((64, 512), value)), np.arange(512), tight=False)
    product(session, bfv.Linear(np.zeros((8, 8), int)), np.arange(8), tight=False)


def test_fewer_limbs_and_coefficients_only(session: bfv.Session) -> None:
    rng = np.random.default_rng(1)
    layer = bfv.Linear(rng.integers(-100, 100, (40, 50)))
    x = rng.integers(-100, 100, 50)
    assert layer.output_bound(100) == int(np.abs(layer.weights).sum(axis=1).max()) * 100
    full, few = layer.plan(session.context), layer.plan(session.context, limbs=2, compact=True)
    assert few.cost.plaintext_storage < full.cost.plaintext_storage
    for options in ({"limbs": 2}, {"compact": True}):
        got, _ = product(session, layer, x, **options)
        assert np.array_equal(got, layer(x, T))


def test_a_plan_explains_itself_and_respects_memory(session: bfv.Session) -> None:
    layer = bfv.Linear(np.ones((200, 300), int))
    plan = layer.plan(session.context)
    text = str(plan.explain(everything=True))
    assert "200 x 300 integer matrix" in text
    assert text.count("bsgs") == len(plan.candidates)
    assert plan.chosen.cost.weight == min(c.cost.weight for c in plan.candidates)
    least = min(c.memory for c in plan.candidates)
    tight = layer.plan(session.context, memory=least)
    assert tight.chosen.memory == least
    with pytest.raises(rf.MemoryLimitError, match="the smallest needs"):
        layer.plan(session.context, memory=least - 1)


def test_results_that_would_wrap_are_noticed() -> None:
    layer = bfv.Linear([[100, -200], [3, 4]], [1, 2])
    assert layer.output_bound(100) == 30001
    layer.check_range(T, 100)
    with pytest.raises(rf.ValueError, match="above 66002"):
        layer.check_range(T, 110)


def test_the_devices_agree(session: bfv.Session) -> None:
    from ringforge.devices import ClearVector

    rng = np.random.default_rng(2)
    layer = bfv.Linear(rng.integers(-9, 9, (70, 30)), rng.integers(-9, 9, 70))
    plan = layer.plan(session.context)
    x = rng.integers(-9, 9, 30)
    slots = [bfv.decode(session.context, p) for p in plan.encode(x)]
    clear = [ClearVector(v, plan.limbs - 1, 1.0, T / 2) for v in slots]
    results, report = layer.prepare(plan, bfv.GaloisKeys(), "clear").run(clear)  # type: ignore[arg-type]
    assert report.device == "clear"
    found = [bfv.encode(session.context, v.slots) for v in results]  # type: ignore[attr-defined]
    assert np.array_equal(plan.decode(found), layer(x, T))


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda _: bfv.Linear([1, 2]), rf.ShapeError, "matrix"),
        (lambda _: bfv.Linear([[0.5]]), rf.ValueError, "integers"),
        (lambda _: bfv.Linear([[1, 2]], [1, 2]), rf.ShapeError, "bias"),
        (lambda s: bfv.Linear([[1, 2]]).plan(s.context).encode([1]), rf.ShapeError, r"the plan is for \(2,\)"),
        (lambda s: bfv.Linear([[1, 2]]).plan(s.context).encode([1, T]), rf.ValueError, "outside"),
        (lambda s: bfv.Linear([[1, 2]]).plan(s.context).decode([]), rf.ShapeError, "0 results"),
        (lambda s: bfv.Linear([[1]]).plan(s.context, limbs=9), rf.LevelError, "limbs"),
        (lambda s: bfv.plan_linear(s.context, 0, 4), rf.ShapeError, "no entries"),
        (
            lambda s: bfv.Linear([[1]]).prepare(bfv.plan_linear(s.context, 2, 2), s.galois_keys),
            rf.ShapeError,
            "plan of 2 x 2",
        ),
        (
            lambda _: bfv.plan_linear(bfv.Context(parameters(11, t=1 << 16, limbs=2)), 2, 2),
            rf.ParameterError,
            "prime t that is 1 modulo 4096",
        ),
    ],
)
def test_refusals(session: bfv.Session, call: object, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        call(session)  # type: ignore[operator]
