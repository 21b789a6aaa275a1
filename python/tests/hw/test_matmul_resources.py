# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Resources of the matmul machines: kinds of multipliers, and saved syntheses beside Table V."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ringforge.errors import FormatError
from ringforge.hw.core import report
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.machines.matmul.figures import DSP_PER_LANE, FIGURES
from ringforge.hw.machines.matmul.machine import MACHINE
from ringforge.lab.papers.matmul import machine_tables
from ringforge.lab.tables import Value

ROOT = Path(__file__).resolve().parents[3]
RESULTS = ROOT / "bench" / "results"
MACHINES = ("fame-s", "fame-m", "fame-l")  # those whose synthesis is saved
# What docs/hw/matmul.md says does not hold: more ultra RAM than the card has.
BROKEN = {
    "fame-l": ["barrett: 798 blocks of 18 kbit and 1152 URAMs, the paper's 3,328 and 672; the card has 4,032 and 960"]
}


def saved(name: str) -> Mapping[str, Any]:
    """The newest saved synthesis of a machine by kinds of multipliers."""
    found: Mapping[str, Any] = json.loads(sorted(RESULTS.glob(f"hw-{name}-synth-*.json"))[-1].read_text())["machines"]
    return found


def row(name: str, kind: str, total: Mapping[str, Any]) -> str:
    """A line of the table in docs/hw/matmul.md, memories in blocks of 18 kbit."""
    numbers = (total["dsp"], 2 * total["bram36"], total["uram"], total["lut"], total["flip_flops"])
    return f"| {name}, {kind} | " + " | ".join(f"{n:,.0f}" for n in numbers) + " |"


@pytest.mark.parametrize("name", ["fame-s", "fame-s-montgomery"])
def test_kinds_differ_in_their_multipliers_alone(name: str) -> None:
    kinds = FIGURES.variants(FameConfig.named(name))
    made = {kind: config.parameters(twin=False) for kind, config in kinds.items()}
    assert {kind: (p.pop("Kind"), p.pop("ShortInLuts")) for kind, p in made.items()} == {
        "barrett": (0, 0),
        "montgomery": (1, 0),
        "montgomery-luts": (1, 1),
    }
    assert made["barrett"] == made["montgomery"] == made["montgomery-luts"]


@pytest.mark.parametrize("name", MACHINES)
def test_saved_syntheses_keep_what_the_project_states(name: str) -> None:
    config = FameConfig.named(name)
    found = report.saved(RESULTS, MACHINE, config)
    assert found is not None
    synthesis, path, _ = found
    assert [text for holds, text in FIGURES.checks(synthesis) if not holds] == BROKEN.get(name, []), path
    for kind, lines in synthesis.machines.items():
        dsp = sum(line.total.dsp for line in lines)
        assert dsp == DSP_PER_LANE[kind] * config.elements * config.lanes


def test_every_saved_machine_stands_beside_table_v() -> None:
    (table,) = machine_tables.synthesised(RESULTS)
    totals = {f"{name}, {kind}": made["total"] for name in MACHINES for kind, made in saved(name).items()}
    rows = {cells[0]: cells for cells in table.rows}
    assert set(totals) == set(rows) - {"the card"}
    for name, total in totals.items():
        dsp, bram = rows[name][2], rows[name][4]
        assert isinstance(dsp, Value)
        assert isinstance(bram, Value)
        assert (dsp.number, bram.number) == (total["dsp"], 2 * total["bram36"])


def test_the_document_has_the_saved_figures() -> None:
    text = (ROOT / "docs" / "hw" / "matmul.md").read_text(encoding="utf-8")
    for name in MACHINES:
        for kind, made in saved(name).items():
            assert row(name, kind, made["total"]) in text


def test_no_results_make_no_table_and_damaged_ones_are_named(tmp_path: Path) -> None:
    assert machine_tables.synthesised(tmp_path) == []
    (tmp_path / "hw-fame-s-synth-2026-01-01.json").write_text(
        '{"machines": {"barrett": {"total": {"dsp": 1, "x": 2}}}}'
    )
    with pytest.raises(FormatError, match="hw-fame-s-synth-2026-01-01"):
        machine_tables.synthesised(tmp_path)
