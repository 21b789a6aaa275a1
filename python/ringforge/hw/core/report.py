# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Tables of the hardware: configuration, resources beside the published machine, cells, cycles, state of the tests."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from ringforge.errors import HardwareError
from ringforge.files import writing
from ringforge.hw.core import build, provenance, resources
from ringforge.hw.core.cells import Cell
from ringforge.hw.core.config import MachineConfig
from ringforge.hw.core.machine import Machine
from ringforge.hw.core.resources import Line, Synthesis, total
from ringforge.hw.core.synthesis import Resources

#: Names of the resources, as tables show them.
RESOURCES = {"dsp": "DSP", "bram36": "BRAM36", "uram": "URAM", "lut": "LUT", "flip_flops": "FF"}


# ---- rows, for terminals and for Markdown -------------------------------------------------------------


@dataclass(frozen=True)
class Grid:
    """A table before it is drawn: labels, rows of texts, and how many columns from the left are words."""

    title: str
    labels: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1
    #: Rows after which a line is drawn.
    sections: frozenset[int] = frozenset()

    def rich(self) -> Table:
        """For the terminal."""
        table = Table(title=self.title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for n, label in enumerate(self.labels):
            word = n < self.words
            table.add_column(label, justify="left" if word else "right", no_wrap=n == 0 or not word)
        for n, row in enumerate(self.rows):
            table.add_row(*row, end_section=n in self.sections)
        return table

    def markdown(self) -> str:
        """For a document."""
        marks = ["---" if n < self.words else "---:" for n in range(len(self.labels))]
        labels = (label.replace("\n", " ") for label in self.labels)
        lines = ["| " + " | ".join(labels) + " |", "|" + "|".join(marks) + "|"]
        return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in self.rows)]) + "\n"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"


def _numbers(r: Resources) -> list[str]:
    return [_number(getattr(r, name)) for name in RESOURCES]


def configuration(config: MachineConfig) -> Grid:
    """The sizes of a machine."""
    return Grid("configuration", ("", ""), [list(item) for item in config.facts().items()], words=2)


def _labels(synthesis: Synthesis, kinds: Sequence[str]) -> list[str]:
    short = synthesis.figures.short
    return [f"{short.get(kind, kind)}\n{label}" for kind in kinds for label in _shown(kinds, kind)]


def elements(synthesis: Synthesis) -> Grid:
    """One element, part by part, of every kind."""
    kinds = list(synthesis.elements)
    first = synthesis.elements[kinds[0]]
    rows = []
    for n, line in enumerate(first):
        values = [v for kind in kinds for v in _pick(kinds, kind, synthesis.elements[kind][n].total)]
        rows.append([_part(synthesis, line), str(line.count), *values])
    sums = [v for kind in kinds for v in _pick(kinds, kind, total(synthesis.elements[kind]))]
    rows.append(["one element", "", *sums])
    title = f"one element of {synthesis.config.name}; all of a part together"
    labels = ("part", "count", *_labels(synthesis, kinds))
    return Grid(title, labels, rows, sections=frozenset({len(rows) - 2}))


def _shown(kinds: Sequence[str], kind: str) -> list[str]:
    return list(RESOURCES.values()) if kind == kinds[0] else ["DSP", "LUT", "FF"]


def _pick(kinds: Sequence[str], kind: str, r: Resources) -> list[str]:
    return _numbers(r) if kind == kinds[0] else [_number(r.dsp), _number(r.lut), _number(r.flip_flops)]


def _part(synthesis: Synthesis, line: Line) -> str:
    text = synthesis.figures.notes.get(line.module.name)
    return f"{line.module.name} ({text})" if text else line.module.name


def machine_parts(synthesis: Synthesis) -> Grid:
    """A machine, its elements, if it has any, as one row."""
    kinds = list(synthesis.machines)
    inside = synthesis.figures.inside
    element = synthesis.figures.element(synthesis.config)
    rows: list[list[str]] = []
    inner: dict[str, Resources] = {}
    for kind in kinds:
        lines = synthesis.machines[kind]
        outer = [line for line in lines if line.module.name not in inside]
        inner[kind] = total(tuple(line for line in lines if line.module.name in inside))
        if kind == kinds[0]:
            rows = [[_part(synthesis, line), str(line.count)] for line in outer]
        for row, line in zip(rows, outer, strict=True):
            row += _pick(kinds, kind, line.total)
    if element is not None:
        count = sum(line.count for line in synthesis.machines[kinds[0]] if line.module.name == element.name)
        rows.append(["processing elements", str(count), *(v for k in kinds for v in _pick(kinds, k, inner[k]))])
    sums = [v for k in kinds for v in _pick(kinds, k, total(synthesis.machines[k]))]
    rows.append(["the machine", "", *sums])
    title = f"machine {synthesis.config.name}; all of a part together"
    labels = ("part", "count", *_labels(synthesis, kinds))
    return Grid(title, labels, rows, sections=frozenset({len(rows) - 2}))


def beside_paper(synthesis: Synthesis) -> Grid | None:
    """The machine's resources beside the published machine and the card; None where nothing was published."""
    paper = synthesis.figures.published(synthesis.config)
    if paper is None:
        return None
    kinds = list(synthesis.machines)
    labels = ["resource", f"paper's {paper.sets},\n{paper.source}"]
    for kind in kinds:
        labels += [f"ours,\n{kind}", "against\nthe paper's", f"of the\n{paper.card}"]
    rows = []
    for name, label in RESOURCES.items():
        row = [label, _number(getattr(paper.resources, name))]
        for kind in kinds:
            ours, theirs = getattr(total(synthesis.machines[kind]), name), getattr(paper.resources, name)
            row.append(_number(ours))
            row += [
                f"{ours / theirs - 1:+.1%}" if theirs else "-",
                f"{ours / getattr(paper.available, name):.0%}",
            ]
        rows.append(row)
    return Grid(f"machine {synthesis.config.name} beside the published one", labels, rows)


