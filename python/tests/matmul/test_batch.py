# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Batches of encrypted matrix products against numpy: any shape and number, both forms, chains, refusals, counts."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringforge import _native, ckks, errors
from ringforge._native import kernels
from ringforge.matmul import batch
from ringforge.matmul.batch import BatchKeys, BatchProduct, EncryptedMatrices, Lines
from ringforge.params import Parameters

SEED = ckks.TestSeed(bytes(range(32)))


class Setting:
    """Parameters, keys and a product for d x d matrices; not secure, which tests do not need."""

    def __init__(self, log_n: int, dim: int, limbs: int, bits: int = 50, log_scale: float = 40, threads: int = 2):
        first, *rest = kernels.primes_below(bits, limbs + 1, 1 << 18)
        self.params = Parameters("test", log_n, rest, [first], 1, log_scale, "test")
        self.session = ckks.Session(self.params, threads, SEED)
        self.client, self.secret_key = self.session.client, self.session.secret_key
        self.product = BatchProduct(self.session.context, dim, threads=threads)
        self.keys = self.product.make_keys(self.client, self.secret_key)

    def encrypt(self, m: np.ndarray, by: Lines = "columns", **how: float) -> EncryptedMatrices:
        level = int(how.pop("level", self.params.max_level))
        return self.product.encrypt(self.client, self.secret_key, m, by=by, level=level, **how)

    def check(self, got: EncryptedMatrices, exact: np.ndarray) -> None:
        decrypted = self.product.decrypt(self.client, self.secret_key, got)
        assert decrypted.shape == exact.shape
        error, bound = float(np.abs(decrypted - exact).max()), self.product.error_bound(got)
        assert bound / 256 < error < bound


@pytest.fixture(scope="module")
def small() -> Setting:
    return Setting(10, 16, 3)


def matrices(rng: np.random.Generator, *shape: int) -> np.ndarray:
    z = rng.uniform(-1, 1, shape) + 1j * rng.uniform(-1, 1, shape)
    return np.asarray(z / np.sqrt(2))


