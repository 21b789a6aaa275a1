# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What all commands share: where they print, how they show progress, how they read sizes."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
import time
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from rich.console import Console, Group
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Table
from rich.text import Text

from ringforge import _native
from ringforge.cli import output
from ringforge.errors import ParameterError
from ringforge.shown import ShownTable

#: Said of files that hold one.
SECRET_FILE = "This file holds a secret key: it belongs to its owner alone."

#: Least width of what is printed into a file or pipe, so that tables keep all their columns.
MIN_WIDTH = 120

#: Progress is shown for work that takes longer than this.
PATIENCE_SECONDS = 0.7

#: Where there is no terminal, a line of progress comes no sooner than this after the last.
LINE_SECONDS = 30.0

#: Seconds that pass; tests have another.
clock: Callable[[], float] = time.monotonic

_UNITS = {"": 1, "k": 10, "m": 20, "g": 30, "t": 40}
_DECIMAL = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:([kmgt]?)(i?)b?)?\s*", re.IGNORECASE)


def visible(text: str, *, lines: bool = True) -> str:
    """The text with all that could steer a terminal as escapes: names of files come from others.

    Controls, marks that turn the direction of writing, and bytes that are no text become \\x1b, \\u202e, \\udcff.

    Args:
        text: what will be printed.
        lines: whether line ends and tabs stay.
    """
    if text.isprintable():
        return text
    keep = "\n\t" if lines else ""
    return "".join(
        c if c in keep or unicodedata.category(c) not in _STEERING else c.encode("unicode_escape").decode()
        for c in text
    )


#: Controls, formats, surrogates, and separators of lines and paragraphs.
_STEERING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


class _Console(Console):
    """Prints no text that steers the terminal but its own; errors of the system say where."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(visible(text), **options)

    def on_broken_pipe(self) -> None:
        """Its base ends the process here; we do so at one place, with a status of its own."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    def print(self, *objects: Any, **options: Any) -> None:
        """Like its base.

        Raises:
            OSError: what is printed goes into a file on a full disk, or the like.
        """
        with output.whole("standard error" if self.stderr else "standard output"):
            super().print(*objects, **options)


class _Rows(_Console):
    """Sentences and titles go to standard error, tables to standard output as rows."""

    def print(self, *objects: Any, **options: Any) -> None:
        for one in objects:
            if isinstance(one, Group):
                self.print(*one.renderables, **options)
            elif isinstance(one, Table):
                if one.title:
                    super().print(one.title, soft_wrap=True)
                with output.whole("standard output"):
                    sys.stdout.write(rows_text(one))
            else:
                super().print(one, **options)


def rows_text(table: Table) -> str:
    """A table as lines of cells with tabs between: its heading, then its rows, then an empty line."""
    columns = [[_cell(c) for c in column.cells] for column in table.columns]
    lines = [[_cell(column.header) for column in table.columns]] if table.show_header else []
    lines += map(list, zip(*columns, strict=True))
    return "".join("\t".join(line).rstrip("\t") + "\n" for line in lines) + "\n"


def _cell(content: Any) -> str:
    text = Text.from_markup(content).plain if isinstance(content, str) else getattr(content, "plain", str(content))
    return visible(" ".join(text.split()), lines=False)


def console(stderr: bool = False, width: int = MIN_WIDTH) -> Console:
    """Where people read: a console for results, or with `stderr` for messages.

    Results go to standard output if that is a terminal or their text is what the command is for (`output.Kind`), else
    to standard error: standard output is then for programs.

    Args:
        stderr: standard error in any case.
        width: the least one where there is no terminal.
    """
    terminal = _Console(stderr=stderr, highlight=False)
    kind: type[_Console] = _Console
    if not stderr and not output.on_stdout(terminal.is_terminal):
        kind = _Rows if output.as_rows() else _Console
        stderr, terminal = True, _Console(stderr=True, highlight=False)
    if terminal.is_terminal:
        return kind(stderr=stderr, highlight=False)
    columns = os.environ.get("COLUMNS", "")
    return kind(
        stderr=stderr,
        highlight=False,
        width=max(width, int(columns) if columns.isdigit() else 0),
        no_color=True,
    )


#: The library's errors name remedies in Python; of commands that have these options they are options.
_OPTIONS = {
    'accept_insecure="..."': '--accept-insecure "..."',
    ' insecure="..."': ' --insecure "..."',
    "params=None suggests some": "--params auto suggests some",
    'take keys="few"': "take --keys few",
    "give the number that was encrypted, count=...": "give the number that was encrypted, --count",
}
#: What no command has an option for.
_IN_PYTHON = {
    "or say how large entries really get: A.matmul(B, bound=...)": "or plan in Python, where A.matmul(B, bound=...) "
    "says how large entries really get",
}


def print_warning(message: Warning | str, *_: object, **__: object) -> None:
    """One line on standard error; the place in the source does not help who runs a command."""
    line = visible(" ".join(str(message).split()), lines=False)
    console(stderr=True).print(f"[bold yellow]warning:[/] {escape(line)}", soft_wrap=True)


