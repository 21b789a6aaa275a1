# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge reproduce omr`: the paper's tables beside our values, each number marked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ringforge.cli.console import console, say
from ringforge.cli.output import TEXT, AsJson, emit, prints
from ringforge.lab.papers import omr as paper
from ringforge.lab.papers.omr import machine_tables
from ringforge.lab.reproduce.answers import Reproduced
from ringforge.lab.tables import answers, render
from ringforge.runs import saved_results


@prints(TEXT, Reproduced)
def omr(
    as_json: AsJson = False,
    table: Annotated[
        list[str] | None, typer.Option("--table", help=f"Only this table: {', '.join(paper.ALL)}; may be repeated.")
    ] = None,
    measured: Annotated[
        bool,
        typer.Option("--measure/--no-measure", help="Measure CCadd, PCmul and Rot at N = 65,536 on this machine."),
    ] = False,
    results: Annotated[
        Path | None,
        typer.Option(
            help="Folder of saved results of `ringforge hw`; default: bench/results here, or in the source tree that "
            "this is run from."
        ),
    ] = None,
) -> None:
    """The paper on oblivious message retrieval: Tables II to IV, times, sizes, its contradictions.

    Every number is marked: (p) printed in the paper or by SophOMR, (m) given by our models, (x) measured here, (r)
    cycles or resources of our RTL, (d) derived from others. Our machines come after the paper's tables: cycles saved by
    `ringforge hw cycles omr` and resources by `ringforge hw synth omr`, else by their models.

    Examples: `ringforge reproduce omr`, `ringforge reproduce omr --table IV --measure`
    """
    wanted = tuple(table) if table else paper.ALL
    paper.tables(wanted)  # refuses unknown names before anything is measured
    found = paper.measure() if measured and "IV" in wanted else None
    tables = paper.tables(wanted, found) + machine_tables.tables(saved_results(results), wanted, found)
    sentences = paper.contradictions() if table is None else []
    if as_json:
        emit({"tables": answers(tables), "contradictions": sentences})
        return
    screen = console()
    if table is None:
        say(
            "An FPGA accelerator for the matrix-vector products of oblivious message retrieval, as SophOMR has them. "
            "docs/omr-paper.md explains the rest."
        )
        say("")
    print(render(tables, width=screen.width, color=screen.is_terminal))
    if sentences:
        say("")
        say("Errors, contradictions and gaps of the paper, and how they are resolved here:")
        for number, sentence in enumerate(sentences, 1):
            say(f"{number:3}. {sentence}")
    if not measured:
        say("")
        say("Nothing was measured; with --measure the operators of Table IV are.")
