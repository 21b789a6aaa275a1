# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge hw validate matmul`: replica and closed form beside RTL."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from ringforge import runs
from ringforge.cli.console import console, say
from ringforge.errors import ParameterError
from ringforge.hw.core import provenance
from ringforge.hw.machines.matmul.draws import cases
from ringforge.hw.machines.matmul.validation import validate_draw
from ringforge.hw.vector.validation import Validated, summary


def validate_command(
    case: Annotated[
        list[int] | None, typer.Option(help="Numbers of cases, from 0; may be repeated. Default: all.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print records as JSON, one a line.")] = False,
    save: Annotated[
        Path | None, typer.Option("--save", help="Also write records and environment to this folder.")
    ] = None,
) -> None:
    """Replica and closed form beside RTL, on linear transforms drawn over machine, degree, limbs, digits and memory.

    Takes some minutes, machines of three shapes included, which are built once.

    Example: `ringforge hw validate matmul --save bench/results`
    """
    known = cases()
    chosen = case if case else [d.number for d in known]
    if any(not 0 <= n < len(known) for n in chosen):
        raise ParameterError(f"cases are 0 ... {len(known) - 1}")
    found: list[Validated] = []
    records: list[runs.Record] = []
    for n in chosen:
        entry, record = validate_draw(known[n])
        found.append(entry)
        made = provenance.of_run(known[n].config, f"validate matmul --case {n}")
        records.append(replace(record, extra={**record.extra, **made}))
        if as_json:
            print(records[-1].to_json())
        else:
            say(
                f"{n}: {entry.name}: RTL {entry.cycles:,}, replica {100 * entry.replica_error:+.3f} %, "
                f"closed form {100 * entry.closed_error:+.2f} %"
            )
    if not as_json:
        console().print(_table(found))
        for line in summary(found):
            say(line)
    if save is not None:
        name = f"hw-matmul-validation-{datetime.now(UTC).date()}"
        say(f"written to {runs.save(records, save, name, runs.environment())}")


def _table(found: list[Validated]) -> Table:
    table = Table(title="replica and closed form against RTL", title_justify="left", box=box.SIMPLE_HEAD)
    for label in ("case", "machine", "transform", "memory"):
        table.add_column(label)
    for label in ("RTL cycles", "replica", "error", "closed form", "error", "traffic", ""):
        table.add_column(label, justify="right")
    for v in found:
        table.add_row(
            str(v.number), v.machine, v.name, v.memory, f"{v.cycles:,}", f"{v.replica:,}",
            f"{100 * v.replica_error:+.3f} %", f"{v.closed_form:,.0f}", f"{100 * v.closed_error:+.2f} %",
            "equal" if v.traffic_equal else "DIFFERS", "fitted" if v.fitted else "",
        )  # fmt: skip
    return table
