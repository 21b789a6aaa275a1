# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Tables, sentences and the command that prints them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ringforge.cli import main
from ringforge.errors import FormatError
from ringforge.lab.papers.matmul import findings, tables
from ringforge.lab.tables import Value, render
from ringforge.runs import Record, save
from tests.answers import printed, result_of

RECORD = Record(
    system="matmul",
    case="4-3-5",
    params="matmul-a",
    algorithm="square",
    level=4,
    seconds=0.5,
    peer="lattigo",
    peer_version="v6.1.1",
    peer_seconds=2.0,
    max_rel_error=1e-6,
    extra={"peer_extrapolated": True},
)


def test_every_table_is_there_and_every_number_has_a_source() -> None:
    made = tables(plans=False)
    titles = [t.title for t in made]
    for wanted in ("Table I:", "Table II:", "Table III:", "Tables IV and V:", "Equations 12", "Equation 16:"):
        assert any(t.startswith(wanted) for t in titles), wanted
    values = [c for t in made for row in t.rows for c in row if isinstance(c, Value)]
    assert len(values) > 300
    assert {v.source for v in values} == {"paper", "model", "derived"}


def test_rendering_states_the_key_numbers() -> None:
    text = render(tables(plans=False), width=240)
    for part in ("51,870 (d)", "28,669 (m)", "69.17 (m)", "2.662 (m)", "36 / 18 (d)", "3.616 (m)", "119.5 x (d)"):
        assert part in text


def test_findings_are_sentences_with_the_checked_numbers() -> None:
    sentences = findings()
    assert len(sentences) == len(set(sentences)) >= 20
    assert all(s[0].isupper() and s.endswith(".") for s in sentences)
    together = " ".join(sentences)
    for part in ("modulo m·l", "z = 0", "no upper bound", "897 or 898", "N = 65536", "k = 1 with beta = 5", "868"):
        assert part in together
    for part in ("69 GiB", "27 GiB", "18-kbit", "18 by Table V", "4.69 MB", "2.66 s"):
        assert part in together


def test_measured_products_come_last(tmp_path: Path) -> None:
    newer = Record(**{**RECORD.__dict__, "seconds": 0.25, "extra": {"peer_extrapolated": False}})
    save([RECORD], tmp_path, "matmul-matmul-a-2026-01-01")
    save([newer], tmp_path, "matmul-matmul-a-2026-01-02")
    last = tables(tmp_path, plans=False)[-1]
    assert last.title.startswith("Measured")
    assert len(last.rows) == 1
    assert last.rows[0][4] == Value(0.25, "s", "measured")
    assert last.rows[0][7] == "whole"
    assert last.rows[0][8] == Value(8.0, "x", "derived")
    (tmp_path / "matmul-broken.jsonl").write_text("[1, 2]\n")
    with pytest.raises(FormatError, match="matmul-broken"):
        tables(tmp_path, plans=False)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "matmul", "--no-plans", "--results", str(tmp_path)]) == 0
    text = printed(capsys)
    assert "Table III: rotations of the twelve benchmarks" in text
    assert re.search(r"^ +1\. Equation 8", text, re.MULTILINE)
    assert "No measured products" in text
    save([RECORD], tmp_path, "matmul-x")
    assert main(["reproduce", "matmul", "--json", "--no-plans", "--results", str(tmp_path)]) == 0
    document = result_of(capsys.readouterr().out)
    assert document["tables"][-1]["title"].startswith("Measured")
    assert document["findings"] == findings()


def test_both_papers_are_under_one_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--help"]) == 0
    text = printed(capsys)
    assert "matvec" in text
    assert "matmul" in text
