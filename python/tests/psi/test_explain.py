# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge psi explain`: plans of tables that are there, and of tables that might be."""

from __future__ import annotations

from pathlib import Path

import pytest

from ringforge import _native
from ringforge.cli import main
from ringforge.psi.store import Store
from tests.answers import printed
from tests.psi.processes import Serving

pytestmark = pytest.mark.skipif(not hasattr(_native, "psi"), reason="counts are the native plan's")


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.chdir(tmp_path)


def test_of_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Store.build(tmp_path / "table", {f"element {i}".encode(): b"label" for i in range(50)}, log_bins=6)
    assert main(["psi", "explain", "table", "--paper"]) == 0
    here = printed(capsys)
    for words in ("up to 10 bytes", "external products", "evaluation keys", "gadget", "ringforge: 2^6", "paper: 2^6"):
        assert words in here
    with Serving(tmp_path) as serving:
        assert main(["psi", "explain", "--server", serving.address, "--paper"]) == 0
    assert printed(capsys) == here


def test_of_a_table_of_the_published_algorithm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Store.build(tmp_path / "table", range(50), mode="direct", bits=16, log_bins=6, algorithm="paper", insecure="a test")
    assert main(["psi", "explain", "table"]) == 0
    out = printed(capsys)
    assert "integers below 2^16" in out
    assert "ringforge:" not in out


def test_without_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    explain("--capacity 1000 --bins 7 --label-bytes 3 --paper")
    both = printed(capsys)
    assert "ringforge: 2^7 bins" in both
    assert "paper: 2^7 bins" in both
    explain("--capacity 1000 --bins 7 --mode direct --bits 20")
    out = printed(capsys)
    assert "ringforge: 2^7 bins of 2^15 cells" in out
    assert "paper:" not in out


def test_the_plan_is_the_one_that_build_makes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Store.build(tmp_path / "table", {f"element {i}".encode(): b"label" for i in range(50)}, log_bins=6)
    assert main(["psi", "explain", "table"]) == 0
    there = capsys.readouterr().out
    explain(f"--capacity 50 --bins 6 --label-bytes {Store(tmp_path / 'table').info.label_bytes - 1}")
    assert there.endswith(capsys.readouterr().out)


def explain(words: str) -> None:
    assert main(["psi", "explain", *words.split()]) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "--capacity ELEMENTS"),
        ("table --capacity 10", "leave the table away"),
        ("table --server 127.0.0.1:1", "say which table"),
        ("table", "no table"),
        ("--capacity 10 --mode direct --label-bytes 1", "no labels"),
        ("--capacity 10 --mode other", "oprf or direct"),
        ("--capacity 10 --algorithm other", "auto or ringforge or poly or paper"),
    ],
)
def test_refusals(capsys: pytest.CaptureFixture[str], words: str, message: str) -> None:
    assert main(["psi", "explain", *words.split()]) == 1
    out, err = capsys.readouterr()
    assert message in err
    assert (out, err.count("\n")) == ("", 1)
