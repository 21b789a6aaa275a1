# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A server of AES: keys once, jobs in turn, each client's own; what is refused, what ends, and what goes on.

Tokens, TLS, stalls and deadlines as such are those of `ringforge.serving`, which psi and omr test.
"""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tests.aes.clear_scheme as clear
from ringforge.aes import files, transcipher, wire
from ringforge.aes.client import Connection, Info
from ringforge.aes.depot import Depot
from ringforge.aes.keys import SCHEMES
from ringforge.aes.ledger import Ledger
from ringforge.aes.proto import aes_pb2 as pb
from ringforge.aes.service import Kept, Service
from ringforge.aes.texts import stream_key
from ringforge.cli import main
from ringforge.errors import Error, FormatError, MismatchError, MissingKeyError, ParameterError
from ringforge.local_http import first_line
from ringforge.serving import service as framing_service
from ringforge.serving.access import Tokens
from ringforge.serving.calls import Log
from ringforge.serving.jobs import Progress
from ringforge.serving.limits import Limits
from ringforge.serving.listener import Running
from ringforge.serving.quota import Quota, QuotaError
from ringforge.serving.sessions import BusyError
from tests.aes.clear_engine import ClearClient
from tests.aes.test_clear_engine import library
from tests.answers import result_of
from tests.psi.processes import PATIENCE, environment

KEY = bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c")
TOKENS = ["a" * 32, "b" * 32]
CLIENT = ClearClient()


@dataclass
class Loop:
    """A server in this process."""

    service: Service
    running: Running
    log: io.StringIO
    store: Path

    def connect(self, token: int | None = None) -> Connection:
        return Connection(f"127.0.0.1:{self.running.port}", token=None if token is None else TOKENS[token])

    def events(self, name: str) -> list[dict[str, Any]]:
        return [e for e in map(json.loads, self.log.getvalue().splitlines()) if e["event"] == name]


@contextlib.contextmanager
def loop(
    folder: Path,
    *,
    kept: Kept | None = None,
    quota: int = 1 << 20,
    tokens: bool = False,
    limits: Limits | None = None,
) -> Iterator[Loop]:
    counted, log, depot = Quota(folder / "quota", {"blocks": quota}), io.StringIO(), Depot(folder / "store")
    scheme = SCHEMES["clear"]
    service = Service(
        scheme,
        scheme.shape("clear-test", "a test"),
        depot,
        counted,
        limits or Limits(grace_seconds=0),
        kept,
        Tokens(TOKENS) if tokens else None,
        Log(log),
    )
    running = Running(service, "127.0.0.1:0")
    try:
        yield Loop(service, running, log, folder / "store")
    finally:
        service.jobs.stop()
        running.stop(0)
        assert service.jobs.join(60)
        service.close()
        counted.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Evaluation keys `k`, larger than a chunk, round keys `r`, encrypted blocks `b` of `plain`, a stream `c`."""
    SCHEMES["clear"].shape("clear-test", "a test")
    (tmp_path / "k").mkdir()
    clear.Clear().make("clear-test", "a test", tmp_path / "s", tmp_path / "k", 1)
    files.write_round_keys(tmp_path / "r", CLIENT, KEY, "encrypt")
    encrypt(tmp_path / "b", plain())
    stream(tmp_path, "c", b"a text of thirty-three bytes, all")
    return tmp_path


def plain(count: int = 40) -> np.ndarray:
    return np.random.default_rng(8).integers(0, 256, (count, 16), dtype=np.uint8)


def encrypt(path: Path, x: np.ndarray) -> None:
    states = [CLIENT.encrypt_blocks(x[i : i + 32]) for i in range(0, len(x), 32)]
    files.write_states(path, CLIENT, files.head_of(CLIENT, states[0], files.new_name(), len(x)), states)


def stream(folder: Path, name: str, text: bytes, ledger: str = "ledger", counter: int = 5) -> None:
    made = transcipher.encrypt(stream_key(KEY), text, Ledger(folder / ledger), counter)
    (folder / name).write_bytes(made.to_bytes())


def opened(path: Path) -> np.ndarray:
    file = files.File(path, CLIENT)
    return np.concatenate([CLIENT.decrypt_blocks(file.state(i)) for i in range(file.head.states)])


