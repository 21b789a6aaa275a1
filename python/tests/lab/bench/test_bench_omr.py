# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""BFV beside Lattigo at a small set: what is asked of the peer, what is reported, refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ringforge.cli import main
from ringforge.errors import Error, ParameterError
from ringforge.lab.bench import omr
from ringforge.lab.peers import lattigo
from ringforge.lab.timing import Timing, both_clocks
from ringforge.params import named_bfv
from ringforge.runs import Record
from tests.answers import printed

CASE = omr.OmrCase("omr-test", rotations=2, diagonals=12, babies=4, rounds=2, budget_s=0.01, insecure="a test")
OPERATIONS = [case for case in omr.CASES if case != "affine"]


@pytest.fixture
def asked(built: Path, monkeypatch: pytest.MonkeyPatch) -> list[lattigo.Request]:  # noqa: ARG001 (is there first)
    """What Lattigo is asked; it answers as ever."""
    requests: list[lattigo.Request] = []
    real = lattigo.run

    def run(request: lattigo.Request) -> lattigo.Result:
        requests.append(request)
        return real(request)

    monkeypatch.setattr(lattigo, "run", run)
    return requests


def test_the_peer_gets_our_primes(asked: list[lattigo.Request]) -> None:
    records = list(omr.compare(CASE, OPERATIONS))
    assert [r.case for r in records] == OPERATIONS
    assert [r.case for r in asked] == [omr.PEERS[c] for c in OPERATIONS for _ in range(2)]
    p = named_bfv("omr-test", "a test")
    for request in asked:
        assert (request.q, request.p) == (tuple(p.q), tuple(p.p))
        assert (request.log_n, request.plaintext_modulus) == (12, 786_433)
    for r in records:
        assert r.clock == "processor"
        assert r.ratio == pytest.approx((r.peer_cpu_seconds or 0) / (r.cpu_seconds or 1))
        assert min(r.wall_seconds or 0, r.cpu_seconds or 0, r.peer_wall_seconds or 0, r.peer_cpu_seconds or 0) > 0
        assert json.loads(r.to_json())["case"] == r.case


def test_affine_gives_two_records(asked: list[lattigo.Request]) -> None:
    """Outputs are checked by the bench itself, against the products in the clear."""
    case = omr.OmrCase("omr-test", diagonals=16, babies=4, rounds=1, insecure="a test")
    plain, encoded = omr.compare(case, ["affine"])
    (request,) = asked
    assert (request.case, request.diagonals) == ("bfv_affine", tuple(range(16)))
    assert (plain.case, encoded.case) == ("affine", "affine with encoding")
    assert encoded.seconds > plain.seconds > 0
    assert (encoded.peer_cpu_seconds or 0) > (plain.peer_cpu_seconds or 0) > 0
    assert (encoded.peer_wall_seconds or 0) > (plain.peer_wall_seconds or 0) > 0
    assert plain.extra["giants"] == 4
    assert plain.extra["keys"] == 2
    assert plain.extra["wanted_ratio"] == encoded.extra["wanted_ratio"] == 6.0


def test_affine_in_clear_is_the_negacyclic_product() -> None:
    n, t = 8, 97
    rng = np.random.default_rng(1)
    a, s = rng.integers(0, t, (3, n), dtype=np.uint32), rng.integers(0, t, n, dtype=np.uint32)
    for row, got in zip(a, omr.affine_in_clear(a, s, 2, t), strict=True):
        full = [0] * (2 * n)
        for i in range(n):
            for j in range(n):
                full[i + j] += int(row[i]) * int(s[j])
        assert got.tolist() == [(full[k] - full[n + k]) % t for k in range(2)]


def test_set_omr_is_what_the_comparison_promises() -> None:
    p = named_bfv("omr")
    logs = [float(np.log2(np.float64(x))) for x in (*p.q, *p.p)]
    assert (len(p.q), len(p.p)) == (23, 12)
    assert max(logs[:23]) < 49.6
    assert sum(logs[:23]) == pytest.approx(1140, abs=1)
    assert sum(logs) <= 1747


@pytest.mark.usefixtures("asked")
def test_wrong_slots_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    real = lattigo.run
    monkeypatch.setattr(lattigo, "run", lambda request: replace(real(request), error=7))
    with pytest.raises(Error, match="bfv_rotate by Lattigo: 7 slots are wrong"):
        list(omr.compare(CASE, ["rotation"]))


def test_refusals() -> None:
    with pytest.raises(ParameterError, match='no case "turn"'):
        list(omr.compare(CASE, ["turn"]))
    with pytest.raises(ParameterError, match="baby steps"):
        omr.OmrCase(diagonals=4, babies=5).check()


def test_verdict_names_what_is_missed() -> None:
    for seconds, word in ((0.1, "reached"), (0.9, "NOT REACHED")):
        times = both_clocks(Timing(5.0, seconds), Timing(1.0, 1.0))
        record = Record("omr", "rotation", "omr", "ringforge", peer="lattigo", extra={"wanted_ratio": 4.0}, **times)
        assert word in list(omr.verdict([record]).columns[-1].cells)


def test_command(asked: list[lattigo.Request], capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    words = ["bench", "omr", "--set", "omr-test", "--insecure", "a test", "--rounds", "1", "--budget", "0.01"]
    assert main([*words, "--case", "rotation", "--case", "encoding", "--save", str(tmp_path)]) == 0
    text = printed(capsys)
    assert "times faster" in text
    assert len(asked) == 2
    (saved,) = tmp_path.glob("omr-omr-test-*.jsonl")
    assert [json.loads(line)["case"] for line in saved.read_text().splitlines()] == ["rotation", "encoding"]
    assert main([*words, "--case", "turn"]) != 0
