# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge hw validate`: cases of a machine in RTL, beside its models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from rich import box
from rich.table import Table

from ringforge import runs
from ringforge.cli.console import console, say
from ringforge.cli.records import emit_record
from ringforge.errors import ParameterError
from ringforge.hw.core import provenance
from ringforge.hw.core.config import MachineConfig
from ringforge.hw.core.validation import Validated, summary

D = TypeVar("D")


def validate(
    machine: str,
    known: Sequence[D],
    run: Callable[[D], tuple[Validated, runs.Record]],
    config: Callable[[D], MachineConfig],
    numbers: Sequence[int] | None,
    *,
    as_json: bool,
    save: Path | None,
    work: str,
) -> None:
    """Runs cases, prints what they came to, and keeps it.

    Args:
        machine: its name.
        known: all cases in order; `numbers` of them, or all.
        run, config: of a case.
        as_json: records, one a line.
        save: folder for records and environment.
        work: heading of what a case does.

    Raises:
        ParameterError: there is no such case.
    """
    chosen = numbers if numbers else range(len(known))
    if any(not 0 <= n < len(known) for n in chosen):
        raise ParameterError(f"cases are 0 ... {len(known) - 1}")
    found: list[Validated] = []
    records: list[runs.Record] = []
    for n in chosen:
        entry, record = run(known[n])
        found.append(entry)
        made = provenance.of_run(config(known[n]), f"validate {machine} --case {n}")
        records.append(replace(record, extra={**record.extra, **made}))
        if as_json:
            emit_record(records[-1])
        else:
            say(
                f"{n}: {entry.name}: RTL {entry.cycles:,}, replica {100 * entry.replica_error:+.3f} %, "
                f"closed form {percent(entry.closed_error)}"
            )
    if not as_json:
        console().print(_table(found, work))
        for line in summary(found):
            say(line)
    if save is not None:
        name = f"hw-{machine}-validation-{datetime.now(UTC).date()}"
        say(f"written to {runs.save(records, save, name, runs.environment())}")


def percent(error: float | None) -> str:
    """An error of the closed form in words."""
    return "-" if error is None else f"{100 * error:+.2f} %"


def _table(found: Sequence[Validated], work: str) -> Table:
    table = Table(title="replica and closed form against RTL", title_justify="left", box=box.SIMPLE_HEAD)
    for label in ("case", "machine", work, "memory"):
        table.add_column(label)
    for label in ("RTL cycles", "replica", "error", "closed form", "error", "traffic", ""):
        table.add_column(label, justify="right")
    for v in found:
        table.add_row(
            str(v.number), v.machine, v.name, v.memory, f"{v.cycles:,}", f"{v.replica:,}",
            f"{100 * v.replica_error:+.3f} %", "-" if v.closed_form is None else f"{v.closed_form:,.0f}",
            percent(v.closed_error),
            "equal" if v.traffic_equal else "DIFFERS", "fitted" if v.fitted else "",
        )  # fmt: skip
    return table
