# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge psi query`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from ringforge.cli.console import console, parse_size, properties, steps, thread_count
from ringforge.cli.options import Threads, output_file, overwrites
from ringforge.cli.output import WORK, AsJson, emit, prints, put
from ringforge.errors import Error, ParameterError
from ringforge.files import check_different, writing
from ringforge.psi import cells
from ringforge.psi.answers import Queried
from ringforge.psi.client import Element
from ringforge.psi.commands.common import (
    Columns,
    ExactSizes,
    JsonLines,
    NoHeader,
    RequestLimit,
    guessable,
    left_out,
    many_queries,
    one_of,
    wanted,
)
from ringforge.psi.data import label_texts, read_for
from ringforge.psi.forms import JOINT
from ringforge.psi.info import Mode, TableInfo
from ringforge.psi.normalise import canonical
from ringforge.psi.sets import CSV_SUFFIX, JSON_SUFFIXES, Elements
from ringforge.psi.texts import one_line, printable, query_object, query_rows, shown_parts
from ringforge.serving.options import Plaintext, Stall, Timeout, TlsCa, TokenFile, client_token

if TYPE_CHECKING:
    from ringforge.psi.remote import IncompleteError, Outcome

ServerAddress = Annotated[str, typer.Option("--server", metavar="HOST:PORT", help="Where `psi serve` listens.")]

#: Files of rows, as --out and --rest write them.
_TABLES = frozenset({CSV_SUFFIX, ".tsv", *cells.PARQUET_SUFFIXES})


@prints(WORK, Queried, plain="matches a line, the label after a tab; with `--out` nothing")
@overwrites
def query(
    server: ServerAddress,
    elements: Annotated[
        Path, typer.Option("--set", help="Text (one element a line), CSV, JSON lines or Parquet; - for standard input.")
    ],
    column: Columns = None,
    no_header: NoHeader = False,
    json_lines: JsonLines = False,
    normalise: Annotated[
        str | None,
        typer.Option(
            metavar="STEPS",
            help="Refuse a table that normalises in another way. Elements are normalised as the table says anyway.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File for the matches, in place of printing them: .csv, .tsv, .parquet hold your own rows with all "
            "columns and the label; others a line for each element.",
            callback=output_file,
        ),
    ] = None,
    rest: Annotated[
        Path | None,
        typer.Option(
            help="File for the elements without an answer, if a run of several queries ends in the middle.",
            callback=output_file,
        ),
    ] = None,
    tls_ca: TlsCa = None,
    token_file: TokenFile = None,
    plaintext: Plaintext = False,
    timeout: Timeout = None,
    stall: Stall = 60.0,
    accept_insecure: Annotated[str, typer.Option(metavar="REASON", help="Why a plan below 128 bits may be used.")] = "",
    mode: Annotated[
        str | None,
        typer.Option(help="oprf or direct: refuse a table of the other mode; poly: also of another algorithm."),
    ] = None,
    request_limit: RequestLimit = "1GiB",
    exact_sizes: ExactSizes = False,
    threads: Threads = 0,
    as_json: AsJson = False,
) -> None:
    """Client: asks which elements of a file the server has; prints them, with their labels after a tab.

    Exit code 0, with matches or without. Matches go to standard output, what it took to standard error; the server sees
    none of it. If the server fails after some of several queries, what is known is printed all the same, and the exit
    code is 1; --rest keeps what is left to ask.

    Examples:

        ringforge psi query --server 127.0.0.1:8760 --set mine.txt

        ringforge psi query --server 127.0.0.1:8760 --set mine.csv --column E-mail --out matched.csv

        ringforge psi query --server psi.example:8760 --tls-ca ca.pem --token-file token --set mine.jsonl --json
    """
    from ringforge.psi import remote

    workers = thread_count(threads)
    if mode is not None:
        one_of("--mode", mode, ("oprf", "direct", "poly"))
    most = parse_size(request_limit)
    if str(elements) == str(token_file) == "-":
        raise ParameterError("--set and --token-file cannot both be standard input: give one of them a file")
    check_different({"--set": elements, "--out": out, "--rest": rest})
    some = wanted(column, None, no_header)
    _check_rest(rest, elements, bool(some.columns))
    for name in (out, rest):
        if name is not None and name.suffix.lower() in cells.PARQUET_SUFFIXES:
            cells.pyarrow()
    token = client_token(token_file)
    failure: IncompleteError | None = None
    with (
        remote.Connection(
            server, ca=tls_ca, token=token, timeout=timeout, stall=stall, plaintext=plaintext
        ) as connection,
        steps() as report,
    ):
        report("table info", 0.0, 0)
        info, left = connection.info()
        _check_table(info, normalise, mode)
        found = read_for(info, elements, some, json_lines or None)
        _check_lines(rest, found.elements)
        guessable(found, info)
        left_out(found)
        many_queries(info, len(found.elements), exact_sizes)
        try:
            outcome = remote.intersect(
                connection,
                found.elements,
                threads=workers,
                accept_insecure=accept_insecure,
                mode=cast("Mode | None", "oprf" if mode == "poly" else mode),
                request_bytes=most,
                exact_sizes=exact_sizes,
                report=report,
                known=(info, left),
                hang_up=True,
            )
        except remote.IncompleteError as e:
            failure, outcome = e, e.outcome
    _tell(outcome, found, out, as_json)
    if failure is not None:
        raise Error(_unfinished(failure, found, rest)) from None


