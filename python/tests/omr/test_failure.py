# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Failure probabilities are those that are seen, and the sets keep what they promise."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from ringforge._native import TestSeed
from ringforge.omr import failure, sets
from ringforge.omr.compress import compression_plan
from ringforge.omr.plan import Plan
from ringforge.omr.sets import Set
from ringforge.omr.signal import Signals, SignalSecret, parameters

WHY = "tests"
TEST, OURS, PAPER = (sets.named(name, WHY) for name in ("test", "ringforge", "paper"))
ALL = [PAPER, OURS, TEST]


def log2(p: float) -> float:
    return math.log2(p)


# ---- derived -------------------------------------------------------------------------------------


def test_the_papers_figures() -> None:
    """Facts 6: false positives 2^-10.6 a board, misses 2^-28 (discrete) or 2^-17.6 (rounded) for 50 messages."""
    assert log2(PAPER.entries * failure.false_positive(PAPER)) == pytest.approx(-10.56, abs=0.01)
    assert log2(failure.miss(PAPER, 50)) == pytest.approx(-17.59, abs=0.01)
    assert log2(failure.miss(replace(PAPER, sampler="discrete"), 50)) == pytest.approx(-27.98, abs=0.01)


def test_ours_misses_less_than_2_to_the_minus_40() -> None:
    assert failure.miss(OURS, 50) < 2.0**-43
    total = failure.budget(OURS, 50, noise={"range check": -400, "digest": -64}).total("message")
    assert total < -40


@pytest.mark.parametrize("s", ALL, ids=lambda s: s.name)
def test_the_sampler_draws_what_is_derived(s: Set) -> None:
    """The native table of tails, words of 63 bits, against the distribution that failures are computed from."""
    p = failure.error_distribution(s)
    last = len(p) // 2
    tails = parameters(s).tails
    for k, word in enumerate(tails, 1):
        derived = 2 * float(p[last + k :][::-1].sum())
        assert abs(word / 2**63 - derived) <= 2**-63 + 2**-48 * derived
    assert 2 * float(p[last + len(tails) + 1 :].sum()) < 2**-63
    assert float(p.sum()) == pytest.approx(1, abs=1e-15)


def test_sums_of_errors_are_exact() -> None:
    """Against rational numbers, at a small weight, far into the tail."""
    s = replace(TEST, weight=3, range=6)
    one = [Fraction(float(x)) for x in failure.error_distribution(s)]
    exact = [Fraction(1)]
    for _ in range(2 * s.weight + 1):
        out = [Fraction(0)] * (len(exact) + len(one) - 1)
        for i, x in enumerate(exact):
            for j, y in enumerate(one):
                out[i + j] += x * y
        exact = out
    computed = failure.signal_distribution(s)
    assert len(computed) == len(exact)
    for x, y in zip(computed.tolist(), exact, strict=True):
        assert y < Fraction(1, 10**300) or abs(Fraction(x) / y - 1) < Fraction(1, 2**40)
    middle = len(exact) // 2
    assert failure.miss_coefficient(s) == pytest.approx(float(2 * sum(exact[middle + 7 :])), rel=1e-12)


@pytest.mark.parametrize("most", [0, 1, 60, 399, 400, 1000])
def test_noise_fails_where_its_bound_no_longer_suffices(most: int) -> None:
    assert failure.noise_failure(lambda security: security <= most) == -min(most, 400)


def test_the_budget_adds_up() -> None:
    found = failure.budget(OURS, 50, 50, {"range check": -50.0, "digest": -44.0})
    assert [line.effect for line in found.lines] == ["message"] * 4 + ["capacity"]
    parts = [2**line.log2 for line in found.lines[:4]]
    assert found.total("message") == pytest.approx(math.log2(sum(parts)))
    assert found.total("capacity") == pytest.approx(-9.91, abs=0.01)
    # Room for one more, and for ten: Poisson with 2^-9.9.
    assert log2(failure.false_overflow(OURS, 49, 50)) == pytest.approx(2 * -9.911 - 1, abs=0.01)
    assert failure.false_overflow(OURS, 40, 50) < 2**-130
    assert failure.false_overflow(OURS, 51, 50) == 1.0


def test_what_a_screened_signal_may_hit() -> None:
    assert failure.screened_hit(OURS) == pytest.approx(2**-11.04, rel=0.01)


@pytest.mark.parametrize("s", ALL, ids=lambda s: s.name)
def test_sets_state_their_security(s: Set) -> None:
    assert s.security == math.floor(failure.security(s).bits)


# ---- seen ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("s", "secrets", "signals"),
    [
        (replace(PAPER, range=19), 12, 300),
        (replace(OURS, range=15), 12, 300),
        (replace(TEST, range=8), 40, 1500),
        (replace(TEST, range=10, sampler="rounded"), 40, 1500),
    ],
    ids=["paper", "ringforge", "test", "rounded"],
)
def test_a_degraded_set_misses_at_the_derived_rate(s: Set, secrets: int, signals: int) -> None:
    """Within a factor of 2: over other seeds the number of misses has a deviation of 8 to 18 % of what is expected,
    more than independent ones would have, since a key's errors are part of all its signals'.
    """
    beyond = 0
    for i in range(secrets):
        fixed = TestSeed(bytes([1, i]) + bytes(30))
        secret = SignalSecret.make(s, fixed_seed_for_tests=fixed)
        made = secret.public().signals(signals, 2, fixed_seed_for_tests=fixed)
        beyond += int((np.abs(secret.errors(made, 2)) > s.range).sum())
    expected = failure.miss_coefficient(s) * secrets * signals * s.clues
    assert expected > 50
    assert expected / 2 < beyond < expected * 2


def test_false_positives_come_at_the_derived_rate() -> None:
    """Range 8,000: 1 in 2,416 of others' signals. 100,000 of them: 41 are expected, +- 6."""
    s = replace(TEST, range=8000)
    sender = SignalSecret.make(s, fixed_seed_for_tests=TestSeed(bytes(32))).public()
    signals: Signals = sender.signals(5000, 2, fixed_seed_for_tests=TestSeed(b"\1" * 32))
    hits = 0
    for i in range(20):
        hits += int(SignalSecret.make(s, fixed_seed_for_tests=TestSeed(bytes([2, i]) * 16)).pertinent(signals, 2).sum())
    expected = 100_000 * failure.false_positive(s)
    assert expected > 40
    assert expected / 2 < hits < expected * 2


def test_everything_that_may_fail_adds_up() -> None:
    """All stages of the set that we recommend, tails of noise included: wrong or missed messages are at most 2^-40."""
    plan = Plan.make(OURS)
    noise = plan.failures(compression_plan(OURS, 50, OURS.payload_words))
    assert set(noise) == {"affine transform", "range check", "digest"}
    assert failure.budget(OURS, 50, noise=noise).total("message") < -40
    bounds = [plan.noises(security)[plan.program.result.index].log_deviation for security in (1, 20, 40, 64)]
    assert bounds == sorted(bounds)
    assert bounds[2] == plan.result.log_deviation
