# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge psi estimate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ringforge.cli.console import console, parse_size, properties, say, seconds_text, size_text, thread_count
from ringforge.cli.options import Threads
from ringforge.cli.output import ROWS, AsJson, emit, prints
from ringforge.errors import ParameterError
from ringforge.psi import choice
from ringforge.psi.answers import Comparison, RunEstimate
from ringforge.psi.commands.common import ExactSizes, RequestLimit, many_queries, table_info
from ringforge.psi.table import LONGEST_LABEL
from ringforge.psi.texts import chance, prediction_rows, public, table_rows
from ringforge.serving.options import Plaintext, Timeout, TlsCa, TokenFile
from ringforge.shown import ShownTable


@prints(ROWS, RunEstimate | Comparison)
def estimate(
    count: Annotated[
        int, typer.Option("--client-size", "--count", min=1, help="Elements that will be asked for at once.")
    ],
    server: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Ask this server about its table.")] = None,
    table: Annotated[Path | None, typer.Option(help="Or read the table here.")] = None,
    server_size: Annotated[
        int | None, typer.Option(min=1, help="Or compare tables that `build` could make of so many elements.")
    ] = None,
    label_bytes: Annotated[
        int, typer.Option(min=0, max=LONGEST_LABEL, help="With --server-size: bytes of the longest label.")
    ] = 0,
    tls_ca: TlsCa = None,
    token_file: TokenFile = None,
    plaintext: Plaintext = False,
    timeout: Timeout = 30.0,
    request_limit: RequestLimit = "1GiB",
    exact_sizes: ExactSizes = False,
    threads: Threads = 0,
    as_json: AsJson = False,
) -> None:
    """Either side: what asking for so many elements takes, before anything is sent.

    Of a table that there is, at a server or here; or, by --server-size, of tables that there might be: what the look-up
    and the polynomial protocol take, and which one `build` would choose. Times are of this machine; sizes and
    probabilities hold for any.

    Examples:

        ringforge psi estimate --server 127.0.0.1:8760 --client-size 5000

        ringforge psi estimate --server-size 262144 --client-size 1024

        ringforge psi estimate --table table --client-size 5000 --json
    """
    from ringforge.psi.estimate import estimate as of

    workers = thread_count(threads)
    if server_size is not None:
        if server is not None or table is not None:
            raise ParameterError("--server-size is for a table that there might be: leave --server and --table away")
        _compare(server_size, count, label_bytes, workers, as_json)
        return
    if label_bytes:
        raise ParameterError("a table says itself how long its labels are: leave --label-bytes away")
    info, left = table_info(server, table, tls_ca, token_file, plaintext, timeout)
    most = parse_size(request_limit)
    found = of(info, count, workers, request_bytes=most, exact_sizes=exact_sizes)
    if as_json:
        emit({**found.as_dict(), "left_today": left, **public(info)})
        return
    rows = table_rows(info)
    rows["queries"] = f"{found.queries}, each of {info.bins:,} bins"
    rows["sent"] = f"{size_text(sum(found.sent.values()))}: " + ", ".join(
        f"{'PRF' if k == 'prf' else k} {size_text(v)}" for k, v in found.sent.items() if v
    )
    rows["received"] = f"{size_text(sum(found.received.values()))}: " + ", ".join(
        f"{ {'prf': 'PRF', 'requests': 'replies', 'info': 'table info'}[k] } {size_text(v)}"
        for k, v in found.received.items()
        if v
    )
    rows["server's time"] = (
        "unknown: no measurements for this plan"
        if found.seconds is None or found.seconds_per_query is None
        else f"{seconds_text(found.seconds)}, {seconds_text(found.seconds_per_query)} for each query"
    )
    rows["false positives"] = f"probability {chance(found.false_positive)} that some match is none"
    if left is not None:
        rows["quota"] = (
            f"takes {found.evaluations:,} evaluations of {left['prf']:,} and {found.bins_asked:,} bins of "
            f"{left['bins']:,} that are left today"
        )
        if found.evaluations > left["prf"] or found.bins_asked > left["bins"]:
            rows["quota"] += ": TOO MUCH for one day"
    console().print(properties(f"asking for {count:,} elements", rows))
    many_queries(info, count, exact_sizes)


def _compare(server_size: int, client_size: int, label_bytes: int, threads: int, as_json: bool) -> None:
    found = choice.compare(server_size, client_size, label_bytes=label_bytes, threads=threads)
    reason = choice.why(found)
    if as_json:
        emit(
            {
                "server_size": server_size,
                "client_size": client_size,
                "label_bytes": label_bytes,
                "threads": threads,
                "choice": found[0].algorithm,
                "why": reason,
                "algorithms": [p.as_dict() for p in found],
            }
        )
        return
    grid = ShownTable(
        title=f"{server_size:,} elements at the server, {client_size:,} at the client", title_justify="left"
    )
    grid.add_column("", style="bold", no_wrap=True)
    rows = [prediction_rows(p) for p in found]
    for p in found:
        grid.add_column(p.algorithm, justify="right")
    for label in rows[0]:
        grid.add_row(label, *(r[label] for r in rows))
    console().print(grid)
    say(f"build takes {found[0].algorithm}: {reason}")
