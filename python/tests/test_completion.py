# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Completion in bash, zsh and fish, which are run for it, and what is offered at which place of a line."""

from __future__ import annotations

import ast
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
import typer.main

from ringforge import devices, params
from ringforge.cli import app, completion, main
from ringforge.gates import sets as gate_sets

_COMMAND = typer.main.get_command(app)


def words(line: str) -> list[str]:
    """What is offered at the end of a line."""
    return [value for value, _ in completion.candidates(_COMMAND, line)]


# ---- what is offered -----------------------------------------------------------------------------


def test_commands() -> None:
    systems = {"matvec", "matmul", "psi", "gates", "omr", "aes"}
    assert systems | {"bench", "reproduce", "hw", "explore", "info", "params"} <= set(words("ringforge "))
    assert words("ringforge mat") == ["matvec", "matmul"]
    assert words("ringforge omr detect s") == ["serve"]
    assert words("ringforge no-such-command ") == []
    assert "matmul" in words("ringforge hw lint "), "machines are commands of some commands"


def test_options() -> None:
    assert words("ringforge psi serve --dev") == ["--device"]
    assert words("ringforge psi serve --device cpu --dev") == [], "it is given already"
    assert words("ringforge psi serve --device cpu --thr") == ["--threads"]
    assert words("ringforge --vers") == ["--version"]
    assert "--help" in words("ringforge matvec plan -")
    assert words("ringforge gates run -- --dev") == [], "after -- there are no options"


def test_values() -> None:
    assert words("ringforge psi serve table --device ") == ["ray:local", "ray:auto", *devices.names()]
    assert words("ringforge matvec evaluate --device=rtl:matvec-a") == ["--device=rtl:matvec-a"]
    assert words("ringforge matmul plan --params set") == [n for n in params.names() if n.startswith("set")]
    assert words("ringforge params show ")[:3] == params.names()[:3]
    assert words("ringforge gates keygen --params ") == gate_sets.names()
    assert words("ringforge omr board serve --set ") == ["paper", "ringforge", "test"]
    assert words("ringforge aes serve --scheme b") == ["bgv"]
    assert "all" in words("ringforge explore matvec ")
    assert words("ringforge --install-completion z") == ["zsh"]


def test_files_are_left_to_the_shell() -> None:
    for line in ("matvec plan --model ", "matvec plan --model=m", "info ", "psi serve tab", "psi serve --listen 127"):
        assert words(f"ringforge {line}") == [], line


def test_quotations_and_nonsense() -> None:
    assert words("ringforge 'psi' serve --dev") == ["--device"]
    assert words("ringforge psi serve --log 'a file' --dev") == ["--device"]
    assert words("ringforge psi serve --log 'a fi") == []
    assert words("ringforge psi serve --no-such-option --dev") == ["--device"]
    for line in (
        "",
        " ",
        "'",
        "ringforge \\",
        "ringforge -",
        "ringforge --",
        "ringforge = : = --=",
        "ringforge psi --",
    ):
        completion.candidates(_COMMAND, line)


def test_every_command_is_offered_with_its_options() -> None:
    """Whatever a command's options are, none breaks the completion of its line."""
    seen = 0
    todo = ["ringforge"]
    while todo:
        line = todo.pop()
        for name in words(f"{line} "):
            if line.split()[-1] in {"explore", "show", "params"} and name not in {
                "list",
                "show",
                "suggest",
                "estimate",
            }:
                continue  # values of an argument
            if line.count(" ") < 2:
                todo.append(f"{line} {name}")
        assert "--help" in words(f"{line} --h"), line
        seen += 1
    assert seen > 60


# ---- shells --------------------------------------------------------------------------------------


def _environment(home: Path) -> dict[str, str]:
    bin_folder = home / "bin"
    bin_folder.mkdir(exist_ok=True)
    program = bin_folder / "ringforge"
    paths = os.pathsep.join(os.path.abspath(p) for p in sys.path if p)
    program.write_text(f'#!/bin/sh\nPYTHONPATH={paths!r} exec {sys.executable!r} -m ringforge.cli "$@"\n')
    program.chmod(0o755)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "COMP", "ZDOT", completion.LINE))}
    return {**kept, "HOME": str(home), "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}", "TERM": "dumb"}


