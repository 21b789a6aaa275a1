# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge reproduce matmul`: the paper's tables beside our values, each number marked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ringforge.cli.console import console, say
from ringforge.cli.output import TEXT, AsJson, emit, prints
from ringforge.lab.papers import matmul as paper
from ringforge.lab.reproduce.answers import ReproducedMatmul
from ringforge.lab.tables import answers, render
from ringforge.runs import saved_results


@prints(TEXT, ReproducedMatmul)
def matmul(
    as_json: AsJson = False,
    results: Annotated[
        Path | None,
        typer.Option(
            help="Folder of saved results of `ringforge bench matmul`; default: bench/results here, or in the source "
            "tree that this is run from."
        ),
    ] = None,
    plans: Annotated[
        bool, typer.Option(help="Also our plans of all benchmarks on our machines, which take half a minute.")
    ] = True,
) -> None:
    """The paper on products of two encrypted matrices: Tables I to V, Figure 6, Equations 12 to 24, its errors.

    Every number is marked: (p) printed in the paper, (m) given by our models, (x) measured on a CPU, (d) derived
    from others. The paper shows its latencies only in a figure: beside those that are left stand a reconstructed cycle
    model of it, and our machines fame-s, fame-m and fame-l by their models and programs, with the paper's schedule and
    with our plans. Measured products come last, where results of `ringforge bench matmul` are in the folder.

    Example: `ringforge reproduce matmul`
    """
    folder = saved_results(results)
    tables = paper.tables(folder, plans=plans)
    sentences = paper.findings()
    if as_json:
        emit({"tables": answers(tables), "findings": sentences})
        return
    screen = console()
    say(
        "Xu, Kannan, Prasanna: FAME, FPGA Acceleration of Secure Matrix Multiplication with Homomorphic Encryption. "
        "m-l-n stands for an m x l matrix times an l x n one, both encrypted; docs/matmul-paper.md explains the rest."
    )
    say("")
    print(render(tables, width=screen.width, color=screen.is_terminal))
    say("")
    say("Errors, contradictions and gaps of the paper, and how they are resolved here:")
    for number, sentence in enumerate(sentences, 1):
        say(f"{number:3}. {sentence}")
    if not paper.load_measured(folder):
        say("")
        say(f"No measured products in {folder}: run `ringforge bench matmul --save {folder}`.")
