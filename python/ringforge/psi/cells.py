# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Rows of people who work with data: CSV, Parquet, tables of pyarrow, data frames of pandas or polars.

A value has one text form, on both sides and in every format:

    text                as it is
    integer             decimal, 17
    float               as an integer if it is one (below 2^53): columns with gaps become floats; others are refused
    decimal             all its digits, 17.00
    true, false         true, false
    date                1990-01-31
    date and time       1990-01-31T12:30:00, with .500000 for parts of a second and +00:00 for a zone, if there are any
                        (of a column of one form `ringforge.psi.forms` makes one text of 1.0 and 1, of a day and its
                        midnight)
    UUID                in groups, lower case
    bytes               themselves
    NULL, NaN, NaT, an empty text    no value: the row is left out

pyarrow, pandas and polars are imported nowhere but where their files or objects come in.
"""

from __future__ import annotations

import csv
import datetime
import decimal
import importlib
import io
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TextIO

from ringforge import delimited
from ringforge.errors import Error, FormatError, ParameterError
from ringforge.files import writing
from ringforge.psi.forms import JOINT
from ringforge.psi.normalise import MAX_COLUMNS

PARQUET_SUFFIXES = frozenset({".parquet", ".pq"})

#: A line or row, an element (None: the row has none), and its label, if there are labels.
Record = tuple[int, str | int | bytes | None, bytes | None]

#: What names a column: its name, or its number from 1.
Column = str | int

_WHOLE = 1 << 53


class OwnRows(Protocol):
    """A client's own rows, which matches are written as."""

    @property
    def names(self) -> list[str]: ...

    def texts(self, rows: Sequence[int]) -> Iterator[list[str]]:
        """The cells of some rows, as texts."""
        ...

    def chosen(self, rows: Sequence[int], name: str | None, labels: list[str]) -> Any:
        """Some rows in the form in which they came; with `name` a column of labels is added."""
        ...


# ---- text forms ------------------------------------------------------------------------------------


class _NoTextError(Exception):
    """A value has no text form; the message says what to do."""


def text_of(value: Any) -> str | bytes | None:
    """The text form of a value; None for none."""
    if isinstance(value, str | bytes):
        return value or None
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if type(value).__name__ == "datetime64":  # of numpy, whose item() of nanoseconds is a number
        value = _moment(value)
    elif hasattr(value, "dtype") and hasattr(value, "item"):
        value = value.item()
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if value != value:
            return None
        if not value.is_integer() or abs(value) >= _WHOLE:
            raise _NoTextError(
                "a number with a fraction, or beyond 2^53, has no one text form: make the column text, integers or "
                "decimals"
            )
        return str(int(value))
    if isinstance(value, decimal.Decimal):
        return format(value, "f") if value.is_finite() else None
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        if getattr(value, "nanosecond", 0):
            raise _NoTextError("a time with nanoseconds: round the column to microseconds")
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    raise _NoTextError(
        f"a value of type {type(value).__name__} has no text form: name a column of text, integers, decimals, dates or "
        "times"
    )


def _moment(value: Any) -> Any:
    """A datetime64 of numpy as a date or time; None for no time."""
    if value != value:
        return None
    coarse = value.astype("datetime64[us]")
    if coarse != value:
        raise _NoTextError("a time with nanoseconds: round the column to microseconds")
    return (value if str(value.dtype) == "datetime64[D]" else coarse).item()


#: Whole numbers below these are exact in a column of short floats, by the type's name in pandas and in Arrow.
_SHORT_FLOATS = {"float32": 1 << 24, "float": 1 << 24, "float16": 1 << 11, "halffloat": 1 << 11}


def _exact(values: list[Any], dtype: Any) -> list[Any]:
    """The values of a column, if its type tells them from their neighbours."""
    limit = _SHORT_FLOATS.get(str(dtype).lower().removesuffix("[pyarrow]"))
    if limit and any(isinstance(v, float) and abs(v) >= limit for v in values):
        raise _NoTextError(
            f"a column of {dtype}, which does not tell whole numbers from {limit:,} on from their neighbours: read it "
            "as integers or text"
        )
    return values


