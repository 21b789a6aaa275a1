# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""One value in two files: it has one text, whatever wrote it; where it has not, somebody says so."""

from __future__ import annotations

import datetime
import decimal
import itertools
import json
import random
import uuid
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ringforge.errors import FormatError, ParameterError
from ringforge.psi import Client, Server, build_table
from ringforge.psi.build import BuildSpec
from ringforge.psi.cells import Wanted
from ringforge.psi.data import _columns, _read, matched, read_for
from ringforge.psi.forms import FORMS, Guess, written
from ringforge.psi.info import TableInfo
from ringforge.psi.normalise import normalised, rule

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")


def asked(
    server: Any, client: Any, column: Any = "e", label_column: str | None = None, normalise: str = "", **options: Any
) -> Any:
    """Rows of a client that a table has, without encryption; the table is a small look-up."""
    given = Wanted(("e",), label_column)
    found = _read(server, given, normalise, None, keep=False)
    elements: Any = found.mapping() if found.labels is not None else found.elements
    spec = BuildSpec(log_bins=4, normalise=normalise, forms=found.forms, **options)
    table = Server.build(elements, spec, device="clear")
    mine = read_for(table.info, client, Wanted(_columns(column)))
    run = Client(table.info, mine.elements, device="clear")
    run.finish_prf(table.evaluate_prf(run.blinded()))
    session = table.open(run.keys())
    while (request := run.next_request()) is not None:
        run.accept(table.answer(session, request))
    return matched(mine, run.result(), table.info).rows


def frame(*values: Any, **options: Any) -> Any:
    return pd.DataFrame({"e": list(values)}, **options)


@pytest.mark.parametrize(
    ("form", "texts", "one"),
    [
        ("integers", ["17", "17.0", "17.00"], "17"),
        ("integers", ["0", "-0", "-0.0"], "0"),
        ("booleans", ["true", "True", "TRUE"], "true"),
        ("dates", ["1990-01-31", "1990-01-31T00:00:00", "1990-01-31 00:00", "1990-01-31 00:00:00.000"], "1990-01-31"),
        ("times", ["2020-01-02 03:04", "2020-01-02T03:04:00", "2020-01-02 03:04:00.000000"], "2020-01-02T03:04:00"),
        ("times", ["2020-01-02 03:04:05.5", "2020-01-02T03:04:05.500000000"], "2020-01-02T03:04:05.500000"),
        ("times", ["2020-01-02", "2020-01-02 00:00:00"], "2020-01-02T00:00:00"),
        (
            "instants",
            [
                "2020-01-02T03:04:05Z",
                "2020-01-02 04:04:05+01:00",
                "2020-01-01T22:04:05-0500",
                "2020-01-02 03:04:05 UTC",
            ],
            "2020-01-02T03:04:05+00:00",
        ),
    ],
)
def test_texts_of_one_value(form: str, texts: list[str], one: str) -> None:
    guess = Guess(1)
    for text in texts:
        assert written(form, text) == one
        guess.tell(text)
    assert written(form, one) == one
    if form == "times":
        guess.tell("2020-01-02 03:04")  # not a midnight like all others
    assert guess.forms() == (form,)
    assert list(normalised([t.encode() for t in texts], "", 1, (form,))) == [one.encode()] * len(texts)


@pytest.mark.parametrize(
    "text", ["007", "1.1", "+1", "1e3", "1.0.0", ".0", "1.", "", "2020-13-01", "1990-01-31T1", "x", "\u0661"]
)
def test_other_texts_stay(text: str) -> None:
    assert [written(form, text) for form in FORMS] == [text] * len(FORMS)


def test_forms_and_steps_do_the_same_twice() -> None:
    for form in FORMS:
        for steps in ("", "lower", "nfkc,casefold,digits,strip", "digits"):
            change = rule(steps, (form,))
            for text in (
                "1.0",
                "\uff11.0",
                " 1.0 ",
                "True",
                "1990-01-31 00:00:00",
                "2020-01-02T03:04:05.5+01:00",
                "-7.0",
            ):
                assert change(change(text)) == change(text), (form, steps, text)
    assert rule("nfkc,digits,strip", ("integers",))(" \uff11.0 ") == "1"
    assert rule("digits")("1.0") == "10", "tables of before stay as they are"


T = pd.Timestamp


