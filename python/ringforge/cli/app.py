# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The tree of commands. Rooms other than `info` and `params` are imported when they are asked for."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

import ringforge
from ringforge.cli import params_commands
from ringforge.cli.console import console

#: Commands that live elsewhere: the module that holds `app`.
_ELSEWHERE = {
    "matvec": "ringforge.matvec.cli",
    "matmul": "ringforge.matmul.cli",
    "psi": "ringforge.psi.cli",
    "gates": "ringforge.gates.cli",
    "bench": "ringforge.lab.bench.cli",
    "reproduce": "ringforge.lab.reproduce.cli",
    "hw": "ringforge.hw.cli",
}


def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


class LazyGroup(typer.core.TyperGroup):
    """A group some of whose commands are imported on demand."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [
            *super().list_commands(ctx),
            *(name for name, module in _ELSEWHERE.items() if _exists(module)),
        ]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        module = _ELSEWHERE.get(cmd_name)
        if module is None or not _exists(module):
            return super().get_command(ctx, cmd_name)
        command: Any = typer.main.get_command(importlib.import_module(module).app)
        command.name = cmd_name
        return command


app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(params_commands.app, name="params")


def _version(value: bool) -> None:
    if value:
        typer.echo(f"ringforge {ringforge.__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Computing on encrypted data.

    See it work: `ringforge matvec demo` classifies handwritten digits on a server that cannot see them;
    `ringforge matmul demo` improves a model with patients' data, both encrypted.

    Do it yourself. Two matrices, each encrypted, multiplied and compared with numpy:

        ringforge matmul run --in A=a.npy --in B=b.npy

    A matrix `w.npy` of shape (m, n) of the server's, rows `x.csv` of n numbers of the client's:

        ringforge matvec plan --model w.npy --out program.json

        ringforge matvec keygen --program program.json --secret secret.key --eval-keys eval.keys

        ringforge matvec encrypt --program program.json --secret secret.key --in x.csv --out x.ct

        ringforge matvec evaluate --program program.json --model w.npy --keys eval.keys --in x.ct --out y.ct

        ringforge matvec decrypt --program program.json --secret secret.key --in y.ct --out y.csv
    """


@app.command()
def info(
    file: Annotated[Path | None, typer.Argument(help="A file of ours: keys, ciphertexts, a program, a model.")] = None,
) -> None:
    """What this installation can do, or what a file holds.

    Secret keys are recognised but never shown. Sizes and hashes are what the records say of themselves;
    checksums are compared as well.

    Examples: `ringforge info`, `ringforge info eval.keys`, `ringforge info program.json`
    """
    from ringforge.cli import info_command

    out = console()
    for part in info_command.installation() if file is None else info_command.describe_file(file):
        out.print(part)
