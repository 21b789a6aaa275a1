# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge omr detect`: running a detector."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from ringforge.cli import completion
from ringforge.cli.console import parse_size, thread_count
from ringforge.cli.options import Insecure, Threads
from ringforge.cli.output import READY, WORK, prints
from ringforge.serving.options import (
    EventLog,
    Listen,
    Listening,
    Metrics,
    Plaintext,
    ServerStall,
    TlsCert,
    TlsKey,
    TokensFile,
    client_token,
    log_stream,
)

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Run a detector: it holds receivers' detection keys and searches sealed bulletins for them, without learning "
    "what it finds.",
)


@app.command()
@prints(WORK, plain=READY)
def serve(
    board: Annotated[str, typer.Option(metavar="BOARD", help="The board: its database, or HOST:PORT of its service.")],
    board_ca: Annotated[Path | None, typer.Option(help="PEM file, for a board's service with TLS.")] = None,
    board_token_file: Annotated[Path | None, typer.Option(help="The token the board's service knows us by.")] = None,
    store: Annotated[
        Path, typer.Option(help="Directory for detection keys, requests, and results of steps; made if there is none.")
    ] = Path("detector"),
    parameters: Annotated[
        str,
        typer.Option(
            "--set",
            help="Parameter set of the board: ringforge, paper, or test (no security).",
            autocompletion=completion.names_of("ringforge.omr.sets:names"),
        ),
    ] = "ringforge",
    insecure: Insecure = "",
    listen: Listen = "127.0.0.1:8770",
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    token_file: TokensFile = None,
    plaintext: Plaintext = False,
    bulletins_per_day: Annotated[
        int, typer.Option(min=0, help="Digests each receiver may ask for in a day (UTC).")
    ] = 1000,
    quota_file: Annotated[
        Path | None, typer.Option(help="SQLite file of the counts; default: STORE.quota.sqlite beside the store.")
    ] = None,
    keys_per_client: Annotated[int, typer.Option(help="Detection keys of one receiver.")] = 2,
    jobs_per_client: Annotated[int, typer.Option(help="Unfinished requests of one receiver.")] = 64,
    waiting: Annotated[int, typer.Option(help="Requests that may wait while one computes.")] = 256,
    keep: Annotated[float, typer.Option(help="Seconds that digests stay, and keys that nobody uses.")] = 86_400.0,
    disk: Annotated[str, typer.Option(help="For everything in the store; keys beyond are refused.")] = "64GiB",
    shards: Annotated[
        int, typer.Option(min=1, help="Parts of the affine transform: results are kept after each; more cost a little.")
    ] = 1,
    device: Annotated[
        str,
        typer.Option(
            help="What computes the affine transform: cpu, or an accelerator such as rtl:omr-small.",
            autocompletion=completion.devices,
        ),
    ] = "cpu",
    at_once: Annotated[
        int,
        typer.Option(
            min=1, help="Requests that are computed at a time: on a device of many workers, each on its share of them."
        ),
    ] = 1,
    moving: Annotated[float, typer.Option(help="Seconds for a receiver to send its key, or to take a digest.")] = 600.0,
    stall: ServerStall = 30.0,
    grace: Annotated[
        float, typer.Option(help="Seconds that calls get to end when stopped; the step under way ends at once.")
    ] = 30.0,
    metrics: Metrics = None,
    log: EventLog = None,
    threads: Threads = 0,
) -> None:
    """Searches a board for receivers, until it is stopped (SIGTERM, Ctrl-C).

    Prints its port as JSON when it is ready. One request computes at a time, on all threads (more with --at-once);
    receivers take turns.
    Requests are written down before they are acknowledged: after a crash, start it again on the same store, and it goes
    on with the step that was not finished. Events are logged as JSON lines: sizes, times, stages, a keyed hash of the
    receiver; never contents. Beyond this machine it needs TLS, or --plaintext.

    Examples:

        ringforge omr detect serve --board board.sqlite

        ringforge omr detect serve --board board.example:8771 --listen 0.0.0.0:8770 --tls-cert server.pem \
--tls-key server.key --token-file tokens
    """
    from ringforge.omr.bulletins import open_board
    from ringforge.omr.depot import Depot
    from ringforge.omr.detector import Detector
    from ringforge.omr.detector_service import Kept, Service
    from ringforge.omr.detector_wire import QUOTAS
    from ringforge.omr.sets import named
    from ringforge.serving.calls import Log
    from ringforge.serving.limits import Limits
    from ringforge.serving.quota import Quota

    workers = thread_count(threads)
    listening = Listening.make(listen, tls_cert, tls_key, token_file, plaintext, metrics)
    limits = Limits(waiting=waiting, moving_seconds=moving, stall_seconds=stall, grace_seconds=grace)
    kept = Kept(
        keys_each=keys_per_client, jobs_each=jobs_per_client, at_once=at_once, keep_seconds=keep, disk=parse_size(disk)
    )
    s = named(parameters, insecure)
    with contextlib.ExitStack() as stack:
        token = client_token(board_token_file)
        opened = open_board(board, s, threads=workers, ca=board_ca, token=token, plaintext=plaintext)
        source = stack.enter_context(contextlib.closing(opened))
        worker = Detector(s, source, shards=shards, threads=workers, device=device, at_once=at_once)
        depot = stack.enter_context(contextlib.closing(Depot(store)))
        path = quota_file or store.with_name(f"{store.resolve().name}.quota.sqlite")
        quota = stack.enter_context(contextlib.closing(Quota(path, {"bulletins": bulletins_per_day}, words=QUOTAS)))
        events = Log(stack.enter_context(log_stream(log)))
        service = Service(worker, depot, quota, limits, kept, listening.tokens, events)
        listening.serve("omr detect", service, limits, events, device, set=s.name)
