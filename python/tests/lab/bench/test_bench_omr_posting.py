# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge bench omr --posting`: a small board, really served."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ringforge.cli import main
from ringforge.errors import Error, ParameterError
from ringforge.lab.bench import omr_posting as bench
from ringforge.omr.sets import named
from ringforge.runs import Record
from tests.answers import printed

CASE = bench.PostingCase(named("test", "a test"), entries=300, clients=2, rounds=1)


def test_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["bench", "omr", "--posting", "test", "--insecure", "a test", "--database", "sqlite", "--entries", "300"]
    assert main([*words, "--rounds", "1", "--save", str(tmp_path)]) == 0
    assert "a second and core" in printed(capsys)
    (saved,) = tmp_path.glob("omr-posting-test-*.jsonl")
    record: dict[str, Any] = json.loads(saved.read_text())
    extra = record["extra"]
    assert extra["a_second"] == pytest.approx(1 / record["seconds"])
    assert extra["service_us"] > 0
    assert extra["database_us"] == 0
    assert main([*words, "--stages", "test"]) != 0


def test_refusals() -> None:
    for change in ({"clients": 9}, {"clients": 0}, {"entries": 1}, {"rounds": 0}, {"threads": 0}):
        with pytest.raises(ParameterError, match="1 to 8 clients"):
            replace(CASE, **change).check()  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="sqlite, postgresql"):
        next(bench.compare(CASE, ("oracle",)))


def test_a_service_that_does_not_start(tmp_path: Path) -> None:
    with (
        pytest.raises(Error, match=r"did not start: .*board"),
        bench._service(CASE, str(tmp_path / "none" / "board.sqlite"), tmp_path),
    ):
        pass


def test_processor_time_of_processes() -> None:
    assert 0 < bench._processor(os.getpid()) < 1e6
    assert bench._processor(os.getpid(), below=True) >= 0


def test_verdict_names_what_is_missed() -> None:
    extra = {"a_second": 1000.0, "wanted_a_second": 2000.0, "service_us": 1.0, "clients_us": 1.0, "database_us": 0.0}
    record = Record("omr", "posting, sqlite", "test", "ringforge", 1e-3, extra=extra)
    assert list(bench.verdict([record]).columns[-1].cells) == ["NOT REACHED"]
