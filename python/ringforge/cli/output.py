# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What commands print where, and JSON for programs; docs/output.md is the user's side of it.

A command declares with `prints` what it prints and, if it has `--json`, the model of its answer. The model makes both
the answer and its published schema, so that the two cannot differ:

    class Answer(Result):
        elements: int

    @app.command()
    @prints(ROWS, Answer)
    def info(as_json: AsJson = False) -> None:
        if as_json:
            return emit(Answer(elements=3))
        console().print(...)
"""

from __future__ import annotations

import codecs
import contextlib
import enum
import functools
import io
import json
import math
import os
import select
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ParamSpec, TypeVar

import typer
from pydantic import BaseModel, ConfigDict, PlainSerializer, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

import ringforge

_P = ParamSpec("_P")
_R = TypeVar("_R")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs: `ringforge schema COMMAND`.")]

#: What services print without --json.
READY = "a JSON line with its port once it listens"

#: Exit status where the reader of standard output has gone: as of a program that SIGPIPE ends.
CLOSED_PIPE = 141


class Kind(enum.StrEnum):
    """What standard output of a command carries where it is no terminal."""

    WORK = "work"  #: plain results, if any; tables and sentences go to standard error
    ROWS = "rows"  #: tables as tab-separated rows; sentences go to standard error
    TEXT = "text"  #: the text itself, as on a terminal


WORK, ROWS, TEXT = Kind.WORK, Kind.ROWS, Kind.TEXT


class Result(BaseModel):
    """An answer, or part of one. Its fields are the schema: each must say what it is."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), use_attribute_docstrings=True)


#: A number that may be infinite or none at all: null in JSON, which has neither.
Number = Annotated[float, PlainSerializer(lambda x: x if math.isfinite(x) else None, return_type=float | None)]


@dataclass(frozen=True)
class Output:
    """What a command declares.

    Attributes:
        kind: what it prints.
        result: model of its answer, or None: it has no --json.
        version: of the model; grows with every change that could break a reader.
        lines: whether it prints an object a line, each as soon as it is known.
        plain: of a command that works: what of it goes to standard output without --json, in words.
    """

    kind: Kind
    result: Any = None
    version: int = 1
    lines: bool = False
    plain: str = ""


@dataclass
class _State:
    """Of the command that runs in this process."""

    output: Output = Output(WORK)
    as_json: bool = False
    command: str = ""
    held: Any = None  #: an answer that waits for the command's end
    holds: bool = False


_state = _State()


class PipeError(Exception):
    """A BrokenPipeError of a command, whichever pipe it was: typer would end the process at it without a word."""


