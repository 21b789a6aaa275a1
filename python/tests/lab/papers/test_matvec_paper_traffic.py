# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Sizes, DRAM traffic and on-chip allocation: printed numbers and invariants."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringforge.errors import ParameterError
from ringforge.hw.machines.matvec.published import LAYERS, Layer
from ringforge.lab.papers.matvec import (
    CONFIGS,
    SETS,
    Counts,
    Entity,
    FusionBuffer,
    PaperModelError,
    Place,
    Workload,
    allocate,
    allocate_best,
    breakdown,
    compulsory_bytes,
    default_fusion,
    dram_cost,
    dram_costs,
    figure1,
    figure3,
    layer,
    paper_counts,
    parameter_set,
    resident_bytes,
    reuse_series,
    total_traffic,
)

GIB, MIB, GB = 2**30, 2**20, 10**9
SQUARE = Workload(m=1024, n=1024, degree=2**14, limbs=7)

workloads = st.builds(
    Workload,
    m=st.integers(1, 5000),
    n=st.integers(1, 30000),
    degree=st.sampled_from([2**k for k in range(10, 17)]),
    limbs=st.integers(1, 20),
    bytes_per_coefficient=st.sampled_from([4, 7, 8]),
)


def test_sizes_of_equations_1_to_6() -> None:
    assert SQUARE.ciphertext_bytes == 1.75 * MIB
    assert SQUARE.input_bytes == 1.75 * MIB
    assert SQUARE.plaintext_bytes == 0.875 * MIB
    assert SQUARE.matrix_bytes == 1024 * 0.875 * MIB
    assert SQUARE.twiddle_bytes == 0.875 * MIB
    assert SQUARE.half_key_bytes == 7 * MIB
    assert SQUARE.key_bytes == 14 * MIB == 14_680_064
    assert (SQUARE.chunks, SQUARE.fold_rotations) == (8, 3)


@pytest.mark.parametrize(
    ("entity", "gib", "percent"),
    [
        (Entity.NTT_TWIDDLES, 9.625, 24.3),
        (Entity.INTT_TWIDDLES, 1.125, 2.8),
        (Entity.INPUT, 1.75, 4.4),
        (Entity.PARTIAL_SUM, 12.25, 30.9),
        (Entity.MATRIX, 0.875, 2.2),
        (Entity.KEYS, 14.041, 35.4),
    ],
)
def test_costs_and_shares_of_figure_1(entity: Entity, gib: float, percent: float) -> None:
    assert dram_cost(SQUARE, entity) / GIB == pytest.approx(gib, abs=5e-4)
    assert 100 * figure1()[entity] == pytest.approx(percent, abs=0.05)


def test_total_and_series_of_figure_3() -> None:
    steps = figure3()
    assert total_traffic(SQUARE) / GIB == pytest.approx(39.7, abs=0.05)
    assert total_traffic(SQUARE) / GB == pytest.approx(42.6, abs=0.05)
    reads = [step.traffic_bytes / GIB for step in steps]
    assert reads == pytest.approx([39.666, 30.041, 28.916, 16.666, 14.916], abs=5e-4)
    assert [step.sram_bytes / MIB for step in steps] == [0, 0.875, 1.75, 3.5, 5.25]
    assert steps[-1].sram_bytes / 1e6 == pytest.approx(5.5, abs=0.01)


def test_ciphertexts_per_layer() -> None:
    expected = {
        "alex-6": (3, 2, 1),
        "alex-7": (1, 1, 1),
        "alex-8": (1, 1, 1),
        "vgg-6": (7, 4, 2),
        "rnnt-lstm": (1, 1, 1),
        "rnnt-fc0": (1, 1, 1),
        "ds2-gru": (1, 1, 1),
    }
    found = {entry.name: tuple(Workload.of(entry, s).input_ciphertexts for s in SETS.values()) for entry in LAYERS}
    assert found == expected


def test_key_volumes() -> None:
    def keys(name: str, which: str) -> float:
        return Workload.of(layer(name), SETS[which]).alignment_key_volume_bytes / GB

    def stored(name: str) -> float:
        work = Workload.of(layer(name), SETS["B"])
        return (work.alignment_key_volume_bytes + work.matrix_bytes) / GB

    assert keys("alex-7", "B") == pytest.approx(60.1, abs=0.05)
    assert keys("alex-7", "C") == pytest.approx(451, abs=0.5)
    assert Workload.of(layer("alex-7"), SETS["B"]).matrix_bytes / GB == pytest.approx(3.8, abs=0.05)
    assert stored("alex-7") == pytest.approx(63.9, abs=0.05)
    assert stored("alex-6") == pytest.approx(67.6, abs=0.06)
    assert stored("vgg-6") == pytest.approx(75.2, abs=0.05)


def test_several_input_ciphertexts_scale_everything_but_the_fold_keys() -> None:
    one, four = (Workload(1024, n, 2**14, 7) for n in (8192, 4 * 8192))
    assert (one.input_ciphertexts, four.input_ciphertexts) == (1, 4)
    for entity in Entity:
        fold = one.fold_rotations * one.key_bytes if entity is Entity.KEYS else 0
        assert dram_cost(four, entity) - fold == 4 * (dram_cost(one, entity) - fold)


def test_keys_shared_between_input_ciphertexts() -> None:
    work = Workload(1024, 4 * 8192, 2**14, 7)
    base = paper_counts(work)
    shared = Counts(base.partial_sums, base.products, work.distinct_keys, 4)
    assert dram_cost(work, Entity.KEYS, shared) == work.key_volume_bytes
    assert resident_bytes(work, Entity.INPUT, shared) == work.input_bytes


