# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Forms of text that stand for one value: 1 and 1.0, a day and its midnight, an instant in two time zones.

Programs write the same column in several ways: pandas turns integers with gaps into 1.0, days into 1990-01-31T00:00:00.
A table whose column is all of one form says so (`TableInfo.forms`), and both sides write its values in one way:

    integers    17, for 17.0 and 17.00; a text with leading zeros, 007, is no integer
    booleans    true, false, for True and TRUE
    uuids       in groups, small letters
    dates       1990-01-31, for 1990-01-31T00:00:00 and 1990-01-31 00:00
    times       1990-01-31T12:30:00, with .500000 for parts of a second; a day is its midnight
    instants    the same with a zone, in UTC: 1990-01-31T11:30:00+00:00

Texts that are not of the form stay as they are, so a form never makes two texts one that stand for two values of it.
"""

from __future__ import annotations

import datetime
import re
import unicodedata
import uuid
from collections.abc import Callable, Iterable, Sequence

#: Between the texts of an element of several columns.
JOINT = "\x1f"

_DAY = r"(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))"
_CLOCK = r"[Tt ]((?:[01]\d|2[0-3]):[0-5]\d)(?::([0-5]\d)(?:\.(\d{1,9}))?)?"
_INTEGER = re.compile(r"(-?)(0|[1-9]\d*)(?:\.0+)?", re.ASCII)
_DATE = re.compile(_DAY + r"(?:[Tt ]00:00(?::00(?:\.0{1,9})?)?)?", re.ASCII)
_TIME = re.compile(f"{_DAY}(?:{_CLOCK})?", re.ASCII)
_INSTANT = re.compile(_DAY + _CLOCK + r" ?(Z|UTC|[+-]\d\d(?::?\d\d)?)", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_BOOLEANS = {text: text.lower() for text in ("true", "True", "TRUE", "false", "False", "FALSE")}

#: Texts that programs write for no value; in a column of numbers or times they are none.
GAPS = frozenset({"nan", "NaN", "None", "<NA>", "NaT", "NA", "N/A", "#N/A", "null", "NULL"})

#: Those of them that are hardly ever a word or a name.
_NO_WORDS = frozenset({"nan", "NaN", "None", "<NA>", "NaT"})


# ---- one value: its text in the form, or None ------------------------------------------------------


def _integer(text: str) -> str | None:
    found = _INTEGER.fullmatch(text)
    if found is None:
        return None
    sign, digits = found.groups()
    return digits if digits == "0" else sign + digits


def _uuid(text: str) -> str | None:
    return str(uuid.UUID(text)) if _UUID.fullmatch(text) else None


def _date(text: str) -> str | None:
    return text[:10] if _DATE.fullmatch(text) else None


def _clock(minutes: str | None, seconds: str | None, parts: str | None) -> str:
    parts = (parts or "").rstrip("0")
    digits = "." + parts.ljust(6, "0") if parts else ""
    return f"T{minutes or '00:00'}:{seconds or '00'}{digits}"


def _time(text: str) -> str | None:
    found = _TIME.fullmatch(text)
    return None if found is None else found[1] + _clock(found[2], found[3], found[4])


def _instant(text: str) -> str | None:
    found = _INSTANT.fullmatch(text)
    if found is None:
        return None
    day, minutes, seconds, parts, zone = found.groups()
    offset = "+00:00" if zone in ("Z", "UTC") else zone
    try:
        local = datetime.datetime.fromisoformat(f"{day}T{minutes}:{seconds or '00'}{offset}")
        whole = local.astimezone(datetime.UTC).replace(tzinfo=None).isoformat(" ")
    except (ValueError, OverflowError):
        return None
    return whole[:10] + _clock(whole[11:16], whole[17:19], parts) + "+00:00"


_WRITTEN: dict[str, Callable[[str], str | None]] = {
    "integers": _integer,
    "booleans": _BOOLEANS.get,
    "uuids": _uuid,
    "dates": _date,
    "times": _time,
    "instants": _instant,
}

#: All forms, in the order in which a column is tried for them.
FORMS = tuple(_WRITTEN)


# ---- elements --------------------------------------------------------------------------------------


def written(form: str, text: str) -> str:
    """Return the text as the form writes it; one that is not of the form, or any text without a form, as it is."""
    if not form:
        return text
    found = _WRITTEN[form](text)
    return text if found is None else found


class Guess:
    """Finds the forms of the columns of some elements, which are told one by one.

    Args:
        columns: texts that each element joins.
    """

    def __init__(self, columns: int) -> None:
        self._left = [list(FORMS) for _ in range(columns)]
        self._seen = [False] * columns

    @property
    def open(self) -> bool:
        """Whether some column may still be all of one form."""
        return any(self._left)

    def tell(self, element: str) -> None:
        """Takes one more element into account."""
        parts = [element] if len(self._left) == 1 else element.split(JOINT)
        for i, (left, part) in enumerate(zip(self._left, parts, strict=False)):
            if not left or part in GAPS:
                continue
            self._seen[i] = True
            left[:] = [form for form in left if _WRITTEN[form](part) is not None]

    def forms(self) -> tuple[str, ...]:
        """Return the form of each column; "" where values are of none, or of several."""
        return tuple(left[0] if left and seen else "" for left, seen in zip(self._left, self._seen, strict=True))


def is_gap(forms: Sequence[str], element: str) -> bool:
    """Return whether a column with a form holds a text that stands for no value."""
    parts = [element] if len(forms) == 1 else element.split(JOINT)
    return any(form and part in GAPS for form, part in zip(forms, parts, strict=False))


# ---- what a client is told -------------------------------------------------------------------------

_NAMES = {
    "integers": "integers",
    "booleans": "true and false",
    "uuids": "UUIDs",
    "dates": "dates, as 1990-01-31",
    "times": "dates with times, as 1990-01-31T12:30:00",
    "instants": "times with a zone, as 1990-01-31T11:30:00+00:00",
}


def described(form: str) -> str:
    """Return a form's name for people."""
    return _NAMES.get(form, "texts")