def _cell_text(value: Any) -> str:
    """Any value, for a column that is only copied into CSV."""
    try:
        text = text_of(value)
    except _NoTextError:
        return str(value)
    return text.decode(errors="backslashreplace") if isinstance(text, bytes) else text or ""


# ---- rows of text: CSV ------------------------------------------------------------------------------


@dataclass
class TextRows:
    """Rows of a CSV file, kept while they are read."""

    names: list[str]
    separator: str = ","
    header: bool = True
    rows: list[tuple[str, ...]] = field(default_factory=list, repr=False)

    def texts(self, rows: Sequence[int]) -> Iterator[list[str]]:
        return (list(self.rows[i]) for i in rows)

    def chosen(self, rows: Sequence[int], name: str | None, labels: list[str]) -> list[dict[str, str]]:
        extra = labels if name else [""] * len(rows)
        names = [*self.names, *([name] if name else [])]
        return [dict(zip(names, [*self.rows[i], label], strict=False)) for i, label in zip(rows, extra, strict=True)]


@dataclass(frozen=True)
class Wanted:
    """Which columns of a table hold what.

    Args:
        columns: of the elements; several are joined. None: `element`.
        label: the column of labels. None: `label` if `columns` is None and there is such a column.
        header: the first line names the columns (CSV).
        labels: whether labels are of use at all.
    """

    columns: tuple[Column, ...] = ()
    label: Column | None = None
    header: bool = True
    labels: bool = True

    def __post_init__(self) -> None:
        if len(self.columns) > MAX_COLUMNS:
            raise ParameterError(f"{len(self.columns)} columns: an element joins {MAX_COLUMNS} at most")
        if self.label is not None and not self.columns:
            raise ParameterError("a column of labels needs a column of elements: name it too (--column)")
        if not self.header and not self.columns:
            raise ParameterError("a file without a header has columns by number: say which (--column 1)")

    def places(self, name: str, names: Sequence[str] | None, place: Callable[[Column], int]) -> tuple[list[int], int]:
        """Indices of the columns, and of the labels' (-1: none).

        Raises:
            FormatError: there is no such column, or several of that name.
        """
        if self.columns:
            found = [place(c) for c in self.columns]
            label = -1 if self.label is None or not self.labels else place(self.label)
        else:
            known = [n.strip().lower() for n in names or ()]
            if known.count("element") != 1:
                raise FormatError(
                    f"{name}: no column is named element, so say which one has the elements: --column NAME, or its "
                    "number (column= in Python); elements that are whole lines belong into a file named .txt"
                )
            found = [known.index("element")]
            label = known.index("label") if self.labels and known.count("label") == 1 else -1
        if len(set(found)) != len(found) or label in found:
            raise FormatError(f"{name}: one column is named twice: name each once")
        return found, label


def placed(names: Sequence[str], by_name: Callable[[str], int], by_number: Callable[[int], int]) -> Callable[..., int]:
    """Finds a column by its name, or, if no name is like that, by its number from 1."""

    def place(column: Column) -> int:
        if isinstance(column, str) and _is_number(column) and column not in names:
            return by_number(int(column))
        return by_name(column) if isinstance(column, str) else by_number(column)

    return place


def other_name(name: str, names: Sequence[str], column: int) -> None:
    """Refuses the number of one column that is the name of another.

    Raises:
        FormatError: it is.
    """
    if str(column) in names and names.index(str(column)) != column - 1 and 1 <= column <= len(names):
        raise FormatError(
            f"{name}: column {column} is number {column}, and number {names.index(str(column)) + 1} has that name: "
            f'say the name as a text (column="{column}" in Python), or rename it'
        )


def _is_number(column: str) -> bool:
    return column.isascii() and column.isdigit()