def sets(c: Connection, folder: Path) -> tuple[str, str]:
    return c.put(wire.EVALUATION, folder / "k"), c.put(wire.ROUND_KEYS, folder / "r")


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Sets what a round takes."""
    return lambda seconds: monkeypatch.setenv("CLEAR_SECONDS", seconds)


def state_of(found: Loop, job: str) -> str:
    """How a job that is not finished stands: on the disk it waits until it is."""
    (client,) = (client for client, name in list(found.service.jobs._running) if name == job)
    now = found.service.jobs.progress(client, job)
    assert now is not None
    return now.state


def begun(found: Loop, job: str) -> None:
    """Waits until a job computes."""
    until = time.monotonic() + PATIENCE
    while state_of(found, job) == "waiting":
        if time.monotonic() > until:
            raise AssertionError("the job does not begin")
        time.sleep(0.02)


def test_blocks_and_a_stream(folder: Path) -> None:
    """Keys are sent once; results are AES; the stream is taken for what it was before, and computed on."""
    with loop(folder) as found, found.connect() as c:
        names = sets(c, folder)
        sent = c.traffic.sent["keys"]
        assert sent > 2 << 20
        seen: list[Progress] = []
        job = c.submit(*names, wire.BLOCKS, folder / "b")
        c.watch(job, seen.append)
        c.fetch(job, folder / "e")
        assert np.array_equal(opened(folder / "e"), library(KEY, plain(), "encrypt"))
        assert seen[-1].state == "done"
        assert seen[-1].seconds_left == 0
        assert c.submit(*names, wire.BLOCKS, folder / "b") == job
        assert sets(c, folder) == names
        assert c.traffic.sent["keys"] < sent + 4096
        job = c.submit(*names, wire.STREAM, folder / "c", "below:97")
        c.watch(job)
        c.fetch(job, folder / "streamed")
        text = b"a text of thirty-three bytes, all".ljust(48, b"\0")
        assert opened(folder / "streamed").tobytes()[:33] == bytes(b < 97 for b in text)[:33]
        info = c.info()
        assert info.server["slots"] == 32
        assert {s["kind"] for s in info.sets.values()} == {wire.EVALUATION, wire.ROUND_KEYS}
        assert [(j["kind"], j["state"], j["blocks"]) for j in info.jobs] == [
            ("blocks", "done", 40),
            ("stream", "done", 3),
        ]
        assert info.left["blocks"] == (1 << 20) - 43
        rounds = [(e["state"], e["round"]) for e in found.events("round")]
        assert rounds[:22] == [(s, i) for s in range(2) for i in range(11)]


def test_clients_do_not_see_each_other(folder: Path) -> None:
    with loop(folder, tokens=True) as found, found.connect(0) as one, found.connect(1) as two:
        names = sets(one, folder)
        job = one.submit(*names, wire.BLOCKS, folder / "b")
        one.watch(job)
        for call in (lambda: two.watch(job), lambda: two.fetch(job, folder / "x")):
            with pytest.raises(MissingKeyError, match="there is no job"):
                call()
        with pytest.raises(MissingKeyError, match="no set"):
            two.submit(*names, wire.BLOCKS, folder / "b")
        with pytest.raises(MissingKeyError, match="no set"):
            two.drop(names[0])
        assert not two.cancel(job)
        assert (two.info().jobs, two.info().sets) == ([], {})
        with found.connect() as nobody, pytest.raises(Error, match="with a token it knows"):
            nobody.info()
        assert not (folder / "x").exists()


def test_jobs_are_cancelled_and_keys_dropped(folder: Path, slow: Callable[[str], None]) -> None:
    slow("0.5")
    with loop(folder) as found, found.connect() as c:
        names = sets(c, folder)
        job = c.submit(*names, wire.BLOCKS, folder / "b")
        begun(found, job)
        for name in names:
            with pytest.raises(BusyError, match="computes with these keys"):
                c.drop(name)
        assert c.cancel(job)
        with pytest.raises(Error, match="was cancelled"):
            c.watch(job)
        with pytest.raises(MismatchError, match="is not done"):
            c.fetch(job, folder / "x")
        assert not c.cancel(job)
        c.drop(names[1])
        assert list(c.info().sets) == [names[0]]
        with pytest.raises(MissingKeyError, match="no set"):
            c.submit(*names, wire.BLOCKS, folder / "b")
        c.drop(names[0])
        assert not [p for p in found.store.rglob("*") if p.is_file() and p.name not in (".lock", ".clock")]


def test_streams_are_looked_at(folder: Path) -> None:
    """Damaged, of another key, or with counters that another stream had: nothing is computed, even after new keys."""
    with loop(folder) as found, found.connect() as c:
        names = sets(c, folder)
        data = (folder / "c").read_bytes()
        (folder / "bad").write_bytes(data[:70] + bytes([data[70] ^ 1]) + data[71:])
        with pytest.raises(FormatError, match="tag is wrong"):
            c.submit(*names, wire.STREAM, folder / "bad")
        good = transcipher.Stream.from_bytes(data)
        other = replace(good, key_id=bytes(16))
        (folder / "bad").write_bytes(other.to_bytes())
        with pytest.raises(MismatchError, match="send the round keys of its key first"):
            c.submit(*names, wire.STREAM, folder / "bad")
        c.watch(c.submit(*names, wire.STREAM, folder / "c"))
        stream(folder, "again", b"another text", "lost ledger", 7)
        with pytest.raises(ParameterError, match="overlap"):
            c.submit(*names, wire.STREAM, folder / "again")
        c.drop(names[1])
        names = sets(c, folder)
        with pytest.raises(ParameterError, match="overlap"):
            c.submit(*names, wire.STREAM, folder / "again")
        with pytest.raises(ParameterError, match="nothing that servers compute"):
            c.submit(*names, wire.STREAM, folder / "c", "primes")
        assert len(found.events("round")) == 11


def test_keys_are_looked_at(folder: Path) -> None:
    with loop(folder, kept=Kept(sets_each=1)) as found, found.connect() as c:
        (folder / "k" / "more.rgfg").write_bytes(b"RGFG")
        with pytest.raises(FormatError, match="give all that were made for it"):
            c.put(wire.EVALUATION, folder / "k")
        (folder / "k" / "more.rgfg").unlink()
        key = folder / "r" / "round-03.aes"
        good = key.read_bytes()
        for bad, kind in ((good[:-1], FormatError), (good[:1500] + bytes([good[1500] ^ 1]) + good[1501:], FormatError)):
            key.write_bytes(bad)
            with pytest.raises(kind, match=r"damaged|cut off|checksum|altered"):
                c.put(wire.ROUND_KEYS, folder / "r")
            (name,) = c.info().sets
            c.drop(name)
        files.write_round_keys(folder / "r2", CLIENT, bytes(16), "encrypt")
        shutil.copy(folder / "r2" / "round-03.aes", key)
        with pytest.raises(MismatchError, match="several sets"):
            c.put(wire.ROUND_KEYS, folder / "r")
        assert c.info().sets == {}
        key.write_bytes(good)
        assert c.put(wire.ROUND_KEYS, folder / "r")
        with pytest.raises(BusyError, match="ringforge aes drop"):
            c.put(wire.ROUND_KEYS, folder / "r2")
        (folder / "k" / "parameters.rgfg").write_bytes(bytes(2000))
        with pytest.raises(FormatError, match="has 2000 bytes"):
            c.put(wire.EVALUATION, folder / "k")
        with pytest.raises(ParameterError, match="no kind of keys"), c._refusals():
            c._methods["Offer"](pb.OfferRequest(kind="x"))


def test_secrets_are_not_sent(folder: Path) -> None:
    """A directory into which somebody has put a private key: refused before anything is sent."""
    (folder / "k" / "x.rgfg").write_text("-----BEGIN PRIVATE KEY-----\n")
    with loop(folder) as found, found.connect() as c:
        with pytest.raises(FormatError, match="it is not for servers"):
            c.put(wire.EVALUATION, folder / "k")
        assert c.traffic.sent == {}


def test_limits(folder: Path, slow: Callable[[str], None]) -> None:
    encrypt(folder / "b2", plain(2))
    with loop(folder, quota=41, kept=Kept(jobs_each=1, states=2)) as found, found.connect() as c:
        names = sets(c, folder)
        encrypt(folder / "large", plain(70))
        with pytest.raises(FormatError, match="send them in parts"):
            c.submit(*names, wire.BLOCKS, folder / "large")
        slow("0.3")
        job = c.submit(*names, wire.BLOCKS, folder / "b")
        begun(found, job)
        with pytest.raises(BusyError, match="wait for one, or cancel it"):
            c.submit(*names, wire.BLOCKS, folder / "b2")
        c.cancel(job)
        with pytest.raises(Error, match="cancelled"):
            c.watch(job)
        with pytest.raises(QuotaError, match="2 blocks are asked for, 1 of 41"):
            c.submit(*names, wire.BLOCKS, folder / "b2")
        assert not list(found.store.rglob("incoming/*"))
    with loop(folder, kept=Kept(disk=1 << 20)) as found, found.connect() as c, pytest.raises(BusyError, match="disk"):
        c.submit(*names, wire.BLOCKS, folder / "b2")


def test_keys_of_a_request_that_is_being_sent_stay(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever needs room meanwhile gets the keys that it does not need."""
    receive, dropped = framing_service.receive, list[bool]()
    other = folder / "r2"
    files.write_round_keys(other, CLIENT, KEY[::-1], "encrypt")
    with loop(folder) as found, found.connect() as c:
        evaluation, round_keys = sets(c, folder)
        spare = c.put(wire.ROUND_KEYS, other)
        (client,) = found.service._depot.clients()

        def received(*words: Any) -> None:
            receive(*words)
            with found.service._changing:
                dropped.extend(found.service._drop_key(client) for _ in range(2))

        monkeypatch.setattr(framing_service, "receive", received)
        job = c.submit(evaluation, round_keys, wire.BLOCKS, folder / "b")
        c.watch(job)
        assert dropped == [True, False]
        assert sorted(c.info().sets) == sorted({evaluation, round_keys} - {spare})


