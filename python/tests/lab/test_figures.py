# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Figures in README.md and the guides are those of the newest results."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def figures() -> Any:
    spec = importlib.util.spec_from_file_location("figures", ROOT / "tools/figures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_documents_have_the_figures_of_today(figures: Any) -> None:
    """Put there by: python tools/figures.py --write"""
    found = list(figures.pages())
    assert ROOT / "README.md" in found
    for path in found:
        page = path.read_text("utf-8")
        assert figures.written(page) == page, path
    named = {m[1] for path in found for m in figures.MARK.finditer(path.read_text("utf-8"))}
    assert named == set(figures.FIGURES), "no figure is without a place"


def test_a_figure_is_what_the_file_says(figures: Any) -> None:
    lines = map(json.loads, figures.newest("matvec-set-b").read_text().splitlines())
    layer = next(r for r in lines if r["case"] == "rnnt-fc0" and r["extra"]["level_choice"] == "auto")
    shown = re.search(r"<!-- figure layer -->([0-9.]+) ms<!-- end -->", (ROOT / "README.md").read_text("utf-8"))
    assert shown is not None
    assert float(shown[1]) == pytest.approx(1e3 * layer["cpu_seconds"], rel=0.01)


def test_a_newer_file_counts(figures: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bench" / "results"
    folder.mkdir(parents=True)
    for date, seconds in (("2026-01-01", 1.0), ("2026-01-02", 0.125)):
        record = {"case": "poly", "cpu_seconds": seconds, "extra": {}}
        (folder / f"psi-poly-18-10-{date}.jsonl").write_text(json.dumps(record) + "\n")
    (folder / "psi-poly-18-10-labels-16-2026-01-03.jsonl").write_text("{}\n")
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    page = "a <!-- figure psi -->1 s<!-- end --> b"
    assert figures.written(page) == "a <!-- figure psi -->125 ms<!-- end --> b"
    with pytest.raises(KeyError):
        figures.written("<!-- figure of nothing -->1<!-- end -->")


def test_every_stage_of_the_measurements_is_a_command() -> None:
    """Each line of tools/bench_results.sh is one that `ringforge bench` takes."""
    from ringforge.cli.app import options_of

    script = (ROOT / "tools" / "bench_results.sh").read_text("utf-8").replace("\\\n", " ")
    lines = re.findall(r"\bbench (ring|matvec|matmul|gates|omr|aes|psi)([^;\n]*)", script.partition("measure() {")[2])
    assert len(lines) > 20
    for command, rest in lines:
        known = options_of(["bench", command])
        assert set(re.findall(r"--[a-z-]+", rest)) <= known, (command, rest)
