# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The detector as a process that is killed, and one that is told to stop."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ringforge
import tests
from ringforge.errors import Error
from ringforge.omr.demo import secret_pieces
from ringforge.omr.depot import read_result
from ringforge.omr.detector_client import Connection, key_name
from ringforge.omr.keys import DetectionKey, ReceiverSecret
from ringforge.omr.reading import SecretReader
from ringforge.omr.receiver import Run, Wanted
from ringforge.omr.steps import Request
from ringforge.serving.sessions import BusyError

from .detecting import DIGEST_BYTES, KEY_BYTES, expected, key_file, request
from .world import SMALL, Person, bulletin, new_board, posts, texts

PATIENCE = 60


class Process:
    """A detector."""

    def __init__(self, folder: Path, seconds: float, **more: str) -> None:
        roots = [str(Path(p).parents[1]) for p in (ringforge.__file__, tests.__file__) if p]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.omr.detector_process", str(folder), "0", str(seconds)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([*roots, *sys.path]), **more},
            text=True,
        )
        assert self.process.stdout is not None
        self.address = f"127.0.0.1:{json.loads(self.process.stdout.readline())['port']}"

    def wait_for_steps(self, count: int) -> None:
        """Until so many steps have been computed."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            count -= json.loads(line)["event"] == "step"
            if not count:
                return
        raise AssertionError("the detector ended early")

    def end(self, number: signal.Signals) -> list[dict[str, Any]]:
        """Ends it; returns the rest of its log."""
        self.process.send_signal(number)
        _, log = self.process.communicate(timeout=PATIENCE)
        return [json.loads(line) for line in log.splitlines()]


def test_killed_in_the_middle_it_goes_on_with_the_next_step(tmp_path: Path) -> None:
    key = key_file(tmp_path)
    first = Process(tmp_path, 30)
    with Connection(first.address, timeout=PATIENCE) as c:
        c.put_key(key)
        job = c.submit(request(key))
        first.wait_for_steps(4)
    first.end(signal.SIGKILL)
    assert first.process.returncode == -signal.SIGKILL
    second = Process(tmp_path, 0)
    with Connection(second.address, timeout=PATIENCE) as c:
        c.watch(job)
        assert c.fetch(job) == expected(request(key), key)
    log = second.end(signal.SIGTERM)
    assert second.process.returncode == 0
    steps = [e["stage"] for e in log if e["event"] == "step"]
    assert steps == ["combination", "range check", "compression", "compression", "digest"]
    text = json.dumps(log)
    assert job not in text
    assert {e["event"] for e in log} <= {"listening", "resumed", "step", "job", "Watch", "Fetch", "stopping", "stopped"}


@pytest.mark.parametrize(("room", "step"), [(1 << 20, None), (1 << 21, "digest")])
def test_without_room_it_says_so_and_serves_on(tmp_path: Path, room: int, step: str | None) -> None:
    """A key that does not fit is refused; a result that does not fit fails its request, which goes on with room."""
    key = key_file(tmp_path)
    if step is not None:  # the key is there from before
        roomy = Process(tmp_path, 0)
        with Connection(roomy.address, timeout=PATIENCE) as c:
            c.put_key(key)
        roomy.end(signal.SIGTERM)
        room = DIGEST_BYTES - 1
    process = Process(tmp_path, 0, FILE_BYTES=str(room))
    with Connection(process.address, timeout=PATIENCE) as c:
        if step is None:
            assert room < KEY_BYTES
            with pytest.raises(BusyError, match="cannot write"):
                c.put_key(key)
        else:
            with pytest.raises(Error, match=r"could not finish.*cannot write"):
                c.watch(c.submit(request(key)))
        assert len(c.info().bulletins) == 3
    log = process.end(signal.SIGTERM)
    assert process.process.returncode == 0
    computed = [e["stage"] for e in log if e["event"] == "step"]
    assert computed.count("compression") == (2 if step else 0)
    if step is None:
        assert not list((tmp_path / "store").rglob("*.key"))
        assert not list((tmp_path / "store" / "incoming").iterdir())
        return
    again = Process(tmp_path, 0)
    with Connection(again.address, timeout=PATIENCE) as c:
        job = c.submit(request(key))
        c.watch(job)
        assert c.fetch(job) == expected(request(key), key)
    assert [e["stage"] for e in again.end(signal.SIGTERM) if e["event"] == "step"] == ["digest"]


def test_told_to_stop_it_ends_within_the_step_under_way(tmp_path: Path) -> None:
    """A step of 30 seconds; the next process begins it again."""
    key = key_file(tmp_path)
    process = Process(tmp_path, 30)
    with Connection(process.address, timeout=PATIENCE) as c:
        c.put_key(key)
        job = c.submit(request(key))
        process.wait_for_steps(4)
    begun = time.monotonic()
    log = process.end(signal.SIGTERM)
    assert time.monotonic() - begun < 5, "the grace of calls, of which there are none"
    assert process.process.returncode == 0
    assert [e["stage"] for e in log if e["event"] in ("step", "halted")] == ["combination"]
    assert [e["event"] for e in log][-1] == "stopped"
    second = Process(tmp_path, 0)
    with Connection(second.address, timeout=PATIENCE) as c:
        c.watch(job)
        assert c.fetch(job) == expected(request(key), key)
    log = second.end(signal.SIGTERM)
    assert next(e["stage"] for e in log if e["event"] == "step") == "combination"


def memory_of(pid: int) -> Iterator[bytes]:
    """What a process has in memory that it has written to, in pieces."""
    span, rights = "0-0", ""
    with open(f"/proc/{pid}/smaps") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as mem:
        for line in maps:
            first, *rest = line.split()
            if "-" in first and not first.endswith(":"):
                span, rights = first, rest[0]
            elif first == "Private_Dirty:" and int(rest[0]) and rights.startswith("rw"):
                start, end = (int(x, 16) for x in span.split("-"))
                with contextlib.suppress(OSError, OverflowError, ValueError):
                    mem.seek(start)
                    yield mem.read(end - start)


def serving(folder: Path, *more: str) -> tuple[subprocess.Popen[str], str]:
    """`detect serve` on the engine and the board in this folder, and where it listens. Its log is the file `log`."""
    words = [*more, "--board", "board.sqlite", "--listen", "127.0.0.1:0", "--set", "test", "--insecure", "tests"]
    process = subprocess.Popen(
        [sys.executable, "-m", "ringforge.cli", "omr", "detect", "serve", *words, "--threads", "1", "--log", "log"],
        stdout=subprocess.PIPE,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(ringforge.__file__).parents[1]), *sys.path])},
        text=True,
    )
    assert process.stdout is not None
    return process, json.loads(process.stdout.readline())["listening"]


def finish(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0
    assert process.stdout is not None
    process.stdout.close()


def test_stopped_within_a_step_the_engine_goes_on_where_it_was(tmp_path: Path) -> None:
    """Three bulletins; told to stop while it computes on one of them. Each step is finished once."""
    secret = ReceiverSecret.make(SMALL)
    DetectionKey.make(secret).save(tmp_path / "key")
    found = texts(6)
    with new_board(tmp_path) as board:
        for i in range(3):
            bulletin(board, posts(Person(secret.signal, secret.box), found[2 * i : 2 * i + 2]))
    first, address = serving(tmp_path)
    with Connection(address, timeout=PATIENCE) as c:
        name = c.put_key(tmp_path / "key")
        for number, digest in c.info().bulletins.items():
            c.submit(Request(name, number, digest, "messages", 50, 0, SMALL.entries))
        time.sleep(0.3)  # of about three seconds
    finish(first)
    store = tmp_path / "detector"
    assert not list((store / "incoming").iterdir())
    for path in store.glob("*/results/*"):
        read_result(path)  # whole
    lines = len((tmp_path / "log").read_text().splitlines())
    second, address = serving(tmp_path)
    with Connection(address, timeout=PATIENCE) as c:
        outcome = Run(c, SecretReader(secret), tmp_path / "key", SMALL.entries, Wanted())()
    assert [m.text for m in outcome.messages] == found
    finish(second)
    log = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    steps = [(e["job"], e["stage"], e["first"]) for e in log if e["event"] == "step"]
    assert len(steps) == len(set(steps)) == 3 * 5
    assert [e for e in log[lines:] if e["event"] == "step"], "something was left to do"
    assert len([e for e in log[:lines] if e["event"] == "halted"]) <= 1


def test_the_memory_of_a_detector_holds_no_secret_and_no_text(tmp_path: Path) -> None:
    """`detect serve` on the engine, after it has found messages."""
    secret = ReceiverSecret.make(SMALL)
    secret.save(tmp_path / "secret")
    DetectionKey.make(secret).save(tmp_path / "key")
    found = texts(9, "a message that must be nowhere")
    with new_board(tmp_path) as board:
        bulletin(board, posts(Person(secret.signal, secret.box), found))
    process, address = serving(tmp_path)
    with Connection(address, timeout=PATIENCE) as c:
        outcome = Run(c, SecretReader(secret), tmp_path / "key", SMALL.entries, Wanted())()
        assert [m.text for m in outcome.messages] == found
        pieces = secret_pieces(tmp_path / "secret")
        needles = [
            *pieces[:: max(1, len(pieces) // 6)],
            found[0],
            secret.box.secret_bytes(),
            secret.signal.secret_bytes(),
        ]
        there = key_name(tmp_path / "key").encode()
        held = {needle for part in memory_of(process.pid) for needle in [*needles, there] if needle in part}
        assert held == {there}, "the name of the detection key is all it has"
    finish(process)
