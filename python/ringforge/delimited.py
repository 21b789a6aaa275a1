# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Tables as text: CSV and TSV, with commas, semicolons or tabs, byte-order mark, header, decimal comma.

Every error names file, line, column and remedy, and no content: what stands in a cell may be secret.
"""

from __future__ import annotations

import csv
import io
import math
import re
import warnings
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from ringforge.errors import FormatError, NamesWarning, ParameterError
from ringforge.frames import Named

#: Suffixes of files that are read here.
SUFFIXES = frozenset({".csv", ".tsv"})

#: Longest line, in bytes: a file without line ends must not fill the memory.
MAX_LINE = 1 << 26

#: In the order in which they are tried: what stands further down may be part of a number or of a text.
_SEPARATORS = {"\t": "tab", ";": "semicolon", ",": "comma"}

#: Lines by which the separator is found.
_SAMPLE = 20

_BOM = b"\xef\xbb\xbf"
_WHOLE = re.compile(r"[+-]?[0-9]+\Z")
_POINT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")
_COMMA = re.compile(r"[+-]?(?:[0-9]+,[0-9]*|,[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")
_THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(?:(?:,[0-9]{3})+(?:\.[0-9]*)?|(?:\.[0-9]{3})+(?:,[0-9]*)?)\Z")
_FIGURES = re.compile(r"(?=.*\d)(?:[\W\d_])+\Z", re.DOTALL)  # digits and signs, no letter
_DIGIT_FIRST = re.compile(r"[^\w]*\d")
_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity|na|n/a|null|none|[?*.-]+)\Z", re.IGNORECASE)

_Row = tuple[int, list[str]]


def read_matrix(path: str | Path, *, header: bool | None = None) -> npt.NDArray[np.float64]:
    """Return the numbers of a file, (rows, columns); arguments and errors as of `read_table`."""
    return read_table(path, header=header).rows


def read_table(path: str | Path, *, header: bool | None = None) -> Named:
    """Return the numbers of a file, (rows, columns), with the names in its header.

    The separator is found by the first lines. Lines before the numbers that begin with # are left out, and empty lines.
    Numbers have a decimal point, or, where semicolons or tabs separate, a decimal comma in the whole file; signs
    between thousands are not read, and 1,234 or 1.234 is a number below two.

    Args:
        header: whether the first line names the columns. None: it does where no cell has digits without letters or
            stands for a missing number (?, NA), and not all begin with a digit; and where its cells are 0, 1, 2, ... in
            this order, as pandas numbers columns, which a NamesWarning says. Such numbers are no names in the result.

    Raises:
        FormatError: no UTF-8, no numbers, rows of several lengths, a cell that is empty, no number, not finite or
        beyond doubles; columns of one name, a first column without one (an index), a first line that may be a header as
        well as a row. The message has line, column and remedy, not the cell. OSError: it cannot be read.
    """
    path = Path(path)
    with path.open("rb") as f:
        table = _Table.look(f, path.name, numbers=True, header=header)
    table.check_names()
    rows = _fast(path, table) if table.plain else None
    if rows is None:
        with path.open("rb") as f:
            rows = _numbers(table, f)
    if table.said:
        warnings.warn(table.said, NamesWarning, stacklevel=2)
    named = table.names is not None and not _counted(table.names)
    return Named(table.names if named else None, rows)


def read_columns(
    source: str | Path | BinaryIO,
    columns: Sequence[str | int],
    *,
    has_header: bool = True,
    name: str | None = None,
    max_line: int = 1 << 20,
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The named columns of a file, row by row; the file is never held as a whole.

    Args:
        source: a file's name, or an open binary file, which need not be seekable and is left open.
        columns: names of the first line (as they stand there, or without regard to case and spaces around them if that
            fits one only), or numbers from 1.
        has_header: the first line names the columns; it is no row then.
        name: of an open file, in messages.
        max_line: longest line in bytes.

    Yields:
        The row's line (its first, from 1), and its cells in the order of `columns`, as they stand in the file. Rows of
        nothing are left out.

    Raises:
        ParameterError: names without a header, or no columns. FormatError: there is no such column, or more of one
        name; a row is shorter or longer than the first; no UTF-8; quotes that do not close; a line above `max_line`.
        OSError: it cannot be read.
    """
    if not columns:
        raise ParameterError("no column is named: name one, or give its number from 1")
    if not has_header and any(isinstance(c, str) for c in columns):
        raise ParameterError("columns have names only in files with a header: give numbers from 1")
    if isinstance(source, str | Path):
        with Path(source).open("rb") as f:
            yield from _columns(f, columns, has_header, Path(source).name, max_line)
    else:
        yield from _columns(source, columns, has_header, name or "the file", max_line)


