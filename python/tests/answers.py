# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What commands print with --json, held against the schema that the command publishes.

`.venv/bin/python python/tests/answers.py` writes what is published: the models' shapes and the list in docs/output.md.
"""

from __future__ import annotations

import functools
import hashlib
import json
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import jsonschema
from pydantic import BaseModel

import ringforge
from ringforge.cli import output
from ringforge.cli.app import commands, find_command


@functools.cache
def validator(command: str) -> jsonschema.Draft202012Validator:
    """Of the lines that a command prints."""
    callback, path = find_command(command.split())
    declared = output.declared(callback)
    assert declared is not None, command
    assert declared.result is not None, command
    assert path == command
    schema = output.schema(command, declared)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def lines_of(text: str) -> list[dict[str, Any]]:
    """All lines, whole; each must be of its command's schema."""
    found = []
    for line in text.splitlines():
        values = json.loads(line, parse_constant=lambda word: AssertionError(f"{word} is no JSON"))
        validator(values["command"]).validate(values)
        assert values["ringforge"] == ringforge.__version__
        found.append(values)
    return found


def results_of(text: str) -> list[Any]:
    """The results of all lines."""
    found = lines_of(text)
    assert all("error" not in line for line in found), text
    return [line["result"] for line in found]


def result_of(text: str) -> Any:
    """The result of a command that prints one."""
    (only,) = results_of(text)
    return only


def failure_of(text: str) -> dict[str, Any]:
    """The error of a command that failed, wherever it got to; errors before a command was found have no schema."""
    values: dict[str, Any] = json.loads(text.splitlines()[-1])
    if values["schema"] == "error/1":
        assert set(values) == {"ringforge", "command", "schema", "error"}
    else:
        validator(values["command"]).validate(values)
    error: dict[str, Any] = values["error"]
    return error


def parted(out: str, err: str) -> tuple[str, str]:
    """What a command printed, reports on standard error behind results; and its errors and warnings."""
    lines = err.splitlines(keepends=True)
    bad = [line for line in lines if line.startswith(("error:", "warning:"))]
    return out + "".join(line for line in lines if line not in bad), "".join(bad)


def reported(err: str) -> str:
    """What a command that went well said on standard error; there is neither error nor warning in it."""
    said, bad = parted("", err)
    assert bad == "", err
    return said


def printed(capsys: Any) -> str:
    """What a command printed in pytest's `capsys` so far, as a person sees it: results and reports."""
    return parted(*capsys.readouterr())[0]


# ---- what is published -------------------------------------------------------------------------------

ROOT = Path(__file__).parents[2]

#: Shapes of all models by name and version; a version never has two.
SHAPES = Path(__file__).with_name("schemas.json")

#: Where docs/output.md lists the commands.
PAGE, BEGIN, END = ROOT / "docs" / "output.md", "<!-- commands: begin -->\n", "<!-- commands: end -->\n"

_KINDS = {output.WORK: "nothing", output.ROWS: "rows", output.TEXT: "the text"}


def shape(model: Any) -> Any:
    """What readers of a model rely on: names, types, and which fields are always there."""
    if isinstance(model, type) and issubclass(model, BaseModel):
        return {name: [shape(f.annotation), f.is_required()] for name, f in sorted(model.model_fields.items())}
    if get_origin(model) is Annotated:
        return ["annotated", shape(get_args(model)[0])]
    if get_origin(model) is None:
        return getattr(model, "__name__", str(model))
    arguments = get_args(model)
    of = list(map(str, arguments)) if get_origin(model) is Literal else [shape(a) for a in arguments]
    return [getattr(get_origin(model), "__name__", str(get_origin(model))), *of]


def shapes() -> dict[str, str]:
    """SHA-256 of every model's shape, by its schema's name and version."""
    found = {}
    for name, declared in commands():
        if declared is not None and declared.result is not None:
            text = json.dumps([shape(declared.result), declared.lines])
            found[output.schema_id(name, declared.version)] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return found


def table() -> str:
    """The commands, for docs/output.md."""
    rows = ["| command | without `--json`, in a pipe | `--json` |", "|---|---|---|"]
    for name, declared in sorted(commands()):
        assert declared is not None, f"{name} does not say what it prints: @prints of ringforge.cli.output"
        schema = "" if declared.result is None else f"`{output.schema_id(name, declared.version)}`"
        schema += ", an object a line" if declared.lines else ""
        rows.append(f"| `{name}` | {declared.plain or _KINDS[declared.kind]} | {schema} |")
    return "\n".join(rows) + "\n"


def main() -> None:
    """Writes what is published: new shapes, and the list of commands."""
    kept = json.loads(SHAPES.read_text()) if SHAPES.exists() else {}
    SHAPES.write_text(json.dumps({**shapes(), **kept}, indent=1, sort_keys=True) + "\n")
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(before + BEGIN + table() + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
