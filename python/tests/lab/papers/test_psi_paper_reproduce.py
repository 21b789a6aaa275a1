# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Tables, sentences, measuring, and the command."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ringforge.cli import main
from ringforge.errors import Error, ParameterError
from ringforge.lab.papers import psi as paper
from ringforge.lab.papers.psi import GATE_ROWS, PSI_ROWS, BinTime, GateTime, Measured, OperationTime, timings
from ringforge.lab.tables import Value, render
from tests.answers import printed, result_of

FOUND = Measured(
    threads=2,
    gates={"paper-medium": GateTime(28_220.0, 3_332.0, 2**30)},
    skipped={"paper-std256": "the key does not fit"},
    operations=OperationTime(70.0, 84.0),
    bins={
        (a, r.bits, r.log_bins): BinTime(0.002, 0.001, 1 << r.log_bins)
        for r in PSI_ROWS
        for a in ("paper", "ringforge")
    },
)


def test_every_number_has_a_source() -> None:
    made = paper.tables()
    titles = [t.title for t in made]
    for number in range(1, 6):
        assert any(t.startswith(f"Table {number}:") for t in titles)
    sources = {c.source for t in made for row in t.rows for c in row if isinstance(c, Value)}
    assert sources == {"paper", "model", "derived"}
    for table in made:
        for row in table.rows:
            for cell in row[1:]:
                if isinstance(cell, str) and cell not in {"yes", "no"}:
                    assert re.search(r"\([pmd]\)$", cell), cell


def test_measured_tables_say_so() -> None:
    made = {t.title.split(",")[0]: t for t in paper.tables(found=FOUND) if "ours" in t.title}
    assert set(made) == {"Table 2", "Table 3", "Table 4"}
    gate = made["Table 2"].rows[0]
    assert gate[4] == Value(5.0, "x", "derived")
    assert gate[5] == Value(2.0, "x", "derived")
    assert made["Table 2"].notes[-1] == "Not measured: the key does not fit."
    assert made["Table 3"].rows[0][1] == Value(70.0, "us", "measured")
    assert "SCALED" in made["Table 4"].title
    assert made["Table 4"].rows[0][4] == Value(16.384, "s", "derived")
    assert "was run" in " ".join(made["Table 4"].notes)


def test_unknown_table_is_refused() -> None:
    with pytest.raises(ParameterError, match="no Table 6"):
        paper.tables((6,))


def test_sentences_state_the_checked_numbers() -> None:
    sentences = paper.contradictions()
    assert len(sentences) == len(set(sentences)) >= 20
    assert all(re.match(r'["A-Z]', s) and s.endswith(".") for s in sentences)
    together = " ".join(sentences)
    for part in ("m = 1", "B^j", "X^(-2^s)", "inverted", "q/8", "modulo Q at dimension n", "17.7 and 14.5 us"):
        assert part in together
    for part in ("135 s < 147 s", "97 s < 117 s", "33 s < 37 s", "4.1, 3.8, 3.4 MiB", "41.7%", "2^24.9", "T = 8"):
        assert part in together
    for part in ("49.99%", "3,675", "0% saved"):
        assert part in together


def test_few_bins_are_scaled_by_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def fake(fields: Any, threads: int, log_bins: int) -> float:
        asked.append((fields.cell_bits, threads, log_bins))
        return 1.0

    monkeypatch.setattr(timings.planner, "measure", fake)
    timings._seconds.cache_clear()
    small = timings.bin_time(PSI_ROWS[0], "ringforge", 3)
    assert asked == [(20, 3, 3)]
    # Stages that only a whole query has are its cheapest; so is packing, once it is shared.
    assert 0.5 < small.scaled < 1
    assert small.query == small.scaled * 2**14
    # Rows with the same w share a measurement of the paper's algorithm.
    for row in (PSI_ROWS[0], PSI_ROWS[4], PSI_ROWS[8]):
        assert row.cell_bits == 18
        timings.bin_time(row, "paper", 3)
    assert asked[1:] == [(18, 3, 5)]
    timings._seconds.cache_clear()


def test_memory_is_checked_before_a_key_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timings, "free_memory", lambda: 1 << 20)
    with pytest.raises(Error, match=r"paper-std256q takes 8\.9 GiB, 0\.0 GiB are free"):
        timings.gate(GATE_ROWS[-1], 1)
    found = timings.measure((2,), every_set=True)
    assert not found.gates
    assert set(found.skipped) == {row.ours for row in GATE_ROWS}
    assert set(timings.measure((2,)).skipped) == set(paper.QUICK_SETS)


def test_operations_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries that take 5 us for a transform, 20 us more for a substitution, and 1 s in any case."""

    def query(fields: Any) -> tuple[Any, Any]:
        counts = fields.native().counts()
        if fields.log_bins == 0:
            return (lambda: 1 + 5e-6 * (counts.ntt + counts.intt)), counts
        return (lambda: 1 + 70e-6 * counts.external_product + 20e-6 * counts.substitution), counts

    monkeypatch.setattr(timings, "_query", query)
    monkeypatch.setattr(timings, "median_seconds", lambda run, *_: run())
    found = timings.operations(1)
    assert found.product_us == pytest.approx(70.0)
    assert found.substitution_us == pytest.approx(20.0)


def test_operations_run() -> None:
    fields = timings.sizes.plan_fields(32, 14, "paper").model_copy(update={"log_bins": 0, "cell_bits": 11})
    run, counts = timings._query(fields)
    assert run()
    assert counts.external_product == 11 * 6 + 11


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "psi", "--no-measure"]) == 0
    text = printed(capsys)
    for number in range(1, 6):
        assert f"Table {number}: " in text
    assert re.search(r"^ +1\. Algorithm 2", text, re.MULTILINE)
    assert "Nothing was measured" in text
    assert "(x) measured" in text
    assert main(["reproduce", "psi", "--no-measure", "--table", "5", "--json"]) == 0
    document = result_of(capsys.readouterr().out)
    assert [t["title"].split(":")[0] for t in document["tables"]] == ["Table 5", "Table 5, our machines"]
    assert document["contradictions"] == []
    assert main(["reproduce", "psi", "--no-measure", "--all"]) != 0


def test_command_measures(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[Any] = []

    def fake(*args: Any) -> Measured:
        asked.append(args[:3])
        return FOUND

    monkeypatch.setattr(paper, "measure", fake)
    assert main(["reproduce", "psi", "--table", "4", "--threads", "3"]) == 0
    assert asked == [((4,), 3, False)]
    assert "SCALED" in printed(capsys)
    assert "Table 3" in render(paper.tables((3,), FOUND))


def test_all_papers_are_under_one_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--help"]) == 0
    text = printed(capsys)
    for name in ("matvec", "matmul", "psi"):
        assert name in text
