# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge doctor` finds what is broken and says what mends it; a healthy machine ends with 0."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from ringforge import DISTRIBUTION, _native
from ringforge.cli import doctor_command, health, main, self_test
from ringforge.cli.findings import Finding, State, Tool
from ringforge.errors import Error

PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


def run(*words: str, **variables: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "ringforge.cli", "doctor", *words],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def findings(text: str) -> dict[tuple[str, str], dict[str, Any]]:
    document = json.loads(text)["result"]
    return {(f["group"], f["name"]): f for f in document["findings"]}


@pytest.fixture
def no_children(monkeypatch: pytest.MonkeyPatch) -> None:
    """Self-tests in this process, so that what tests change is seen; one kernel set stands for all."""
    digests = self_test.run()
    monkeypatch.setattr(self_test, "with_kernels", lambda _: dict(digests))


def state_of(group: str, name: str) -> Finding:
    return next(f for f in health.examine() if (f.group, f.name) == (group, name))


def test_a_healthy_machine() -> None:
    code, out, err = run("--json")
    assert (code, err) == (0, "")
    found = findings(out)
    for name in _native.kernels.available():
        assert found["kernels", name]["state"] == "ok", found["kernels", name]
    for name in {"ref", "avx2", "avx512"} - set(_native.kernels.available()):
        assert "the processor lacks" in found["kernels", name]["found"]
    assert {f["state"] for (group, _), f in found.items() if group in {"versions", "checks"}} == {"ok"}
    assert found["machine", "cores"]["found"].startswith(str(os.cpu_count()))
    for f in found.values():
        assert f["state"] != "missing" or f["remedy"] or f["group"] == "kernels", f


def test_a_kernel_set_that_this_processor_has_not() -> None:
    code, out, _ = run("--json", RINGFORGE_KERNELS="neon")
    assert code == 1
    found = findings(out)
    assert found["kernels", "in use"]["state"] == "broken"
    assert found["kernels", "in use"]["remedy"] == "unset RINGFORGE_KERNELS"
    assert not json.loads(out)["result"]["healthy"]


@pytest.mark.usefixtures("no_children")
def test_a_slower_kernel_set_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native.kernels, "available", lambda: ["ref", "avx2"])
    monkeypatch.setattr(_native.kernels, "active", lambda: "ref")
    f = next(f for f in health.examine() if f.group == "kernels" and f.name == "in use")
    assert (f.state, f.remedy) == (State.LIMITED, "unset RINGFORGE_KERNELS")
    assert "avx2 is faster" in f.found


def test_kernel_sets_that_differ_are_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    good = self_test.run()
    self_test.compare("avx2", good, good)
    with pytest.raises(Error, match="avx2 and ref differ in ckks"):
        self_test.compare("avx2", {**good, "ckks": "0"}, good)
    # A part without a sine is held against what it must be everywhere.
    both = {**good, "gates": "0"}
    with pytest.raises(Error, match="other bits than they must in gates"):
        self_test.compare("ref", both, both)
    monkeypatch.setattr(self_test, "with_kernels", lambda name: both if name == "ref" else good)
    assert state_of("kernels", "ref").state is State.BROKEN


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import os; os.kill(os.getpid(), 4)", "the process ended with -4"),
        ("raise SystemExit('no memory')", "no memory"),
        ('print(\'{"kernels": "avx9", "digests": {}}\')', "avx9 computed instead"),
        ("import time; time.sleep(60)", "it took more than 2 s"),
    ],
)
def test_a_child_that_fails(code: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., Any] = subprocess.run
    monkeypatch.setattr(self_test, "PATIENCE_SECONDS", 2)
    monkeypatch.setattr(subprocess, "run", lambda _, **options: real([sys.executable, "-c", code], **options))
    with pytest.raises(Error, match=words):
        self_test.with_kernels("ref")


@pytest.mark.usefixtures("no_children")
def test_broken_parts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(os, "getrandom", lambda n, _: b"\0" * n)
    monkeypatch.setattr(health.time, "time", lambda: 0.0)
    monkeypatch.setattr(
        health,
        "_requirements",
        lambda: [Requirement("numpy>=99"), Requirement("no-such-package"), Requirement("typer")],
    )
    assert state_of("checks", "random source").found == "its bytes repeat or are not even"
    assert "before this release" in state_of("checks", "clock").found
    packages = state_of("versions", "packages")
    assert packages.state is State.BROKEN
    assert "is not >=99" in packages.found
    assert "no-such-package is not installed" in packages.found
    assert main(["doctor"]) == 1
    err = capsys.readouterr().err
    assert err.count("broken:") == 3
    assert "Everything" not in err


@pytest.mark.usefixtures("no_children")
def test_missing_tools_are_no_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = {f.name: f for f in health.examine() if f.group == "tools"}
    assert found["C++ compiler"].state is State.MISSING
    assert found["C++ compiler"].remedy.endswith("g++ (so Debian calls it) with this system's packages")
    (tmp_path / "apt-get").write_text("#!/bin/sh\n")
    (tmp_path / "apt-get").chmod(0o755)
    assert state_of("tools", "Clang").remedy.endswith("apt-get install clang")
    assert main(["doctor"]) == 0


@pytest.mark.usefixtures("no_children")
def test_every_extra_is_explained() -> None:
    project = tomllib.loads(PROJECT.read_text())["project"]
    assert set(project["optional-dependencies"]) <= set(health.EXTRAS)
    extras = {f.name: f for f in health.examine() if f.group == "extras"}
    assert set(extras) == set(project["optional-dependencies"])
    for f in extras.values():
        assert f.gives
        assert f.state is State.OK or f"'ringforge-he[{f.name}]'" in f.remedy


def test_extras_within_an_extra_count(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        'no-such-peer; extra == "bench"',
        'no-such-plotter; extra == "plots"',
        'typer; extra == "round"',
        f'{DISTRIBUTION}[bench,plots]; extra == "lab"',
        f'{DISTRIBUTION.replace("-", "_")}[lab,round]; extra == "all"',
        f'{DISTRIBUTION}[round]; extra == "round"',
    ]
    monkeypatch.setattr(health, "_requirements", lambda: [Requirement(line) for line in lines])

    class Metadata:
        def get_all(self, *_: object) -> list[str]:
            return ["bench", "plots", "round", "lab", "all"]

    monkeypatch.setattr(health.importlib.metadata, "metadata", lambda _: Metadata())
    found = {f.name: f for f in health._extras()}
    for name in ("lab", "all"):
        assert found[name].state is State.MISSING
        assert set(found[name].found.split("; ")) == {
            "no-such-peer is not installed",
            "no-such-plotter is not installed",
        }
    assert found["round"].state is State.OK


def test_tools_of_rooms_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f.name for f in health.examine_tools()]
    assert {"Verilator", "Yosys", "nextpnr", "PostgreSQL", "Graphviz", "Chromium"} <= set(names)
    assert len(set(names)) == len(names)
    monkeypatch.setattr(health, "own_tools", lambda: [Tool("T", "", "nothing", "ringforge-he[hw]", pip=True)])
    first = next(iter(health.examine_tools()))
    assert first.remedy == f"{sys.executable} -m pip install 'ringforge-he[hw]'"


@pytest.mark.usefixtures("no_children")
def test_tables_have_a_place_for_every_group() -> None:
    groups = {f.group for f in health.examine()}
    assert groups == set(doctor_command._TITLES)
