# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Tables as text: what was written is read again, whatever wrote it; what is odd is refused by line and column."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringforge import delimited, files
from ringforge.errors import FormatError, NamesWarning, ParameterError

Write = Callable[[bytes | str], Path]

BOM = b"\xef\xbb\xbf"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(content: bytes | str) -> Path:
        path = tmp_path / "t.csv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@st.composite
def numbers(draw: st.DrawFn) -> np.ndarray:
    rows, cols = draw(st.integers(1, 30)), draw(st.integers(1, 6))
    cell = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-5, 5).map(float)
    return np.array(draw(st.lists(cell, min_size=rows * cols, max_size=rows * cols))).reshape(rows, cols)


NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Nd"]), min_size=1, max_size=8).filter(
    lambda name: (
        not name.startswith("#")
        and name.strip()
        and name.strip("?*.- ")
        and name.strip().lower() not in {"nan", "inf", "infinity", "na", "n/a", "null", "none"}
    )
)


@settings(max_examples=150)
@given(
    data=st.data(), x=numbers(), separator=st.sampled_from(",;\t"), comma=st.booleans(), bom=st.booleans(),
    newline=st.sampled_from(["\n", "\r\n"]), quote=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)  # fmt: skip
def test_numbers_come_back(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, x: np.ndarray, separator: str, comma: bool,
    bom: bool, newline: str, quote: int,
) -> None:  # fmt: skip
    names = data.draw(st.none() | st.lists(NAMES, min_size=x.shape[1], max_size=x.shape[1], unique_by=str.strip))
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, lineterminator=newline, quoting=quote)  # type: ignore[arg-type]
    if names is not None:
        writer.writerow(names)
    # A lone column of decimal commas is two columns: nobody can tell.
    comma = comma and separator != "," and x.shape[1] > 1
    for row in x:
        writer.writerow([repr(float(v)).replace(".", ",") if comma else repr(float(v)) for v in row])
    path = tmp_path_factory.mktemp("t") / "t.csv"
    path.write_bytes(BOM * bom + out.getvalue().encode())
    np.testing.assert_array_equal(delimited.read_matrix(path), x)
    np.testing.assert_array_equal(files.load_vectors(path), x)


@settings(max_examples=150)
@given(data=st.data(), separator=st.sampled_from(",;\t"), bom=st.booleans())
def test_texts_come_back(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, separator: str, bom: bool
) -> None:
    width = data.draw(st.integers(2, 4))
    cell = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), max_size=12)
    rows = data.draw(st.lists(st.lists(cell, min_size=width, max_size=width), min_size=1, max_size=40))
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow([f"name {i}" for i in range(width)])
    writer.writerows(rows)
    path = tmp_path_factory.mktemp("t") / "t.csv"
    path.write_bytes(BOM * bom + out.getvalue().encode())
    read = list(delimited.read_columns(path, [f"Name {width - 1}", 1]))
    assert [cells for _, cells in read] == [(row[-1], row[0]) for row in rows]
    line = 2
    for row, (at, _) in zip(rows, read, strict=True):
        assert at == line
        line += 1 + "".join(row).count("\n")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b\n1,2\n3,4\n", [[1, 2], [3, 4]]),
        ("1;2,5\n3;4\n", [[1, 2.5], [3, 4]]),
        ("x;y\n1,5;2,25\n", [[1.5, 2.25]]),
        ("1\t2\n", [[1, 2]]),
        ("# a,b\n# more\n\n1,2\n", [[1, 2]]),
        ('"one, two",b\n1,2\n', [[1, 2]]),
        ('"one\ntwo",b\n1,2\n', [[1, 2]]),
        ("7", [[7]]),
        ("\n\n1\n\n2\n\n", [[1], [2]]),
        (" 1 , -2e-3 \r\n+3.,.5", [[1, -0.002], [3, 0.5]]),
        ('"1","2"\n', [[1, 2]]),
        ("1;2\n" * 30 + "3,5;4\n", [[1, 2]] * 30 + [[3.5, 4]]),
        ("1stFloor,2nd,x_1,%\n1,2,3,4\n", [[1, 2, 3, 4]]),
        ("größe,\n1,2\n", [[1, 2]]),
    ],
)
def test_forms_of_files(write: Write, text: str, expected: list[list[float]]) -> None:
    for start in (b"", BOM):
        got = delimited.read_matrix(write(start + text.encode()))
        np.testing.assert_array_equal(got, np.array(expected, dtype=float))


