# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge hw cycles aes`: what it prints, keeps and refuses."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from ringforge.cli import main
from tests.answers import parted

Run = Callable[..., str]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `hw cycles aes` with these words, and returns what it printed: errors, if it is to fail."""

    def go(words: str, code: int = 0) -> str:
        capsys.readouterr()
        found = main(["hw", "cycles", "aes", *shlex.split(words)])
        out, err = parted(*capsys.readouterr())
        assert bool(found) == bool(code), err
        return err if code else out

    return go


def kept(folder: Path) -> list[dict]:
    return [json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.read_text().splitlines()]


def test_records_repeat_the_run(run, tmp_path):
    """The command in a record gives the record's cycles again, and other options have files of their own."""
    for given in (
        "--transform --config aes-paper",
        "--product --primes 2 --terms 3",
        "--product --primes 2",
        "--relinearise --primes 1 --digits 4 --link-gap 0",
        "--relinearise --primes 1 --digits 4 --ciphertexts 2 --batch 1",
    ):
        run(f"{given} --model --save {tmp_path}")
    records = kept(tmp_path)
    assert len(records) == 5 + 4
    for number, record in enumerate(records):
        again = tmp_path / str(number)
        run(f"{record['extra']['command'].partition(' aes ')[2]} --save {again}")
        assert record["cycles"] in [r["cycles"] for r in kept(again) if r["case"] == record["case"]]
    names = {record["case"] for record in records}
    assert names == {"transform", "inverse", "multiply", "scale", "reverse", "product", "relinearisation"}


def test_what_is_refused(run):
    for given, why in (
        ("", "say what to run"),
        ("--transform --product", "say what to run"),
        ("--product --model --log-n 11", "takes transforms of 2^12 to 2^16 words"),
        ("--product --config aes-fat", "no machine is called"),
    ):
        assert why in " ".join(run(given, code=1).split())


def test_results_in_rtl(run, machines):
    machines("aes-small")
    output = run("--transform --config aes-small --log-n 8")
    assert "RTL" in output
    for case in ("transform", "padded", "inverse", "multiply", "scale"):
        assert case in output
