# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Options that texts name exist: in errors and hints, in help, and in remedies of the library as commands tell them."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringforge.cli import main
from ringforge.cli.app import commands, options_of
from ringforge.cli.console import _OPTIONS, remedied

PACKAGE = Path(__file__).parents[1] / "ringforge"

#: Rooms whose texts are told by commands of another name too.
_TOLD_BY = {"core": "explore", "machines": "hw"}

#: Options of other programs, by what calls them.
_FOREIGN = {
    "aes/bases.py",  # python -m ringforge.aes.bases
    "cli/completion.py",  # fish
    "devices/conformance.py",  # python -m
    "hw/core/formal.py",  # Yosys
    "hw/core/package.py",  # v++
    "hw/core/synthesis.py",  # Yosys
    "ltv/keys.py",  # python -m ringforge.ltv
    "matvec/service.py",  # python -m ringforge.matvec.service
    "scale/pool.py",  # ray
}

_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]+")
_LINE = re.compile(r"ringforge ((?:[a-z][a-z_-]*\b ?)+)([^`\n]*)")


@functools.cache
def options() -> dict[str, frozenset[str]]:
    """Options of every command."""
    return {name: options_of(name.split()) | {"--help"} for name, _ in commands()}


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Strings of a file with their lines; values in f-strings are left out."""
    tree = ast.parse(path.read_text("utf-8"))
    parts = {id(v) for n in ast.walk(tree) if isinstance(n, ast.JoinedStr) for v in n.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(str(v.value) if isinstance(v, ast.Constant) else "_" for v in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.lineno, node.value


def told_by(relative: Path) -> frozenset[str]:
    """Options of the commands that tell texts of a file: those of its room, or of all where it has none."""
    room = relative.parts[1] if relative.parts[0] == "lab" else relative.parts[0]
    rooms = {room, *(_TOLD_BY[part] for part in relative.parts if part in _TOLD_BY)}
    own = [found for name, found in options().items() if name.split()[0] in rooms]
    return frozenset().union(*(own or options().values()))


def unknown(text: str, of: frozenset[str]) -> list[str]:
    """Options that a text names and its commands do not have, nor a whole command line in it."""
    missing = []
    rest = text
    for line in _LINE.finditer(text):
        words = line[1].split()
        while words and " ".join(words) not in options():
            words.pop()
        if words:
            has = options()[" ".join(words)]
            missing += [f"{' '.join(words)} {o}" for o in _OPTION.findall(line[2].split("&&")[0]) if o not in has]
            rest = rest.replace(line[0], "")
    # A text may name a command of another room by its room alone: `ringforge bench SYSTEM --save`.
    elsewhere = {o for r in ("bench", "explore") if f"ringforge {r} " in text for n in options() if n.startswith(r)
                 for o in options()[n]}  # fmt: skip
    return missing + [o for o in _OPTION.findall(rest) if o not in of | elsewhere]


def test_options_in_texts_exist() -> None:
    every = frozenset().union(*options().values())
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        relative = path.relative_to(PACKAGE)
        if str(relative) in _FOREIGN:
            continue
        for line, text in texts(path):
            if " " not in text or "--" not in text:
                continue
            of = told_by(relative)
            # Devices run what another room compiled; the page of results is made of benches.
            if relative.parts[0] in ("hw", "lab"):
                of = every
            found += [f"{relative}:{line}: {o}" for o in unknown(text, of)]
    assert not found


def test_the_sweep_finds_what_is_missing() -> None:
    of = options()["psi serve"]
    assert unknown("give --insecure", of) == ["--insecure"]
    assert unknown("`ringforge psi serve t --insecure why`", of) == ["psi serve --insecure"]
    assert unknown("`ringforge psi build t --insecure why`, or --listen", of) == []


@pytest.mark.parametrize("python", list(_OPTIONS))
def test_remedies_are_options_only_where_there_are_such(python: str) -> None:
    option = next(word for word in _OPTIONS[python].split() if word.startswith("--"))
    with_it = [name for name, has in options().items() if option in has]
    without = [name for name, has in options().items() if option not in has]
    assert with_it
    assert without
    message = f"too weak: state a reason with {python}"
    assert option in remedied(message, options()[with_it[0]])
    for name in without:
        told = remedied(message, options()[name])
        assert option not in told
        assert f"{python.strip()} in Python" in told


def test_commands_do_not_name_options_that_they_refuse(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("set.txt").write_text("1\n2\n3\n")
    words = ["psi", "build", "table", "--set", "set.txt", "--mode", "direct", "--bits", "16", "--bins", "6"]
    words += ["--algorithm", "paper"]
    assert main(words) == 1
    told = capsys.readouterr().err
    assert "below 128 bits" in told
    assert '--insecure "..."' in told
    assert main([*words, "--insecure", "a test"]) == 0
    capsys.readouterr()
    assert main(["psi", "explain", "table"]) == 0
    assert "a test" in "".join(capsys.readouterr())
    # A command without the option says where the remedy is.
    assert main(["bench", "ring", "--case", "nothing"]) != 0
    assert "--insecure" not in capsys.readouterr().err
