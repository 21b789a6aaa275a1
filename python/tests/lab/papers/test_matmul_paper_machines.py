# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The paper's benchmarks on our machines: bounds, traffic, sizes, prices."""

from __future__ import annotations

from pathlib import Path

import pytest

from ringforge.cli import main
from ringforge.hw.machines.matmul import stages
from ringforge.lab.papers.matmul import BENCHMARKS, RESOURCES, SETS, benchmark, cycle_model, machine_tables, machines
from ringforge.lab.papers.matmul.resources import consistency
from ringforge.lab.tables import Value
from ringforge.runs import Record
from tests.answers import printed


def test_falling_levels_take_less_than_the_highest() -> None:
    for entry in BENCHMARKS:
        model = cycle_model(entry.set_name)
        assert model.falling(entry.shape).total < model.latency(entry.shape).total
    seconds = cycle_model("C").falling(benchmark("IV-C").shape)
    assert (seconds.rotations, seconds.total) == pytest.approx((0.38, 2.57), abs=0.01)


def test_our_price_of_the_paper_s_schedule_is_near_its_bound() -> None:
    cube = benchmark("IV-C")
    p = machines.paper_schedule(cube)
    bound = p.bound_cycles / 300e6
    assert cycle_model("C").falling(cube.shape).total < bound < p.seconds <= 2.9
    # Mixed radix and exact rotations are all that tells the bounds apart.
    assert bound == pytest.approx(cycle_model("C").falling(cube.shape).total, rel=0.06)


def test_keys_of_the_largest_cube_come_from_the_host() -> None:
    afar = machines.from_afar(benchmark("IV-C"))
    assert afar.stored / 2**30 == pytest.approx(69.3 + 22.9, abs=0.2)
    assert afar.far_seconds is None
    assert afar.host_seconds > 3 * machines.paper_schedule(benchmark("IV-C")).seconds
    assert machines.from_afar(benchmark("IV-A")).crossing == 0
    medium = machines.from_afar(benchmark("IV-B"))
    assert medium.far_seconds is not None
    # Less than what is stored beyond near memory is impossible.
    assert medium.crossing >= medium.stored - machines.config("B").dram_bytes


@pytest.mark.parametrize("name", "ABC")
def test_loops_are_near_their_bounds(name: str) -> None:
    p = machines.loop_price(name, name)
    set_ = machines.parameters(name)
    limbs, special = len(set_.q), len(set_.p)
    digits = -(-limbs // int(set_.limbs_per_digit))
    assert p.bound.rotation == (limbs + special) * (2 * digits + 2) * p.rows
    assert p.bound.rotation >= 0.85 * p.rotation
    # Where a limb has 128 rows or more; 64 rows wait here and there.
    assert p.hoisted <= (1.1 if p.rows >= 128 else 1.2) * p.bound.hoisted
    assert p.alone < p.paired <= 1


def test_few_rows_wait_unless_two_transforms_take_turns() -> None:
    few = machines.loop_price("A", "C")
    assert few.rows == 32
    assert few.alone < 0.75 < 0.95 < few.paired
    # By hand: 13 stages of 32 rows, 12 gaps of 11, 28 to the end.
    assert machines.transform_cycles(13, 32) == 13 * 32 + 12 * 11 + 28
    assert machines.transform_cycles(13, 64) == 13 * 64 + 28


def test_traffic_with_and_without_the_memory_optimised_order() -> None:
    with_mo, without = (machines.transform_traffic("C", 319, o) for o in (True, False))
    limb = 54 * 2**16 / 8
    # Both parts in, the second once more as digits, both parts out.
    assert with_mo.ciphertexts == (3 * 32 + 2 * 31) * limb
    assert with_mo.ciphertexts <= 135e6
    assert without.ciphertexts > 100 * 135e6
    for t in (with_mo, without):
        assert t.entities["keys"] == 319 * 2 * 3 * 44 * limb


@pytest.mark.parametrize("name", "ABC")
def test_scratchpads_hold_what_the_paper_s_do(name: str) -> None:
    found = machines.generated(name)
    assert found.same == machines.MACHINES[name][0]
    assert machines.peak_limbs(name) <= consistency(name).limbs_needed <= machines.limbs_of(name)
    assert machines.limbs_of(name) == consistency(name).limbs


def test_blocks_by_table_iv_are_twice_those_of_table_v_for_fame_m_only() -> None:
    table = machine_tables.sizes()
    for row, name in zip(table.rows, SETS, strict=True):
        used, factor = RESOURCES[name], 2 if name == "B" else 1
        blocks = factor * (used.bram - 256) + 256
        assert row[3] == f"{blocks:,} + {factor * used.uram:,} (d)"


def test_quick_tables_name_every_number_s_source() -> None:
    made = machine_tables.quick_tables()
    values = [c for t in made for row in t.rows for c in row if isinstance(c, Value)]
    assert len(values) > 150
    papers = [v.number for v in values if v.source == "paper"]
    assert 3.0 in papers
    assert 100.0 in papers


def test_keys_of_the_largest_cube_have_a_column_of_their_own() -> None:
    table = machine_tables.benchmarks()
    row = next(r for r in table.rows if r[0] == "IV-C")
    keys = row[table.columns.index("keys")]
    assert isinstance(keys, Value)
    assert keys.number == pytest.approx(69.2, abs=0.2)
    assert keys.unit == "GiB"


def test_a_small_benchmark_by_our_plan() -> None:
    entry = benchmark("IV-A")
    choice, cycles = machines.our_plan(entry, None)
    planned = machines.machine_plan(entry, None)
    assert planned.cycles <= cycles
    assert planned.far is None
    rows = machine_tables.stage_tables(entry)[0].rows
    assert len(rows) == len(choice.chosen.cost.stages)
    assert cycles < 0.25 * machines.paper_schedule(entry).cycles


@pytest.mark.long
def test_the_largest_cube_by_our_plans() -> None:
    cube, clock = benchmark("IV-C"), 300e6
    full, low = machines.machine_plan(cube, None), machines.machine_plan(cube, 4)
    assert full.cycles / clock <= 0.9
    assert low.cycles / clock <= 0.3
    assert full.far is not None
    assert low.far is None
    gadget = machines.context("C").gadget
    steps = stages.far_steps(machines.config("C"), gadget, full.choice.plan, full.choice.chosen.cost)
    for i in range(0, len(steps), 97):
        for name in steps[i].reads:
            assert 0 <= full.far.place(name, i) < full.far.places


@pytest.mark.long
def test_the_whole_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "matmul", "--results", str(tmp_path)]) == 0
    text = printed(capsys)
    for part in ("where the time goes", "Figure 6", "our plans on the same machines"):
        assert part in text
    peer = Record(
        system="matmul",
        case="160-160-160",
        params="matmul-c",
        algorithm="fame",
        level=31,
        seconds=1.0,
        peer_seconds=5.0,
    )
    table = machine_tables.speedups([peer])
    assert table.rows[-1][0] == "mean: of twelve over processors; of 1 over Lattigo"