def test_an_input_whose_request_was_not_taken_goes_at_the_start(folder: Path) -> None:
    left = folder / "store" / ("ab" * 16) / "jobs" / f"{'cd' * 16}.input"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"blocks")
    with loop(folder):
        assert not left.exists()


def test_a_peer_that_says_nothing_more(folder: Path) -> None:
    """It is let go, and nothing of what it sent stays."""
    with loop(folder, limits=Limits(grace_seconds=0, stall_seconds=0.3)) as found, found.connect() as c:
        names = sets(c, folder)

        def messages() -> Iterator[Any]:
            head = pb.JobHeader(
                evaluation=bytes.fromhex(names[0]),
                round_keys=bytes.fromhex(names[1]),
                kind="blocks",
                sha256=bytes(32),
                total_bytes=3 << 20,
            )
            yield pb.SubmitRequest(header=head)
            yield pb.SubmitRequest(chunk=bytes(1 << 20))
            time.sleep(3)

        small = Kept().states * SCHEMES["clear"].shape("clear-test", "x").max_state_bytes
        assert small < 3 << 20  # so the header is refused at once; with one that fits it waits
        with pytest.raises(FormatError, match="send them in parts"), c._refusals():
            list(c._methods["Submit"](messages()))

        def slower() -> Iterator[Any]:
            first = next(messages())
            first.header.total_bytes = 1000
            yield first
            time.sleep(3)

        start = time.monotonic()
        with pytest.raises(Error, match="ended the call"), c._refusals():
            list(c._methods["Submit"](slower()))
        assert time.monotonic() - start < 2.5
        # A call is logged when its handler has ended, which may be after its client knows.
        while len(found.events("Submit")) < 2 and time.monotonic() - start < 20:
            time.sleep(0.05)
        assert [e["result"] for e in found.events("Submit")] == ["FormatError", "stalled"]
        assert not list((found.store / "incoming").iterdir())
        assert c.info().jobs == []


