# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Our machines beside the paper: structures, times with data movement, what is read from saved runs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ringforge._native import kernels, psi
from ringforge.cli import main
from ringforge.devices import Progress
from ringforge.errors import ParameterError
from ringforge.hw.core.model import ModelDevice
from ringforge.hw.machines.psi import program as psi_program
from ringforge.hw.machines.psi.config import PsiConfig
from ringforge.hw.machines.psi.executors import Interpreted, Run
from ringforge.hw.machines.psi.job import Job
from ringforge.hw.machines.psi.measure import Query
from ringforge.hw.machines.psi.program import Instruction
from ringforge.hw.machines.psi.streams import SYSTEM, streams
from ringforge.hw.machines.psi_wide.config import WideConfig
from ringforge.hw.machines.psi_wide.layout import Setup
from ringforge.hw.machines.psi_wide.leaves import Leaves
from ringforge.hw.machines.psi_wide.lookup import LookupMachine
from ringforge.hw.machines.psi_wide.program import Op, Program
from ringforge.hw.machines.psi_wide.runner import Executor, Memory
from ringforge.lab.papers.psi import GATE_ROWS, PSI_ROWS, lookup_time, machine_tables, protocol, sizes, structures
from ringforge.lab.tables import Value
from ringforge.psi.info import CutFields, PlanFields
from ringforge.psi.table import Arrays
from ringforge.runs import Record
from tests.answers import result_of


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
    config, work = WideConfig.named("psi-wide-54"), lookup_time.Work.of(better)
    rows = lookup_time.Streaming(config)
    unit, seconds = rows.seconds(work)
    assert unit == "forward transform"
    assert seconds == pytest.approx((better.counts().ntt - better.replies) * 128 / 125e6)
    assert 10 < seconds <= 20
    assert lookup_time.Streaming.of(config, better, sizes.entries(PSI_ROWS[0], "ringforge")) == rows
    assert rows.dsp(11) <= 3420
    # Bins of fewer cells than a leaf has rows are summed by cells, as many in every leaf.
    cells = lookup_time.Streaming.of(config, better, (1 << better.log_onehot) - 1)
    assert cells.cells == ((1 << better.log_onehot) - 1) << better.tree_bits
    assert cells.seconds(work)[1] < seconds
    assert lookup_time.Streaming.of(config, better, 1 << better.log_onehot).cells == 0
    # A second transform is as fast and does not fit.
    more = lookup_time.Streaming(config, row_unit=True)
    assert more.seconds(work)[0] == "unit for rows"
    assert more.seconds(work)[1] < 10
    assert more.dsp(11) > 3420


class _Counted(Interpreted):
    """Counts instructions by digits of products, and substitutions."""

    def __init__(self) -> None:
        self.found: Counter[int] = Counter()

    def run(self, device: Any, job: Job) -> Run:
        for word in job.instructions:
            digits = job.settings.a.count + job.settings.b.count
            self.found[0 if Instruction.of(word).op is psi_program.Op.SUBSTITUTE else digits] += 1
        return super().run(device, job)


def test_the_published_look_up_runs_as_counted() -> None:
    """Instructions of a whole query of four bins: substitutions, products of all digits, and of one."""
    digits, config = CutFields(log_base=4, count=7, drop=0), PsiConfig.named("psi-small")
    plan = PlanFields(
        algorithm="paper", log_n=8, modulus=int(kernels.primes_below(27, 1, 512)[0]), log_bins=2, cell_bits=10,
        log_cell=0, log_t=1, log_onehot=0, gadget=digits, expansion=[CutFields(log_base=3, count=9, drop=0)] * 8,
        log_reply=10, insecure="tests",
    ).native()  # fmt: skip
    query, counted = Query(plan), _Counted()
    assert query.run(ModelDevice("psi-small"), counted).exact
    counts, first = plan.counts(), lookup_time.first_level(plan)
    wanted = {0: counts.substitution, 2: first, 14: counts.external_product - first}
    assert dict(counted.found) == wanted
    seconds = lookup_time.Chain(config).moved(plan)
    each = lookup_time.Chain(config).operation(plan)
    assert seconds.products == pytest.approx((wanted[14] * each[1] + first * each[2]) / config.clock_hz)


class _Kept(Executor):
    """Keeps the program and runs nothing."""

    program: Program

    def run(self, setup: Setup, program: Program, memory: Memory, progress: Progress | None = None) -> int | None:
        del setup, memory, progress
        self.program = program
        return None


@pytest.mark.parametrize(("log_bins", "most"), [(3, None), (5, 8)])
def test_work_is_what_the_machine_is_told_to_do(log_bins: int, most: int | None) -> None:
    """Instructions of a whole query of few bins, by unit."""
    fields = sizes.plan_fields(32, 14, "ringforge").model_copy(update={"log_bins": log_bins})
    plan = fields.native()
    client = psi.ClientKey(plan)
    kept = _Kept()
    machine = LookupMachine(WideConfig.named("psi-wide-54"), psi.SessionKeys(plan, client.evaluation_keys()), kept)
    empty = Arrays(
        np.zeros(plan.bins + 1, np.uint64), np.zeros(0, np.uint32), np.zeros((0, 1), np.uint16), np.zeros(0, np.uint16)
    )
    machine.results(client.query(np.zeros(plan.bins, np.uint32)), Leaves(machine.config, plan, empty, most))
    work, told = lookup_time.Work.of(plan), kept.program.instructions

    def units(*operations: Op) -> int:
        return sum(i.s1 for i in told if i.op in operations)

    assert (units(Op.LOAD), units(Op.STORE)) == (work.loads + (most is not None), work.stores)
    rows, cells = (work.rows, 0) if most is None else (0, work.leaves * most)
    assert (units(Op.PLAIN), units(Op.CELLS)) == (rows, cells)
    products = [i for i in told if i.op is Op.PRODUCT]
    assert sum(1 + i.both for i in products) == work.inverse
    assert sum(i.op is Op.LINEAR for i in told) == work.linear


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
    titles = [t["title"] for t in result_of(capsys.readouterr().out)["tables"]]
    for start in ("Table 2, our machines", "Table 4, our machines", "Figure 10", "Asymmetric and symmetric"):
        assert any(t.startswith(start) for t in titles), start
    assert not any(t.startswith("Both pipelines in RTL") for t in titles)