def read_rows(file: BinaryIO, *, has_header: bool = True, name: str | None = None, max_line: int = 1 << 20) -> Rows:
    """All cells of an open binary file, row by row; arguments and errors as of `read_columns`."""
    return Rows(file, has_header, name or "the file", max_line)


def header(path: str | Path) -> tuple[str, ...] | None:
    """The names in a file's first line, without spaces around them; None where a cell is a number, or all
    are empty or else as no header of `read_matrix` has them, or the file is empty.

    Raises:
        FormatError, OSError: as of `read_columns`.
    """
    with Path(path).open("rb") as f:
        table = _Table.look(f, Path(path).name)
    return table.names


# ---- what a table looks like -----------------------------------------------------------------------


@dataclass(frozen=True)
class _Table:
    """What the first lines of a file say of all.

    name: in messages. separator: a character. skip: lines before the first row, header and comments. names: of the
    columns, without a header None. plain: numpy reads it as we do, unless it finds an error. decimal_comma: in the
    first rows some number has one. said: a guess about the first line that the user is told.
    """

    name: str
    separator: str
    skip: int
    names: tuple[str, ...] | None
    plain: bool
    decimal_comma: bool
    said: str = ""

    @classmethod
    def look(cls, f: BinaryIO, name: str, *, numbers: bool = False, header: bool | None = None) -> _Table:
        lines = list(islice(_lines(f, name, MAX_LINE), 1000 if numbers else _SAMPLE))
        return cls.of(lines, name, numbers=numbers, header=header)

    @classmethod
    def of(cls, lines: list[str], name: str, *, numbers: bool = False, header: bool | None = None) -> _Table:
        """Looks at first lines; `numbers`: they begin with comments and hold numbers alone."""
        skip, said = 0, ""
        while numbers and skip < len(lines) and (lines[skip].startswith("#") or not lines[skip].strip()):
            skip += 1
        sample = [line for line in lines[skip : skip + _SAMPLE] if line.strip()]
        separator = _separator(sample)
        rows = list(_parsed(sample, separator))
        names = None
        if rows and header is None and numbers:
            header, said = _guess([[c.strip() for c in row] for row in rows], name, skip)
        if rows and (_is_header(rows[0]) if header is None else header):
            names = tuple(cell.strip() for cell in rows[0])
            # A header may go over several lines: those that its quotes hold together.
            reader = csv.reader(iter(lines[skip:]), delimiter=separator)
            while not any(next(reader)):
                pass
            skip += reader.line_num
            rows = rows[1:]
        decimal_comma = separator != "," and any(_COMMA.match(c.strip()) for row in rows for c in row)
        plain = not any('"' in line for line in sample)
        return cls(name, separator, skip, names, plain, decimal_comma, said)

    def check_names(self) -> None:
        """Refuses a header that names a column twice, or not the first, which is an index then."""
        names = self.names or ()
        if names and not names[0] and any(names):
            raise self.error(
                self.skip,
                None,
                "names all columns but the first, which pandas and R write so when it is an index: write the file "
                "without it (to_csv(index=False), row.names=FALSE), or give it a name",
            )
        for i, one in enumerate(names):
            first = names.index(one)
            if one and first < i:
                raise self.error(self.skip, i + 1, f"column {first + 1} has the same name: name each column once")

    def column(self, number: int) -> str:
        """A column in words; number from 1."""
        named = self.names is not None and number <= len(self.names) and self.names[number - 1]
        return f'column {number} ("{self.names[number - 1][:40]}")' if named and self.names else f"column {number}"

    def error(self, line: int, column: int | None, what: str) -> FormatError:
        place = "" if column is None else f", {self.column(column)}"
        return FormatError(f"{self.name}, line {line}{place}: {what}")

    def check_width(self, line: int, cells: list[str], width: int) -> None:
        """Refuses a row of another length than the first."""
        if len(cells) == width:
            return
        which = _SEPARATORS[self.separator]
        if len(cells) < width:
            what = f"is missing; rows above have {width} columns: give every row as many, {which}s between them"
            raise self.error(line, len(cells) + 1, what)
        what = f"is one too many; rows above have {width} columns: give every row as many, and quote cells that hold a"
        raise self.error(line, width + 1, f"{what} {which}")


