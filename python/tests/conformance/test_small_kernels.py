# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The conformance suite of small rings: every kernel set, 32-bit and 64-bit words, against exact integers."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ringforge._native import kernels

from . import oracle

SETS = kernels.available()
BITS = {32: [18, 26, 27, 28, 29, 30, 31], 64: [18, 35, 37, 40, 41, 47, 48, 49, 50, 51, 54, 60, 61]}
PAPER_PRIME = 0x3FFFFFFFFED001
FEW = settings(max_examples=12)

Case = tuple[int, int, int]
"""Modulus, degree, width of the words."""


@st.composite
def cases(draw: st.DrawFn, sizes: tuple[int, ...] = (256, 512, 1024, 2048, 4096)) -> Case:
    n = draw(st.sampled_from(sizes))
    word = draw(st.sampled_from([32, 64]))
    primes = kernels.primes_below(draw(st.sampled_from(BITS[word])), 2, 2 * n)
    if word == 64 and n <= 2048:
        primes = [*primes, PAPER_PRIME]
    return draw(st.sampled_from(primes)), n, word


def residues(draw: st.DrawFn, n: int, q: int) -> list[int]:
    """n residues: random with edges among them, or all the largest."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    edges = [0, 1, q - 1, q // 2, q // 2 + 1, *(1 << k for k in range(q.bit_length() - 1))]
    values = [int(x) % q for x in rng.integers(0, 2**63, n, dtype=np.int64)]
    for at, pick in zip(rng.integers(0, n, n // 4), rng.integers(0, len(edges), n // 4), strict=True):
        values[int(at)] = edges[int(pick)]
    return [q - 1] * n if draw(st.integers(0, 5)) == 0 else values


def everywhere(op: str, expected: list[int], *args: object) -> None:
    for name in SETS:
        got = oracle.ints(getattr(kernels, op)(name, *args))
        assert got == expected, f"{op} of {name} differs from exact arithmetic"


def flat(rows: list[list[int]]) -> list[int]:
    return [c for row in rows for c in row]


@st.composite
def cuts(draw: st.DrawFn, q: int) -> tuple[int, int, int, bool]:
    """log_base, count, drop, balanced: digits that cover q, sometimes one too many."""
    bits = q.bit_length()
    balanced = draw(st.booleans())
    log_base = draw(st.integers(2, bits))
    drop = draw(st.integers(0, bits - 2)) if balanced and draw(st.booleans()) else 0
    log_base = min(log_base, bits - drop)
    count = -(-(bits - drop) // log_base)
    return log_base, count + draw(st.integers(0, 1)) * (log_base < bits), drop, balanced


def digits(x: list[int], cut: tuple[int, int, int, bool], q: int) -> list[list[int]]:
    """The contract's formula, digit by digit."""
    log_base, count, drop, balanced = cut
    base = 1 << log_base
    if not balanced:
        return [[c // base**j % base for c in x] for j in range(count)]
    shift = (1 << drop >> 1) + sum(base // 2 * base**j << drop for j in range(count))
    out = []
    for j in range(count):
        raw = [(oracle.centred(c, q) + shift) // (base**j << drop) for c in x]
        out.append([((r if j + 1 == count else r % base) - base // 2) % q for r in raw])
    return out


@FEW
@given(cases((256, 512)), st.data())
def test_transforms(case: Case, data: st.DataObject) -> None:
    q, n, word = case
    x = data.draw(st.composite(lambda draw: residues(draw, n, q))())
    expected = oracle.ntt(x, q, oracle.smallest_root(q, 2 * n))
    everywhere("small_forward", expected, oracle.words(x), q, word)
    everywhere("small_inverse", x, oracle.words(expected), q, word)


@FEW
@given(cases((1024, 2048, 4096)), st.data())
def test_longer_transforms(case: Case, data: st.DataObject) -> None:
    q, n, word = case
    x = data.draw(st.composite(lambda draw: residues(draw, n, q))())
    psi, bits = kernels.psi(q, n.bit_length() - 1), n.bit_length() - 1
    places = [*data.draw(st.lists(st.integers(0, n - 1), min_size=4, max_size=4)), 0, 1, n - 1]
    for name in SETS:
        values = kernels.small_forward(name, oracle.words(x), q, word)
        for i in places:
            root = pow(psi, 2 * oracle.reverse(i, bits) + 1, q)
            value = 0
            for c in reversed(x):
                value = (value * root + c) % q
            assert int(values[i]) == value, name
        assert oracle.ints(kernels.small_inverse(name, values, q, word)) == x, name


@FEW
@given(cases(), st.data())
def test_pointwise(case: Case, data: st.DataObject) -> None:
    q, n, word = case
    draw = st.composite(lambda draw: residues(draw, n, q))()
    a, b = data.draw(draw), data.draw(draw)
    w = data.draw(st.integers(0, q - 1) | st.sampled_from([0, 1, q - 1]))
    x, y = oracle.words(a), oracle.words(b)
    everywhere("small_add", [(i + j) % q for i, j in zip(a, b, strict=True)], x, y, q, word)
    everywhere("small_sub", [(i - j) % q for i, j in zip(a, b, strict=True)], x, y, q, word)
    everywhere("small_mul", [i * j % q for i, j in zip(a, b, strict=True)], x, y, q, word)
    everywhere("small_mul_scalar", [i * w % q for i in a], x, w, q, word)


@FEW
@given(cases(), st.data())
def test_permutations(case: Case, data: st.DataObject) -> None:
    q, n, word = case
    x = data.draw(st.composite(lambda draw: residues(draw, n, q))())
    r = data.draw(st.integers(0, 2 * n - 1) | st.sampled_from([0, 1, n - 1, n, n + 1, 2 * n - 1]))
    rotated = [x[(i - r) % n] * (1 if (i - r) % (2 * n) < n else -1) % q for i in range(n)]
    everywhere("small_rotate", rotated, oracle.words(x), r, q, word)
    everywhere("small_rotate_sub", [(i - j) % q for i, j in zip(rotated, x, strict=True)], oracle.words(x), r, q, word)
    g = r | 1
    everywhere("small_automorphism", oracle.automorphism(x, g, q), oracle.words(x), g, q, word)


@settings(max_examples=40)
@given(cases(), st.data())
def test_cut(case: Case, data: st.DataObject) -> None:
    q, n, word = case
    x = data.draw(st.composite(lambda draw: residues(draw, n, q))())
    cut = data.draw(cuts(q))
    expected = digits(x, cut, q)
    everywhere("small_cut", flat(expected), oracle.words(x), *cut, q, word)
    log_base, _, drop, _ = cut
    for i, c in enumerate(x):
        rest = oracle.centred((sum(d[i] << log_base * j + drop for j, d in enumerate(expected)) - c) % q, q)
        assert abs(rest) <= 1 << drop >> 1


@FEW
@given(cases(), st.integers(0, 70), st.booleans(), st.data())
def test_dot(case: Case, count: int, accumulate: bool, data: st.DataObject) -> None:
    q, n, word = case
    draw = st.composite(lambda draw: residues(draw, n, q))()
    x0, y0, a, b = (data.draw(draw) for _ in range(4))
    # Rows are rotations of the drawn ones: many rows, little to draw.
    x = [x0[k:] + x0[:k] for k in range(count)]
    y = [y0[k:] + y0[:k] for k in range(2 * count)]
    start_a, start_b = (a, b) if accumulate else ([0] * n, [0] * n)
    expected_a = [(s + sum(x[r][i] * y[2 * r][i] for r in range(count))) % q for i, s in enumerate(start_a)]
    expected_b = [(s + sum(x[r][i] * y[2 * r + 1][i] for r in range(count))) % q for i, s in enumerate(start_b)]
    arrays = oracle.words(flat(x)), oracle.words(flat(y))
    for name in SETS:
        got = kernels.small_dot(name, *arrays, oracle.words(a), oracle.words(b), accumulate, q, word)
        assert (oracle.ints(got[0]), oracle.ints(got[1])) == (expected_a, expected_b), name


@FEW
@given(cases((256,)), st.integers(1, 2), st.data())
def test_gadget_product(case: Case, count: int, data: st.DataObject) -> None:
    q, n, word = case
    draw = st.composite(lambda draw: residues(draw, n, q))()
    polys = [data.draw(draw) for _ in range(count)]
    cut = data.draw(cuts(q).filter(lambda c: c[1] * count <= 8))
    psi = oracle.smallest_root(q, 2 * n)
    rows = [oracle.ntt(d, q, psi) for p in polys for d in digits(p, cut, q)]
    key0 = data.draw(draw)
    key = [key0[k:] + key0[:k] for k in range(2 * len(rows))]
    expected_a = [sum(r[i] * key[2 * k][i] for k, r in enumerate(rows)) % q for i in range(n)]
    expected_b = [sum(r[i] * key[2 * k + 1][i] for k, r in enumerate(rows)) % q for i in range(n)]
    array = oracle.words(flat(key))
    for name in SETS:
        got = kernels.small_gadget_product(name, [oracle.words(p) for p in polys], array, *cut, q, word)
        assert (oracle.ints(got[0]), oracle.ints(got[1])) == (expected_a, expected_b), name
