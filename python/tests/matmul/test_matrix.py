# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Encrypted matrices against numpy: every operator, every shape, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import ringforge as rf
from ringforge import ckks, matmul
from ringforge import params as parameter_sets
from ringforge._native import Parameters
from ringforge.errors import LevelError, MemoryLimitError, MismatchError, ParameterError, PrecisionWarning, ShapeError
from ringforge.matmul.planner import METHODS

SEED = ckks.TestSeed(bytes(range(32)))


def small(levels: int = 4) -> Parameters:
    """2,048 slots; for speed, not for secrecy."""
    p = parameter_sets.named("set-c")
    return Parameters("small", 12, p.q[: levels + 1], p.p, 1, 40.0, "tests")


def uniform(*shape: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng((seed, *shape)).uniform(-1, 1, shape)


@pytest.fixture(scope="module")
def s() -> matmul.Session:
    return matmul.Session(small(), fixed_seed_for_tests=SEED)


@pytest.fixture(scope="module")
def deep() -> matmul.Session:
    return matmul.Session(small(7), fixed_seed_for_tests=SEED)


def check(got: matmul.EncryptedMatrix, exact: Any) -> None:
    """As numpy has it: shape, values within the prediction, which is not absurdly far."""
    values = got.decrypt()
    assert np.shape(values) == got.shape == np.shape(exact)
    error = np.abs(np.asarray(values) - exact).max()
    assert error <= got.error_bound, (error, got.error_bound)
    assert got.error_bound < 1e-2
    assert np.abs(exact).max() <= got.bound * (1 + 1e-9)


# ---- products ----


@pytest.mark.parametrize(
    "shape",
    [(1, 1, 1), (3, 5, 7), (31, 17, 53), (1, 9, 1), (6, 1, 6), (1, 40, 3), (20, 3, 1), (32, 32, 32), (2, 60, 2)],
    ids=str,
)
def test_product(s: matmul.Session, shape: tuple[int, int, int]) -> None:
    m, l, n = shape  # noqa: E741
    a, b = uniform(m, l), uniform(l, n)
    product = s.encrypt(a) @ s.encrypt(b)
    check(product, a @ b)
    assert product.level < 4
    assert product.bound == pytest.approx(l)


def test_random_shapes(s: matmul.Session) -> None:
    rng = np.random.default_rng(7)
    for _ in range(4):
        m, l, n = (int(x) for x in rng.integers(1, 20, 3))  # noqa: E741
        a, b = uniform(m, l), uniform(l, n)
        check(s.encrypt(a) @ s.encrypt(b), a @ b)


@pytest.mark.parametrize("method", sorted(set(METHODS) - {"fold"}))
def test_every_method(method: str) -> None:
    s = matmul.Session(small(), method=method, fixed_seed_for_tests=SEED)
    a, b = uniform(4, 3), uniform(3, 5)
    check(s.encrypt(a) @ s.encrypt(b), a @ b)


def test_few_keys() -> None:
    a, b = uniform(30, 30), uniform(30, 30, seed=2)
    for keys in ("all", "few"):
        s = matmul.Session(small(), keys=keys, fixed_seed_for_tests=SEED)
        check(s.encrypt(a) @ s.encrypt(b), a @ b)


def test_first_steps_are_done_once(s: matmul.Session) -> None:
    a, b1, b2 = uniform(5, 6), uniform(6, 5), uniform(6, 5, seed=2)
    A = s.encrypt(a)
    s.reports.clear()
    check(A @ s.encrypt(b1), a @ b1)
    check(A @ s.encrypt(b2), a @ b2)
    done = [name for name, _ in s.reports]
    assert done.count("left operand") == 1
    assert done.count("right operand") == done.count("product") == 2
    A.forget()
    _ = A @ s.encrypt(b1)
    assert [name for name, _ in s.reports].count("left operand") == 2


Names = dict[str, Any]

EXPRESSIONS: dict[str, Callable[[Names], Any]] = {
    "A @ B": lambda x: x["A"] @ x["B"],
    "A @ B @ C": lambda x: x["A"] @ x["B"] @ x["C"],
    "A @ (B @ C)": lambda x: x["A"] @ (x["B"] @ x["C"]),
    "A.T @ A": lambda x: x["A"].T @ x["A"],
    "A.T": lambda x: x["A"].T,
    "A + D": lambda x: x["A"] + x["D"],
    "A - D": lambda x: x["A"] - x["D"],
    "-A": lambda x: -x["A"],
    "A @ B + A @ B": lambda x: x["A"] @ x["B"] + x["A"] @ x["B"],
    "A @ B - E": lambda x: x["A"] @ x["B"] - x["E"],
    "3 * A - 0.25 * D": lambda x: 3 * x["A"] - 0.25 * x["D"],
    "0 * A": lambda x: 0 * x["A"],
    "A * -7": lambda x: x["A"] * -7,
    "A / 3": lambda x: x["A"] / 3,
    "float64 * A": lambda x: np.float64(0.5) * x["A"],
    "A @ w": lambda x: x["A"] @ x["w"],
    "v @ A": lambda x: x["v"] @ x["A"],
    "v @ A @ w": lambda x: x["v"] @ x["A"] @ x["w"],
    "w @ w": lambda x: x["w"] @ x["w"],
    "A @ w - v": lambda x: x["A"] @ x["w"] - x["v"],
    "w.T": lambda x: x["w"].T,
    "w[1:3]": lambda x: x["w"][1:3],
    "w[-1]": lambda x: x["w"][-1],
    "A[1:4, ::2]": lambda x: x["A"][1:4, ::2],
    "A[2]": lambda x: x["A"][2],
    "A[:, 1]": lambda x: x["A"][:, 1],
    "A[::-1]": lambda x: x["A"][::-1],
    "A[1, -2]": lambda x: x["A"][1, -2],
    "A[:]": lambda x: x["A"][:],
    "(A @ B)[:2, 3:] @ F": lambda x: (x["A"] @ x["B"])[:2, 3:] @ x["F"],
    "column.T": lambda x: x["A"][:, 1:2].T,
}


@pytest.mark.parametrize("name", sorted(EXPRESSIONS))
def test_expression(deep: matmul.Session, name: str) -> None:
    shapes = {"A": (5, 4), "B": (4, 6), "C": (6, 2), "D": (5, 4), "E": (5, 6), "F": (3, 2), "v": (5,), "w": (4,)}
    plain = {k: uniform(*shape, seed=ord(k)) for k, shape in shapes.items()}
    encrypted = {k: deep.encrypt(v) for k, v in plain.items()}
    check(EXPRESSIONS[name](encrypted), EXPRESSIONS[name](plain))


PLAIN: dict[str, Callable[[Names], Any]] = {
    "A @ p": lambda x: x["A"] @ x["p"],
    "q @ A": lambda x: x["q"] @ x["A"],
    "A @ p1": lambda x: x["A"] @ x["p1"],
    "q1 @ A": lambda x: x["q1"] @ x["A"],
    "w @ p": lambda x: x["w"] @ x["p"],
    "q @ v": lambda x: x["q"] @ x["v"],
    "w @ p1": lambda x: x["w"] @ x["p1"],
    "p1 @ w": lambda x: x["p1"] @ x["w"],
    "A + d": lambda x: x["A"] + x["d"],
    "d - A": lambda x: x["d"] - x["A"],
    "A - d": lambda x: x["A"] - x["d"],
    "w + p1": lambda x: x["p1"] + x["w"],
    "A @ zeros": lambda x: x["A"] @ np.zeros((4, 3)),
    "sparse @ A": lambda x: np.eye(5)[::-1] @ x["A"],
    "A @ p @ B": lambda x: x["A"] @ x["p"] @ x["B"],
    "q @ (A @ r)": lambda x: x["q"] @ (x["A"] @ x["r"]),
    "ints": lambda x: x["A"] @ np.arange(12).reshape(4, 3),
}


@pytest.mark.parametrize("name", sorted(PLAIN))
def test_with_plain_operand(s: matmul.Session, name: str) -> None:
    shapes = {"A": (5, 4), "B": (3, 2), "v": (5,), "w": (4,)}
    clear = {"p": uniform(4, 3), "q": uniform(7, 5), "p1": uniform(4), "q1": uniform(5), "d": uniform(5, 4)}
    clear["r"] = uniform(4, 4)
    plain = {k: uniform(*shape, seed=ord(k)) for k, shape in shapes.items()}
    encrypted = {k: s.encrypt(v) for k, v in plain.items()}
    check(PLAIN[name]({**encrypted, **clear}), PLAIN[name]({**plain, **clear}))


def test_plain_products_cost_one_level_and_keys_do_not_tell_zeros() -> None:
    a = uniform(6, 6)
    t = matmul.Session(small(), fixed_seed_for_tests=SEED)
    assert (t.encrypt(a) @ np.eye(6)).level == 3
    few = set(t.keys.galois.elements)
    assert (t.encrypt(a) @ uniform(6, 6)).level == 3
    assert set(t.keys.galois.elements) == few


# ---- several ciphertexts ----


def test_larger_than_a_ciphertext(s: matmul.Session) -> None:
    """Both operands are cut into blocks; no size is a multiple of a block."""
    a, b = uniform(50, 47), uniform(47, 46)
    A, B = s.encrypt(a), s.encrypt(b)
    assert len(A.tiles) * len(A.tiles[0]) == 4
    check(A @ B, a @ b)
    check(A.T, a.T)
    check(A[3:40, 1:46:3], a[3:40, 1:46:3])
    check(A @ uniform(47), a @ uniform(47))
    check(uniform(50) @ A, uniform(50) @ a)
    check(A + np.ones((50, 47)), a + 1)


def test_whole_tiles_are_taken_without_work(s: matmul.Session) -> None:
    a = uniform(50, 47)
    A = s.encrypt(a)
    r, c = A.tile_shape
    part = A[r:, :c]
    check(part, a[r:, :c])
    assert part.level == A.level


def test_result_larger_than_its_operands(s: matmul.Session) -> None:
    x = uniform(60, 2)
    X = s.encrypt(x)
    check(X @ s.encrypt(x.T), x @ x.T)


def test_tiles_as_asked_and_operands_cut_differently(s: matmul.Session) -> None:
    a, b = uniform(10, 12), uniform(12, 3)
    A = s.encrypt(a, tile=(4, 5))
    assert A.tile_shape == (4, 4)
    check(A @ s.encrypt(b), a @ b)
    check(A + s.encrypt(a), 2 * a)
    check(A + s.encrypt(a, tile=(10, 1)), 2 * a)


# ---- levels, bounds ----


def test_levels_are_brought_together(s: matmul.Session) -> None:
    a, b = uniform(4, 4), uniform(4, 4, seed=2)
    A, B = s.encrypt(a), s.encrypt(b, level=2)
    assert (A + B).level == 2
    check(A + B, a + b)
    check(A @ B, a @ b)
    check(B @ A, b @ a)


def test_too_few_levels(s: matmul.Session) -> None:
    A = s.encrypt(uniform(8, 8), level=1)
    with pytest.raises(LevelError, match=r"takes at least [23] levels, the operands have 1"):
        _ = A @ A
    zero = s.encrypt(uniform(3, 3), level=0)
    with pytest.raises(LevelError, match="a transposition takes 1 level, its operand has 0"):
        _ = zero.T + zero.T
    assert np.abs(zero.T.decrypt() - uniform(3, 3).T).max() < 1e-2  # whoever decrypts transposes
    with pytest.raises(LevelError, match="takes 1 level"):
        _ = 0.5 * zero
    check(2 * zero, 2 * uniform(3, 3))
    with pytest.raises(LevelError, match=r"outside 0 \.\.\. 4"):
        s.encrypt(uniform(3, 3), level=5)


def test_a_chain_ends_where_levels_do(s: matmul.Session) -> None:
    x = exact = 0.5 * uniform(3, 3)
    power = s.encrypt(exact)
    while power.level >= 2:
        power, exact = power @ s.encrypt(x), exact @ x
        check(power, exact)
    with pytest.raises(LevelError, match="levels"):
        _ = power @ s.encrypt(x)


def test_results_must_fit_their_level(s: matmul.Session) -> None:
    a = 1000 * uniform(3, 3)
    A = s.encrypt(a, bound=1000, level=2)
    with pytest.raises(LevelError, match=r"may have entries up to 3e\+06, which takes 63.0 bits; level 0 .* has 50.0"):
        _ = A @ A
    small_ones = s.encrypt(0.001 * a, bound=1000, level=2)
    check(small_ones.matmul(small_ones, bound=4), (0.001 * a) @ (0.001 * a))
    with pytest.raises(ParameterError, match="bound must be positive"):
        A.matmul(A, bound=0)


def test_memory_limit() -> None:
    s = matmul.Session(small(), memory=1 << 20)
    A = s.encrypt(uniform(16, 16))
    with pytest.raises(MemoryLimitError, match=r"fits in 1\.0 MiB; the smallest .* needs \d+ MiB"):
        _ = A @ A


# ---- refusals ----


def test_shapes_that_do_not_fit(s: matmul.Session) -> None:
    A, v = s.encrypt(uniform(3, 4)), s.encrypt(uniform(4))
    for make, message in [
        (lambda: A @ A, r"shapes \(3, 4\) and \(3, 4\) do not chain"),
        (lambda: A @ uniform(3, 4), "do not chain"),
        (lambda: uniform(3, 4) @ A, "do not chain"),
        (lambda: v @ A, "do not chain"),
        (lambda: A + s.encrypt(uniform(3)), "do not broadcast"),
        (lambda: A - uniform(4, 3), "do not broadcast"),
        (lambda: (v @ v) @ v, "a number has no matrix products"),
        (lambda: A[3], r"index 3 is outside 0 \.\.\. 2"),
        (lambda: A[0, 0, 0], "up to 2 indices"),
        (lambda: A[[0, 1]], "is no index"),
        (lambda: s.encrypt(np.zeros((2, 2, 2))), "neither a matrix nor a vector"),
        (lambda: s.encrypt(uniform(3, 4), tile=(100, 100)), "does not fit"),
    ]:
        with pytest.raises(ShapeError, match=message):
            make()


def test_values_that_cannot_be(s: matmul.Session) -> None:
    A = s.encrypt(uniform(2, 2))
    for make, message in [
        (lambda: s.encrypt([[1.5]]), "exceeds the declared bound 1"),
        (lambda: s.encrypt([[np.nan]]), "NaN"),
        (lambda: s.encrypt([[1j]]), "complex128"),
        (lambda: s.encrypt([["a"]]), "real numbers"),
        (lambda: A @ np.array([[np.inf, 0], [0, 0]]), "NaN or infinity"),
        (lambda: A + np.array([[1j, 0], [0, 0]]), "complex128"),
        (lambda: A * float("nan"), "finite"),
        (lambda: A / 0, "divided by 0"),
    ]:
        with pytest.raises(rf.ValueError, match=message):
            make()
    with pytest.raises(ParameterError, match="bound must be positive"):
        s.encrypt([[0.0]], bound=-1)
    for wrong in (lambda: A @ 2, lambda: A + "x", lambda: A * "x", lambda: [1] @ A, lambda: A**2):
        with pytest.raises(TypeError):
            wrong()


def test_entries_too_large_are_not_named(s: matmul.Session) -> None:
    with pytest.raises(rf.ValueError) as e:
        s.encrypt([[1.23456]])
    assert "1.23" not in str(e.value)


def test_matrices_of_different_keys_or_parameters(s: matmul.Session) -> None:
    A = s.encrypt(uniform(2, 2))
    for other in (matmul.Session(small()), matmul.Session(small(3))):
        B = other.encrypt(uniform(2, 2))
        for make in (lambda B=B: A @ B, lambda B=B: A + B):
            with pytest.raises(MismatchError, match="different keys, parameters or programs"):
                make()


def test_insecure_sets_need_a_reason() -> None:
    with pytest.raises(ParameterError):
        matmul.Session("matmul-a")
    assert matmul.Session("matmul-a", insecure="tests").params.name == "matmul-a"


# ---- for people ----


def test_explain(s: matmul.Session) -> None:
    A, B = s.encrypt(uniform(5, 4)), s.encrypt(uniform(4, 6))
    screen = Console(width=150, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    screen.print((0.5 * (A @ B)).T.explain())
    text = screen.export_text()
    for word in ("input", "product", "0, 1", "multiple", "transpose", "5 x 6", "ringforge r", "chosen", "weight"):
        assert word in text, word
    assert repr(A @ B) == f"EncryptedMatrix(5, 6) in 1 ciphertext, level {(A @ B).level}"


def test_numpys_functions_work_or_refuse(s: matmul.Session) -> None:
    """None makes an array of objects of an encrypted matrix."""
    q, a = uniform(4, 5), uniform(5, 3)
    encrypted = s.encrypt(a)
    for made, exact in [
        (np.dot(q, encrypted), q @ a),
        (np.dot(encrypted, a.T), a @ a.T),
        (np.transpose(encrypted), a.T),
        (np.transpose(encrypted, (1, 0)), a.T),
        (np.dot(encrypted, np.float64(2)), 2 * a),
    ]:
        assert isinstance(made, matmul.EncryptedMatrix)
        assert np.abs(made.decrypt() - exact).max() <= made.error_bound
    assert (np.shape(encrypted), np.ndim(encrypted), np.size(encrypted)) == ((5, 3), 2, 15)
    for refused in (
        lambda: np.transpose(encrypted, (0, 1)),
        lambda: np.concatenate([encrypted, encrypted]),
        lambda: np.std(encrypted),
        lambda: np.linalg.norm(encrypted),
        lambda: np.asarray(encrypted),
        lambda: np.array([encrypted, encrypted]),
        lambda: np.dot(q, encrypted, out=np.zeros((4, 3))),
    ):
        with pytest.raises((ParameterError, ShapeError)):
            refused()
    for ufunc in (np.multiply, np.matmul, np.add):
        with pytest.raises(TypeError):
            ufunc(q, encrypted)


def test_explanations_can_be_printed(s: matmul.Session) -> None:
    product = s.encrypt(uniform(3, 4)) @ s.encrypt(uniform(4, 2))
    program = matmul.trace(small(), lambda A, B: A @ B, A=(3, 4), B=(4, 2))
    for text in (str(product.explain()), str(program.explain()), str(program.summary())):
        assert "object at 0x" not in text
        assert "3 x 4" in text


def test_remedies_exist() -> None:
    """At the highest level no message asks for a higher one; below it says how many more."""
    high = matmul.Session(small(2), fixed_seed_for_tests=SEED)
    a = high.encrypt(uniform(4, 4), bound=2.0**30)
    with pytest.raises(LevelError, match=r"choose parameters with 2 more primes") as e:
        a.matmul(a)
    assert "higher" not in str(e.value)
    low = matmul.Session(small(4), fixed_seed_for_tests=SEED)
    b = low.encrypt(uniform(4, 4), bound=2.0**30, level=2)
    with pytest.raises(LevelError, match=r"encrypt \d levels? higher \(the highest is 4; else choose"):
        b.matmul(b)


def test_programs_whose_results_drown_are_warned_of() -> None:
    with pytest.warns(PrecisionWarning, match="scale the inputs up"):
        matmul.trace(small(), lambda A, B: A @ B, A=matmul.Input(shape=(3, 4), bound=1e-12), B=(4, 2))
