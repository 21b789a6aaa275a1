# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge hw validate psi`: replica and closed form beside RTL."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ringforge.cli.output import ROWS, AsJson, prints
from ringforge.cli.records import RecordLine
from ringforge.hw.core.validate_cli import validate
from ringforge.hw.machines.psi.draws import cases
from ringforge.hw.machines.psi.validation import validate_draw


@prints(ROWS, RecordLine, lines=True)
def validate_command(
    case: Annotated[
        list[int] | None, typer.Option(help="Numbers of cases, from 0; may be repeated. Default: all.")
    ] = None,
    as_json: AsJson = False,
    save: Annotated[
        Path | None, typer.Option("--save", help="Also write records and environment to this folder.")
    ] = None,
) -> None:
    """Replica and closed form beside RTL, on chains and streams drawn over machine, degree, digits and memory.

    Takes a minute, and machines of two shapes are built once.

    Example: `ringforge hw validate psi --save bench/results`
    """
    validate("psi", cases(), validate_draw, lambda draw: draw.config, case, as_json=as_json, save=save, work="work")
