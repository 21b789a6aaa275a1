# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The tree of commands. Rooms register theirs as entry points; they are imported when they are asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

import ringforge
from ringforge.cli import completion, params_commands
from ringforge.cli.console import console, print_warning, say
from ringforge.errors import Error
from ringforge.registered import load, registered

_GROUP = "ringforge.commands"


class LazyGroup(typer.core.TyperGroup):
    """A group with the commands that packages register; each is imported when it is asked for."""

    #: For completion: a list of names imports none of them.
    names_only = True

    def list_commands(self, ctx: Any) -> list[str]:
        own = super().list_commands(ctx)
        return [*own, *(name for name in registered(_GROUP) if name not in own)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        own = super().get_command(ctx, cmd_name)
        entry = registered(_GROUP).get(cmd_name)
        if own is not None or entry is None:
            return own
        try:
            command: Any = typer.main.get_command(load(entry))
        except Error as e:
            # The commands of other packages stay.
            print_warning(str(e))
            return None
        command.name = cmd_name
        return command


app = typer.Typer(
    cls=LazyGroup,
    add_completion=False,
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


def _show_completion(shell: str) -> None:
    if shell:
        typer.echo(completion.script(shell), nl=False)
        raise typer.Exit


def _install_completion(shell: str) -> None:
    if shell:
        path, then = completion.install(shell)
        say(f"wrote {path}: new shells complete commands of ringforge" + (f"; {then}" if then else ""))
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
    show_completion: Annotated[
        str,
        typer.Option(
            "--show-completion",
            metavar="SHELL",
            callback=_show_completion,
            is_eager=True,
            autocompletion=completion.shells,
            help="Print the script that completes commands in bash, zsh or fish, and leave.",
        ),
    ] = "",
    install_completion: Annotated[
        str,
        typer.Option(
            "--install-completion",
            metavar="SHELL",
            callback=_install_completion,
            is_eager=True,
            autocompletion=completion.shells,
            help="Write that script to where the shell looks for it, and leave.",
        ),
    ] = "",
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
    file: Annotated[
        Path | None, typer.Argument(help="A file of ours: keys, ciphertexts, a program, a model; or a table of psi.")
    ] = None,
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
