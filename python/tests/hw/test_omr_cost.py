# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The cost models of the omr machine: the paper's figures, counts of a rotation, slices of multipliers as measured."""

import doctest
from dataclasses import replace

import numpy as np
import pytest

from ringforge._native.kernels import primes_below
from ringforge.hw.machines.omr import cost, replica
from ringforge.hw.machines.omr.affine import babies
from ringforge.hw.machines.omr.config import OmrConfig
from ringforge.hw.machines.omr.cost import PUBLISHED_CHAIN, Chain, Sum
from ringforge.hw.machines.omr.layout import Target

#: Table III: lanes and number of the PCmul cores of the best four, best first.
TABLE_III = [(16, 2), (8, 4), (4, 8), (2, 16)]


def test_doctests():
    assert doctest.testmod(cost).failed == 0


def test_the_best_point_is_the_papers():
    point = cost.published_point(16, 2)
    assert point.ms == pytest.approx(2150.2)
    assert (point.dsp, point.resources.bram36, point.resources.uram) == (6920, 1536, 659)
    assert point.fits()


def test_table_iii_is_ranked_as_published():
    points = {key: cost.published_point(*key) for key in TABLE_III}
    assert sorted(points, key=lambda key: points[key].rank) == TABLE_III
    # All process 32 coefficients a cycle and hide behind the rotation: only resources tell them apart.
    assert {round(p.ms, 6) for p in points.values()} == {2150.2}
    assert [round(points[key].product_ms, 2) for key in TABLE_III] == [18.4, 18.94, 18.81, 18.74]
    assert [points[key].dsp for key in TABLE_III] == [6920, 6924, 6932, 6948]
    assert all(p.product_ms < p.rotation_ms for p in points.values())


def test_more_than_16_lanes_waste_ultraram():
    # 27 columns of 72 bits are half as deep as they might be.
    assert cost.published_point(32, 1).resources.uram > cost.published_point(16, 2).resources.uram


def test_slower_products_are_what_a_giant_step_waits_for():
    assert cost.published_point(2, 2).ms > cost.published_point(16, 2).ms
    assert cost.iteration(46, 1, 0.8, 31.35, 0.8) == pytest.approx(46 * 0.8 + 0.8)
    assert cost.latency(46, 23, 2, 0.8, 31.35, 0.8, outputs=2) == pytest.approx(45 * 31.35 + 2 * 23 * 32.15)


@pytest.mark.parametrize("chain", [PUBLISHED_CHAIN, Chain(16, 24, 12, 12), Chain(16, 7, 3, 3)])
def test_counts_of_a_rotation_are_those_of_its_stages(chain):
    """The units' cycles without overheads are the counts times a limb's, on a core of one limb at a time."""
    config = OmrConfig.named("omr-paper")
    counts, busy = cost.rotation_counts(chain), cost.rotation_busy(config, chain)
    rows = config.limb_rows(chain.log_n)
    transforms = counts["transforms"] * config.transform_cycles(chain.log_n)
    maps = counts["automorphisms"] * (1 << chain.log_n) // config.wide
    assert busy["xform"] == pytest.approx(transforms + maps, rel=0.02)
    assert busy["kmac"] == pytest.approx(counts["keys"] * rows, rel=0.02)
    if chain.digit >= 9:  # else a row waits for the shared reduction
        assert busy["conv"] == pytest.approx(counts["conversions"] * rows, rel=0.02)
    assert cost.rotation_bound(config, chain) == max(busy.values())
    assert (
        cost.rotation_bound(config, chain)
        <= cost.rotation_chained(config, chain)
        <= cost.rotation_cycles(config, chain)
    )


def test_a_full_rotation_is_below_its_targets():
    paper, ours = OmrConfig.named("omr-paper"), OmrConfig.named("omr-u55c")
    # 3,226,658 cycles in RTL.
    assert cost.rotation_cycles(paper, PUBLISHED_CHAIN) == pytest.approx(3_226_658, rel=0.01)
    point = cost.matmul(ours, Chain(16, 24, 12, 12))
    assert point.ms < 400
    assert cost.matmul(ours, Chain(16, 24, 12, 12), Sum(outputs=2)).ms < 600
    assert point.fits()
    assert cost.matmul(paper, PUBLISHED_CHAIN).fits()


