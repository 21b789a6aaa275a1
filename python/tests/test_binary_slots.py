# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Slots modulo 2 against FLINT: its finite fields, its polynomials over GF(2), its cyclotomic polynomials."""

from __future__ import annotations

import math
import threading
from typing import Any

import flint
import numpy as np
import pytest

from ringforge.binary_slots import BinarySlots
from ringforge.errors import ParameterError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError

SMALL = (3, 7, 9, 15, 17, 31, 51, 63, 85, 255, 257, 1285, 2047, 13107)


def phi(m: int) -> Any:
    """Phi_m modulo 2."""
    return flint.nmod_poly([int(c) % 2 for c in flint.fmpz_poly.cyclotomic(m).coeffs()], 2)


def reduced(polynomial: Any, modulus: Any, degree: int) -> np.ndarray:
    coefficients = [int(c) for c in (polynomial % modulus).coeffs()]
    return np.array(coefficients + [0] * (degree - len(coefficients)), np.uint8)


def image(coefficients: np.ndarray, g: int, m: int, modulus: Any) -> np.ndarray:
    """a(X^g) modulo Phi_m."""
    moved = np.zeros(m, int)
    np.add.at(moved, np.arange(len(coefficients)) * g % m, coefficients)
    return reduced(flint.nmod_poly(moved.tolist(), 2), modulus, len(coefficients))


def field_of(bits: list[int]) -> Any:
    """FLINT's GF(2)[Y]/P."""
    ring = flint.fmpz_mod_poly_ctx(flint.fmpz_mod_ctx(2))
    return flint.fq_default_ctx(2, len(bits) - 1, modulus=ring(bits))


class Field:
    """FLINT's GF(2^d) with our polynomial, on words."""

    def __init__(self, s: BinarySlots) -> None:
        self.degree = s.field_degree
        bits = [s.field_polynomial >> i & 1 for i in range(self.degree + 1)]
        self.context = field_of(bits)
        self.y = self.context([0, 1])

    def element(self, word: int) -> Any:
        return self.context([int(word) >> i & 1 for i in range(self.degree)])

    def word(self, element: Any) -> int:
        return sum(int(c) << i for i, c in enumerate(element.to_list()))


def random_slots(s: BinarySlots, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 1 << s.field_degree, s.size, dtype=np.uint64)


@pytest.fixture(scope="module")
def paper() -> BinarySlots:
    return BinarySlots()


def test_paper_index(paper: BinarySlots) -> None:
    assert (paper.degree, paper.size, paper.field_degree) == (32_768, 2_048, 16)
    assert paper.field_polynomial == (1 << 16) + (1 << 5) + (1 << 3) + (1 << 2) + 1
    assert paper.byte_root == 0x188
    assert [d.size for d in paper.dimensions] == [2, 4, 16, 16]


