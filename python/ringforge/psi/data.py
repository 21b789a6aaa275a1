# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Sets in the form in which people have them: files and data frames in, rows out.

>>> from ringforge import psi
>>> store = psi.build_table("table", "customers.csv", column="email", normalise="nfc,lower,strip")  # doctest: +SKIP
>>> with psi.remote.Connection("127.0.0.1:8760") as connection:                                     # doctest: +SKIP
...     found = psi.match_rows(connection, frame, column="E-mail")
>>> found.rows                                                          # doctest: +SKIP
"""

from __future__ import annotations

import contextlib
import operator
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ringforge.errors import ParameterError
from ringforge.parties import Progress
from ringforge.psi import cells, choice
from ringforge.psi.build import BuildSpec
from ringforge.psi.cells import Column, Wanted
from ringforge.psi.choice import Prediction
from ringforge.psi.client import Result
from ringforge.psi.info import MAX_LOG_BINS, TableInfo
from ringforge.psi.normalise import canonical
from ringforge.psi.sets import Elements, frame_elements, read_elements
from ringforge.psi.store import Store

if TYPE_CHECKING:
    from ringforge.psi.remote import Connection, Outcome


@dataclass(frozen=True)
class Request:
    """What table is wanted; None and "auto" leave it to the planner. Fields as of `BuildSpec`.

    client_size: elements that a client asks for at once.
    """

    algorithm: str = "auto"
    mode: str = "oprf"
    bits: int = 32
    log_bins: int | None = None
    hashes: int = 3
    client_size: int | None = None
    capacity: int | None = None
    label_bytes: int | None = None
    normalise: str = ""
    threads: int = 1
    insecure: str = ""


def choose(asked: Request, found: Elements) -> tuple[BuildSpec, list[Prediction]]:
    """The table to build for a set, and what it is expected to take; of several algorithms the one taken first.

    Raises:
        ParameterError: no such table, or options that contradict each other.
    """
    a = asked
    if a.log_bins is not None and a.client_size is not None:
        raise ParameterError("the number of bins follows from the clients' size: give bins or client_size, not both")
    if a.algorithm == "poly" and a.log_bins is not None:
        raise ParameterError(
            "the polynomial protocol chooses its bins: give client_size (--client-size) in their place"
        )
    if a.algorithm == "poly" and a.mode == "direct":
        raise ParameterError("the polynomial protocol is of mode oprf: leave --mode direct away")
    if a.algorithm == "poly" and a.hashes != 3:
        raise ParameterError("the polynomial protocol has three hash functions: leave --hashes away")
    client = choice.CLIENT_SIZE if a.client_size is None else a.client_size
    if client < 1:
        raise ParameterError(f"clients of {client} elements: 1 is the least (--client-size)")
    longest = max(map(len, found.labels or ()), default=0)
    size = max(len(found.elements), a.capacity or 0)
    labels = longest if a.label_bytes is None else a.label_bytes
    options: dict[str, Any] = {"label_bytes": labels, "threads": a.threads}
    predictions: list[Prediction]
    if a.algorithm == "auto" and a.mode == "oprf" and a.log_bins is None and a.hashes == 3:
        predictions = choice.compare(size, client, **options)
    elif a.algorithm == "poly":
        predictions = [choice.polynomial(size, client, **options)]
    else:
        if a.hashes not in (1, 2, 3):
            raise ParameterError(f"{a.hashes} hash functions: 1, 2 or 3 are possible")
        if a.log_bins is not None and not 0 <= a.log_bins <= MAX_LOG_BINS:
            raise ParameterError(f"2^{a.log_bins} bins: from 2^0 to 2^{MAX_LOG_BINS} are possible")
        name = "ringforge" if a.algorithm == "auto" else a.algorithm
        if a.mode == "direct":
            fewer = min(choice.bins_for(client, a.hashes), max(1, a.bits)) if a.log_bins is None else a.log_bins
            return _spec(a, found, algorithm=name, log_bins=fewer), []
        known: dict[str, Any] = {"log_bins": a.log_bins, "hashes": a.hashes, "algorithm": name}
        predictions = [choice.lookup(size, client, **options, **known)]
    first = predictions[0]
    if first.algorithm == "poly":
        return _spec(a, found, algorithm="poly", client_size=client), predictions
    return _spec(a, found, algorithm=first.algorithm, log_bins=first.plan.log_bins), predictions


def _spec(a: Request, found: Elements, **more: Any) -> BuildSpec:
    return BuildSpec(
        mode=a.mode,
        hashes=a.hashes,
        bits=a.bits,
        label_bytes=a.label_bytes,
        capacity=a.capacity,
        normalise=a.normalise,
        columns=found.columns,
        forms=found.forms,
        insecure=a.insecure,
        **more,
    )


def build_table(
    path: str | Path,
    data: Any,
    *,
    column: Column | Iterable[Column] = (),
    label_column: Column | None = None,
    normalise: str | Iterable[str] = "",
    client_size: int | None = None,
    algorithm: str = "auto",
    label_bytes: int | None = None,
    capacity: int | None = None,
    threads: int = 1,
    progress: Progress | None = None,
) -> Store:
    """Builds a table of mode oprf in a directory, in place of one that is there.

    Args:
        path: the directory.
        data: name of a file (text, CSV, JSON lines, Parquet), a table of pyarrow, or a data frame of pandas or polars.
        column: of the elements, by name or number from 1; several are joined to one element. By default `element`.
        label_column: of the labels; by default `label`, if `column` is not given either.
        normalise: how elements are written, for example "nfc,lower,strip": the table says it, its clients do the same.
            With "text" columns of integers, dates and the like stay the texts that they are (`forms`).
        client_size: elements that a client asks for at once; 1024 by default.
        algorithm: "auto" (what the planner finds faster for both sizes), "ringforge", "poly" or "paper".
        label_bytes, capacity: as of `BuildSpec`.
        threads, progress: as of `Store.build`.

    Raises:
        FormatError: a file or table that does not hold such a set; row and remedy are named.
        ParameterError: no such table; a value of `data` of another type. Error: pyarrow is missing. OSError: a file
        cannot be read or the directory not written.
    """
    wanted = Wanted(_columns(column), None if label_column is None else _column(label_column))
    steps = canonical(normalise)
    needed = True if label_column is not None else None
    words = normalise if isinstance(normalise, str) else ",".join(normalise)
    found = _read(data, wanted, words, needed, keep=False)
    for doubt in [*([rewritten(found)] if found.rewritten else []), *found.doubts]:
        warnings.warn(doubt, stacklevel=2)
    asked = Request(algorithm, "oprf", 32, None, 3, client_size, capacity, label_bytes, steps, threads)
    spec, _ = choose(asked, found)
    given: Any = found.mapping() if found.labels is not None else found.elements
    return Store.build(path, given, spec, threads=threads, progress=progress)


@dataclass(frozen=True)
class Matched:
    """What a client learned, as its own rows.

    Attributes:
        rows: those whose element the server has, in the form that was given (a table of pyarrow, a data frame; of files
            a list of dictionaries), with the server's labels in a column `label` (`server_label` where there is one).
        row_numbers: of them, from 0.
        result: as of `Client`; elements are normalised.
        left_out: rows without an element. together: elements that were one when they were normalised.
    """

    rows: Any = field(repr=False)
    row_numbers: list[int] = field(repr=False)
    result: Result = field(repr=False)
    info: TableInfo = field(repr=False)
    left_out: int = 0
    together: int = 0


def match_rows(connection: Connection, data: Any, *, column: Column | Iterable[Column] = (), **options: Any) -> Matched:
    """Asks a server which rows of a table it has; see `remote.intersect`.

    Args:
        connection: `psi.remote.Connection`.
        data, column: as of `build_table`. They are normalised as the server's table says.
        options: of `remote.intersect`: threads, accept_insecure, request_bytes, exact_sizes, report.

    Raises:
        FormatError, ParameterError: the data, as of `build_table`; another number of columns than the table's.
        Error: as of `remote.intersect`.
    """
    from ringforge.psi import remote

    info, left = connection.info()
    found = read_for(info, data, Wanted(_columns(column)))
    outcome: Outcome = remote.intersect(connection, found.elements, known=(info, left), **options)
    return matched(found, outcome.result, info)


def read_for(info: TableInfo, data: Any, wanted: Wanted, json_lines: bool | None = None) -> Elements:
    """A client's set for a table: written and normalised as the table says, with its rows.

    Warns of elements that are written in another way than the table's, and so match nothing.

    Raises:
        ParameterError: another number of columns than the table's.
    """
    found = _read(data, wanted, info.normalise, False, True, info.mode == "direct", json_lines, info.forms)
    if found.columns != info.columns:
        raise ParameterError(
            f"an element of this table has {info.columns} columns, yours {found.columns}: name as many (--column), in "
            "the same order"
        )
    for doubt in found.doubts:
        warnings.warn(doubt, stacklevel=3)
    return found


def matched(found: Elements, result: Result, info: TableInfo) -> Matched:
    """The rows of a set that a result names."""
    assert found.own is not None
    rows = cells.row_numbers(found.of_rows, result.matches)
    name = cells.label_name(found.own.names) if info.label_bytes else None
    labels = label_texts(found, rows, result.matches) if name else []
    return Matched(found.own.chosen(rows, name, labels), rows, result, info, found.empty, found.together)


def label_texts(found: Elements, rows: Iterable[int], matches: Mapping[Any, bytes]) -> list[str]:
    """Labels of some rows; bytes that are no text as escapes."""
    return [matches[found.of_rows[i]].decode(errors="backslashreplace") for i in rows]


def rewritten(found: Elements) -> str:
    """Return a sentence that says that integers written as 1.0 are read as integers."""
    return (
        f"{found.rewritten:,} elements end in .0 in a column of integers and are read as integers, on both sides: 1.0 "
        'is 1. If they are texts, versions for instance, say so: normalise "text" (--normalise text)'
    )


def _columns(column: Column | Iterable[Column]) -> tuple[Column, ...]:
    if isinstance(column, str | int):
        return (_column(column),)
    try:
        return tuple(map(_column, column))
    except TypeError:  # no iterable: one number, as of numpy
        return (_column(column),)


def _column(column: Any) -> Column:
    """One name or number.

    Raises:
        ParameterError: it is neither.
    """
    if isinstance(column, str):
        return str(column)
    if not isinstance(column, bool):
        with contextlib.suppress(TypeError):
            return operator.index(column)
    raise ParameterError(f"a column is a name or a number from 1, not {type(column).__name__}")


def _read(
    data: Any,
    wanted: Wanted,
    steps: str,
    labels: bool | None,
    keep: bool,
    direct: bool = False,
    json_lines: bool | None = None,
    forms: tuple[str, ...] | None = None,
) -> Elements:
    options: dict[str, Any] = {"wanted": wanted, "normalise": steps, "keep": keep, "forms": forms}
    if isinstance(data, str | Path):
        return read_elements(data, direct=direct, labels=labels, json_lines=json_lines, **options)
    return frame_elements(data, labels=labels is not False, direct=direct, **options)