@settings(max_examples=15)
@given(
    st.integers(1, 16),
    st.integers(1, 16),
    st.integers(1, 16),
    st.integers(1, 32),
    st.sampled_from(["columns", "rows"]),
    st.sampled_from(["columns", "rows"]),
    st.integers(0, 2**32),
)
def test_any_shape_and_form(
    small: Setting, m: int, k: int, n: int, count: int, right: Lines, by: Lines, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    a, b = matrices(rng, count, m, k), matrices(rng, count, k, n)
    result, report = small.product.multiply(
        small.encrypt(a, level=1), small.encrypt(b, right, level=1), small.keys, by=by
    )
    assert (result.by, result.level, result.count) == (by, 0, count)
    small.check(result, a @ b)
    assert report.multiply_adds > 0


def test_transposes_and_conversions(small: Setting) -> None:
    rng = np.random.default_rng(2)
    a = matrices(rng, 5, 7, 12)
    x = small.encrypt(a)
    small.check(x.T, a.transpose(0, 2, 1))
    y, _ = small.product.convert(x, "rows", small.keys)
    assert y.by == "rows"
    small.check(y, a)
    gram, _ = small.product.multiply(x, x.T, small.keys)
    small.check(gram, a @ a.transpose(0, 2, 1))
    low = small.product.drop_to_level(x, 1)
    assert low.level == 1
    small.check(low, a)


def test_chains_by_either_side(small: Setting) -> None:
    """(A B) C with the result as a left operand, and A (B C) with it as a right one: no conversion in either."""
    rng = np.random.default_rng(3)
    a, b, c = (matrices(rng, 32, 16, 16) / 4 for _ in range(3))
    ab, _ = small.product.multiply(small.encrypt(a), small.encrypt(b, "rows"), small.keys)
    left, _ = small.product.multiply(ab, small.encrypt(c, "rows", level=1), small.keys)
    small.check(left, a @ b @ c)
    bc, _ = small.product.multiply(small.encrypt(b), small.encrypt(c, "rows"), small.keys, by="rows")
    right, _ = small.product.multiply(small.encrypt(a, level=1), bc, small.keys)
    small.check(right, a @ b @ c)


def test_two_real_products_share_a_factor_or_are_added(small: Setting) -> None:
    rng = np.random.default_rng(4)
    a, a2, b, b2 = rng.uniform(-0.7, 0.7, (4, 32, 16, 16))
    x = small.encrypt(a + 1j * a2)
    shared, _ = small.product.multiply(x, small.encrypt(b, "rows"), small.keys)
    got = small.product.decrypt(small.client, small.secret_key, shared)
    assert max(np.abs(got.real - a @ b).max(), np.abs(got.imag - a2 @ b).max()) < small.product.error_bound(shared)
    total, _ = small.product.multiply(x, small.encrypt(b - 1j * b2, "rows"), small.keys)
    got = small.product.decrypt(small.client, small.secret_key, total)
    assert np.abs(got.real - a @ b - a2 @ b2).max() < small.product.error_bound(total)


def test_counts_and_sizes_are_as_predicted(small: Setting) -> None:
    rng = np.random.default_rng(5)
    a = matrices(rng, 32, 16, 16)
    p = small.product
    for level in (1, 2):
        for conversions, (left, right) in enumerate([("columns", "rows"), ("columns", "columns"), ("rows", "columns")]):
            x, y = small.encrypt(a, left, level=level), small.encrypt(a, right, level=level)
            with _native.counting() as did:
                _, report = p.multiply(x, y, small.keys)
            cost = p.cost(level, conversions)
            assert did.operations == cost.ops
            assert report.multiply_adds == cost.multiply_adds == 4 * 16**2 * 1024 * (level + 1)
            assert report.butterflies == cost.butterflies
            # d - 1 for each conversion and both halves of the diagonals, d to relinearise.
            assert cost.ops.key_switch == (conversions + 2) * 15 + 16
    assert p.cost(2).keys == len(small.keys.galois) == 15
    assert p.cost(2).key_storage == small.keys.bytes
    assert p.capacity == 32


def test_public_keys_and_shared_results(small: Setting) -> None:
    rng = np.random.default_rng(6)
    a = matrices(rng, 3, 16, 16)
    x = small.product.encrypt(small.client, small.session.public_key, a)
    small.check(x, a)
    shown = small.product.decrypt(small.client, small.secret_key, x, share_bits=10)
    plain = small.product.decrypt(small.client, small.secret_key, x)
    flood = ckks.flood_deviation(x.batch.line(0).variance, 1024, 10, 16) / x.scale
    # The noise of an entry has N/d coefficients of that deviation.
    assert np.sqrt(np.mean(np.abs(shown - plain) ** 2)) == pytest.approx(flood * np.sqrt(1024 / 16), rel=0.1)


def test_threads_do_not_change_results() -> None:
    rng = np.random.default_rng(7)
    a, b = matrices(rng, 2, 4, 32, 32)
    words = []
    for threads in (1, 3):
        s = Setting(10, 32, 2, threads=threads)
        result, _ = s.product.multiply(s.encrypt(a), s.encrypt(b, "rows"), s.keys)
        words.append([result.batch.line(j).limb(part, 0) for j in range(32) for part in range(2)])
    assert all(np.array_equal(x, y) for x, y in zip(*words, strict=True))


def test_wide_primes_and_more_dimensions_than_matrices() -> None:
    s = Setting(10, 64, 2, bits=58, log_scale=46)
    assert s.product.capacity == 8
    rng = np.random.default_rng(8)
    a, b = matrices(rng, 2, 8, 64, 64)
    result, _ = s.product.multiply(s.encrypt(a), s.encrypt(b, "rows"), s.keys)
    s.check(result, a @ b)


def test_refusals_name_the_remedy(small: Setting) -> None:
    p, rng = small.product, np.random.default_rng(9)
    a = matrices(rng, 2, 16, 16)
    for dim in (-1, 0, 1, 12, 1024):
        with pytest.raises(errors.ShapeError, match="power of two"):
            BatchProduct(small.session.context, dim)
    with pytest.raises(errors.ShapeError, match="several batches"):
        small.encrypt(np.zeros((33, 2, 2)))
    with pytest.raises(errors.ShapeError, match="larger dim"):
        small.encrypt(np.zeros((1, 17, 2)))
    for bad in (np.zeros(3), np.zeros((1, 1, 2, 2))):
        with pytest.raises(errors.ShapeError, match="count, rows, cols"):
            small.encrypt(bad)
    with pytest.raises(errors.ValueError, match="finite"):
        small.encrypt(np.full((1, 2, 2), np.nan))
    with pytest.raises(errors.ValueError, match="declared bound"):
        small.encrypt(np.full((1, 2, 2), 1.5))
    with pytest.raises(errors.ValueError, match='"columns" or by "rows"'):
        small.encrypt(a, "diagonals")  # type: ignore[arg-type]
    x, y = small.encrypt(a, level=1), small.encrypt(a, "rows", level=1)
    with pytest.raises(errors.ShapeError, match="cannot multiply"):
        p.multiply(x, small.encrypt(a[:, :3], "rows", level=1), small.keys)
    with pytest.raises(errors.ShapeError, match="in pairs"):
        p.multiply(x, small.encrypt(a[:1], "rows", level=1), small.keys)
    with pytest.raises(errors.LevelError, match="drop_to_level"):
        p.multiply(x, small.encrypt(a, "rows", level=2), small.keys)
    with pytest.raises(errors.LevelError, match="level 1 at least"):
        p.multiply(small.encrypt(a, level=0), small.encrypt(a, "rows", level=0), small.keys)
    with pytest.raises(errors.LevelError):
        p.cost(0)
    with pytest.raises(errors.ValueError, match="do not fit level 0"):
        p.multiply(small.encrypt(a, level=1, bound=1e6), y, small.keys)
    few = p.make_keys(small.client, small.secret_key, 0)
    with pytest.raises(errors.LevelError, match="higher level"):
        p.multiply(x, y, few)
    with pytest.raises(errors.MissingKeyError, match="required_keys"):
        p.multiply(x, y, BatchKeys(_native.GaloisKeys(), small.keys.relin))
    other = Setting(10, 16, 3)
    # The same seed makes the same key: a second key of that client is another one.
    foreign_key = other.client.secret_key()
    theirs = p.encrypt(other.client, foreign_key, a, by="rows", level=1)
    with pytest.raises(errors.MismatchError, match="different keys"):
        p.multiply(x, theirs, small.keys)
    with pytest.raises(errors.MismatchError, match="another secret key"):
        p.multiply(x, y, p.make_keys(other.client, foreign_key))
    with pytest.raises(errors.MismatchError):
        p.decrypt(small.client, foreign_key, x)


def test_the_example_in_the_documentation() -> None:
    assert doctest.testmod(batch).failed == 0
