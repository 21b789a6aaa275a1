# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Tables, measuring, and the command."""

from __future__ import annotations

import math
import re

import pytest

from ringforge.cli import main
from ringforge.errors import ParameterError
from ringforge.lab.papers import omr as paper
from ringforge.lab.papers.omr import Measured, timings
from ringforge.lab.tables import Value
from ringforge.lab.timing import Timing
from ringforge.omr import sets
from ringforge.omr.estimate import key_bytes
from ringforge.params import named_bfv
from tests.answers import printed, result_of

FOUND = Measured(*(Timing(ms / 1e3, ms / 2e3) for ms in (0.5, 4.0, 50.0, 3.0)))


def test_every_number_has_a_source() -> None:
    made = paper.tables()
    assert [t.title.partition(":")[0] for t in made[:3]] == ["Table II", "Table III", "Table IV"]
    for table in made:
        for row in table.rows:
            assert all(cell is None or isinstance(cell, Value) for cell in row[1:])
    assert {c.source for t in made for row in t.rows for c in row if isinstance(c, Value)} == {
        "paper",
        "model",
        "derived",
    }


def test_accelerator_columns_are_the_papers() -> None:
    """With or without measuring: what was not run here must not look as if it had been."""
    for found in (None, FOUND):
        (table,) = paper.tables(("IV",), found)
        for row in table.rows:
            assert all(isinstance(cell, Value) and cell.source == "paper" for cell in row[1:6])
            assert isinstance(row[6], Value)
            assert row[6].source == "derived"
        assert "no hardware was run" in table.notes[0]


def test_measured_table_says_so() -> None:
    (table,) = paper.tables(("IV",), FOUND)
    by_name = {row[0]: row for row in table.rows}
    assert by_name["Rot"][7:9] == (Value(50.0, "ms", "measured"), Value(25.0, "ms", "measured"))
    # The paper states wall time, which is compared with wall time.
    faster, whole = by_name["Rot"][9], by_name["MatMul"][7]
    assert isinstance(faster, Value)
    assert isinstance(whole, Value)
    assert (faster.source, whole.source) == ("derived", "derived")
    assert faster.number == pytest.approx(31.35 * 6.81 / 50)
    assert whole.number == pytest.approx(1024 * 7 + 67 * 50 + 1023 * 0.5)
    assert "SCALED" in table.title
    assert "SCALED" in table.notes[-1]


def test_unknown_table_is_refused() -> None:
    with pytest.raises(ParameterError, match='no table "V": take one of II, III'):
        paper.tables(("V",))


def test_ours_are_the_numbers_of_our_set() -> None:
    """Of the set that detection uses, read here by itself."""
    s = sets.named("ringforge")
    bfv = named_bfv(s.bfv)
    tables = {t.title.partition(":")[0]: t for t in paper.tables(("II", "sizes"))}
    ours = {row[0]: cell.number for row in tables["Table II"].rows if isinstance(cell := row[2], Value)}
    assert ours["limbs"] == len(bfv.q)
    assert ours["special primes"] == len(bfv.p)
    assert ours["log2 Q"] == round(sum(math.log2(q) for q in bfv.q))
    assert ours["weight of signal secrets"] == s.weight
    assert (ours["deviation of signals"], ours["range"]) == (s.deviation, s.range)
    size = {row[0]: row[3] for row in tables["Sizes"].rows}
    assert size["ciphertext"] == Value(2 * len(bfv.q) * bfv.degree * 50 / 8 / 2**20, "MiB", "model")
    assert size["detection key"] == Value(key_bytes(s) / 1e6, "MB", "model")


def test_operations_run() -> None:
    found = timings.measure("omr-test", 1, "a test")
    for clock in ("wall", "cpu"):
        times = [getattr(t, clock) for t in (found.add, found.multiply, found.rotate, found.encode)]
        assert min(times) > 0
        assert getattr(found.matmul, clock) > sum(times)


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "omr"]) == 0
    text = printed(capsys)
    for title in ("Table II: ", "Table III: ", "Table IV: ", "MatMul on the CPU", "Sizes", "SophOMR's own figures"):
        assert title in text
    assert re.search(r"^ +1\. ", text, re.MULTILINE)
    assert "Nothing was measured" in text
    assert main(["reproduce", "omr", "--table", "sizes", "--measure", "--json"]) == 0
    document = result_of(capsys.readouterr().out)
    assert [t["title"] for t in document["tables"]] == ["Sizes"]
    assert document["contradictions"] == []
    assert main(["reproduce", "omr", "--table", "7"]) != 0


@pytest.mark.long
def test_command_measures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "omr", "--table", "IV", "--measure"]) == 0
    assert "(x)" in printed(capsys)
