# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge omr` as commands."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringforge.cli import main
from ringforge.omr.bulletins import open_board
from ringforge.omr.detector import Detector
from ringforge.omr.keys import ReceiverSecret
from tests.answers import parted, printed, result_of

from .detecting import KEY_BYTES, TOKENS, HashWorker, Loop, digest, key_file, loop, request
from .world import SMALL, Person, bulletin, new_board, posts


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Loop]:
    with loop(tmp_path) as found:
        yield found


def run(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> tuple[str, str]:
    """What a command prints, and its errors and warnings."""
    assert main(["omr", *map(str, words)]) == code, capsys.readouterr()
    return parted(*capsys.readouterr())


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
    found = result_of(run(capsys, "status", "--server", server(running), "--json")[0])
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
        assert "holds 2 tokens: a client has one" in run(capsys, *words, code=1)[1]


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


# ---- receivers ----


def test_keys_addresses_and_what_info_says_of_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secret, key, address = (tmp_path / name for name in ("me.secret", "me.detection", "me.address"))
    words = ["keygen", "--secret", secret, "--detection-key", key, "--set", "test", "--threads", 1]
    assert "less than 128 bits" in run(capsys, *words, code=1)[1]
    assert list(tmp_path.iterdir()) == []
    found = result_of(run(capsys, *words, "--insecure", "tests", "--address", address, "--json")[0])
    assert secret.stat().st_mode & 0o777 == 0o600
    assert found["detection_key_bytes"] == key.stat().st_size
    assert run(capsys, "address", "--secret", secret)[0].strip() == address.read_text().strip() == found["address"]
    assert "exists already" in run(capsys, *words, "--insecure", "tests", code=1)[1]
    assert "never replaced" in run(capsys, "address", "--secret", secret, "--out", secret, code=1)[1]
    for path in (secret, key):
        assert main(["info", str(path)]) == 0
        said = printed(capsys)
        assert "receiver" in said or "detection key" in said
        assert secret.read_bytes()[400:].hex()[:32] not in said


def test_estimates(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "estimate", "--set", "test", "--bulletins", 3)
    for words in ("searching 3 bulletins", "detection key", "digest", "a bulletin: affine"):
        assert words in out
    one = result_of(run(capsys, "estimate", "--set", "test", "--json")[0])
    wide = result_of(run(capsys, "estimate", "--set", "test", "--mode", "positions", "--json")[0])
    assert one["digest_bytes"] > wide["digest_bytes"]
    assert wide["received"] == wide["digest_bytes"] + 4096 * 160
    assert "no mode" in run(capsys, "estimate", "--set", "test", "--mode", "x", code=1)[1]


def test_retrieving(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From keys to messages, printed, as JSON, in files; from a detector and a board in this process."""
    secret, key = tmp_path / "me.secret", tmp_path / "me.detection"
    words = ["--set", "test", "--insecure", "tests", "--threads", 1]
    run(capsys, "keygen", "--secret", secret, "--detection-key", key, *words)
    mine = ReceiverSecret.load(secret)
    with new_board(tmp_path) as board:
        bulletin(
            board, posts(Person(mine.signal, mine.box), [b"see you at noon", b"\x1b[2J\nsecond line", b"\xff\xfe"])
        )
    with contextlib.ExitStack() as stack:
        source = stack.enter_context(contextlib.closing(open_board(str(tmp_path / "board.sqlite"), SMALL)))
        found = stack.enter_context(loop(tmp_path, worker=Detector(SMALL, source)))
        asked = ["retrieve", "--server", server(found), "--secret", secret, "--detection-key", key]
        out, err = run(capsys, *asked)
        assert out.splitlines()[:2] == ["--- bulletin 0, entry 0", "see you at noon"]
        assert "\x1b" not in out
        assert "2 bytes that are no text" in out
        assert "3 messages" in out
        assert err == ""
        answer = result_of(run(capsys, *asked, "--json")[0])
        assert [m.get("text") for m in answer["messages"]] == ["see you at noon", "\x1b[2J\nsecond line", None]
        assert answer["messages"][2]["base64"] == "//4="
        run(capsys, *asked, "--out", tmp_path / "got", "--bulletins", "0..0")
        assert (tmp_path / "got" / "000000-00002.txt").read_bytes() == b"\xff\xfe"
        # What an earlier run wrote neither keeps this one from asking nor is written over.
        (tmp_path / "got" / "000000-00001.txt").write_bytes(b"mine")
        (tmp_path / "got" / "000000-00002.txt").unlink()
        told = "".join(run(capsys, *asked, "--out", tmp_path / "got", code=1))
        assert "000000-00001.txt was not written: exists already" in told
        assert "000000-00000.txt" not in told
        assert (tmp_path / "got" / "000000-00002.txt").read_bytes() == b"\xff\xfe"
        assert (tmp_path / "got" / "000000-00001.txt").read_bytes() == b"mine"
        run(capsys, *asked, "--out", tmp_path / "got", "--overwrite")
        assert (tmp_path / "got" / "000000-00001.txt").read_bytes() == b"\x1b[2J\nsecond line"
        told = run(capsys, *asked, "--mode", "positions", "--board", tmp_path / "board.sqlite")
        assert "4,096 payloads" in "".join(told)
        assert "3 entries are pertinent" in "".join(run(capsys, *asked, "--capacity", 2, code=1))
        assert "3 messages" in "".join(run(capsys, *asked, "--capacity", 2, "--auto"))
        for wrong, said in [
            (("--bulletins", "7"), "no sealed bulletin 7"),
            (("--bulletins", "x"), "is a number, or a range"),
            (("--mode", "positions"), "give --board"),
            (("--capacity", "4000"), "hold 254 at the most"),
        ]:
            assert said in "".join(run(capsys, *asked, *wrong, code=1))
