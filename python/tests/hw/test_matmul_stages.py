# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Prices of product plans on the matmul machines: counts add up, floors hold, far memory is planned for."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from ringforge import _native
from ringforge import params as parameter_sets
from ringforge._native import Work
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.machines.matmul.far import Link
from ringforge.hw.machines.matmul.stages import (
    FamePricing,
    choose,
    constants,
    far_steps,
    price,
    room,
    shifts,
    stages,
)
from ringforge.matmul import planner
from ringforge.matmul.engine import Options, Product

SHAPE = (24, 24, 24)


@cache
def context() -> Any:
    return _native.Context(parameter_sets.named("fame-small", "counts"))


def machine(near: float = 1.0) -> FameConfig:
    """fame-small with a share of its near memory."""
    config = FameConfig.named("fame-small")
    size = int(near * config.dram_bytes)
    return config.model_copy(update={"dram_bytes": size, "segment_bytes": size // config.pes // config.near_ports})


@pytest.mark.parametrize("method", ["auto", "fame", "huang"])
def test_stages_add_up_to_the_plan(method: str) -> None:
    choice = planner.choose(context(), *SHAPE, method=method)
    cost = choice.chosen.cost
    total = Work()
    for stage in cost.stages:
        total = total + stage.work
    assert total == cost.ops
    for stage in cost.stages:
        if stage.phase != "products":
            assert len(stage.steps) == stage.work.rotation == stage.work.key_switch
            assert set(stage.steps) <= set(cost.keys)
    products = next(s for s in cost.stages if s.phase == "products")
    if choice.plan.lazy:
        keys = shifts(choice.plan).keys
        assert len(keys) == products.work.key_switch
        assert {k for k in keys if k is not None} <= set(cost.keys)


def test_a_stage_takes_what_the_busier_of_array_and_memory_takes_and_little_more() -> None:
    config, choice = machine(), planner.choose(context(), *SHAPE)
    for stage in stages(config, context().gadget, choice.plan, choice.chosen.cost):
        assert stage.cycles >= max(stage.array, stage.memory) > 0
        assert stage.cycles <= 2 * (stage.array + stage.memory)


def test_the_array_s_floor_has_all_transforms_and_products() -> None:
    config, choice = machine(), planner.choose(context(), *SHAPE)
    rows, log_n = config.rows(11), 11
    for stage in stages(config, context().gadget, choice.plan, choice.chosen.cost):
        w = stage.work.work
        least = ((w.ntt + w.intt) * log_n + w.multiplied + w.converted + stage.mixed) * rows
        assert least <= stage.array <= 1.5 * least


def test_giant_steps_are_dearer_than_on_a_cpu() -> None:
    gadget = context().gadget
    baby, giant = FamePricing(machine()).step_weights(gadget, 5)
    cpu_baby, cpu_giant = gadget.step_weights(5)
    assert giant / baby > 2 * cpu_giant / cpu_baby
    slow, _ = FamePricing(machine(), 1.0).step_weights(gadget, 5)
    assert slow > baby


def test_a_run_splits_steps_as_its_price_did() -> None:
    planned = choose(machine(), context(), *SHAPE)
    choice = planned.choice
    product = Product(context(), choice.plan, choice.level, options=choice.options)
    kernels = [
        s.kernel
        for (prefix, bases), _ in product._stages.values()
        for s in [*prefix, *(x for b in bases for x in b)]
        if s.kernel is not None
    ]
    expected = [s.steps for s in choice.chosen.cost.stages if "diagonals" in s.name]
    for kernel, steps in zip(kernels, expected, strict=True):
        giants = (kernel.map.steps.astype(np.int64) - kernel.babies) % choice.plan.slots
        found = [s for of in (kernel.babies, giants) for s in np.unique(of).tolist() if s]
        assert found == list(steps)


def test_pricing_leaves_the_cpu_s_plans_alone() -> None:
    before = planner.choose(context(), *SHAPE)
    choose(machine(), context(), *SHAPE)
    assert planner.choose(context(), *SHAPE) == before
    assert before.options == Options()


def test_what_near_memory_lacks_comes_from_afar() -> None:
    choice = planner.choose(context(), *SHAPE)
    whole = price(machine(), context(), choice)
    assert whole.far is None
    gadget, cost = context().gadget, choice.chosen.cost
    # One element with a small near memory.
    config = FameConfig.named("fame-small")
    need = (
        constants(gadget, cost, whole.stages)
        + (config.element_bytes // config.polynomial_bytes(11))
        - room(config, gadget, cost)
    )
    small = config.model_copy(update={"pes": 1, "segment_bytes": config.polynomial_bytes(11) * (need * 3 // 4) // 2})
    planned = price(small, context(), choice)
    assert planned.far is not None
    assert planned.far.places <= room(small, gadget, cost)
    names = {n for s in far_steps(small, gadget, choice.plan, cost) for n in s.reads}
    assert names == {*planned.far.resident, *planned.far.far}
    # Each distinct key and each mask; relinearisation takes a limb less than the steps have it.
    assert len(names) == pytest.approx(constants(gadget, cost, planned.stages), rel=0.01)
    link = Link.of(small, 11)
    assert planned.cycles == planned.far.cycles >= planned.far.copied * link.cycles
    assert planned.far.stall == pytest.approx(planned.cycles - sum(s.cycles for s in planned.stages))


def test_slower_links_cost_more_and_the_choice_is_the_least() -> None:
    config = machine(1 / 64)
    found = choose(config, context(), *SHAPE)
    for share in (0.0, 1.0):
        other = planner.choose(context(), *SHAPE, pricing=FamePricing(config, share))
        assert found.cycles <= price(config, context(), other).cycles
    assert found.cycles <= price(config, context(), planner.choose(context(), *SHAPE)).cycles
