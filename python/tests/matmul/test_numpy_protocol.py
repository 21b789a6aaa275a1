# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Encrypted matrices where numpy's arrays are expected: equal to what numpy gives, or refused in words of ours."""

from __future__ import annotations

import array
import datetime
import operator
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import ringforge as rf
from ringforge import matmul

EXACT = 1e-4


@pytest.fixture(scope="module")
def session() -> matmul.Session:
    return matmul.Session("matmul-a-128", level=3)


@pytest.fixture(scope="module")
def a() -> Any:
    return np.random.default_rng(1).uniform(-1, 1, (3, 3))


def revealed(x: Any) -> Any:
    return x.decrypt() if isinstance(x, matmul.EncryptedMatrix) else x


def same(x: Any, want: Any) -> None:
    assert isinstance(x, matmul.EncryptedMatrix)
    assert x.shape == np.shape(want)
    assert np.abs(x.decrypt() - want).max(initial=0) < EXACT


# ---- containers of plain numbers -------------------------------------------------------------------

MATRICES: dict[str, Callable[[Any], Any]] = {
    "list": lambda a: a.tolist(),
    "tuple": lambda a: tuple(map(tuple, a.tolist())),
    "list of arrays": list,
    "Fortran order": np.asfortranarray,
    "reversed views": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": lambda a: np.frombuffer(a.tobytes()).reshape(a.shape),
    "longdouble": lambda a: a.astype(np.longdouble),
    "masked, nothing masked": np.ma.masked_array,
    "objects": lambda a: a.astype(object),
    "decimals": lambda a: [[Decimal(float(x)) for x in row] for row in a],
    "pandas": pd.DataFrame,
    "pandas, named": lambda a: pd.DataFrame(a, columns=list("xyz"), index=[5, 6, 7]),
    "pandas, nullable": lambda a: pd.DataFrame(a).astype("Float64"),
    "polars": lambda a: pl.DataFrame(a),
    "arrow": lambda a: pa.table({str(i): a[:, i] for i in range(3)}),
    "csr array": sp.csr_array,
    "csc array": sp.csc_array,
    "coo array": sp.coo_array,
    "dok array": sp.dok_array,
}
VECTORS: dict[str, Callable[[Any], Any]] = {
    "list": lambda v: v.tolist(),
    "array": lambda v: array.array("d", v),
    "memoryview": lambda v: memoryview(v.copy()),
    "stepped": lambda v: np.repeat(v, 2)[::2],
    "Series": pd.Series,
    "Series with labels": lambda v: pd.Series(v, index=list("cab")),
    "nullable Series": lambda v: pd.Series(v, dtype="Float64"),
    "Index": pd.Index,
    "polars": lambda v: pl.Series(v),
    "arrow": pa.array,
    "chunks": lambda v: pa.chunked_array([v[:1], v[1:]]),
}
OPERATORS = [operator.add, operator.sub, operator.mul, operator.matmul]


@pytest.mark.parametrize("kind", MATRICES)
def test_matrices_on_either_side(session: matmul.Session, a: Any, kind: str) -> None:
    encrypted, plain = session.encrypt(a), MATRICES[kind](a)
    for op in OPERATORS:
        same(op(encrypted, plain), op(a, a))
        same(op(plain, encrypted), op(a, a))
    same(session.encrypt(plain), a)


@pytest.mark.parametrize("kind", VECTORS)
def test_vectors_on_either_side(session: matmul.Session, a: Any, kind: str) -> None:
    v = a[0]
    encrypted, plain = session.encrypt(v), VECTORS[kind](v)
    for op in OPERATORS:
        same(op(encrypted, plain), op(v, v))
        same(op(plain, encrypted), op(v, v))
    same(session.encrypt(a) @ plain, a @ v)
    same(plain + session.encrypt(a), v + a)
    same(session.encrypt(plain), v)


@pytest.mark.parametrize(
    "one", [2, True, 0.5, np.float32(0.5), np.int8(3), np.array(0.25), Fraction(1, 4), np.bool_(1)]
)
def test_numbers_on_either_side(session: matmul.Session, a: Any, one: Any) -> None:
    encrypted, known = session.encrypt(a), float(one)
    for op in OPERATORS[:3]:
        same(op(encrypted, one), op(a, known))
        same(op(one, encrypted), op(known, a))
    same(encrypted / one, a / known)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", ">f8", ">i4"])
def test_types_of_numbers(session: matmul.Session, a: Any, dtype: str) -> None:
    plain = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]]).astype(dtype)
    same(session.encrypt(a) + plain, a + plain)
    same(plain @ session.encrypt(a), plain.astype(float) @ a)


