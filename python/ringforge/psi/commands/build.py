# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge psi build`."""

from __future__ import annotations

import errno
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ringforge.cli.console import console, progress, properties, thread_count
from ringforge.cli.options import Threads
from ringforge.cli.output import WORK, AsJson, emit, prints
from ringforge.errors import ParameterError
from ringforge.psi import choice
from ringforge.psi.answers import Built
from ringforge.psi.cells import Wanted
from ringforge.psi.commands.common import Columns, JsonLines, NoHeader, guessable, left_out, one_of, wanted
from ringforge.psi.data import Request, choose, rewritten
from ringforge.psi.normalise import canonical
from ringforge.psi.sets import Elements, read_elements
from ringforge.psi.store import Store
from ringforge.psi.table import LONGEST_LABEL
from ringforge.psi.texts import build_rows, plan_line, public, warn


@prints(WORK, Built)
def build(
    table: Annotated[Path, typer.Argument(help="Directory to make, or with --update to change.")],
    elements: Annotated[
        Path, typer.Option("--set", help="Text (one element a line), CSV, JSON lines or Parquet; - for standard input.")
    ],
    column: Columns = None,
    label_column: Annotated[
        str | None, typer.Option(metavar="NAME|NUMBER", help="CSV, TSV, Parquet: the column of the labels.")
    ] = None,
    no_header: NoHeader = False,
    labels: Annotated[
        bool, typer.Option("--labels", help="On each line of text: element, tab, label. JSON lines and CSV say it.")
    ] = False,
    label_bytes: Annotated[
        int | None,
        typer.Option(min=1, max=LONGEST_LABEL, help="Bytes of the longest label there may be after updates."),
    ] = None,
    normalise: Annotated[
        str,
        typer.Option(
            metavar="STEPS",
            help="How elements are written, on both sides: nfc or nfkc, lower or casefold, digits, strip; or email. "
            "With commas between. text: not as the integers, dates and the like that all of them are.",
        ),
    ] = "",
    json_lines: JsonLines = False,
    client_size: Annotated[
        int | None, typer.Option(min=1, help="Elements that a client asks for at once; 1024 without it.")
    ] = None,
    algorithm: Annotated[
        str, typer.Option(help="auto (what is faster for both sizes), ringforge, poly, or paper: the published one.")
    ] = "auto",
    mode: Annotated[
        str,
        typer.Option(
            help="oprf: any elements, clients need not be trusted; direct: integers, trusted clients; poly: oprf with "
            "--algorithm poly."
        ),
    ] = "oprf",
    bits: Annotated[int, typer.Option(help="Mode direct: elements are integers below 2^BITS.")] = 32,
    bins: Annotated[
        int | None, typer.Option(help="2^BINS bins, in place of --client-size; of the look-up protocol alone.")
    ] = None,
    hashes: Annotated[int, typer.Option(help="Bins each element is put into: 1, 2 or 3.")] = 3,
    capacity: Annotated[int | None, typer.Option(help="Elements there may be after updates.")] = None,
    update: Annotated[
        str | None, typer.Option(metavar="add|remove", help="Change the table that is there, in one step.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Build in place of the table that is there.")] = False,
    insecure: Annotated[
        str, typer.Option(metavar="REASON", help="Why --algorithm paper may be used, which is below 128 bits.")
    ] = "",
    threads: Threads = 0,
    as_json: AsJson = False,
) -> None:
    """Server: makes a table of a set, or changes one.

    Text files hold one element on each line, in UTF-8, exactly as it is but for the line's end; JSON lines hold
    {"element": "text", "label": "text"}. CSV (comma, semicolon or tab) and Parquet have a column `element`, or the one
    that --column names. Client and server must write elements alike: --normalise makes both do it.

    Says on standard error what it will take before it begins. In mode oprf the directory holds no element in the
    clear, but it holds the key: keep it to yourself.

    Examples:

        ringforge psi build table --set customers.txt

        ringforge psi build table --set customers.csv --column email --label-column plan --normalise nfc,lower,strip

        ringforge psi build table --set prices.tsv --labels --client-size 500

        ringforge psi build table --set new.txt --update add
    """
    workers = thread_count(threads)
    if update not in (None, "add", "remove"):
        raise ParameterError(f'--update is add or remove, not "{update}"')
    one_of("--mode", mode, ("oprf", "direct", "poly"))
    one_of("--algorithm", algorithm, ("auto", "ringforge", "poly", "paper"))
    if mode == "poly":
        if algorithm not in ("auto", "poly"):
            raise ParameterError(f"--mode poly means --algorithm poly, not {algorithm}: give one of them")
        mode, algorithm = "oprf", "poly"
    some = wanted(column, label_column, no_header)
    if update and replace:
        raise ParameterError("--update changes a table, --replace builds a new one: give one of them")
    start = time.perf_counter()
    if update:
        if label_bytes:
            raise ParameterError("--label-bytes is for new tables: build the table again")
        if normalise:
            raise ParameterError(
                "the table says how elements are normalised: leave --normalise away, or build it again"
            )
        store, found, more = _update(table, elements, update, some, labels, json_lines, workers)
    else:
        if (labels or label_bytes or label_column) and mode == "direct":
            raise ParameterError("mode direct has no labels: leave --labels away, or take mode oprf")
        if table.exists() and not replace and (not table.is_dir() or any(table.iterdir())):
            raise FileExistsError(
                errno.EEXIST,
                "exists; a new table has another key: --update changes it, --replace builds anew, or name another",
                str(table),
            )
        steps = canonical(normalise)
        if steps and mode == "direct":
            raise ParameterError("mode direct has integers, which are not normalised: leave --normalise away")
        found = read_elements(
            elements,
            direct=mode == "direct",
            labels=labels or label_column is not None or (False if mode == "direct" else None),
            json_lines=json_lines or None,
            wanted=some,
            normalise=normalise,
        )
        guessable(found)
        left_out(found)
        for doubt in [*([rewritten(found)] if found.rewritten else []), *found.doubts]:
            warn(doubt)
        asked = Request(
            algorithm, mode, bits, bins, hashes, client_size, capacity, label_bytes, steps, workers, insecure
        )
        spec, predictions = choose(asked, found)
        about = console(stderr=True)
        if not as_json:
            about.print(plan_line(predictions, spec, asked), markup=False, soft_wrap=True)
        given: Any = found.mapping() if found.labels is not None else found.elements
        with progress("building") as bar:
            store = Store.build(table, given, spec, threads=workers, progress=bar)
        more = {
            "estimate": predictions[0].as_dict() if predictions else None,
            "why": choice.why(predictions) if algorithm == "auto" and len(predictions) > 1 else "",
        }
    figures = {
        "table": str(table),
        "seconds": time.perf_counter() - start,
        "elements": store.count,
        "duplicates": found.duplicates,
        "left_out": found.empty,
        "fell_together": found.together,
        **more,
        "bytes_on_disk": sum(p.stat().st_size for p in table.rglob("*") if p.is_file()),
        **public(store.info),
    }
    if as_json:
        emit(figures)
        return
    console().print(properties(f"table {table}", build_rows(figures, store.info)))


def _update(
    table: Path, elements: Path, update: str, some: Wanted, labels: bool, json_lines: bool, workers: int
) -> tuple[Store, Elements, dict[str, Any]]:
    store = Store(table, verify=False)
    info = store.info
    add = update == "add"
    found = read_elements(
        elements,
        direct=info.mode == "direct",
        labels=(labels or some.label is not None or None) if add else False,
        json_lines=json_lines or None,
        wanted=some,
        normalise=info.normalise,
        forms=info.forms,
    )
    if found.columns != info.columns:
        raise ParameterError(
            f"the table's elements have {info.columns} columns, these {found.columns}: give --column as often"
        )
    if add and info.label_bytes and found.labels is None:
        raise ParameterError(
            "the table has labels: give --label-column for a table of columns, or --labels, and a tab and a label on "
            "each line"
        )
    left_out(found)
    given: Any = found.mapping() if found.labels is not None else found.elements
    with progress("updating") as bar:
        counts = (
            store.update(add=given, threads=workers, progress=bar)
            if add
            else store.update(remove=found.elements, threads=workers, progress=bar)
        )
    return store, found, dict(zip(("added", "removed", "relabelled"), counts, strict=True))
