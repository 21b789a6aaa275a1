# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge reproduce aes`: the paper's figures beside those that follow from its parts, each number marked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ringforge.cli.console import console, say
from ringforge.cli.output import TEXT, AsJson, emit, prints
from ringforge.lab.papers import aes as paper
from ringforge.lab.papers.aes import machine_tables
from ringforge.lab.reproduce.answers import Reproduced
from ringforge.lab.tables import answers, render
from ringforge.runs import saved_results


@prints(TEXT, Reproduced)
def aes(
    as_json: AsJson = False,
    table: Annotated[
        list[str] | None, typer.Option("--table", help=f"Only this table: {', '.join(paper.ALL)}; may be repeated.")
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            help="Folder of saved results of `ringforge hw`; default: bench/results here, or in the source tree that "
            "this is run from."
        ),
    ] = None,
) -> None:
    """The paper on an accelerator for LTV and AES: cycles, times, relinearisation, keys, AES, its contradictions.

    Every number is marked: (p) printed in the paper, (m) given by our models, (x) measured, (r) cycles or resources of
    our RTL, (d) derived from others. Our machines come after the paper's tables: cycles saved by `ringforge hw cycles
    aes`, else by the model of their timing; the host's part of AES saved by `ringforge bench aes --host --insecure "a
    reproduction" --save bench/results`.

    Examples: `ringforge reproduce aes`, `ringforge reproduce aes --table relinearisation`
    """
    wanted = tuple(table) if table else paper.ALL
    tables = paper.tables(wanted) + machine_tables.tables(saved_results(results), wanted)
    sentences = paper.contradictions() if table is None else []
    if as_json:
        emit({"tables": answers(tables), "contradictions": sentences})
        return
    screen = console()
    if table is None:
        say("An FPGA accelerator for the LTV scheme and homomorphic AES. docs/aes-paper.md explains the rest.")
        say("")
    print(render(tables, width=screen.width, color=screen.is_terminal))
    if sentences:
        say("")
        say("Errors, contradictions and gaps of the paper, and how they are resolved here:")
        for number, sentence in enumerate(sentences, 1):
            say(f"{number:3}. {sentence}")