def test_a_header_alone_is_no_rows(write: Write) -> None:
    for content in ("a,b\n", "a;b;c\n\n"):
        table = delimited.read_table(write(content))
        assert table.rows.shape == (0, content.count(",") + content.count(";") + 1)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", ["is empty", "one row of numbers a line"]),
        (BOM, ["is empty"]),
        ("\n\n", ["is empty"]),
        ("1,2\n3\n", ["line 2, column 2", "is missing", "2 columns"]),
        ("p,q\n1,2\n3,4,5\n", ["line 3, column 3", "one too many", "quote cells that hold a comma"]),
        ("p,q\n1,2,3\n", ["line 2, column 3"]),
        ("p,q\n1,2\n3,nan\n", ["line 3", 'column 2 ("q")', "not a finite number"]),
        ("1,-inf\n", ["line 1, column 2", "not a finite number"]),
        ("1,2\n\n4,1e400\n", ["line 3, column 2", "beyond what a double holds"]),
        ("1,2\n4,\n", ["line 2, column 2", "is empty"]),
        ("p,q,p\n1,2,3\n", ["line 1, column 3", "column 1 has the same name"]),
        (",p\n1,2\n", ["line 1", "all columns but the first", "to_csv(index=False)"]),
        (",0,1\n0,1.5,2.5\n", ["line 1", "all columns but the first", "to_csv(index=False)"]),
        ('"","p"\n"1",2\n', ["line 1", "row.names=FALSE"]),
        ("0,1\n", ["line 1", "may be a header", "--no-header"]),
        ("0\n1\n2\n", ["line 1", "may be a header", "header=True or False"]),
        ("# x\n\n0\n1\n", ["line 3", "may be a header"]),
        ("1,two\n", ["line 1, column 2", "in a header no cell is a number"]),
        ("1,2\n3,0x10\n", ["line 2, column 2", "no number"]),
        ("1,2\n3,1_0\n", ["line 2, column 2", "no number"]),
        ("1,2\n3,\u0661\n", ["line 2, column 2", "no number"]),
        ('1,2\n"1,5",2\n', ["line 2, column 1", "decimal comma", "semicolons"]),
        ("1;2\n1.234,5;2\n", ["line 2, column 1", "between thousands"]),
        ("1,5;2\n1.234;2\n", ["line 2, column 1", "decimal point", "line 1, column 1"]),
        ("1 2 3\n", ["line 1, column 1", "separate columns by commas, semicolons or tabs"]),
        ('1,2\n"3,4\n', ["line 2", "does not close"]),
        ('1,2\n"3"4,5\n', ["line 2", "closing quote"]),
        ("1,2\n3,\0\n", ["line 2, column 2", "NUL"]),
        (b"1,2\n3,\xe94\n", ["line 2, column 2", "no UTF-8", "iconv"]),
        ("1,2\n".encode("utf-16"), ["line 1", "UTF-16"]),
        ("1,2\r3,4\r", ["line 1", "carriage return"]),
        ("9" * 100_000 + "\n", ["line 1, column 1", "beyond what a double holds"]),
        ('"' + "9" * 200_000 + '"\n', ["line 1", "longer than 131072"]),
    ],
)
def test_odd_files_are_refused(write: Write, content: bytes | str, words: list[str]) -> None:
    path = write(content)
    with pytest.raises(FormatError) as e:
        delimited.read_matrix(path)
    for word in ["t.csv", *words]:
        assert word in str(e.value)
    assert "two" not in str(e.value)
    assert "1234" not in str(e.value).replace("1234.5", "")


@pytest.mark.parametrize(
    "first",
    [
        "'1','2'", "?,?", '"1,234,567","2,345,678"', "0x10,0x11", "1_000,2_000", "\u22121,\u22122", "5%,6%", "$1,$2",
        "2020-01-01;2020-01-02", "1 000;2 000", "1.234.567;1.000.000", "5kg,6kg", "(1),(2)", "a,1_0",
    ],
)  # fmt: skip
def test_first_rows_that_cannot_be_read_are_no_headers(write: Write, first: str) -> None:
    """They are refused as further down, and not left out."""
    path = write(first + "\n1,2\n".replace(",", ";" if ";" in first else ","))
    with pytest.raises(FormatError, match=r"line 1, column [12]"):
        delimited.read_matrix(path)
    assert delimited.header(path) is None


