# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The tables of our machine beside the paper's: what the saved results say, and what is left out without them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ringforge.hw.machines.matvec.validation import CASES, predict
from ringforge.lab.papers.matvec.machine_tables import tables
from ringforge.lab.tables import Table, Value

RESULTS = Path(__file__).parents[4] / "bench" / "results"


@pytest.fixture(scope="module")
def ours() -> dict[str, Table]:
    return {t.title: t for t in tables(RESULTS)}


def _of(found: dict[str, Table], part: str) -> Table:
    return next(t for title, t in found.items() if part in title)


def _numbers(table: Table, column: str) -> list[float]:
    at = table.columns.index(column)
    return [row[at].number for row in table.rows if isinstance(row[at], Value)]


def test_without_results_only_what_is_compiled_is_shown(tmp_path: Path) -> None:
    assert [t.title.split(":")[1].split()[0] for t in tables(tmp_path)] == ["traffic"]


def test_the_model_is_within_two_percent_of_rtl(ours: dict[str, Table]) -> None:
    table = _of(ours, "cycle model against RTL")
    errors = _numbers(table, "error")
    assert len(errors) >= 12
    assert max(map(abs, errors)) < 2
    assert all(row[table.columns.index("traffic")] == "equal" for row in table.rows)


def test_the_saved_model_is_the_present_one(ours: dict[str, Table]) -> None:
    """Compiler and model still give the cycles that were compared with RTL."""
    table = _of(ours, "cycle model against RTL")
    saved = _numbers(table, "model")
    for number in (0, 5):
        assert predict(CASES[number]).cycles == saved[number]


def test_passes_save_traffic(ours: dict[str, Table]) -> None:
    both, no_tiling, no_fusion, neither = _numbers(_of(ours, "traffic"), "all")
    assert both < no_tiling < neither
    assert both < no_fusion < neither


def test_what_the_machine_was_built_for(ours: dict[str, Table]) -> None:
    """The figures that the documents quote."""
    primitives = {(row[0], row[1]): row[4] for row in _of(ours, "Table VI:").rows}
    assert primitives["NTT", "rtl:matvec-b"].number <= 14_658
    reached = {(row[0], row[1]): row[6].number for row in _of(ours, "Table V:").rows}
    assert reached["1 rotations", "rtl:matvec-b"] >= 80
    assert reached["16 rotations", "rtl:matvec-b"] >= 85
    bsgs, diagonal = _numbers(_of(ours, "computed in RTL"), "cycles")
    assert diagonal > 8 * bsgs
