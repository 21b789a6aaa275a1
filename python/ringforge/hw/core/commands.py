# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Commands that machines bring along: `ringforge hw COMMAND NAME`, found in the descriptors when they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final

import typer
import typer.core

from ringforge.cli.console import print_warning
from ringforge.errors import Error, ParameterError
from ringforge.hw.core import machine as descriptors

Name = Annotated[
    str,
    typer.Argument(
        metavar="MACHINE", help="A machine; `ringforge hw list` shows them.", autocompletion=descriptors.names
    ),
]

#: What commands of these names do, in a line.
ABOUT: Final = {
    "run": "Computes something on the simulated machine, and checks it.",
    "cycles": "Cycles of what the machine does, in RTL simulation.",
    "validate": "The machine's cycle models beside RTL.",
    "layers": "Latency of whole workloads by the cycle model.",
    "generate": "Configurations for parameter sets, from models and a card.",
    "isa": "The instruction set as a document.",
    "symmetric": "What a pipeline takes on the FPGA beside another arrangement of as many transforms.",
    "job": "Something to compute as a job file, for the host program of a card.",
}


def having(command: str) -> list[str]:
    """Names of the machines that have a command."""
    return [m.name for m in _known() if command in m.commands]


def _known() -> list[descriptors.Machine]:
    """All machines but those whose packages cannot be imported, which are warned of."""
    found = []
    for name in descriptors.names():
        try:
            found.append(descriptors.machine(name))
        except Error as e:
            print_warning(str(e))
    return found


def _single(function: Callable[..., Any], name: str) -> Any:
    app = typer.Typer(add_completion=False, rich_markup_mode="markdown")
    app.command(name)(function)
    return typer.main.get_command(app)


class OfMachines(typer.core.TyperGroup):
    """One command of all machines that have it: a word for the machine, then the machine's own options."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return having(str(self.name))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        command = str(self.name)
        machine = descriptors.machine(cmd_name)
        if command not in machine.commands:
            those = ", ".join(having(command)) or "none"
            raise ParameterError(f"machine {cmd_name} has no command {command}; machines that have it: {those}")
        return _single(machine.command(command), cmd_name)


def _group(name: str) -> Any:
    app = typer.Typer(cls=OfMachines, add_completion=False, no_args_is_help=True, rich_markup_mode="markdown")
    text = ABOUT.get(name, "A command of some machines.")
    text += f"\n\nOptions are a machine's own.\n\nExample: `ringforge hw {name} MACHINE --help`"
    app.callback(help=text)(lambda: None)
    group: Any = typer.main.get_group(app)
    group.name = name
    group.subcommand_metavar = "MACHINE [OPTIONS]"
    return group


class Hardware(typer.core.TyperGroup):
    """The flow's own commands, and those of machines."""

    def list_commands(self, ctx: Any) -> list[str]:
        own = super().list_commands(ctx)
        brought = dict.fromkeys(c for m in _known() for c in m.commands)
        return [*own, *(c for c in brought if c not in own)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        return _group(cmd_name) if cmd_name in ABOUT or having(cmd_name) else None
