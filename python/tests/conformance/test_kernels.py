# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The conformance suite: every kernel set against exact integers and, bit for bit, against `ref`.

A kernel set or device that disagrees in one bit is broken. On a CPU with AVX-512 IFMA all three sets must run.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringforge._native import kernels

from . import oracle

SETS = kernels.available()
SIZES = [16, 32, 64, 128]
BITS = [18, 27, 31, 40, 49, 50, 51, 54, 58, 60, 61]


def cpu_flags() -> set[str]:
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    line = next((x for x in text.splitlines() if x.startswith("flags")), "")
    return set(line.split())


def test_all_sets_of_this_cpu_run(capsys: pytest.CaptureFixture[str]) -> None:
    flags = cpu_flags()
    with capsys.disabled():
        print(f"\nkernel sets under test: {', '.join(SETS)} (active: {kernels.active()})")
    assert SETS[0] == "ref"
    if "avx2" in flags:
        assert "avx2" in SETS
    if {"avx512f", "avx512dq", "avx512vl", "avx512bw", "avx512ifma"} <= flags:
        assert "avx512" in SETS


@st.composite
def prime_and_size(draw: st.DrawFn) -> tuple[int, int]:
    n = draw(st.sampled_from(SIZES))
    bits = draw(st.sampled_from(BITS))
    return draw(st.sampled_from(kernels.primes_below(bits, 3, 2 * n))), n


