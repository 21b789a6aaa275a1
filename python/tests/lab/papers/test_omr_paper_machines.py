# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Our machines beside the paper's: what is saved goes before the models, and every number says which it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ringforge.cli import main
from ringforge.errors import FormatError
from ringforge.hw.machines.omr import cost as machine
from ringforge.hw.machines.omr.config import OmrConfig
from ringforge.lab.papers.omr import Measured, machine_tables
from ringforge.lab.tables import Cell, Table, Value
from ringforge.lab.timing import Timing
from ringforge.runs import Record
from tests.answers import result_of

FOUND = Measured(*(Timing(ms / 1e3, ms / 2e3) for ms in (0.5, 4.0, 50.0, 3.0)))


def _number(cell: Cell) -> float:
    assert isinstance(cell, Value)
    return cell.number


def _row(table: Table, name: str) -> tuple[Cell, ...]:
    (row,) = (r for r in table.rows if r[0] == name)
    return row


def _record(device: str, work: str, algorithm: str, cycles: int, **extra: Any) -> str:
    sizes = {"log_n": 16, "limbs": 19, "special": 10, "rotations": [1], **extra}
    return Record(
        "hw-omr", work, "N = 65536", algorithm, cycles / 2e8, device=device, cycles=cycles, extra=sizes
    ).to_json()


def _save(folder: Path, name: str, *lines: str) -> None:
    (folder / name).write_text("\n".join([*lines, "no record"]) + "\n")


def test_the_papers_design_by_our_cost_model(tmp_path: Path) -> None:
    table = machine_tables.table3(machine_tables.Saved(tmp_path))
    assert [_number(row[3]) for row in table.rows] == [6920, 6924, 6932, 6948]
    assert [_number(row[6]) for row in table.rows] == pytest.approx([2150.2] * 4)
    assert {cell.source for row in table.rows for cell in row[3:] if isinstance(cell, Value)} == {"model"}


def test_products_take_the_papers_and_our_slices(tmp_path: Path) -> None:
    table = machine_tables.table4(machine_tables.Saved(tmp_path))
    product = _row(table, "PCmul")
    assert (_number(product[1]), _number(product[5])) == (897, 16 * 27)
    assert "would take 320" in " ".join(table.notes)
    assert "194.6 MHz" in table.notes[0]
    for name, operator in (("PCmul", machine.product), ("CCadd", machine.addition)):
        cell = _row(table, name)[8]
        assert isinstance(cell, Value)
        assert cell.source == "rtl"
        assert 155_648 < cell.number <= 155_848
        assert cell.number == pytest.approx(
            operator(OmrConfig.named("omr-paper"), machine.PUBLISHED_CHAIN).cycles, abs=2
        )


def test_products_of_a_matrix(tmp_path: Path) -> None:
    table = machine_tables.matmuls(machine_tables.Saved(tmp_path))
    equations = _row(table, "its operators by Eqs 3 to 6, each output by itself")
    assert (_number(equations[1]), _number(equations[2])) == pytest.approx((2150.2, 4300.4))
    shared = _row(table, "the same, baby steps shared")
    assert _number(shared[2]) == pytest.approx(45 * 31.35 + 46 * 32.15)
    config = OmrConfig.named("omr-paper")
    turn = machine.rotation_cycles(config, machine.PUBLISHED_CHAIN)
    step = max(23 * 155_660, turn) + 155_650
    ours = _row(table, "its design, operators of our RTL, each output by itself")
    assert _number(ours[1]) == pytest.approx((45 * turn + 23 * step) / 2e5, rel=1e-3)
    for name in ("omr-paper", "omr-u55c"):
        row = _row(table, name)
        assert _number(row[1]) < _number(row[2]) < 2 * _number(row[1])
        assert all(isinstance(cell, Value) and cell.source in ("model", "derived") for cell in row[1:])
    assert "as none is saved" in table.notes[-1]


def test_saved_runs_go_before_the_models(tmp_path: Path) -> None:
    _save(
        tmp_path,
        "hw-omr-paper-rotation-2026-01-02.jsonl",
        _record("rtl:omr-paper", "rotation", "--rotation --count 1", 3_300_000),
        _record("rtl:omr-paper", "rotation", "--rotation --count 1", 1, log_n=12),
        _record("model:omr-paper", "rotation", "--rotation --count 1 --model", 2),
        _record("rtl:omr-other", "rotation", "--rotation --count 1", 3),
    )
    _save(
        tmp_path,
        "hw-omr-paper-rotation-2026-01-01.jsonl",
        _record("rtl:omr-paper", "rotation", "--rotation --count 1", 4_000_000),
        _record("rtl:omr-paper", "rotation", "--rotation --count 3", 9_000_000, rotations=[3]),
    )
    model = "--matmul --outputs {} --method ringforge --model"
    _save(
        tmp_path,
        "hw-omr-paper-matmul-1-model-2026-01-02.jsonl",
        _record("model:omr-paper", "matrix x vector", model.format(1), 240_000_000, rotations=[45, 22]),
        _record("model:omr-paper", "matrix x vector", model.format(2), 320_000_000, rotations=[46, 44]),
        _record("model:omr-paper", "matrix x vector", model.format(2).replace("ringforge", "paper"), 5),
    )
    saved = machine_tables.Saved(tmp_path)
    assert saved.rotation("omr-paper") == Value(3_300_000, "", "rtl")
    closed = saved.rotation("omr-u55c")
    assert closed.source == "model"
    _save(
        tmp_path,
        "hw-omr-u55c-rotation-model-2026-01-02.jsonl",
        _record("model:omr-u55c", "rotation", "--rotation --model", 700_000, limbs=24, special=12),
    )
    assert machine_tables.Saved(tmp_path).rotation("omr-u55c") == Value(700_000, "", "model") != closed
    assert saved.matmul("omr-paper", 1) == (Value(240_000_000, "", "model"), True)
    assert saved.matmul("omr-paper", 2)[0].number == 320_000_000
    assert saved.matmul("omr-u55c", 1)[1] is False
    table = machine_tables.table4(saved)
    turn = _row(table, "Rot")
    assert turn[8] == Value(3_300_000, "", "rtl")
    assert turn[9] == Value(16.5, "ms", "derived")
    assert not any("No rotation in RTL" in note for note in table.notes)
    assert _number(_row(machine_tables.speedups(saved, None), "Rot")[2]) == pytest.approx(31.35 * 6.81 / 16.5)


