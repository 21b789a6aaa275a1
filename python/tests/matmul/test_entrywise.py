# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Entry by entry, broadcast, summed: what numpy makes of plain arrays, within the predicted error, by declared keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ringforge import matmul
from ringforge.errors import FormatError, LevelError, MismatchError, ParameterError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.matmul.expressions import expression
from tests.matmul.test_matrix import SEED, small, uniform
from tests.matmul.test_program import run


@pytest.fixture(scope="module")
def s() -> matmul.Session:
    return matmul.Session(small(8), fixed_seed_for_tests=SEED)


def check(got: Any, exact: Any) -> None:
    values = got.decrypt()
    assert np.shape(values) == got.shape == np.shape(exact)
    assert np.abs(np.asarray(values) - exact).max() <= got.error_bound < 0.1
    assert np.abs(exact).max() <= got.bound * (1 + 1e-9)


A, B, ROW, COL, ONE = uniform(6, 9), uniform(6, 9, seed=2), uniform(9), uniform(6, 1), uniform(1, 1)
V, W = uniform(6), uniform(9, seed=3)

#: Functions of encrypted operands, and these.
CASES: dict[str, tuple[Callable[..., Any], dict[str, np.ndarray]]] = {
    "product": (lambda A, B: A * B, {"A": A, "B": B}),
    "row": (lambda A, B: A * B - B, {"A": A, "B": ROW}),
    "column": (lambda A, B: B * A, {"A": A, "B": COL}),
    "number": (lambda A, B: A * B + B, {"A": A, "B": ONE}),
    "outer": (lambda A, B: A * B, {"A": COL, "B": ROW}),
    "outer sum": (lambda A, B: A - B, {"A": COL, "B": ROW}),
    "plain": (lambda A: A * B + B, {"A": A}),
    "plain row": (lambda A: ROW * A - ROW, {"A": A}),
    "plain makes it larger": (lambda A: A * B, {"A": ROW}),
    "divided": (lambda A: A / (2 + B), {"A": A}),
    "scalars": (lambda A: 1 - (2 * A + 1) / 4, {"A": A}),
    "number of a product": (lambda A, B: A * (B @ B), {"A": A, "B": uniform(4)}),
    "after a product": (lambda A, B: (A @ B.T) * (B @ A.T), {"A": A, "B": B}),
    "sum": (lambda A: A.sum(), {"A": A}),
    "sum of columns": (lambda A: A.sum(axis=0), {"A": A}),
    "sum of rows": (lambda A: np.sum(A, -1, keepdims=True), {"A": A}),
    "sum of a vector": (lambda A: A.sum(0), {"A": ROW}),
    "mean": (lambda A: np.mean(A), {"A": A}),
    "centred": (lambda A: A - A.mean(axis=0), {"A": A}),
    "centred rows": (lambda A: A - A.mean(axis=1, keepdims=True), {"A": A}),
    "variance": (lambda A: (A * A).mean(0) - A.mean(0) * A.mean(0), {"A": A}),
}


@pytest.mark.parametrize("name", CASES)
def test_as_numpy(s: matmul.Session, name: str) -> None:
    function, given = CASES[name]
    check(function(**{k: s.encrypt(x) for k, x in given.items()}), function(**given))


@pytest.mark.parametrize("name", CASES)
def test_in_programs_over_the_roles(name: str) -> None:
    """Traced, saved by the numbers of version 2, computed with just the declared keys."""
    function, given = CASES[name]
    program = matmul.trace(small(8), function, {k: x.shape for k, x in given.items()})
    assert program.version == (1 if name == "scalars" and not program.traced.tracer.novel else 2)
    again = matmul.Program.model_validate_json(program.model_dump_json(exclude_none=True))
    again.check()
    values = run(again, given)["result"]
    exact = function(**given)
    assert np.abs(values - exact).max() <= program.traced.results["result"].error_bound
    assert np.shape(values) == np.shape(exact)


def test_version_1_has_none_of_it() -> None:
    program = matmul.trace(small(8), lambda A: A.sum(0), A=(3, 4))
    with pytest.raises(FormatError, match="only programs of version 2"):
        matmul.Program.model_validate({**program.model_dump(), "version": 1}).check()


