# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Cycles, key-switch rates, layer latency and resources."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringforge.hw.machines.matvec.published import LAYERS, TABLE_VII, U200, Layer
from ringforge.lab.papers.matvec import (
    CONFIGS,
    SETS,
    AcceleratorConfig,
    Fold,
    Form,
    NoConfigurationError,
    PaperModelError,
    ParameterSet,
    Primitive,
    automorphism_cycles,
    calibration,
    choose_config,
    elementwise_cycles,
    estimate,
    explore,
    figure9,
    figure10,
    group_limits,
    key_switch_bounds,
    key_switch_cycles,
    key_switch_schedule,
    key_switch_transforms,
    key_switches_per_second,
    layer,
    layer_latency,
    minimum_key_stream_seconds,
    ntt_cycles,
    paper_layers,
)

MIB = 2**20
BANDWIDTH = U200.dram_bytes_per_second

parameter_sets = st.builds(
    ParameterSet,
    name=st.just("x"),
    degree=st.sampled_from([2**k for k in range(10, 17)]),
    limbs=st.integers(1, 16),
)
configs = st.builds(
    AcceleratorConfig,
    name=st.just("x"),
    groups=st.integers(1, 8),
    pes_per_group=st.integers(1, 16),
    lanes=st.sampled_from([4, 8, 16, 32]),
    banks=st.just(3),
    scratchpad_bytes=st.integers(1, 8 * MIB),
    clock_hz=st.floats(1e8, 4e8),
)
layers = st.builds(
    Layer,
    name=st.just("x"),
    model=st.just("x"),
    m=st.integers(1, 5000),
    n=st.integers(1, 30000),
)


def test_table_vi() -> None:
    assert ntt_cycles(2**14, 16) == 14_658
    assert elementwise_cycles(2**14, 16) == 1_024
    assert automorphism_cycles(2**14, 16) == 1_024


def test_transforms_of_algorithm_2() -> None:
    counts = key_switch_transforms(7)
    assert (counts.total, counts.without_rescale) == (72, 56)


def test_schedule_and_bounds_of_set_b() -> None:
    b, config = SETS["B"], CONFIGS["B"]
    assert key_switch_schedule(7, 7).waves == 12
    assert key_switch_cycles(b, config) == 175_896
    assert round(key_switches_per_second(b, config)) == 2_047
    bounds = key_switch_bounds(b, config, BANDWIDTH)
    assert round(bounds.butterfly) == 2_441
    assert round(bounds.butterfly_without_rescale) == 3_139
    assert round(bounds.table_vi) == 2_388
    assert round(bounds.table_vi_without_rescale) == 3_070
    assert round(bounds.key_stream) == 5_245


@given(st.integers(1, 16))
def test_one_pe_does_every_transform_of_algorithm_2(limbs: int) -> None:
    assert key_switch_schedule(limbs, 1).waves == key_switch_transforms(limbs).total


@given(parameter_sets, configs)
def test_schedule_stays_below_the_bounds(p: ParameterSet, config: AcceleratorConfig) -> None:
    rate = key_switches_per_second(p, config)
    bounds = key_switch_bounds(p, config, BANDWIDTH)
    assert rate <= bounds.table_vi * (1 + 1e-12)
    assert bounds.table_vi < bounds.butterfly < bounds.butterfly_without_rescale


@given(st.integers(1, 16), st.integers(1, 16))
def test_more_pes_never_need_more_waves(limbs: int, pes: int) -> None:
    slower = key_switch_schedule(limbs, pes).waves
    faster = key_switch_schedule(limbs, 2 * pes).waves
    assert faster <= slower


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("alex-6", 1.56),
        ("alex-7", 0.78),
        ("alex-8", 0.19),
        ("vgg-6", 3.12),
        ("rnnt-lstm", 0.20),
        ("rnnt-fc0", 0.10),
        ("ds2-gru", 0.31),
    ],
)
def test_key_stream_minimum(name: str, seconds: float) -> None:
    lowest = minimum_key_stream_seconds(layer(name), SETS["B"], BANDWIDTH)
    assert round(lowest, 2) == seconds
    row = layer_latency(layer(name), SETS["B"], CONFIGS["B"])
    assert lowest <= row.key_stream_seconds <= row.dram_seconds <= row.seconds


def test_layers_that_exceed_the_card() -> None:
    over = {row.layer.name for row in paper_layers("B") if not row.fits_card}
    assert over == {"alex-6", "vgg-6"}
    assert all(row.fits_card for row in paper_layers("A"))
    fitting = {row.layer.name for row in paper_layers("C") if row.fits_card}
    assert fitting == {"rnnt-fc0"}


def test_horner_needs_two_keys_and_fits_everywhere() -> None:
    for name in SETS:
        rows = zip(paper_layers(name), paper_layers(name, form=Form.HORNER), strict=True)
        for paper, horner in rows:
            assert horner.fits_card
            assert horner.stored_keys == 2 + paper.stored_keys - paper.layer.m
            assert horner.key_stream_seconds < paper.key_stream_seconds
            assert horner.key_switches <= paper.key_switches
    one = layer_latency(layer("alex-7"), SETS["B"], CONFIGS["B"], form=Form.HORNER, chains=1)
    assert one.stored_keys == 1 + 1
    assert one.key_switches == 4096 - 1 + 1


