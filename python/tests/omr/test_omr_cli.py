# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge omr` as commands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringforge.cli import main

from .detecting import KEY_BYTES, TOKENS, HashWorker, Loop, digest, key_file, loop, request


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Loop]:
    with loop(tmp_path) as found:
        yield found


def run(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> tuple[str, str]:
    """What a command prints."""
    assert main(["omr", *map(str, words)]) == code, capsys.readouterr()
    out, err = capsys.readouterr()
    return out, err


def server(found: Loop) -> str:
    return f"127.0.0.1:{found.running.port}"


# ---- detectors ----


def test_status_and_drop(running: Loop, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = key_file(tmp_path)
    with running.connect() as c:
        name = c.put_key(key)
        digest(c, request(key))
        job = c.submit(request(key))
    out, err = run(capsys, "status", "--server", server(running))
    for words in (
        name[:16],
        "for up to 50 messages",
        "3 sealed, 0 to 2",
        f"job {job[:16]}",
        "done: bulletin 0, messages",
    ):
        assert words in out
    assert err == ""
    found = json.loads(run(capsys, "status", "--server", server(running), "--json")[0])
    assert found["keys"][name]["bytes"] == KEY_BYTES
    assert "had ended already" in run(capsys, "drop", "--server", server(running), "--job", job[:8])[0]
    assert "dropped key" in run(capsys, "drop", "--server", server(running), "--key", name[:8])[0]
    assert "names 0 of the 0" in run(capsys, "drop", "--server", server(running), "--key", name, code=1)[1]
    assert "say what to drop" in run(capsys, "drop", "--server", server(running), code=1)[1]
    out, _ = run(capsys, "status", "--server", server(running))
    assert name[:16] not in out
    assert job[:16] not in out


def test_cancelling_a_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    worker = HashWorker()
    key = key_file(tmp_path)
    with loop(tmp_path, worker=worker) as found:
        with found.connect() as c:
            c.put_key(key)
            worker.gate.clear()
            job = c.submit(request(key))
            assert worker.begun.acquire(timeout=30)
        assert "cancelled" in run(capsys, "drop", "--server", server(found), "--job", job)[0]
        worker.gate.set()


def test_tokens(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    token = tmp_path / "token"
    token.write_text(TOKENS[0])
    token.chmod(0o600)
    with loop(tmp_path, tokens=True) as found:
        assert "refused this client" in run(capsys, "status", "--server", server(found), code=1)[1]
        run(capsys, "status", "--server", server(found), "--token-file", token)
        token.write_text("\n".join(TOKENS))
        words = ("status", "--server", server(found), "--token-file", token)
        assert "holds 2 tokens: a receiver has one" in run(capsys, *words, code=1)[1]


def test_what_a_detector_says_does_not_steer_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HashWorker, "describe", lambda _: {"set": "\x1b[2J\u202e", "capacity": {"\x1b]0;x": "\x07"}})
    with loop(tmp_path) as found:
        out, _ = run(capsys, "status", "--server", server(found))
    assert not set("\x1b\x07\u202e") & set(out)


def test_nobody_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert "omr detect serve" in run(capsys, "status", "--server", "127.0.0.1:9", code=1)[1]
    assert "give --tls-ca, or --plaintext" in run(capsys, "status", "--server", "192.0.2.1:9", code=1)[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--listen", "nowhere"], "HOST:PORT"),
        (["--listen", "0.0.0.0:0"], "--tls-cert and --tls-key, or --plaintext"),
        (["--keys-per-client", "0"], "1 is the least"),
        (["--keep", "0"], "kept for 1 to"),
        (["--disk", "much"], "no size"),
        (["--waiting", "0"], "waiting 0"),
        (["--set", "nothing"], "unknown OMR parameter set"),
        (["--set", "test"], "less than 128 bits"),
    ],
)
def test_what_detect_serve_refuses(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    board = ["--board", tmp_path / "board.sqlite", "--store", tmp_path / "store"]
    assert said in run(capsys, "detect", "serve", *board, *words, code=1)[1]
    assert list(tmp_path.iterdir()) == []


# ---- help ----


@pytest.mark.parametrize(
    "command", ["", "keygen", "address", "detect", "detect serve", "retrieve", "status", "drop", "estimate", "demo"]
)
def test_help_teaches(command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    out, _ = run(capsys, *command.split(), "--help")
    if command not in ("", "detect"):
        assert f"ringforge omr {command}" in out, "an example"