# ---- headers of numbers ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "0,1\n0.5,2.5\n3.5,1.5\n",
        "0;1\n0,5;2,5\n3,5;1,5\n",
        "0\t1\r\n0.5\t2.5\r\n3.5\t1.5\r\n\r\n",
        '"0","1"\n"0.5","2.5"\n3.5,1.5\n',
        "# of pandas\n0,1\n0.5,2.5\n3.5,1.5",
    ],
)
def test_the_header_that_pandas_writes_for_an_array_is_one(write: Write, text: str) -> None:
    """The fault that was: it was read as a row."""
    for start in (b"", BOM):
        path = write(start + text.encode())
        with pytest.warns(NamesWarning, match="is read as a header.*--no-header"):
            got = delimited.read_table(path)
        np.testing.assert_array_equal(got.rows, [[0.5, 2.5], [3.5, 1.5]])
        assert got.names is None, "they say no more than the columns' places"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_array_equal(delimited.read_matrix(path, header=True), got.rows)
            said = delimited.read_matrix(path, header=False)
        np.testing.assert_array_equal(said, [[0, 1], *got.rows.tolist()])


@pytest.mark.parametrize("width", [1, 2, 5, 12])
@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_arrays_written_by_pandas_come_back(tmp_path: Path, width: int, suffix: str) -> None:
    pd = pytest.importorskip("pandas")
    x = np.random.default_rng(width).normal(size=(4, width))
    path = tmp_path / f"x{suffix}"
    pd.DataFrame(x).to_csv(path, index=False, sep="\t" if suffix == ".tsv" else ",")
    with pytest.warns(NamesWarning):
        np.testing.assert_array_equal(files.load_vectors(path), x)
    pd.DataFrame(x, columns=[f"x{i}" for i in range(width)]).to_csv(path, index=False, sep=";")
    got = files.load_table(path)
    np.testing.assert_array_equal(got.rows, x)
    assert got.names == tuple(f"x{i}" for i in range(width))
    pd.DataFrame(x).to_csv(path)
    with pytest.raises(FormatError, match="all columns but the first"):
        files.load_vectors(path)


def test_a_row_that_may_name_columns_is_said(write: Write) -> None:
    path = write("2019,2020\n0.5,0.25\n1.5,2.5\n")
    with pytest.warns(NamesWarning, match="line 1: is read as a row.*--header"):
        assert len(delimited.read_matrix(path)) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = delimited.read_table(path, header=True)
        assert (got.names, len(got)) == (("2019", "2020"), 2)
        for text in ("1,2\n3,4\n", "0,0\n0.5,1.5\n", "1,2\n3,0.5\n", "5\n0.5\n"):
            assert len(delimited.read_matrix(write(text))) == 2


def test_a_header_may_be_said(write: Write) -> None:
    path = write("id,2020\n1,2\n")
    with pytest.raises(FormatError, match="--header"):
        delimited.read_matrix(path)
    assert delimited.read_table(path, header=True).names == ("id", "2020")
    with pytest.raises(FormatError, match="line 1, column 1: is no number"):
        delimited.read_matrix(write("a,b\n1,2\n"), header=False)
    assert delimited.read_matrix(write("1,2\n"), header=True).shape == (0, 2)
    np.testing.assert_array_equal(delimited.read_matrix(write("0\n1\n"), header=False), [[0], [1]])


