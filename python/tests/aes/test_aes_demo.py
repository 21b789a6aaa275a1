# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge aes demo` and `estimate`, under both schemes at small sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ringforge.aes import demo
from ringforge.cli import main
from ringforge.search import Search
from ringforge.serving import processes
from tests.answers import printed, result_of


def test_the_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Processes, a socket, real bytes, few of them; and the search finds secrets where they are."""
    monkeypatch.setitem(demo.SIZES["bgv"], "small", ("bgv-test", 239))
    asked: list[str] = []
    start = processes.start

    def noting(folder: Path, *words: object) -> Any:
        asked.append(str(words[1]))
        return start(folder, *words)

    monkeypatch.setattr(demo, "start", noting)
    assert main(["aes", "demo", "--threads", "1", "--json", "--out", str(tmp_path)]) == 0, capsys.readouterr()
    assert asked[-6:] == ["submit"] * 3 + ["decrypt"] * 3, "the server is asked before anything is decrypted"
    found = result_of(capsys.readouterr().out)
    assert found["good"]
    assert found["bytes"] == 239
    assert found["right"] == {"text": True, "below:97": True, "sums": True}
    assert found["leaked"] == 0
    assert json.loads((tmp_path / "summary.json").read_text()) == found
    aes = (tmp_path / "client" / "aes.key").read_bytes()
    data, _ = demo.text(239)
    pieces = demo._pieces(tmp_path / "client", aes, data)
    search = Search(pieces)
    assert search.file(tmp_path / "client" / "aes.key") == {aes}
    assert len(search.file(tmp_path / "client" / "text")) > 30
    assert len(search.file(tmp_path / "client" / "secret")) > 1


@pytest.mark.long
def test_the_demo_at_its_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.SIZES["bgv"]["small"][1] >= 1024
    assert main(["aes", "demo", "--json", "--out", str(tmp_path)]) == 0, capsys.readouterr()
    assert result_of(capsys.readouterr().out)["good"]


def test_demos_of_ltv_want_a_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["aes", "demo", "--scheme", "ltv", "--out", str(tmp_path / "x")]) == 1
    assert "say why it may be used" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


@pytest.mark.long
def test_the_demo_of_ltv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--scheme", "ltv", "--insecure", "a test", "--json"]
    assert main(["aes", "demo", *words, "--out", str(tmp_path)]) == 0, capsys.readouterr()
    assert result_of(capsys.readouterr().out)["right"] == {"text": True}


def run(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["aes", *words, "--threads", "1"]) == 0, capsys.readouterr()
    return printed(capsys)


@pytest.mark.parametrize(("scheme", "name"), [("bgv", "bgv-test"), ("ltv", "ltv-test-aes")])
def test_estimates_are_what_runs_take(
    scheme: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Noise exactly, bytes within a tenth and never below; times only that they are there."""
    monkeypatch.chdir(tmp_path)
    settings = ("--scheme", scheme, "--set", name, "--insecure", "a test")
    found = result_of(run(capsys, "estimate", *settings, "--blocks", "16", "--json"))
    assert found["slots"] == 16
    assert found["seconds"] > 0
    words = ("--secret", "s", "--keys", "k")
    run(capsys, "keygen", *words, *settings)
    Path("key").touch(mode=0o600)
    Path("key").write_bytes(bytes(16))
    Path("p").write_bytes(bytes(range(256)))
    run(capsys, "encrypt", *words, "--aes-key-file", "key", "--round-keys", "r", "--in", "p", "--out", "b")
    made = result_of(run(capsys, "evaluate", "--keys", "k", "--round-keys", "r", "--in", "b", "--out", "e", "--json"))
    planned = found["budgets"]
    assert len(planned) == 11
    # A plan is of the noise that may be; some constants of the circuit make a bit less of it.
    assert all(p <= r["budget"] + 0.01 for p, r in zip(planned, made["rounds"], strict=True))
    assert all(p >= r["budget"] - 1 for p, r in zip(planned, made["rounds"], strict=True))
    for what, paths in {
        "key_bytes": list(Path("k").iterdir()),
        "round_key_bytes": list(Path("r").glob("*.aes")),
        "state_bytes": [Path("b")],
        "result_bytes": [Path("e")],
    }.items():
        size = sum(p.stat().st_size for p in paths)
        overhead = 200 * (16 if scheme == "bgv" else 128) * max(1, len(paths)) + (1 << 15) * len(paths)
        assert found[what] - overhead - size <= 2.0 * size, what
        assert size <= found[what] + overhead, what
