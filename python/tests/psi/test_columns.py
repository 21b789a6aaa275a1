# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Sets as people have them: CSV of spreadsheets, Parquet, data frames. Errors name row, column and remedy, no cell."""

from __future__ import annotations

import csv
import datetime
import decimal
import io
import os
import sys
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ringforge.errors import Error, FormatError, ParameterError
from ringforge.psi import cells
from ringforge.psi.cells import Wanted, text_of, write_rows
from ringforge.psi.sets import frame_elements, read_elements

MAIL = Wanted(("E-mail",))

#: As a German spreadsheet saves it.
SHEET = (
    '\ufeffNr;E-mail;Note\r\n1;Alice@Example.org;"two\r\nlines; with ""quotes"""\r\n2;;none\r\n'
    "3; alice@example.org ;\r\n4;bob@example.org;x\r\n4;bob@example.org;y\r\n"
)


def written(tmp_path: Path, text: str, name: str = "set.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("break_", ["\r", "\n", "\r\n"])
@pytest.mark.parametrize("name", ["out.csv", "out.tsv"])
def test_no_label_and_no_cell_makes_a_row(tmp_path: Path, break_: str, name: str) -> None:
    """A server chooses labels: what it writes stays in its cell, whatever reads the file, and is read by us again."""
    path = tmp_path / "in.csv"
    path.write_bytes(f'mail,note\na@x,"one{break_}two"\nb@x,plain\n'.encode())
    found = read_elements(path, wanted=Wanted(("mail",)), keep=True)
    assert found.own is not None
    label = f"plan{break_}victim@x"
    write_rows(tmp_path / name, found.own, [0, 1], [label, "gold"])
    cell = f"one{break_}two".replace("\r\n", "\n")  # reading keeps that it is a break
    wanted = [["mail", "note", "label"], ["a@x", cell, label], ["b@x", "plain", "gold"]]
    raw = (tmp_path / name).read_bytes().decode()
    separator = "\t" if name.endswith("tsv") else ","
    assert list(csv.reader(io.StringIO(raw, newline=""), delimiter=separator)) == wanted
    # Universal newlines may change which break it is, never how many rows there are.
    assert [row[0] for row in csv.reader(io.StringIO(raw, newline=None), delimiter=separator)] == ["mail", "a@x", "b@x"]
    again = read_elements(tmp_path / name, wanted=Wanted(("mail",)), keep=True)
    assert again.elements == [b"a@x", b"b@x"]


# ---- CSV -----------------------------------------------------------------------------------------


def test_a_spreadsheet(tmp_path: Path) -> None:
    path = written(tmp_path, SHEET)
    found = read_elements(path, wanted=MAIL)
    assert found.elements == [b"Alice@Example.org", b" alice@example.org ", b"bob@example.org"]
    assert (found.duplicates, found.empty, found.together) == (1, 1, 0)
    found = read_elements(path, wanted=MAIL, normalise="nfc,lower,strip", keep=True)
    assert found.elements == [b"alice@example.org", b"bob@example.org"]
    assert (found.duplicates, found.empty, found.together) == (1, 1, 1)
    assert found.of_rows == [b"alice@example.org", None, b"alice@example.org", b"bob@example.org", b"bob@example.org"]
    assert found.own is not None
    assert found.own.names == ["Nr", "E-mail", "Note"]
    write_rows(tmp_path / "out.csv", found.own, [0, 3], ["gold", "a;b"])
    assert (tmp_path / "out.csv").read_bytes().decode() == (
        'Nr;E-mail;Note;label\n1;Alice@Example.org;"two\nlines; with ""quotes""";gold\n4;bob@example.org;x;"a;b"\n'
    )


@pytest.mark.parametrize(
    ("column", "elements"),
    [(("e-MAIL",), b"a@b"), ((" E-mail ",), b"a@b"), ((2,), b"a@b"), (("2",), b"a@b"), (("Nr", "E-mail"), b"1\x1fa@b")],
)
def test_ways_to_name_a_column(tmp_path: Path, column: tuple[Any, ...], elements: bytes) -> None:
    path = written(tmp_path, "Nr,E-mail,2024\n1,a@b,17\n")
    assert read_elements(path, wanted=Wanted(column)).elements == [elements]
    assert read_elements(path, wanted=Wanted(("2024",))).elements == [b"17"], "a name before a number"


def test_digits_that_are_two_columns(tmp_path: Path) -> None:
    """A first line that is a row may hold the digits that were meant as a number."""
    path = written(tmp_path, "alice@x,1\nbob@y,2\n")
    for wanted in (Wanted(("1",)), Wanted((1, "1")), Wanted((2,), "1")):
        with pytest.raises(
            FormatError, match=r"set.csv: column 1 is number 1, and in the first line number 2 has"
        ) as e:
            read_elements(path, wanted=wanted)
        assert "alice" not in str(e.value)
    assert read_elements(path, wanted=Wanted(("1",), header=False)).elements == [b"alice@x", b"bob@y"]
    assert read_elements(path, wanted=Wanted(("2",))).elements == [b"2"]
    assert read_elements(written(tmp_path, "1,x\n5,a\n"), wanted=Wanted(("1",))).elements == [b"5"]


@pytest.mark.parametrize(
    ("wanted", "unnamed"),
    [
        (Wanted((2,)), 2), (Wanted(("2",)), 2), (Wanted(("1", 2)), 2), (Wanted(("2",), "1"), 2), (Wanted(("b@x",)), 0),
        (Wanted((1,), "B@X"), 0), (Wanted(("2",), header=False), 0),
    ],
)  # fmt: skip
def test_a_header_that_nobody_names_is_told(tmp_path: Path, wanted: Wanted, unnamed: int) -> None:
    found = read_elements(written(tmp_path, "a@x,b@x\nc@x,d@x\n"), wanted=wanted)
    assert found.unnamed == unnamed
    assert read_elements(written(tmp_path, "element\nx\n")).unnamed == 0


def test_labels_of_columns(tmp_path: Path) -> None:
    path = written(tmp_path, "plan\tmail\ngold\ta\n\tb\n", "set.tsv")
    assert read_elements(path, wanted=Wanted(("mail",), "plan")).mapping() == {b"a": b"gold", b"b": b""}
    assert read_elements(path, wanted=Wanted(("mail",))).labels is None
    path = written(tmp_path, "element,label\na,x\n")
    assert read_elements(path).mapping() == {b"a": b"x"}
    assert read_elements(path, labels=False).labels is None


ENDS = "plan\rmallory@x,gold\rz"


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_line_ends_in_cells_make_no_rows(tmp_path: Path, separator: str) -> None:
    """A label is the server's, a cell may have come from anywhere: neither adds a row for any reader."""
    head = separator.join(("E-mail", '"no\rte"'))
    path = written(tmp_path, f'{head}\nbob{separator}"x\ry"\nann{separator}"z\r"\neve{separator}plain\n')
    found = read_elements(path, wanted=MAIL, keep=True)
    assert found.own is not None
    out, labels = tmp_path / "out.csv", [ENDS, "a\r", "b\n\tc"]
    write_rows(out, found.own, [0, 1, 2], labels)
    expected = [["E-mail", "no\rte", "label"], ["bob", "x\ry", ENDS], ["ann", "z\r", "a\r"], ["eve", "plain", "b\n\tc"]]
    with out.open(newline="") as f:
        assert list(csv.reader(f, delimiter=separator)) == expected
    with out.open() as f:  # line ends of every kind, as spreadsheets take them
        rows = list(csv.reader(f, delimiter=separator))
    assert [r[0] for r in rows] == ["E-mail", "bob", "ann", "eve"]
    rest = tmp_path / "rest.csv"
    write_rows(rest, found.own, [0, 1], None, private=True)
    again = read_elements(rest, wanted=MAIL, keep=True)
    assert again.own is not None
    assert list(again.own.texts([0, 1])) == [["bob", "x\ry"], ["ann", "z\r"]], "--rest can be asked again"


def test_no_header(tmp_path: Path) -> None:
    path = written(tmp_path, "1,a\n2,b\n")
    found = read_elements(path, wanted=Wanted(("2",), header=False), keep=True)
    assert found.elements == [b"a", b"b"]
    assert found.own is not None
    write_rows(tmp_path / "out.csv", found.own, [1], ["x"])
    assert (tmp_path / "out.csv").read_text() == "2,b,x\n"
    with pytest.raises(ParameterError, match="--column 1"):
        Wanted(header=False)


def test_several_columns(tmp_path: Path) -> None:
    path = written(tmp_path, "first,last,age\nAda, Lovelace ,36\nAda,,36\n,Hopper,85\n")
    found = read_elements(path, wanted=Wanted(("first", "last")), normalise="lower,strip")
    assert found.elements == [b"ada\x1flovelace"]
    assert (found.empty, found.columns) == (2, 2)
    with pytest.raises(FormatError, match=r"line 2: holds the character U\+001F"):
        read_elements(written(tmp_path, "a,b\nx\x1fy,z\n"), wanted=Wanted(("a", "b")))
    with pytest.raises(ParameterError, match="16 at most"):
        Wanted(tuple(str(i) for i in range(17)))


@pytest.mark.parametrize(
    ("text", "wanted", "message"),
    [
        ("Nr;mail\n1;secret\n", MAIL, r'set.csv, line 1: has no column "E-mail" among its 2'),
        ("E-mail,e-mail,E-mail\nsecret,b,c\n", MAIL, r'has 2 columns "E-mail": give its number, one of 1, 3'),
        ("E-mail,x\nsecret\n", MAIL, r"line 2, column 2: is missing; rows above have 2 columns"),
        ("E-mail,x\nsecret,1,2\n", MAIL, r"line 2, column 3.*is one too many"),
        ('E-mail,x\n"secret,1\n', MAIL, r"line 2: a quote opens in this row and does not close"),
        ("E-mail,x\nok,1\n\n,2\n", Wanted((3,)), r"has no column 3: columns have the numbers 1 to 2"),
        ("E-mail,x\n,1\n,2\n", MAIL, r"holds no elements.*lines left out because theirs is empty: 2"),
        ("E-mail,x\nsecret,1\nsecret,2\n", Wanted(("E-mail",), "x"), r"line 3: this element has another label"),
        ("E-mail,x\nsecret,1\n", Wanted(("E-mail", "1")), "one column is named twice"),
        ("", MAIL, "is empty"),
        ("E-mail\n" + "x" * 70_000 + "\n", MAIL, "line 2: an element of 70000 bytes"),
        ("E-mail\na\0b\n", MAIL, "line 2, column 1: holds a NUL byte"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, wanted: Wanted, message: str) -> None:
    with pytest.raises(FormatError, match=message) as refusal:
        read_elements(written(tmp_path, text), wanted=wanted)
    assert "secret" not in str(refusal.value)


def test_elements_that_normalise_to_different_labels(tmp_path: Path) -> None:
    path = written(tmp_path, "E-mail,x\nA,1\na,2\n")
    with pytest.raises(FormatError, match=r"line 3: this element has another label further up.*normalising by lower"):
        read_elements(path, wanted=Wanted(("E-mail",), "x"), normalise="lower")


def test_integers_of_a_column(tmp_path: Path) -> None:
    path = written(tmp_path, "id;x\n17;a\n0x12;b\n")
    assert read_elements(path, direct=True, wanted=Wanted(("id",))).elements == [17, 18]
    with pytest.raises(FormatError, match="line 2: no integer"):
        read_elements(path, direct=True, wanted=Wanted(("x",)))


def test_places_that_are_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "folder.parquet").mkdir()
    for name in ("folder.csv", "folder.parquet"):
        with pytest.raises(IsADirectoryError, match="name one file"):
            read_elements(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        read_elements(tmp_path / "none.csv")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(SHEET.encode()))
    writer.start()
    found = read_elements(pipe, wanted=MAIL, keep=True)
    writer.join()
    assert len(found.elements) == 3
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(SHEET.encode())))
    assert read_elements("-", wanted=MAIL).elements == found.elements
    assert not sys.stdin.buffer.closed


