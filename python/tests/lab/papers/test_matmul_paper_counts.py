# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Diagonals and rotations: the maps themselves, the equations, the benchmarks' counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringforge.errors import ParameterError, ShapeError
from ringforge.lab.papers.matmul import (
    BENCHMARKS,
    Shape,
    benchmark,
    equation_counts,
    equation_degree,
    least_degree,
    product_counts,
    table_i,
    transforms,
)
from ringforge.matmul.methods import maps

shapes = st.builds(Shape, st.integers(1, 12), st.integers(1, 12), st.integers(1, 12))


@given(shapes, st.integers(0, 9))
def test_counts_are_those_of_the_maps(shape: Shape, log_spare: int) -> None:
    """Diagonals taken from the maps' entries one by one; powers of two and other numbers of slots."""
    m, l, n = shape.m, shape.l, shape.n  # noqa: E741
    slots = shape.largest + (1 << log_spare) - 1
    every = [maps.sigma(m, l), maps.tau(l, n)]
    every += [x for k in range(l) for x in (maps.epsilon(m, l, n, k), maps.omega(m, l, n, k))]
    diagonals = [{int(s) - t for t, s in enumerate(source)} for source in every]
    steps = [{d % slots for d in found} for found in diagonals]
    x = product_counts(shape, slots)
    assert x.diagonals == sum(map(len, diagonals))
    assert x.masks == sum(map(len, steps))
    assert x.rotations == sum(len(s - {0}) for s in steps)
    assert x.keys == len(set().union(*steps) - {0})
    assert (x.step1_masks, x.step1_rotations) == (sum(map(len, steps[:2])), sum(len(s - {0}) for s in steps[:2]))


@given(shapes)
def test_equations_12_and_13_are_exact_and_15_is_a_bound(shape: Shape) -> None:
    e = equation_counts(shape)
    x = product_counts(shape, shape.largest)
    assert (e.sigma, e.tau) == tuple(map(len, x.step1))
    for k, (epsilon, omega) in enumerate(x.step2):
        assert len(epsilon) == (k + shape.n - 1) // shape.l + 1
        assert len(omega) <= e.omega


def test_equation_14_is_no_bound() -> None:
    assert equation_counts(Shape(64, 64, 16)).epsilon == 1
    assert [len(product_counts(Shape(64, 64, 16), 4096).step2[k][0]) for k in (48, 49)] == [1, 2]
    assert equation_counts(Shape(4, 3, 5)).epsilon == 2
    assert [len(e) for e, _ in product_counts(Shape(4, 3, 5), 32).step2] == [2, 2, 3]


@pytest.mark.parametrize(
    ("name", "phi", "zeta", "total", "exact", "cyclic", "keys"),
    [
        ("I-A", 158, 192, 350, 364, 282, 189),
        ("I-B", 286, 384, 670, 684, 538, 381),
        ("I-C", 350, 480, 830, 844, 840, 636),
        ("II-A", 62, 6_224, 6_286, 3_244, 3_225, 3_117),
        ("II-B", 62, 20_624, 20_686, 14_572, 14_553, 14_381),
        ("II-C", 62, 30_896, 30_958, 23_308, 23_304, 23_100),
        ("III-A", 158, 8_320, 8_478, 5_341, 5_337, 3_210),
        ("III-B", 286, 33_024, 33_310, 18_845, 18_841, 14_598),
        ("III-C", 350, 51_520, 51_870, 28_669, 28_665, 23_364),
        ("IV-A", 254, 256, 510, 508, 378, 189),
        ("IV-B", 510, 512, 1_022, 1_020, 762, 381),
        ("IV-C", 638, 640, 1_278, 1_276, 1_272, 636),
    ],
)
def test_rotations_of_the_benchmarks(
    name: str, phi: int, zeta: int, total: int, exact: int, cyclic: int, keys: int
) -> None:
    entry = benchmark(name)
    e = equation_counts(entry.shape)
    assert (e.phi, e.zeta, e.total) == (phi, zeta, total)
    x = product_counts(entry.shape, entry.parameters.slots)
    assert (x.diagonals, x.rotations, x.keys) == (exact, cyclic, keys)
    assert x.rotations == x.step1_rotations + x.step2_rotations
    # In this table 0 occurs once in each of sigma, tau, epsilon^0, omega^0; other transforms are all rotations.
    assert x.masks - x.rotations == 4


def test_benchmarks_of_a_type_have_its_shape() -> None:
    assert len(BENCHMARKS) == 12
    least = {"I": "n", "II": "l", "III": "m"}
    for entry in BENCHMARKS:
        s = entry.shape
        assert s.largest <= entry.parameters.slots
        if entry.kind == "IV":
            assert s.m == s.l == s.n
        else:
            assert getattr(s, least[entry.kind]) == min(s.m, s.l, s.n) == 16


def test_table_i() -> None:
    first, second, both = table_i(Shape(64, 64, 64))
    assert (first.add, first.mult, first.cmult, first.rot, first.depth) == (254, 0, 254, 254, 1)
    assert (second.add, second.mult, second.cmult, second.rot, second.depth) == (320, 64, 256, 256, 2)
    assert (both.add, both.mult, both.cmult, both.rot, both.depth) == (574, 64, 510, 510, 3)
    assert transforms(Shape(64, 64, 64)) == 130


def test_equation_16_forgets_the_product() -> None:
    assert equation_degree(Shape(160, 16, 160)) == 1 << 13
    assert least_degree(Shape(160, 16, 160)) == 1 << 16
    assert all(least_degree(b.shape) == b.parameters.degree for b in BENCHMARKS)
    assert {b.kind for b in BENCHMARKS if equation_degree(b.shape) != b.parameters.degree} == {"II"}


def test_refusals() -> None:
    with pytest.raises(ShapeError, match="at least 1"):
        Shape(4, 0, 4)
    with pytest.raises(ShapeError, match=r"needs 25600 slots, there are 4096: take N = 65536"):
        product_counts(Shape(160, 160, 160), 4096)
    with pytest.raises(ParameterError, match="known: I-A, I-B"):
        benchmark("V-A")