@pytest.mark.parametrize(
    ("server", "client", "rows"),
    [
        (frame(1, None, 7), frame("1.0", "7.0", "", "8.0"), 2),
        (frame("1.0", "7.0"), frame(1, 7, 8), 2),
        (frame(1, 7), frame(decimal.Decimal("7.00")), 1),
        (frame(1, 7), pl.DataFrame({"e": [1.0, None, 7.0]}), 2),
        (frame(1, 7), pa.table({"e": pa.array(["1.0", "nan", "<NA>", "7"])}), 2),
        (frame(True, False), frame("True", "FALSE", "x"), 2),
        (frame(T("1990-01-31"), T("1991-02-03")), frame("1990-01-31", "1991-02-03 00:00:00"), 2),
        (frame("1990-01-31", "1991-02-03"), frame(T("1990-01-31"), datetime.date(1991, 2, 3)), 2),
        (frame(np.datetime64("1990-01-31", "ns"), dtype=object), frame("1990-01-31"), 1),
        (frame(T("2020-01-02 03:04:05"), T("2020-01-03")), frame("2020-01-02 03:04:05", "2020-01-03"), 2),
        (
            frame(T("2020-01-02 03:04", tz="Europe/Berlin")),
            frame("2020-01-02T02:04:00Z", "2020-01-02 03:04:00+01:00"),
            2,
        ),
        (frame(uuid.UUID(int=10 << 64)), frame(str(uuid.UUID(int=10 << 64)).upper()), 1),
        # No value of two: texts are texts where not all are of one form.
        (frame("1.0", "1.1"), frame("1.0", "1"), 1),
        (frame("007", "8"), frame("007", "7", "8"), 2),
        (frame("1990-01-31", "unknown"), frame("1990-01-31", "1990-01-31T00:00:00"), 1),
    ],
)
def test_rows_of_one_value_match(server: Any, client: Any, rows: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert len(asked(server, client)) == rows


def test_a_frame_and_its_own_csv(tmp_path: Path) -> None:
    gaps = frame(1, None, 7)
    gaps.to_csv(tmp_path / "gaps.csv", index=False)
    assert len(asked(gaps, str(tmp_path / "gaps.csv"))) == 2
    assert len(asked(str(tmp_path / "gaps.csv"), gaps)) == 2
    days = pl.DataFrame({"e": [datetime.datetime(1990, 1, 31), None, datetime.datetime(1991, 1, 1)]})
    days.write_csv(tmp_path / "days.csv")
    assert len(asked(days, str(tmp_path / "days.csv"))) == 2
    assert len(asked(str(tmp_path / "days.csv"), days)) == 2


@pytest.mark.parametrize("server", [frame("10", "70"), frame("+49 10", "(70) x")])
def test_digits_of_a_whole_float(server: Any) -> None:
    """1.0 is 1, never 10."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert len(asked(server, frame("1.0", "7.0"), normalise="digits")) == 0
        assert len(asked(server, frame("70.0", "4910.0"), normalise="digits")) >= 1


def test_texts_stay_texts_when_told_so(tmp_path: Path) -> None:
    versions = frame("1.0", "2.0")
    with pytest.warns(UserWarning, match=r"2 elements end in \.0 .*normalise \"text\""):
        assert build_table(tmp_path / "i", versions, column="e", client_size=16).info.forms == ("integers",)
    assert build_table(tmp_path / "t", versions, column="e", client_size=16, normalise="text").info.forms == ()
    assert len(asked(frame("1.0", "2.0"), frame("1", "1.0"), normalise="text")) == 1


@pytest.mark.parametrize(
    ("server", "client", "said"),
    [
        (frame(1, 2), frame("A1", "2"), "elements are integers; 1 of your 2 elements are not"),
        (frame("A1", "2"), frame("1.0", "2.0"), r"2 of your 2 elements end in \.0"),
        (frame("1990-01-31", "x"), frame(T("1990-01-31")), "are days with 00:00"),
        (frame("a", "b"), frame("a ", "b"), "1 of your 2 elements have white space"),
        (frame("é", "b"), frame("e\u0301"), "not NFC"),
        (frame("a", "b"), frame("nan", "b"), "a text like nan or None"),
        (frame(T("2020-01-02 03:04", tz="UTC")), frame(T("2020-01-02 03:04")), "times with a zone"),
    ],
)
def test_what_cannot_match_is_said(server: Any, client: Any, said: str) -> None:
    with pytest.warns(UserWarning, match=said):
        asked(server, client)


def test_a_server_is_told_of_white_space(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="1 of your 2 elements have white space at an end, which clients must have"):
        build_table(tmp_path / "t", frame("a ", "b"), column="e", client_size=16)


def test_elements_written_alike_are_not_warned_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for values in (("a", "b@c"), (1, 2), ("1.0", "1.1"), ("1990-01-31", "1990-02-01"), ("é", "Ø")):
            assert len(asked(frame(*values, "1.5" if values[0] == "1.0" else values[0]), frame(*values))) == 2


def test_several_columns_have_a_form_each() -> None:
    server = pd.DataFrame({"e": ["1.0", "1.1"], "born": [T("1990-01-31"), T("1991-01-31")]})
    found = _read(server, Wanted(("e", "born")), "", None, keep=False)
    assert found.forms == ("", "dates")
    info = Server.build(found.elements, log_bins=4, columns=2, forms=found.forms).info
    client = pd.DataFrame({"v": ["1.0", "1"], "d": ["1990-01-31 00:00", "1990-01-31"]})
    found = read_for(info, client, Wanted(("v", "d")))
    assert found.elements == [b"1.0\x1f1990-01-31", b"1\x1f1990-01-31"]


def test_what_a_table_says(tmp_path: Path) -> None:
    plain, ints = (
        build_table(tmp_path / n, frame(*v), column="e", client_size=16) for n, v in (("p", "ab"), ("i", (1, 2)))
    )
    assert "forms" not in json.loads(plain.info.to_json()), "older clients read it"
    assert TableInfo.from_json(ints.info.to_json()).forms == ("integers",)
    ints.update([b"3.0"], [b"1.0"])
    assert read_for(ints.info, frame("3"), Wanted(("e",))).elements == [b"3"]
    assert Client(ints.info, [b"3.0"], device="clear")._written == [b"3"]
    for forms in (["integers", ""], ["feelings"]):
        with pytest.raises(FormatError, match="form"):
            TableInfo.from_json(json.dumps({**json.loads(ints.info.to_json()), "forms": forms}).encode())


# ---- frames --------------------------------------------------------------------------------------------


def test_rows_come_back_in_the_form_that_was_given() -> None:
    server = frame("a", "c")
    polars = pl.DataFrame({"k": [1, 2, 3], "e": ["a", "b", "c"]}, schema_overrides={"k": pl.Int8})
    got = asked(server, polars)
    assert isinstance(got, pl.DataFrame)
    assert got.equals(polars[[0, 2], :])
    assert got.schema == polars.schema
    pandas = pd.DataFrame({"k": pd.array([1, None, 3], dtype="Int16"), "e": ["a", "b", "c"]}, index=[5, 6, 7])
    pd.testing.assert_frame_equal(asked(server, pandas), pandas.iloc[[0, 2]])
    for arrow in (polars.to_arrow(), polars.to_arrow().to_batches()[0]):
        assert asked(server, arrow).equals(arrow.take(pa.array([0, 2])))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_nothing_in_nothing_out(make: Any) -> None:
    none = make({"e": ["a"], "k": [1]})[:0]
    for server, client in ((frame("a"), none), (none, make({"e": ["a"], "k": [1]}))):
        got = asked(server, client)
        assert type(got) is type(none)
        assert len(got) == 0
        assert [str(c) for c in getattr(got, "column_names", None) or got.columns] == ["e", "k"]


def test_labels_are_a_last_column() -> None:
    server = pd.DataFrame({"e": ["a", "c"], "p": ["gold", "x" * 100]})
    client = {"label": [1, 2], "e": ["c", "b"]}
    for make in (pd.DataFrame, pl.DataFrame, pa.table):
        got = asked(server, make(client), label_column="p")
        assert [str(c) for c in getattr(got, "column_names", None) or got.columns] == ["label", "e", "server_label"]
        assert list(got["server_label"]) == ["x" * 100] or got["server_label"].to_pylist() == ["x" * 100]


def test_columns_of_polars_that_arrow_has_not() -> None:
    wide = pl.DataFrame({"e": pl.Series([1, 2], dtype=pl.Int128), "o": [object(), object()]})
    got = asked(frame(2, 3), wide)
    assert isinstance(got, pl.DataFrame)
    assert got["e"].to_list() == [2]
    with pytest.raises(FormatError, match="a column of Python objects"):
        asked(frame(2, 3), wide, column="o")


def test_short_floats_that_are_not_exact() -> None:
    for column in (np.float32, np.float16):
        good, bad = (np.array([1, 2, edge], column) for edge in (3, 2.0**24 if column is np.float32 else 2.0**11))
        for make in (pd.DataFrame, pa.table, pl.DataFrame):
            if make is pl.DataFrame and column is np.float16:
                continue  # not in all releases of polars
            assert len(asked(frame(1, 3), make({"e": good}))) == 2
            with pytest.raises(FormatError, match="does not tell whole numbers from"):
                asked(frame(1, 3), make({"e": bad}))


def test_numbers_that_are_names() -> None:
    numbered = pd.DataFrame([["x", "a"], ["a", "b"]])  # columns 0 and 1
    assert asked(frame("a"), numbered, column=1)[1].tolist() == ["a"]
    assert asked(frame("a"), numbered, column=np.int64(0))[0].tolist() == ["a"]
    assert asked(frame("a"), numbered, column="1")[1].tolist() == ["a"]
    with pytest.raises(FormatError, match=r"no columns named 2; .*a number is a name here"):
        asked(frame("a"), numbered, column=2)
    texts = numbered.set_axis(["0", "1"], axis=1)
    for other in (texts, pl.from_pandas(texts)):
        with pytest.raises(FormatError, match=r'column 1 is number 1, and number 2 has that name: .*column="1"'):
            asked(frame("a"), other, column=1)
        assert len(asked(frame("a"), other, column="1")) == 1
    twice = numbered.set_axis([1, 1], axis=1)
    with pytest.raises(FormatError, match="2 columns named 1"):
        asked(frame("a"), twice, column=1)
    for nonsense in (True, 1.5, None, [None]):
        with pytest.raises(ParameterError, match="a column is a name or a number"):
            asked(frame("a"), numbered, column=nonsense)


# ---- any container against any other -----------------------------------------------------------------


def _csv(values: list[Any], kind: str, folder: Path, rng: random.Random) -> str:
    """A CSV file as pandas or polars writes it, with gaps."""
    path = folder / f"{rng.random()}.csv"
    if rng.random() < 0.5 and kind != "zoned":
        pl.DataFrame({"e": values, "k": range(len(values))}, strict=False).write_csv(path)
    else:
        pd.DataFrame({"e": values, "k": range(len(values))}).to_csv(path, index=False)
    return str(path)


CONTAINERS: dict[str, Any] = {
    "pandas": lambda v, *_: pd.DataFrame({"e": v, "k": range(len(v))}),
    "objects": lambda v, *_: pd.DataFrame({"e": pd.Series(v, dtype=object), "k": range(len(v))}),
    "polars": lambda v, *_: pl.DataFrame({"e": v, "k": range(len(v))}),
    "pyarrow": lambda v, *_: pa.table({"e": v, "k": range(len(v))}),
    "csv": _csv,
}

VALUES: dict[str, Any] = {
    "integers": lambda rng: rng.randrange(-5, 40),
    "texts": lambda rng: rng.choice(["", "a", "b"]) + rng.choice(["1.0", "x", "é", "007", " y", "1", "1.1"]),
    "days": lambda rng: datetime.date(1990, 1, 1) + datetime.timedelta(rng.randrange(30)),
    "midnights": lambda rng: datetime.datetime(1990, 1, 1) + datetime.timedelta(rng.randrange(30)),
    "times": lambda rng: datetime.datetime(1990, 1, 1) + datetime.timedelta(hours=rng.randrange(60) / 2),
    "zoned": lambda rng: (
        datetime.datetime(1990, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(hours=rng.randrange(30))
    ),
    "booleans": lambda rng: rng.random() < 0.5,
}


@pytest.mark.parametrize("kind", VALUES)
def test_any_container_against_any_other(tmp_path: Path, kind: str) -> None:
    """The rows are those whose value the server has, as Python compares them."""
    rng = random.Random(kind)
    for server, client in rng.sample(list(itertools.product(CONTAINERS, repeat=2)), 12):
        gaps, sets = rng.choice([0.0, 0.2]), []
        for _ in range(2):
            values = [VALUES[kind](rng) for _ in range(12)]
            if kind == "times":  # not all of them midnights
                values[0] = datetime.datetime(1990, 1, 1, 12)
            sets.append([None if rng.random() < gaps and i else v for i, v in enumerate(values)])
        theirs, mine = sets
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            got = asked(CONTAINERS[server](theirs, kind, tmp_path, rng), CONTAINERS[client](mine, kind, tmp_path, rng))
        rows = [r["k"] for r in got] if isinstance(got, list) else list(got["k"])
        expected = [i for i, v in enumerate(mine) if v is not None and v != "" and v in theirs]
        assert [int(str(r)) for r in rows] == expected, (server, client, theirs, mine)