def _every_cell(synthesis: Synthesis) -> list[tuple[Cell, Resources | None]]:
    taken = {(c.name, c.variant): r for c, r in synthesis.cells}
    known = resources.cells(synthesis.machine, synthesis.config)
    return [(c, taken.get((c.name, c.variant))) for c in known]


def cells(synthesis: Synthesis, tests: Mapping[str, str]) -> Grid:
    """The common cells: function, latency, resources, state of the test."""
    rows = []
    for cell, takes in _every_cell(synthesis):
        numbers = ["-" if cell.module is None else "?"] * 5 if takes is None else _numbers(takes)
        kind = next((f", {k}" for k in ("barrett", "montgomery") if cell.variant.endswith(k)), "")
        rows.append([cell.name + kind, cell.function, cell.latency, *numbers, tests.get(cell.test, "not run")])
    return Grid("common cells", ("cell", "function", "latency", *RESOURCES.values(), "test"), rows, words=3)


def cells_in_full(synthesis: Synthesis) -> Grid:
    """The common cells for a document: throughput and test file too, and nothing that changes from day to day."""
    rows = []
    for cell, takes in _every_cell(synthesis):
        numbers = ["-"] * 5 if takes is None else _numbers(takes)
        rows.append(
            [f"`{cell.name}`", cell.function, cell.latency, cell.rate, cell.variant, *numbers, f"`{cell.test}.py`"]
        )
    labels = ("cell", "function", "latency", "throughput", "as synthesised", *RESOURCES.values(), "test")
    return Grid("common cells", labels, rows, words=5)


# ---- tests and cycles ---------------------------------------------------------------------------------


def test_results_path(machine: Machine) -> Path:
    """Where `ringforge hw test` leaves its results."""
    return build.cache_folder() / machine.name / "test-results.xml"


def test_states(machine: Machine) -> dict[str, str]:
    """State of each test file (by its stem) in the last `ringforge hw test`: passed, failed, skipped."""
    try:
        tree = ET.parse(test_results_path(machine))
    except (OSError, ET.ParseError):
        return {}
    out: dict[str, str] = {}
    rank = {"failed": 2, "passed": 1, "skipped": 0}
    for case in tree.iter("testcase"):
        name = case.get("classname", "").rsplit(".", 1)[-1]
        kinds = {child.tag for child in case}
        state = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        if rank[state] >= rank.get(out.get(name, ""), -1):
            out[name] = state
    return out


def cycles(folder: Path, config: MachineConfig) -> tuple[Grid, list[str]]:
    """Saved cycles of the simulated machine, the newest of each case; commands that make anew those of other sources.

    Of records that do not name their sources and command, the grid alone says so.
    """
    newest: dict[tuple[str, ...], dict[str, Any]] = {}
    for path in sorted(folder.glob("hw-*.jsonl"), key=lambda p: p.stat().st_mtime):
        for line in path.read_text(encoding="utf-8").splitlines():
            r = json.loads(line)
            if r.get("cycles") is not None and r.get("device") == f"rtl:{config.name}":
                newest[r["case"], r["params"], r["algorithm"], str(r["level"])] = r
    rows, stale = [], []
    for r in newest.values():
        extra = r.get("extra") or {}
        if not (current := provenance.is_current(extra, config)):
            stale.append(extra)
        bits = {True: "yes", False: "NO", None: "-"}[extra.get("exact")]
        times = [f"{r['cycles']:,}", f"{1e3 * r['seconds']:,.3f}"]
        level = "-" if r["level"] is None else str(r["level"])
        rows.append([r["case"], r["params"], r["algorithm"], level, *times, bits, "yes" if current else "NO"])
    labels = (
        "case", "set", "schedule", "level", "cycles", "ms at the clock", "same bits\nas the CPU", "of these\nsources"
    )  # fmt: skip
    return Grid(f"cycles in RTL simulation, from {folder}", labels, rows, words=3), provenance.commands(stale)


# ---- saved syntheses ----------------------------------------------------------------------------------


def save(synthesis: Synthesis, folder: Path) -> Path:
    """Writes a synthesis with the environment it was made in; returns the file."""
    from ringforge.runs import environment

    env = environment()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"hw-{synthesis.config.name}-synth-{env['date'][:10]}.json"
    origin = {provenance.SOURCES: provenance.digest(synthesis.config, simulated=False)}
    document = {"what": "ringforge hw synth", "environment": env, **origin, **synthesis.to_dict()}
    with writing(path, replace=True) as f:  # of the same on the same day
        f.write(json.dumps(document, indent=1).encode() + b"\n")
    return path


def saved(folder: Path, machine: Machine, config: MachineConfig) -> tuple[Synthesis, Path, bool] | None:
    """The newest saved synthesis of a machine that has all of it, if there is one; whether it is of these sources."""
    for path in sorted(folder.glob(f"hw-{config.name}-synth-*.json"), reverse=True):
        try:
            document = json.loads(path.read_text())
            found = Synthesis.from_dict(machine, document)
        except (OSError, ValueError, HardwareError):
            continue
        if found.machines:
            current = document.get(provenance.SOURCES) == provenance.digest(config, simulated=False)
            return found, path, current
    return None
