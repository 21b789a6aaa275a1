# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge psi serve`."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from ringforge.cli import completion
from ringforge.cli.console import parse_size, thread_count
from ringforge.cli.options import Threads
from ringforge.cli.output import READY, WORK, prints
from ringforge.errors import ParameterError
from ringforge.psi.info import Limits as Daily
from ringforge.psi.store import Store
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
    log_stream,
)


@prints(WORK, plain=READY)
def serve(
    table: Annotated[Path, typer.Argument(help="Directory that `psi build` made.")],
    listen: Listen = "127.0.0.1:8760",
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    token_file: TokensFile = None,
    plaintext: Plaintext = False,
    prf_per_day: Annotated[int | None, typer.Option(help="Elements each client may ask for in a day (UTC).")] = None,
    bins_per_day: Annotated[int | None, typer.Option(help="Bins each client may ask for in a day.")] = None,
    quota_file: Annotated[
        Path | None, typer.Option(help="SQLite file of the counts; default: TABLE.quota.sqlite beside the table.")
    ] = None,
    memory: Annotated[str, typer.Option(help="For keys, requests and replies of all clients: 512MiB, 4GiB.")] = "2GiB",
    sessions: Annotated[int, typer.Option(help="Clients' keys held at a time.")] = 64,
    sessions_per_client: Annotated[int, typer.Option(help="Of one client.")] = 16,
    idle: Annotated[float, typer.Option(help="Seconds after which keys that are not used are forgotten.")] = 300.0,
    waiting: Annotated[int, typer.Option(help="Queries that may wait while one computes.")] = 32,
    moving: Annotated[
        float, typer.Option(help="Seconds for a client to send keys or a request, or to take a reply.")
    ] = 600.0,
    stall: ServerStall = 30.0,
    grace: Annotated[float, typer.Option(help="Seconds that queries get to end when the server is stopped.")] = 30.0,
    metrics: Metrics = None,
    log: EventLog = None,
    device: Annotated[
        str,
        typer.Option(
            help="Where queries are answered; `ringforge info` lists devices.", autocompletion=completion.devices
        ),
    ] = "cpu",
    threads: Threads = 0,
) -> None:
    """Server: answers clients until it is stopped (SIGTERM, Ctrl-C). SIGHUP takes up a changed table.

    Prints its port as JSON when it is ready. Events are logged as JSON lines: sizes, times, kinds of refusals, a keyed
    hash of the client; never contents. Beyond this machine it needs TLS, or --plaintext.

    Without --token-file everybody is served, and quotas go by address.

    Examples:

        ringforge psi serve table

        ringforge psi serve table --listen 0.0.0.0:8760 --tls-cert server.pem --tls-key server.key --token-file tokens
    """
    from ringforge.psi import wire
    from ringforge.psi.server import Server
    from ringforge.psi.service import Service
    from ringforge.serving.calls import Log
    from ringforge.serving.limits import Limits
    from ringforge.serving.quota import Quota

    workers = thread_count(threads)
    listening = Listening.make(listen, tls_cert, tls_key, token_file, plaintext, metrics)
    limits = Limits(
        memory=parse_size(memory),
        sessions=sessions,
        sessions_each=sessions_per_client,
        idle_seconds=idle,
        waiting=waiting,
        moving_seconds=moving,
        stall_seconds=stall,
        grace_seconds=grace,
    )
    store = Store(table)
    given = {"prf_per_day": prf_per_day, "bins_per_day": bins_per_day}
    for name, value in given.items():
        if value is not None and not 0 <= value <= 1 << 40:
            raise ParameterError(f"--{name.replace('_', '-')} {value} is outside 0 ... 2^40")
    daily = Daily.model_validate(
        {**store.info.limits.model_dump(), **{k: v for k, v in given.items() if v is not None}}
    )
    # Sizes follow the table, also one that is taken up later.
    server = Server(
        store, workers, daily={"prf_per_day": daily.prf_per_day, "bins_per_day": daily.bins_per_day}, device=device
    )
    quota = Quota(
        quota_file or table.with_name(f"{table.resolve().name}.quota.sqlite"),
        {"prf": daily.prf_per_day, "bins": daily.bins_per_day},
        words=wire.QUOTAS,
    )
    with contextlib.closing(quota), log_stream(log) as stream:
        events = Log(stream)
        listening.serve("psi", Service(server, quota, limits, listening.tokens, events), limits, events, device)
