# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The board when things fail: processes killed, disks full, databases locked, gone, forked."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
from pathlib import Path

import pytest

from ringforge.errors import StorageError
from ringforge.omr import board_schema as schema
from ringforge.omr.board import Board
from tests.omr.boards import SET, chain, fresh, one_line, script, start_of_first
from tests.psi.test_disks import _may_mount

#: Posts until it is killed; each acknowledged one is printed with its chain.
ENDLESS = """
    board = Board.open(sys.argv[1], SET)
    rng = np.random.default_rng(int(sys.argv[2]))
    print("ready", flush=True)
    while True:
        signals = rng.integers(0, 1 << 19, (11, SET.n + SET.clues), dtype=np.uint32)
        from ringforge.omr.signal import Signals
        rows = Signals(SET, signals[:, : SET.n].copy(), signals[:, SET.n :].copy()).pack()
        receipt = board.post(rows, rng.integers(0, 256, (11, SET.payload_bytes), dtype=np.uint8))
        print(receipt.number, receipt.count, receipt.chain.hex(), flush=True)
"""


def test_kill_9_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    url, acknowledged = str(tmp_path / "board.sqlite"), {}
    rng = random.Random(1)
    for life in range(3):
        process = script(ENDLESS, tmp_path, url, str(life))
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", process.communicate()[1]
        lines = [process.stdout.readline() for _ in range(rng.randint(2, 25))]
        process.send_signal(signal.SIGKILL)
        lines += process.communicate()[0].splitlines(keepends=True)
        for line in lines:
            if line.endswith("\n"):
                number, count, after = line.split()
                acknowledged[int(number) + int(count)] = after
        with Board.open(url, SET) as board:
            found = board.verify(0)
            assert found.entries >= max(acknowledged)
            assert found.entries % 11 == 0, "nothing of a post is there without the rest"
    with Board.open(url, SET) as board:
        signals, payloads = board.signals(0).pack(), board.payloads(0)
    head, checked = start_of_first(), 0
    for i in range(len(signals)):
        head = chain(head, [signals[i].tobytes()], [payloads[i].tobytes()])
        if i + 1 in acknowledged:
            assert head.hex() == acknowledged[i + 1]
            checked += 1
    assert checked == len(acknowledged) >= 6


FULL = """
    import resource, signal
    if len(sys.argv) > 2:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
    board = Board.open(sys.argv[1], SET)
    done = 0
    try:
        while done < 20_000:
            board.post(*fresh(100))
            done += 100
    except StorageError as e:
        print(done, e)
        try:
            board.post(*fresh(100))
        except StorageError:
            pass
        print(board.bulletin(0).entries, board.verify(0).digest.hex(), len(board.payloads(0)))
"""


def _check_full(out: str, err: str) -> None:
    assert out.count("\n") == 2, (out, err)
    first, second = out.splitlines()
    done, message = first.split(" ", 1)
    assert message.startswith("the board cannot use its database board.sqlite (")
    assert "free space on its disk, then try again" in message
    entries, _, readable = second.split()
    assert int(entries) == int(readable) >= int(done) > 0


@pytest.mark.parametrize("size", [450_000, 1_500_000])
def test_a_file_that_may_not_grow(tmp_path: Path, size: int) -> None:
    process = script(FULL, tmp_path, "board.sqlite", str(size))
    _check_full(*process.communicate(timeout=120))
    with Board.open(tmp_path / "board.sqlite", SET) as board:
        before = board.verify(0).entries
        board.post(*fresh(1, seed=1 << 20))
        assert board.verify(0).entries == before + 1


@pytest.mark.skipif(not _may_mount(), reason="this user may mount no file system; limits of file sizes are tested")
def test_a_full_disk(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    mount = ("unshare", "-rm", "sh", "-c", 'mount -t tmpfs -o size=1500k none disk && exec "$@"', "sh")
    process = script(FULL, tmp_path, "disk/board.sqlite", prefix=mount)
    _check_full(*process.communicate(timeout=120))


def test_a_locked_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "BUSY_SECONDS", 0.1)
    path = tmp_path / "board.sqlite"
    entries = fresh(2)
    with Board.open(path, SET) as board:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match="another program holds it: try again") as caught:
            board.post(*entries)
        one_line(caught.value)
        assert board.bulletin(0).entries == 0, "readers go on"
        other.execute("ROLLBACK")
        other.close()
        assert board.post(*entries).number == 0


def test_a_database_that_may_not_be_written(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.sqlite", SET) as board:
        with schema.transaction(board._engine) as c:  # the only connection of the pool
            c.exec_driver_sql("PRAGMA query_only = ON")
        with pytest.raises(StorageError, match="see to the rights"):
            board.post(*fresh(1))


def test_a_forked_child_opens_its_own(tmp_path: Path) -> None:
    with Board.open(tmp_path / "board.sqlite", SET) as board:
        board.post(*fresh(1))
        child = os.fork()
        if child == 0:
            code = 1
            try:
                for use in (lambda: board.post(*fresh(1)), board.bulletins, lambda: board.seal(True)):
                    try:
                        use()
                    except StorageError as e:
                        code = 0 if "open it anew here" in str(e) else 2
                    else:
                        code = 3
                    if code:
                        break
                board.close()
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        board.post(*fresh(1))
        assert board.verify(0).entries == 2


def test_a_closed_board(tmp_path: Path) -> None:
    board = Board.open(tmp_path / "board.sqlite", SET)
    board.close()
    board.close()
    with pytest.raises(StorageError, match="closed"):
        board.post(*fresh(1))
