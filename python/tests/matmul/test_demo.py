# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The demo: three processes, and what each of them has."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from ringforge import local_http
from ringforge.cli import main
from ringforge.matmul import demo
from ringforge.matmul.program import Program
from ringforge.matmul.roles import KeyHolder
from tests.answers import printed
from tests.lying.order import asks_before_it_reads, written_down

pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, demo.DemoResult]:
    """The demo itself, at full size."""
    out = tmp_path_factory.mktemp("demo")
    server = local_http.Connection
    with written_down(
        (server, "request", "ask"), (server, "close", "close"), (KeyHolder, "decrypt", "decrypt")
    ) as events:
        result = demo.run_demo(out=out, threads=2)
    assert asks_before_it_reads(events)
    return out, result


def test_the_step_is_numpys(shown: tuple[Path, demo.DemoResult]) -> None:
    _, r = shown
    data = demo.load_data()
    weights = demo.first_weights(data)
    assert r.good
    np.testing.assert_allclose(r.got, demo.plain_step(data, weights), atol=demo.TOLERANCE)
    assert r.error <= r.bound
    assert r.loss_after < 0.95 * r.loss_before
    assert r.loss_before == demo.loss(data, weights)
    assert r.program.context.params.secure


def test_promised_bounds_hold(shown: tuple[Path, demo.DemoResult]) -> None:
    """What the parties agree on about sizes is true of the data, with room."""
    _, r = shown
    data = demo.load_data()
    weights = demo.first_weights(data)
    fit = data.x @ weights
    assert max(np.abs(data.x).max(), np.abs(data.y).max(), np.abs(weights).max()) <= 1
    assert np.abs(fit).max() < demo.FIT_BOUND
    assert np.abs(data.x.T @ (fit - data.y)).max() < demo.GRADIENT_BOUND
    assert np.abs(r.exact).max() < r.program.traced.results["result"].bound


def test_the_parties_are_three_processes(shown: tuple[Path, demo.DemoResult]) -> None:
    _, r = shown
    assert len(set(r.pids.values())) == 3
    for who in ("server", "hospital"):
        assert not Path(f"/proc/{r.pids[who]}").exists(), f"the {who} has ended"


def test_what_the_server_has(shown: tuple[Path, demo.DemoResult]) -> None:
    """Ciphertexts, evaluation keys, the program; no secret key and no matrix is left anywhere."""
    out, r = shown
    assert {p.name for p in out.iterdir()} == {".ringforge-demo", "program.json", "server", "summary.json"}
    assert {p.name for p in (out / "server").iterdir()} == {
        "evaluation.keys",
        "X.input",
        "XT.input",
        "y.input",
        "w.input",
        "result.output",
    }
    assert Program.load(out / "program.json") == r.program
    data = demo.load_data()
    for path in (out / "server").iterdir():
        if path.stat().st_size < 1 << 24:
            content = path.read_bytes()
            for column in (data.x[:, 0], data.y, r.got):
                assert column[:2].tobytes() not in content


def test_the_summary_for_programs(shown: tuple[Path, demo.DemoResult]) -> None:
    out, r = shown
    summary = json.loads((out / "summary.json").read_text())
    assert summary["max_error"] == r.error
    assert summary["parameters"]["security"] == "128 bits"
    assert summary["bytes"]["evaluation keys"] == (out / "server" / "evaluation.keys").stat().st_size
    sent = sum((out / "server" / f"{name}.input").stat().st_size for name in ("X", "XT", "y"))
    assert summary["bytes"]["hospital's ciphertexts"] == sent
    assert summary["seconds"]["server computes"] > 0
    assert summary["operations"]["key_switch"] == r.operations["key_switch"] > 0


def test_what_is_printed(shown: tuple[Path, demo.DemoResult], capsys: pytest.CaptureFixture[str]) -> None:
    _, r = shown
    demo.print_result(r)
    text = " ".join(re.sub(r"[│┌┐└┘├┤─]", " ", printed(capsys)).split())
    for words in (
        "what each party saw",
        "they must not collude",
        "the gradient: 10 numbers about all patients",
        "nothing of the weights",
        "no number of anybody's",
        "largest difference from numpy",
        "before the step",
        "as numpy has them",
    ):
        assert words in text, words


def test_too_few_levels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["matmul", "demo", "--params", "matmul-a-128", "--out", str(tmp_path / "x")]) == 1
    error = capsys.readouterr().err
    assert "inputs enter at level 4 of 4; --params auto suggests some with enough" in error
    assert not (tmp_path / "x").exists()
