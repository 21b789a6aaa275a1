# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""BFV beside Lattigo at a small set: what is asked of the peer, what is reported, refusals."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from ringforge.cli import main
from ringforge.errors import Error, ParameterError
from ringforge.lab.bench import omr
from ringforge.lab.peers import lattigo
from ringforge.params import named_bfv
from tests.answers import printed

CASE = omr.OmrCase("omr-test", rotations=2, diagonals=12, babies=4, rounds=2, budget_s=0.01, insecure="a test")
OPERATIONS = [case for case in omr.CASES if case != "affine"]


def answer(request: lattigo.Request, error: float = 0) -> lattigo.Result:
    return lattigo.Result(
        case=request.case,
        seconds=2.0,
        cpu_seconds=1.0,
        iterations=3,
        encode_seconds=4.0,
        rescale_seconds=None,
        log_bsgs=1,
        peer="lattigo",
        peer_version="v6.1.1",
        go_version="go1.26",
        log_n=request.log_n,
        limbs=23,
        special=12,
        error=error,
        peak_mib=100.0,
        parts={"encode_cpu": 3.0, "keys": 9},
    )


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[lattigo.Request]:
    requests: list[lattigo.Request] = []

    def fake(request: lattigo.Request) -> lattigo.Result:
        requests.append(request)
        return answer(request)

    monkeypatch.setattr(lattigo, "run", fake)
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
        assert r.seconds > 0
        assert r.peer_seconds == 1.0
        assert r.extra["peer_wall_seconds"] == 2.0
        assert json.loads(r.to_json())["case"] == r.case


def test_affine_gives_two_records(asked: list[lattigo.Request]) -> None:
    """Outputs are checked by the bench itself, against the products in the clear."""
    case = omr.OmrCase("omr-test", diagonals=16, babies=4, rounds=1, insecure="a test")
    plain, encoded = omr.compare(case, ["affine"])
    (request,) = asked
    assert (request.case, request.diagonals) == ("bfv_affine", tuple(range(16)))
    assert (plain.case, encoded.case) == ("affine", "affine with encoding")
    assert encoded.seconds > plain.seconds > 0
    assert (plain.peer_seconds, encoded.peer_seconds) == (1.0, 4.0)
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


def test_wrong_slots_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lattigo, "run", lambda request: answer(request, 7))
    with pytest.raises(Error, match="bfv_rotate by Lattigo: 7 slots are wrong"):
        list(omr.compare(CASE, ["rotation"]))


def test_refusals() -> None:
    with pytest.raises(ParameterError, match='no case "turn"'):
        list(omr.compare(CASE, ["turn"]))
    with pytest.raises(ParameterError, match="baby steps"):
        omr.OmrCase(diagonals=4, babies=5).check()


def test_verdict_names_what_is_missed(asked: list[lattigo.Request]) -> None:
    (record,) = omr.compare(CASE, ["rotation"])
    assert asked
    for seconds, word in ((0.1, "reached"), (0.9, "NOT REACHED")):
        table = omr.verdict([omr._record("rotation", CASE, seconds, 1.0, [answer(asked[0])])])
        assert word in list(table.columns[-1].cells)
    assert record.extra["wanted_ratio"] == 4.0


def test_command(asked: list[lattigo.Request], capsys: pytest.CaptureFixture[str], tmp_path: Any) -> None:
    words = ["bench", "omr", "--set", "omr-test", "--insecure", "a test", "--rounds", "1", "--budget", "0.01"]
    assert main([*words, "--case", "rotation", "--case", "encoding", "--save", str(tmp_path)]) == 0
    text = printed(capsys)
    assert "times faster" in text
    assert len(asked) == 2
    (saved,) = tmp_path.glob("omr-omr-test-*.jsonl")
    assert [json.loads(line)["case"] for line in saved.read_text().splitlines()] == ["rotation", "encoding"]
    assert main([*words, "--case", "turn"]) != 0
