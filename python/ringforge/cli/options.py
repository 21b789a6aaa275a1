# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Options that mean the same in the commands of all systems."""

from __future__ import annotations

import errno
import functools
import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

import typer
import typer.models

from ringforge.cli import completion
from ringforge.files import check_different, check_output, overwriting, secret_in

_P = ParamSpec("_P")
_R = TypeVar("_R")

ProgramFile = Annotated[Path, typer.Option("--program", help="Program written by `plan`; public.")]
Params = Annotated[
    str,
    typer.Option(
        help="A set of `ringforge params list`, or auto: the smallest that suffices.",
        autocompletion=completion.ckks_sets_or_auto,
    ),
]
Insecure = Annotated[str, typer.Option(metavar="REASON", help="Why a set below 128 bits may be used.")]
Threads = Annotated[int, typer.Option("--threads", help="Threads; 0: one for each processor. Results do not differ.")]
NewSecret = Annotated[Path, typer.Option("--secret", help="Secret key to write; read with --reuse.")]
Reuse = Annotated[bool, typer.Option("--reuse", help="Take the secret key that is there already.")]
ShareBits = Annotated[
    float | None,
    typer.Option(
        help="Set it (10 to 40) if others will see the result: noise hides what errors tell of the key, at the cost "
        "of precision (docs/security.md)."
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line of CSV and TSV files names the columns; found by its cells, and said where in "
        "doubt, if not given.",
        show_default=False,
    ),
]


Overwrite = Annotated[
    bool,
    typer.Option("--overwrite", is_eager=True, help="Replace files that are there already; secrets never are."),
]


def overwrites(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Give a command that writes files the option --overwrite; stands below `@prints`.

    Without the option the command replaces no file. With or without, none of its files to write may be another file
    that its options name.
    """

    signature = inspect.signature(function, eval_str=True)
    written = dict(_outputs(signature))

    @functools.wraps(function)
    def run(*args: _P.args, **options: _P.kwargs) -> _R:
        _check_names(written, options)
        with overwriting(bool(options.pop("overwrite", False))):
            return function(*args, **options)

    option = inspect.Parameter("overwrite", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Overwrite)
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), option])  # type: ignore[attr-defined]
    run.__annotations__ = {**function.__annotations__, "overwrite": Overwrite}
    return run


def _outputs(signature: inspect.Signature) -> Iterator[tuple[str, str]]:
    """Yield a command's parameters that name files to write, each with its option."""
    for name, parameter in signature.parameters.items():
        for known in getattr(parameter.annotation, "__metadata__", ()):
            if isinstance(known, typer.models.OptionInfo) and known.callback is output_file:
                words = [str(w) for w in (known.default, *(known.param_decls or ())) if str(w).startswith("--")]
                yield name, words[0] if words else f"--{name.replace('_', '-')}"


def _check_names(written: Mapping[str, str], options: Mapping[str, Any]) -> None:
    """Refuse a file to write that is read or written under another option as well.

    Raises:
        ParameterError: two options name one file.
    """
    for output, flag in written.items():
        for name, value in options.items():
            if name == output:
                continue
            other = written.get(name, f"--{name.replace('_', '-')}")
            for path in value if isinstance(value, list | tuple) else [value]:
                if isinstance(path, Path):
                    check_different({other: path, flag: options[output]})


def output_file(context: typer.Context, path: Path | None) -> Path | None:
    """Refuse at once what `files.new_file` would at the end; callback of every option that names a file to write.

    Raises:
        FileExistsError: the name is taken. FileNotFoundError: there is no such directory.
    """
    if path is not None:
        check_output(path, replace=bool(context.params.get("overwrite")))
    return path


#: The beginning of each line of a log of ours (`serving.calls.Log`).
_LOG_LINE = re.compile(rb'\{"time": "\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "event": "')


def log_file(path: Path | None) -> Path | None:
    """Refuse to append to what is no log; callback of options that name one. A device or a pipe will do.

    Raises:
        FileExistsError: the file holds something else than a log, such as a secret.
    """
    if path is not None and path.is_file():
        what = secret_in(path)
        with path.open("rb") as f:
            start = f.readline(1 << 16)
        if what or (start and not _LOG_LINE.match(start)):
            what = what or "something else than a log"
            raise FileExistsError(
                errno.EEXIST, f"holds {what}, which is never replaced nor appended to: name another file", str(path)
            )
    return path


def keep_secret(secret: Path, reuse: bool, others: Mapping[str, Path]) -> None:
    """Refuses to write a new secret key over an old one, or anything else over the new one.

    Args:
        secret: of --secret.
        reuse: whether it is there already and will be read.
        others: what else is written, by option.

    Raises:
        FileExistsError: there is one, and it is not to be reused. ParameterError: two options name one file.
    """
    check_different({"--secret": secret, **others})
    if os.path.lexists(secret) and not reuse:
        raise FileExistsError(
            errno.EEXIST, "exists; a new key would lose it: choose another name, or --reuse", str(secret)
        )