def remedied(message: str, options: Collection[str] = ()) -> str:
    """An error's message as one line whose remedies are those of a command.

    Args:
        options: what the command has; a remedy that is none of them stays Python's, and says so.
    """
    line = visible(" ".join(message.split()), lines=False)
    for python, option in _OPTIONS.items():
        name = next(word for word in option.split() if word.startswith("--"))
        line = line.replace(python, option if name in options else f"{python} in Python")
    for python, other in _IN_PYTHON.items():
        line = line.replace(python, other)
    return line


def print_error(message: str, options: Collection[str] = ()) -> None:
    """One line on standard error; `options` as of `remedied`."""
    console(stderr=True).print(f"[bold red]error:[/] {escape(remedied(message, options))}", soft_wrap=True)


def say(message: str) -> None:
    """One line for people, taken literally; `output.put` prints what programs want."""
    console().print(visible(message, lines=False), markup=False, soft_wrap=True)


def properties(title: str, rows: Mapping[str, str]) -> ShownTable:
    """A table of labels and texts."""
    table = ShownTable(title=escape(title), title_justify="left", show_header=False)
    table.add_column("", style="bold", no_wrap=True)
    table.add_column("", overflow="fold")
    for label, text in rows.items():
        table.add_row(escape(label), escape(text))
    return table


class _Bar:
    """How far work is: a bar on a terminal once it takes a while, else a line now and then; on standard error."""

    def __init__(self, description: str) -> None:
        self._console = console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[left]}"),
            console=self._console,
            transient=True,
        )
        self._task = self._bar.add_task(description, total=1.0, left="")
        self._start = self._told = clock()
        self._running = False
        self._silent = os.environ.get("RINGFORGE_PROGRESS") == "0"

    def update(self, description: str, done: float, seconds_left: float | None = None, waiting: int = 0) -> None:
        """Shows a fraction done.

        Args:
            description: what is done.
            done: the fraction.
            seconds_left: None: what is left at the pace so far; negative: not known.
            waiting: how many others' turns come first.
        """
        if self._silent:
            return
        now = clock()
        passed = now - self._start
        if seconds_left is None:
            seconds_left = passed * (1 - done) / done if done > 0 and passed > PATIENCE_SECONDS else -1
        left = f"{time_text(seconds_left)} left" if seconds_left >= 0 else ""
        text = visible(description + (f", {waiting} before it" if waiting else ""), lines=False)
        if not self._console.is_terminal:
            if now - self._told >= LINE_SECONDS and done < 1:
                self._told = now
                line = f"{text}: {100 * done:.0f} %" + (f", {left}" if left else "")
                self._console.print(line, markup=False, soft_wrap=True)
            return
        if not self._running and passed > PATIENCE_SECONDS:
            self._bar.start()
            self._running = True
        self._bar.update(self._task, description=escape(text), completed=done, left=left)

    def close(self) -> None:
        if self._running:
            self._bar.stop()


@contextlib.contextmanager
def progress(description: str) -> Iterator[Callable[[float], None]]:
    """A function that takes the fraction done: a bar with percentage and time left, or lines where there is no
    terminal."""
    with contextlib.closing(_Bar(description)) as bar:
        yield lambda fraction: bar.update(description, fraction)


@contextlib.contextmanager
def steps() -> Iterator[Callable[..., None]]:
    """The same for a run of several steps: a function that takes the step's name, the fraction of all that is done, how
    many others wait before it (0), and the seconds left (None: by the pace so far; negative: not known)."""
    with contextlib.closing(_Bar("")) as bar:

        def report(step: str, done: float, waiting: int = 0, seconds_left: float | None = None) -> None:
            bar.update(step, done, seconds_left, waiting)

        yield report


def time_text(seconds: float) -> str:
    """What is left, for people: "40 s", "3 min", "2 h 10 min"."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def parse_size(text: str) -> int:
    """Bytes from "4GiB", "512MiB", "1.5G" (binary), "2GB" (decimal) or a plain number.

    Raises:
        ParameterError: the text is no size.
    """
    match = _SIZE.fullmatch(text)
    if match is None or float(match[1]) <= 0:
        raise ParameterError(f'"{text}" is no size in bytes: write 512MiB, 4GiB or a plain number above 0')
    number, prefix, binary = float(match[1]), (match[2] or "").lower(), bool(match[3])
    decimal = prefix and not binary and text.rstrip().lower().endswith("b")
    return int(number * (_DECIMAL[prefix] if decimal else 1 << _UNITS[prefix] if prefix else 1))


def size_text(count: float) -> str:
    """Bytes for people: "17.3 MiB"."""
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.2f} GiB"


def seconds_text(seconds: float) -> str:
    """A duration for people: "8.4 ms"."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def thread_count(asked: int) -> int:
    """Threads to use: as asked, or all of this machine for 0.

    Raises:
        ParameterError: a negative count, or one beyond 1024.
    """
    if not 0 <= asked <= 1024:
        raise ParameterError(f"--threads {asked} is outside 0 ... 1024 (0: one for each processor)")
    return asked or int(_native.hardware_threads())
