# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Files of elements, and a word of warning for elements that can be guessed."""

from __future__ import annotations

import errno
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ringforge.errors import FormatError, ParameterError
from ringforge.psi import cells
from ringforge.psi.cells import OwnRows, Record, TextRows, Wanted
from ringforge.psi.forms import JOINT, Doubts, Guess, is_gap, written
from ringforge.psi.info import MAX_ELEMENT
from ringforge.psi.normalise import canonical, implied, nothing, rule, takes_text
from ringforge.unique import RepeatedKeyError, once_each

#: Suffixes of files that hold JSON objects, one a line; and of tables.
JSON_SUFFIXES = frozenset({".jsonl", ".ndjson"})
CSV_SUFFIX = ".csv"

#: Sets of values below 2^40 can be tried out: 2^40 evaluations take one machine some days.
SMALL_BITS = 40

_MAX_LINE = 1 << 20
_SEPARATORS = b" +-./():"


@dataclass(frozen=True)
class Elements:
    """A set as it was read: in the file's order, each element once, normalised.

    Attributes:
        elements: the set. labels: of the same length, or None when the file has none.
        duplicates: rows that said nothing new, those that `together` counts left out.
        empty: rows left out because they have no element: an empty cell, NULL, nothing left by normalising.
        together: elements that are written differently in the file and are one when they are normalised.
        columns: texts that each element joins.
        unnamed: columns of a first line that was left out as the header although all columns were given by number.
        forms: of the columns' texts (`ringforge.psi.forms`), as they were given or found.
        rewritten: elements that are integers written as 1.0.
        doubts: sentences about elements that may match nothing (`forms.Doubts`).
        own: the file's rows, and `of_rows` the element of each (None: left out), if they were to be kept.
    """

    elements: list[bytes | int]
    labels: list[bytes] | None
    duplicates: int
    empty: int = 0
    together: int = 0
    columns: int = 1
    unnamed: int = 0
    forms: tuple[str, ...] = ()
    rewritten: int = 0
    doubts: tuple[str, ...] = ()
    own: OwnRows | None = field(default=None, repr=False)
    of_rows: list[bytes | int | None] = field(default_factory=list, repr=False)

    def mapping(self) -> dict[bytes, bytes]:
        """Elements with their labels."""
        assert self.labels is not None
        return {e: label for e, label in zip(self.elements, self.labels, strict=True) if isinstance(e, bytes)}


def read_elements(
    path: str | Path,
    *,
    direct: bool = False,
    labels: bool | None = None,
    json_lines: bool | None = None,
    wanted: Wanted | None = None,
    normalise: str = "",
    keep: bool = False,
    forms: tuple[str, ...] | None = None,
) -> Elements:
    """Reads a set.

    Text files have one element a line, in UTF-8, spaces included, without the line's end; empty lines do not count.
    With `labels` a tab separates element and label. Files of JSON lines have an object on each: {"element": "text"} or
    {"element": 17}, with "label": "text". CSV (`ringforge.delimited`: comma, semicolon or tab) and Parquet have a
    column `element`, and `label` if there are labels, or those that `wanted` names.

    Args:
        path: "-" for standard input.
        direct: elements are integers, decimal or with 0x.
        labels: True: every element has one. False: none has. None: as the file says; text has none.
        json_lines: whether the file has JSON lines; None goes by its name (.jsonl, .ndjson; .csv, .parquet likewise).
        wanted: columns. Files of other names are CSV then.
        normalise: steps (`ringforge.psi.normalise`).
        keep: keeps the rows, for `cells.write_rows`; of files without columns they are the elements as they stand. Such
            a set may be empty.
        forms: of a table that is there; None finds those of the set's columns.

    Raises:
        FormatError: a line is none of these, has a label where none belongs or none where others have one, or one
        element has two labels; the message has the line's number, not its text. ParameterError: columns of a file that
        has none. OSError: it cannot be read.
    """
    given = wanted or Wanted()
    standard = str(path) == "-"
    name = "standard input" if standard else Path(path).name
    if not standard and Path(path).is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a directory: name one file", str(path))
    suffix = Path(path).suffix.lower()
    as_json = suffix in JSON_SUFFIXES if json_lines is None else json_lines
    if as_json and given.columns:
        raise ParameterError(f"{name} has JSON lines, which have no columns: leave --column away, or convert it to CSV")
    given = Wanted(given.columns, given.label, given.header, labels is not False)
    take = _Taker(name, direct, labels, normalise, max(1, len(given.columns)), keep, forms)
    if not as_json and not standard and suffix in cells.PARQUET_SUFFIXES:
        rows = cells.read_parquet(Path(path), given, keep)
        return take(cells.frame_records(rows, name, given), rows if keep else None, "row")
    with _opened(path) as f:
        if as_json:
            return take(_json_lines(f, name))
        if suffix == CSV_SUFFIX or given.columns:
            records, own, unnamed = cells.csv_records(f, name, given, _MAX_LINE, keep)
            return replace(take(records, own), unnamed=unnamed)
        return take(_text_lines(f, name, bool(labels)))


