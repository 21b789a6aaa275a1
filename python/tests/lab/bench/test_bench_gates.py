# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Gates: what is measured beside which set of a peer that is mocked, and what records say."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from ringforge.cli import main
from ringforge.errors import ParameterError
from ringforge.lab.bench import gates as bench
from ringforge.lab.peers import tfhe
from ringforge.lab.timing import Timing
from ringforge.runs import Record, load
from tests.answers import result_of

TINY = bench.GatesCase(gates=("NAND", "MUX"), threads=(1, 2), batch=3, rounds=2, budget_s=0.0)


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[tfhe.Request]:
    """A peer that takes 20 ms for every gate, 10 ms at its second set; keeps what it is asked."""
    asked: list[tfhe.Request] = []

    def run(request: tfhe.Request) -> tfhe.Result:
        asked.append(request)
        seconds = 0.01 if request.params.endswith("ks-pbs") else 0.02
        return tfhe.Result(
            "tfhe", "1.8.2", request.params, 805, 3, 512, 5.86e-6, 9.3e-10, 1.0,
            {gate: tfhe.Gate(2 * seconds, seconds, 9) for gate in request.gates},
            tuple(tfhe.Batch(t, seconds / t, seconds, 9 * request.batch) for t in request.threads if request.batch),
            0, 100.0,
        )  # fmt: skip

    monkeypatch.setattr(tfhe, "run", run)
    monkeypatch.setattr(tfhe, "program", lambda: Path("unused"))
    return asked


def shown(records: list[Record]) -> str:
    text = io.StringIO()
    Console(file=text, width=300).print(bench.details(records))
    return text.getvalue()


def test_records_of_gates_and_levels(requests: list[tfhe.Request]) -> None:
    records = list(bench.compare(TINY))
    assert [(r.case, r.threads) for r in records] == [("NAND", 1), ("MUX", 1), ("NAND x 3", 1), ("NAND x 3", 2)]
    assert [r.params for r in requests] == ["default", "default-ks-pbs", "default-ks-pbs", "default"]
    assert requests[0] == tfhe.Request("default", ("NAND", "MUX"), 0.0, 3, (1, 2))
    nand, mux, one, two = records
    assert nand.algorithm == "ginx"
    assert (nand.clock, nand.peer_seconds) == ("processor", 0.01), "the faster of the peer's sets"
    assert nand.extra["peer_params"] == "default-ks-pbs"
    assert nand.extra["peer_seconds_by_params"] == {"default": 0.02, "default-ks-pbs": 0.01}
    assert nand.peer_wall_seconds == 0.02
    assert nand.seconds == nand.cpu_seconds
    assert (one.clock, two.clock) == ("processor", "wall")
    assert (one.peer_seconds, two.peer_seconds, two.peer_cpu_seconds) == (0.01, 0.005, 0.01)
    assert nand.ratio == pytest.approx(0.01 / nand.seconds)
    assert mux.extra["failure_log2"] > nand.extra["failure_log2"], "two rotations"
    assert len(nand.extra["rounds_seconds"]) == 2
    assert one.extra["gates_per_second"] == pytest.approx(1 / (one.wall_seconds or 0))
    assert nand.extra["failure_log2"] <= nand.extra["worst_gate_failure_log2"] <= -64
    assert nand.extra["security_bits"] >= 128
    assert all(json.loads(r.to_json())["peer"] == "tfhe" for r in records)
    assert "default-ks-pbs 10 ms" in shown(records)


def test_alone(requests: list[tfhe.Request]) -> None:
    case = bench.GatesCase(gates=("XOR",), threads=(1,), batch=0, rounds=1, budget_s=0.0)
    (record,) = bench.compare(case, peer=False)
    assert (record.case, record.peer, record.ratio) == ("XOR", None, None)
    assert not requests
    assert "XOR" in shown([record])


def test_papers_sets_stand_beside_the_paper() -> None:
    case = bench.GatesCase("paper-std128-ap", insecure="test")
    assert case.accumulator == "ap"
    taken = Timing(0.02, 0.01)

    def record_of(of: bench.GatesCase, name: str) -> Record:
        return bench._record(of, name, 1, taken, {}, {"security_bits": 65.0}, {})

    record = record_of(case, "NAND")
    # The paper states wall time.
    assert (record.clock, record.seconds, record.cpu_seconds) == ("wall", 0.02, 0.01)
    assert (record.peer, record.peer_seconds) == ("paper", pytest.approx(13.238e-3))
    assert record.extra["paper_software_seconds"] == pytest.approx(0.2838)
    assert record.extra["software_ratio"] == pytest.approx(14.19)
    assert record_of(case, "MUX").peer is None, "the paper times one accumulation, MUX has two"
    assert record_of(bench.GatesCase("paper-std128-ap", "ginx", insecure="test"), "NAND").peer is None
    text = shown([record])
    assert "284 ms" in text
    assert "14.2" in text


def test_wrong_gate_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.GateKind, "of", lambda *_: 2)
    with pytest.raises(bench.Error, match=r"NAND of .* is wrong at gates-128"):
        next(bench.compare(TINY, peer=False))


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (bench.GatesCase("gates-64"), "unknown gate set"),
        (bench.GatesCase("paper-medium"), "insecure"),
        (bench.GatesCase(gates=("MAJ3",)), 'no gate "MAJ3"'),
        (bench.GatesCase(method="cggi"), 'unknown method "cggi"'),
        (bench.GatesCase(rounds=0), "rounds 0"),
        (bench.GatesCase(threads=(0,)), "threads"),
    ],
)
def test_refused_before_keys_are_made(case: bench.GatesCase, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        next(bench.compare(case))


@pytest.mark.usefixtures("requests")
def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "--gates nand --threads 1 --batch 2 --rounds 1 --budget 0 --json --save"
    assert main(["bench", "gates", *words.split(), str(tmp_path)]) == 0
    lines = [result_of(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["case"] for line in lines] == ["NAND", "NAND x 2"]
    (saved,) = tmp_path.glob("gates-gates-128-*.jsonl")
    assert [r.case for r in load(saved)] == ["NAND", "NAND x 2"]


def test_command_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "gates", "--gates", "NAND,FOO"]) != 0
    assert 'no gate "FOO"' in capsys.readouterr().err


def test_missing_peer_is_a_plain_message(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def program() -> Path:
        raise tfhe.PeerMissingError("comparing with tfhe-rs needs Rust")

    monkeypatch.setattr(tfhe, "program", program)
    assert main(["bench", "gates"]) == 1
    assert "needs Rust" in capsys.readouterr().err
