# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Arrays of encrypted integers against numpy's: shapes, axes, products of matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ringforge import errors, gates
from ringforge.gates import integers

from .test_integers import World


@pytest.fixture(scope="module")
def world() -> World:
    return World()


def test_arrays_are_as_numpys(world: World) -> None:
    plain = np.arange(12, dtype=np.uint8).reshape(3, 4) * 9
    x = world.encrypt(plain, np.uint8)
    assert (x.shape, x.ndim, x.size, len(x), x.dtype.name) == ((3, 4), 2, 12, 3, "uint8")
    for index in (0, -1, (1, 2), slice(1, None), (slice(None), 2), (Ellipsis, 0), np.array([2, 0])):
        assert world.decrypt(x[index]) == plain[index].tolist()
    assert isinstance(x[0, 0], integers.EncryptedInt)
    assert [world.decrypt(row) for row in x] == plain.tolist()
    assert world.decrypt(x.reshape(-1, 2)) == plain.reshape(-1, 2).tolist()
    row = world.encrypt([1, 2, 3, 4], "uint8")
    assert world.decrypt(x + row) == (plain + np.array([1, 2, 3, 4], np.uint8)).tolist()
    weights = np.array([3, 0, 1, 3], np.uint8)
    assert world.decrypt(x * weights) == (plain * weights).tolist()
    assert world.decrypt(weights + x[0]) == (plain[0] + weights).tolist()
    many = np.arange(40).reshape(2, 20)
    assert world.decrypt(world.encrypt([[1], [2]], "uint8") + many) == (many + np.array([[1], [2]])).tolist()
    assert world.decrypt(x.sum(axis=0)) == plain.sum(axis=0, dtype=np.uint8).tolist()
    assert world.decrypt(x.sum(dtype="uint16")) == int(plain.sum())
    assert world.decrypt(x.min()) == 0
    assert world.decrypt(x.max(axis=1)) == plain.max(axis=1).tolist()
    assert world.decrypt(x.dot([1, 2, 3, 4])) == (plain @ np.array([1, 2, 3, 4], np.uint8)).tolist()
    assert world.decrypt(x @ row) == (plain @ np.array([1, 2, 3, 4], np.uint8)).tolist()
    assert world.decrypt(integers.stack([x[0], x[1]])) == plain[:2].tolist()
    assert world.decrypt(integers.concatenate([x[:1], (x + row)[:1]])) == [
        plain[0].tolist(),
        (plain[0] + np.array([1, 2, 3, 4], np.uint8)).tolist(),
    ]
    assert world.decrypt(integers.select(x > 50, x, 0)) == np.where(plain > 50, plain, 0).tolist()
    assert world.decrypt((x > 50).if_then_else(7, x)) == np.where(plain > 50, 7, plain).tolist()
    for bad in ((x, 9), (x, (0, 0, 0))):
        with pytest.raises(IndexError):
            bad[0][bad[1]]
    with pytest.raises(errors.ShapeError, match="broadcast"):
        x + world.encrypt([1, 2, 3], "uint8")
    with pytest.raises(errors.ShapeError, match="fit"):
        x.reshape(5, 5)
    with pytest.raises(TypeError, match="stack"):
        x[0] = row


@pytest.fixture(scope="module")
def clear() -> Callable[[Any, Any], Any]:
    """Integers on the device without encryption, and their values."""
    key = gates.ClearKey(gates.parameters("gates-128"))
    evaluator = gates.Evaluator(key, device="clear")

    def bound(value: Any, dtype: str = "uint8") -> Any:
        return evaluator.bind(integers.encrypt(key, value, dtype))

    bound.key = key  # type: ignore[attr-defined]
    return bound


MATRICES = {
    "vectors": ((4,), (4,)),
    "matrix, vector": ((2, 4), (4,)),
    "vector, matrix": ((4,), (4, 3)),
    "matrices": ((2, 4), (4, 3)),
    "square": ((2, 2), (2, 2)),
    "vector, stack": ((4,), (2, 4, 3)),
    "stack, vector": ((2, 3, 4), (4,)),
    "stack, matrix": ((2, 3, 4), (4, 2)),
    "stacks": ((2, 1, 3, 4), (3, 4, 2)),
}


