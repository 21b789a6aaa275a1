# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Reference pages of the command line, from its own help: one page for each command of `ringforge`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import typer.main

from ringforge.cli.app import app


def command_pages() -> dict[str, str]:
    """Pages in Markdown by their places, the index first."""
    root: Any = typer.main.get_command(app)
    context = _context(root, "ringforge", None)
    children = [(name, command) for name, command in _children(root, context) if not command.hidden]
    index = [
        "# Commands",
        _help(root),
        *_parameters(root, context),
        "## All commands",
        "| command | what it does |\n|---|---|",
    ]
    index[-1] += "".join(f"\n| [`ringforge {n}`]({n}.md) | {_short(c)} |" for n, c in children)
    result = {"commands/index.md": "\n\n".join(index) + "\n"}
    for name, command in children:
        result[f"commands/{name}.md"] = "\n\n".join(_page(command, f"ringforge {name}", context, 1)) + "\n"
    return result


def _context(command: Any, name: str, parent: Any) -> Any:
    return command.context_class(command, info_name=name, parent=parent)


def _children(group: Any, context: Any) -> Iterator[tuple[str, Any]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None:
            raise RuntimeError(f"the command {name} cannot be loaded")
        yield name, command


def _page(command: Any, name: str, parent: Any, depth: int) -> Iterator[str]:
    context = _context(command, name.split()[-1], parent)
    yield f"{'#' * min(depth, 4)} {name}"
    yield _help(command)
    yield "```text\n" + " ".join([name, *command.collect_usage_pieces(context)]) + "\n```"
    yield from _parameters(command, context)
    if command.epilog:
        yield inspect.cleandoc(command.epilog)
    if hasattr(command, "list_commands"):
        for child, below in _children(command, context):
            if not below.hidden:
                yield from _page(below, f"{name} {child}", context, depth + 1)


def _help(command: Any) -> str:
    return inspect.cleandoc((command.help or "").split("\f")[0])


def _short(command: Any) -> str:
    return _help(command).split("\n\n")[0].replace("\n", " ").replace("|", "\\|")


def _parameters(command: Any, context: Any) -> Iterator[str]:
    rows = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            names, text = (" ".join(part.split()) for part in record)
            if names != "--help":
                rows.append(f"| `{names}` | {text.replace('|', chr(92) + '|')} |")
    if rows:
        yield "\n".join(["| argument or option | meaning |", "|---|---|", *rows])
