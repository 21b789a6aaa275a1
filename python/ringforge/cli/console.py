# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What all commands share: where they print, how they show progress, how they read sizes."""

from __future__ import annotations

import contextlib
import os
import re
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from ringforge import _native
from ringforge.errors import ParameterError
from ringforge.shown import ShownTable

#: Said of files that hold one.
SECRET_FILE = "This file holds a secret key: it belongs to its owner alone."

#: Least width of what is printed into a file or pipe, so that tables keep all their columns.
MIN_WIDTH = 120

#: Progress is shown for work that takes longer than this.
PATIENCE_SECONDS = 0.7

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
    """Prints no text that steers the terminal but its own."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(visible(text), **options)

    def print(self, *objects: Any, **options: Any) -> None:
        """Like its base; errors of the system say where.

        Raises:
            OSError: what is printed goes into a file on a full disk, or the like.
        """
        try:
            super().print(*objects, **options)
        except OSError as e:
            where = "standard error" if self.stderr else "standard output"
            raise OSError(e.errno, f"{e.strerror}: what was printed is not complete", where) from None


def console(stderr: bool = False, width: int = MIN_WIDTH) -> Console:
    """A console for results, or for messages; `width` is the least one where there is no terminal."""
    terminal = _Console(stderr=stderr, highlight=False)
    if terminal.is_terminal:
        return terminal
    columns = os.environ.get("COLUMNS", "")
    return _Console(
        stderr=stderr,
        highlight=False,
        width=max(width, int(columns) if columns.isdigit() else 0),
        no_color=True,
    )


#: The library's errors name remedies in Python; here they are options.
_OPTIONS = {
    'accept_insecure="..."': '--accept-insecure "..."',
    ' insecure="..."': ' --insecure "..."',
    "params=None suggests some": "--params auto suggests some",
    'take keys="few"': "take --keys few",
    "give the number that was encrypted, count=...": "give the number that was encrypted, --count",
    "or say how large entries really get: A.matmul(B, bound=...)": "or plan in Python, where A.matmul(B, bound=...) "
    "says how large entries really get",
}


def print_warning(message: Warning | str, *_: object, **__: object) -> None:
    """One line on standard error; the place in the source does not help who runs a command."""
    line = visible(" ".join(str(message).split()), lines=False)
    console(stderr=True).print(f"[bold yellow]warning:[/] {escape(line)}", soft_wrap=True)


def print_error(message: str) -> None:
    """One line on standard error."""
    line = visible(" ".join(message.split()), lines=False)
    for python, option in _OPTIONS.items():
        line = line.replace(python, option)
    console(stderr=True).print(f"[bold red]error:[/] {escape(line)}", soft_wrap=True)


def say(message: str) -> None:
    """One line of result, taken literally."""
    console().print(visible(message, lines=False), markup=False, soft_wrap=True)


def properties(title: str, rows: Mapping[str, str]) -> ShownTable:
    """A table of labels and texts."""
    table = ShownTable(title=escape(title), title_justify="left", show_header=False)
    table.add_column("", style="bold", no_wrap=True)
    table.add_column("", overflow="fold")
    for label, text in rows.items():
        table.add_row(escape(label), escape(text))
    return table


@contextlib.contextmanager
def progress(description: str) -> Iterator[Callable[[float], None]]:
    """A function that takes the fraction done. On a terminal a bar appears once work takes a while."""
    target = console(stderr=True)
    bar = Progress(TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(), console=target, transient=True)
    task = bar.add_task(description, total=1.0)
    start = time.monotonic()
    running = False

    def update(fraction: float) -> None:
        nonlocal running
        if not running and target.is_terminal and time.monotonic() - start > PATIENCE_SECONDS:
            bar.start()
            running = True
        bar.update(task, completed=fraction)

    try:
        yield update
    finally:
        if running:
            bar.stop()


@contextlib.contextmanager
def steps() -> Iterator[Callable[[str, float, int, float], None]]:
    """A bar for a run of several steps; only on a terminal, and only when it takes a while."""
    target = console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[left]}"), console=target, transient=True
    )
    task = bar.add_task("", total=1.0, left="")
    start = time.monotonic()
    running = False

    def report(step: str, done: float, waiting: int, seconds_left: float) -> None:
        nonlocal running
        if not running and target.is_terminal and time.monotonic() - start > PATIENCE_SECONDS:
            bar.start()
            running = True
        queue = f", {waiting} before it" if waiting else ""
        left = f"{seconds_left:.0f} s left" if seconds_left >= 0 else ""
        bar.update(task, description=visible(f"{step}{queue}", lines=False), completed=done, left=left)

    try:
        yield report
    finally:
        if running:
            bar.stop()


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