@pytest.mark.parametrize(
    ("sources", "ways", "butterflies"), [(1, 1, 64), (4, 2, 64), (3, 2, 32), (2, 4, 32), (6, 4, 64)]
)
def test_closed_forms_are_near_programs_timed_by_instructions(sources, ways, butterflies):
    chain = Chain(16, 24, 12, 12)
    config = OmrConfig.named("omr-u55c").model_copy(
        update={"sources": sources, "ways": ways, "butterflies": butterflies}
    )
    primes = [int(q) for q in primes_below(50, chain.limbs + chain.special, 1 << 18)]
    target = Target(config, 16, tuple(primes[chain.special :]), tuple(primes[: chain.special]), chain.digit)
    # Time does not depend on what memory holds.
    key = np.zeros(len(target.digits) * len(target.ext) * 2 << 16, np.uint64)
    pair = np.zeros((2, chain.limbs, 1 << 16), np.uint64)
    one, three = (replica.run(config, babies(target, key, pair, n).program).cycles for n in (1, 3))
    assert cost.rotation_cycles(config, chain) == pytest.approx(one, rel=0.05)
    assert cost.rotation_chained(config, chain) == pytest.approx((three - one) / 2, rel=0.05)


def test_operators_of_a_ciphertext():
    config = OmrConfig.named("omr-paper")
    assert cost.product(config, PUBLISHED_CHAIN).cycles <= 155_648 + 200
    assert cost.addition(config, PUBLISHED_CHAIN).cycles <= 155_648 + 200
    assert cost.product(config, PUBLISHED_CHAIN).resources.dsp < cost.published_product(16).resources.dsp


def test_inner_sums_take_all_terms():
    config = OmrConfig.named("omr-u55c")
    chain = Chain(16, 24, 12, 12)
    rows = config.limb_rows(16)
    least = chain.limbs * 2 * 1024 * rows / (config.groups * config.rows * config.cols)
    # The last giant step is short, the groups of rows are not all full, and the second part is written by itself.
    assert least < cost.inner_sums(config, chain, Sum()) < 1.2 * least
    one = config.model_copy(update={"rows": 1})
    assert cost.inner_sums(one, chain, Sum()) > 3.5 * cost.inner_sums(config, chain, Sum())


def test_memory_that_is_too_slow_holds_sums_back():
    config = OmrConfig.named("omr-paper")
    slow = config.model_copy(update={"dram_bytes_per_second": config.dram_bytes_per_second / 10})
    assert cost.sum_cycles(slow, 16, 46) > 2 * cost.sum_cycles(config, 16, 46)


def test_no_product_takes_less_than_memory_for_its_bytes():
    config, chain = OmrConfig.named("omr-u55c"), Chain(16, 24, 12, 12)
    moved = 45 * cost.rotation_bytes(chain) + 23 * (cost.rotation_bytes(chain)) + cost.sum_bytes(config, chain, Sum())
    slow = config.model_copy(update={"dram_bytes_per_second": 20e9})
    assert cost.matmul_cycles(slow, chain) == pytest.approx(moved / 20e9 * slow.clock_hz, rel=1e-6)
    # On the card's memory units bind.
    faster = config.model_copy(update={"dram_bytes_per_second": 2 * config.dram_bytes_per_second})
    assert cost.matmul_cycles(faster, chain) == cost.matmul_cycles(config, chain)


@pytest.mark.parametrize("name", ["omr-paper", "omr-u55c", "omr-small", "omr-small-wide"])
def test_resources_by_part(name):
    config = OmrConfig.named(name)
    parts = cost.resources(config)
    per_lane = cost.multiplier_dsp(config.word_bits, montgomery=config.montgomery)
    assert parts["sum"].dsp == config.pcmul_lanes * per_lane
    assert parts["xform"].dsp == config.ways * config.butterflies * per_lane
    assert cost.total(config).dsp == sum(p.dsp for p in parts.values())
    more = cost.resources(config.model_copy(update={"banks": config.banks + 1}))
    assert more["d"].uram + more["d"].bram36 > parts["d"].uram + parts["d"].bram36


def test_refuses_what_is_no_sum_and_no_chain():
    with pytest.raises(ValueError, match="last giant step"):
        Sum(baby=46, giant=22)
    with pytest.raises(ValueError, match="at least 1"):
        replace(PUBLISHED_CHAIN, special=0)
