# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Cycles, operations, bytes, bounds: the printed figures, or the stated difference."""

from __future__ import annotations

import math

import pytest

from ringforge.gates import sets
from ringforge.lab.papers.psi import GATE_ROWS, PSI_ROWS, GateRow, PsiRow, cycles, figures, protocol, sizes

MIB, GIB = 2**20, 2**30

gate_rows = pytest.mark.parametrize("row", GATE_ROWS, ids=[r.name for r in GATE_ROWS])
psi_rows = pytest.mark.parametrize("row", PSI_ROWS, ids=[f"{r.bits}-{r.log_bins}" for r in PSI_ROWS])


@gate_rows
def test_installed_sets_are_those_of_table_1(row: GateRow) -> None:
    s = sizes.gate_set(row.ours)
    assert (s.n, 1 << s.log_q, s.ring_degree, s.modulus.bit_length()) == (row.n, row.q, row.degree, row.log_modulus)
    assert (s.key_switch.base, s.gadget_a.log_base, s.ap_base) == (row.switch_base, row.log_base, row.ap_base)
    assert (s.gadget_a.count, s.gadget_b.count, s.ap_digits) == (row.digits, row.digits, row.ap_digits)
    assert not s.balanced


def test_derived_values_of_table_1() -> None:
    assert [row.products for row in GATE_ROWS] == [512, 1024, 1024, 2048, 2048, 2048]
    assert [row.key_bytes / GIB for row in GATE_ROWS] == pytest.approx([1.078, 2.156, 4.3125, 12, 12, 16], abs=1e-3)
    assert GATE_ROWS[-1].key_bytes == 1 << 34


@gate_rows
def test_cycle_model_holds_within_an_eighth_of_a_percent(row: GateRow) -> None:
    assert cycles.gate_us(row) == pytest.approx(row.processing_us, rel=1.25e-3)
    assert row.software_us / (row.processing_us + row.stream_us) == pytest.approx(row.improvement, abs=0.08)


@gate_rows
def test_stored_keys_are_smaller_than_expanded_ones_and_both_than_the_papers_words(row: GateRow) -> None:
    s = sizes.gate_set(row.ours)
    stored, expanded = sizes.gate_key_stored(s), sizes.gate_key_expanded(s)
    assert stored < expanded / 2
    assert stored < row.key_bytes / 3


def test_stored_size_counts_every_row_once() -> None:
    s = sets.named("paper-medium", "test")
    rows = 256 * 2 * 22 * 6
    table = 1024 * ((6 * 24 * 27 + 7) // 8)
    assert sizes.gate_key_stored(s) == 41 + 64 + rows * (1024 * 27 // 8) + table + 32


def test_initiation_intervals() -> None:
    assert (cycles.stage_cycles(1024), cycles.stage_cycles(2048)) == (269, 525)
    assert cycles.interval(1024) == 269
    assert cycles.interval(2048) == pytest.approx(534.3, abs=0.05)
    assert cycles.substitution_bound_us() == pytest.approx(29.4)
    assert cycles.product_bound_us() == pytest.approx(50.4)
    assert cycles.product_latency_us() == pytest.approx(200, abs=0.5)
    assert cycles.ideal_us(figures.SUBSTITUTION.latency_us, figures.IN_FLIGHT) == pytest.approx(17.7, abs=0.01)


def test_speedups_of_table_3() -> None:
    for row in (figures.SUBSTITUTION, figures.PRODUCT):
        assert row.software_us / row.accelerator_us == pytest.approx(row.improvement, abs=0.05)
        assert row.improvement / figures.SOFTWARE_FACTOR == pytest.approx(row.scaled, abs=0.1)


@psi_rows
def test_two_constants_give_table_4(row: PsiRow) -> None:
    assert protocol.model_seconds(row) == pytest.approx(row.seconds, rel=6.5e-3)
    assert protocol.table3_seconds(row) < row.seconds / 2


@psi_rows
def test_sizes_of_table_4(row: PsiRow) -> None:
    assert sizes.to_sender(row) / MIB == pytest.approx(row.to_sender_mb, abs=0.051)
    assert sizes.to_receiver(row) / MIB == pytest.approx(row.to_receiver_mb, rel=1e-3)
    whole = sizes.to_sender_whole(row)
    assert whole == sizes.to_sender(row) * (2 if row.log_bins == 10 else 1)
    assert sizes.plan(row, "paper").request_bytes < whole / 2


@psi_rows
def test_paper_plans_count_as_the_paper_does(row: PsiRow) -> None:
    plan = sizes.plan(row, "paper")
    counts, ours = protocol.operations(row, whole=True), plan.counts()
    assert plan.cell_bits == row.cell_bits
    assert ours.external_product == counts.products
    packing = plan.bins if row.log_bins >= 11 else 2 * plan.bins
    expansion = ours.substitution - packing + plan.replies
    # A ciphertext half full needs one stage less.
    stages = min(row.log_bins, 11)
    assert expansion == pytest.approx(counts.substitutions * ((1 << stages) - 1) / 2047, rel=1e-3)


@psi_rows
def test_table_5(row: PsiRow) -> None:
    assert protocol.sixth(row) == row.bound
    below = (row.bits, row.log_bins) in {(32, 12), (32, 10), (30, 10)}
    assert (row.bound < protocol.chain_bound(row)) == below


def test_claims_of_the_text() -> None:
    assert protocol.request_reduction() == 4096
    assert 24.8 < math.log2(protocol.table_reduction()) < 25
    assert sizes.key_switch_keys() / MIB == pytest.approx(figures.KEY_SWITCH_MB, abs=0.05)
    assert sizes.rgsw_key() / 1024 == figures.RGSW_KB