def typed(home: Path, shell: list[str], setup: str, keys: list[str]) -> list[list[str]]:
    """Types lines with tabs into a shell on a terminal; returns the words of each when it is entered."""
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 2000, 0, 0))
    work = home / "work"
    work.mkdir(exist_ok=True)
    (work / "model-of-mine.onnx").touch()
    process = subprocess.Popen(
        shell, stdin=inner, stdout=inner, stderr=inner, env=_environment(home), cwd=work, start_new_session=True
    )
    os.close(inner)
    show = f"{sys.executable} {home / 'show.py'} "
    (home / "show.py").write_text(f"import sys\nopen({str(home / 'seen')!r}, 'a').write(repr(sys.argv[1:]) + '\\n')\n")
    # Ctrl-A goes to the beginning of the line; what stands there then is an argument of another program.
    text = setup + "\n" + "".join(f"{line}\x01{show}\n" for line in keys) + "exit\n"
    os.write(outer, text.encode())
    try:
        while os.read(outer, 1 << 16):
            pass
    except OSError:  # the terminal has no other end any more
        pass
    process.wait()
    os.close(outer)
    lines = (home / "seen").read_text().splitlines()
    return [ast.literal_eval(line) for line in lines]


#: What is typed, a tab being the key, and the words that it becomes.
_TYPED = {
    "ringforge omr det\t": ["omr", "detect"],
    "ringforge aes serve --device rtl:aes-f\t": ["aes", "serve", "--device", "rtl:aes-fast"],
    "ringforge params show --insecure=a set-b-\t": ["params", "show", "--insecure=a", "set-b-54"],
    "ringforge info model-of\t": ["info", "model-of-mine.onnx"],
}


def test_bash(tmp_path: Path) -> None:
    assert main(["--show-completion", "bash"]) == 0
    (tmp_path / "script").write_text(completion.script("bash"))
    setup = f"source {tmp_path / 'script'}"
    seen = typed(tmp_path, ["bash", "--norc", "--noprofile", "-i"], setup, list(_TYPED))
    assert seen == [["ringforge", *line] for line in _TYPED.values()]


def test_zsh(tmp_path: Path) -> None:
    (tmp_path / "script").write_text(completion.script("zsh"))
    setup = f"unsetopt zle_bracketed_paste; autoload -Uz compinit; compinit -u -D; source {tmp_path / 'script'}"
    seen = typed(tmp_path, ["zsh", "-f", "-i"], setup, list(_TYPED))
    assert seen == [["ringforge", *line] for line in _TYPED.values()]


def test_fish(tmp_path: Path) -> None:
    script = tmp_path / ".config/fish/completions/ringforge.fish"
    script.parent.mkdir(parents=True)
    script.write_text(completion.script("fish"))
    environment = _environment(tmp_path)
    for line, done in _TYPED.items():
        (tmp_path / "model-of-mine.onnx").touch()
        found = subprocess.run(
            ["fish", "--private", "-c", f"complete --do-complete='{line.strip()}'"],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert found.stdout.split("\t")[0].strip() == done[-1], found


@pytest.mark.parametrize("shell", completion.shells())
def test_install(
    shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["--install-completion", shell]) == 0
    (written,) = [p for p in tmp_path.rglob("*") if p.is_file()]
    said = " ".join(capsys.readouterr())
    assert str(written) in said
    assert written.read_text() == completion.script(shell)
    assert main(["--install-completion", shell]) == 0, "again, after an upgrade"


def test_refusals(capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("--show-completion", "--install-completion"):
        assert main([option, "tcsh"]) == 1
        assert "bash, zsh, fish" in capsys.readouterr().err


def test_nothing_runs_and_nothing_is_said_of_errors(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(completion.LINE, "ringforge params show set-b")
    assert main(["params", "show", "set-b"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0].split("\t")[0] == "set-b"
    assert "primes" not in out
    assert err == ""