def test_columns_of_files_without_any(tmp_path: Path) -> None:
    path = written(tmp_path, '{"element": "a"}\n', "set.jsonl")
    with pytest.raises(ParameterError, match="JSON lines, which have no columns"):
        read_elements(path, wanted=MAIL)


# ---- text forms ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "a"),
        (b"\xff", b"\xff"),
        (17, "17"),
        (-3, "-3"),
        (17.0, "17"),
        (float("nan"), None),
        (None, None),
        ("", None),
        (True, "true"),
        (decimal.Decimal("17.00"), "17.00"),
        (decimal.Decimal("1E+3"), "1000"),
        (datetime.date(1990, 1, 31), "1990-01-31"),
        (datetime.datetime(1990, 1, 31, 12, 30), "1990-01-31T12:30:00"),
        (datetime.datetime(1990, 1, 31, tzinfo=datetime.UTC), "1990-01-31T00:00:00+00:00"),
        (datetime.time(7, 5), "07:05:00"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    ],
)
def test_text_forms(value: Any, text: str | bytes | None) -> None:
    assert text_of(value) == text


@pytest.mark.parametrize(("values", "word"), [([1.5], "fraction"), ([1e300], "beyond"), ([[1]], "list")])
def test_values_without_a_text_form(values: list[Any], word: str) -> None:
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(FormatError, match=f'the table, row 2, column 1 .*"x".*{word}'):
        frame_elements(pa.table({"x": pa.array([None, *values])}), wanted=Wanted(("x",)))


