# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge explore`: configurations of accelerators that fit a card, the best first."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from ringforge import files
from ringforge.cli import completion
from ringforge.cli.console import console, progress, say, seconds_text
from ringforge.cli.options import output_file, overwrites
from ringforge.cli.output import ROWS, AsJson, emit, prints
from ringforge.errors import ParameterError
from ringforge.hw.core import cards, explore_page, explore_verify
from ringforge.hw.core import machine as descriptors
from ringforge.hw.core.answers import Explorations
from ringforge.hw.core.explore import ENUMERATED, Found, Point, Space, explore

app = typer.Typer(add_completion=False)


def _spaces(machine: str, which: str) -> Space:
    found = descriptors.machine(machine)
    if not found.spaces:
        having = ", ".join(m.name for m in descriptors.machines() if m.spaces)
        raise ParameterError(f"machine {machine} has no space to explore; machines that have one: {having}")
    word = which or next(iter(found.spaces))
    if word not in found.spaces:
        raise ParameterError(f'machine {machine} has no models "{word}"; it has {", ".join(found.spaces)}')
    space: Space = found.load(found.spaces[word])()
    return space


def _table(found: Found, top: int) -> Table:
    title = f"{found.space.machine} on {found.card.title} at {found.clock_hz / 1e6:g} MHz"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    names = list(found.space.axes)
    table.add_column("")
    for name in (*names, "time", "DSP", "BRAM36", "URAM", "GB/s"):
        table.add_column(name, justify="right", overflow="fold")

    def row(label: str, p: Point) -> None:
        values = [escape(str(p.values[n])) for n in names]
        blocks = [f"{p.dsp:,}", f"{p.blocks.bram36:,g}", f"{p.blocks.uram:,}"]
        time = seconds_text(p.seconds) if not p.refused else "does not fit"
        table.add_row(label, *values, time, *blocks, f"{p.bytes_per_second / 1e9:.3g}")

    for n, p in enumerate(found.fitting[:top], 1):
        row(str(n), p)
    if found.published is not None:
        row("paper", found.published)
    return table


def _say(text: str, aside: bool) -> None:
    """Beside JSON on standard error."""
    if aside:
        console(stderr=True).print(text)
    else:
        say(text)


def _report(found: Found, top: int) -> None:
    say(found.space.workload)
    console().print(_table(found, top))
    say(found.space.models)
    say(
        f"{found.size:,} configurations, {len(found.points):,} looked at, {len(found.fitting):,} fit, "
        f"{len(found.front)} on the Pareto front over time, DSP slices, memory and bandwidth"
    )
    paper = found.published
    if paper is not None and paper.refused:
        say(f"the paper's design by these models: {'; '.join(paper.refused)}")


@app.command("explore")
@prints(ROWS, Explorations)
@overwrites
def explore_command(
    machines: Annotated[
        list[str],
        typer.Argument(
            metavar="MACHINE...",
            help="Machines, or all.",
            autocompletion=completion.names_of("ringforge.hw.core.machine:names", more=("all",)),
        ),
    ],
    card: Annotated[list[str] | None, typer.Option(help=f"Card: {', '.join(cards.names())}; may be repeated.")] = None,
    clock: Annotated[
        float | None, typer.Option(help="MHz; default: what designs on the card are assumed to reach.", min=1)
    ] = None,
    models: Annotated[
        str, typer.Option(help="Models of cost, for machines that have several: omr has ours and paper.")
    ] = "",
    top: Annotated[int, typer.Option(help="Rows to print.", min=1)] = 4,
    trials: Annotated[
        int, typer.Option(help="Points to look at where a space is larger: Optuna chooses them.", min=1)
    ] = ENUMERATED,
    seed: Annotated[int, typer.Option(help="Of that choice.")] = 1,
    verify: Annotated[
        int, typer.Option(help="Points from the top whose cells are synthesised by Yosys and compared.", min=0)
    ] = 0,
    html: Annotated[
        Path | None, typer.Option(help="Write an interactive page to this file.", callback=output_file)
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(help="Write the best point's configuration, for rtl:FILE.json.", callback=output_file),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Searches a machine's configurations for those that fit a card: time by models, DSP slices, memory, bandwidth.

    Ranked by time of the machine's usual work, then DSP slices, then memory, with the paper's design by the same
    models below. Everything is computed from closed forms, in seconds; `--verify` synthesises the cells that dominate
    and prints the models' errors. The page shows any two figures against each other; a click on a point copies its
    configuration, which the device `rtl:FILE.json` simulates.

    Examples: `ringforge explore omr --card u55c`, `ringforge explore omr --card u55c --models paper`,
    `ringforge explore all --card u55c --card u200 --html explore.html`
    """
    known = [m.name for m in descriptors.machines() if m.spaces]
    names = known if machines == ["all"] else machines
    found: list[Found] = []
    for name in names:
        space = _spaces(name, models)
        for word in card or [cards.names()[0]]:
            with progress(f"{name} on {word}") as update:
                hz = None if clock is None else 1e6 * clock
                found.append(explore(space, cards.card(word), hz, trials=trials, seed=seed, progress=update))
    if html is not None:
        made_by = f"ringforge {shlex.join(sys.argv[1:])}"
        explore_page.write(found, html, made_by)
        _say(f"written to {html}", as_json)
    if write is not None:
        if len(found) != 1 or not found[0].best.config:
            raise ParameterError("--write takes one machine with configurations, on one card")
        with files.writing(write) as out:
            out.write((json.dumps(dict(found[0].best.config), indent=2) + "\n").encode())
        _say(f"written to {write}: device rtl:{write} simulates it", as_json)
    if as_json:
        emit([f.to_dict() for f in found])
        return
    for one in found:
        _report(one, top)
        try:
            one.best  # noqa: B018  # raises where nothing fits
        except ParameterError as e:
            if len(found) == 1:
                raise
            say(str(e))
            continue
        if verify:
            explore_verify.report(one, verify)