@pytest.mark.parametrize(
    ("name", "function", "shapes"),
    [
        ("product", lambda A, B: A * B, ((50, 37), (50, 37))),
        ("row, then sum", lambda A, B: (A + B).sum(axis=0), ((50, 37), (37,))),
        ("column, then sum", lambda A, B: (A + B).sum(axis=1), ((50, 37), (50, 1))),
        ("number, then sum", lambda A, B: (A - B).sum(), ((50, 37), (1, 1))),
        ("number, then product", lambda A, B: (A + 1) @ B, ((50, 37), (37,))),
        ("row times", lambda A, B: A * B, ((50, 37), (37,))),
        ("mean", lambda A, B: A.mean() * B, ((50, 37), (3,))),
    ],
)
def test_in_blocks(s: matmul.Session, name: str, function: Callable[..., Any], shapes: Any) -> None:
    """Blocks of which the last are not full: no copy of a row or number stays where there is no entry."""
    del name
    a, b = uniform(*shapes[0]), uniform(*shapes[1], seed=4)
    tile = (13, 20) if len(shapes[1]) == 2 and shapes[1] == shapes[0] else None
    check(function(s.encrypt(a, tile=(16, 16)), s.encrypt(b, tile=tile)), function(a, b))


def test_levels_and_key_switches(s: matmul.Session) -> None:
    a, b = s.encrypt(A), s.encrypt(B)
    assert (a * b).level == a.level - 2
    assert (a * B).level == a.level - 1
    assert a.sum(0).level == a.level
    assert a.mean().level == a.level - 1
    s.reports.clear()
    _ = a * b
    assert sum(r.operations.get("key_switch", 0) for _, r in s.reports) == 1
    s.reports.clear()
    _ = s.encrypt(uniform(8, 8)).sum(axis=0)
    assert sum(r.operations.get("key_switch", 0) for _, r in s.reports) == 3
    low = s.encrypt(A, level=1)
    with pytest.raises(LevelError, match="takes 2 levels"):
        _ = low * low
    # A factor that is higher up pays for the scale.
    assert (low * a).level == 0


@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (lambda a: a * a.T, ShapeError, ["(6, 9)", "(9, 6)", ".T"]),
        (lambda a: a + np.ones((6, 8)), ShapeError, ["(6, 9)", "(6, 8)", "equal or 1"]),
        (lambda a: a * np.ones(6), ShapeError, ["(6, 9)", "(6,)", "(n, 1)"]),
        (lambda a: a * np.ones((9, 4)), ShapeError, ["the matrix product is @"]),
        (lambda a: a @ a, ShapeError, ["(6, 9) and (6, 9)", "do not chain", ".T"]),
        (lambda a: a @ np.ones((6, 2)), ShapeError, ["(6, 9) and (6, 2)", "transpose the left one"]),
        (lambda a: a.sum(2), ShapeError, ["axis 2", "(6, 9)"]),
        (lambda a: a.sum(0).sum().sum(0), ShapeError, ["no axes"]),
        (lambda a: a / a, ParameterError, ["reciprocals"]),
        (lambda a: 1 / a, ParameterError, ["reciprocals"]),
        (lambda a: a / np.array([0.0] * 9), RingforgeValueError, ["divided by 0"]),
        (lambda a: np.median(a), ParameterError, ["sum and mean"]),
    ],
)
def test_refusals(s: matmul.Session, function: Callable[[Any], Any], error: type, words: list[str]) -> None:
    with pytest.raises(error) as e:
        function(s.encrypt(A))
    for word in words:
        assert word in str(e.value)


def test_operands_of_another_session(s: matmul.Session) -> None:
    other = matmul.Session(small(8))
    for function in (lambda a, b: a * b, lambda a, b: a + b, lambda a, b: a @ b.T):
        with pytest.raises(MismatchError, match="different keys"):
            function(s.encrypt(A), other.encrypt(A))


def test_expressions_as_text() -> None:
    given = {"A": A, "B": B, "r": ROW}
    for text, exact in {
        "A * B + r": A * B + ROW,
        "A.sum(0) / 4": A.sum(0) / 4,
        "A - A.mean(axis=1, keepdims=True)": A - A.mean(axis=1, keepdims=True),
        "(A * A).sum()": (A * A).sum(),
    }.items():
        np.testing.assert_allclose(expression(text)(**given), exact)
    for text in ("A.sum(B)", "A.std()", "A.sum(0, 1)", "A.sum(out=A)", "sum(A)", "A.sum(axis=x)", "2 .sum()"):
        with pytest.raises(ParameterError):
            expression(text)(**given)