# ---- Parquet -------------------------------------------------------------------------------------


def parquet_file(tmp_path: Path, columns: dict[str, Any]) -> Path:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "set.parquet"
    parquet.write_table(pa.table(columns), path)
    return path


def test_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = parquet_file(
        tmp_path,
        {
            "id": [1, None, 3, 4],
            "born": pa.array([datetime.date(1990, 1, 31), None, None, datetime.date(2000, 2, 29)]),
            "mail": pa.array(["A", "b", None, "c"]).dictionary_encode(),
            "label": [1.5, 2.0, 3.0, 4.0],
        },
    )
    assert read_elements(path, wanted=Wanted(("id",))).elements == [b"1", b"3", b"4"]
    assert read_elements(path, wanted=Wanted(("born",))).elements == [b"1990-01-31", b"2000-02-29"]
    assert read_elements(path, wanted=Wanted(("born", "mail"))).elements == [b"1990-01-31\x1fA", b"2000-02-29\x1fc"]
    assert read_elements(path, direct=True, wanted=Wanted(("id",))).elements == [1, 3, 4]
    found = read_elements(path, wanted=Wanted(("mail",)), normalise="lower", keep=True)
    assert found.elements == [b"a", b"b", b"c"]
    assert (found.empty, found.of_rows) == (1, [b"a", b"b", None, b"c"])
    assert found.own is not None
    write_rows(tmp_path / "out.parquet", found.own, [0, 3], ["x", "y"])
    back = parquet.read_table(tmp_path / "out.parquet")
    assert back.column_names == ["id", "born", "mail", "label", "server_label"]
    assert back.column("born").to_pylist() == [datetime.date(1990, 1, 31), datetime.date(2000, 2, 29)]
    assert back.column("server_label").to_pylist() == ["x", "y"]
    write_rows(tmp_path / "out.csv", found.own, [1], None)
    assert (tmp_path / "out.csv").read_text() == "id,born,mail,label\n,,b,2\n"


