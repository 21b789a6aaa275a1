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
from collections.abc import Callable, Sequence

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


class Doubts:
    """Counts elements that are written so that they may match nothing, one by one.

    Args:
        forms, steps, columns: of the table.
        client: the elements are a client's, which are compared with the table's.
    """

    def __init__(self, forms: Sequence[str], steps: str, columns: int, client: bool) -> None:
        self._forms = tuple(forms) or ("",) * columns
        self._steps, self._client = frozenset(steps.split(",")), client
        self._other = [0] * columns
        self._changed = [{"integers": 0, "dates": 0} for _ in range(columns)]
        self._total = self._spaced = self._composed = self._gaps = 0

    def tell(self, element: str) -> None:
        """Counts one more element."""
        self._total += 1
        parts = [element] if len(self._forms) == 1 else element.split(JOINT)
        for i, (form, part) in enumerate(zip(self._forms, parts, strict=False)):
            if form:
                self._other[i] += self._client and _WRITTEN[form](part) is None
                continue
            self._gaps += part in _NO_WORDS
            name = "integers" if part.endswith(".0") else "dates" if part[4:5] == "-" else ""
            if name and written(name, part) != part:
                self._changed[i][name] += 1
        self._spaced += any(part != part.strip() for part in parts)
        self._composed += not element.isascii() and not unicodedata.is_normalized("NFC", element)

    def sentences(self) -> list[str]:
        """Return what to tell the user."""
        found, of = [], f"of your {self._total:,} elements"
        for i, form in enumerate(self._forms if self._client else ()):
            where = f" in column {i + 1}" if len(self._forms) > 1 else ""
            if self._other[i] and "digits" not in self._steps:
                found.append(
                    f"the table's elements are {described(form)}{where}; {self._other[i]:,} {of} are not, and match "
                    "nothing: write them alike"
                )
            if 2 * self._changed[i]["integers"] > self._total:
                found.append(
                    f"{self._changed[i]['integers']:,} {of} end in .0{where}, as columns of integers with gaps do; the "
                    "table takes texts as they are: write yours as integers if the server's are so"
                )
            if 2 * self._changed[i]["dates"] > self._total:
                found.append(
                    f"{self._changed[i]['dates']:,} {of} are days with 00:00{where}; the table takes texts as they "
                    "are: write yours as days, 1990-01-31, if the server's are so"
                )
        whose = "this table counts as part of them" if self._client else "clients must have there too"
        if self._spaced and "strip" not in self._steps:
            found.append(
                f"{self._spaced:,} {of} have white space at an end, which {whose}: take it off, or have the table "
                "built with --normalise strip"
            )
        if self._composed and not self._steps & {"nfc", "nfkc"}:
            found.append(
                f"{self._composed:,} {of} have letters and accents as two characters (not NFC), and this table does "
                "not normalise: convert them, or have the table built with --normalise nfc"
            )
        if self._gaps:
            found.append(
                f"{self._gaps:,} {of} are a text like nan or None, which programs write for no value: they count as "
                "elements; leave them empty if they are none"
            )
        return found
