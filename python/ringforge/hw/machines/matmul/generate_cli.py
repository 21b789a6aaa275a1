# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge hw generate matmul`: machines for parameter sets, from the models of memory and cycles and a card."""

from __future__ import annotations

from typing import Annotated, Final

import typer
from rich import box
from rich.table import Table

from ringforge import params as parameter_sets
from ringforge.cli.console import console, say
from ringforge.cli.output import ROWS, AsJson, emit, prints
from ringforge.errors import ParameterError
from ringforge.hw.machines.matmul.answers import GeneratedSet
from ringforge.hw.machines.matmul.generator import DSP_PER_LANE, U280, Generated, generate

#: The sets of the paper with primes of one length.
SETS: Final = ("fame-a", "fame-b", "fame-c")


@prints(ROWS, GeneratedSet, lines=True)
def generate_command(
    params: Annotated[
        list[str] | None, typer.Option(help=f"A set; may be repeated. Default: {', '.join(SETS)}.")
    ] = None,
    multiplier: Annotated[str, typer.Option(help=f"DSP slices a lane: {', '.join(DSP_PER_LANE)}.")] = "paper",
    everything: Annotated[
        bool, typer.Option("--all", help="Also the machines that were not chosen, and why some cannot be built.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Elements, lanes and scratchpads for parameter sets on an Alveo U280, by the memory model and the closed form.

    Example: `ringforge hw generate matmul --all`
    """
    if multiplier not in DSP_PER_LANE:
        raise ParameterError(f'multipliers are {", ".join(DSP_PER_LANE)}, not "{multiplier}"')
    found = [
        generate(parameter_sets.named(name, "sizes only"), dsp_per_lane=DSP_PER_LANE[multiplier])
        for name in params or SETS
    ]
    if as_json:
        for g in found:
            machines = [c.as_dict() for c in (g.candidates if everything else g.candidates[:1])]
            emit({"parameters": g.parameters, "shape": g.shape, "machines": machines})
        return
    console().print(_table(found, everything))
    for g in found:
        chosen = g.chosen
        say(f"{g.parameters}: {chosen.name}" + (f", which is {g.same}" if g.same else ""))
        for c in g.candidates if everything else ():
            if c.refused:
                say(f"  not {c.name}: {'; '.join(c.refused)}")


def _table(found: list[Generated], everything: bool) -> Table:
    table = Table(title=f"machines on {U280.name}", title_justify="left", box=box.SIMPLE_HEAD)
    for label in ("set", "PEs x lanes", "limbs", "rows of banks", "DSP", "BRAM18", "URAM", "keys GB/s", "seconds"):
        table.add_column(label, justify="left" if label == "set" else "right", no_wrap=True)
    for g in found:
        for c in g.candidates if everything else (g.chosen,):
            if not c.refused:
                table.add_row(
                    g.parameters, c.name, str(c.limbs), ", ".join(map(str, c.bank_rows)), f"{c.dsp:,}",
                    f"{c.bram18:,}", f"{c.uram:,}", f"{c.keys_per_second / 1e9:.0f}", f"{c.seconds:.4f}",
                )  # fmt: skip
    return table
