# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What several commands of `ringforge psi` share: options, how sets are read, warnings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ringforge.errors import ParameterError
from ringforge.psi.cells import Wanted
from ringforge.psi.client import asked
from ringforge.psi.hashing import room
from ringforge.psi.info import MAX_LOG_BINS, TableInfo
from ringforge.psi.sets import Elements, small_domain
from ringforge.psi.store import Store
from ringforge.psi.texts import warn
from ringforge.serving.options import client_token

#: Queries of one run from which on it is told that a table with more bins would be better.
MANY_QUERIES = 4

JsonLines = Annotated[
    bool,
    typer.Option(
        "--json-lines",
        help='The file has {"element": ..., "label": ...} on each line, as files named .jsonl and .ndjson have.',
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="NAME|NUMBER",
        help="CSV, TSV, Parquet: the column of the elements. Several times: columns that are an element together.",
        show_default=False,
    ),
]
NoHeader = Annotated[
    bool, typer.Option("--no-header", help="CSV whose first line is a row already; columns go by number.")
]
RequestLimit = Annotated[
    str, typer.Option(help="Refuse a table whose keys or requests are larger: 64MiB, 4GiB.", metavar="SIZE")
]
ExactSizes = Annotated[
    bool,
    typer.Option(
        "--exact-sizes",
        help="Ask as often as the set needs, not as often as its size class: less to compute, but the server learns "
        "the number of elements.",
    ),
]


def wanted(columns: list[str] | None, label: str | None, no_header: bool) -> Wanted:
    """The columns that options name."""
    return Wanted(tuple(columns or ()), label, not no_header)


def one_of(option: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuses what is no value of an option.

    Raises:
        ParameterError: it is none.
    """
    if value not in allowed:
        raise ParameterError(f'{option} is {" or ".join(allowed)}, not "{value}"')


def guessable(elements: Elements, info: TableInfo | None = None) -> None:
    """Warns of elements that can be guessed; a client knows the server's limits. Who has read a whole polynomial table
    by its queries needs only evaluations for more guesses."""
    why = small_domain(elements.elements)
    if why:
        if info is None:
            speed = (
                "as fast as the server's daily quota lets it (--prf-per-day of psi serve, for look-ups --bins-per-day)"
            )
        else:
            speed = f"up to the server's quota of {info.limits.prf_per_day:,} elements"
            speed += " a day" if info.plan.algorithm == "poly" else f" and {info.limits.bins_per_day:,} bins a day"
        warn(
            f"{why}: so few values are possible that a client can try all of them, {speed}. Nothing else protects such "
            "a set from its clients; docs/psi.md says more"
        )


def left_out(found: Elements) -> None:
    """Warns of rows that are no elements, and of elements that fell together."""
    if found.unnamed:
        warn(
            f"the first line, of {found.unnamed} columns, was left out as their header, although columns are given by "
            "number: say --no-header if it is a row already"
        )
    if not found.elements:
        warn("the set holds no elements, so nothing is asked: is it the right file and column?")
    if found.empty:
        warn(f"rows left out because they have no element (an empty cell, NULL, nothing to normalise): {found.empty:,}")
    if found.together:
        warn(f"elements that are the same as others once they are normalised, and count with them: {found.together:,}")


def many_queries(info: TableInfo, elements: int, exact: bool) -> None:
    """Warns of a run of many queries, one after the other."""
    queries, _ = asked(info, elements, exact=exact)
    most = room(1 << MAX_LOG_BINS, 3)
    if queries >= MANY_QUERIES and info.mode == "oprf":
        warn(
            f"{elements:,} elements take {queries} queries, one after the other, of {info.bins:,} bins each: a table "
            f"built with --client-size {elements} answers them in {'one' if elements <= most else 'fewer'}"
        )


def table_info(
    server: str | None,
    table: Path | None,
    tls_ca: Path | None,
    token_file: Path | None,
    plaintext: bool,
    timeout: float | None,
) -> tuple[TableInfo, dict[str, int] | None]:
    """What is public about a table here or at a server; there also what is left of the quota."""
    if table is not None and server is None:
        return Store(table, verify=False).info, None
    if server is None or table is not None:
        raise ParameterError("say which table: --server HOST:PORT or --table DIRECTORY")
    from ringforge.psi import remote

    token = client_token(token_file)
    with remote.Connection(server, ca=tls_ca, token=token, timeout=timeout, plaintext=plaintext) as connection:
        return connection.info()
