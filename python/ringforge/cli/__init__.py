# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The command line: `ringforge`, or `python -m ringforge.cli`.

`main` is the entry point. Errors of the library and of the operating system end a command with one line on
standard error and exit code 1; wrong usage ends it with code 2. Warnings of the library are lines on standard error.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Sequence

import typer
import typer.main

from ringforge.cli import completion
from ringforge.cli.app import app
from ringforge.cli.console import print_error, print_warning
from ringforge.errors import Error, PrecisionWarning, UnidentifiedWarning
from ringforge.files import first_line

__all__ = ["app", "main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        arguments: words after the program's name; those of this process by default.

    Returns:
        The exit code: 0 done, 1 an error that was printed, 2 wrong usage, 130 interrupted.
    """
    line = os.environ.get(completion.LINE)
    if line is not None:
        return _complete(line)
    with warnings.catch_warnings():
        for kind in (PrecisionWarning, UnidentifiedWarning):
            warnings.simplefilter("always", kind)
        warnings.showwarning = print_warning
        code = _run(list(sys.argv[1:] if arguments is None else arguments))
    return code if _flushed() else code or 1


def _complete(line: str) -> int:
    """Prints what may stand at a line's end, for a shell; errors are of no use there."""
    with contextlib.suppress(Error, OSError, KeyboardInterrupt):
        for word in completion.answer(typer.main.get_command(app), line):
            print(word)
    return 0 if _flushed() else 1


def _flushed() -> bool:
    """Whether standard output has taken everything; if not, says so."""
    try:
        sys.stdout.flush()
    except OSError as e:
        print_error(f"standard output: {e.strerror}: what was printed is not complete")
        with contextlib.suppress(OSError, ValueError):
            # What is left in the buffer goes nowhere, so that the interpreter does not fail over it once more.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)
        return False
    return True


def _run(arguments: list[str]) -> int:
    try:
        app(args=arguments, prog_name="ringforge")
    except SystemExit as e:
        return e.code if isinstance(e.code, int) else int(e.code is not None)
    except Error as e:
        print_error(str(e))
        return 1
    except OSError as e:
        where = f"{os.fsdecode(e.filename)}: " if isinstance(e.filename, str | bytes) else ""
        print_error(f"{where}{e.strerror or first_line(e)}")
        return 1
    except MemoryError:
        print_error("out of memory: `plan --memory` limits what a program may take")
        return 1
    except KeyboardInterrupt:
        print_error("interrupted")
        return 130
    return 0