def test_saved_syntheses_go_before_the_model(tmp_path: Path) -> None:
    total = {"dsp": 4400, "bram36": 900.0, "uram": 700, "lut": 1, "flip_flops": 1}
    path = tmp_path / "hw-omr-paper-synth-2026-01-01.json"
    path.write_text(json.dumps({"machines": {"machine": {"total": total}}}))
    saved = machine_tables.Saved(tmp_path)
    found, source = saved.total("omr-paper")
    assert (found.dsp, found.bram36, found.uram, source) == (4400, 900.0, 700, "rtl")
    core, source = saved.core("omr-paper")
    assert (core.dsp, source) == (4400 - 2 * 16 * 27, "derived")
    assert not any("No synthesis" in note for note in machine_tables.table4(saved).notes)
    path.write_text(json.dumps({"machines": {"machine": {"total": {"dsps": 1}}}}))
    with pytest.raises(FormatError, match="holds no synthesis"):
        machine_tables.Saved(tmp_path)


def test_improvements_over_both_cpus(tmp_path: Path) -> None:
    saved = machine_tables.Saved(tmp_path)
    plain, measured = machine_tables.speedups(saved, None), machine_tables.speedups(saved, FOUND)
    assert [_number(row[1]) for row in plain.rows] == [3.05, 19.13, 6.81, 13.86]
    assert all(cell is None for row in plain.rows for cell in row[4:])
    assert "SCALED" in measured.title
    turn, whole = _row(measured, "Rot"), _row(measured, "MatMul")
    assert turn[4] == Value(50.0, "ms", "measured")
    assert _number(turn[5]) == pytest.approx(50 / 31.35)
    assert isinstance(whole[4], Value)
    assert whole[4].source == "derived"
    assert _number(whole[4]) == pytest.approx(1024 * 7 + 67 * 50 + 1023 * 0.5)


def test_equation_7(tmp_path: Path) -> None:
    table = machine_tables.equation7(machine_tables.Saved(tmp_path))
    for row in table.rows:
        cores, product, addition, turn = (_number(cell) for cell in row[1:5])
        assert _number(row[5]) == cores * product + (cores + 1) * addition + turn
    first = table.rows[0]
    assert _number(first[5]) == _number(first[6]) == 6920
    ours = _row(table, "omr-u55c")
    assert _number(ours[5]) == machine.total(OmrConfig.named("omr-u55c")).dsp


def test_what_follows_from_no_model() -> None:
    table = machine_tables.unexplained()
    assert _row(table, "Rot: URAM")[2] is None
    for name in ("Rot: time", "Rot: DSP", "MatMul: URAM"):
        row = _row(table, name)
        assert _number(row[2]) < _number(row[1])
    assert _number(_row(table, "PCmul: DSP")[2]) == 897


def test_errors_of_the_models(tmp_path: Path) -> None:
    assert machine_tables.validation(tmp_path) == []
    lines = []
    for work, cycles, replica, closed in (("rotations", 1000, 1010, 900), ("giants", 1000, 999, 1020)):
        extra = {"replica": replica, "closed_form": closed}
        record = Record("hw-validation", "x", "drawn", work, 1e-3, device="rtl:omr-small", cycles=cycles, extra=extra)
        lines.append(record.to_json())
    (tmp_path / "hw-omr-validation-2026-01-01.jsonl").write_text("\n".join(lines) + "\n")
    (table,) = machine_tables.validation(tmp_path)
    assert [_number(cell) for row in table.rows for cell in row[2:]] == pytest.approx([1.0, 10.0, 0.1, 2.0])
    titles = [t.title for t in machine_tables.tables(tmp_path)]
    assert titles[-1].startswith("Models of omr")


def test_tables_go_with_the_papers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert machine_tables.tables(tmp_path, ("sizes",)) == []
    assert len(machine_tables.tables(tmp_path, ("III",))) == 1
    assert main(["reproduce", "omr", "--table", "IV", "--json", "--results", str(tmp_path)]) == 0
    titles = [t["title"] for t in result_of(capsys.readouterr().out)["tables"]]
    starts = ("Table IV: ", "Table IV beside", "A matrix x vector", "Improvements over", "Equation 7")
    assert len(titles) == len(starts)
    assert all(title.startswith(start) for title, start in zip(titles, starts, strict=True))