@pytest.mark.parametrize(
    "rows",
    [
        np.arange(6.0).reshape(2, 3), np.arange(3.0).reshape(3, 1), np.zeros((1, 1)), np.array([[0.0, 1.0]]),
        np.array([[2019.0, 2020.0], [0.5, 0.25]]), np.array([[3.0, 4.0], [5.0, 6.0]]), np.array([[1e300, -0.0]]),
    ],
)  # fmt: skip
def test_what_we_write_is_never_taken_for_a_header(tmp_path: Path, rows: np.ndarray) -> None:
    files.save_vectors(tmp_path / "x.csv", rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(files.load_vectors(tmp_path / "x.csv"), rows)


def test_long_lines_are_refused(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "MAX_LINE", 1000)
    with pytest.raises(FormatError, match="line 2: is longer than 1000 bytes"):
        delimited.read_matrix(write("1,2\n" + "3," * 600 + "\n"))
    with pytest.raises(FormatError, match="line 2: is longer than 10 bytes"):
        list(delimited.read_columns(write("a,b\n" + "3" * 20 + ",4\n"), ["a"], max_line=10))


def test_columns_of_a_stream() -> None:
    class Stream(io.RawIOBase):
        """Like a pipe: cannot go back."""

        def __init__(self, data: bytes) -> None:
            self._data = io.BytesIO(data)

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
            return self._data.readinto(memoryview(buffer)[:7])

    data = BOM + b"id;e-mail\n" + b"".join(b"%d;u%d@x\n" % (i, i) for i in range(100))
    got = list(delimited.read_columns(io.BufferedReader(Stream(data)), ["E-Mail "]))
    assert got == [(i + 2, (f"u{i}@x",)) for i in range(100)]


@pytest.mark.parametrize(
    ("text", "columns", "words"),
    [
        ("", ["a"], ["is empty"]),
        ("a,b\n1,2\n", ["c"], ["line 1", 'no column "c" among its 2', "commas"]),
        ("a;b\n1;2\n", [3], ["line 1", "no column 3", "1 to 2", "semicolons"]),
        ("a,b\n1,2\n", [0], ["no column 0"]),
        ("a,a\n1,2\n", ["a"], ["2 columns", "1, 2"]),
        ("A,a \n1,2\n", [" a"], ["2 columns"]),
        ("a,b\n1,2\n1\n", ["b"], ["line 3", 'column 2 ("b")', "is missing"]),
        ("a,secret\n1,2\n1\n", ["a"], ["line 3", "column 2: is missing"]),
        ("a,secret\n1,2\n1\n", [2], ["line 3", "column 2: is missing"]),
        ("a,b\n" + "1,2\n" * 50 + "1,2,3\n", ["a"], ["line 52, column 3", "one too many"]),
        ('a,b\n"1\n2",3\n"4,5\n', ["a"], ["line 4", "does not close"]),
    ],
)
def test_columns_that_are_not_there(write: Write, text: str, columns: list[str | int], words: list[str]) -> None:
    path = write(text)
    with pytest.raises(FormatError) as e:
        list(delimited.read_columns(path, columns))
    for word in ["t.csv", *words]:
        assert word in str(e.value)


def test_columns_without_a_header(write: Write) -> None:
    path = write("1,x\n2,y\n")
    assert list(delimited.read_columns(path, [2], has_header=False)) == [(1, ("x",)), (2, ("y",))]
    with pytest.raises(ParameterError, match="give numbers from 1"):
        list(delimited.read_columns(path, ["x"], has_header=False))
    with pytest.raises(ParameterError, match="no column is named"):
        list(delimited.read_columns(path, []))


def test_errors_wait_for_their_line(write: Write) -> None:
    rows = delimited.read_columns(write(b"a,b\n1,2\n3,\xff\n"), ["b"])
    assert next(rows) == (2, ("2",))
    with pytest.raises(FormatError, match="line 3, column 2: is no UTF-8"):
        next(rows)


def test_headers(write: Write) -> None:
    assert delimited.header(write("a; b ;c\n1;2;3\n")) == ("a", "b", "c")
    assert delimited.header(write('"a\nb",c\n')) == ("a\nb", "c")
    for text in ("", "1,2\n", "a,2\n", ",\n"):
        assert delimited.header(write(text)) is None


def test_many_numbers_are_read_by_the_fast_path(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("the slow path")

    monkeypatch.setattr(delimited, "_numbers", never)
    x = np.random.default_rng(1).normal(size=(5000, 20))
    lines = [[repr(float(v)) for v in row] for row in x]
    for separator, decimal in ((",", "."), (";", "."), (";", ","), ("\t", ",")):
        for first in ("", separator.join("abcdefghijklmnopqrst") + "\n"):
            text = "".join(separator.join(row).replace(".", decimal) + "\r\n" for row in lines)
            np.testing.assert_array_equal(delimited.read_matrix(write(BOM + (first + text).encode())), x)


def test_names_of_files(tmp_path: Path) -> None:
    for name, text in (("a.TSV", "1\t2\n"), ("a.CSV", "1,2\n"), ("b.csv", "1\t2\n")):
        (tmp_path / name).write_text(text)
        np.testing.assert_array_equal(files.load_vectors(tmp_path / name), [[1, 2]])
