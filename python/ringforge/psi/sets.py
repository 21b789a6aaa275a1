# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Files of elements, and a word of warning for elements that can be guessed."""

from __future__ import annotations

import csv
import functools
import io
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ringforge.errors import FormatError
from ringforge.psi.info import MAX_ELEMENT

#: Suffixes of files that hold JSON objects, one a line; and of tables.
JSON_SUFFIXES = frozenset({".jsonl", ".ndjson"})
CSV_SUFFIX = ".csv"

#: Sets of values below 2^40 can be tried out: 2^40 evaluations take one machine some days.
SMALL_BITS = 40

_MAX_LINE = 1 << 20
_SEPARATORS = b" +-./():"


@dataclass(frozen=True)
class Elements:
    """A set as it was read: in the file's order, each element once.

    labels: of the same length as `elements`, or None when the file has none. duplicates: lines that said nothing new.
    """

    elements: list[bytes | int]
    labels: list[bytes] | None
    duplicates: int

    def mapping(self) -> dict[bytes, bytes]:
        """Elements with their labels."""
        assert self.labels is not None
        return {e: label for e, label in zip(self.elements, self.labels, strict=True) if isinstance(e, bytes)}


def read_elements(
    path: str | Path, *, direct: bool = False, labels: bool | None = None, json_lines: bool | None = None
) -> Elements:
    """Reads a set.

    Text files have one element a line, in UTF-8, spaces included, without the line's end; empty lines do not count.
    With `labels` a tab separates element and label. Files of JSON lines have an object on each: {"element": "text"} or
    {"element": 17}, with "label": "text". Files of comma-separated values have a first line `element` or
    `element,label`.

    Args:
        path: "-" for standard input.
        direct: elements are integers, decimal or with 0x.
        labels: True: every element has one. False: none has. None: as the file says; text has none.
        json_lines: whether the file has JSON lines; None goes by its name (.jsonl, .ndjson; .csv likewise).

    Raises:
        FormatError: a line is none of these, has a label where none belongs or none where others have one, or one
        element has two labels; the message has the line's number, not its text. OSError: it cannot be read.
    """
    name = "standard input" if str(path) == "-" else Path(path).name
    suffix = Path(path).suffix.lower()
    as_json = suffix in JSON_SUFFIXES if json_lines is None else json_lines
    records = _json_lines if as_json else _csv_lines if suffix == CSV_SUFFIX else _text_lines
    found: dict[bytes | int, bytes | None] = {}
    lines = 0
    wanted = labels

    def take(file: BinaryIO) -> None:
        nonlocal lines, wanted
        for number, read in records(file, name, bool(labels)):
            try:
                element, label = read()
                if wanted is None:
                    wanted = label is not None
                if wanted and label is None:
                    raise _LineError("no label; every element has one, or none has")
                if label is not None and not wanted:
                    raise _LineError(
                        "a label, where none is of use: leave it away"
                        if labels is False
                        else "a label, which elements further up have not: every element has one, or none has"
                    )
                value = _integer(element) if direct else _bytes(element)
            except _LineError as e:
                raise FormatError(f"{name}, line {number}: {e}") from None
            lines += 1
            if value in found and found[value] != label:
                raise FormatError(f"{name}, line {number}: this element has another label further up: keep one")
            found[value] = label

    if str(path) == "-":
        take(sys.stdin.buffer)
    else:
        with Path(path).open("rb") as f:
            take(f)
    if not found:
        raise FormatError(f"{name} holds no elements: put one on each line")
    kept = [label if label is not None else b"" for label in found.values()] if wanted else None
    return Elements(list(found), kept, lines - len(found))


class _LineError(Exception):
    """What is wrong with a line."""


#: An element and its label, if it has one; and a line's number with what reads one from the line.
_Record = tuple[str | int, bytes | None]
_Numbered = tuple[int, Callable[[], _Record]]


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


def _text_lines(file: BinaryIO, name: str, labels: bool) -> Iterator[_Numbered]:
    def read(line: bytes) -> _Record:
        text = _text(line)
        if not labels:
            return text, None
        element, tab, label = text.partition("\t")
        if not tab:
            raise _LineError("no tab between element and label; without labels leave --labels away")
        return element, label.encode()

    return ((number, functools.partial(read, line)) for number, line in _lines(file, name))


def _text(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise _LineError("no UTF-8: convert the file, for instance with iconv") from None


def _json_lines(file: BinaryIO, name: str, labels: bool) -> Iterator[_Numbered]:
    del labels
    return ((number, functools.partial(_json_line, line)) for number, line in _lines(file, name))


def _json_line(line: bytes) -> _Record:
    try:
        value = json.loads(line)
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


def _csv_lines(file: BinaryIO, name: str, labels: bool) -> Iterator[_Numbered]:
    """Rows of comma-separated values. The first one must name the columns: otherwise it could as well be an element."""
    del labels
    lines = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    rows = csv.reader(lines, strict=True)
    columns: list[str] | None = None
    try:
        for row in rows:
            if not row:
                continue
            if columns is None:
                columns = [c.strip().lower() for c in row]
                if columns not in (["element"], ["element", "label"], ["label", "element"]):
                    raise FormatError(
                        f"{name}, line {rows.line_num}: a file of comma-separated values begins with the line element, "
                        "or element,label: write that line, with no other columns; for elements that are whole lines, "
                        "give the file another name, .txt"
                    )
                continue
            yield rows.line_num, functools.partial(_csv_row, row, columns)
    except csv.Error as e:
        raise FormatError(f"{name}, line {rows.line_num}: no comma-separated values: {e}") from None
    except UnicodeDecodeError:
        raise FormatError(f"{name}: no UTF-8: convert the file, for instance with iconv") from None
    finally:
        lines.detach()


def _csv_row(row: list[str], columns: list[str]) -> _Record:
    if len(row) != len(columns):
        raise _LineError(f"{len(row)} values, where the first line names {len(columns)}: quote what holds a comma")
    values = dict(zip(columns, row, strict=True))
    return values["element"], values["label"].encode() if "label" in values else None


def _bytes(element: str | int) -> bytes:
    try:
        data = str(element).encode()
    except UnicodeEncodeError:
        raise _LineError("the element is no Unicode text") from None
    if len(data) > MAX_ELEMENT:
        raise _LineError(f"an element of {len(data)} bytes: at most {MAX_ELEMENT} are allowed")
    return data


def _integer(element: str | int) -> int:
    try:
        value = element if isinstance(element, int) else int(element, 0)
    except ValueError:
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