def csv_records(
    file: BinaryIO, name: str, wanted: Wanted, max_line: int, keep: bool
) -> tuple[Iterator[Record], TextRows | None, int]:
    """Records of a CSV file; its rows, which fill while records are read, if they are to be kept; and the width of a
    header that nobody named a column of (0: there is none).

    Raises:
        FormatError: digits name one column of the header and are the number of another.
    """
    rows = delimited.read_rows(file, has_header=wanted.header, name=name, max_line=max_line)
    names = [n.strip() for n in rows.names] if rows.names is not None else []
    by_either = placed(names, rows.place, rows.place)

    def place(column: Column) -> int:
        at = by_either(column)
        if isinstance(column, int) or _is_number(column):
            number, named = int(column), names.index(str(column)) if str(column) in names else -1
            if named >= 0 and named + 1 != number and 1 <= number <= rows.width:
                raise FormatError(
                    f"{name}: column {number} is number {number}, and in the first line number {named + 1} has that "
                    f"name: say {named + 1} for this one, its name for the other, and --no-header if the first line is "
                    "a row already"
                )
        return at

    found, label = wanted.places(name, names, place)
    named = any(isinstance(c, str) and (c in names or not _is_number(c)) for c in (*wanted.columns, wanted.label))
    unnamed = len(names) if wanted.columns and not named else 0
    own = None
    if keep:
        own = TextRows(names or [f"column {i + 1}" for i in range(rows.width)], rows.separator, wanted.header)

    def records() -> Iterator[Record]:
        at = found[0]
        for line, cells in rows:
            if own is not None:
                own.rows.append(tuple(cells))  # tuples of texts cost the garbage collector nothing
            if len(found) == 1:
                element: str | None = cells[at] or None
            else:
                element = joined([cells[i] for i in found], name, line)
            yield line, element, cells[label].encode() if label >= 0 else None

    return records(), own, unnamed


def joined(texts: Sequence[str | bytes | None], name: str, line: int) -> str | None:
    """The element of several columns; None if one of them is empty."""
    parts = [t.decode(errors="strict") if isinstance(t, bytes) else t for t in texts]
    whole = [p for p in parts if p]
    if len(whole) != len(parts):
        return None
    if any(JOINT in p for p in whole):
        raise FormatError(
            f"{name}, line {line}: holds the character U+001F, which separates joined columns: take it out"
        )
    return JOINT.join(whole)


# ---- rows with types: Parquet, pyarrow, data frames -------------------------------------------------


class ArrowRows:
    """A table of pyarrow."""

    def __init__(self, table: Any) -> None:
        self.table = table

    @property
    def names(self) -> list[str]:
        return [str(n) for n in self.table.column_names]

    def values(self, index: int) -> list[Any]:
        column = self.table.column(index)
        try:
            return _exact(list(column.to_pylist()), column.type)
        except ValueError:  # of pyarrow without pandas, for nanoseconds
            raise _NoTextError("a time with nanoseconds: round the column to microseconds") from None

    def texts(self, rows: Sequence[int]) -> Iterator[list[str]]:
        some = self._take(rows)
        columns = [[_cell_text(v) for v in some.column(i).to_pylist()] for i in range(some.num_columns)]
        return (list(row) for row in zip(*columns, strict=True))

    def chosen(self, rows: Sequence[int], name: str | None, labels: list[str]) -> Any:
        pa, some = pyarrow(), self._take(rows)
        if name is None:
            return some
        if not hasattr(some, "append_column"):  # a record batch of older releases
            some = pa.Table.from_batches([some])
        return some.append_column(name, pa.array(labels, pa.string()))

    def _take(self, rows: Sequence[int]) -> Any:
        pa = pyarrow()
        return self.table.take(pa.array(rows, pa.int64()))


class PolarsRows:
    """A data frame of polars, which rows are given back as."""

    def __init__(self, given: Any) -> None:
        self.given = given

    @property
    def names(self) -> list[str]:
        return [str(n) for n in self.given.columns]

    def values(self, index: int) -> list[Any]:
        series = self.given.to_series(index)
        if series.dtype.is_integer() or str(series.dtype) == "String":
            return list(series.to_list())
        if str(series.dtype).startswith("Object"):
            raise _NoTextError("a column of Python objects: make it text or integers")
        pyarrow()
        return ArrowRows(series.to_frame().to_arrow()).values(0)  # which keeps nanoseconds, and decimals

    def texts(self, rows: Sequence[int]) -> Iterator[list[str]]:
        columns = [self.given.to_series(i).to_list() for i in range(len(self.names))]
        return ([_cell_text(c[i]) for c in columns] for i in rows)

    def chosen(self, rows: Sequence[int], name: str | None, labels: list[str]) -> Any:
        pl: Any = importlib.import_module("polars")
        some = self.given[pl.Series(list(rows), dtype=pl.Int64), :]
        return some if name is None else some.with_columns(pl.Series(name, labels, dtype=pl.String))


