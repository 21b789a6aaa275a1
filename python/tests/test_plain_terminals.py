# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Terminals without Unicode, and names of files that are no text: no command ends in an error of an encoding."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

ASCII = {"PYTHONIOENCODING": "ascii"}
#: A machine without locales, where Python is told not to help itself.
POSIX = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}

EVERY_HELP = """
from ringforge.cli import main
from ringforge.cli.app import commands
for name, _ in commands():
    main([*name.split(), "--help"])
main(["--help"])
"""


def run(arguments: list[str | bytes], folder: Path, settings: dict[str, str]) -> tuple[int, str]:
    """Exit status, and what was printed on a terminal: ASCII alone."""
    kept = {k: v for k, v in os.environ.items() if k not in ("LC_ALL", "LANG", "PYTHONUTF8", "PYTHONIOENCODING")}
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, *arguments], cwd=folder, env={**kept, **settings}, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        printed = b""
        with contextlib.suppress(OSError):  # the other end has closed
            while some := os.read(ours, 1 << 16):
                printed += some
        code = process.wait(300)
    os.close(ours)
    text = printed.decode("ascii")
    assert not re.search("Traceback|UnicodeEncodeError|UnicodeDecodeError", text), text[-2000:]
    return code, text


@pytest.mark.long
def test_every_commands_help(tmp_path: Path) -> None:
    code, text = run(["-c", EVERY_HELP], tmp_path, ASCII)
    assert code == 0
    assert text.count("Usage: ") > 80


@pytest.mark.parametrize("settings", [ASCII, POSIX], ids=["ascii", "posix"])
def test_tables_errors_and_names(tmp_path: Path, settings: dict[str, str]) -> None:
    (tmp_path / "s.csv").write_text("a,e\n1,Müller\n2,Ørsted\n", encoding="utf-8")
    command: list[str | bytes] = ["-m", "ringforge.cli"]
    build: list[str | bytes] = [*command, "psi", "build", "t", "--client-size", "20", "--set", "s.csv"]
    code, text = run([*build, "--column", "e"], tmp_path, settings)
    assert code == 0
    assert "elements" in text
    code, text = run([*command, "explain", "psi"], tmp_path, settings)
    assert code == 0
    assert re.search(r"\d us\b|\.\.\.", text)
    code, text = run([*build, "--replace", "--column", "Größe"], tmp_path, settings)
    assert code == 1
    assert r"Gr\xf6\xdfe" in text or r"\udcc3\udcb6" in text
    code, text = run([*command, "info", b"f\xff.key"], tmp_path, settings)
    assert code == 1
    assert "No such file" in text