# ---- a process -----------------------------------------------------------------------------------


@contextlib.contextmanager
def served(folder: Path, *words: str, **more: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    command = [sys.executable, "-m", "tests.aes.command", "aes", "serve", "--store", "store", "--log", "log"]
    started = subprocess.Popen(
        [*command, "--scheme", "clear", "--insecure", "a test", "--listen", "127.0.0.1:0", "--grace", "0", *words],
        stdout=subprocess.PIPE,
        env=environment(**more),
        cwd=folder,
    )
    assert started.stdout is not None
    try:
        yield started, str(first_line(started, "server")["listening"])
    finally:
        started.kill()
        started.wait()
        started.stdout.close()


def test_a_server_that_is_killed_goes_on(folder: Path) -> None:
    """SIGKILL in a round, and the same store served again: the job goes on with that round, the result is the same."""
    with loop(folder) as found, found.connect() as c:
        job = c.submit(*sets(c, folder), wire.BLOCKS, folder / "b")
        c.watch(job)
        c.fetch(job, folder / "expected")
    shutil.rmtree(folder / "store")
    with served(folder, CLEAR_SECONDS="0.08") as (process, address), Connection(address) as c:
        assert c.submit(*sets(c, folder), wire.BLOCKS, folder / "b") == job

        def report(p: Progress) -> None:
            if p.done >= 4:
                process.kill()

        with pytest.raises(Error):
            c.watch(job, report)
    before = [json.loads(line) for line in (folder / "log").read_text().splitlines()]
    done = [(e["state"], e["round"]) for e in before if e["event"] == "round"]
    assert 4 <= len(done) < 22
    with served(folder) as (process, address), Connection(address) as c:
        c.watch(job)
        c.fetch(job, folder / "e")
    after = [json.loads(line) for line in (folder / "log").read_text().splitlines()][len(before) :]
    assert [e["jobs"] for e in after if e["event"] == "resumed"] == [1]
    rounds = [(e["state"], e["round"]) for e in after if e["event"] == "round"]
    assert rounds[0] in (done[-1], (done[-1][0], done[-1][1] + 1))  # killed before or after the log's line
    assert len(rounds) < 22
    assert (folder / "e").read_bytes() == (folder / "expected").read_bytes()


def test_a_damaged_checkpoint_of_the_server(folder: Path) -> None:
    """It is as good as none: the job begins anew."""
    with served(folder, CLEAR_SECONDS="0.08") as (process, address), Connection(address) as c:
        job = c.submit(*sets(c, folder), wire.BLOCKS, folder / "b")
        with pytest.raises(Error):
            c.watch(job, lambda p: process.kill() if p.done >= 2 else None)
    (state,) = (folder / "store").rglob("state-*.aes")
    state.write_bytes(state.read_bytes()[:-5])
    with loop(folder) as found, found.connect() as c:
        with pytest.raises(MissingKeyError):  # named by its address, and by another key of another quota file
            c.fetch(job, folder / "e")
        until = time.monotonic() + PATIENCE
        while len(found.events("round")) < 22:
            assert time.monotonic() < until
            time.sleep(0.02)
        assert [e["result"] for e in found.events("checkpoint")] == ["FormatError"]


def test_commands_of_clients(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)

    def run(*words: object, code: int = 0) -> tuple[str, str]:
        assert main(["aes", *map(str, words)]) == code, capsys.readouterr()
        return capsys.readouterr()

    keys = ("--keys", "k", "--round-keys", "r")
    with loop(folder) as found:
        server = ("--server", f"127.0.0.1:{found.running.port}")
        out, err = run("submit", *server, *keys, "--in", "b", "--out", "e")
        assert "`ringforge aes decrypt` opens it" in out + err
        assert np.array_equal(opened(folder / "e"), library(KEY, plain(), "encrypt"))
        made = result_of(run("submit", *server, *keys, "--stream", "c", "--no-wait", "--json")[0])
        assert "wrote e2" in "".join(run("fetch", *server, "--job", made["job"][:8], "--out", "e2"))
        assert opened(folder / "e2").tobytes()[:6] == b"a text"
        out = "".join(run("status", *server))
        for words in ("clear-test (clear), up to 512 blocks a job", "round keys", "done: 40 blocks of blocks"):
            assert words in out
        info = result_of(run("status", *server, "--json")[0])
        assert "had ended already" in "".join(run("cancel", *server, "--job", made["job"]))
        for name in info["sets"]:
            assert "dropped keys" in "".join(run("drop", *server, "--keys", name[:10]))
        assert "names 0 of the 0" in "".join(run("drop", *server, "--keys", "00", code=1))
        assert "say what to submit" in "".join(run("submit", *server, *keys, "--out", "x", code=1))
        assert "say where the result goes" in "".join(run("submit", *server, *keys, "--in", "b", code=1))
    assert "nobody answers" in "".join(run("status", *server, code=1))


def test_descriptions_that_are_none() -> None:
    for text in (
        b"",
        b"{}",
        b"[]",
        b'{"server": {}}',
        b"[" * 5000,
        b'{"server": 1, "sets": {}, "jobs": [], "left": {}}',
    ):
        with pytest.raises(FormatError, match="another program"):
            Info.from_json(text)
