# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge psi demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ringforge.cli.console import thread_count
from ringforge.cli.options import Threads
from ringforge.cli.output import TEXT, prints


@prints(TEXT)
def demo(
    small: Annotated[
        bool,
        typer.Option("--small/--full", help="2^15 entries in 2^8 bins, seconds; or 2^20 in 2^14, minutes."),
    ] = True,
    out: Annotated[Path, typer.Option(help="Folder for the summary and what the server keeps.")] = Path("demo-out/psi"),
    threads: Threads = 0,
) -> None:
    """Two processes: a server with 30,000 common passwords, and a client that asks which of its own are among them.

    The client learns which are, and their ranks; the server sees none of the client's passwords. --small, the default,
    has the whole list and takes seconds; --full fills it up to 2^20 entries. Ends with exit code 1 if the result is not
    the plain intersection, or the server's files hold a password of the client.

    Examples: `ringforge psi demo`, `ringforge psi demo --full --out demo-out/psi`
    """
    from ringforge.psi.demo import run_demo

    if not run_demo(out=out, size="small" if small else "full", threads=thread_count(threads)).good:
        raise typer.Exit(1)
