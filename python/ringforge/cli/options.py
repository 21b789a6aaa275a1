# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Options that mean the same in the commands of all systems."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Annotated

import typer

ProgramFile = Annotated[Path, typer.Option("--program", help="Program written by `plan`; public.")]
Params = Annotated[str, typer.Option(help="A set of `ringforge params list`, or auto: the smallest that suffices.")]
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


def keep_secret(secret: Path, reuse: bool) -> None:
    """Refuses to write a new secret key over an old one.

    Raises:
        FileExistsError: there is one, and it is not to be reused.
    """
    if secret.exists() and not reuse:
        raise FileExistsError(
            errno.EEXIST, "exists; a new key would lose it: choose another name, or --reuse", str(secret)
        )