def test_parquet_of_a_spreadsheet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    from pyarrow import parquet

    found = read_elements(written(tmp_path, SHEET), wanted=MAIL, keep=True)
    assert found.own is not None
    for rows in ([1, 4], []):
        out = tmp_path / f"{len(rows)}.parquet"
        write_rows(out, found.own, rows, ["x"] * len(rows))
        assert parquet.read_table(out).num_rows == len(rows)
    twice = read_elements(written(tmp_path, "x,x\na,b\n"), wanted=Wanted((1,)), keep=True)
    assert twice.own is not None
    with pytest.raises(ParameterError, match="two columns have one name"):
        write_rows(tmp_path / "out.parquet", twice.own, [0], None)


def test_what_is_no_parquet(tmp_path: Path) -> None:
    path = parquet_file(tmp_path, {"id": [1], "mail": ["secret"]})
    whole = path.read_bytes()
    with pytest.raises(FormatError, match=r'set.parquet has no column "E-mail" among its 2: name one, or give'):
        read_elements(path, wanted=MAIL)
    with pytest.raises(FormatError, match="has no column 3"):
        read_elements(path, wanted=Wanted((3,)))
    with pytest.raises(FormatError, match="no column is named element"):
        read_elements(path)
    for bad in (b"", whole[:-9], b"E-mail\na\n", whole[:4] + bytes(len(whole) - 12) + whole[-8:]):
        path.write_bytes(bad)
        with pytest.raises(FormatError, match="no Parquet file, or damaged"):
            read_elements(path, wanted=MAIL)