@pytest.mark.parametrize("shapes", MATRICES.values(), ids=MATRICES)
def test_products_of_matrices_are_as_numpys(clear: Any, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    rng = np.random.default_rng(5)
    a, b = (rng.integers(0, 256, s).astype(np.uint8) for s in shapes)
    x, y = clear(a), clear(b)
    for found in (x @ y, x @ b, a @ y, x @ b.tolist(), a.tolist() @ y):
        assert found.shape == (a @ b).shape
        assert integers.decrypt(clear.key, found) == (a @ b).tolist()
    if a.ndim < 2 or b.ndim < 3:
        assert integers.decrypt(clear.key, x.dot(y)) == a.dot(b).tolist()
    assert integers.decrypt(clear.key, x.T) == a.T.tolist()


def test_products_of_other_shapes_are_refused(clear: Any) -> None:
    x = clear([[1, 2, 3], [4, 5, 6]])
    for run in (lambda: x @ x, lambda: x @ 3, lambda: 3 @ x, lambda: x[0, 0] @ x, lambda: x.dot([1, 2])):
        with pytest.raises(errors.ShapeError, match="columns"):
            run()
    with pytest.raises(errors.ShapeError, match="stacks"):
        x.dot(np.ones((2, 3, 2), np.uint8))


def test_shapes_are_lengths_or_tuples(clear: Any) -> None:
    x = clear([[1, 2, 3], [4, 5, 6]])
    for shape in ((3, 2), ((3, 2),), ([-1, 2],), (np.int64(3), -1)):
        assert integers.decrypt(clear.key, x.reshape(*shape)) == [[1, 2], [3, 4], [5, 6]]
    assert integers.decrypt(clear.key, x[0, 0].reshape(())) == integers.decrypt(clear.key, x[0, 0].reshape()) == 1
    for bad in ((4, 2), ((3, 2), 1), ("a",), (1.5, 4)):
        with pytest.raises(errors.ShapeError, match="fit"):
            x.reshape(*bad)


def test_axes_are_as_numpys(clear: Any) -> None:
    plain = np.random.default_rng(6).integers(0, 256, (2, 3, 2)).astype(np.uint8)
    x = clear(plain)
    for axis in (None, 0, -1, np.int64(1), (0,), (0, 2), (2, 0), (-1, 1), (0, 1, 2), ()):
        for name in ("min", "max", "sum"):
            exact = getattr(plain, name)(axis=axis, **({"dtype": np.uint8} if name == "sum" else {}))
            found = getattr(x, name)(axis=axis)
            assert found.shape == exact.shape
            assert integers.decrypt(clear.key, found) == exact.tolist()
            assert name == "sum" or integers.decrypt(clear.key, getattr(x, name)(axis)) == exact.tolist()
    # Of two operands, as tfhe-rs has it.
    for other in (clear(plain[:1]), plain[:1], plain[:1].tolist()):
        assert integers.decrypt(clear.key, x.min(other)) == np.minimum(plain, plain[:1]).tolist()
        assert integers.decrypt(clear.key, x.max(other)) == np.maximum(plain, plain[:1]).tolist()
    for bad in (3, (0, 0), (0, -3), np.int64(-4)):
        with pytest.raises(errors.ShapeError, match="axis"):
            x.min(axis=bad)
    for wrong in (1.5, [0], "a", x):
        with pytest.raises(errors.ParameterError, match="axis"):
            x.max(axis=wrong)


def test_arrays_are_joined_as_numpys(clear: Any) -> None:
    plain = np.arange(6, dtype=np.uint8).reshape(2, 3)
    # Sums, whose sources are joined likewise.
    x, y = clear(plain), clear(plain) + clear(plain[::-1].copy())
    values = [plain, plain + plain[::-1]]
    for how, exact, axes in (
        (integers.concatenate, np.concatenate, range(-2, 2)),
        (integers.stack, np.stack, range(-3, 3)),
    ):
        for axis in axes:
            found = how([x, y], axis)
            assert found.shape == exact(values, axis).shape
            assert integers.decrypt(clear.key, found) == exact(values, axis).tolist()
        for bad in (axes.stop, axes.start - 1):
            with pytest.raises(errors.ShapeError, match="axis"):
                how([x, y], bad)
    with pytest.raises(errors.ShapeError, match="stack"):
        integers.concatenate([x[0, 0], x[0, 1]])
    with pytest.raises(errors.ShapeError, match="joined"):
        integers.concatenate([x, y[0]])


def test_long_arrays_go_in_parts(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from ringforge.gates.integers import execution

    monkeypatch.setattr(execution, "PASS_BYTES", 1)
    x, y = world.encrypt(list(range(50)), "uint8"), world.encrypt(7, "uint8")
    seen: list[float] = []
    with integers.reporting(seen.append):
        assert world.decrypt(x + y) == [v + 7 for v in range(50)]
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    assert len(seen) > 4


def test_known_numbers_are_shifted_by_encrypted_places(clear: Any) -> None:
    x = clear([0, 1, 3, 7, 8, 200])
    places = [0, 1, 3, 7, 8, 200]
    for word in (0, 1, 5, 255):
        assert integers.decrypt(clear.key, word << x) == [(word << n) & 255 for n in places]
        assert integers.decrypt(clear.key, word >> x) == [word >> n for n in places]
    for run, kind, text in (
        (lambda: 1 << clear([1], "int8"), errors.MismatchError, "astype"),
        (lambda: 1 >> clear([True], "bool"), errors.MismatchError, "bool"),
        (lambda: 256 << x, errors.ValueError, "wider"),
        (lambda: [1, 2] << x, errors.ParameterError, "take an int"),
    ):
        with pytest.raises(kind, match=text):
            run()


def test_quotients_and_remainders_together(clear: Any) -> None:
    x = clear([23, 200])
    quotient, rest = divmod(x, 7)
    assert (integers.decrypt(clear.key, quotient), integers.decrypt(clear.key, rest)) == ([3, 28], [2, 4])
    quotient, rest = divmod(250, x)
    assert (integers.decrypt(clear.key, quotient), integers.decrypt(clear.key, rest)) == ([10, 1], [20, 50])


def test_division_by_an_encrypted_zero(clear: Any) -> None:
    """As the documents say: unsigned all ones, signed -1, or 0 of negative numbers; the remainder is the dividend."""
    values = [0, 1, 100, 127]
    assert integers.decrypt(clear.key, clear(values) // clear(0)) == [255] * 4
    assert integers.decrypt(clear.key, clear(values) % clear(0)) == values
    values += [-1, -100, -128]
    assert integers.decrypt(clear.key, clear(values, "int8") // clear(0, "int8")) == [-1] * 4 + [0] * 3
    assert integers.decrypt(clear.key, clear(values, "int8") % clear(0, "int8")) == values
