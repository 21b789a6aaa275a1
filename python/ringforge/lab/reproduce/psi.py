# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge reproduce psi`: the paper's tables beside our values, each number marked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ringforge.cli.console import console, say
from ringforge.cli.output import TEXT, AsJson, emit, prints
from ringforge.errors import ParameterError
from ringforge.lab.papers import psi as paper
from ringforge.lab.papers.psi import machine_tables
from ringforge.lab.reproduce.answers import ReproducedPsi
from ringforge.lab.tables import answers, render
from ringforge.runs import saved_results


@prints(TEXT, ReproducedPsi)
def psi(
    as_json: AsJson = False,
    table: Annotated[
        list[int] | None, typer.Option("--table", min=1, max=5, help="Only this table; may be repeated.")
    ] = None,
    measured: Annotated[
        bool, typer.Option("--measure/--no-measure", help="Measure gates, operations and bins on this machine.")
    ] = True,
    every_set: Annotated[
        bool,
        typer.Option("--all", help="Gates of all six sets, where 80 % of free memory holds the key: up to 15 GiB."),
    ] = False,
    threads: Annotated[int, typer.Option(min=1, max=1024, help="For batches of gates and for queries.")] = 2,
    results: Annotated[
        Path | None,
        typer.Option(
            help="Folder of saved results of `ringforge hw`; default: bench/results here, or in the source tree that "
            "this is run from."
        ),
    ] = None,
) -> None:
    """The paper on third-generation FHE and private set intersection: Tables 1 to 5, Figure 10, its contradictions.

    Every number is marked: (p) printed in the paper, (m) given by our models, (x) measured here, (r) cycles or
    resources of our RTL, (d) derived from others. Our machines come after the paper's tables: cycles saved by
    `ringforge hw streams`, `validate` and `symmetric`, else by the model that RTL was held against. Measuring takes
    some minutes: NAND by AP at MEDIUM and STD128_AP, substitution and external product, and a few bins for each row
    of Table 4, whose whole times are scaled and say so.

    Examples: `ringforge reproduce psi --no-measure`, `ringforge reproduce psi --table 2 --all`
    """
    if every_set and not measured:
        raise ParameterError("--all names sets to measure, --no-measure forbids it: leave one out")
    wanted = tuple(table) if table else paper.ALL
    screen = console()

    def tell(what: str) -> None:
        if screen.is_terminal and not as_json:
            console(stderr=True).print(f"measuring {what} ...", style="dim")

    found = paper.measure(wanted, threads, every_set, tell) if measured else None
    tables = paper.tables(wanted, found) + machine_tables.tables(saved_results(results), wanted)
    sentences = paper.contradictions() if table is None else []
    if as_json:
        document = {
            "tables": answers(tables),
            "contradictions": sentences,
            "threads": threads if measured else None,
        }
        emit(document)
        return
    if table is None:
        say(
            "A hardware accelerator for third-generation FHE and unbalanced private set intersection by encrypted "
            "table lookup. Receiver: the client with the small set; sender: the server. docs/psi-paper.md explains "
            "the rest."
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
        say("Nothing was measured; without --no-measure it is.")
