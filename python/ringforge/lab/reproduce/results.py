# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge reproduce results`: the page of all results, from what `bench/results` has."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final

import typer

from ringforge.cli.console import say
from ringforge.cli.options import output_file, overwrites
from ringforge.cli.output import TEXT, prints
from ringforge.errors import ParameterError
from ringforge.files import writing
from ringforge.lab.papers.aes import machine_tables as aes_machines
from ringforge.lab.papers.matmul import machine_tables as matmul_machines
from ringforge.lab.papers.matvec import machine_tables as matvec_machines
from ringforge.lab.papers.omr import machine_tables as omr_machines
from ringforge.lab.papers.psi import machine_tables as psi_machines
from ringforge.lab.reproduce.measured import SECTIONS, Saved, scale
from ringforge.lab.tables import SOURCE_MARKS, Table, to_markdown
from ringforge.runs import saved_results

TITLES: Final = {
    "matvec": ("Plain matrix times encrypted vector", "matvec.md"),
    "matmul": ("Products of encrypted matrices", "matmul.md"),
    "psi": ("Private set intersection", "psi.md"),
    "gates": ("Gates on encrypted bits", "gates.md"),
    "omr": ("Oblivious message retrieval", "omr.md"),
    "aes": ("AES on encrypted blocks", "aes.md"),
}
"""Heading and guide of each system."""


def _matvec(folder: Path) -> list[Table]:
    return [t for t in matvec_machines.tables(folder) if "against RTL" not in t.title]


def _matmul(folder: Path) -> list[Table]:
    machines = [matmul_machines.sizes(), matmul_machines.loops(), matmul_machines.benchmarks()]
    return [*machines, *matmul_machines.synthesised(folder)]


def _psi(folder: Path) -> list[Table]:
    saved = psi_machines.Cycles(folder)
    made = [psi_machines.table2(saved), psi_machines.table3(saved), psi_machines.table4(saved)]
    return [*made, *psi_machines.synthesis(folder)]


def _omr(folder: Path) -> list[Table]:
    saved = omr_machines.Saved(folder)
    return [omr_machines.table3(saved), omr_machines.table4(saved), omr_machines.matmuls(saved)]


def _aes(folder: Path) -> list[Table]:
    saved = aes_machines.Saved(folder)
    made = [aes_machines.instructions(saved), aes_machines.products(saved), aes_machines.resources(saved)]
    return [*made, aes_machines.account(aes_machines.host(folder))]


MACHINES: Final[dict[str, Callable[[Path], list[Table]]]] = {
    "matvec": _matvec,
    "matmul": _matmul,
    "psi": _psi,
    "omr": _omr,
    "aes": _aes,
}
"""Tables of the accelerators of each system."""

_HEAD: Final = """<!-- SPDX-License-Identifier: Apache-2.0 -->
<!-- Copyright 2026 The Ringforge authors -->
<!-- Made by `ringforge reproduce results --overwrite --write docs/results.md`; a test compares. -->

# Results

What was measured, simulated and modelled, from the files in `bench/results`, the newest of each kind. In the source
tree, `ringforge reproduce results --overwrite --write docs/results.md` makes this page anew.

The letter behind a number says where it comes from: {legend}. A dash: not available. A ratio
says how many times longer the peer takes, by one clock: processor time with one thread, wall time with more, and
beside times that a publication states. Below each table of measurements are the machine, the date, the commit, the load
of the machine and the files. `ringforge bench SYSTEM` measures anew, alternately with the peer; `make bench-results`
measures all of this page; `ringforge reproduce SYSTEM` prints the published tables beside ours, with what is wrong in
them.

The accelerators are simulated and synthesised, and have not run on a card: seconds are cycles at the clock of the
publication, which is an assumption. [Their pages](../hw/README.md) say how they are built.
"""

_SAVED: Final = {
    "matvec": ("hw-matvec-*", "hw-layers-*"),
    "matmul": ("hw-fame-*",),
    "psi": ("hw-psi-*",),
    "omr": ("hw-omr-*",),
    "aes": ("hw-aes-*", "aes-host-*"),
}
"""What the tables of a system's accelerators are made of."""


def _saved_when(folder: Path, name: str) -> str:
    """When the results behind a system's accelerators were saved."""
    files = [path.name for pattern in _SAVED[name] for path in folder.glob(pattern)]
    dates = sorted({found[0] for file in files if (found := re.search(r"\d{4}-\d\d-\d\d", file))})
    when = f"{dates[0]} to {dates[-1]}" if len(dates) > 1 else "".join(dates) or "never"
    patterns = ", ".join(f"`{pattern}`" for pattern in _SAVED[name])
    return (
        f"(r) and syntheses: saved {when} ({patterns}); they do not depend on the machine that simulates. "
        "(m): the models of this release.\n"
    )


def page(folder: Path) -> str:
    """The whole page in Markdown.

    Args:
        folder: of saved results.

    Raises:
        ParameterError: it holds none.
    """
    saved = Saved(folder)
    legend = ", ".join(f"({mark}) {source}" for source, mark in SOURCE_MARKS.items())
    legend = legend.replace("paper", "printed in the paper").replace("rtl", "counted in a simulation of our RTL")
    parts = [_HEAD.format(legend=legend)]
    for name, (title, guide) in TITLES.items():
        measured = [table for made in SECTIONS[name] for table in made(saved)]
        machines = MACHINES[name](folder) if name in MACHINES else []
        parts.append(f"## {title}\n\n[The guide]({guide}) says what it is and how to use it.\n")
        parts += [to_markdown(table) for table in measured]
        if machines:
            parts += [f"### Accelerators of {name}\n", _saved_when(folder, name)]
            parts += [to_markdown(table) for table in machines]
    if clusters := scale(saved):
        parts.append("## Past one machine\n\n[The guide](scale.md) says how work gets to several machines.\n")
        parts += [to_markdown(table) for table in clusters]
    if not saved.used:
        raise ParameterError(
            f"{folder} holds no saved results: give --results, or make some with "
            f"`ringforge bench SYSTEM --save {folder}`"
        )
    return "\n".join(parts)


@prints(TEXT)
@overwrites
def results(
    write: Annotated[
        Path | None, typer.Option(help="Write the page to this file in place of printing it.", callback=output_file)
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            help="Folder of saved results; default: bench/results here, or in the source tree that this is run from."
        ),
    ] = None,
) -> None:
    """All results on one page in Markdown: measured times beside peers, simulated accelerators beside the papers.

    Example: `ringforge reproduce results --overwrite --write docs/results.md`
    """
    text = page(saved_results(results))
    if write is None:
        print(text, end="")
        return
    with writing(write) as f:
        f.write(text.encode())
    say(f"written: {write}")
