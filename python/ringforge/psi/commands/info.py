# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge psi info`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ringforge.cli.console import console, properties
from ringforge.cli.output import ROWS, AsJson, emit, prints
from ringforge.errors import ParameterError
from ringforge.psi.answers import TableInfoAnswer
from ringforge.psi.commands.common import table_info
from ringforge.psi.describe import of_directory, of_directory_rows
from ringforge.psi.texts import limit_rows, public, table_rows
from ringforge.serving.options import Plaintext, Timeout, TlsCa, TokenFile


@prints(ROWS, TableInfoAnswer)
def info(
    table: Annotated[Path | None, typer.Argument(help="Directory that `psi build` made; or --server.")] = None,
    server: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Ask this server about its table.")] = None,
    tls_ca: TlsCa = None,
    token_file: TokenFile = None,
    plaintext: Plaintext = False,
    timeout: Timeout = 30.0,
    as_json: AsJson = False,
) -> None:
    """Either side: what a table says of itself: sizes, mode, plan, labels, how elements are written, limits.

    All of that is public. Of a directory also what its owner alone sees: elements, age, place on the disk; no keys, and
    nothing of the set. Of a server also what is left of today's quota.

    Examples:

        ringforge psi info table

        ringforge psi info --server 127.0.0.1:8760 --json
    """
    if (table is None) == (server is None):
        raise ParameterError("say which table: a directory, or --server HOST:PORT")
    if table is not None:
        store, found = of_directory(table)
        if as_json:
            emit({**public(store.info), **found})
            return
        console().print(properties(f"table {table}", of_directory_rows(store, found)))
        return
    known, left = table_info(server, None, tls_ca, token_file, plaintext, timeout)
    if as_json:
        emit({**public(known), "digest": known.digest(), "left_today": left})
        return
    rows = {"size class": f"up to {known.capacity:,} elements", **table_rows(known), **limit_rows(known)}
    if left is not None:
        rows["left today"] = f"{left['prf']:,} evaluations, {left['bins']:,} bins"
    rows["digest"] = known.digest()[:16]
    console().print(properties(f"table of {server}", rows))