def frame_elements(
    data: Any,
    *,
    labels: bool = True,
    wanted: Wanted | None = None,
    normalise: str = "",
    keep: bool = False,
    forms: tuple[str, ...] | None = None,
    direct: bool = False,
) -> Elements:
    """The set in a table of pyarrow or a data frame of pandas or polars.

    Raises:
        ParameterError: it is neither. FormatError: as of `read_elements`; rows are counted from 1.
    """
    rows = cells.frame(data)
    if rows is None:
        raise ParameterError(
            f"{type(data).__name__} is no table of pyarrow and no data frame of pandas or polars: give one of them, or "
            "the name of a file"
        )
    given = wanted or Wanted()
    given = Wanted(given.columns, given.label, given.header, labels)
    take = _Taker("the table", direct, None if labels else False, normalise, max(1, len(given.columns)), keep, forms)
    return take(cells.frame_records(rows, "the table", given), rows if keep else None, "row")


def _opened(path: str | Path) -> Any:
    return _Standard() if str(path) == "-" else Path(path).open("rb")


class _Standard:
    """Standard input, which stays open."""

    def __enter__(self) -> BinaryIO:
        return sys.stdin.buffer

    def __exit__(self, *_: object) -> None:
        pass


class _LineError(Exception):
    """What is wrong with a line."""


