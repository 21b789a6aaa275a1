# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Memory, cycles, resources and security: the printed figures, or the stated difference."""

from __future__ import annotations

import pytest

from ringforge import params
from ringforge.lab.papers.matmul import (
    CLAIMS,
    OUR_SETS,
    RESOURCES,
    SETS,
    U280,
    MemoryModel,
    Shape,
    benchmark,
    consistency,
    cycle_model,
    named_sets,
    product_counts,
    security,
    working_digits,
)

MIB, GIB = 2**20, 2**30


@pytest.mark.parametrize(
    ("name", "convention", "unit", "ciphertext", "product", "hoisted"),
    [
        ("A", "log Q", 1e6, 0.4465, 3.616, 0.536),
        ("A", "54-bit", MIB, 0.527, 4.27, 0.633),
        ("B", "log Q", MIB, 6.68, 60.1, 7.31),
        ("B", "54-bit", MIB, 6.75, 60.75, 7.38),
        ("C", "log Q", MIB, 26.45, 253.0, 28.1),
        ("C", "54-bit", MIB, 27.0, 258.2, 28.7),
        ("C", "64-bit", MIB, 32.0, 306.0, 34.0),
    ],
)
def test_memory_by_convention(
    name: str, convention: str, unit: float, ciphertext: float, product: float, hoisted: float
) -> None:
    model = MemoryModel.of(SETS[name], convention)
    found = (model.ciphertext / unit, model.product / unit, model.hoisted_transform / unit)
    assert found == pytest.approx((ciphertext, product, hoisted), rel=3e-3)


def test_printed_examples_are_within_two_percent_of_some_reading() -> None:
    for name, p in SETS.items():
        models = [MemoryModel.of(p, c) for c in ("log Q", "54-bit")]
        pairs = [(CLAIMS.ciphertext_mb[name], "ciphertext"), (CLAIMS.product_mb[name], "product")]
        if name == "C":
            pairs.append((CLAIMS.hoisted_mb_c, "hoisted_transform"))
        for printed, what in pairs:
            readings = [getattr(m, what) / unit for m in models for unit in (1e6, MIB)]
            assert min(abs(r / printed - 1) for r in readings) < 0.02, (name, what)


@pytest.mark.parametrize("name", "ABC")
def test_equations_19_to_23_add_up(name: str) -> None:
    model = MemoryModel.of(SETS[name], "54-bit")
    assert model.transform_step2 - model.transform_step1 == model.ciphertext
    extended = 0.5 * SETS[name].digits * model.extended
    assert model.product == pytest.approx(7.5 * model.ciphertext + extended)
    assert model.key == pytest.approx(2 * extended)


@pytest.mark.parametrize(
    ("name", "keys"), [("IV-A", 0.117), ("IV-B", 7.53), ("IV-C", 69.2), ("II-B", 284.4), ("II-C", 2512.0)]
)
def test_keys_of_all_rotations(name: str, keys: float) -> None:
    entry = benchmark(name)
    x = product_counts(entry.shape, entry.parameters.slots)
    assert MemoryModel.of(entry.parameters, "54-bit").all_keys(x) / GIB == pytest.approx(keys, rel=3e-3)


def test_diagonals_of_the_largest_cube() -> None:
    x = product_counts(Shape(160, 160, 160), SETS["C"].slots)
    assert x.masks == 1276
    assert MemoryModel.of(SETS["C"], "54-bit").all_masks(x) / GIB == pytest.approx(23.1, abs=0.05)
    assert MemoryModel.of(SETS["C"], "64-bit").all_masks(x) / GIB == pytest.approx(27.4, abs=0.05)


def test_cycle_model() -> None:
    model = cycle_model("C")
    assert (model.ntt, model.rotation) == (4096, 90_112)
    seconds = model.latency(benchmark("IV-C").shape)
    parts = (seconds.rotations, seconds.hoisted, seconds.products, seconds.total)
    assert parts == pytest.approx((0.38, 1.48, 0.80, 2.66), abs=5e-3)
    assert cycle_model("B").latency(benchmark("IV-B").shape).total == pytest.approx(0.34, abs=5e-3)
    assert cycle_model("A").latency(benchmark("IV-A").shape).total == pytest.approx(5.9e-3, abs=5e-5)
    assert model.key_bytes_per_second == pytest.approx(389e9, rel=1e-3)
    assert cycle_model("B").stream_bytes_per_second > U280.hbm_bytes_per_second


def test_slower_stages_cost_more_and_exact_rotations_less() -> None:
    shape = benchmark("III-A").shape
    exact = product_counts(shape, SETS["A"].slots).rotations
    model = cycle_model("A")
    assert model.latency(shape, exact).total < model.latency(shape).total
    assert cycle_model("A", stage_passes=2).ntt == 2 * model.ntt


def test_tables_iv_and_v() -> None:
    for name in "ABC":
        c = consistency(name)
        assert c.dsp == RESOURCES[name].dsp == 5376
    assert consistency("A").ratio == 1
    assert consistency("C").ratio == pytest.approx(1, abs=1e-3)
    assert consistency("B").ratio == pytest.approx(2, abs=2e-3)
    assert [(consistency(n).limbs, consistency(n).limbs_by_blocks) for n in "ABC"] == [(16, 16), (36, 18), (72, 72)]
    assert [consistency(n).limbs_needed for n in "ABC"] == [12, 35, 68]
    assert U280.bram36 < RESOURCES["C"].bram < 2 * U280.bram36


def test_security_of_the_printed_sets() -> None:
    assert [round(security(SETS[n]).log_qp) for n in "ABC"] == [262, 1282, 2328]
    for name in "ABC":
        s = security(SETS[name])
        assert s.limit == params.max_log_qp(SETS[name].degree.bit_length() - 1)
        assert not s.holds
    assert [round(security(SETS[n]).estimate) for n in "ABC"] == [105, 87, 96]


def test_digits_that_work() -> None:
    assert working_digits(SETS["A"]) == ((1, 5), (5, 1))
    assert working_digits(SETS["B"]) == ((8, 2), (8, 2))
    assert working_digits(SETS["C"]) == ((12, 3), (12, 3))


def test_named_sets_stand_for_the_paper_s() -> None:
    found = {s.name: s for s in named_sets()}
    assert tuple(found) == OUR_SETS
    for name, p in SETS.items():
        ours, secure = found[f"matmul-{name.lower()}"], found[f"matmul-{name.lower()}-128"]
        assert (1 << ours.log_n, ours.limbs, ours.special) == (p.degree, p.limbs, p.special)
        assert ours.log_q == pytest.approx(p.log_q, abs=0.5)
        assert not ours.security.holds
        assert secure.security.holds
        assert secure.limbs == p.limbs
