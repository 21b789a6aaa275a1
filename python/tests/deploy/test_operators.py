# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""docs/operators.md says what is there: its capacity, units, settings, options."""

from __future__ import annotations

import importlib.util
import re
import sys
from typing import Any

import pytest
import typer.main

from ringforge.cli import app, completion
from tests.deploy.units import ROOT, units

_PAGE = (ROOT / "docs/operators.md").read_text()


def test_capacity_is_what_its_command_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("capacity", ROOT / "tools/capacity.py")
    assert spec is not None
    assert spec.loader is not None
    capacity: Any = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "capacity", capacity)
    spec.loader.exec_module(capacity)
    assert capacity.written(_PAGE) == _PAGE
    assert len(list(capacity.rows())) == 8
    with pytest.raises(ValueError, match="no lines"):
        capacity.written("a page without a table")


def test_every_unit_has_a_row() -> None:
    rows = dict(re.findall(r"^\| `ringforge-([a-z]+)[@A-Z]*` \| .*? \| (.*?) \|$", _PAGE, re.MULTILINE))
    for unit in units():
        files = {line.partition("/etc/ringforge/")[2] for line in unit.settings.get("LoadCredential", [])}
        assert set(re.findall(r"`([^`]+)`", rows.pop(unit.stem))) == files
    assert not rows


def test_options_and_their_defaults_are_those_of_the_commands() -> None:
    command: Any = typer.main.get_command(app)
    table = _PAGE[_PAGE.index("## Quotas and limits") : _PAGE.index("Every service lets a client")]
    paths = {"psi": "psi serve", "board": "omr board serve", "detector": "omr detect serve", "aes": "aes serve"}
    for service, path in paths.items():
        (row,) = re.findall(rf"^\| `{service}` \|(.*)$", table, re.MULTILINE)
        at = command
        for word in path.split():
            at = at.get_command(typer.Context(at), word)
        defaults = {p.opts[0]: p.default for p in at.params}
        known = {name for name, _ in completion.candidates(command, f"ringforge {path} --")}
        stated = re.findall(r"`(--[a-z-]+)`(?: (2\^\d+|[\d]+(?:[GM]iB)?))?", row)
        assert stated
        for option, value in stated:
            assert option in known, option
            if value and not option.startswith(("--prf", "--bins")):  # theirs are the table's
                number = 1 << int(value[2:]) if value.startswith("2^") else value
                assert str(defaults[option]) == str(number), option
