# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The security estimator beside published runs of the lattice-estimator."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from ringforge.security import attacks, reduction, sparse
from ringforge.security.published import ROWS, TOLERANCE, Published, table

DOCS = Path(__file__).parents[2] / "docs" / "security.md"

#: SVP calls that the lattice-estimator prices the last sieve of a BDD attack with; here it is one.
LAST_SIEVE = math.log2(reduction.PROGRESSIVE)


def row(name: str, attack: str) -> Published:
    return next(r for r in ROWS if r.name.startswith(name) and r.attack == attack)


def test_there_are_twenty_instances() -> None:
    assert len({r.instance for r in ROWS}) >= 20
    assert len({(r.instance, r.attack, r.model) for r in ROWS}) == len(ROWS)


@pytest.mark.parametrize("published", ROWS, ids=lambda r: f"{r.name}: {r.attack}, {r.model}")
def test_no_estimate_is_far_from_the_published_one(published: Published) -> None:
    """Nowhere half a bit above, what would promise more than is known; below within two bits, or for a reason."""
    difference = published.difference()
    assert difference <= 0.5
    assert bool(published.why) == (difference < -TOLERANCE)


def at_blocks(published: Published, beta: float, eta: float, d: float) -> float:
    """Our cost of primal BDD at given block sizes, with the last sieve priced as there.

    The given eta is the least that our condition holds for: it holds there, and not for a smaller one.
    """
    instance, cost = published.instance, reduction.model(published.model)
    volume = (d - instance.n) * instance.log_q * math.log(2) + instance.n * attacks._log_scale(instance)

    def room(eta: float) -> float:
        fall = eta * (d - eta) * float(reduction.log_delta(np.array(beta)))
        projected = volume * eta / d - fall + math.log(instance.sigma)
        shortest = (projected - float(attacks._log_ball(np.array(eta + 1)))) / (eta + 1)
        return shortest - math.log(instance.sigma) - math.log(eta + 1) / 2

    assert room(eta + 2) > 0 > room(eta - 4)
    sieve = float(cost.sieve(cost.sieve_dimension(np.array(eta)))) + LAST_SIEVE
    return float(np.logaddexp2(float(cost.bkz(np.array(beta), np.array(d))), sieve))


@pytest.mark.parametrize(
    ("name", "beta", "eta", "d"),
    [
        ("Kyber-512", 389, 422, 1005),
        ("Kyber-768", 606, 640, 1420),
        ("Kyber-1024", 855, 889, 1867),
        ("NTRU-HPS-2048-509", 357, 389, 914),
        ("Falcon-512", 463, 496, 1022),
        ("guideline, N = 2^13", 332, 373, 16216),
        ("n = 256", 170, 336, 336),
        ("n = 700", 702, 818, 1023),
    ],
)
def test_bdd_costs_the_same_at_the_published_block_sizes(name: str, beta: int, eta: int, d: int) -> None:
    published = row(name, "primal BDD")
    assert at_blocks(published, beta, eta, d) == pytest.approx(published.bits, abs=0.35)


def test_dual_attacks_cost_the_same_at_the_published_choices() -> None:
    cost = reduction.model("matzov")
    for name, beta, fft in (("TFHE-rs, LWE", 366, 110), ("TFHE-rs, RLWE", 360, 110)):
        published = row(name, "dual hybrid")
        point = [np.array([float(x)]) for x in (beta, 0, fft)]
        assert attacks._dual_cost(published.instance, cost, *point, 2)[0, 0] == pytest.approx(published.bits, abs=0.3)


def test_without_fft_dual_attacks_are_as_dear_as_published() -> None:
    cost = reduction.model("matzov")
    binary = row("n = 1024, q = 2^32, binary", "dual hybrid")
    grid = np.ix_(np.arange(200.0, 300, 2), np.arange(0.0, 90, 2), np.array([0.0]))
    assert attacks._dual_cost(binary.instance, cost, *grid, 2)[0].min() == pytest.approx(binary.bits, abs=0.6)
    ntru = row("NTRU-HPS-2048-509", "dual hybrid")
    search, right, _ = sparse._guesses(508, 254, (40,))
    point = [np.array(float(x)) for x in (356, 40, 19)]
    bits, _d = sparse._dual_cost(ntru.instance, cost, *point, search[0, 19], np.array(0.0), 2)
    assert float(bits) - right[0, 19] == pytest.approx(ntru.bits, abs=2)


def test_the_guide_shows_the_table() -> None:
    assert table() in DOCS.read_text(encoding="utf-8")
