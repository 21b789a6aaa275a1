# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Private set intersection between processes at tiny shapes: random sets, checked results, records."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from ringforge import _native
from ringforge.cli import main
from ringforge.errors import Error, ParameterError
from ringforge.lab.bench import psi as bench
from ringforge.runs import Record, load
from tests.answers import printed

TINY = bench.PsiCase("direct", bits=18, bins=6, elements=7, client=4, threads=1)

processes = pytest.mark.skipif(not hasattr(_native, "psi"), reason="this build has no private set intersection")


# ---- sets ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "bits"), [(16, 4), (1000, 12), (5000, 32), (100, 25), (100, 64)])
def test_elements_differ(count: int, bits: int) -> None:
    found = bench.distinct(np.random.default_rng(1), count, bits)
    assert len(set(found.tolist())) == count
    assert int(found.max()) < 1 << bits


def test_half_of_a_client_is_shared() -> None:
    case = bench.PsiCase(elements=10, client=6)
    sets = bench.draw(case, clients=2, least=8)
    small = set(sets.server[: 1 << 8].tolist())
    a, b = (set(c.tolist()) for c in sets.clients)
    assert (len(a), len(b), a == b) == (64, 64, False)
    assert len(a & small) == len(b & small) == 32
    assert len(a & set(sets.server.tolist())) == 32
    assert bench.draw(case).server.tolist() == bench.draw(case).server.tolist()


def test_client_larger_than_the_server() -> None:
    sets = bench.draw(bench.PsiCase(elements=3, client=6))
    assert len(set(sets.clients[0].tolist())) == 64
    assert set(sets.server.tolist()) <= set(sets.clients[0].tolist())


def test_files(tmp_path: Path) -> None:
    numbers = np.array([5, 255], np.uint64)
    assert bench.write(tmp_path / "a", numbers, "direct").read_text() == "5\n255\n"
    assert bench.write(tmp_path / "a", numbers, "oprf").read_text() == f"{5:016x}\n{255:016x}\n"


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (bench.PsiCase("hash"), "take direct or oprf"),
        (bench.PsiCase(algorithm="fast"), "take one of ringforge, paper"),
        (bench.PsiCase(capacity=12), "more than the capacity"),
        (bench.PsiCase(bits=20), "take fewer elements or more bits"),
    ],
)
def test_refused_before_anything_is_drawn(case: bench.PsiCase, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        next(bench.compare([case]))


def test_independence_needs_sizes() -> None:
    with pytest.raises(ParameterError, match="at least one size"):
        next(bench.independence(TINY, []))


# ---- processes -----------------------------------------------------------------------------------


@processes
@pytest.mark.long
def test_both_algorithms() -> None:
    records = list(bench.compare([TINY, replace(TINY, algorithm="paper")]))
    assert [r.algorithm for r in records] == ["ringforge", "paper"]
    for r in records:
        x = r.extra
        assert (r.case, r.peer) == ("direct b=18", None)
        assert (x["matches"], x["queries"], x["server_elements"], x["client_elements"]) == (8, 1, 128, 16)
        assert set(x["sent"]) >= {"keys", "requests"}
        assert x["received"]["replies"] > 0
        assert len(x["rounds_cpu_seconds"]) == 1
        assert r.seconds > 0
        assert r.peak_mib is not None
        assert r.peak_mib > 10
        assert x["build_seconds"] > 0
    assert not records[0].extra["insecure"]
    assert "paper" in records[1].extra["insecure"]


@processes
@pytest.mark.long
def test_sizes_of_the_server() -> None:
    case = bench.PsiCase("oprf", bins=5, client=4, threads=1)
    records = list(bench.independence(case, [4, 6], instances=1))
    assert [r.extra["server_elements"] for r in records] == [16, 64]
    assert {r.extra["capacity"] for r in records} == {64}, "planned for the largest"
    assert {r.extra["cells"] for r in records} == {records[0].extra["cells"]}
    assert all(len(r.extra["rounds_cpu_seconds"]) == 2 for r in records), "two clients"
    assert all(r.extra["sent"]["prf"] > 16 * 32 for r in records)
    assert "medians of the sizes differ by" in bench.verdict(records)
    text = io.StringIO()
    Console(file=text, width=300).print(bench.details(records))
    assert "2^6 and 2^4" in text.getvalue()


@processes
def test_wrong_result_is_told(tmp_path: Path) -> None:
    server = bench.write(tmp_path / "server", np.arange(10, dtype=np.uint64), "direct")
    bench.build(tmp_path / "table", server, TINY)
    with bench.Serving(tmp_path / "table", 1) as serving, pytest.raises(Error, match="1 elements that are not"):
        bench.ask(serving, server, TINY, {str(i) for i in range(9)})


@processes
def test_failing_processes_are_told(tmp_path: Path) -> None:
    with pytest.raises(Error, match="psi build ended with status"):
        bench.build(tmp_path / "table", tmp_path / "nothing", TINY)
    with pytest.raises(Error, match="did not start"):
        bench.Serving(tmp_path / "table", 1)


def made(case: bench.PsiCase, *cpu_seconds: float) -> Record:
    """A record of runs that took so long."""
    bytes_, answer = {"requests": 1 << 20}, {"seconds": {}, "probabilities": {}}
    runs = [bench.Run(c / 2 + 0.5, c, 300.0, 10.0, 1.0, 1, bytes_, {}, 4, answer) for c in cpu_seconds]
    built = {"capacity": 1 << 20, "cells": 1 << 20, "insecure": "", "seconds": 3.0, "bytes_on_disk": 5}
    return bench._record(case, runs, built)


def test_tables_row_of_the_paper() -> None:
    record = made(bench.PsiCase(), 17.0, 90.0, 5.0)
    assert (record.seconds, record.wall_seconds, record.cpu_seconds) == (9.0, 9.0, 17.0), "of median processor time"
    assert (record.peer, record.peer_seconds) == ("paper", 1642)
    assert record.ratio == pytest.approx(1642 / 9)
    assert (record.extra["paper_sent_mib"], record.extra["paper_received_mib"]) == (27.0, 256)
    assert made(bench.PsiCase("oprf"), 1.0).peer is None


@processes
def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "--bits 18 --bins 6 --elements 7 --client 4 --threads 1 --save"
    assert main(["bench", "psi", *words.split(), str(tmp_path)]) == 0
    (saved,) = tmp_path.glob("psi-direct-6-*.jsonl")
    (record,) = load(saved)
    assert (record.algorithm, record.extra["matches"], record.clock) == ("ringforge", 8, "wall")
    assert record.machine is not None
    assert "load of 1, 5 and 15 minutes" in printed(capsys)


@processes
@pytest.mark.long
def test_command_with_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    words = "--mode oprf --bins 5 --client 4 --threads 1 --sizes 4,6 --instances 1 --rounds 2"
    assert main(["bench", "psi", *words.split()]) == 0
    assert "medians of the sizes differ by" in printed(capsys)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--sizes 4,x", "integers with commas"),
        ("--sizes 4,5 --algorithm both", "one algorithm at a time"),
        ("--bits 16", "take fewer elements or more bits"),
    ],
)
def test_command_refuses(words: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "psi", *words.split()]) != 0
    assert message in " ".join(capsys.readouterr().err.replace("│", " ").split())
