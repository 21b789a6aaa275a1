# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge hw validate omr`: replica and closed form beside RTL."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ringforge.cli.output import ROWS, AsJson, prints
from ringforge.cli.records import RecordLine
from ringforge.hw.core.validate_cli import validate
from ringforge.hw.machines.omr.validation import cases, validate_draw


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
    """Replica and closed form beside RTL, on rotations and giant steps drawn over machine, ring, digits and memory.

    Takes some minutes, and machines of three shapes are built once.

    Example: `ringforge hw validate omr --save bench/results`
    """
    validate("omr", cases(), validate_draw, lambda draw: draw.config, case, as_json=as_json, save=save, work="work")
