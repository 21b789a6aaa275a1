# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge reproduce matvec`: the paper's tables and figures beside our values, each number marked."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any

import typer

from ringforge.cli.console import console, say
from ringforge.cli.options import overwrites
from ringforge.cli.output import TEXT, AsJson, emit, prints
from ringforge.errors import Error
from ringforge.hw.machines.matvec.published import LAYERS
from ringforge.lab.papers import matvec as paper
from ringforge.lab.papers.matvec import machine_tables
from ringforge.lab.reproduce.answers import ReproducedMatvec
from ringforge.lab.tables import answers, render
from ringforge.runs import saved_results

#: The paper's figures of layers are for this set, at its highest level; these runs are on one thread.
_PARAMS, _LEVEL, _THREADS = "set-b", 6, 1


def measured_layers(folder: Path) -> tuple[dict[str, float], Path | None]:
    """CPU seconds by layer at set-b's highest level with one thread, from the newest matvec results, and their file.

    Where a layer was measured by several algorithms, its fastest counts.
    """
    known = {layer.name for layer in LAYERS}
    files = [p for p in folder.glob("*matvec*") if p.suffix in {".json", ".jsonl"} and "environment" not in p.name]
    for path in sorted(files, key=lambda p: p.stat().st_mtime, reverse=True):
        out: dict[str, float] = {}
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            record = _record(line)
            name, seconds = record.get("case"), record.get("seconds")
            ours = record.get("system") == "matvec" and record.get("params") == _PARAMS
            run = (record.get("device"), record.get("threads"), record.get("level"))
            if not ours or name not in known or run != ("cpu", _THREADS, _LEVEL):
                continue
            if isinstance(seconds, int | float) and math.isfinite(seconds) and seconds > 0:
                out[str(name)] = min(out.get(str(name), math.inf), float(seconds))
        if out:
            return out, path
    return {}, None


def _record(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except json.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


@prints(TEXT, ReproducedMatvec)
@overwrites
def matvec(
    as_json: AsJson = False,
    plots: Annotated[Path | None, typer.Option(help="Also draw Figures 1, 3, 8, 9, 10 into this folder.")] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            help="Folder of saved results, from `ringforge bench` and `ringforge hw`; default: bench/results here, or "
            "in the source tree that this is run from."
        ),
    ] = None,
) -> None:
    """The encrypted matrix-vector paper: Tables II to VII, Figures 1, 3, 8, 9, 10, its contradictions.

    Every number is marked: (p) printed in the paper, (m) given by our models, (x) measured on a CPU, (r) cycles
    of our RTL, (d) derived from others. Tables V to VII are models of the paper's FPGA; the tables of our
    machine come after them, the error of its cycle model against RTL among them. CPU times come from the newest
    results of `ringforge bench matvec --params set-b --threads 1`, our machine's from `ringforge hw cycles`,
    `run`, `validate` and `layers`, saved in the same folder; without any, those are left out.

    Examples: `ringforge reproduce matvec`, `ringforge reproduce matvec --plots figures`
    """
    folder = saved_results(results)
    measured, source = measured_layers(folder)
    try:
        tables = [*paper.tables(measured), *machine_tables.tables(folder)]
        sentences = paper.contradictions()
        files = paper.write_plots(plots, measured=measured) if plots is not None else []
    except (paper.PaperModelError, paper.MissingDependencyError) as e:
        raise Error(str(e)) from None
    if as_json:
        document = {
            "tables": answers(tables),
            "contradictions": sentences,
            "measured_from": None if source is None else str(source),
        }
        emit(document)
        return
    screen = console()
    print(render(tables, width=screen.width, color=screen.is_terminal))
    say("")
    say("Contradictions and gaps of the paper, and how they are resolved here:")
    for number, sentence in enumerate(sentences, 1):
        say(f"{number:3}. {sentence}")
    say("")
    say(
        f"Measured CPU seconds: {source}."
        if source is not None
        else f"No measured CPU seconds at level {_LEVEL} in {folder}: run "
        f"`ringforge bench matvec --params set-b --threads 1 --save {folder}`."
    )
    for path in files:
        say(f"wrote {path}")