def residues(draw: st.DrawFn, n: int, limit: int) -> list[int]:
    """n numbers in [0, limit), edges favoured; long arrays come from a seed."""
    edge = draw(
        st.lists(st.integers(0, limit - 1) | st.sampled_from([0, limit - 1, limit // 2]), min_size=4, max_size=4)
    )
    seed = draw(st.integers(0, 2**32))
    rng = np.random.default_rng(seed)
    rest = [int(x) % limit for x in rng.integers(0, 2**63, n - 4, dtype=np.int64)]
    if draw(st.booleans()):
        rest = [limit - 1] * (n - 4)
    return edge + rest


def everywhere(op: str, expected: list[int], *args: object) -> None:
    for name in SETS:
        got = oracle.ints(getattr(kernels, op)(name, *args))
        assert got == expected, f"{op} of {name} differs from exact arithmetic"


@given(prime_and_size(), st.data())
def test_transforms(pn: tuple[int, int], data: st.DataObject) -> None:
    q, n = pn
    psi = oracle.smallest_root(q, 2 * n)
    assert kernels.psi(q, n.bit_length() - 1) == psi
    lazy = data.draw(st.composite(lambda draw: residues(draw, n, 4 * q))())
    expected = oracle.ntt([x % q for x in lazy], q, psi)
    everywhere("ntt", expected, oracle.words(lazy), q)
    everywhere("intt", [x % q for x in lazy], oracle.words(expected), q)
    p = data.draw(st.sampled_from([q - 2, q // 2 + 1, min(2 * q + 3, 2**61 - 1), 2**17 - 1, min(5 * q, 2**61 - 1)]))
    other = data.draw(st.composite(lambda draw: residues(draw, n, p))())
    lifted = oracle.ntt([oracle.centred(x, p) % q for x in other], q, psi)
    everywhere("ntt_lift", lifted, oracle.words(other), p, q)
    bits = data.draw(st.sampled_from([17, 20, 32]))
    small = [x % (2**17 - 1) for x in other]
    packed = sum(x << bits * i for i, x in enumerate(small)).to_bytes((n * bits + 7) // 8, "little")
    lifted = oracle.ntt([oracle.centred(x, 2**17 - 1) % q for x in small], q, psi)
    everywhere("ntt_packed", lifted, packed, bits, 2**17 - 1, n, q)
    shifted = [x + q if i % 3 == 0 else x for i, x in enumerate(expected)]
    everywhere("intt", [x % q for x in lazy], oracle.words(shifted), q)


@given(prime_and_size(), st.data())
def test_pointwise(pn: tuple[int, int], data: st.DataObject) -> None:
    q, n = pn
    draw = st.composite(lambda draw: residues(draw, n, q))()
    a, b, c = data.draw(draw), data.draw(draw), data.draw(draw)
    w = data.draw(st.integers(0, q - 1))
    x, y, z = oracle.words(a), oracle.words(b), oracle.words(c)
    everywhere("add", [(i + j) % q for i, j in zip(a, b, strict=True)], x, y, q)
    everywhere("sub", [(i - j) % q for i, j in zip(a, b, strict=True)], x, y, q)
    everywhere("neg", [-i % q for i in a], x, q)
    everywhere("mul", [i * j % q for i, j in zip(a, b, strict=True)], x, y, q)
    everywhere("mul_add", [(k + i * j) % q for i, j, k in zip(a, b, c, strict=True)], z, x, y, q)
    everywhere("add_scalar", [(i + w) % q for i in a], x, w, q)
    everywhere("mul_scalar", [i * w % q for i in a], x, w, q)
    lazy = data.draw(st.composite(lambda draw: residues(draw, n, 4 * q))())
    everywhere("sub_mul_scalar", [(i - j) * w % q for i, j in zip(a, lazy, strict=True)], x, oracle.words(lazy), w, q)
    wide = data.draw(st.composite(lambda draw: residues(draw, n, 2**52 if q < 2**50 else 2**64))())
    everywhere("mul_scalar", [i * w % q for i in wide], oracle.words(wide), w, q)
    words64 = data.draw(st.composite(lambda draw: residues(draw, n, 2**64))())
    everywhere("reduce", [i % q for i in words64], oracle.words(words64), q)
    signed = [i - 2**62 + 1 for i in data.draw(st.composite(lambda draw: residues(draw, n, 2**63 - 1))())]
    everywhere("reduce_signed", [i % q for i in signed], np.array(signed, dtype=np.int64), q)


@given(prime_and_size(), st.integers(0, 70), st.booleans(), st.data())
def test_fused_inner_product(pn: tuple[int, int], count: int, accumulate: bool, data: st.DataObject) -> None:
    q, n = pn
    draw = st.composite(lambda draw: residues(draw, n, q))()
    base = [data.draw(draw) for _ in range(3)]
    # Rows are rotations of three drawn ones: many rows, little to draw.
    rows = [[base[i % 3][(k + 7 * i) % n] for k in range(n)] for i in range(3 * count)]
    x, y0, y1 = rows[:count], rows[count : 2 * count], rows[2 * count :]
    acc = data.draw(draw), data.draw(draw)
    expected = [
        [((a[k] if accumulate else 0) + sum(x[d][k] * y[d][k] for d in range(count))) % q for k in range(n)]
        for a, y in zip(acc, (y0, y1), strict=True)
    ]
    arrays = [[oracle.words(r) for r in group] for group in (x, y0, y1)]
    for name in SETS:
        got = kernels.dot2(name, *arrays, oracle.words(acc[0]), oracle.words(acc[1]), accumulate, q)
        assert [oracle.ints(g) for g in got] == expected, name


@given(st.sampled_from(BITS), st.sampled_from([16, 32, 48]), st.sampled_from([16, 32]), st.integers(0, 20), st.data())
def test_matrix_product(bits: int, rows: int, cols: int, count: int, data: st.DataObject) -> None:
    q = data.draw(st.sampled_from(kernels.primes_below(bits, 3, 32)))
    a = data.draw(st.composite(lambda draw: residues(draw, count * rows, q))()) if count else []
    b = data.draw(st.composite(lambda draw: residues(draw, count * cols, q))()) if count else []
    expected = [
        sum(a[t * rows + r] * b[t * cols + c] for t in range(count)) % q for r in range(rows) for c in range(cols)
    ]
    everywhere("matmul", expected, oracle.words(a), oracle.words(b), rows, cols, q)


@pytest.mark.parametrize("bits", [49, 50, 51, 61])
def test_matrix_products_with_many_terms(bits: int) -> None:
    """More terms than unreduced sums hold, all at the end of their range."""
    q = kernels.primes_below(bits, 1, 32)[0]
    for count in (1024, 1025, 2048, 2049, 4097):
        full = np.full(count * 16, q - 1, dtype=np.uint64)
        everywhere("matmul", [count * (q - 1) ** 2 % q] * 256, full, full, 16, 16, q)


@given(prime_and_size(), st.data())
def test_automorphisms(pn: tuple[int, int], data: st.DataObject) -> None:
    q, n = pn
    psi = oracle.smallest_root(q, 2 * n)
    a = data.draw(st.composite(lambda draw: residues(draw, n, q))())
    acc = data.draw(st.composite(lambda draw: residues(draw, n, q))())
    g = 2 * data.draw(st.integers(0, n - 1)) + 1
    image = oracle.automorphism(a, g, q)
    everywhere("automorphism_coeff", image, oracle.words(a), g, q)
    before, after = oracle.words(oracle.ntt(a, q, psi)), oracle.ntt(image, q, psi)
    everywhere("automorphism_eval", after, before, g)
    everywhere(
        "automorphism_eval_add",
        [(i + j) % q for i, j in zip(acc, after, strict=True)],
        oracle.words(acc),
        before,
        g,
        q,
    )


@given(st.sampled_from(SIZES), st.sampled_from(BITS), st.sampled_from(BITS), st.integers(1, 6), st.data())
def test_base_conversion(n: int, bits: int, target_bits: int, k: int, data: st.DataObject) -> None:
    *sources, _ = kernels.primes_below(bits, k + 1, 2)
    q = next(p for p in kernels.primes_below(target_bits, k + 1, 2) if p not in sources)
    product = math.prod(sources)
    limbs = [data.draw(st.composite(lambda draw, p=p: residues(draw, n, p))()) for p in sources]
    hats = [product // p for p in sources]
    y = [[x * pow(h, -1, p) % p for x in limb] for limb, h, p in zip(limbs, hats, sources, strict=True)]
    values = [sum(h * y[i][j] for i, h in enumerate(hats)) % product for j in range(n)]
    rows = [oracle.words(r) for r in y]
    inverse = [1.0 / p for p in sources]
    quotients = [oracle.ints(kernels.convert_quotient(name, rows, inverse)) for name in SETS]
    assert all(v == quotients[0] for v in quotients)
    # round(sum y_i/p_i) exactly, except within the stated distance of a tie.
    for j in range(n):
        exact = (2 * sum(h * y[i][j] for i, h in enumerate(hats)) + product) // (2 * product)
        near_tie = abs((values[j] * 2**20 // product) - 2**19) <= 1
        assert quotients[0][j] == exact or near_tie
    v = oracle.words(quotients[0])
    expected = [(sum(h * y[i][j] for i, h in enumerate(hats)) - quotients[0][j] * product) % q for j in range(n)]
    args = (rows, [h % q for h in hats], bits)
    everywhere("base_convert", expected, *args, v, product % q, q)
    everywhere(
        "base_convert",
        [sum(h * y[i][j] for i, h in enumerate(hats)) % q for j in range(n)],
        *args,
        None,
        0,
        q,
    )
    everywhere(
        "lift_centered",
        [oracle.centred(x, sources[0]) % q for x in limbs[0]],
        oracle.words(limbs[0]),
        sources[0],
        q,
    )


@given(st.sampled_from(SIZES), st.integers(0, 2**32), st.booleans())
def test_encoder_transform(n: int, seed: int, forward: bool) -> None:
    rng = np.random.default_rng(seed)
    re, im, wr, wi = (rng.normal(size=n) * 2.0 ** rng.integers(-40, 40) for _ in range(4))
    results = [kernels.fft(name, re, im, wr, wi, forward) for name in SETS]
    for name, (a, b) in zip(SETS, results, strict=True):
        assert np.array_equal(a, results[0][0]), name
        assert np.array_equal(b, results[0][1]), name


def test_encoder_transform_is_the_fourier_sum() -> None:
    """With true roots the forward transform evaluates the polynomial at zeta^(4*brv(i)+1)."""
    n = 64
    bits = n.bit_length() - 1
    exponent = [oracle.reverse(i + (1 << (i.bit_length() - 1)), bits + 1) if i else 0 for i in range(n)]
    w = np.exp(1j * np.pi * np.array(exponent) / (2 * n))
    rng = np.random.default_rng(1)
    u = rng.normal(size=n) + 1j * rng.normal(size=n)
    roots = np.exp(1j * np.pi * np.array([4 * oracle.reverse(i, bits) + 1 for i in range(n)]) / (2 * n))
    exact = np.array([np.polyval(u[::-1], r) for r in roots])
    for name in SETS:
        args = (np.ascontiguousarray(w.real), np.ascontiguousarray(w.imag))
        re, im = kernels.fft(name, u.real.copy(), u.imag.copy(), *args, True)
        assert np.abs(re + 1j * im - exact).max() < 1e-12
        back = kernels.fft(name, re, im, *args, False)
        assert np.abs(back[0] + 1j * back[1] - u).max() < 1e-13


@given(st.lists(st.floats(-(2.0**61), 2.0**61) | st.sampled_from([0.5, -0.5, 1.5, 2.5]), min_size=16, max_size=16))
def test_rounding(values: list[float]) -> None:
    x = np.array(values)
    expected = [int(v) for v in np.rint(x)]
    everywhere("scale_round", expected, x, 1.0)
    for bad in (2.0**62, -(2.0**62), math.inf, math.nan):
        y = x.copy()
        y[7] = bad
        assert all(kernels.scale_round(name, y, 1.0) is None for name in SETS)


@pytest.mark.parametrize("log_n", range(10, 18))
@pytest.mark.parametrize("bits", [30, 50, 54, 61])
def test_large_transforms_agree_with_ref(log_n: int, bits: int) -> None:
    q = kernels.primes_below(bits, 1, 2 << log_n)[0]
    rng = np.random.default_rng(log_n)
    x = rng.integers(0, q, 1 << log_n, dtype=np.uint64)
    forward = kernels.ntt("ref", x, q)
    assert np.array_equal(kernels.intt("ref", forward, q), x)
    for name in SETS[1:]:
        assert np.array_equal(kernels.ntt(name, x, q), forward)
        assert np.array_equal(kernels.intt(name, forward, q), x)
