# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What commands print where: one envelope for JSON and its schemas, errors, pipes, progress."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import typer
from pydantic import BaseModel, TypeAdapter
from rich.table import Table

import ringforge
from ringforge import params
from ringforge.cli import app, console, main, output
from ringforge.cli.app import commands
from ringforge.cli.records import RecordLine
from ringforge.hw.core.answers import Proofs, Synthesised, Timings
from ringforge.hw.machines.psi.answers import SymmetricAnswer
from ringforge.lab.bench.answers import BenchLine
from tests import answers
from tests.answers import failure_of, results_of, validator
from tests.psi.processes import environment

RESULTS = Path(__file__).parents[2] / "bench" / "results"

COMMAND = [sys.executable, "-m", "ringforge.cli"]


# ---- what is published -------------------------------------------------------------------------------


def test_every_command_declares_and_the_page_lists_it() -> None:
    listed = answers.PAGE.read_text().split(answers.BEGIN)[1].split(answers.END)[0]
    assert listed == answers.table(), "run python/tests/answers.py"


def test_options_and_declarations_agree() -> None:
    """A command has --json if and only if it declares a model."""
    import click  # noqa: F401  # the type of commands

    def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
        if not hasattr(command, "get_command"):
            yield " ".join(path), command
            return
        for name in command.list_commands(None):
            yield from leaves(command.get_command(None, name), (*path, name))

    for name, command in leaves(typer.main.get_command(app)):
        declared = output.declared(command.callback)
        assert declared is not None, name
        assert (declared.result is not None) == any("--json" in p.opts for p in command.params), name


def test_schemas_are_draft_2020_12_and_say_what_things_are() -> None:
    count = 0
    for name, declared in commands():
        assert declared is not None
        if declared.result is None:
            continue
        schema = validator(name).schema
        assert schema["properties"]["command"]["const"] == name
        for model in (schema["properties"]["result"], *schema.get("$defs", {}).values()):
            assert "description" in model or "anyOf" in model or "$ref" in model, (name, model)
        count += 1
    assert count > 60


def test_a_version_of_a_schema_never_changes() -> None:
    kept = json.loads(answers.SHAPES.read_text())
    for name, shape in answers.shapes().items():
        assert name in kept, f"{name} is new: run python/tests/answers.py"
        assert kept[name] == shape, f"{name} has changed: readers rely on it, so give @prints the next version"


def test_shapes_see_what_readers_rely_on() -> None:
    class One(BaseModel):
        a: int

    class Optional(BaseModel):
        a: int = 0

    class Other(BaseModel):
        a: float

    class Nested(BaseModel):
        a: list[One]

    class OtherNested(BaseModel):
        a: list[Other]

    made = [json.dumps(answers.shape(m)) for m in (One, Optional, Other, Nested, OtherNested)]
    assert len(set(made)) == len(made)


