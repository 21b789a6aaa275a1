# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Our machines beside the paper: structures, times with data movement, what is read from saved runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ringforge.cli import main
from ringforge.errors import ParameterError
from ringforge.hw.machines.psi.config import PsiConfig
from ringforge.hw.machines.psi.streams import SYSTEM, streams
from ringforge.hw.machines.psi_wide.config import WideConfig
from ringforge.lab.papers.psi import GATE_ROWS, PSI_ROWS, lookup_time, machine_tables, protocol, sizes, structures
from ringforge.lab.tables import Value
from ringforge.runs import Record


def _number(cell: object) -> float:
    assert isinstance(cell, Value)
    return cell.number


def test_parts_of_figure_10_add_up_and_software_is_half() -> None:
    row = PSI_ROWS[0]
    parts = protocol.breakdown(row)
    assert sum(parts) == pytest.approx(row.seconds)
    assert parts[3] / row.seconds == pytest.approx(0.5, abs=0.005)


def test_structures_have_what_the_text_says() -> None:
    size = structures.Size(11, 3, 37)
    ours, theirs = structures.asymmetric(size), structures.symmetric(size).times(structures.copies(size))
    assert theirs.row_modules == pytest.approx(11)
    assert theirs.twiddles / ours.twiddles == pytest.approx(11)
    assert ours.buffers / theirs.buffers == pytest.approx(0.5)
    assert structures.asymmetric(size, buffers=2).buffers == pytest.approx(theirs.buffers)
    # Equal throughput but for the stages' drain, and equal forward butterflies.
    assert structures.asymmetric(size, drain=0).interval == pytest.approx(theirs.interval)
    assert ours.butterflies - 2 * ours.inverses == pytest.approx(theirs.butterflies - 2 * theirs.inverses)
    assert (ours.inverses, structures.asymmetric(structures.Size(11, 6, 54)).inverses) == (4, 2)
    assert ours.memory_bits(11) == (1 + 11) * 2048 * 37


def test_work_of_a_query_is_that_of_the_plan() -> None:
    """Counted again from the algorithm's description, bin by bin, with the digits that the plan has at each stage."""
    plan = sizes.plan(PSI_ROWS[0], "ringforge")
    work, bins = lookup_time.Work.of(plan), plan.bins
    outputs = (1 << plan.log_onehot) + (plan.tree_bits + plan.rotation_bits) * plan.gadget.count
    nodes = [plan.groups << s for s in range(11)]
    assert work.expansion == sum(nodes) * outputs
    assert work.expansion_digits == outputs * sum(n * c.count for n, c in zip(nodes, plan.expansion, strict=True))
    assert work.products == bins * ((1 << plan.tree_bits) - 1 + plan.rotation_bits)
    assert work.rows == bins << plan.row_bits
    with pytest.raises(ParameterError, match="paper"):
        lookup_time.Work.of(sizes.plan(PSI_ROWS[0], "paper"))


def test_the_lookup_keeps_its_times() -> None:
    """(32, 14): the paper's algorithm within 280 s, ours within 20 s and 3,420 DSP slices."""
    same, better = (sizes.plan(PSI_ROWS[0], a) for a in ("paper", "ringforge"))
    for name in ("psi-54", "psi-54-lean"):
        moved = lookup_time.Chain(PsiConfig.named(name)).moved(same)
        assert moved.overlapped <= 280
        assert moved.in_turns > moved.overlapped > max(moved.to_card, moved.from_card, moved.card_memory)
    streaming = lookup_time.Streaming(WideConfig.named("psi-wide-54"))
    work = lookup_time.Work.of(better)
    unit, seconds = streaming.seconds(work)
    assert unit == "forward transform"
    assert seconds == pytest.approx((better.counts().ntt - better.replies) * 128 / 125e6)
    assert seconds <= 20
    assert streaming.dsp(11) <= 3420


def test_a_unit_for_rows_is_bound_by_memory() -> None:
    """It takes rows off the transform, which then does not bind; reading rows does."""
    work = lookup_time.Work.of(sizes.plan(PSI_ROWS[0], "ringforge"))
    config = WideConfig.named("psi-wide-54")
    unit, seconds = lookup_time.Streaming(config, row_unit=True).seconds(work)
    assert unit == "memory reads"
    assert seconds < lookup_time.Streaming(config).seconds(work)[1]
    assert lookup_time.Streaming(config, row_unit=True).dsp(11) > 3420
    sparse = lookup_time.Streaming(config, sparse=sizes.entries(PSI_ROWS[0], "ringforge"))
    assert sparse.seconds(work)[1] < 10


def test_chain_bounds_of_our_machine_deny_three_rows_of_table_5(tmp_path: Path) -> None:
    table = machine_tables.table5(machine_tables.Cycles(tmp_path))
    denied = {str(row[0]) for row in table.rows if row[-1] == "no"}
    assert denied == {"32, 12", "32, 10", "30, 10"}


def test_gates_take_what_the_paper_prints(tmp_path: Path) -> None:
    """Within 2 % of Table 2 everywhere: memory here does not slow keys down."""
    table = machine_tables.table2(machine_tables.Cycles(tmp_path))
    for row, line in zip(GATE_ROWS, table.rows, strict=True):
        assert _number(line[3]) * 1e3 == pytest.approx(row.processing_us, rel=0.02)
        assert _number(line[5]) < _number(line[3])


def test_saved_cycles_go_before_the_model(tmp_path: Path) -> None:
    stream = streams("psi-54")[0]
    extra = {"kind": stream.kind, "operation_cycles": 4000.0}
    records = [
        Record(SYSTEM, stream.name, "zeros", stream.kind, 1e-5, device="rtl:psi-54", cycles=1, extra=extra),
        Record(
            "hw", "NAND", "gates-128", "ginx", 1e-3, device="rtl:psi-wide", cycles=1, extra={"gate_cycles": 125_000}
        ),
        Record("hw", "bin", "x", "x", 1e-3, device="rtl:psi-wide-54", cycles=1, extra={"bin_cycles": 100_000}),
    ]
    lines = [r.to_json() for r in records]
    (tmp_path / "hw-psi-x-2026-01-02.jsonl").write_text("\n".join([*lines, "no record"]) + "\n")
    older = json.loads(lines[0])
    older["extra"]["operation_cycles"] = 5000.0
    (tmp_path / "hw-psi-y-2026-01-01.jsonl").write_text(json.dumps(older) + "\n")
    cycles = machine_tables.Cycles(tmp_path)
    assert cycles.operation(stream) == Value(4000.0, "", "rtl")
    assert cycles.operation(streams("psi-54")[1]).source == "model"
    assert "1.00 ms a NAND in RTL" in " ".join(machine_tables.table2(cycles).notes)
    assert "13.1 s" in " ".join(machine_tables.table4(cycles).notes)


def test_command_shows_our_machines(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["reproduce", "psi", "--no-measure", "--json", "--results", str(tmp_path)]) == 0
    titles = [t["title"] for t in json.loads(capsys.readouterr().out)["tables"]]
    for start in ("Table 2, our machines", "Table 4, our machines", "Figure 10", "Asymmetric and symmetric"):
        assert any(t.startswith(start) for t in titles), start
    assert not any(t.startswith("Both pipelines in RTL") for t in titles)