def _check_table(info: TableInfo, normalise: str | None, mode: str | None) -> None:
    if normalise is not None and canonical(normalise) != info.normalise:
        how = f"by {info.normalise}" if info.normalise else "not at all"
        raise ParameterError(
            f"this table's elements are normalised {how}, --normalise says {canonical(normalise) or 'not at all'}: "
            "leave it away, and yours are normalised as the table says"
        )
    if mode == "poly" and info.plan.algorithm != "poly":
        raise ParameterError(f"the table is of algorithm {info.plan.algorithm}, not poly: ask for another table")


def _check_rest(rest: Path | None, elements: Path, columns: bool) -> None:
    """Refuses a name of --rest whose format would lose what the set has."""
    if rest is None:
        return
    table = columns or elements.suffix.lower() in (CSV_SUFFIX, *cells.PARQUET_SUFFIXES)
    if table and rest.suffix.lower() not in _TABLES:
        raise ParameterError("--rest keeps rows with all their columns: give it a name that ends in .csv")
    if not table and rest.suffix.lower() in _TABLES:
        raise ParameterError("--rest keeps a line for each element: give it a name that ends in .txt or .jsonl")


def _check_lines(rest: Path | None, elements: list[Element]) -> None:
    """Refuses a text file for elements that no line can hold."""
    if rest is None or rest.suffix.lower() in {*_TABLES, *JSON_SUFFIXES}:
        return
    for x in map(_data, elements):
        if not x or b"\n" in x or b"\r" in x or x.startswith(b"\xef\xbb\xbf"):
            raise ParameterError(
                "an element holds a line break, is empty or begins with a byte-order mark, and --rest keeps a line for "
                "each: give it a name that ends in .jsonl"
            )


def _tell(outcome: Outcome, found: Elements, out: Path | None, as_json: bool) -> None:
    """Prints or writes what was found, and what it took."""
    result, labelled = outcome.result, outcome.info.label_bytes > 0
    matches = [(e, result.matches[e]) for e in found.elements if e in result.matches]
    rows = cells.row_numbers(found.of_rows, result.matches)
    if out is not None:
        if out.suffix.lower() in _TABLES:
            assert found.own is not None
            cells.write_rows(out, found.own, rows, label_texts(found, rows, result.matches) if labelled else None)
        else:
            with writing(out) as f:
                for element, label in matches:
                    f.write(_line(element) + (b"\t" + printable(label).encode() if labelled else b"") + b"\n")
    if as_json:
        wrote = {"out": str(out), "rows": len(rows)} if out is not None else {}
        emit({**query_object(outcome, matches, labelled, found), **wrote})
        return
    if out is None:
        for element, label in matches:
            put(shown_parts(element) + (f"\t{printable(label)}" if labelled else ""))
    about = console(stderr=True)  # so that matches alone go into a file or a pipe
    known = len(found.elements) - len(result.unasked)
    about.print(properties(f"{len(matches):,} of {known:,} elements match", query_rows(outcome)))
    if out is not None:
        count = f": {len(rows):,} rows" if out.suffix.lower() in _TABLES else ""
        about.print(f"wrote {out}{count}", markup=False, soft_wrap=True)


def _line(element: Element) -> bytes:
    """An element as text: several columns with tabs between."""
    return b"\t".join(map(one_line, _data(element).split(JOINT.encode())))


def _data(element: Element) -> bytes:
    return element if isinstance(element, bytes) else str(element).encode()


def _unfinished(failure: IncompleteError, found: Elements, rest: Path | None) -> str:
    """Writes what is left to ask, and says what happened."""
    unasked = failure.outcome.result.unasked
    said = (
        f"{failure.reason}; {len(unasked):,} of {len(found.elements):,} elements have no answer, "
        "what is known of the others was given out"
    )
    if rest is None:
        return f"{said}; --rest FILE keeps those without an answer, to ask for them alone"
    if rest.suffix.lower() in _TABLES:
        assert found.own is not None
        cells.write_rows(rest, found.own, cells.row_numbers(found.of_rows, frozenset(unasked)), None, private=True)
    else:
        with writing(rest, private=True) as f:
            for element in unasked:
                as_json = rest.suffix.lower() in JSON_SUFFIXES
                f.write((_json_line(element) if as_json else _data(element)) + b"\n")
    return f"{said}; ask for the others with --set {rest}"


def _json_line(element: Element) -> bytes:
    value = element.decode() if isinstance(element, bytes) else element
    return json.dumps({"element": value}, ensure_ascii=False).encode()
