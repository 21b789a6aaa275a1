# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""One way to write an element: what a table's `normalise` and `columns` mean, on both sides alike.

Steps run in one order, whatever order they are named in: nfc or nfkc, then lower or casefold, then nfc or nfkc again,
then digits, then strip; all of it until nothing changes any more, so that normalising twice is normalising once.

    nfc, nfkc        Unicode's normal forms: one way to write é; nfkc also takes full-width digits, ligatures and the
                     like for their plain forms
    lower, casefold  small letters (str.lower); casefold also takes ß for ss
    digits           keeps decimal digits alone, as 0 to 9: +1 (555) 0100 is 15550100
    strip            no white space at either end (str.strip)
    email            short for nfkc,lower,strip

A column of a form (`ringforge.psi.forms`) is written as that form has it, before `lower` and `digits`.

An element of several columns is their texts, each normalised alone, joined by the character U+001F.
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Callable, Iterable, Iterator

from ringforge.errors import ParameterError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.psi.forms import JOINT, written

#: Steps in the order in which they run, as `TableInfo.normalise` lists them.
STEPS = ("nfc", "nfkc", "lower", "casefold", "digits", "strip")

#: Words that stand for several steps.
_SHORT = {"email": ("nfkc", "lower", "strip")}

#: Of each of these there can be one at most.
_EXCLUSIVE = (("nfc", "nfkc"), ("lower", "casefold"))

#: The word that keeps a table from finding out forms (`ringforge.psi.forms`).
TEXT = "text"

#: Columns that an element can have.
MAX_COLUMNS = 16

#: Passes until nothing changes; two are enough for every text of Unicode 15 that was tried.
_PASSES = 4


def canonical(words: str | Iterable[str]) -> str:
    """The steps named, as tables keep them: in their order, each once, with commas between; "" for none.

    Args:
        words: "lower,strip", or the words one by one.

    Raises:
        ParameterError: a word that is no step, or two steps of which one at most is possible.
    """
    given = [w.strip().lower() for w in (words.split(",") if isinstance(words, str) else words)]
    steps: set[str] = set()
    for word in filter(None, given):
        if word == TEXT:
            continue
        if word not in STEPS and word not in _SHORT:
            raise ParameterError(f'"{word}" is no way to normalise: there are {", ".join([*STEPS, *_SHORT, TEXT])}')
        steps.update(_SHORT.get(word, (word,)))
    for one, other in _EXCLUSIVE:
        if {one, other} <= steps:
            raise ParameterError(f"normalise by {one} or by {other}, not both")
    return ",".join(s for s in STEPS if s in steps)


def takes_text(words: str | Iterable[str]) -> bool:
    """Return whether `text` is among the words: elements stay the texts that they are, of no form."""
    return TEXT in [w.strip().lower() for w in (words.split(",") if isinstance(words, str) else words)]


def implied(forms: tuple[str, ...], steps: str, columns: int) -> tuple[str, ...]:
    """Return the forms of a table: those that were found, and of other columns whose digits alone count, integers: else
    1.0 would be 10."""
    if "digits" in steps.split(","):
        return tuple(form or "integers" for form in forms or ("",) * columns)
    return forms if any(forms) else ()


@functools.cache
def rule(steps: str, forms: tuple[str, ...] = ()) -> Callable[[str], str]:
    """Return the function that normalises an element, for canonical steps and the forms of its columns."""
    columns = [_of_column(steps, form) for form in forms or ("",)]

    def normalise(text: str) -> str:
        if JOINT not in text:
            return columns[0](text)
        parts = text.split(JOINT)
        several = columns if len(columns) == len(parts) else [_of_column(steps, "")] * len(parts)
        return JOINT.join(change(part) for change, part in zip(several, parts, strict=True))

    return normalise if steps or any(forms) else str


@functools.cache
def _of_column(steps: str, column_form: str) -> Callable[[str], str]:
    """Return the function that normalises the text of one column."""
    chosen = frozenset(filter(None, steps.split(",")))
    form = "NFKC" if "nfkc" in chosen else "NFC" if "nfc" in chosen else ""
    case = str.casefold if "casefold" in chosen else str.lower if "lower" in chosen else None
    digits, strip = "digits" in chosen, "strip" in chosen

    def once(text: str) -> str:
        if form and not text.isascii():
            text = unicodedata.normalize(form, text)  # type: ignore[arg-type]
        if column_form:
            text = written(column_form, text.strip() if strip else text)
        if case:
            text = case(text)
            if form and not text.isascii():
                text = unicodedata.normalize(form, text)  # type: ignore[arg-type]
        if digits:
            text = "".join(str(unicodedata.decimal(c)) for c in text if c.isdecimal())
        return text.strip() if strip else text

    def whole(text: str) -> str:
        after = once(text)
        for _ in range(_PASSES if not after.isascii() else 0):
            before, after = after, once(after)
            if before == after:
                break
        return after

    return whole


def nothing(text: str, columns: int) -> bool:
    """Whether a text is no element: one of its columns, or all of it, is empty. In one column U+001F joins nothing."""
    return not all(text.split(JOINT)) if columns > 1 else not text.replace(JOINT, "")


def normalised(
    elements: Iterable[bytes | int], steps: str, columns: int = 1, forms: tuple[str, ...] = ()
) -> Iterator[bytes | int]:
    """Elements as a table has them, one by one.

    Args:
        elements: texts in UTF-8.
        steps: canonical; "" leaves everything as it is.
        columns: texts that each element joins. forms: of each column, or none.

    Raises:
        ringforge.ValueError: one is no text, is empty when it is normalised, in one of its columns at least, or joins
        another number of texts.
    """
    if not steps and columns == 1 and not forms:
        yield from elements
        return
    change = rule(steps, forms)
    for x in elements:
        if not isinstance(x, bytes):
            raise RingforgeValueError(f"elements are byte strings in mode oprf, not {type(x).__name__}")
        if x.count(JOINT.encode()) != columns - 1 and columns > 1:
            raise RingforgeValueError(
                f"this table's elements join {columns} columns: give as many texts for each, with the character "
                "U+001F between them"
            )
        if not steps:
            text = x.decode(errors="surrogateescape")
            if columns > 1 and nothing(text, columns):
                raise RingforgeValueError("an element is empty in one of its columns: leave it out")
            yield change(text).encode(errors="surrogateescape")
            continue
        try:
            text = change(x.decode())
        except UnicodeDecodeError:
            raise RingforgeValueError(
                f"an element is no text in UTF-8, which normalising ({steps}) needs: use a table without"
            ) from None
        if nothing(text, columns):
            raise RingforgeValueError(f"an element is empty when it is normalised ({steps}): leave it out")
        yield text.encode()