def doubts(elements: Iterable[str], forms: Sequence[str], steps: str, columns: int) -> list[str]:
    """Return sentences about elements that are written in another way than a table's, so that they match nothing.

    Args:
        elements: of a client, as it has them. forms, steps, columns: of the table.
    """
    of_table = tuple(forms) or ("",) * columns
    chosen = frozenset(steps.split(","))
    other, spaced, composed, gaps, total = [0] * columns, 0, 0, 0, 0
    changed: list[dict[str, int]] = [{} for _ in range(columns)]
    for element in elements:
        total += 1
        parts = [element] if columns == 1 else element.split(JOINT)
        for i, part in enumerate(parts[:columns]):
            form = of_table[i]
            if form and _WRITTEN[form](part) is None:
                other[i] += 1
            name = "" if form else "integers" if part.endswith(".0") else "dates" if part[4:5] == "-" else ""
            if name and written(name, part) != part:
                changed[i][name] = changed[i].get(name, 0) + 1
            gaps += not form and part in _NO_WORDS
        spaced += "strip" not in chosen and element != element.strip()
        composed += (
            not chosen & {"nfc", "nfkc"} and not element.isascii() and not unicodedata.is_normalized("NFC", element)
        )
    found: list[str] = []
    for i, form in enumerate(of_table):
        where = f" of column {i + 1}" if columns > 1 else ""
        if other[i] and "digits" not in chosen:
            found.append(
                f"the table's elements{where} are {described(form)}; {other[i]:,} of your {total:,} are not, and match "
                "nothing: write them alike"
            )
        for name, count in changed[i].items():
            if 2 * count > total:
                how = "end in .0, as columns of integers with gaps do" if name == "integers" else "are days with 00:00"
                remedy = "integers" if name == "integers" else "days, as 1990-01-31"
                found.append(
                    f"{count:,} of your {total:,} elements{where} {how}; the table takes texts as they are: write "
                    f"yours as {remedy} if the server's are so"
                )
    if spaced:
        found.append(
            f"{spaced:,} of your {total:,} elements have white space at an end, which this table counts as part of "
            "them: take it off, or have the table built with --normalise strip"
        )
    if composed:
        found.append(
            f"{composed:,} of your {total:,} elements have letters and accents as two characters (not NFC), and this "
            "table does not normalise: convert them, or have the table built with --normalise nfc"
        )
    if gaps:
        found.append(
            f"{gaps:,} of your {total:,} elements are a text like nan or None, which programs write for no value: they "
            "count as elements; leave them empty if they are none"
        )
    return found
