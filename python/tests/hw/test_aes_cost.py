# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The closed forms of the aes machine against its replica, and its space."""

from __future__ import annotations

import doctest

import pytest

from ringforge.hw.core import cards
from ringforge.hw.core.explore import explore
from ringforge.hw.machines.aes import cost, jobs, replica
from ringforge.hw.machines.aes.config import AesConfig
from ringforge.hw.machines.aes.measure import Size
from ringforge.hw.machines.aes.space import AesSpace

FULL = ("aes-fast", "aes-paper", "aes-paper64")


def test_doctests() -> None:
    assert doctest.testmod(cost).failed == 0


@pytest.mark.parametrize("name", FULL)
@pytest.mark.parametrize("log_n", [14, 16])
@pytest.mark.parametrize("terms", [1, 3])
def test_products_take_what_the_closed_form_says(name: str, log_n: int, terms: int) -> None:
    config = AesConfig.named(name)
    target = Size(log_n, 6).target(config)
    job = jobs.product(target, 2 * terms, [[(2 * t, 2 * t + 1) for t in range(terms)]])
    got, want = replica.run(config, job.program).cycles, cost.product(config, log_n, 6, terms).cycles
    assert want == pytest.approx(got, rel=0.10)


@pytest.mark.parametrize("name", FULL)
@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("gap", [0, 1])
def test_relinearisations_take_what_the_closed_form_says(name: str, batch: int, gap: int) -> None:
    config = AesConfig.named(name).model_copy(update={"link_gap": gap})
    target = Size(16, 4).target(config)
    job = jobs.relinearise(target, 20, batch, batch if config.fast else 1)
    got, want = replica.run(config, job.program).cycles, cost.relinearisation(config, 16, 4, 20, batch).cycles
    assert want == pytest.approx(got, rel=0.03)


def test_aims_at_full_size() -> None:
    ours, paper = AesConfig.named("aes-fast"), AesConfig.named("aes-paper")
    assert cost.transform(ours, 16) <= 4_400
    assert cost.transform(paper, 16) <= 12_720
    for config in (ours, paper):
        assert cost.resources(config).dsp == 768
        assert cost.resources(config).bram36 <= cost.CARD.bram36


def test_the_published_point_fits_its_card_and_is_not_the_best() -> None:
    found = explore(AesSpace(), cards.card("vc709"))
    assert found.published is not None
    assert not found.published.refused
    assert found.published.dsp == 768
    assert found.best.values["engine"] == "fast"
    assert found.best.seconds < found.published.seconds
    assert all(AesConfig.model_validate(dict(p.config)) for p in found.fitting)


def test_points_that_fit_are_ones_that_the_engines_elaborate_with() -> None:
    """aes_paper: a row has 16 words at most for each multiplication begun in a cycle."""
    for p in explore(AesSpace(), cards.card("vc709")).fitting:
        lanes, starts = int(p.values["lanes"]), int(p.values["starts"])
        assert p.values["engine"] == "fast" or lanes // 16 <= starts <= lanes