@dataclass(frozen=True)
class _Taker:
    """Makes a set of records; arguments as of `read_elements`."""

    name: str
    direct: bool
    labels: bool | None
    normalise: str
    columns: int
    keep: bool
    forms: tuple[str, ...] | None = None

    @property
    def steps(self) -> str:
        """Steps as tables keep them."""
        return canonical(self.normalise)

    def _formed(self, records: Iterable[Record]) -> tuple[tuple[str, ...], Iterable[Record]]:
        """Forms of the columns, and the records again. Those of a set that has none are seen after a few."""
        if self.forms is not None or self.direct:
            return self.forms or (), records
        if takes_text(self.normalise):
            return implied((), self.steps, self.columns), records
        guess, source, seen = Guess(self.columns), iter(records), []
        for record in source:
            seen.append(record)
            element = record[1]
            if element is not None:
                guess.tell(element.decode(errors="replace") if isinstance(element, bytes) else str(element))
            if not guess.open:
                break
        return implied(guess.forms(), self.steps, self.columns), chain(seen, source)

    def __call__(self, records: Iterable[Record], own: OwnRows | None = None, unit: str = "line") -> Elements:
        found: dict[bytes | int, bytes | None] = {}
        spelled: set[bytes | int] = set()
        of_rows: list[bytes | int | None] = []
        texts = TextRows(["element"]) if self.keep and own is None else None
        lines = empty = 0
        wanted = self.labels
        forms, records = self._formed(records)
        change = rule(self.steps, forms) if self.steps or forms else None
        rewritten = 0
        doubts = Doubts(forms, self.steps, self.columns, client=self.keep)
        for number, element, label in records:
            try:
                value = None if element is None else self._value(element)
                if value is not None and forms and is_gap(forms, _text(value)):
                    value = None
                if isinstance(value, bytes):
                    doubts.tell(_text(value))
                if change is not None and value is not None:
                    rewritten += _rewritten(forms, value)
                    after = self._normalised(value, change)
                    if after:
                        spelled.add(value)
                    value = after
                if texts is not None:
                    texts.rows.append((str(element),))
                if self.keep:
                    of_rows.append(value)
                if value is None:
                    empty += 1
                    continue
                if wanted is None:
                    wanted = label is not None
                if wanted != (label is not None):
                    raise _LineError(self._about_labels(wanted))
                lines += 1
                if found.setdefault(value, label) != label:
                    raise _LineError(
                        "this element has another label further up: keep one"
                        + (f" (after normalising by {', '.join(filter(None, (*forms, self.steps)))})" if change else "")
                    )
            except _LineError as e:
                raise FormatError(f"{self.name}, {unit} {number}: {e}") from None
        if not found and not self.keep and unit == "line":
            left = f"; {unit}s left out because theirs is empty: {empty}" if empty else ""
            raise FormatError(f"{self.name} holds no elements: put one on each line{left}")
        together = max(0, len(spelled) - len(found)) if change else 0
        kept = [label if label is not None else b"" for label in found.values()] if wanted else None
        return Elements(
            list(found),
            kept,
            lines - len(found) - together,
            empty,
            together,
            self.columns,
            forms=forms,
            rewritten=rewritten,
            doubts=tuple(doubts.sentences()),
            own=own or texts,
            of_rows=of_rows,
        )

    def _value(self, element: str | int | bytes) -> bytes | int:
        if self.direct:
            return _integer(element)
        data = element if isinstance(element, bytes) else _bytes(element)
        if len(data) > MAX_ELEMENT:
            raise _LineError(f"an element of {len(data)} bytes: at most {MAX_ELEMENT} are allowed")
        return data

    def _normalised(self, value: bytes | int, change: Callable[[str], str]) -> bytes | None:
        """None: nothing is left of it, in one of its columns at least."""
        if isinstance(value, int):
            raise _LineError("mode direct has integers, which are not normalised: leave --normalise away")
        if not self.steps:  # bytes that are no text are of no form
            text = change(_text(value))
            return None if nothing(text, self.columns) else text.encode(errors="surrogateescape")
        try:
            text = change(value.decode())
        except UnicodeDecodeError:
            raise _LineError("bytes that are no UTF-8, which normalising needs: leave --normalise away") from None
        return None if nothing(text, self.columns) else text.encode()

    def _about_labels(self, wanted: bool) -> str:
        if wanted:
            return "no label; every element has one, or none has"
        if self.labels is False:
            return "a label, where none is of use: leave it away"
        return "a label, which elements further up have not: every element has one, or none has"


def _text(value: str | bytes | int) -> str:
    return value.decode(errors="surrogateescape") if isinstance(value, bytes) else str(value)


def _rewritten(forms: tuple[str, ...], value: bytes | int) -> bool:
    """Whether one of an element's columns is written as 1.0 and read as 1."""
    if "integers" not in forms:
        return False
    parts = _text(value).split(JOINT)
    return any(form == "integers" and written(form, part) != part for form, part in zip(forms, parts, strict=False))


def _lines(file: BinaryIO, name: str) -> Iterator[tuple[int, bytes]]:
    number = 0
    while line := file.readline(_MAX_LINE + 1):
        number += 1
        if len(line) > _MAX_LINE:
            raise FormatError(f"{name}, line {number} is longer than {_MAX_LINE} bytes: one element is on each line")
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        line = line.removesuffix(b"\n").removesuffix(b"\r")
        if line:
            yield number, line