def test_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "set.parquet").write_bytes(b"PAR1")
    with pytest.raises(Error, match=r"pip install 'ringforge-he\[parquet\]', or convert the file to CSV"):
        read_elements(tmp_path / "set.parquet", wanted=MAIL)


# ---- tables and data frames -------------------------------------------------------------------------


def pandas_frame(columns: dict[str, list[Any]]) -> Any:
    return pytest.importorskip("pandas").DataFrame(columns)


def polars_frame(columns: dict[str, list[Any]]) -> Any:
    pytest.importorskip("pyarrow")
    return pytest.importorskip("polars").DataFrame(columns)


def arrow_table(columns: dict[str, list[Any]]) -> Any:
    return pytest.importorskip("pyarrow").table(columns)


@pytest.mark.parametrize("make", [pandas_frame, polars_frame, arrow_table])
def test_frames(make: Callable[[dict[str, list[Any]]], Any]) -> None:
    frame = make({"mail": ["A", None, "b", "B"], "n": [1.0, None, 3.0, 4.0]})
    found = frame_elements(frame, wanted=Wanted(("mail",)), normalise="lower", keep=True)
    assert found.elements == [b"a", b"b"]
    assert (found.together, found.empty) == (1, 1)
    assert frame_elements(frame, wanted=Wanted(("n",))).elements == [b"1", b"3", b"4"]
    assert found.own is not None
    rows = found.own.chosen(cells.row_numbers(found.of_rows, {b"b"}), "label", ["x", "y"])
    columns = (
        rows.to_dict(orient="list")
        if hasattr(rows, "iloc")
        else rows.to_pydict()
        if hasattr(rows, "to_pydict")
        else rows.to_dict(as_series=False)
    )
    assert columns == {"mail": ["b", "B"], "n": [3.0, 4.0], "label": ["x", "y"]}
    assert list(found.own.texts([2])) == [["b", "3"]]


def test_what_is_no_frame() -> None:
    with pytest.raises(ParameterError, match="list is no table of pyarrow"):
        frame_elements([1, 2])
