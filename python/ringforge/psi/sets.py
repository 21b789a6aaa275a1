# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Files of elements, and a word of warning for elements that can be guessed."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ringforge.errors import FormatError
from ringforge.psi.info import MAX_ELEMENT

#: Suffixes of files that hold JSON objects, one a line.
JSON_SUFFIXES = frozenset({".jsonl", ".ndjson"})

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
    path: str | Path, *, direct: bool = False, labels: bool = False, json_lines: bool | None = None
) -> Elements:
    """Reads a set.

    Text files have one element a line, in UTF-8, spaces included, without the line's end; empty lines do not count.
    With `labels` a tab separates element and label. Files of JSON lines have an object on each: {"element": "text"} or
    {"element": 17}, with "label": "text".

    Args:
        path: "-" for standard input.
        direct: elements are integers, decimal or with 0x.
        labels: every element has one.
        json_lines: whether the file has JSON lines; None goes by its name (.jsonl, .ndjson).

    Raises:
        FormatError: a line is none of these, or one element has two labels; the message has the line's number, not
        its text. OSError: it cannot be read.
    """
    name = "standard input" if str(path) == "-" else Path(path).name
    as_json = Path(path).suffix in JSON_SUFFIXES if json_lines is None else json_lines
    found: dict[bytes | int, bytes | None] = {}
    lines = 0

    def take(file: BinaryIO) -> None:
        nonlocal lines
        for number, line in _lines(file, name):
            try:
                element, label = _json_line(line, labels) if as_json else _text_line(line, labels)
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
    kept = [label if label is not None else b"" for label in found.values()] if labels else None
    return Elements(list(found), kept, lines - len(found))


class _LineError(Exception):
    """What is wrong with a line."""


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


def _text_line(line: bytes, labels: bool) -> tuple[str, bytes | None]:
    try:
        text = line.decode()
    except UnicodeDecodeError:
        raise _LineError("no UTF-8: convert the file, for instance with iconv") from None
    if not labels:
        return text, None
    element, tab, label = text.partition("\t")
    if not tab:
        raise _LineError("no tab between element and label; without labels leave --labels away")
    return element, label.encode()


def _json_line(line: bytes, labels: bool) -> tuple[str | int, bytes | None]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise _LineError('no JSON: write {"element": "text"} on each line') from None
    if not isinstance(value, dict) or not {"element"} <= value.keys() <= {"element", "label"}:
        raise _LineError('not an object with "element", and "label" if there are labels')
    element, label = value["element"], value.get("label")
    if isinstance(element, bool) or not isinstance(element, str | int):
        raise _LineError("the element is neither a text nor an integer")
    if not labels:
        return element, None
    if not isinstance(label, str):
        raise _LineError('no "label" that is a text; without labels leave --labels away')
    try:
        return element, label.encode()
    except UnicodeEncodeError:
        raise _LineError("the label is no Unicode text") from None


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
