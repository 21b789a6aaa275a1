# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Options that mean the same in the commands of all systems."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from ringforge.cli import completion
from ringforge.files import check_different, check_output

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


def output_file(path: Path | None) -> Path | None:
    """Callback of every option that names a file to write: refuses at once what `files.new_file` would at the end.

    Raises:
        FileExistsError: it holds a secret, or is no ordinary file. FileNotFoundError: there is no such directory.
    """
    if path is not None:
        check_output(path)
    return path


def log_file(path: Path | None) -> Path | None:
    """Callback of options that name a file to append to; a device or a pipe will do.

    Raises:
        FileExistsError: it holds a secret.
    """
    if path is not None and path.is_file():
        check_output(path)
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
    if secret.exists() and not reuse:
        raise FileExistsError(
            errno.EEXIST, "exists; a new key would lose it: choose another name, or --reuse", str(secret)
        )