def prints(
    kind: Kind, result: Any = None, *, version: int = 1, lines: bool = False, plain: str = ""
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Declares what a command prints; stands below `@app.command()`. A command with a model takes `as_json: AsJson`."""
    output = Output(kind, result, version, lines, plain)

    def declare(function: Callable[_P, _R]) -> Callable[_P, _R]:
        @functools.wraps(function)
        def run(*args: _P.args, **options: _P.kwargs) -> _R:
            before = _state.output, _state.as_json
            _state.output, _state.as_json = output, bool(options.get("as_json"))
            try:
                return function(*args, **options)
            except BrokenPipeError as e:
                raise PipeError(*e.args) from None
            finally:
                _state.output, _state.as_json = before

        run.__ringforge_output__ = output  # type: ignore[attr-defined]
        return run

    return declare


def declared(callback: Any) -> Output | None:
    """What a command's function declares, if anything."""
    found = getattr(callback, "__ringforge_output__", None)
    return found if isinstance(found, Output) else None


def emit(answer: Any) -> None:
    """Prints an answer as JSON: at the command's end, or of one that prints lines now.

    Args:
        answer: of the model that the command declares, or values that make one.

    Raises:
        pydantic.ValidationError: it is none. OSError: standard output cannot take it.
    """
    output = _state.output
    adapter = TypeAdapter(output.result)
    values = adapter.dump_python(adapter.validate_python(answer), mode="json", exclude_unset=True)
    if output.lines or not _state.holds:
        _write({**_head(output), "result": values})
    else:
        _state.held = {**_head(output), "result": values}


def put(line: str) -> None:
    """One line of plain result on standard output.

    Raises:
        OSError: standard output cannot take it.
    """
    with whole("standard output"):
        sys.stdout.write(line + "\n")


def schema_id(command: str, version: int = 1) -> str:
    """The name of a schema: "psi-query/1"."""
    return f"{command.replace(' ', '-').replace('_', '-')}/{version}"


def schema(command: str, output: Output) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of what a command prints with --json; of one that prints lines, of each line.

    Args:
        command: its words, "psi query".
        output: what it declares; with a model.
    """
    made = TypeAdapter(output.result).json_schema(mode="serialization", schema_generator=_Untitled)
    definitions = made.pop("$defs", {})
    name = schema_id(command, output.version)
    error = TypeAdapter(Failure).json_schema(mode="serialization", schema_generator=_Untitled)
    head = {
        "ringforge": {"type": "string", "description": "Version of Ringforge."},
        "command": {"const": command, "description": "The command that was run."},
        "schema": {"const": name, "description": "This schema: its name, and a version that grows when readers break."},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:ringforge:schema:{name.replace('/', ':')}",
        "title": f"ringforge {command} --json" + (", one line" if output.lines else ""),
        "type": "object",
        "properties": {**head, "result": made, "error": error},
        "required": ["ringforge", "command", "schema"],
        "anyOf": [{"required": ["result"]}, {"required": ["error"]}],
        "additionalProperties": False,
        **({"$defs": definitions} if definitions else {}),
    }


class _Untitled(GenerateJsonSchema):
    """Fields have names; titles made of these say nothing more."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        return False


class Failure(Result):
    """Why a command failed."""

    kind: str
    """The exception's name, as Python users see it: ParameterError, FileNotFoundError; UsageError: wrong usage."""
    message: str
    """One line: what, why, and mostly what to do."""
    exit: int
    """The exit status."""
    remedy: str | None = None
    """What to do, where the message does not say it."""


# ---- for the entry point and the console ----


def begin(command: str) -> None:
    """A command starts: `command` are its words."""
    _state.output, _state.as_json, _state.command, _state.held, _state.holds = Output(WORK), False, command, None, True


def finish() -> None:
    """The command has ended well: prints the answer that waits."""
    if _state.held is not None:
        held, _state.held = _state.held, None
        _write(held)


def fail(failure: Failure, output: Output | None) -> None:
    """The command has failed: prints why as JSON, beside the answer that there is."""
    head = _state.held or _head(output or Output(WORK))
    _state.held = None
    # Who reads standard error is told as well; there is nobody else to tell that standard output is full.
    with contextlib.suppress(OSError):
        _write({**head, "error": failure.model_dump(exclude_none=True)})


def end() -> None:
    """The command is over, however it went."""
    _state.held, _state.holds = None, False


def wants_json(words: Sequence[str]) -> bool:
    """Whether the words of a command ask for JSON, even if they are wrong otherwise."""
    words = list(words)
    return "--json" in words[: words.index("--") if "--" in words else len(words)]


def as_rows() -> bool:
    """Whether tables of the running command go to standard output as rows, where that is no terminal."""
    return _state.output.kind is ROWS and not _state.as_json


def on_stdout(terminal: bool) -> bool:
    """Whether what people read goes to standard output.

    Args:
        terminal: whether that is one.
    """
    return not _state.as_json and (terminal or _state.output.kind is TEXT)


@contextlib.contextmanager
def whole(where: str) -> Iterator[None]:
    """Errors of the system say where they happened."""
    try:
        yield
    except OSError as e:
        raise OSError(e.errno, f"{e.strerror}: what was printed is not complete", where) from None


def reader_gone() -> bool:
    """Whether standard output or standard error is a pipe that nobody reads any more."""
    for stream in (sys.stdout, sys.stderr):
        try:
            descriptor = stream.fileno()
        except (OSError, ValueError, AttributeError):
            continue
        poll = select.poll()
        poll.register(descriptor, select.POLLOUT)
        if any(events & (select.POLLERR | select.POLLHUP) for _, events in poll.poll(0)):
            return True
    return False


def open_closed() -> None:
    """Standard streams that were closed by who started the process (`>&-`): errors go nowhere, the others fail when
    they are used, as on a full disk.

    The interpreter has None in their place, and the next file that is opened would get their number: what the native
    library or a child prints would be written into it.
    """
    for number, name, how in ((0, "stdin", os.O_WRONLY), (1, "stdout", os.O_RDONLY), (2, "stderr", os.O_WRONLY)):
        if getattr(sys, name) is not None:
            continue
        nowhere = os.open(os.devnull, how)
        try:
            os.fstat(number)
        except OSError:
            os.dup2(nowhere, number)
            os.close(nowhere)
            nowhere = number
        os.set_inheritable(nowhere, nowhere == number)
        setattr(sys, name, os.fdopen(nowhere, "w" if number else "r", encoding="utf-8"))


#: What stands for characters of ours on terminals that have none of them.
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2013\u2014\u2212─━╸╺", "-"),
        **dict.fromkeys("│┃", "|"),
        **dict.fromkeys("╭╮╯╰┏┓┗┛┌┐└┘├┤┼", "+"),
        **dict.fromkeys("\u2018\u2019", "'"),
        **dict.fromkeys("\u201c\u201d", '"'),
        **{"µ": "u", "\xd7": "x", "·": "*", "•": "*", "…": "...", "→": "->", "←": "<-", "≤": "<=", "≥": ">=", "≈": "~"},
        **{"²": "^2", "³": "^3", "√": "sqrt", "∞": "inf", "Σ": "sum", "±": "+-", "°": " deg", "\xa0": " ", "█": "#"},
    }
)


def _plain(error: UnicodeError) -> tuple[str | bytes, int]:
    """Writes what a stream's encoding lacks: our own signs by plain ones, all else as escapes."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_PLAIN)
    return text.encode("ascii", "backslashreplace").decode(), error.end


codecs.register_error("ringforge-plain", _plain)


@contextlib.contextmanager
def replacing() -> Iterator[None]:
    """Lets standard output and standard error take any text, whatever their encoding: names of files that are no text,
    and our own signs on terminals of ASCII."""
    changed = []
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors in ("strict", "surrogateescape"):
            changed.append((stream, stream.errors))
            stream.reconfigure(errors="ringforge-plain")
    try:
        yield
    finally:
        for stream, errors in changed:
            with contextlib.suppress(OSError, ValueError):
                stream.reconfigure(errors=errors)


def to_nowhere() -> None:
    """What is still in the buffer of standard output goes nowhere, so that the interpreter does not fail over it."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _head(output: Output) -> dict[str, Any]:
    command = _state.command
    name = schema_id(command, output.version) if output.result is not None else "error/1"
    return {"ringforge": ringforge.__version__, "command": command, "schema": name}


def _write(values: dict[str, Any]) -> None:
    text = json.dumps(values, allow_nan=False)
    with whole("standard output"):
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
