# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge demo` names every system's demo, passes its options on, and says which extra it lacks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ringforge.cli import main
from ringforge.cli.demo_command import Demo, duration
from ringforge.registered import load, registered

SYSTEMS = ("matvec", "matmul", "psi", "gates", "omr", "aes")


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for name in SYSTEMS:
        assert f"ringforge demo {name} " in out
        demo = Demo(*load(registered("ringforge.demos")[name]))
        assert demo.about.split()[0] in out
        assert 0 < demo.seconds <= 120, "a demo is for people who wait"
    assert duration(20) == "20 s"
    assert duration(120) == "2 min"


@pytest.mark.parametrize("name", SYSTEMS)
def test_it_is_the_systems_demo(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    pages = []
    for words in (["demo", name], [name, "demo"]):
        assert main([*words, "--help"]) == 0
        page = capsys.readouterr().out
        assert f"ringforge {' '.join(words)} [OPTIONS]" in page
        pages.append(page.replace(" ".join(words), "", 1).split("Options")[1])
    assert pages[0] == pages[1]
    assert "Example" in page


def test_options_are_passed_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen = {}

    class Good:
        good = True

    monkeypatch.setattr("ringforge.gates.demo.run_demo", lambda **given: seen.update(given) or Good())
    assert main(["demo", "gates", "--out", str(tmp_path), "--threads", "2"]) == 0
    assert (seen["out"], seen["threads"]) == (tmp_path, 2)


@pytest.mark.parametrize(("name", "module"), [("matvec", "sklearn"), ("matmul", "sklearn"), ("psi", "zxcvbn")])
def test_without_the_extra(
    name: str, module: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for known in [m for m in sys.modules if m.split(".")[0] == module]:
        monkeypatch.setitem(sys.modules, known, None)
    for part in (module, f"{module}.datasets", f"{module}.frequency_lists"):
        monkeypatch.setitem(sys.modules, part, None)
    out = tmp_path / "out"
    assert main(["demo", name, "--out", str(out)]) == 1
    err = capsys.readouterr().err
    assert "pip install 'ringforge-he[demo]'" in err
    assert err.count("\n") == 1


def test_an_unknown_system() -> None:
    assert main(["demo", "soup"]) == 2