def _separator(sample: list[str]) -> str:
    """The separator by which all sampled rows have the same number of cells, more than one; or that of the first."""
    split = {s: [len(row) for row in _parsed(sample, s)] for s in _SEPARATORS}
    for s, widths in split.items():
        if widths and widths[0] > 1 and len(set(widths)) == 1:
            return s
    return next((s for s, widths in split.items() if widths and widths[0] > 1), ",")


def _parsed(lines: list[str], separator: str) -> Iterator[list[str]]:
    """Rows of a sample, whose last may be cut within quotes."""
    reader = csv.reader(iter(lines), delimiter=separator)
    try:
        rows = [row for row in reader if row]
    except csv.Error:
        return
    # A quote that is open at the end of the sample swallows what separates the cells.
    yield from rows[:-1] if len(rows) > 1 and "\n" in rows[-1][-1] else rows


def _counted(cells: Sequence[str]) -> bool:
    """Whether cells are 0, 1, 2, ...: the names that pandas gives to columns without any."""
    return list(cells) == [str(i) for i in range(len(cells))]


def _guess(rows: list[list[str]], name: str, skip: int) -> tuple[bool, str]:
    """Whether the first of some rows is a header, and what is said of the guess; nothing where there is no doubt.

    Raises:
        FormatError: nobody can tell.
    """
    first, later, line = rows[0], [c for row in rows[1:] for c in row], f"{name}, line {skip + 1}:"
    if _is_header(first):
        return True, ""
    if _counted(first) or (not first[0] and len(first) > 1 and _counted(first[1:])):
        if not later or (len(first) == 1 and all(map(_WHOLE.match, later))):
            raise FormatError(
                f"{line} may be a header, as pandas numbers columns, or a row: say which, --header "
                "or --no-header (header=True or False in Python)"
            )
        return True, (
            f"{line} is read as a header, for it numbers the columns as pandas does; if it is a row, say --no-header "
            "(header=False in Python)"
        )
    alone = len(first) > 1 and len(set(first)) == len(first) and all(map(_WHOLE.match, first))
    if alone and later and not any(map(_WHOLE.match, later)):
        return False, (
            f"{line} is read as a row, though all others have decimals and it has none; if it names the columns, say "
            "--header (header=True in Python)"
        )
    return False, ""


def _is_header(cells: list[str]) -> bool:
    """Not all cells are empty or begin as numbers do, and none has digits without letters or stands for nothing."""
    texts = [t for t in (c.strip() for c in cells) if t]
    if len(texts) == 1 and any(map(_POINT.match, texts[0].split())):
        return False  # numbers with spaces between them
    if any(_POINT.match(t) or _NOT_FINITE.match(t) or _FIGURES.match(t) for t in texts):
        return False
    # 1st, 2nd among other names are names; a row of 5kg, 0x10 is data that cannot be read, and no header to drop.
    return not all(map(_DIGIT_FIRST.match, texts))


# ---- lines and rows --------------------------------------------------------------------------------


def _lines(f: BinaryIO, name: str, max_line: int) -> Iterator[str]:
    """Lines of text with their ends.

    Raises:
        FormatError: a line is too long, no UTF-8, or holds NUL.
    """
    number = 0
    while raw := f.readline(max_line + 1):
        number += 1
        if number == 1:
            if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
                raise FormatError(f"{name}, line 1: is UTF-16: save it as UTF-8, for instance with iconv -t utf-8")
            raw = raw.removeprefix(_BOM)
        if len(raw) > max_line:
            raise FormatError(f"{name}, line {number}: is longer than {max_line} bytes: write one row a line")
        if b"\0" in raw:
            column = _column(raw[: raw.index(b"\0")])
            raise FormatError(
                f"{name}, line {number}, column {column}: holds a NUL byte, as text never does: name a text file, "
                "saved as UTF-8"
            )
        try:
            text = raw.decode()
        except UnicodeDecodeError as e:
            raise FormatError(
                f"{name}, line {number}, column {_column(raw[: e.start])}: is no UTF-8: convert the file, for instance "
                "with iconv -f latin1 -t utf-8"
            ) from None
        end = "\n" if text.endswith("\n") else ""
        inner = text.removesuffix("\n").removesuffix("\r")
        if "\r" in inner and '"' not in inner:
            raise FormatError(
                f"{name}, line {number}: holds a carriage return without a line feed: save the file with line ends LF "
                "or CR LF"
            )
        yield inner + end


