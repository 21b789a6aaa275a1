# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge serve`: a page of the services that run."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from ringforge.cli.output import READY, WORK, prints
from ringforge.serving.options import Plaintext

app = typer.Typer(add_completion=False, rich_markup_mode="markdown")


@app.command()
@prints(WORK, plain=READY)
def serve(
    http: Annotated[
        str, typer.Option("--http", metavar="HOST:PORT", help="Where the page is; port 0: any free one.")
    ] = "127.0.0.1:8790",
    service: Annotated[
        list[str] | None,
        typer.Option("--service", metavar="URL", help="A service elsewhere: the address of its --metrics."),
    ] = None,
    runtime: Annotated[
        Path | None,
        typer.Option(help="Directory where services leave word; default: $RINGFORGE_RUNTIME_DIR and others."),
    ] = None,
    forget: Annotated[
        bool, typer.Option("--forget", help="First forget the services that have ended without saying so.")
    ] = False,
    plaintext: Plaintext = False,
) -> None:
    """Shows the services of this machine on one page, until it is stopped (SIGTERM, Ctrl-C).

    Their states, queues, work under way with the time left, quotas, times of calls, versions. It shows no clients and
    nothing that they sent. Prints its address as JSON when it is ready. Services of this user are found by themselves;
    others are named, by the address of their `--metrics`.

    The page has no password: it is this machine's alone, unless --http names another address and --plaintext says that
    the connection is protected otherwise.

    Examples:

        ringforge serve

        ringforge serve --http 127.0.0.1:8790 --service http://psi.example:9464
    """
    from ringforge.serving import runtime as files
    from ringforge.serving.access import require_cover, split_address
    from ringforge.serving.overview import Overview
    from ringforge.serving.page import page
    from ringforge.serving.web import serving

    require_cover(split_address(http)[0], False, plaintext, "an address of this machine and a tunnel of SSH")
    directory = runtime or files.directory()
    if forget:
        files.forget(directory)
    over = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        over.set()

    with contextlib.closing(Overview(directory, service or [])) as overview, serving(page(http, overview)) as web:
        before = {s: signal.signal(s, stop) for s in (signal.SIGTERM, signal.SIGINT)}
        try:
            print(json.dumps({"listening": web.address, "port": web.port, "pid": os.getpid()}), flush=True)
            while not over.wait(0.5):
                pass
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