def test_schema_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    names = capsys.readouterr().out.splitlines()
    assert "psi query" in names
    assert "params list" not in names
    assert main(["schema", "psi", "query"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown == validator("psi query").schema
    good = {"ringforge": "1", "command": "psi query", "schema": "psi-query/1"}
    assert not jsonschema.Draft202012Validator(shown).is_valid(good), "neither result nor error"
    for words in ("psi", "params list", "nothing", "psi query x"):
        assert main(["schema", *words.split()]) == 1
        assert "`ringforge schema` lists" in capsys.readouterr().err


# ---- answers -----------------------------------------------------------------------------------------

FAST = [
    "gates params gates-128",
    "gates simulate alu8 a=7 b=0x23 op=0",
    "explore psi --card u55c",
    "hw generate matmul",
    "bench hlt --params set-small --diagonals 4",
]


@pytest.mark.parametrize("words", FAST)
def test_answers_are_of_their_schema(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Others are held against theirs where the tests of their systems read them by `result_of`."""
    assert main([*words.split(), "--json"]) == 0, capsys.readouterr().err
    out, err = capsys.readouterr()
    assert results_of(out)
    assert "error:" not in err
    assert out.isascii()


@pytest.mark.parametrize(
    ("pattern", "model"),
    [
        ("hw-*-synth-*.json", Synthesised),
        ("hw-*timing*.json", Timings),
        ("hw-*formal*.json", Proofs),
        ("hw-*symmetric*.json", SymmetricAnswer),
    ],
)
def test_saved_results_of_tools_are_of_the_schema(pattern: str, model: Any) -> None:
    """The same values as with --json, which would need the tools and minutes."""
    found = sorted(RESULTS.glob(pattern))
    assert found
    for path in found[-3:]:
        document = json.loads(path.read_text())
        fields = getattr(model, "model_fields", {})
        if model is Timings:
            values: Any = [
                {"block": b.pop("module"), "change": None, **{k: v for k, v in b.items() if k != "parameters"}}
                for b in document["blocks"]
            ]
        elif model is Proofs:
            values = next(v for v in document.values() if isinstance(v, list))
        else:
            values = {k: v for k, v in document.items() if k in fields}
        TypeAdapter(model).validate_python(values)


def test_saved_records_are_of_the_schema() -> None:
    files = sorted(RESULTS.glob("*.jsonl"))
    assert files
    count = 0
    for path in files:
        for line in path.read_text().splitlines():
            values = json.loads(line)
            if "ratio_with_encoding" in values and "extra" in values:
                if values.get("machine"):
                    BenchLine(**values)
                else:  # no times, or saved before the machine's load was
                    RecordLine(**{k: v for k, v in values.items() if k in RecordLine.model_fields})
                count += 1
    assert count > 100


def test_numbers_that_json_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    class Answer(output.Result):
        """For the test."""

        x: output.Number
        y: output.Number

    @output.prints(output.ROWS, Answer)
    def command(as_json: bool) -> None:
        assert as_json
        output.emit({"x": float("nan"), "y": float("-inf")})

    command(as_json=True)
    assert json.loads(capsys.readouterr().out)["result"] == {"x": None, "y": None}


# ---- errors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "command", "kind", "code", "message"),
    [
        ("no-such-command", "", "UsageError", 2, "No such command"),
        ("gates params --nonsense", "gates params", "UsageError", 2, "No such option"),
        ("params list", "params list", "UsageError", 2, "No such option"),
        ("psi query", "psi query", "UsageError", 2, "Missing option"),
        ("gates simulate alu8 --set", "gates simulate", "UsageError", 2, "--set"),
        ("psi estimate --client-size many", "psi estimate", "UsageError", 2, "--client-size"),
        ("psi estimate --client-size 4", "psi estimate", "ParameterError", 1, "say which table"),
        ("gates show nowhere.json", "gates show", "FileNotFoundError", 1, "nowhere.json"),
        ("matmul run --in A=nowhere.npy", "matmul run", "FileNotFoundError", 1, "nowhere.npy"),
        ("bench ring --case nothing", "bench ring", "UsageError", 2, "no case nothing"),
        ("explore nothing", "explore", "ParameterError", 1, "nothing"),
    ],
)
def test_errors_are_json_too(
    words: str, command: str, kind: str, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words.split(), "--json"]) == code
    out, err = capsys.readouterr()
    assert out.count("\n") == 1
    assert json.loads(out)["command"] == command
    found = failure_of(out)
    assert (found["kind"], found["exit"]) == (kind, code)
    assert message in found["message"]
    assert err
    assert "Traceback" not in err
    if kind == "UsageError":
        assert found["remedy"] == f"{' '.join(('ringforge', command)).strip()} --help"
        assert main(found["remedy"].split()[1:]) == 0, "the remedy exists"


@pytest.mark.parametrize(
    ("raised", "kind", "code"),
    [
        (KeyboardInterrupt(), "Interrupted", 130),
        (MemoryError(), "MemoryError", 1),
        (RuntimeError("a fault\nof ours"), "InternalError", 1),
        (BrokenPipeError(32, "Broken pipe"), "BrokenPipeError", 1),
        (ringforge.errors.NoiseError("too\tmuch \x1b[31m"), "NoiseError", 1),
    ],
)
def test_no_failure_is_a_traceback(
    raised: BaseException, kind: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr("ringforge.gates.cli._set_object", fails)
    assert main(["gates", "params", "--json"]) == code
    out, err = capsys.readouterr()
    found = failure_of(out)
    assert (found["kind"], found["exit"]) == (kind, code)
    assert "\n" not in found["message"]
    assert "\x1b" not in out + err
    assert "Traceback" not in out + err
    assert err.count("\n") == 1


def test_an_interrupt_while_the_command_is_imported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ringforge.cli.find_command", fails)
    assert main(["gates", "params", "--json"]) == 130
    assert failure_of(capsys.readouterr().out)["kind"] == "Interrupted"


def test_a_fault_of_ours_keeps_its_traceback_without_json(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr("ringforge.gates.cli._set_object", fails)
    with pytest.raises(RuntimeError):
        main(["gates", "params"])


def test_an_answer_and_a_failure_are_one_object(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = output.emit

    def emits(answer: Any) -> None:
        real(answer)
        raise ringforge.errors.Error("and then it failed")

    monkeypatch.setattr("ringforge.gates.cli.emit", emits)
    assert main(["gates", "params", "gates-128", "--json"]) == 1
    out, _ = capsys.readouterr()
    (line,) = answers.lines_of(out)
    assert line["result"]["gates-128"]["n"] > 0
    assert line["error"]["message"] == "and then it failed"
    # The next command of this process has nothing of it.
    monkeypatch.undo()
    assert main(["gates", "params", "gates-128", "--json"]) == 0
    (line,) = answers.lines_of(capsys.readouterr().out)
    assert "error" not in line


def test_words_after_two_dashes_ask_for_nothing() -> None:
    assert output.wants_json(["psi", "query", "--json"])
    assert not output.wants_json(["psi", "query", "--", "--json"])
    assert not output.wants_json(["psi", "build", "--json-lines"])


# ---- pipes -------------------------------------------------------------------------------------------


def piped(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *words], capture_output=True, text=True, env=environment(**more), check=False)


def test_tables_are_rows_in_a_pipe() -> None:
    done = piped("params", "list")
    assert done.returncode == 0
    tables = [[line.split("\t") for line in table.splitlines()] for table in done.stdout.split("\n\n") if table]
    ckks, bfv, bgv = tables
    assert [row[0] for row in ckks] == ["name", *params.names()]
    assert [row[0] for row in bfv] == ["name", *params.names_bfv()]
    assert [row[0] for row in bgv] == ["name", *params.names_bgv()]
    for rows in tables:
        assert len({len(row) for row in rows}) == 1
    titles = [f"{scheme} parameter sets" for scheme in ("CKKS", "BFV", "BGV")]
    assert done.stderr.splitlines()[:3] == titles
    assert done.stderr.splitlines()[3].startswith("Limits on log2 QP: ")
    assert "\t" not in done.stderr
    drawn = piped("params", "list", TTY_COMPATIBLE="1", NO_COLOR="1")
    seen = re.sub(r"\x1b\[[0-9;]*m", "", drawn.stdout)  # bold and italics are no colours
    assert "CKKS parameter sets" in seen
    assert "┃ name" in seen
    assert drawn.stderr == ""


def test_rows_are_whole_and_steer_nothing() -> None:
    table = Table("a", "[b]b[/]", title="t")
    table.add_row("1\t2", "[red]x[/]\ny")
    table.add_row("\x1b[2J", "")
    assert console.rows_text(table) == "a\tb\n1 2\tx y\n\\x1b[2J\n\n"
    plain = Table("", "", show_header=False)
    plain.add_row("key", "v" * 500)
    assert console.rows_text(plain) == f"key\t{'v' * 500}\n\n"


def test_standard_output_has_json_alone(tmp_path: Path) -> None:
    """Also where the command writes files and says so."""
    done = subprocess.run(
        [*COMMAND, "explore", "omr", "--card", "u55c", "--html", "page.html", "--json"],
        capture_output=True, text=True, env=environment(TTY_COMPATIBLE="1", NO_COLOR="1"), cwd=tmp_path, check=True,
    )  # fmt: skip
    results_of(done.stdout)
    assert "written to page.html" in done.stderr


@pytest.mark.parametrize(
    ("words", "both"),
    [
        ("params list", False),
        ("params list", True),
        ("gates params gates-128 --json", False),
        ("hw isa matvec", False),
        ("bench hlt --params set-small --diagonals 4", False),
    ],
)
def test_a_reader_that_goes_ends_a_command_quietly(words: str, both: bool) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [*COMMAND, *words.split()],
            stdout=write, stderr=write if both else subprocess.PIPE, env=environment(), check=False,
        )  # fmt: skip
    finally:
        os.close(write)
    assert done.returncode == 141
    if not both:
        assert b"Broken" not in done.stderr
        assert b"Traceback" not in done.stderr


def test_errors_into_a_pipe_that_nobody_reads() -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run([*COMMAND, "params", "show", "x"], stderr=write, env=environment(), check=False)
    finally:
        os.close(write)
    assert done.returncode == 141


@pytest.mark.parametrize("words", ["gates params gates-128 --json", "params list"])
def test_a_full_disk_is_an_error(words: str) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, *words.split()], stdout=full, stderr=subprocess.PIPE, text=True, env=environment(), check=False
        )
    assert done.returncode == 1
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert errors == ["error: standard output: No space left on device: what was printed is not complete"]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "closed", "code", "out", "err"),
    [
        ("gates params gates-128 --json", ">&-", 1, "", "error: standard output: Bad file descriptor"),
        ("params list", ">&-", 1, "", "error: standard output: Bad file descriptor"),
        ("gates params gates-128 --json", "2>&-", 0, '"result": ', ""),
        ("params show x --json", "2>&-", 2, '"error": ', ""),
        ("psi query --server 127.0.0.1:1 --set - --json", "<&-", 1, '"error": ', "error: "),
        ("params show x", ">&- 2>&-", 1, "", ""),
    ],
)
def test_streams_that_are_closed(words: str, closed: str, code: int, out: str, err: str, tmp_path: Path) -> None:
    """By who started the process, before it began."""
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *COMMAND, *words.split()],
        capture_output=True, text=True, env=environment(), cwd=tmp_path, check=False,
    )  # fmt: skip
    assert done.returncode == code
    assert out in done.stdout
    assert err in done.stderr
    assert "Traceback" not in done.stderr


# ---- progress ----------------------------------------------------------------------------------------


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that a test sets."""
    seconds = [0.0]
    monkeypatch.delenv("RINGFORGE_PROGRESS")
    monkeypatch.setattr(console, "clock", lambda: seconds[0])
    return seconds


def test_lines_of_progress_where_there_is_no_terminal(now: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with console.progress("working") as bar:
        for second in range(120):
            now[0] = second
            bar(second / 240)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "working: 12 %, 4 min left",
        "working: 25 %, 3 min left",
        "working: 38 %, 2 min left",
    ]
    with console.progress("quick") as bar:
        for i in range(29):
            now[0] += 1
            bar(i / 28)
    assert capsys.readouterr().err == ""


def test_lines_of_steps(now: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with console.steps() as report:
        report("waiting", 0.0, 3, -1)
        now[0] = 31
        report("waiting", 0.0, 2, -1)
        now[0] = 62
        report("computing \x1b[2J", 0.5, 0, 40.0)
        now[0] = 93
        report("last", 1.0, 0, 0.0)
    assert capsys.readouterr().err.splitlines() == [
        "waiting, 2 before it: 0 %",
        "computing \\x1b[2J: 50 %, 40 s left",
    ]


def test_a_bar_has_percentage_and_time_left() -> None:
    """On a terminal, and it leaves nothing behind."""
    code = (
        "from ringforge.cli import console\n"
        "now = 0\n"
        "console.clock = lambda: now\n"
        "with console.progress('working') as bar:\n"
        "    for now in range(11):\n"
        "        bar(now / 20)\n"
        "    import time; time.sleep(0.5)\n"
    )
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=slave,
        stderr=slave,
        env=environment(TERM="xterm", COLUMNS="100", RINGFORGE_PROGRESS="1"),
    )
    os.close(slave)
    seen = io.BytesIO()
    while True:
        try:
            part = os.read(master, 4096)
        except OSError:  # what a terminal's other end says when all have closed it
            break
        if not part:
            break
        seen.write(part)
    os.close(master)
    assert process.wait(60) == 0
    text = seen.getvalue().decode()
    assert "working" in text
    assert "50%" in text
    assert "10 s left" in text


def test_progress_can_be_turned_off(
    now: list[float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RINGFORGE_PROGRESS", "0")
    with console.progress("working") as bar:
        now[0] = 100
        bar(0.5)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.4, "0 s"),
        (99, "99 s"),
        (100, "2 min"),
        (5900, "98 min"),
        (6000, "1 h 40 min"),
        (7800, "2 h 10 min"),
    ],
)
def test_time_left_in_words(seconds: float, text: str) -> None:
    assert console.time_text(seconds) == text
