# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The command line: `ringforge`, or `python -m ringforge.cli`.

`main` is the entry point. Errors of the library and of the operating system end a command with one line on
standard error and exit code 1; wrong usage ends it with code 2. With `--json` they are a JSON object on standard output
as well. Warnings of the library are lines on standard error. docs/output.md is the user's side.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import typer
import typer.main
from typer import rich_utils

from ringforge.cli import completion, output
from ringforge.cli.app import app, check_repeated, find_command, options_of
from ringforge.cli.console import print_error, print_warning, remedied
from ringforge.errors import Error, NamesWarning, PrecisionWarning, UnidentifiedWarning
from ringforge.files import first_line

__all__ = ["app", "main"]

INTERRUPTED = 130

#: Wrong usage; typer has no public name for it.
_UsageError: Any = typer.BadParameter.__mro__[2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        arguments: words after the program's name; those of this process by default.

    Returns:
        The exit code: 0 done, 1 an error that was printed, 2 wrong usage, 130 interrupted, 141 nobody reads what is
        printed.
    """
    line = os.environ.get(completion.LINE)
    if line is not None:
        return _complete(line)
    output.open_closed()
    with output.replacing(), warnings.catch_warnings():
        for kind in (NamesWarning, PrecisionWarning, UnidentifiedWarning):
            warnings.simplefilter("always", kind)
        warnings.showwarning = print_warning
        words = list(sys.argv[1:] if arguments is None else arguments)
        try:
            code = _run(words)
            return code if _flushed() else code or 1
        except BrokenPipeError:
            # Only writes to standard output and standard error are left to fail so.
            output.to_nowhere()
            return output.CLOSED_PIPE
        finally:
            output.end()


def _complete(line: str) -> int:
    """Prints what may stand at a line's end, for a shell; errors are of no use there."""
    with output.replacing(), contextlib.suppress(Error, OSError, KeyboardInterrupt):
        for word in completion.answer(typer.main.get_command(app), line):
            print(word)
    return 0 if _flushed() else 1


def _flushed() -> bool:
    """Whether standard output has taken everything; if not, says so."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as e:
        print_error(f"standard output: {e.strerror}: what was printed is not complete")
        output.to_nowhere()
        return False
    return True


def _run(words: list[str]) -> int:
    as_json = output.wants_json(words)
    found, command = None, ""
    output.begin(command)
    try:
        if as_json:  # imports the command, which takes a while and may fail
            found, command = find_command(words)
            output.begin(command)
        return _ended(words)
    except BrokenPipeError:
        raise
    except _UsageError as e:
        if as_json:
            remedy = f"{' '.join(('ringforge', command)).strip()} --help"
            _fail(found, "UsageError", e.format_message() or "no command was given", e.exit_code, remedy)
        rich_utils.rich_format_error(e)
        return int(e.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        failure = ("Interrupted", "interrupted", INTERRUPTED)
    except output.PipeError as e:
        if output.reader_gone():
            raise BrokenPipeError(*e.args) from None
        failure = ("BrokenPipeError", f"{e.args[-1] if e.args else 'broken pipe'}: the other side has gone", 1)
    except Error as e:
        failure = (type(e).__name__, str(e), 1)
    except OSError as e:
        where = f"{os.fsdecode(e.filename)}: " if isinstance(e.filename, str | bytes) else ""
        failure = (type(e).__name__, f"{where}{e.strerror or first_line(e)}", 1)
    except MemoryError:
        failure = ("MemoryError", "out of memory: close other programs, or take less at a time", 1)
    except Exception as e:
        # A fault of ours: the traceback is for who mends it, and no JSON.
        if not as_json:
            raise
        failure = ("InternalError", f"{type(e).__name__}: {first_line(e)}", 1)
    kind, message, code = failure
    options: frozenset[str] = frozenset()
    with contextlib.suppress(Exception):  # the failure is told whatever the command is
        options = options_of(words)
    if as_json:
        internal = "run the command without --json and report what it prints"
        _fail(found, kind, remedied(message, options), code, internal if kind == "InternalError" else None)
    print_error(message, options)
    return code


def _ended(words: list[str]) -> int:
    """Runs a command that does not fail; its exit code."""
    check_repeated(words)
    try:
        ended = app(args=words, prog_name="ringforge", standalone_mode=False)
    except (SystemExit, typer.Exit) as e:
        if output.reader_gone():
            raise BrokenPipeError from None  # typer's own text, such as help
        ended = getattr(e, "exit_code", getattr(e, "code", None))
        ended = ended if isinstance(ended, int) else int(ended is not None)
    code = ended if isinstance(ended, int) else 0
    if code == INTERRUPTED:  # what typer makes of KeyboardInterrupt
        raise KeyboardInterrupt
    output.finish()
    return code


def _fail(found: Any, kind: str, message: str, code: int, remedy: str | None) -> None:
    output.fail(output.Failure(kind=kind, message=message, exit=code, remedy=remedy), output.declared(found))