def _column(before: bytes) -> int:
    """The number of the column in which a line goes on after these bytes."""
    return max(before.count(s.encode()) for s in _SEPARATORS) + 1


def _rows(lines: Iterator[str], table: _Table, *, skip: int, numbers: bool) -> Iterator[_Row]:
    """Rows with the lines that they begin at, without empty ones."""
    for _ in islice(lines, skip):
        pass
    reader = csv.reader(lines, delimiter=table.separator, strict=True, skipinitialspace=numbers)
    line = skip
    try:
        for cells in reader:
            if cells and not (numbers and len(cells) == 1 and not cells[0].strip()):
                yield line + 1, cells
            line = skip + reader.line_num
    except csv.Error as e:
        if "field limit" in str(e):
            remedy = f"a cell is longer than {csv.field_size_limit()} characters: look for a quote that does not close"
        elif "unexpected end" in str(e):
            remedy = "a quote opens in this row and does not close: close it, or double it where it belongs to the text"
        else:
            remedy = 'something follows a closing quote: write a quote within a quoted cell twice, as "a ""b"" c"'
        raise FormatError(f"{table.name}, line {line + 1}: {remedy}") from None


# ---- numbers ---------------------------------------------------------------------------------------


def _fast(path: Path, table: _Table) -> npt.NDArray[np.float64] | None:
    """The numbers as numpy reads them, or None where it finds anything out of the ordinary."""
    with path.open("rb") as f:
        try:
            source: io.TextIOBase | Iterator[str]
            if table.decimal_comma:
                source = map(_pointed, islice(_lines(f, table.name, MAX_LINE), table.skip, None))
            else:
                text = io.TextIOWrapper(f, encoding="utf-8-sig")
                for _ in range(table.skip):
                    text.readline(MAX_LINE)
                source = text
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # no rows: that is refused elsewhere
                rows = np.loadtxt(source, delimiter=table.separator, comments=None, ndmin=2)
        except (ValueError, FormatError):
            return None
    whole = rows.size > 0 and np.isfinite(rows).all() and (table.names is None or rows.shape[1] == len(table.names))
    return rows if whole else None


def _pointed(line: str) -> str:
    if "." in line:
        raise ValueError("both decimal signs")
    return line.replace(",", ".")


def _numbers(table: _Table, f: BinaryIO) -> npt.NDArray[np.float64]:
    """The numbers cell by cell; says what is wrong where numpy only says that something is."""
    out = array("d")
    width = None if table.names is None else len(table.names)
    signs = _Signs(table)
    for line, cells in _rows(_lines(f, table.name, MAX_LINE), table, skip=table.skip, numbers=True):
        if width is None:
            width = len(cells)
        table.check_width(line, cells, width)
        out.extend(signs.number(line, i + 1, cell.strip()) for i, cell in enumerate(cells))
    if width is None:
        raise FormatError(f"{table.name} is empty: write one row of numbers a line")
    return np.frombuffer(out, dtype=np.float64).reshape(-1, width).copy()


class _Signs:
    """Reads cells as numbers, of which all have the same decimal sign."""

    def __init__(self, table: _Table) -> None:
        self._table = table
        self._first: dict[str, tuple[int, int]] = {}

    def number(self, line: int, column: int, cell: str) -> float:
        if _POINT.match(cell):
            if "." in cell:
                self._sign(".", line, column)
            value = float(cell)
        elif self._table.separator != "," and _COMMA.match(cell):
            self._sign(",", line, column)
            value = float(cell.replace(",", "."))
        else:
            raise self._table.error(line, column, self._refusal(cell))
        if not math.isfinite(value):
            raise self._table.error(line, column, "is beyond what a double holds (1.8e308): scale the numbers")
        return value

    def _sign(self, sign: str, line: int, column: int) -> None:
        self._first.setdefault(sign, (line, column))
        if len(self._first) == 2:
            other = next(at for s, at in self._first.items() if s != sign)
            raise self._table.error(
                line,
                column,
                f"has a decimal {'point' if sign == '.' else 'comma'}, line {other[0]}, {self._table.column(other[1])} "
                "the other sign: write one of them throughout, and no signs between thousands",
            )

    def _refusal(self, cell: str) -> str:
        if not cell:
            return "is empty: give every cell a number, or leave the row or column away"
        if _THOUSANDS.match(cell) or _COMMA.match(cell):
            return (
                "is a number with signs between thousands, or a decimal comma in a file separated by commas: write "
                "1234.5, or separate the columns by semicolons"
            )
        if _NOT_FINITE.match(cell):
            return "is not a finite number (NaN, infinity, missing): fill such cells in, or leave their rows away"
        if self._table.separator == "," and len(cell.split()) > 1 and all(map(_POINT.match, cell.split())):
            return "holds several numbers: separate columns by commas, semicolons or tabs"
        return (
            "is no number: write numbers as -12.5 or 3e-4; in a header no cell is a number or without letters, unless "
            "--header (header=True in Python) says that it is one"
        )


