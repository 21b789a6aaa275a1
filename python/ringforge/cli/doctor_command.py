# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge doctor`: what this machine and installation can do, what is broken, and what missing parts would give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer
from rich.markup import escape

from ringforge.cli.console import console
from ringforge.cli.findings import Doctor, Finding, State
from ringforge.cli.output import ROWS, AsJson, emit, prints
from ringforge.shown import ShownTable

_TITLES = {
    "machine": "this machine",
    "versions": "versions",
    "kernels": "kernel sets",
    "checks": "self checks",
    "extras": "extras of the package",
    "tools": "tools of others",
}

_COLOURS = {State.OK: "green", State.MISSING: "dim", State.LIMITED: "yellow", State.BROKEN: "bold red"}


@prints(ROWS, Doctor)
def doctor(as_json: AsJson = False) -> None:
    """What this machine can do, whether Ringforge works on it, and what missing parts would give.

    Encrypts, computes and decrypts with every kernel set that the processor can run, in a process for each, and
    compares them. Changes nothing. Ends with exit code 1 only if something that is needed is broken.

    Examples: `ringforge doctor`, `ringforge doctor --json`
    """
    from ringforge.cli.health import examine

    found = list(examine())
    broken = [f for f in found if f.state is State.BROKEN]
    if as_json:
        emit(Doctor(healthy=not broken, findings=found))
    else:
        _print(found, broken)
    if broken:
        raise typer.Exit(1)


def _print(found: Sequence[Finding], broken: Sequence[Finding]) -> None:
    out = console()
    for group, title in _TITLES.items():
        rows = [f for f in found if f.group == group]
        out.print(_table(title, rows))
    for f in broken:
        out.print(f"[bold red]broken:[/] {escape(f.name)}: {escape(f.found)}. {escape(f.remedy)}", soft_wrap=True)
    if not broken:
        out.print("Everything that is needed works.")


def _table(title: str, rows: Sequence[Finding]) -> Any:
    told = {column: any(getattr(f, column) for f in rows) for column in ("gives", "remedy")}
    table = ShownTable(title=title, title_justify="left")
    table.add_column("what", no_wrap=True)
    table.add_column("state", no_wrap=True)
    table.add_column("found", overflow="fold")
    if told["gives"]:
        table.add_column("for", overflow="fold")
    if told["remedy"]:
        table.add_column("to get or mend it", overflow="fold")
    for f in rows:
        cells = [escape(f.name), f"[{_COLOURS[f.state]}]{f.state}[/]", escape(f.found)]
        cells += [escape(getattr(f, column)) for column in ("gives", "remedy") if told[column]]
        table.add_row(*cells)
    return table
