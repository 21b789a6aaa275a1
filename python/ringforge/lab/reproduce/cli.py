# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge reproduce`."""

from __future__ import annotations

import typer

from ringforge.lab.reproduce.aes import aes
from ringforge.lab.reproduce.matmul import matmul
from ringforge.lab.reproduce.matvec import matvec
from ringforge.lab.reproduce.omr import omr
from ringforge.lab.reproduce.psi import psi
from ringforge.lab.reproduce.results import results

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="The published tables and figures of each system, beside what we model or measure.",
)
for command in (matvec, matmul, psi, omr, aes, results):
    app.command()(command)
