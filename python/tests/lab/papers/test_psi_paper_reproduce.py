# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Tables, sentences, measuring, and the command."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from ringforge.cli import main
from ringforge.errors import Error, ParameterError
from ringforge.lab.papers import psi as paper
from ringforge.lab.papers.psi import GATE_ROWS, PSI_ROWS, BinTime, GateTime, Measured, OperationTime, timings
from ringforge.lab.tables import Value, render
from ringforge.lab.timing import Timing
from tests.answers import printed, result_of

FOUND = Measured(
    threads=2,
    gates={"paper-medium": GateTime(Timing(28_220e-6, 28_000e-6), Timing(3_332e-6, 6_600e-6), 2**30)},
    skipped={"paper-std256": "the key does not fit"},
    operations=OperationTime(Timing(70e-6, 69e-6), Timing(84e-6, 83e-6)),
    bins={
        (a, r.bits, r.log_bins): BinTime(Timing(0.002, 0.004), 0.001, 1 << r.log_bins)
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
    assert gate[2:6] == tuple(Value(us, "us", "measured") for us in (28_220, 28_000, 3_332, 6_600))
    # The paper states wall time, which is compared with wall time.
    assert [cell.number for cell in gate[6:] if isinstance(cell, Value)] == pytest.approx([5.0, 2.0])
    assert made["Table 2"].notes[-1] == "Not measured: the key does not fit."
    assert made["Table 3"].rows[0][1:3] == (Value(70.0, "us", "measured"), Value(69.0, "us", "measured"))
    assert "SCALED" in made["Table 4"].title
    assert made["Table 4"].rows[0][5] == Value(16.384, "s", "derived")
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


def test_few_bins_are_scaled_by_counts() -> None:
    small = timings.scaled(PSI_ROWS[0], "ringforge", Timing(1.0, 2.0), 3)
    # Stages that only a whole query has are its cheapest; so is packing, once it is shared.
    assert 0.5 < small.scaled < 1
    assert small.query == small.scaled * 2**14
    assert timings.few_bins(PSI_ROWS[0], "ringforge").log_bins == 3
    # Rows with the same w share a measurement of the paper's algorithm.
    shared = {timings.few_bins(PSI_ROWS[i], "paper").model_dump_json() for i in (0, 4, 8)}
    assert len(shared) == 1
    assert '"log_bins":5' in shared.pop().replace(" ", "")


def test_a_bin_that_took_less_than_its_transforms_is_refused() -> None:
    for taken in (Timing(1e-7, 1.0), Timing(1.0, 1e-7)):
        with pytest.raises(Error, match="a bin would take 0 us, its transforms alone take"):
            timings.scaled(PSI_ROWS[0], "paper", taken, 1)


#: A ring and a key of the paper's kind, small enough for a test.
TOY = replace(GATE_ROWS[0], ours="gates-toy", n=64, degree=256)


def test_a_gate_takes_its_bootstrap() -> None:
    taken = timings.gate(TOY, 1, 1)
    least = timings.least_seconds(timings.gate_transforms(TOY), TOY.degree)
    assert 0 < least < taken.alone.cpu
    assert taken.batch.cpu > least
    assert taken.key_bytes > 0


def test_gates_without_bootstraps_are_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """NAND of a wire with itself is a negation, a hundred thousand times as fast."""
    monkeypatch.setattr(timings, "_pair", lambda gate: (gate, gate))
    with pytest.raises(Error, match="1 gates took 0 bootstraps"):
        timings.gate(TOY, 1, 1)


def test_a_gate_that_took_less_than_its_transforms_is_refused() -> None:
    with pytest.raises(Error, match="us for a gate, whose transforms take"):
        timings.gate(replace(TOY, n=1 << 20), 1, 1)


def test_memory_is_checked_before_a_key_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timings, "free_memory", lambda: 1 << 20)
    with pytest.raises(Error, match=r"paper-std256q takes 8\.9 GiB, 0\.0 GiB are free"):
        timings.gate(GATE_ROWS[-1], 1)
    found = timings.measure((2,), every_set=True)
    assert not found.gates
    assert set(found.skipped) == {row.ours for row in GATE_ROWS}
    assert set(timings.measure((2,)).skipped) == set(paper.QUICK_SETS)


def test_operations_are_told_apart() -> None:
    """Queries that take 5 us for a transform, 20 us more for a substitution, and 1 s in any case."""
    base = timings.sizes.plan_fields(32, 14, "paper")
    narrow = base.model_copy(update={"log_bins": 0})
    short = base.model_copy(update={"log_bins": 5, "cell_bits": 11})
    plans = {
        "narrow": narrow,
        "wide": narrow.model_copy(update={"log_cell": 1}),
        "short": short,
        "long": short.model_copy(update={"log_bins": 6}),
    }
    counts = {name: fields.native().counts() for name, fields in plans.items()}

    def took(name: str, scale: float = 1.0) -> float:
        c = counts[name]
        if name in ("narrow", "wide"):
            return 1 + scale * 5e-6 * (c.ntt + c.intt)
        return 1 + scale * (70e-6 * c.external_product + 20e-6 * c.substitution)

    times = {name: Timing(took(name), took(name, 0.5)) for name in plans}
    found = timings.split(times, counts, base.gadget.count)
    assert (found.product.wall, found.product.cpu) == pytest.approx((70e-6, 35e-6))
    assert (found.substitution.wall, found.substitution.cpu) == pytest.approx((20e-6, 10e-6))
    # Differences that other work on the machine has eaten are no times.
    with pytest.raises(Error, match="its transforms alone take"):
        timings.split(times | {"long": Timing(took("short"), took("long"))}, counts, base.gadget.count)


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


@pytest.mark.long
def test_command_measures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "psi", "--table", "2", "--table", "3", "--threads", "2", "--json"]) == 0
    document = result_of(capsys.readouterr().out)
    assert document["threads"] == 2
    ours = {t["title"].split(",")[0]: t for t in document["tables"] if "ours" in t["title"]}
    for row in ours["Table 2"]["rows"]:
        # AP has twice the products of the fastest gates there are: no gate of a hundredth of the software's time.
        assert 0.1 < row[6]["number"] < 100
    assert "SCALED" in render(paper.tables((4,), FOUND))


def test_all_papers_are_under_one_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--help"]) == 0
    text = printed(capsys)
    for name in ("matvec", "matmul", "psi"):
        assert name in text
