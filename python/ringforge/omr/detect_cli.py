# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge omr detect`: running a detector."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, TextIO

import typer

from ringforge.cli.console import parse_size, thread_count
from ringforge.cli.options import Insecure, Threads, log_file

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Run a detector: it holds receivers' detection keys and searches sealed bulletins for them, without learning "
    "what it finds.",
)


@app.command()
def serve(
    board: Annotated[str, typer.Option(metavar="BOARD", help="The board: its database, or HOST:PORT of its service.")],
    board_ca: Annotated[Path | None, typer.Option(help="PEM file, for a board's service with TLS.")] = None,
    board_token_file: Annotated[Path | None, typer.Option(help="The token the board's service knows us by.")] = None,
    store: Annotated[
        Path, typer.Option(help="Directory for detection keys, requests, and results of steps; made if there is none.")
    ] = Path("detector"),
    parameters: Annotated[
        str, typer.Option("--set", help="Parameter set of the board: ringforge, paper, or test (no security).")
    ] = "ringforge",
    insecure: Insecure = "",
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where to listen; port 0: any free one.")
    ] = "127.0.0.1:8770",
    tls_cert: Annotated[Path | None, typer.Option(help="PEM file: this server's certificate chain.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="PEM file: its private key, mode 0600.")] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="Tokens of the receivers that are served, one a line; each has a quota. Mode 0600; - for stdin."
        ),
    ] = None,
    plaintext: Annotated[
        bool, typer.Option("--plaintext", help="Other machines without TLS: the connection is protected otherwise.")
    ] = False,
    bulletins_per_day: Annotated[
        int, typer.Option(min=0, help="Digests each receiver may ask for in a day (UTC).")
    ] = 1000,
    quota_file: Annotated[
        Path | None, typer.Option(help="SQLite file of the counts; default: STORE.quota.sqlite beside the store.")
    ] = None,
    keys_per_client: Annotated[int, typer.Option(help="Detection keys of one receiver.")] = 2,
    jobs_per_client: Annotated[int, typer.Option(help="Unfinished requests of one receiver.")] = 64,
    waiting: Annotated[int, typer.Option(help="Requests that may wait while one computes.")] = 256,
    keep: Annotated[float, typer.Option(help="Seconds that digests stay after they are done.")] = 86_400.0,
    disk: Annotated[str, typer.Option(help="For everything in the store; keys beyond are refused.")] = "64GiB",
    shards: Annotated[
        int, typer.Option(min=1, help="Parts of the affine transform: results are kept after each; more cost a little.")
    ] = 1,
    moving: Annotated[float, typer.Option(help="Seconds for a receiver to send its key, or to take a digest.")] = 600.0,
    stall: Annotated[
        float, typer.Option(help="Seconds for a call's first message, for each later one, and to take each of ours.")
    ] = 30.0,
    grace: Annotated[float, typer.Option(help="Seconds that the step under way gets to end when stopped.")] = 30.0,
    log: Annotated[
        Path | None, typer.Option(help="File for events, as JSON; default: standard error.", callback=log_file)
    ] = None,
    threads: Threads = 0,
) -> None:
    """Searches a board for receivers, until it is stopped (SIGTERM, Ctrl-C).

    Prints its port as JSON when it is ready. One request computes at a time, on all threads; receivers take turns.
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
    from ringforge.serving import listener
    from ringforge.serving.access import Tokens, read_tokens, require_cover, server_credentials, split_address
    from ringforge.serving.calls import Log
    from ringforge.serving.limits import Limits
    from ringforge.serving.quota import Quota

    workers = thread_count(threads)
    host, _ = split_address(listen)
    credentials = server_credentials(tls_cert, tls_key)
    require_cover(host, credentials is not None, plaintext, "--tls-cert and --tls-key")
    tokens = None if token_file is None else Tokens(read_tokens(token_file))
    limits = Limits(waiting=waiting, moving_seconds=moving, stall_seconds=stall, grace_seconds=grace)
    kept = Kept(keys_each=keys_per_client, jobs_each=jobs_per_client, keep_seconds=keep, disk=parse_size(disk))
    s = named(parameters, insecure)
    with contextlib.ExitStack() as stack:
        token = None if board_token_file is None else read_tokens(board_token_file)[0]
        opened = open_board(board, s, threads=workers, ca=board_ca, token=token, plaintext=plaintext)
        source = stack.enter_context(contextlib.closing(opened))
        worker = Detector(s, source, shards=shards, threads=workers)
        depot = stack.enter_context(contextlib.closing(Depot(store)))
        path = quota_file or store.with_name(f"{store.resolve().name}.quota.sqlite")
        quota = stack.enter_context(contextlib.closing(Quota(path, {"bulletins": bulletins_per_day}, words=QUOTAS)))
        events = Log(stack.enter_context(_log_stream(log)))
        service = Service(worker, depot, quota, limits, kept, tokens, events)
        running = listener.Running(service, listen, credentials)
        ready = {"listening": f"{host}:{running.port}", "tls": credentials is not None, "tokens": tokens is not None}
        listener.serve(running, limits, events, {**ready, "set": s.name})


@contextlib.contextmanager
def _log_stream(path: Path | None) -> Iterator[TextIO]:
    if path is None:
        yield sys.stderr
        return
    with path.open("a", encoding="utf-8") as f:
        yield f
