# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What packages register: our own is all there, others' comes after it and replaces nothing, what is broken is said."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from ringforge import _native
from ringforge.registered import load, registered

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def _run(code: str, *paths: Path) -> subprocess.CompletedProcess[str]:
    """Python code in a new process with these folders first on the path."""
    path = os.pathsep.join([*map(str, paths), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "200"}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)


def _ringforge(words: str, *paths: Path) -> subprocess.CompletedProcess[str]:
    return _run(f"import sys; from ringforge.cli import main; sys.exit(main({words.split()!r}))", *paths)


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    """A folder with an installed package that registers commands: one of its own, one of ours, one that is broken."""
    (tmp_path / "stranger.py").write_text(
        "import typer\napp = typer.Typer(help='A room of strangers.')\n\n"
        "@app.callback()\ndef root() -> None: ...\n\n"
        "@app.command()\ndef greet() -> None:\n    print('good day')\n"
    )
    info = tmp_path / "stranger-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[ringforge.commands]\nbroken = stranger:absent\nmatvec = stranger:app\ninfo = stranger:app\n"
        "strangers = stranger:app\n"
    )
    return tmp_path


def test_everything_of_ours_is_there() -> None:
    """In the order of pyproject.toml, and each can be imported."""
    groups = PROJECT["entry-points"]
    assert {"ringforge.commands", "ringforge.files.begin", "ringforge.files.format", "ringforge.files.suffix"} <= {
        *groups
    }
    for group, entries in groups.items():
        found = registered(group)
        assert list(found)[: len(entries)] == list(entries)
        assert {name: found[name].value for name in entries} == entries
        for name in entries:
            assert load(found[name]) is not None
    assert all(isinstance(load(entry), typer.Typer) for entry in registered("ringforge.commands").values())
    assert all(callable(load(e)) for g in groups if g.startswith("ringforge.files.") for e in registered(g).values())


def test_nothing_is_imported_before_it_is_asked_for() -> None:
    rooms = ("matvec", "matmul", "psi", "gates", "hw", "lab")
    done = _run(
        "import sys\nfrom ringforge.cli import main\nfrom ringforge.registered import registered\n"
        f"assert main(['--version']) == 0\nassert len(registered('ringforge.commands')) >= 7\n"
        f"early = [m for m in {rooms} if 'ringforge.' + m in sys.modules]\nassert not early, early\n"
    )
    assert done.returncode == 0, done.stderr


def test_a_package_adds_a_command_and_replaces_none(stranger: Path) -> None:
    done = _ringforge("strangers greet", stranger)
    assert (done.returncode, done.stdout) == (0, "good day\n")
    shown = _ringforge("--help", stranger).stdout
    rows = [line.split()[1] for line in shown.splitlines() if line.startswith("│ ") and line[2] != " "]
    commands = [r for r in rows if not r.startswith("-")]
    theirs = [*PROJECT["entry-points"]["ringforge.commands"], "strangers"]
    assert commands[-len(theirs) :] == theirs
    assert set(commands[: -len(theirs)]) == {"info", "schema", "doctor", "explain", "params", "demo"}
    assert "greet" not in _ringforge("matvec --help", stranger).stdout
    assert "greet" not in _ringforge("info --help", stranger).stdout


def test_a_broken_package_is_named_and_the_others_stay(stranger: Path) -> None:
    done = _ringforge("broken", stranger)
    assert done.returncode == 2
    assert "warning: stranger:absent, which is registered as broken of ringforge.commands, cannot be" in done.stderr
    assert "remove it" in done.stderr
    assert _ringforge("strangers greet", stranger).returncode == 0


def _registered(folder: Path) -> list[str]:
    """Names of commands, in a process that has the package in this folder and no other."""
    code = "from ringforge.registered import registered; print(*registered('ringforge.commands'))"
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def _package(folder: Path, put: Callable[[Path, Path], object]) -> None:
    """What of the package tells what is registered: copies of it, or links to it."""
    (folder / "ringforge").mkdir(parents=True)
    native = Path(_native.__file__)
    (folder / "ringforge" / native.name).symlink_to(native)
    for module in (ROOT / "python" / "ringforge").glob("*.py"):
        put(module, folder / "ringforge" / module.name)


def test_an_installed_package_says_what_it_registers(tmp_path: Path) -> None:
    """Without a source tree around the modules their metadata count, and without those there is nothing."""
    site = tmp_path / "lib" / "site"
    _package(site, shutil.copyfile)
    # A project of somebody else's around it is not ours.
    (site.parent / "pyproject.toml").write_text("[project]\nname = 'stranger'\n")
    assert _registered(site) == []
    info = site / "ringforge_he-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ringforge-he\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text("[ringforge.commands]\nmatvec = ringforge.matvec.cli:app\n")
    assert _registered(site) == ["matvec"]


def test_a_folder_of_links_has_our_commands(tmp_path: Path) -> None:
    """As `tools/sanitize.sh` reads the package: without metadata of its own."""
    _package(tmp_path, lambda source, target: target.symlink_to(source))
    assert _registered(tmp_path) == list(PROJECT["entry-points"]["ringforge.commands"])
