# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The search of rings and primes against brute force, the guideline's table and the scheme's own rules of noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ringforge import bgv
from ringforge.aes import search
from ringforge.aes.byte_plan import Sizes
from ringforge.errors import ParameterError


def _factors(m: int) -> dict[int, int]:
    found: dict[int, int] = {}
    p = 3
    while m > 1:
        while m % p == 0:
            found[p] = found.get(p, 0) + 1
            m //= p
        p += 2
    return found


def _index(m: int) -> search.Index:
    """By definition: units and the order of 2 are counted."""
    degree = sum(math.gcd(a, m) == 1 for a in range(1, m))
    order, x = 1, 2 % m
    while x != 1:
        order, x = order + 1, 2 * x % m
    return search.Index(m, degree, order, tuple(sorted(_factors(m).items())))


def test_indices_are_all_of_them() -> None:
    found = search.indices(600, 8)
    expected = [
        i for i in map(_index, range(3, 2401, 2)) if i.degree <= 600 and i.field_degree % 8 == 0 and i.slots >= 8
    ]
    assert {i.m: i for i in found} == {i.m: i for i in expected}
    assert len(expected) > 10
    assert [i.slots for i in found] == sorted((i.slots for i in found), reverse=True)


def test_what_is_known_of_the_large_ones() -> None:
    rings = {i.m: i for i in search.indices()}
    assert {m: (rings[m].degree, rings[m].slots, rings[m].field_degree) for m in (65535, 65537, 53261, 86037)} == {
        65535: (32_768, 2_048, 16),
        65537: (65_536, 2_048, 32),
        53261: (46_080, 1_920, 24),
        86037: (46_080, 1_920, 24),
    }
    assert max(i.slots for i in rings.values()) == 2_048
    assert min(i.field_degree for i in rings.values() if 65_535 % i.m) == 24
    assert rings[65537].lengths == (65_536,)
    assert rings[65535].lengths == (2, 4, 16, 256)
    assert rings[53261].lengths == (32, 16, 512)
    assert rings[65535].butterflies == 15
    assert not rings[75915].has_tensor_basis


def test_security_between_powers_of_two() -> None:
    assert [search.max_log_qp(1 << k) for k in (10, 15, 16, 17)] == [26, 868, 1747, 3523]
    assert search.max_log_qp(46_080) == 868 + 879 * (46_080 - 32_768) / 32_768
    for degree in (1_023, 131_073):
        with pytest.raises(ParameterError, match="1,024 to 131,072"):
            search.max_log_qp(degree)


@pytest.mark.parametrize("name", ["bgv-65535", "bgv-test"])
def test_the_model_of_noise_is_the_rules(name: str) -> None:
    parameters = bgv.Parameters.named(name, "tests")
    rules = bgv.NoiseRules(parameters)
    index = _index(parameters.m)
    q, p = ([math.log2(x) for x in primes] for primes in (parameters.q, parameters.p))
    model = search.NoiseModel(index.degree, search.coefficient_factor(index), q, p, parameters.limbs_per_digit)
    top = len(q)
    rng = np.random.default_rng(1)
    assert model.rounding == pytest.approx(rules.rounding(), abs=1e-9)
    for public_key in (False, True):
        assert model.encrypted(public_key).log_bound == pytest.approx(rules.encrypted(public_key).log_bound, abs=1e-9)
    for limbs in range(2, top + 1):
        x, y, peak = rng.uniform(10, 60, 3)
        pairs = []
        for r, noise in ((model, search.ModelNoise), (rules, bgv.Noise)):
            a, b = noise(x), noise(y)
            results = [
                r.sum(a, b),
                r.plain_sum(a, peak),
                r.plain_product(a, peak),
                r.switched(a, limbs),
                r.multiplied(a, b, limbs, 0),
                r.multiplied(a, b, limbs, 1),
                r.hoisted_sum(a, [peak, 3.0, peak - 1], limbs, 1),
                r.mod_switched(a, limbs, limbs // 2),
            ]
            pairs.append([*(n.log_bound for n in results), r.budget(a, limbs)])
        assert pairs[0] == pytest.approx(pairs[1], abs=1e-6)


def test_the_ring_of_the_paper_is_too_small_and_65537_is_not() -> None:
    rings = {i.m: i for i in search.indices()}
    paper = search.row(rings[65535])
    assert paper.best is None
    assert "too few bits" in paper.note
    assert paper.needed > 868
    assert "too few bits" in search.line(paper)
    made = search.best_set(rings[65537], words=(49,))
    assert made is not None
    assert made.log_qp <= 1747
    assert made.special_bits * made.alpha > made.word_bits * made.alpha  # P above a digit
    assert made.plan.levels_left == search.LEVELS_LEFT
    # Its transforms are those of its plan, step by step.
    sizes = Sizes(made.words, made.alpha, made.alpha)
    total = sum(
        sizes.step(step, limbs[step.stage])
        for segment, limbs in zip(made.plan.plan.segments, made.plan.plan.limbs, strict=True)
        for step in segment.circuit.steps
    )
    assert made.transforms == 16 * total
    # More than 40 bits for each of the levels after AES, but for the last.
    assert made.plan.budget(10) > 100
    r = search.Row(rings[65537], 1000.0, made, "")
    assert search.chosen([paper, r]) is r
    assert r.milliseconds() == r.milliseconds(True) > 0
    with pytest.raises(ParameterError, match="no index bears"):
        search.chosen([paper])


def test_digits_are_chosen_by_transforms() -> None:
    index = next(i for i in search.indices() if i.m == 65537)
    made = search.best_set(index, 0, words=(49,))
    assert made is not None
    assert made.transforms < search._transforms(made.plan, 2)
    assert made.alpha > 2
    assert search.best_set(next(i for i in search.indices() if i.m == 21845), 0) is None


def test_the_shipped_set_is_the_one_that_is_found() -> None:
    index = next(i for i in search.indices() if i.m == 65537)
    made = search.shipped(search.Row(index, 0.0, search.best_set(index, words=(49,)), ""))
    assert made == {"name": "bgv-aes", "m": 65537, "q": "49*25", "p": "50*8", "digit": 8}
