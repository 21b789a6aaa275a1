# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The tree of commands. Rooms register theirs as entry points; they are imported when they are asked for."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

import ringforge
from ringforge.cli import completion, demo_command, doctor_command, explain_command, output, params_commands
from ringforge.cli.console import console, print_warning, say
from ringforge.cli.output import ROWS, TEXT, Output, prints
from ringforge.errors import Error, ParameterError
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
app.add_typer(demo_command.app, name="demo")
app.command("doctor")(doctor_command.doctor)
app.command("explain")(explain_command.explain)


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

    See it work: `ringforge demo matvec` classifies handwritten digits on a server that cannot see them;
    `ringforge demo matmul` improves a model with patients' data, both encrypted.

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
@prints(ROWS)
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
    parts = info_command.installation() if file is None else info_command.describe_file(file)
    for part in list(parts):  # all of it is read and checked before anything is said
        out.print(part)


@app.command()
@prints(TEXT)
def schema(
    command: Annotated[
        list[str] | None, typer.Argument(help="Words of a command that has --json: psi query.", show_default=False)
    ] = None,
) -> None:
    """The JSON Schema of what a command prints with `--json`; without a command, which commands have one.

    Draft 2020-12. A command that prints an object a line has the schema of a line.

    Examples: `ringforge schema`, `ringforge schema psi query`
    """
    if not command:
        for name, found in commands():
            if found is not None and found.result is not None:
                output.put(name)
        return
    name = " ".join(command)
    callback, path = find_command(command)
    chosen = output.declared(callback)
    if chosen is None or chosen.result is None or path != name:
        raise ParameterError(f'no command "{name}" has --json: `ringforge schema` lists those that have')
    output.put(json.dumps(output.schema(path, chosen), indent=2))


def find_command(words: Sequence[str]) -> tuple[Any, str]:
    """The command that words of a command line name, as far as they do.

    Returns:
        Its function, None for a group or where there is none; and its own words, "psi query".
    """
    command, path, _ = _found(words)
    return (None if command is None or hasattr(command, "get_command") else command.callback), " ".join(path)


def options_of(words: Sequence[str]) -> frozenset[str]:
    """The options of the command that words of a command line name; empty where there is none."""
    command, *_ = _found(words)
    return (
        frozenset() if command is None else frozenset(o for p in command.params for o in (*p.opts, *p.secondary_opts))
    )


def _found(words: Sequence[str]) -> tuple[Any, list[str], list[str]]:
    """The command or group that words name, or None; its own words; and those after it."""
    command: Any = typer.main.get_command(app)
    path: list[str] = []
    for i, word in enumerate(words):
        if not hasattr(command, "get_command"):
            return command, path, list(words[i:])
        if word.startswith("-"):
            continue  # a group's options have no values
        command = command.get_command(None, word)
        if command is None:
            break
        path.append(word)
    return command, path, []


def check_repeated(words: Sequence[str]) -> None:
    """Refuse an option that is given twice and has one value; the parser alone would take the last one.

    Raises:
        ParameterError: there is one; the message names it.
    """
    command, _, rest = _found(words)
    if command is None or hasattr(command, "get_command"):
        return
    try:
        context = command.context_class(command, resilient_parsing=True)
        given = command.make_parser(context).parse_args(args=rest)[2]
    except Exception:  # wrong usage, which is said when the command is run
        return
    for option, times in Counter(p for p in given if p.param_type_name == "option" and not p.multiple).items():
        if times > 1 and (not option.is_flag or option.secondary_opts):
            names = " or ".join([option.opts[0], *option.secondary_opts[:1]])
            raise ParameterError(f"{names} is given {times} times: give it once, for it has one value")


def commands() -> Iterator[tuple[str, Output | None]]:
    """Every command by its words, with what it declares; imports all of them."""

    def below(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Output | None]]:
        if not hasattr(command, "get_command"):
            yield " ".join(path), output.declared(command.callback)
            return
        for name in command.list_commands(None):
            one = command.get_command(None, name)
            if one is not None:
                yield from below(one, (*path, name))

    yield from below(typer.main.get_command(app), ())
