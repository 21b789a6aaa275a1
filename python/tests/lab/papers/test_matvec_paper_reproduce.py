# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Tables, rendering, contradictions and plots."""

from __future__ import annotations

import builtins
import json
import typing
from pathlib import Path
from typing import Any

import pytest

from ringforge.hw.machines.matvec.published import LAYERS
from ringforge.lab.papers.matvec import MissingDependencyError, PaperModelError, contradictions, tables, write_plots
from ringforge.lab.tables import Source, Table, Value, render, to_json


def _by_title(start: str, measured: dict[str, float] | None = None) -> Table:
    return next(t for t in tables(measured) if t.title.startswith(start))


def test_every_table_and_figure_is_there() -> None:
    titles = [t.title for t in tables()]
    wanted = [f"Table {n}:" for n in ("II", "III", "IV", "V", "VI", "VII")]
    wanted += [f"Figure {n}:" for n in (1, 3, 8, 9, 10)]
    for start in wanted:
        assert any(title.startswith(start) for title in titles), start


def test_every_value_has_a_known_source() -> None:
    known = set(typing.get_args(Source))
    values = [c for t in tables() for row in t.rows for c in row if isinstance(c, Value)]
    assert len(values) > 200
    assert {v.source for v in values} == known - {"measured", "rtl"}


def test_measured_times_appear_beside_the_model() -> None:
    table = _by_title("Figure 8", {"rnnt-fc0": 2.5})
    cpu = table.columns.index("CPU")
    cells = {row[0]: row[cpu] for row in table.rows}
    assert cells["rnnt-fc0"] == Value(2.5, "s", "measured")
    assert cells["alex-6"] is None
    ratio = {row[0]: row[cpu + 1] for row in table.rows}["rnnt-fc0"]
    assert isinstance(ratio, Value)
    assert ratio.number == pytest.approx(2.5 / 0.325, rel=0.01)
    claims = _by_title("Speed-ups", {entry.name: 1.0 for entry in LAYERS})
    derived = {row[0]: row[2] for row in claims.rows}
    assert derived["largest over 64 threads"] is derived["geometric mean over 64 threads"] is None
    assert isinstance(derived["largest over 1 thread"], Value)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_bad_measurements_are_refused(seconds: float) -> None:
    with pytest.raises(PaperModelError, match="positive, finite"):
        tables({"rnnt-fc0": seconds})
    with pytest.raises(PaperModelError, match="unknown layer 'fc0'"):
        tables({"fc0": 1.0})


def test_rows_must_match_columns() -> None:
    with pytest.raises(ValueError, match="2 columns"):
        Table("t", ("a", "b"), (("x",),))


def test_render_marks_sources_and_survives_brackets() -> None:
    text = render([Table("t [bold]", ("a [x]", "n"), (("[red]y", Value(14658, "cycles", "paper")),))])
    for part in ("t [bold]", "a [x]", "[red]y", "14,658 (p)", "n [cycles]", "(m) model"):
        assert part in text
    assert "\x1b" not in text


def test_render_of_everything_states_the_key_numbers() -> None:
    text = render(tables(), width=200)
    for part in ("14,658 (p)", "14,658 (m)", "5,122 (p)", "2,047 (m)", "2,441 (m)", "39.67 (m)"):
        assert part in text


def test_json_round_trip() -> None:
    made = tables({"alex-7": 3.0})
    read: list[dict[str, Any]] = json.loads(to_json(made))
    assert [t["title"] for t in read] == [t.title for t in made]
    numbers = [
        (c["number"], c["unit"], c["source"]) for t in read for row in t["rows"] for c in row if isinstance(c, dict)
    ]
    expected = [(c.number, c.unit, c.source) for t in made for row in t.rows for c in row if isinstance(c, Value)]
    assert numbers == expected


def test_contradictions_are_sentences_with_the_checked_numbers() -> None:
    sentences = contradictions()
    assert len(sentences) == len(set(sentences)) >= 20
    assert all(s[0].isupper() and s.endswith(".") for s in sentences)
    together = " ".join(sentences)
    for part in ("72 transforms", "2,441", "3,139", "2,047", "70,276", "39.7 GiB", "5.25 MiB"):
        assert part in together
    for part in ("60.1 GB", "67.6 GB", "75.2 GB", "451 GB", "1.958", "k = 5", "mod 2N"):
        assert part in together


def test_plots_are_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    files = write_plots(tmp_path / "new", measured={"rnnt-fc0": 1.0})
    assert {f.name for f in files} == {f"figure{n}.{suffix}" for n in (1, 3, 8, 9, 10) for suffix in ("svg", "png")}
    assert all(f.stat().st_size > 1000 for f in files)
    with pytest.raises(PaperModelError, match="not supported"):
        write_plots(tmp_path, formats=["pdf"])  # type: ignore[list-item]


def test_missing_matplotlib_names_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingDependencyError, match="pip install matplotlib"):
        write_plots(tmp_path)
