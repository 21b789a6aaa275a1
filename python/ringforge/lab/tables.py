# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Tables whose every number names its unit and its source, and how to print them."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from pydantic import RootModel

from ringforge.cli.output import Result

Source: TypeAlias = Literal["paper", "model", "measured", "derived", "rtl"]
"""Origin of a number: printed in the paper, given by a model of this package,
measured on a machine, counted in a simulation of our RTL, or plain arithmetic on the others."""

SOURCE_MARKS: Final[dict[Source, str]] = {
    "paper": "p",
    "model": "m",
    "measured": "x",
    "derived": "d",
    "rtl": "r",
}
"""Letter that follows a number in rendered tables."""


@dataclass(frozen=True, slots=True)
class Value:
    """A number with its unit and source.

    Attributes:
        number: the value (an ``int`` stays one and prints without decimals).
        unit: its unit, empty for a pure number.
        source: where it comes from.
    """

    number: float
    unit: str
    source: Source

    def text(self, *, with_unit: bool = True) -> str:
        """The number with a source mark, and its unit unless the column states it."""
        unit = f" {self.unit}" if with_unit and self.unit else ""
        return f"{format_number(self.number)}{unit} ({SOURCE_MARKS[self.source]})"


Cell: TypeAlias = str | Value | None
"""A label, a number, or nothing (the paper does not give it)."""


@dataclass(frozen=True, slots=True)
class Table:
    """A titled table.

    Attributes:
        title: what it shows.
        columns: column headings.
        rows: cells, as many per row as there are columns.
        notes: sentences printed below.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{self.title}: a row has {len(row)} cells for {len(self.columns)} columns")


def format_number(number: float) -> str:
    """Integers with thousands separators; other numbers to four significant digits."""
    if isinstance(number, int):
        return f"{number:,}"
    if number == 0:
        return "0.0"
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:#.4g}"


def _common_unit(table: Table, column: int) -> str | None:
    """The unit that all numbers of a column share, or None."""
    cells = [row[column] for row in table.rows]
    units = {cell.unit for cell in cells if isinstance(cell, Value)}
    return units.pop() if len(units) == 1 else None


def _cell_text(cell: Cell, common: str | None) -> str:
    """Text of a cell; the unit is left out when the heading states it."""
    if cell is None:
        return "-"
    if isinstance(cell, str):
        return cell
    return cell.text(with_unit=common is None)


def render(tables: Sequence[Table], *, width: int = 120, color: bool = False) -> str:
    """Draw ``tables`` as text with rich.

    Args:
        tables: what to draw.
        width: line width in characters.
        color: keep terminal styling in the result.

    Returns:
        The drawing, with a legend of the source marks at the end.
    """
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=color,
        no_color=not color,
        legacy_windows=False,
    )
    for table in tables:
        units = [_common_unit(table, i) for i in range(len(table.columns))]
        drawn = RichTable(title=Text(table.title, style="bold"), title_justify="left")
        for i, (heading, unit) in enumerate(zip(table.columns, units, strict=True)):
            numeric = any(isinstance(row[i], Value) for row in table.rows)
            label = f"{heading} [{unit}]" if unit else heading
            drawn.add_column(Text(label), justify="right" if numeric else "left")
        for row in table.rows:
            drawn.add_row(*(Text(_cell_text(cell, unit)) for cell, unit in zip(row, units, strict=True)))
        console.print(drawn)
        for note in table.notes:
            console.print(Text(f"  {note}"))
        console.print()
    legend = ", ".join(f"({mark}) {source}" for source, mark in SOURCE_MARKS.items())
    console.print(Text(f"Sources: {legend}; - not available"))
    stream = console.file
    assert isinstance(stream, io.StringIO)
    return stream.getvalue()


def to_markdown(table: Table) -> str:
    """A table for a page in Markdown: its title in bold, numbers to the right, the notes as a paragraph below."""
    units = [_common_unit(table, i) for i in range(len(table.columns))]

    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"

    def heading(i: int) -> str:
        return f"{table.columns[i]} [{units[i]}]" if units[i] and units[i] != table.columns[i] else table.columns[i]

    def number(cell: Cell) -> bool:
        return isinstance(cell, Value) or (isinstance(cell, str) and cell.replace(",", "").isdigit())

    def rule(i: int) -> str:
        return "---:" if any(number(row[i]) for row in table.rows) else "---"

    indices = range(len(table.columns))
    lines = [f"**{table.title}**", "", line(heading(i) for i in indices), f"|{'|'.join(rule(i) for i in indices)}|"]
    lines += [line(_cell_text(cell, unit) for cell, unit in zip(row, units, strict=True)) for row in table.rows]
    if table.notes:
        lines += ["", " ".join(" ".join(table.notes).split())]
    return "\n".join(lines) + "\n"


def _json_cell(cell: Cell) -> object:
    """JSON form of a cell: a string, an object with number, unit and source, or null."""
    if isinstance(cell, Value):
        return {"number": cell.number, "unit": cell.unit, "source": cell.source}
    return cell


def to_json(tables: Sequence[Table], *, indent: int | None = 2) -> str:
    """Serialise ``tables`` as a JSON list with the fields of :class:`Table`."""
    return json.dumps(
        [
            {
                "title": table.title,
                "columns": list(table.columns),
                "rows": [[_json_cell(cell) for cell in row] for row in table.rows],
                "notes": list(table.notes),
            }
            for table in tables
        ],
        indent=indent,
        allow_nan=False,
        ensure_ascii=False,
    )


class Number(Result):
    """A cell with a number."""

    number: int | float
    unit: str
    """"" for a pure number."""
    source: Source


class TableAnswer(Result):
    """A table, as `to_json` writes it."""

    title: str
    columns: list[str]
    rows: list[list[str | Number | None]]
    """As many cells each as there are columns; null: not available."""
    notes: list[str]
    """Sentences below it."""


class TableList(RootModel[list[TableAnswer]]):
    """Tables."""


def answers(tables: Sequence[Table]) -> list[TableAnswer]:
    """Tables for --json."""
    return [TableAnswer(**values) for values in json.loads(to_json(tables))]