@pytest.mark.parametrize("m", [*SMALL, 65_535])
def test_field_is_primitive_and_least(m: int) -> None:
    s = BinarySlots(m)
    order = (1 << s.field_degree) - 1
    for p in range(1 << s.field_degree, s.field_polynomial + 1):
        bits = flint.nmod_poly([p >> i & 1 for i in range(s.field_degree + 1)], 2)
        primitive = bits.factor()[1] == [(bits, 1)] and p & 1 == 1
        if primitive:
            y = field_of([p >> i & 1 for i in range(s.field_degree + 1)])([0, 1])
            primitive = all(y ** (order // int(q)) != 1 for q, _ in flint.fmpz(order).factor()) or order == 1
        assert primitive == (p == s.field_polynomial)


@pytest.mark.parametrize("m", SMALL)
def test_slots_are_values_at_roots(m: int) -> None:
    s, field = BinarySlots(m), Field(BinarySlots(m))
    order = (1 << s.field_degree) - 1
    zeta = field.y ** (order // m)
    cosets = {r * pow(2, k, m) % m for r in s.representatives for k in range(s.field_degree)}
    assert cosets == {x for x in range(m) if math.gcd(x, m) == 1}
    assert len(s.representatives) * s.field_degree == len(cosets) == s.degree
    a = np.random.default_rng(m).integers(0, 2, s.degree)
    got = s.decode(a)
    for i in range(min(s.size, 24)):
        at = (i * 37) % s.size
        x, value = zeta ** int(s.representatives[at]), field.context(0)
        for c in reversed(a):
            value = value * x + int(c)
        assert int(got[at]) == field.word(value)
    values = random_slots(s, m)
    assert np.array_equal(s.decode(s.encode(values)), values)
    assert np.array_equal(s.encode(got), a)


def test_paper_slots_are_values_at_roots(paper: BinarySlots) -> None:
    field = Field(paper)
    values = random_slots(paper, 1)
    a = paper.encode(values)
    assert np.array_equal(paper.decode(a), values)
    for i in (0, 1, 15, 16, 777, 2_047):
        x, value = field.y ** int(paper.representatives[i]), field.context(0)
        for c in a[::-1].tolist():
            value = value * x + c
        assert int(values[i]) == field.word(value)


@pytest.mark.parametrize("m", [*SMALL, 65_535])
def test_products_and_sums_are_those_of_slots(m: int) -> None:
    s, modulus = BinarySlots(m), phi(m)
    u, v = random_slots(s, 2), random_slots(s, 3)
    a, b = s.encode(u), s.encode(v)
    product = flint.nmod_poly(a.tolist(), 2) * flint.nmod_poly(b.tolist(), 2)
    assert np.array_equal(s.decode(reduced(product, modulus, s.degree)), s.products(u, v))
    assert np.array_equal(s.decode(a ^ b), (u ^ v).astype(np.uint32))
    field = Field(s)
    for x, y, z in zip(u[:40], v[:40], s.products(u, v), strict=False):
        assert field.word(field.element(x) * field.element(y)) == int(z)
    for k in (1, s.field_degree - 1, s.field_degree):
        for x, z in zip(u[:20], s.frobenius(u, k), strict=False):
            assert field.word(field.element(x) ** (1 << k)) == int(z)


@pytest.mark.parametrize("m", [15, 31, 51, 63, 85, 255, 13_107, 65_535])
def test_automorphisms_permute_slots(m: int) -> None:
    s, modulus = BinarySlots(m), phi(m)
    values = random_slots(s, 4)
    a = s.encode(values)
    units = [g for g in range(m) if math.gcd(g, m) == 1]
    for g in {2, m - 1, units[len(units) // 3], units[-2], *(d.element for d in s.dimensions)}:
        p = s.permutation(g)
        assert sorted(p.source) == list(range(s.size))
        assert np.array_equal(s.decode(image(a, g, m, modulus)), s.moved(values, g))
    squared = s.permutation(2)
    assert np.array_equal(squared.source, np.arange(s.size))
    assert set(squared.frobenius) == {1}
    for g in units[:: max(1, len(units) // 50)]:
        p = s.permutation(g)
        powers = np.array([pow(2, int(k), m) for k in p.frobenius])
        assert np.array_equal(s.representatives * g % m, s.representatives[p.source] * powers % m)


@pytest.mark.parametrize("m", [15, 31, 51, 63, 85, 255, 13_107, 65_535])
def test_dimensions_are_moved_along(m: int) -> None:
    """By one place; what wraps around stays a value where `wrap` is 0, and is raised to 2^wrap elsewhere."""
    s = BinarySlots(m)
    shape = [d.size for d in s.dimensions]
    assert math.prod(shape) == s.size
    numbers = np.arange(s.size).reshape(shape)
    for axis, d in enumerate(s.dimensions):
        p = s.permutation(d.element)
        rolled, last = np.roll(numbers, -1, axis), np.zeros(shape, bool)
        np.moveaxis(last, axis, 0)[-1] = True
        wrapped = last.reshape(-1) & (d.wrap > 0)
        assert np.array_equal(p.source[~wrapped], rolled.reshape(-1)[~wrapped])
        assert np.array_equal(p.frobenius, np.where(wrapped, d.wrap, 0))
        assert set(p.source[wrapped]) == set(rolled.reshape(-1)[wrapped])
    assert [d.wrap for d in s.dimensions[:-1]] == [0] * (len(shape) - 1)


def gf256(a: int, b: int) -> int:
    """The product of FIPS 197, section 4.2."""
    out = 0
    while b:
        out ^= a if b & 1 else 0
        a = (a << 1) ^ (0x11B if a & 0x80 else 0)
        b >>= 1
    return out


@pytest.mark.parametrize("m", [17, 255, 13_107, 65_535])
def test_bytes_are_those_of_aes(m: int) -> None:
    s = BinarySlots(m)
    every = np.arange(256)
    embedded = s.embed(every)
    assert np.array_equal(s.extract(embedded), every)
    assert len(set(embedded.tolist())) == 256
    field = Field(s)
    roots = [x for x in embedded.tolist() if _aes(field, x) == 0]
    assert len(roots) == 8
    assert min(roots) == s.byte_root == embedded[2]
    a, b = np.random.default_rng(5).integers(0, 256, (2, 512))
    want = [gf256(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    assert s.extract(s.products(s.embed(a), s.embed(b))).tolist() == want
    u, v = np.random.default_rng(6).integers(0, 256, (2, s.size))
    product = flint.nmod_poly(s.encode_bytes(u).tolist(), 2) * flint.nmod_poly(s.encode_bytes(v).tolist(), 2)
    want = [gf256(int(x), int(y)) for x, y in zip(u, v, strict=True)]
    assert s.decode_bytes(reduced(product, phi(m), s.degree)).tolist() == want


def _aes(field: Field, word: int) -> int:
    x = field.element(word)
    return field.word(x**8 + x**4 + x**3 + x + 1)


def test_bits_are_xor_and_and(paper: BinarySlots) -> None:
    u, v = np.random.default_rng(7).integers(0, 2, (2, paper.size))
    a, b = paper.encode_bits(u), paper.encode_bits(v)
    assert np.array_equal(paper.decode_bits(a ^ b), u ^ v)
    product = flint.nmod_poly(a.tolist(), 2) * flint.nmod_poly(b.tolist(), 2)
    assert np.array_equal(paper.decode_bits(reduced(product, phi(65_535), paper.degree)), u & v)


def test_prime_index() -> None:
    s = BinarySlots(65_537)
    assert (s.degree, s.size, s.field_degree) == (65_536, 2_048, 32)
    assert len(s.dimensions) == 1
    assert s.dimensions[0].element == 3
    rng = np.random.default_rng(5)
    u, v = rng.integers(0, 256, (2, s.size)).astype(np.uint8)
    a, b = s.encode_bytes(u), s.encode_bytes(v)
    assert np.array_equal(s.decode_bytes(a), u)
    modulus = flint.nmod_poly([1] * 65_537, 2)
    product = reduced(flint.nmod_poly(a.tolist(), 2) * flint.nmod_poly(b.tolist(), 2), modulus, s.degree)
    assert np.array_equal(s.decode(product), s.products(s.embed(u), s.embed(v)))
    # X -> X^2 squares, X -> X^3 moves.
    values = random_slots(s, 6)
    c = s.encode(values)
    assert np.array_equal(s.decode(image(c, 2, s.index, modulus)), s.frobenius(values, 1))
    assert np.array_equal(s.permutation(2).source, np.arange(s.size))
    moved = s.decode(image(c, 3, s.index, modulus))
    assert np.array_equal(moved[:-1], values[1:])
    assert np.array_equal(moved, s.moved(values, 3))


def test_refusals(paper: BinarySlots) -> None:
    for m in (-1, 0, 1, 2, 4, 21, 131_073, 1 << 64):
        with pytest.raises(ParameterError, match="65535"):
            BinarySlots(m)
    with pytest.raises(ParameterError, match="8 divides"):
        BinarySlots(7).encode_bytes([1, 2])
    with pytest.raises(ParameterError, match="8 divides"):
        _ = BinarySlots(7).byte_root
    with pytest.raises(ParameterError, match="common factor"):
        paper.permutation(3)
    with pytest.raises(ParameterError, match="take 15"):
        paper.frobenius([1], -1)
    zeros = np.zeros(paper.size, int)
    for bad in ([65_536], [-1], [1.5], ["a"], [1 + 1j]):
        with pytest.raises(RingforgeValueError):
            paper.embed(bad)
        with pytest.raises(RingforgeValueError):
            paper.encode(np.concatenate([zeros[1:], np.array(bad)]))
    for size in (0, 2_047, 2_049):
        with pytest.raises(ShapeError):
            paper.encode(np.zeros(size, int))
    for shape in ((0,), (32_767,), (32_769,), (2, 16_384)):
        with pytest.raises(ShapeError):
            paper.decode(np.zeros(shape, int))
    with pytest.raises(ShapeError):
        paper.products([1], [1, 2])
    with pytest.raises(RingforgeValueError, match="0 to 1"):
        paper.decode(np.full(paper.degree, 2))
    other = zeros.copy()
    other[5] = 3
    with pytest.raises(RingforgeValueError, match="no bit"):
        paper.decode_bits(paper.encode(other))
    with pytest.raises(RingforgeValueError, match="outside of GF"):
        paper.decode_bytes(paper.encode(other))


def test_threads_share_one(paper: BinarySlots) -> None:
    inputs = [random_slots(paper, 10 + i) for i in range(4)]
    wanted = [paper.encode(v) for v in inputs]
    wrong: list[int] = []

    def work(i: int) -> None:
        for _ in range(10):
            if not np.array_equal(paper.encode(inputs[i]), wanted[i]):
                wrong.append(i)
            if not np.array_equal(paper.decode(wanted[i]), inputs[i]):
                wrong.append(i)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not wrong