def _text_lines(file: BinaryIO, name: str, labels: bool) -> Iterator[Record]:
    for number, line in _lines(file, name):
        try:
            text = line.decode()
        except UnicodeDecodeError:
            raise FormatError(
                f"{name}, line {number}: no UTF-8: convert the file, for instance with iconv; of Parquet and the like "
                "the name must end in .parquet"
            ) from None
        if not labels:
            yield number, text, None
            continue
        element, tab, label = text.partition("\t")
        if not tab:
            raise FormatError(
                f"{name}, line {number}: no tab between element and label; without labels leave --labels away"
            )
        yield number, element, label.encode()


def _json_lines(file: BinaryIO, name: str) -> Iterator[Record]:
    for number, line in _lines(file, name):
        try:
            yield number, *_json_line(line)
        except _LineError as e:
            raise FormatError(f"{name}, line {number}: {e}") from None


def _json_line(line: bytes) -> tuple[str | int, bytes | None]:
    try:
        value = json.loads(line, object_pairs_hook=once_each)
    except RepeatedKeyError:
        raise _LineError('a key is there twice: write "element" and "label" once each') from None
    except (ValueError, RecursionError):
        raise _LineError('no JSON: write {"element": "text"} on each line') from None
    if not isinstance(value, dict) or not {"element"} <= value.keys() <= {"element", "label"}:
        raise _LineError('not an object with "element", and "label" if there are labels')
    element = value["element"]
    if isinstance(element, bool) or not isinstance(element, str | int):
        raise _LineError("the element is neither a text nor an integer")
    if "label" not in value:
        return element, None
    if not isinstance(value["label"], str):
        raise _LineError('"label" is no text')
    try:
        return element, value["label"].encode()
    except UnicodeEncodeError:
        raise _LineError("the label is no Unicode text") from None


def _bytes(element: str | int) -> bytes:
    try:
        return str(element).encode()
    except UnicodeEncodeError:
        raise _LineError("the element is no Unicode text") from None


def _integer(element: str | int | bytes) -> int:
    try:
        value = element if isinstance(element, int) else int(written("integers", _text(element)), 0)
    except (ValueError, TypeError):
        raise _LineError("no integer, which mode direct needs: 1234 or 0x4d2") from None
    if not 0 <= value < 1 << 64:
        raise _LineError("not an integer from 0 to 2^64 - 1")
    return value


# ---- few possible values -------------------------------------------------------------------------


def small_domain(elements: Sequence[bytes | int]) -> str | None:
    """Says why elements come from so few values that all can be tried; None when that is not obvious.

    Integers below 2^40 are such, and texts so short, of so few kinds of characters, that there are not more of them.
    """
    if not elements:
        return None
    if all(isinstance(e, int) for e in elements):
        largest = max(e for e in elements if isinstance(e, int))
        return None if largest >> SMALL_BITS else f"the elements are integers below 2^{max(1, largest.bit_length())}"
    texts = [e for e in elements if isinstance(e, bytes)]
    plain = [t.translate(None, _SEPARATORS) for t in texts]
    joined = b"".join(plain)
    longest = max(map(len, plain))
    seen = np.bincount(np.frombuffer(joined, dtype=np.uint8), minlength=256) > 0
    digits, lower, upper = seen[48:58], seen[97:123], seen[65:91]
    others = int(seen.sum() - digits.sum() - lower.sum() - upper.sum())
    if joined and not (lower.any() or upper.any() or others):
        if longest > 18 or int(max(plain, key=lambda t: int(t or b"0")) or b"0") >> SMALL_BITS:
            return None
        return f"the elements are numbers of up to {longest} digits"
    alphabet = 10 * bool(digits.any()) + 26 * bool(lower.any()) + 26 * bool(upper.any()) + (64 if others else 0)
    bits = longest * math.log2(max(2, alphabet))
    if bits >= SMALL_BITS:
        return None
    return f"the elements are texts of up to {longest} characters, of which there are about 2^{bits:.0f}"