class FrameRows:
    """A data frame of pandas, or what behaves like one."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    @property
    def keys(self) -> list[Any]:
        """Names as they are: integers, where the columns have those."""
        return list(self.frame.columns)

    @property
    def names(self) -> list[str]:
        return [str(n) for n in self.frame.columns]

    def values(self, index: int) -> list[Any]:
        column = self.frame.iloc[:, index]
        return _exact(list(column.tolist()), column.dtype)

    def texts(self, rows: Sequence[int]) -> Iterator[list[str]]:
        columns = [self.frame.iloc[:, i].tolist() for i in range(len(self.names))]
        return ([_cell_text(c[i]) for c in columns] for i in rows)

    def chosen(self, rows: Sequence[int], name: str | None, labels: list[str]) -> Any:
        some = self.frame.iloc[list(rows)]
        return some if name is None else some.assign(**{name: labels})


def frame(data: Any) -> ArrowRows | PolarsRows | FrameRows | None:
    """A table or data frame, by what it can do; None for anything else."""
    if hasattr(data, "column_names") and hasattr(data, "num_rows") and hasattr(data, "take"):
        return ArrowRows(data)
    if hasattr(data, "columns") and hasattr(data, "iloc") and hasattr(data, "assign"):
        return FrameRows(data)
    if hasattr(data, "to_arrow") and hasattr(data, "with_columns"):
        return PolarsRows(data)
    return None


def frame_records(data: ArrowRows | PolarsRows | FrameRows, name: str, wanted: Wanted) -> Iterator[Record]:
    """Records of a table; rows are counted from 1."""
    names = data.names

    def by_name(column: str) -> int:
        for found in (
            [i for i, n in enumerate(names) if n == column],
            [i for i, n in enumerate(names) if n.strip().casefold() == column.strip().casefold()],
        ):
            if len(found) == 1:
                return found[0]
            if found:
                numbers = ", ".join(str(i + 1) for i in found)
                raise FormatError(f'{name} has {len(found)} columns "{column}": give its number, one of {numbers}')
        raise FormatError(
            f'{name} has no column "{column}" among its {len(names)}: name one, or give its number from 1'
        )

    keys = getattr(data, "keys", names)
    numbered = any(isinstance(key, Integral) for key in keys)

    def by_number(column: int) -> int:
        if numbered:
            found = [i for i, key in enumerate(keys) if isinstance(key, Integral) and key == column]
            if len(found) != 1:
                raise FormatError(
                    f"{name} has {len(found) or 'no'} columns named {column}; some of its names are numbers, so a "
                    "number is a name here: give one that is there once"
                )
            return found[0]
        if not 1 <= column <= len(names):
            raise FormatError(f"{name} has no column {column}: columns have the numbers 1 to {len(names)}")
        other_name(name, names, column)
        return column - 1

    found, label = wanted.places(name, names, placed(names, by_name, by_number))
    columns = [_texts(data, name, i) for i in found]
    labels = _texts(data, name, label) if label >= 0 else None
    for number, parts in enumerate(zip(*columns, strict=True), 1):
        element = parts[0] if len(parts) == 1 else joined(parts, name, number)
        text = None if labels is None else labels[number - 1] or b""
        yield number, element, text.encode() if isinstance(text, str) else text


def _texts(data: ArrowRows | PolarsRows | FrameRows, name: str, index: int) -> list[str | bytes | None]:
    out: list[str | bytes | None] = []
    try:
        values = data.values(index)
        for value in values:
            out.append(value if type(value) is str and value else text_of(value))
    except _NoTextError as e:
        column = f'column {index + 1} ("{data.names[index][:40]}")'
        raise FormatError(f"{name}, row {len(out) + 1}, {column}: {e}") from None
    return out


def read_parquet(path: Path, wanted: Wanted, keep: bool) -> ArrowRows:
    """The columns of a Parquet file that are wanted, or all.

    Raises:
        FormatError: no Parquet, or damaged. Error: pyarrow is not installed. OSError: it cannot be read.
    """
    pa = pyarrow()
    from pyarrow import parquet

    with path.open("rb") as f:
        try:
            file = parquet.ParquetFile(f)
            names = file.schema_arrow.names
            some: list[str] | None = None
            asked = [*wanted.columns, *([] if wanted.label is None else [wanted.label])]
            if not keep and asked and len(set(names)) == len(names) and all(c in names for c in asked):
                some = [str(c) for c in dict.fromkeys(asked)]
            table = file.read(columns=some)
        except (pa.ArrowException, OSError, ValueError) as e:
            if isinstance(e, OSError) and e.errno is not None:
                raise
            said = (str(e).splitlines() or [type(e).__name__])[0][:200]
            raise FormatError(f"{path.name}: no Parquet file, or damaged ({said}): write it again") from None
    return ArrowRows(table if some is None else table.select(some))


def pyarrow() -> Any:
    """The module.

    Raises:
        Error: it is not installed.
    """
    try:
        import pyarrow as found
    except ImportError:
        raise Error(
            "Parquet needs the package pyarrow: pip install 'ringforge-he[parquet]', or convert the file to CSV"
        ) from None
    return found


# ---- matches as rows --------------------------------------------------------------------------------


def label_name(names: Sequence[str]) -> str:
    """A name for the column of labels that no other column has."""
    taken, name, number = {n.casefold() for n in names}, "label", 1
    while name in taken:
        name, number = ("server_label" if number == 1 else f"server_label_{number}"), number + 1
    return name


def write_rows(
    path: Path, own: OwnRows, rows: Sequence[int], labels: list[str] | None, *, private: bool = False
) -> None:
    """Writes some of a client's own rows, with their labels in a last column, if there are any.

    Args:
        path: .csv, .tsv (comma, or the separator of the file that was read; tab) or .parquet.
        private: only its owner can read the file.

    Raises:
        ParameterError: two columns have one name, in Parquet. Error: pyarrow is missing. OSError: not written.
    """
    name = label_name(own.names) if labels is not None else None
    if path.suffix.lower() in PARQUET_SUFFIXES:
        _write_parquet(path, own, rows, name, labels or [], private)
        return
    separator = "\t" if path.suffix.lower() == ".tsv" else getattr(own, "separator", ",")
    header = getattr(own, "header", True)
    with writing(path, private=private) as f, io.TextIOWrapper(f, encoding="utf-8", newline="") as text:
        out = _Writer(text, separator)
        if header:
            out.write([*own.names, *([name] if name else [])])
        for i, cells in enumerate(own.texts(rows)):
            out.write([*cells, labels[i]] if labels is not None else cells)


class _Writer:
    """Rows of text. Those with a carriage return are quoted: `csv` leaves it as it is, and programs take it for the end
    of a row, so that a server's label could add rows."""

    def __init__(self, text: TextIO, separator: str) -> None:
        self._plain = csv.writer(text, delimiter=separator, lineterminator="\n")
        self._quoted = csv.writer(text, delimiter=separator, lineterminator="\n", quoting=csv.QUOTE_ALL)

    def write(self, cells: Sequence[str]) -> None:
        """Writes one row."""
        (self._quoted if any("\r" in cell for cell in cells) else self._plain).writerow(cells)


def _write_parquet(
    path: Path, own: OwnRows, rows: Sequence[int], name: str | None, labels: list[str], private: bool
) -> None:
    pa = pyarrow()
    from pyarrow import parquet

    names = [*own.names, *([name] if name else [])]
    if len(set(names)) != len(names):
        raise ParameterError("two columns have one name, which Parquet does not allow: write .csv, or rename one")
    if isinstance(own, ArrowRows):
        table = own.chosen(rows, name, labels)
    else:
        columns = [list(c) for c in zip(*own.texts(rows), strict=True)] or [[] for _ in own.names]
        table = pa.table(
            dict(zip(names, [pa.array(c, pa.string()) for c in [*columns, *([labels] if name else [])]], strict=True))
        )
    with writing(path, private=private) as f:
        parquet.write_table(table, f)


def row_numbers(elements: Sequence[Any], chosen: Mapping[Any, Any] | set[Any] | frozenset[Any]) -> list[int]:
    """Rows whose element is one of the chosen."""
    return [i for i, e in enumerate(elements) if e is not None and e in chosen]