REFUSED = {
    "complex": [1j, 0, 0],
    "text": ["1", "2", "3"],
    "one text": "1.5",
    "bytes": b"abc",
    "date": datetime.date(2026, 1, 1),
    "timedelta": datetime.timedelta(1),
    "dates": np.array(["2026-01-01"] * 3, "M8[D]"),
    "durations": np.array([1, 2, 3], "m8[s]"),
    "one duration": np.timedelta64(3, "s"),
    "ragged": [[1, 2, 3], [4]],
    "masked": np.ma.masked_array([1.0, 2.0, 3.0], [True, False, False]),
    "NaN": [1.0, np.nan, 2.0],
    "infinite": [1.0, np.inf, 2.0],
    "one NaN": float("nan"),
    "beyond doubles": 10**400,
    "missing": [1.0, None, 2.0],
    "missing in a column": pd.Series([1, None, 2], dtype="Int64"),
    "three axes": np.ones((1, 3, 3)),
    "text in a data frame": pd.DataFrame({"a": ["x", "y", "z"]}),
    "objects": np.array([object()] * 3),
    "other length": np.ones(4),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_no_numbers_are_refused(session: matmul.Session, a: Any, kind: str) -> None:
    encrypted = session.encrypt(a)
    for op in OPERATORS:
        for operands in ((encrypted, REFUSED[kind]), (REFUSED[kind], encrypted)):
            with pytest.raises((rf.Error, TypeError)) as caught:
                op(*operands)
            assert not str(caught.value).startswith(("ufunc", "could not convert", "float()", "incompatible"))


@pytest.mark.parametrize("kind", [np.matrix, sp.csr_matrix])
def test_types_whose_star_is_the_matrix_product(session: matmul.Session, a: Any, kind: Any) -> None:
    encrypted, plain = session.encrypt(a), kind(a)
    same(encrypted @ plain, a @ a)
    same(plain @ encrypted, a @ a)
    for operands in ((encrypted, plain), (plain, encrypted)):
        with pytest.raises(rf.ValueError, match="write @"):
            operator.mul(*operands)


# ---- as sequences ----------------------------------------------------------------------------------


def test_iteration_gives_rows(session: matmul.Session, a: Any) -> None:
    encrypted = session.encrypt(a[:2])
    assert len(encrypted) == 2
    for found, want in zip(encrypted, a[:2], strict=True):
        same(found, want)
    for found, want in zip(reversed(encrypted), a[1::-1], strict=True):
        same(found, want)
    first, second = encrypted
    same(sum(encrypted), a[0] + a[1])
    assert first.shape == second.shape == (3,)


def test_iteration_of_a_cut_matrix_gives_rows(session: matmul.Session, a: Any) -> None:
    encrypted = session.encrypt(a, tile=(2, 2))
    assert len(encrypted.tiles) == 2
    assert [row.shape for row in encrypted] == [(3,)] * 3


def test_iteration_of_a_vector_gives_numbers(session: matmul.Session, a: Any) -> None:
    numbers = list(session.encrypt(a[0]))
    assert [x.shape for x in numbers] == [()] * 3
    assert np.abs(np.array([x.decrypt() for x in numbers]) - a[0]).max() < EXACT
    with pytest.raises(TypeError, match="no length"):
        len(numbers[0])
    with pytest.raises(TypeError, match="no length"):
        iter(numbers[0]).__next__()


# ---- values that nobody knows ----------------------------------------------------------------------


#: With A an encrypted matrix and a its entries.
REFUSED_USES = """
    a == A
    a == A
    A != A
    A == None
    A < 1
    A <= 1
    pd.DataFrame(a) == A
    pl.DataFrame(a) == A
    pl.DataFrame(a) == A
    bool(A)
    bool(A[0, 0])
    not A
    float(A[0, 0])
    int(A[0, 0])
    complex(A[0, 0])
    range(A[0, 0])
    0.5 in A
    hash(A)
    {A: 1}
    max(A)
    sorted(A)
    np.array(A)
    np.asarray([A, A])
    np.array(A, dtype=float)
    pd.DataFrame(A)
    np.equal(A, a)
    np.exp(A)
    np.isnan(A)
    np.allclose(A, a)
    np.stack([A, A])
    np.einsum("ij,jk", A, A)
    np.add(A, a, out=a.copy())
    np.add(A, a, where=a > 0)
    np.add(A, a, dtype=float)
    np.multiply.outer(A, a)
    np.sum(A, initial=3)
    operator.iadd(a.copy(), A)
    A[np.array([0, 1])]
    A[a > 0]
    A[A]
    A**2
    A // 2
"""


@pytest.mark.parametrize("use", [x.strip() for x in REFUSED_USES.strip().splitlines()])
def test_what_needs_the_values_is_refused(session: matmul.Session, a: Any, use: str) -> None:
    names = {"np": np, "pd": pd, "pl": pl, "operator": operator, "A": session.encrypt(a), "a": a}
    with pytest.raises((rf.Error, TypeError)):
        eval(use, names)


def test_functions_of_numpy(session: matmul.Session, a: Any) -> None:
    encrypted = session.encrypt(a)
    same(np.matmul(encrypted, a), a @ a)
    same(np.matmul(a, encrypted), a @ a)
    same(np.add(encrypted, encrypted), 2 * a)
    same(np.subtract(1, encrypted), 1 - a)
    same(np.multiply(a, encrypted), a * a)
    same(np.divide(encrypted, 4), a / 4)
    same(np.negative(encrypted), -a)
    same(np.positive(encrypted), a)
    same(np.dot(a, encrypted), a @ a)
    same(np.sum(encrypted, axis=0), a.sum(0))
    same(np.add.reduce(encrypted), a.sum(0))
    same(np.mean(encrypted, axis=1, keepdims=True), a.mean(1, keepdims=True))
    same(np.transpose(encrypted), a.T)


# ---- nothing in it ---------------------------------------------------------------------------------


EMPTY = """
    A; A @ B; A @ np.ones((3, 4)); np.ones((4, 0)) @ A; A.T; A.T @ A; A + 1; A + np.ones(3); A * 2; 2 - A; A / 2; -A;
    A - A; A[0:0]; A[:, 1]; B[0:0]; B[:, 5:]; V; V @ V; V + V; A.sum(); A.sum(0); A.sum(1); A.sum(0, keepdims=True);
    A.mean(1); B @ np.zeros((2, 0)); np.zeros((0, 3)) @ B; np.add(A, 1); np.ones(3) * A; B[:0] + B[:0]; A / np.ones(3)
"""


@pytest.mark.parametrize("expression", [x.strip() for x in EMPTY.split(";")])
def test_empty_matrices(session: matmul.Session, expression: str) -> None:
    plain = {"A": np.zeros((0, 3)), "B": np.full((3, 2), 0.25), "V": np.zeros(0)}
    encrypted = {name: session.encrypt(x) for name, x in plain.items()}
    want, found = (eval(expression, {"np": np, **names}) for names in (plain, encrypted))
    same(found, want)


@pytest.mark.parametrize("expression", ["A + B", "A @ A", "A[0]", "A.mean(0)", "A.mean()", "1 / A"])
def test_empty_matrices_that_do_not_fit(session: matmul.Session, expression: str) -> None:
    names = {"A": session.encrypt(np.zeros((0, 3))), "B": session.encrypt(np.ones((3, 2)))}
    with pytest.raises((rf.ShapeError, rf.ParameterError)):
        eval(expression, {"np": np, **names})


def test_the_session_of_other_keys_has_other_empty_matrices(session: matmul.Session) -> None:
    other = matmul.Session("matmul-a-128")
    with pytest.raises(rf.MismatchError):
        session.encrypt(np.zeros((0, 3))) + other.encrypt(np.zeros((0, 3)))


# ---- at random -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_random_operations(session: matmul.Session, seed: int) -> None:
    """Shapes, containers and operators at random: as numpy has it, or refused where numpy refuses."""
    rng = np.random.default_rng(seed)
    for _ in range(6):
        shapes = [tuple(rng.integers(1, 4, rng.integers(1, 3)).tolist()) for _ in range(2)]
        x, y = (rng.uniform(-1, 1, s) for s in shapes)
        op = OPERATORS[rng.integers(len(OPERATORS))]
        kinds = (
            MATRICES if y.ndim == 2 and y.shape[1] == 3 else VECTORS if y.ndim == 1 and len(y) == 3 else {"": np.array}
        )
        plain = list(kinds.values())[rng.integers(len(kinds))](y)
        left = bool(rng.integers(2))
        encrypted = session.encrypt(x)
        try:
            want = op(x, y) if left else op(y, x)
        except ValueError:
            with pytest.raises(rf.ShapeError):
                op(encrypted, plain) if left else op(plain, encrypted)
            continue
        same(op(encrypted, plain) if left else op(plain, encrypted), want)


# ---- sizes -----------------------------------------------------------------------------------------


def test_a_session_says_how_large_keys_get_before_it_makes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringforge.matmul.session._MUCH", 1 << 20)
    session = matmul.Session("matmul-a-128")
    a = session.encrypt(np.eye(4))
    with pytest.warns(
        rf.errors.SizeWarning, match=r"keys of this session grow to [\d.]+ MiB, \d+ of up to level 4"
    ) as said:
        _ = a @ a
    assert said[0].filename == __file__
    keys = session.keys
    size = keys.galois.bytes + keys.relin.bytes
    assert f"{size / 2**20:.1f}"[:2] in str(said[-1].message)


def test_a_session_for_work_starts_at_the_level_that_it_needs() -> None:
    shapes = {"A": (4, 4), "B": (4, 4)}
    session = matmul.Session.for_work(lambda A, B: A @ B, shapes, "matmul-a-128")
    assert session.level < session.params.max_level
    a = np.random.default_rng(2).uniform(-1, 1, (4, 4))
    same(session.encrypt(a) @ session.encrypt(a), a @ a)
    highest = matmul.Session("matmul-a-128")
    _ = highest.encrypt(a) @ highest.encrypt(a)
    assert 2 * session.keys.galois.bytes < highest.keys.galois.bytes


@pytest.mark.parametrize("level", [-1, 5, 1.5, "1", None])
def test_levels_of_sessions(level: Any) -> None:
    if level is None:
        assert matmul.Session("matmul-a-128", level=None).level == 4
    else:
        with pytest.raises((rf.LevelError, rf.ParameterError), match="level"):
            matmul.Session("matmul-a-128", level=level)
