# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`omr board` and `omr post` as commands, over TCP; the server is killed in the middle."""

from __future__ import annotations

import contextlib
import io
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ringforge.cli import main
from ringforge.errors import Error, FormatError
from ringforge.omr.address import Address
from ringforge.omr.board import Board
from ringforge.omr.board_client import RemoteBoard
from ringforge.omr.detector import encoder
from ringforge.omr.engine import encode_diagonals
from ringforge.omr.payload import BoxSecret
from ringforge.omr.plan import Plan
from ringforge.omr.poster import entries, read_texts
from tests.answers import failure_of, result_of
from tests.omr.boards import SET, secret
from tests.psi.processes import environment

REASON = ["--set", "test", "--insecure", "tests"]


def _address(path: Path) -> BoxSecret:
    box = BoxSecret.make()
    Address(SET, secret().public(), box.public()).save(path)
    return box


def _command(*words: object) -> Any:
    """What a command prints as JSON, in this process."""
    code, out = _main(*words)
    assert code == 0, out
    return result_of(out)


def _refused(why: str, *words: object) -> None:
    """What a command says in its error."""
    code, out = _main(*words)
    assert code == 1
    assert why in failure_of(out)["message"]


def _main(*words: object) -> tuple[int, str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main(["omr", "board", *map(str, words), "--json"])
    return code, out.getvalue()


def _serve(folder: Path, *words: str) -> tuple[subprocess.Popen[str], dict[str, Any]]:
    code = "from ringforge.omr.board_cli import app; app()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "serve", "--database", "board.sqlite", "--listen", "127.0.0.1:0", *REASON, *words],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, process.communicate()[1]
    return process, json.loads(line)


def test_serve_post_kill_seal_list(tmp_path: Path) -> None:
    box = _address(tmp_path / "address")
    (tmp_path / "texts").write_text("see you at noon\nzwölf\n\n")
    (tmp_path / "more").write_text(json.dumps({"text": "two\nlines"}) + "\n")
    process, ready = _serve(tmp_path, "--threads", "1")
    server = ["--server", ready["listening"]]
    post = ["--address", tmp_path / "address", "--insecure", "tests", *server]
    found = _command("post", tmp_path / "texts", *post)
    assert (found["posted"], found["places"]) == (2, [[0, 0], [0, 1]])
    assert _command("info", *server, *REASON)["posts_left"] == (1 << 20) - 2
    process.send_signal(signal.SIGKILL)
    _, log = process.communicate()
    assert "noon" not in log
    code, out = _main("post", tmp_path / "texts", *post)
    assert code == 1
    assert "check host, port, and that omr board serve runs there" in failure_of(out)["message"]
    process, ready = _serve(tmp_path, "--threads", "1")
    server = ["--server", ready["listening"]]
    found = _command("post", tmp_path / "more", "--json-lines", "--address", tmp_path / "address", *post[2:4], *server)
    assert found["places"] == [[0, 2]]
    (listed,) = _command("list", *server, *REASON)["bulletins"]
    assert (listed["entries"], listed["sealed"]) == (3, False)
    (sealed,) = _command("seal", "--database", tmp_path / "board.sqlite", "--pad", *REASON)["bulletins"]
    assert (sealed["entries"], sealed["pads"], sealed["sealed"]) == (SET.entries, SET.entries - 3, True)
    listed = _command("list", "--database", tmp_path / "board.sqlite", "--verify", *REASON)["bulletins"]
    assert listed == _command("list", *server, *REASON)["bulletins"]
    assert listed[0] == sealed
    plan = Plan.make(SET)
    with Board.open(tmp_path / "board.sqlite", SET, create=False) as board, RemoteBoard(ready["listening"], SET) as far:
        diagonals = encode_diagonals(plan, board.signals(0).a)
        made = dict(far.encodings(0, far.info()))
        assert {step: d.tobytes() for step, d in enumerate(diagonals)} == made
        assert board.encoded(0, encoder(plan)) == list(made), "the board keeps them"
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    with Board.open(tmp_path / "board.sqlite", SET, create=False) as board:
        assert secret().pertinent(board.signals(0)).tolist() == [True] * 3 + [False] * (SET.entries - 3)
        texts = [box.open(row.tobytes()) for row in board.payloads(0, 0, 4)]
    assert texts == [b"see you at noon", "zwölf".encode(), b"two\nlines", None]


def test_texts(tmp_path: Path) -> None:
    box = _address(tmp_path / "address")
    to = Address.load(tmp_path / "address", "tests")
    signals, payloads = entries(to, [b"", b"x" * SET.text_bytes])
    assert signals.shape == (2, SET.signal_bytes)
    assert [box.open(row.tobytes()) for row in payloads] == [b"", b"x" * SET.text_bytes]
    with pytest.raises(Error, match="post it in pieces"):
        entries(to, [b"x" * (SET.text_bytes + 1)])
    for data, json_lines in (
        (b"", False),
        (b"\xff\n", False),
        (b'{"text": 1}\n', True),
        (b'["text"]\n', True),
        (b'{"text": "\\ud800"}\n', True),
        (b"[" * 100_000 + b"\n", True),
        (b'{"text": "a", "more": 1}\n', True),
    ):
        (tmp_path / "t").write_bytes(data)
        with pytest.raises(FormatError, match="t"):
            read_texts(tmp_path / "t", json_lines)
    (tmp_path / "t").write_bytes(b"a \r\n\nb")
    assert read_texts(tmp_path / "t", False) == [b"a ", b"b"]


def test_refusals_of_commands(tmp_path: Path) -> None:
    _refused("give --database", "list", *REASON)
    _refused("there is no board", "list", "--database", tmp_path / "none", *REASON)
    _refused("less than 128 bits", "list", "--database", tmp_path / "none", "--set", "test")
    with Board.open(tmp_path / "b", SET):
        _refused("nothing to seal", "seal", "--database", tmp_path / "b", *REASON)