def test_key_switch_counts() -> None:
    b, config = SETS["B"], CONFIGS["B"]
    lstm = layer("rnnt-lstm")
    assert layer_latency(lstm, b, config).key_switches == 1024 + 3
    each = layer_latency(lstm, b, config, fold=Fold.PER_PARTIAL_SUM)
    assert each.key_switches == 1024 * (1 + 3)


def test_compute_of_one_partial_sum() -> None:
    config = replace(CONFIGS["B"], groups=1)
    row = layer_latency(Layer("one", "", 1, 1), replace(SETS["B"]), config)
    # k = N / 2, so 13 fold rotations follow the alignment
    assert row.cycles[Primitive.KEY_SWITCH] == 14 * 175_896
    assert row.cycles[Primitive.RESCALE] == 3 * 14_658
    assert row.cycles[Primitive.PT_CT_MULT] == 2 * 1_024


def test_figure_9_is_dominated_by_key_switch_and_rescale() -> None:
    for shares in figure9().values():
        assert sum(shares.values()) == pytest.approx(1)
        assert shares[Primitive.KEY_SWITCH] + shares[Primitive.RESCALE] > 0.95
        assert max(shares, key=lambda p: shares[p]) is Primitive.KEY_SWITCH


def test_figure_10_grows_with_the_parameters() -> None:
    sets = figure10()
    for i in range(len(LAYERS)):
        assert sets["A"][i].seconds < sets["B"][i].seconds < sets["C"][i].seconds


@given(layers, parameter_sets, configs, st.sampled_from(Form), st.sampled_from(Fold))
def test_latency_covers_all_its_bounds(
    entry: Layer, p: ParameterSet, config: AcceleratorConfig, form: Form, fold: Fold
) -> None:
    row = layer_latency(entry, p, config, form=form, fold=fold)
    assert row.seconds == max(row.compute_seconds, row.dram_seconds)
    assert row.key_stream_seconds <= row.dram_seconds * (1 + 1e-12)
    assert row.allocation.used_bytes <= config.group_sram_bytes
    assert row.card_bytes >= row.key_volume_bytes
    per_group = row.cycles[Primitive.KEY_SWITCH] // key_switch_cycles(p, config)
    assert row.key_switches <= per_group * config.groups


def test_chains_are_checked() -> None:
    args = (layer("alex-7"), SETS["B"], CONFIGS["B"])
    with pytest.raises(PaperModelError, match="chains is 3"):
        layer_latency(*args, form=Form.HORNER, chains=3)
    with pytest.raises(PaperModelError, match="Horner form only"):
        layer_latency(*args, chains=1)


def test_dsp_counts_are_exact() -> None:
    assert estimate(CONFIGS["A"], 8192).dsp == 4_896 == TABLE_VII["A"].dsp
    assert estimate(CONFIGS["B"], 32768).dsp == 5_712 == TABLE_VII["B"].dsp


def test_calibration_errors_are_as_declared() -> None:
    limits = {"DSP": 0.0, "URAM": 0.02, "LUT": 0.03, "BRAM": 0.15, "FF": 0.29}
    for row in calibration():
        assert abs(row.error) <= limits[row.resource], row
    exact = {(row.set_name, row.resource) for row in calibration() if row.error == 0}
    assert exact == {("A", "DSP"), ("B", "DSP"), ("B", "BRAM")}


@pytest.mark.parametrize("name", ["A", "B"])
def test_the_papers_rules_give_the_papers_designs(name: str) -> None:
    clock = CONFIGS[name].clock_hz
    chosen = choose_config(U200.part, SETS[name], clock_hz=clock)
    assert replace(chosen.config, name=CONFIGS[name].name) == CONFIGS[name]
    assert chosen.resources.dsp == TABLE_VII[name].dsp


def test_dsp_slices_limit_the_groups_not_the_memory() -> None:
    for name, memory, slices in (("A", 7, 5), ("B", 3, 2)):
        limits = group_limits(U200.part, CONFIGS[name], SETS[name].degree)
        assert (limits["sram_bytes"], limits["dsp"]) == (memory, slices)


@given(
    st.builds(
        ParameterSet,
        name=st.just("x"),
        degree=st.sampled_from([2**k for k in range(10, 16)]),
        limbs=st.integers(1, 14),
    )
)
def test_chosen_and_explored_designs_fit_the_part(p: ParameterSet) -> None:
    found = explore(U200.part, p)
    assert all(not c.resources.shortages(U200.part) for c in found)
    rates = [c.key_switches_per_second for c in found]
    assert rates == sorted(rates, reverse=True)
    try:
        chosen = choose_config(U200.part, p)
    except NoConfigurationError:
        return
    assert not chosen.resources.shortages(U200.part)
    assert chosen.key_switches_per_second <= rates[0]


def test_a_small_part_is_refused_with_the_reason() -> None:
    with pytest.raises(NoConfigurationError, match="too few of dsp"):
        choose_config(replace(U200.part, dsp=100), SETS["B"])
