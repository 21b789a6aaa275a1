# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge hw streams psi`: what an operation takes in RTL, at the published sizes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from ringforge import runs
from ringforge.cli.console import say
from ringforge.cli.output import TEXT, AsJson, prints
from ringforge.cli.records import RecordLine, emit_record
from ringforge.hw.core import provenance
from ringforge.hw.machines.psi.config import PsiConfig
from ringforge.hw.machines.psi.streams import streams


@prints(TEXT, RecordLine, lines=True)
def streams_command(
    config: Annotated[str, typer.Option("--config", help="Configuration of the published pipeline.")] = "psi-27",
    as_json: AsJson = False,
    save: Annotated[
        Path | None, typer.Option("--save", help="Also write records and environment to this folder.")
    ] = None,
) -> None:
    """Cycles of an operation in a full stream, from two lengths of it in RTL: gates, or substitutions and products.

    Takes a minute, once the machine is built.

    Example: `ringforge hw streams psi --config psi-54 --save bench/results`
    """
    records = []
    for stream in streams(config):
        record = stream.measured()
        made = provenance.of_run(PsiConfig.named(config), f"streams psi --config {config}")
        records.append(replace(record, extra={**record.extra, **made}))
        each, model = record.extra["operation_cycles"], stream.modelled()
        if as_json:
            emit_record(records[-1])
        else:
            say(
                f"{stream.name}: {each:,.1f} cycles an operation, {each / stream.polynomials:,.1f} a polynomial, "
                f"{1e6 * record.seconds:,.2f} us; replica {100 * (model / each - 1):+.3f} %"
            )
    if save is not None:
        name = f"hw-{config}-streams-{datetime.now(UTC).date()}"
        say(f"written to {runs.save(records, save, name, runs.environment())}")
