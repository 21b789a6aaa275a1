# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge demo`: every system's demo by one command. Systems register theirs as entry points, `ringforge.demos`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import typer
import typer.core
from rich.markup import escape

from ringforge.cli.console import console
from ringforge.cli.output import TEXT, prints
from ringforge.errors import UnsupportedModelError
from ringforge.registered import load, registered
from ringforge.shown import ShownTable

_GROUP = "ringforge.demos"

#: What a fresh installation needs for the demos.
EXTRA = "demo"


class Demo(NamedTuple):
    """A system's demo; what is registered may be a plain pair, so that no room needs this module.

    Attributes:
        command: the function behind `ringforge SYSTEM demo`; the first line of its text says what it shows.
        seconds: about how long it takes on two cores, as `make wheel-test` measures it.
    """

    command: Callable[..., None]
    seconds: int

    @property
    def about(self) -> str:
        """What it shows, one line."""
        return (self.command.__doc__ or "").strip().splitlines()[0]


def missing(package: str) -> UnsupportedModelError:
    """The error of a demo that lacks a package.

    Args:
        package: as pip knows it.
    """
    return UnsupportedModelError(
        f"the demo needs the package {package}: pip install 'ringforge-he[{EXTRA}]' brings all that demos need"
    )


class DemoGroup(typer.core.TyperGroup):
    """The demos that packages register, each as a command of the system's name."""

    def list_commands(self, _ctx: Any) -> list[str]:
        return list(registered(_GROUP))

    def get_command(self, _ctx: Any, cmd_name: str) -> Any:
        entry = registered(_GROUP).get(cmd_name)
        if entry is None:
            return None
        demo = Demo(*load(entry))
        one = typer.Typer(
            add_completion=False, rich_markup_mode="markdown", context_settings={"help_option_names": ["-h", "--help"]}
        )
        one.command()(demo.command)
        command = typer.main.get_command(one)
        command.name = cmd_name
        return command


app = typer.Typer(
    cls=DemoGroup,
    invoke_without_command=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def duration(seconds: int) -> str:
    """About how long, for people: "10 s", "2 min"."""
    return f"{seconds} s" if seconds < 90 else f"{round(seconds / 60)} min"


@app.callback()
@prints(TEXT)
def demo(ctx: typer.Context) -> None:
    """Each system at work on real data, in one command; without a system, which there are.

    Options behind the system's name are those of `ringforge SYSTEM demo`.

    Examples: `ringforge demo`, `ringforge demo gates`, `ringforge demo psi --full`
    """
    if ctx.invoked_subcommand is not None:
        return
    table = ShownTable(title="demos", title_justify="left")
    for label in ("command", "what it shows", "on 2 cores, about"):
        table.add_column(label)
    for name, entry in registered(_GROUP).items():
        found = Demo(*load(entry))
        table.add_row(f"ringforge demo {escape(name)}", escape(found.about), duration(found.seconds))
    console().print(table)
