# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Elements that people write in several ways: a table says how they are written, and its clients do the same."""

from __future__ import annotations

import random
import unicodedata
from pathlib import Path

import pytest

from ringforge import psi
from ringforge.errors import Error, FormatError, ParameterError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.psi.cells import Wanted
from ringforge.psi.normalise import canonical, normalised, rule
from ringforge.psi.sets import read_elements
from tests.psi.running import build, run


@pytest.mark.parametrize(
    ("words", "steps"),
    [
        ("", ""),
        ("strip, LOWER ,nfc", "nfc,lower,strip"),
        ("email", "nfkc,lower,strip"),
        ("email,nfkc", "nfkc,lower,strip"),
        ("digits", "digits"),
    ],
)
def test_steps_have_one_order(words: str, steps: str) -> None:
    assert canonical(words) == steps
    assert canonical(words.split(",")) == steps
    assert canonical(steps) == steps


@pytest.mark.parametrize(
    ("words", "message"),
    [("upper", "there are nfc, nfkc, lower"), ("nfc,nfkc", "not both"), ("email,casefold", "not both")],
)
def test_steps_that_are_none(words: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        canonical(words)


@pytest.mark.parametrize(
    ("steps", "text", "written"),
    [
        ("nfc", "e\u0301", "é"),
        ("nfkc", "\uff11\ufb01", "1fi"),
        ("lower", "ÀB", "àb"),
        ("nfc,casefold", "STRASSE", "strasse"),
        ("nfc,casefold", "Straße", "strasse"),
        ("strip", " \t\u00a0a b\n", "a b"),
        ("digits", "+1 (555) 0100", "15550100"),
        ("digits", "\u0664\u0662", "42"),
        ("nfkc,lower,strip", " Bob\uff20Example.ORG ", "bob@example.org"),
        ("lower,strip", " A \x1f B ", "a\x1fb"),
        ("digits", "1-2\x1f3-4", "12\x1f34"),
    ],
)
def test_what_steps_do(steps: str, text: str, written: str) -> None:
    assert rule(steps)(text) == written


@pytest.mark.parametrize("steps", ["nfc,lower,strip", "nfkc,casefold,strip", "nfkc,digits", "nfc,casefold"])
def test_twice_is_once(steps: str) -> None:
    """So that it does no harm when a file's reader and the protocol both normalise."""
    change, rng = rule(steps), random.Random(2)
    letters = [chr(c) for c in range(0x30000) if not 0xD800 <= c < 0xE000]
    texts = [*letters, *("".join(rng.choices(letters, k=4)) for _ in range(20_000))]
    for text in texts:
        once = change(text)
        assert change(once) == once
        if steps.startswith("nfc"):
            assert unicodedata.normalize("NFC", once) == once


def test_elements_that_cannot_be_normalised() -> None:
    for bad, message in ((b"\xff", "UTF-8"), (b" ", "empty when"), (17, "byte strings")):
        with pytest.raises(RingforgeValueError, match=message):
            list(normalised([bad], "strip"))
    with pytest.raises(RingforgeValueError, match="join 2 columns"):
        list(normalised([b"a"], "", 2))
    assert list(normalised([b"a\x1fb"], "", 2)) == [b"a\x1fb"]


@pytest.mark.parametrize(
    ("text", "columns", "taken"),
    [
        ("a\x1f", 1, True), ("\x1fa", 1, True), ("a \x1f b", 1, True), ("\x1f", 1, False), (" ", 1, False),
        ("x\x1fy", 2, True), ("x\x1f", 2, False), (" \x1fy", 2, False), ("x\x1f \x1fy", 3, False),
    ],
)  # fmt: skip
def test_files_and_programs_agree_on_what_is_nothing(tmp_path: Path, text: str, columns: int, taken: bool) -> None:
    path = tmp_path / "set.csv"
    parts = text.split("\x1f") if columns > 1 else [text]
    head = [f"c{i}" for i in range(columns)]
    path.write_text(f"{','.join(head)}\n{','.join(parts)}\n{','.join(['z'] * columns)}\n")
    found = read_elements(path, wanted=Wanted(tuple(head)), normalise="strip")
    assert (len(found.elements), found.empty) == (1 + taken, not taken)
    if taken:
        assert list(normalised([text.encode()], "strip", columns)) == found.elements[:1]
        return
    for steps in ("strip", "lower") if " " not in text else ("strip",):
        with pytest.raises(RingforgeValueError, match="is empty"):
            list(normalised([text.encode()], steps, columns))
    if columns > 1 and " " not in text:
        with pytest.raises(RingforgeValueError, match="is empty in one of its columns"):
            list(normalised([text.encode()], "", columns))


def test_a_client_normalises_as_the_table_says() -> None:
    people = {"Alice@Example.org": "1", " zoe\u0301@example.org": "2"}
    server = build({k.encode(): v.encode() for k, v in people.items()}, log_bins=4, normalise="strip,nfc,lower")
    assert server.info.normalise == "nfc,lower,strip"
    asked = [b"ALICE@example.org", "Zo\u00e9@example.org ".encode(), b"alice@example.org", b"bob@example.org"]
    result = run(server, asked)
    assert result.matches == {asked[0]: b"1", asked[1]: b"2", asked[2]: b"1"}, "as they were given"
    assert result.elements == 3
    assert run(build([b"Alice"], log_bins=4), [b"alice"]).matches == {}


def test_different_labels_of_one_element() -> None:
    with pytest.raises(RingforgeValueError, match="different labels"):
        build({b"A": b"1", b"a": b"2"}, log_bins=4, normalise="lower")
    assert build({b"A": b"1", b"a": b"1"}, log_bins=4, normalise="lower").info.normalise == "lower"


def test_integers_are_not_normalised() -> None:
    for given in ({"normalise": "lower"}, {"columns": 2}):
        with pytest.raises(ParameterError, match="use mode oprf"):
            build([1], log_bins=4, bits=8, mode="direct", **given)


def test_updates_are_normalised(tmp_path: Path) -> None:
    store = psi.Store.build(tmp_path / "t", [b"a", b"b"], log_bins=4, capacity=8, normalise="lower")
    assert store.update(add=[b"A", b"C"], remove=[b"B"]) == (1, 1, 0)
    assert psi.Store(tmp_path / "t").info.normalise == "lower"


def test_what_older_releases_read() -> None:
    """A table that says nothing of these looks as it always did; one that does has another digest, and is refused
    where it would be misunderstood."""
    plain, other = build([b"a"], log_bins=4).info, build([b"a"], log_bins=4, normalise="lower").info
    assert b"normalise" not in plain.to_json()
    assert b"columns" not in plain.to_json()
    assert other.model_copy(update={"normalise": ""}).digest() != other.digest()
    assert psi.TableInfo.from_json(other.to_json()) == other
    for steps in ("lower,nfc", "soundex", ",lower"):
        with pytest.raises(FormatError, match="release does not know"):
            psi.TableInfo.from_json(other.to_json().replace(b'"lower"', f'"{steps}"'.encode()))
    with pytest.raises(FormatError):
        psi.TableInfo.from_json(other.to_json().replace(b'"lower"', b'"lower","columns":99'))


def test_nothing_of_an_element_is_in_an_error() -> None:
    with pytest.raises(Error) as refusal:
        build({b"Secret": b"1", b"secret": b"2"}, log_bins=4, normalise="lower")
    assert "ecret" not in str(refusal.value)
