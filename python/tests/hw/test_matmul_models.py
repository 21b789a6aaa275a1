# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Closed form and generator of the matmul machines, against counts made by hand."""

from __future__ import annotations

import pytest

from ringforge import params
from ringforge.errors import LevelError, ParameterError
from ringforge.hw.machines.matmul.closed_form import Gadget, Primitives, price
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.machines.matmul.generator import DSP_PER_LANE, Card, generate, scratchpad

_WHY = "counts only"


@pytest.mark.parametrize("name", ["fame-a", "fame-b", "fame-c"])
def test_the_generator_finds_the_machines_of_the_paper(name: str) -> None:
    found = generate(params.named(name, _WHY))
    # Table IV: PEs x lanes, and limbs of a scratchpad.
    assert (found.chosen.name, found.chosen.limbs) == {
        "fame-a": ("2 x 128", 16),
        "fame-b": ("2 x 128", 36),
        "fame-c": ("1 x 256", 72),
    }[name]
    assert found.same.startswith({"fame-a": "fame-s", "fame-b": "fame-m", "fame-c": "fame-l"}[name])
    assert found.chosen.dsp == 256 * DSP_PER_LANE["paper"]
    # 512 lanes would ask for more keys than memory moves.
    assert all(any("keys" in r for r in c.refused) for c in found.candidates if c.pes * c.lanes >= 512)


def test_the_generator_says_why_nothing_fits() -> None:
    tiny = Card("tiny", 100, 16, 0, 1e9, ((256, 100e6),))
    with pytest.raises(ParameterError, match="DSP slices of 100"):
        generate(params.named("fame-c", _WHY), tiny).chosen  # noqa: B018


def test_scratchpads_hold_what_a_transform_needs() -> None:
    # 2 (L + 1) + beta + 1 and one more, rounded up to four banks.
    assert scratchpad(Gadget(13, 5, 5, 5)) == (16, 4, 4)
    assert scratchpad(Gadget(15, 16, 8, 8)) == (36, 4, 14)
    assert scratchpad(Gadget(16, 32, 12, 11)) == (72, 8, 28)


def test_parts_of_a_transform_are_those_counted_by_hand() -> None:
    p = Primitives(FameConfig.named("fame-l"), Gadget(16, 32, 12, 11))
    one, more = p.transform_of(32, 1, still=False), p.transform_of(32, 5, still=False)
    rows = 256
    # (L + k + 1) (2 beta + 2) R a rotation.
    assert more.bound["rotations"] - one.bound["rotations"] == 4 * 44 * 8 * rows
    transforms = 32 + (3 * 44 - 32) + 2 * 13 + 2 * 31
    steps = 55 + 55 + 45 + 2 * 78
    conversions = 11 * 33 + 11 * 33 + 10 * 34 + 2 * 31 * 13
    ends = 32 + 2 * 31
    assert one.bound["hoisted"] == rows * (16 * transforms + steps + conversions + ends)
    assert more.moved["keys"] == 5 * 2 * 3 * 44
    assert more.moved["masks"] == 5 * 44


def test_memory_bounds_rotations_where_keys_come_slower_than_products() -> None:
    p = Primitives(FameConfig.named("fame-m"), Gadget(15, 16, 8, 8))
    # Five rows from memory at 450 / 350 * 32 bytes a port, for six products.
    row = 128 * 54 / 8 / (16 * 32 * 450 / 350)
    assert p.switched(16, "rotations", 1).total == pytest.approx(24 * 256 * 5 * row)
    assert 5 * row > 6


def test_the_largest_product_takes_what_the_paper_says() -> None:
    got = price("fame-l", params.named("fame-c", _WHY), (160, 160, 160), "fame")
    assert 2.4 < got.bound_cycles / 300e6 < got.seconds < 2.9
    assert got.stored["keys"] == pytest.approx(69 * 2**30, rel=0.02)
    assert got.stored["masks"] == pytest.approx(23 * 2**30, rel=0.02)
    assert got.far_bytes > 80 * 2**30
    assert got.peak_limbs == 68


@pytest.mark.parametrize(("level", "most"), [(31, 0.9), (4, 0.3)])
def test_our_plan_of_the_largest_product(level: int, most: float) -> None:
    got = price("fame-l", params.named("fame-c", _WHY), (160, 160, 160), "ringforge", level=level)
    assert got.bound_cycles <= got.cycles
    assert got.total_seconds < most


def test_prices_are_refused() -> None:
    small = params.named("fame-a", _WHY)
    with pytest.raises(ParameterError, match="no price of method"):
        price("fame-s", small, (64, 64, 64), "huang")
    with pytest.raises(ParameterError, match="takes degrees"):
        price("fame-l", params.named("set-small", _WHY), (4, 4, 4), "fame")
    with pytest.raises(LevelError):
        price("fame-s", small, (64, 64, 64), "fame", level=2)