def test_chunks_follow_the_papers_rule() -> None:
    assert Workload(2000, 1000, 2**14, 7).chunks == 1
    assert Workload(1600, 1600, 2**14, 7).chunks == 5
    assert Workload(9000, 9000, 2**14, 7).chunks == 1


@given(workloads)
def test_shares_sum_to_one_and_costs_are_positive(work: Workload) -> None:
    costs = dram_costs(work)
    assert all(cost > 0 for cost in costs.values())
    assert sum(breakdown(costs).values()) == pytest.approx(1)
    assert total_traffic(work) == sum(costs.values())


@given(workloads, st.permutations(list(Entity)))
def test_traffic_falls_and_sram_grows_with_reuse(work: Workload, order: list[Entity]) -> None:
    steps = reuse_series(work, tuple(order))
    for before, after in pairwise(steps):
        assert after.traffic_bytes < before.traffic_bytes
        assert after.sram_bytes > before.sram_bytes
    assert steps[-1].traffic_bytes == 0
    assert total_traffic(work, order[:2]) == steps[2].traffic_bytes


@given(workloads)
def test_more_rows_or_limbs_never_read_less(work: Workload) -> None:
    taller = Workload(work.m + 1, work.n, work.degree, work.limbs)
    deeper = Workload(work.m, work.n, work.degree, work.limbs + 1)
    base = Workload(work.m, work.n, work.degree, work.limbs)
    for entity in set(Entity) - {Entity.KEYS}:
        assert dram_cost(taller, entity) >= dram_cost(base, entity)
    assert total_traffic(deeper) > total_traffic(base)


@given(workloads, st.integers(0, 64 * MIB), st.integers(1, 16))
def test_allocator_respects_capacity_and_accounts_for_all_traffic(work: Workload, capacity: int, pes: int) -> None:
    fusion = default_fusion(work, pes)
    for result in (
        allocate(work, capacity, fusion),
        allocate_best(work, capacity, fusion),
        allocate(work, capacity),
    ):
        assert 0 <= result.used_bytes <= capacity
        kept = sum(resident_bytes(work, e) for e in result.kept)
        fused = sum(b.buffer.size_bytes for b in result.buffers if b.place is Place.SRAM)
        assert result.used_bytes == kept + fused
        spilled = sum(b.buffer.spill_bytes for b in result.buffers if b.place is Place.DRAM)
        assert result.traffic_bytes == total_traffic(work, result.kept) + spilled
        assert {p.entity for p in result.placements} == set(Entity)
        assert result.compulsory_bytes == compulsory_bytes(work, result.kept)


@given(workloads, st.integers(0, 64 * MIB))
def test_allocator_is_greedy(work: Workload, capacity: int) -> None:
    result = allocate(work, capacity)
    costs = [p.cost_bytes for p in result.placements]
    assert costs == sorted(costs, reverse=True)
    used = 0
    for placement in result.placements:
        if placement.place is Place.DRAM:
            assert used + placement.size_bytes > capacity
        elif placement.place is Place.SRAM:
            used += placement.size_bytes
        else:
            assert placement.cost_bytes <= placement.size_bytes


@given(workloads, st.integers(0, 64 * MIB), st.integers(1, 16))
def test_best_allocation_is_never_worse(work: Workload, capacity: int, pes: int) -> None:
    fusion = default_fusion(work, pes)
    best = allocate_best(work, capacity, fusion)
    assert best.traffic_bytes <= allocate(work, capacity, fusion).traffic_bytes
    assert best.traffic_bytes <= allocate(work, capacity, (), spilled=fusion).traffic_bytes


def test_set_b_keeps_all_four_reused_entities() -> None:
    config = CONFIGS["B"]
    fusion = default_fusion(SQUARE, config.pes_per_group)
    result = allocate(SQUARE, config.group_sram_bytes, fusion)
    assert set(result.kept) == {
        Entity.NTT_TWIDDLES,
        Entity.INTT_TWIDDLES,
        Entity.PARTIAL_SUM,
        Entity.INPUT,
    }
    assert result.place_of(Entity.MATRIX) is Place.STREAM
    assert result.place_of(Entity.KEYS) is Place.STREAM
    assert result.traffic_bytes / GIB == pytest.approx(14.916, abs=5e-4)
    assert not result.spills


def test_set_c_spills_on_the_papers_design() -> None:
    work = Workload.of(layer("rnnt-lstm"), SETS["C"])
    config = CONFIGS["C"]
    fusion = default_fusion(work, config.pes_per_group)
    assert allocate(work, config.group_sram_bytes, fusion).spills
    assert allocate_best(work, config.group_sram_bytes, fusion).spills
    assert config.scratchpad_bytes // work.polynomial_bytes == 6


def test_a_fusion_buffer_is_reserved_before_any_entity() -> None:
    buffer = FusionBuffer("b", (("x", "y"),), SQUARE.ciphertext_bytes, 123)
    tight = allocate(SQUARE, SQUARE.ciphertext_bytes, (buffer,))
    assert tight.kept == ()
    assert tight.buffers[0].place is Place.SRAM
    none = allocate(SQUARE, 0, (buffer,))
    assert none.traffic_bytes == total_traffic(SQUARE) + 123


def test_arguments_are_checked() -> None:
    with pytest.raises(PaperModelError, match="m is 0"):
        Workload(0, 1, 1024, 1)
    with pytest.raises(PaperModelError, match="power of two"):
        Workload(1, 1, 1000, 1)
    with pytest.raises(PaperModelError, match="capacity_bytes is -1"):
        allocate(SQUARE, -1)
    with pytest.raises(ParameterError, match="n is 0"):
        Layer("x", "y", 1, 0)
    with pytest.raises(PaperModelError, match="known: A, B, C"):
        parameter_set("D")
    with pytest.raises(PaperModelError, match="rnnt-fc0"):
        layer("nope")
