# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Plans: primes of every stage follow from the rules of noise, and too few primes are said."""

from __future__ import annotations

from itertools import pairwise

import pytest

from ringforge.aes.byte_circuit import Circuit, Product, Sum
from ringforge.aes.byte_plan import MARGIN, AesPlan, Predicted, Segment, Sizes, Value, aes_plan, make_plan
from ringforge.aes.engine import ROUNDS, Direction
from ringforge.bgv import NoiseRules, Parameters
from ringforge.errors import NoiseError, ParameterError

PARAMS = Parameters.named("bgv-test", insecure="tests")
RULES = NoiseRules(PARAMS)
SIZES = Sizes(PARAMS.max_limbs, len(PARAMS.p), PARAMS.limbs_per_digit)


def plan(direction: Direction = "encrypt", levels_left: int = 5, sizes: Sizes = SIZES) -> AesPlan:
    return aes_plan(RULES, sizes, lambda c: 3.0 if c > 1 else 0.0, direction, levels_left)


@pytest.fixture(scope="module")
def whole() -> AesPlan:
    return plan()


def test_primes_only_go_and_budgets_stay(whole: AesPlan) -> None:
    through = [n for limbs in whole.plan.limbs for n in limbs]
    assert all(a >= b for a, b in pairwise(through))
    assert through[-1] >= 1
    assert all(before[-1] == after[0] for before, after in pairwise(whole.plan.limbs))
    assert all(b >= MARGIN for b in whole.plan.budgets)
    assert len(whole.plan.limbs) == 1 + ROUNDS + 5
    assert whole.key_limbs(0) == whole.plan.start == through[0]
    assert [whole.key_limbs(i) for i in range(1, ROUNDS + 1)] == [whole.limbs(i)[-1] for i in range(1, ROUNDS + 1)]


def test_less_afterwards_is_less_work(whole: AesPlan) -> None:
    short = plan(levels_left=0)
    assert short.plan.start < whole.plan.start
    assert short.plan.work < whole.plan.work


def test_too_few_primes_are_said() -> None:
    with pytest.raises(ParameterError, match=r"8 primes are too few .* fewer levels"):
        plan(sizes=Sizes(8, SIZES.special, SIZES.alpha))


def test_it_says_primes_and_noise_of_each_round(whole: AesPlan) -> None:
    lines = whole.explain().splitlines()
    assert "640 products, 2,240 key switches in 1,280 ModUps and 1,424 ModDowns" in lines[1]
    assert [line.startswith("AES round 10") for line in lines].count(True) == 1
    assert lines[-1].startswith("level 5")


def test_no_way_is_better_than_the_plan_s_by_one_prime_less_at_the_start() -> None:
    circuit = Circuit("two products", 1, 2, (Product(0, 0, 0), Product(1, 1, 1)), (2,))
    best = make_plan(RULES, SIZES, [Segment(circuit)], {})
    # Tried out: all primes for the two stages and the result.
    cheapest = None
    for a in range(1, 5):
        for b in range(1, a + 1):
            for c in range(1, b + 1):
                machine = Predicted(RULES, (a, b, c), {})
                try:
                    square = machine.product(Value(RULES.encrypted(False), a), Value(RULES.encrypted(False), a), 1)
                    machine.product(square, square, 2)
                except NoiseError:
                    continue
                work = SIZES.step(Product(0, 0, 0), a) + SIZES.step(Product(0, 0, 0), b)
                cheapest = work if cheapest is None else min(cheapest, work)
    assert best.work == cheapest


def test_values_without_budget_are_refused() -> None:
    machine = Predicted(RULES, (1, 1), {3: 3.0})
    a = Value(RULES.encrypted(False), 1)
    for _ in range(3):
        with_more = machine.sum([(a, 3), (a, 1)], 0, 0)
        assert with_more.noise.log_bound > a.noise.log_bound
        a = with_more
    large = Value(RULES.sum(a.noise, a.noise), 1)
    while RULES.budget(RULES.multiplied(large.noise, large.noise, 1, 0), 1) >= MARGIN:
        large = machine.product(large, large, 0)
    with pytest.raises(NoiseError, match="predicted noise budget"):
        machine.product(large, large, 0)


def test_segments_fit() -> None:
    one = Circuit("one", 1, 0, (Sum(0, ((0, 1),)),), (1,))
    two = Circuit("two", 2, 0, (Sum(0, ((0, 1), (1, 1))),), (2,))
    with pytest.raises(ParameterError, match="two does not take"):
        make_plan(RULES, SIZES, [Segment(one), Segment(two)], {})