# ---- columns ---------------------------------------------------------------------------------------


class Rows:
    """The rows of a file as they are read, once.

    Attributes:
        names: the cells of the header, or None without one. width: cells of each row. separator: a character.
    """

    def __init__(self, f: BinaryIO, has_header: bool, name: str, max_line: int) -> None:
        lines = _lines(f, name, max_line)
        later = _Later()
        sample = list(later(islice(lines, _SAMPLE)))
        table = _Table.of(sample, name)
        self.separator, self.names = table.separator, None
        table = _Table(name, table.separator, 0, None, False, False)
        rows = _rows(chain(sample, later.rest(lines)), table, skip=0, numbers=False)
        first = next(rows, None)
        if first is None:
            raise FormatError(f"{name}: is empty: write a header and one row a line")
        self._line, self._first = first
        self.width = len(self._first)
        if has_header:
            self.names = tuple(self._first)
        self._table, self._rows = table, rows if has_header else chain([first], rows)

    def place(self, column: str | int) -> int:
        """The index of a column, by name or by its number from 1.

        Raises:
            FormatError: there is none, or more than one.
        """
        at = _place(self._table, self._line, self._first, column)
        if isinstance(column, str):
            # Messages have the names that were asked for alone: where a first line is a row, others are content.
            known = self._table.names or ("",) * self.width
            names = (*known[:at], self._first[at].strip(), *known[at + 1 :])
            self._table = replace(self._table, names=names)
        return at

    def __iter__(self) -> Iterator[_Row]:
        """Lines and cells; FormatError: a row of another length, or one that cannot be read."""
        for line, row in self._rows:
            if len(row) != self.width:
                self._table.check_width(line, row, self.width)
            yield line, row


def _columns(
    f: BinaryIO, columns: Sequence[str | int], has_header: bool, name: str, max_line: int
) -> Iterator[tuple[int, tuple[str, ...]]]:
    rows = Rows(f, has_header, name, max_line)
    places = [rows.place(c) for c in columns]
    for line, row in rows:
        yield line, tuple(row[p] for p in places)


class _Later:
    """Lines whose first error waits until those before it were used."""

    def __init__(self) -> None:
        self._error: FormatError | None = None

    def __call__(self, lines: Iterator[str]) -> Iterator[str]:
        try:
            yield from lines
        except FormatError as e:
            self._error = e

    def rest(self, lines: Iterator[str]) -> Iterator[str]:
        if self._error is not None:
            raise self._error
        yield from lines


def _place(table: _Table, line: int, cells: list[str], column: str | int) -> int:
    """The index of a column.

    Raises:
        FormatError: there is none, or more than one.
    """
    if isinstance(column, int):
        if not 1 <= column <= len(cells):
            raise FormatError(
                f"{table.name}, line {line}: has no column {column}: columns have the numbers 1 to {len(cells)}, with "
                f"{_SEPARATORS[table.separator]}s between them"
            )
        return column - 1
    tests: list[Callable[[str], bool]] = [
        lambda c: c == column,
        lambda c: c.strip().casefold() == column.strip().casefold(),
    ]
    for same in tests:
        found = [i for i, c in enumerate(cells) if same(c)]
        if len(found) == 1:
            return found[0]
        if found:
            raise FormatError(
                f'{table.name}, line {line}: has {len(found)} columns "{column}": give its number, one of '
                f"{', '.join(str(i + 1) for i in found)}"
            )
    raise FormatError(
        f'{table.name}, line {line}: has no column "{column}" among its {len(cells)}, separated by '
        f"{_SEPARATORS[table.separator]}s: name one as the first line has it, or give its number from 1"
    )
