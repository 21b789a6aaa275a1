# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The detector's service: keys, requests, digests; who gets what; what ends, breaks off, and goes on."""

from __future__ import annotations

import errno
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from ringforge.errors import Error, FormatError, MismatchError, MissingKeyError, ParameterError
from ringforge.omr import detector_wire as wire
from ringforge.omr.depot import Depot
from ringforge.omr.detector_client import Info, key_name
from ringforge.omr.detector_service import Kept
from ringforge.omr.proto import detector_pb2 as pb
from ringforge.omr.steps import Request, Step
from ringforge.serving import framing
from ringforge.serving.jobs import Progress
from ringforge.serving.limits import Limits
from ringforge.serving.quota import QuotaError
from ringforge.serving.sessions import BusyError

from .detecting import (
    BULLETINS,
    DIGEST_BYTES,
    KEY_BYTES,
    PLAN,
    TOKENS,
    HashWorker,
    Loop,
    digest,
    expected,
    key_file,
    loop,
    request,
    steps_of,
)

ONE_CHUNK = framing.CHUNK


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Loop]:
    with loop(tmp_path) as found:
        yield found


def raw(found: Loop, method: str, *messages: Any) -> None:
    """Sends messages as they are; raises what the service says."""
    request: Any = iter(messages) if wire.METHODS[method][2] else messages[0]
    with found.connect() as c, c._refusals(), c._call(method, request) as replies:
        list(replies)


def store_files(found: Loop) -> list[Path]:
    return [p for p in found.depot.path.rglob("*") if p.is_file() and p.name not in (".lock", ".clock")]


# ---- a whole run ----


def test_a_request_from_key_to_digest(running: Loop, tmp_path: Path) -> None:
    key = key_file(tmp_path)
    with running.connect() as c:
        assert c.info().keys == {}
        name = c.put_key(key)
        told: list[Progress] = []
        job = c.submit(request(key))
        c.watch(job, told.append)
        assert c.fetch(job) == expected(request(key), key)
        info = c.info()
    assert info.keys[name]["capacity"] == 50
    assert info.bulletins == dict(BULLETINS)
    assert [(j["job"], j["state"]) for j in info.jobs] == [(job, "done")]
    assert told[-1].state == "done"
    fractions = [p.fraction for p in told]
    assert fractions == sorted(fractions)
    assert {p.state for p in told} <= {"waiting", "running", "done"}
    sent, received = c.traffic.total()
    assert sent < KEY_BYTES + 2000
    assert received < DIGEST_BYTES + 8000


def test_progress_names_the_stages_and_the_time_left(tmp_path: Path) -> None:
    turn = threading.Semaphore(0)

    def one(_: Step) -> None:
        assert turn.acquire(timeout=30)

    worker = HashWorker(fault=one)
    key = key_file(tmp_path)
    with loop(tmp_path, worker=worker) as found, found.connect() as c:
        c.put_key(key)
        job = c.submit(request(key))
        stages = []
        for _ in steps_of(request(key)):
            assert worker.begun.acquire(timeout=30)
            now = found.service.jobs.progress(client(found), job)
            assert now is not None
            stages.append((now.stage, now.done, now.seconds_left >= 0))
            turn.release()
        c.watch(job)
    names = ["affine"] * 4 + ["combination", "range check", "compression", "compression", "digest"]
    assert stages == [(name, i, i > 0) for i, name in enumerate(names)]


def test_progress_goes_on_within_a_step(tmp_path: Path) -> None:
    worker = HashWorker()
    key = key_file(tmp_path)
    with loop(tmp_path, worker=worker) as found, found.connect() as c:
        c.put_key(key)
        worker.gate.clear()
        told: list[Progress] = []

        def hear(now: Progress) -> None:
            told.append(now)
            if len([p for p in told if p.done == 0]) == 5:
                worker.gate.set()

        c.watch(c.submit(request(key)), hear)
    fractions = [p.fraction for p in told if (p.state, p.done) == ("running", 0)]
    assert len(set(fractions)) >= 4
    assert fractions == sorted(fractions)
    assert fractions[-1] <= 4 / 27 + 1e-3, "the first step's share"
    assert len(told) < 120


def client(found: Loop) -> str:
    """The only client that has something here."""
    (name,) = found.depot.clients()
    return name


def test_the_same_request_again_is_the_same_job_and_costs_nothing(tmp_path: Path) -> None:
    key = key_file(tmp_path)
    with loop(tmp_path, quota=1) as found, found.connect() as c:
        c.put_key(key)
        first = digest(c, request(key))
        count = len(found.worker.ran)
        assert digest(c, request(key)) == first
        assert len(found.worker.ran) == count
        assert c.info().left == {"bulletins": 0}
        with pytest.raises(QuotaError, match="0 of 1 a day are left"):
            c.submit(request(key, 1))


def test_another_digest_of_a_bulletin_begins_with_what_was_computed(running: Loop, tmp_path: Path) -> None:
    """A larger capacity, a window: only compression is computed anew."""
    key = key_file(tmp_path)
    with running.connect() as c:
        c.put_key(key)
        digest(c, request(key))
        running.worker.ran.clear()
        again = request(key, capacity=60, last=2048)
        assert digest(c, again) == expected(again, key)
    assert [stage for stage, _ in running.worker.ran] == ["compression", "compression", "digest"]


def test_shards_are_removed_once_they_are_used(running: Loop, tmp_path: Path) -> None:
    key = key_file(tmp_path)
    with running.connect() as c:
        c.put_key(key)
        digest(c, request(key))
    left = {p.name for p in (running.depot.path / client(running) / "results").iterdir()}
    steps = steps_of(request(key))
    assert left == {s.name for s in steps if s.stage in ("range check", "digest")}


# ---- who gets what ----


def test_a_client_without_a_token_is_refused(tmp_path: Path) -> None:
    with loop(tmp_path, tokens=True) as found, found.connect() as c, pytest.raises(Error, match="refused this client"):
        c.info()


def test_a_digest_belongs_to_its_token(tmp_path: Path) -> None:
    """Somebody else's job, key and digest do not exist."""
    key = key_file(tmp_path)
    with loop(tmp_path, tokens=True) as found, found.connect(0) as mine, found.connect(1) as other:
        mine.put_key(key)
        job = mine.submit(request(key))
        mine.watch(job)
        for ask in (other.fetch, other.watch):
            with pytest.raises(MissingKeyError, match="no job"):
                ask(job)
        assert other.cancel(job) is False
        with pytest.raises(MissingKeyError, match="holds no key"):
            other.submit(request(key))
        with pytest.raises(MissingKeyError, match="holds no key"):
            other.drop_key(key_name(key))
        assert other.info().keys == {}
        assert other.info().jobs == []
        assert mine.fetch(job) == expected(request(key), key)


def test_several_requests_at_a_time_do_no_step_twice(tmp_path: Path) -> None:
    """Two about different bulletins; a third has steps in common with the first, and waits for it."""
    worker, key = HashWorker(), key_file(tmp_path)
    with loop(tmp_path, worker=worker, kept=Kept(at_once=3)) as found, found.connect() as c:
        c.put_key(key)
        worker.gate.clear()
        asked = [request(key, 0), request(key, 1), request(key, 0, capacity=20)]
        jobs = [c.submit(r) for r in asked]
        assert worker.begun.acquire(timeout=30)
        assert worker.begun.acquire(timeout=30)
        assert not worker.begun.acquire(timeout=0.5)
        worker.gate.set()
        for job, r in zip(jobs, asked, strict=True):
            c.watch(job)
            assert c.fetch(job) == expected(r, key)
    assert Counter(stage for stage, _ in worker.ran) == {
        "affine": 8, "combination": 2, "range check": 2, "compression": 6, "digest": 3,
    }  # fmt: skip


def test_two_receivers_take_turns(tmp_path: Path) -> None:
    """One with many requests does not hold up another that has one."""
    worker = HashWorker()
    keys = [key_file(tmp_path, who) for who in range(2)]
    with loop(tmp_path, worker=worker, tokens=True) as found, found.connect(0) as many, found.connect(1) as one:
        many.put_key(keys[0])
        one.put_key(keys[1])
        worker.gate.clear()
        jobs = [many.submit(request(keys[0], i)) for i in range(3)]
        assert worker.begun.acquire(timeout=30)
        job = one.submit(request(keys[1]))
        now = found.service.jobs.progress(found.quota.client(identity(TOKENS[1])).hex(), job)
        assert now is not None
        assert (now.state, now.waiting) == ("waiting", 1)
        worker.gate.set()
        one.watch(job)
        assert one.fetch(job) == expected(request(keys[1]), keys[1])
        for i, j in enumerate(jobs):
            many.watch(j)
            assert many.fetch(j) == expected(request(keys[0], i), keys[0])
    order = [who for (stage, who) in worker.ran if stage == "digest"]
    assert order == [key_name(keys[who])[:8] for who in (0, 1, 0, 0)]


def identity(token: str) -> str:
    import hashlib

    return f"token:{hashlib.sha256(token.encode()).hexdigest()}"


def test_with_tls(tmp_path: Path, certificates: Path) -> None:
    from ringforge.serving.access import server_credentials

    key = key_file(tmp_path)
    (certificates / "s.key").chmod(0o600)
    credentials = server_credentials(certificates / "s.pem", certificates / "s.key")
    with loop(tmp_path, tokens=True, credentials=credentials) as found:
        with found.connect(0, ca=certificates / "ca.pem") as c:
            c.put_key(key)
            assert digest(c, request(key)) == expected(request(key), key)
        with found.connect(0, ca=certificates / "stranger.pem") as c, pytest.raises(Error):
            c.info()


# ---- what is refused ----


def test_keys_that_are_refused(running: Loop, tmp_path: Path) -> None:
    key = key_file(tmp_path)
    with running.connect() as c:
        for size, words in ((100, "those for this detector have"), (KEY_BYTES + 1, "those for this detector have")):
            other = tmp_path / "other"
            other.write_bytes(key.read_bytes().ljust(size, b"x")[:size])
            with pytest.raises(FormatError, match=words):
                c.put_key(other)
        other.write_bytes(bytes(KEY_BYTES))
        with pytest.raises(FormatError, match="no detection key"):
            c.put_key(other)
        c.put_key(key)
        with pytest.raises(MismatchError, match="already"):
            c.put_key(key)
        c.put_key(key_file(tmp_path, 1))
        with pytest.raises(BusyError, match="2 keys of this client, of 2"):
            c.put_key(key_file(tmp_path, 2))
        c.drop_key(key_name(key))
        c.put_key(tmp_path / "key2")
    assert len([p for p in store_files(running) if p.suffix == ".key"]) == 2


def test_a_secret_key_is_thrown_away(tmp_path: Path) -> None:
    """A receiver that sends the wrong file hears so, and nothing of it stays."""
    from ringforge.psi.oprf import ServerKey

    path = tmp_path / "secret"
    ServerKey.random().save(path)

    class Lenient(HashWorker):
        def key_bytes(self) -> tuple[int, int]:
            return 1, 1 << 20

        def check_key(self, path: Path, progress: Any = None) -> dict[str, Any]:
            del progress
            return {"capacity": path.stat().st_size}

    with loop(tmp_path, worker=Lenient()) as found, found.connect() as c:
        with pytest.raises(FormatError, match=r"holds a key of an OPRF server.*thrown away"):
            c.put_key(path)
        assert not [p for p in store_files(found) if path.read_bytes() in p.read_bytes()]


def key_messages(key: Path, **header: Any) -> list[Any]:
    data = key.read_bytes()
    about = {"sha256": bytes.fromhex(key_name(key)), "total_bytes": len(data), **header}
    first = pb.PutKeyRequest(header=pb.KeyHeader(**about))
    return [first, *(pb.PutKeyRequest(chunk=c) for c in framing.chunks(data))]


@pytest.mark.parametrize("end", [0, 1, 2])
def test_an_upload_that_breaks_off_leaves_nothing(running: Loop, tmp_path: Path, end: int) -> None:
    key = key_file(tmp_path)
    with pytest.raises(FormatError, match=r"first message is no header|was cut off"):
        raw(running, "PutKey", *key_messages(key)[:end])
    assert store_files(running) == []
    with running.connect() as c:
        c.put_key(key)


def test_an_upload_whose_client_vanishes_leaves_nothing(running: Loop, tmp_path: Path) -> None:
    messages = key_messages(key_file(tmp_path))
    sent = threading.Event()

    def some() -> Iterator[Any]:
        yield from messages[:2]
        sent.set()
        threading.Event().wait(30)

    with running.connect() as c:
        call = c._methods["PutKey"](some(), metadata=())
        assert sent.wait(30)
        call.cancel()
    until(lambda: len(running.events("PutKey")) == 1)
    # gRPC may tell of the end of the stream before it tells of the client's.
    assert running.events("PutKey")[0]["result"] in ("gone", "FormatError")
    assert store_files(running) == []


def until(condition: Any) -> None:
    tick = threading.Event()
    for _ in range(3000):
        if condition():
            return
        tick.wait(0.01)
    raise AssertionError("it does not happen")


def test_uploads_that_are_changed_on_their_way(running: Loop, tmp_path: Path) -> None:
    key = key_file(tmp_path)
    good = key_messages(key)
    swapped = [good[0], pb.PutKeyRequest(chunk=bytes(ONE_CHUNK)), *good[2:]]
    odd = [good[0], pb.PutKeyRequest(chunk=bytes(17)), *good[2:]]
    for messages, words in (
        (swapped, "SHA-256 is not the one"),
        (odd, "a chunk of 17 bytes"),
        ([*good, good[1]], "chunk"),
    ):
        with pytest.raises(FormatError, match=words):
            raw(running, "PutKey", *messages)
    with pytest.raises(FormatError, match="named by 32 bytes, not 3"):
        raw(running, "PutKey", *key_messages(key, sha256=b"abc"))
    assert store_files(running) == []


def test_requests_that_are_refused(running: Loop, tmp_path: Path) -> None:
    key = key_file(tmp_path)
    good = {
        "key": bytes.fromhex(key_name(key)),
        "bulletin": 0,
        "digest": bytes.fromhex(BULLETINS[0][1]),
        "mode": "messages",
        "capacity": 50,
        "first": 0,
        "last": 4096,
    }
    with running.connect() as c:
        with pytest.raises(MissingKeyError, match="holds no key"):
            c.submit(request(key))
        c.put_key(key)
    for change, kind, words in [
        ({"bulletin": 7}, ParameterError, "no sealed bulletin 7"),
        ({"digest": bytes(32)}, ParameterError, "no sealed bulletin 0 with the digest 000000"),
        ({"mode": "all"}, ParameterError, "no mode"),
        ({"capacity": 0}, ParameterError, "1 is the least"),
        ({"capacity": 66}, ParameterError, "65 is the most"),
        ({"last": 0}, ParameterError, "window"),
        ({"key": b"../../etc"}, FormatError, "32 bytes"),
        ({"digest": b""}, FormatError, "32 bytes"),
    ]:
        with pytest.raises(kind, match=words):
            raw(running, "Submit", pb.SubmitRequest(**{**good, **change}))
    with pytest.raises(FormatError, match="16 bytes"):
        raw(running, "Fetch", pb.FetchRequest(job=b"../x"))
    with pytest.raises(MissingKeyError, match="no job"):
        raw(running, "Watch", pb.WatchRequest(job=bytes(16)))
    assert running.worker.ran == []


def test_bytes_that_are_no_messages(running: Loop) -> None:
    channel = grpc.insecure_channel(f"127.0.0.1:{running.running.port}")
    for method in wire.METHODS:
        call = channel.stream_stream(f"/{wire.SERVICE}/{method}", None, None)
        with pytest.raises(grpc.RpcError) as e:
            list(call(iter([b"\xff\xff\xff"]), timeout=30))
        assert e.value.code() is grpc.StatusCode.INVALID_ARGUMENT, method
    channel.close()


def test_limits_of_requests_and_disk(tmp_path: Path) -> None:
    worker = HashWorker()
    key = key_file(tmp_path)
    kept = Kept(jobs_each=1, disk=KEY_BYTES + 10_000)
    with loop(tmp_path, worker=worker, kept=kept) as found, found.connect() as c:
        c.put_key(key)
        with pytest.raises(BusyError, match="disk is full"):
            c.put_key(key_file(tmp_path, 1))
        worker.gate.clear()
        job = c.submit(request(key))
        assert worker.begun.acquire(timeout=30)
        with pytest.raises(BusyError, match="1 requests under way, of 1"):
            c.submit(request(key, 1))
        with pytest.raises(BusyError, match="computes with this key"):
            c.drop_key(key_name(key))
        with pytest.raises(MismatchError, match="is not done: it has no digest"):
            c.fetch(job)
        worker.gate.set()


def test_a_full_disk_has_room_for_who_has_less(tmp_path: Path) -> None:
    """Keys of the client with most go for another's first, the longest unused; never one that a request needs."""
    kept = Kept(keys_each=8, disk=3 * KEY_BYTES + 10_000)
    with (
        loop(tmp_path, tokens=True, kept=kept) as found,
        found.connect(0) as eve,
        found.connect(1) as honest,
    ):
        theirs = [key_file(tmp_path, n) for n in range(3)]
        for key in theirs:
            eve.put_key(key)
        with pytest.raises(BusyError, match="disk is full"):
            eve.put_key(key_file(tmp_path, 3))
        found.worker.gate.clear()
        job = eve.submit(request(theirs[0]))
        mine = key_file(tmp_path, 4)
        honest.put_key(mine)
        assert set(eve.info().keys) == {key_name(theirs[0]), key_name(theirs[2])}
        assert set(honest.info().keys) == {key_name(mine)}
        honest.put_key(key_file(tmp_path, 5))
        assert set(eve.info().keys) == {key_name(theirs[0])}, "the request needs it"
        with pytest.raises(BusyError, match="disk is full"):
            honest.put_key(key_file(tmp_path, 6))
        with pytest.raises(MissingKeyError):
            eve.submit(request(theirs[1], 1))
        found.worker.gate.set()
        eve.watch(job)


def test_queues_have_an_end(tmp_path: Path) -> None:
    worker = HashWorker()
    key = key_file(tmp_path)
    with loop(tmp_path, worker=worker, limits=Limits(waiting=1, grace_seconds=0)) as found, found.connect() as c:
        c.put_key(key)
        worker.gate.clear()
        c.submit(request(key))
        assert worker.begun.acquire(timeout=30)
        c.submit(request(key, 1))
        with pytest.raises(BusyError, match="wait already"):
            c.submit(request(key, 2))
        worker.gate.set()


# ---- what ends, and what goes on ----


def test_cancelling(tmp_path: Path) -> None:
    worker = HashWorker()
    key = key_file(tmp_path)
    with loop(tmp_path, worker=worker) as found, found.connect() as c:
        c.put_key(key)
        worker.gate.clear()
        running, waiting = c.submit(request(key)), c.submit(request(key, 1))
        assert worker.begun.acquire(timeout=30)
        assert c.cancel(waiting)
        with pytest.raises(Error, match="was cancelled"):
            c.watch(waiting)
        assert c.cancel(running)
        with pytest.raises(Error, match="was cancelled"):
            c.watch(running)
        assert len(worker.ran) == 1
        until(lambda: bool(found.events("halted")))
        assert [e["stage"] for e in found.events("halted")] == ["affine"], "it ended within its step"
        assert not c.cancel(running)
        results = found.depot.path / client(found) / "results"
        assert not results.exists() or not list(results.iterdir())
        worker.gate.set()
        assert digest(c, request(key)) == expected(request(key), key)
        assert len(worker.ran) == 10


def test_what_a_cancelled_request_has_computed_serves_the_next(tmp_path: Path) -> None:
    worker = HashWorker(pace=lambda step: 30.0 if step.stage == "range check" else 0.0)
    key = key_file(tmp_path)
    with loop(tmp_path, worker=worker) as found, found.connect() as c:
        c.put_key(key)
        job = c.submit(request(key))
        for _ in range(6):
            assert worker.begun.acquire(timeout=30)
        assert c.cancel(job)
        with pytest.raises(Error, match="was cancelled"):
            c.watch(job)
        worker.pace = lambda _: 0.0
        worker.ran.clear()
        assert digest(c, request(key)) == expected(request(key), key)
    assert [stage for stage, _ in worker.ran] == ["range check", "compression", "compression", "digest"]


def test_an_error_of_a_step_fails_the_request(tmp_path: Path) -> None:
    key = key_file(tmp_path)

    def fault(_: Step) -> None:
        raise Error("no luck")

    worker = HashWorker(fault=fault)
    with loop(tmp_path, worker=worker) as found, found.connect() as c:
        c.put_key(key)
        with pytest.raises(Error, match="no luck"):
            c.watch(c.submit(request(key)))
        assert not found.events("halted")


def test_a_client_that_leaves_does_not_end_its_job(tmp_path: Path) -> None:
    worker = HashWorker()
    key = key_file(tmp_path)
    with loop(tmp_path, worker=worker) as found:
        with found.connect() as c:
            c.put_key(key)
            worker.gate.clear()
            job = c.submit(request(key))
            assert worker.begun.acquire(timeout=30)
        worker.gate.set()
        with found.connect() as c:
            c.watch(job)
            assert c.fetch(job) == expected(request(key), key)


def test_a_client_that_does_not_take_its_digest_is_let_go(tmp_path: Path) -> None:
    key = key_file(tmp_path)
    with loop(tmp_path, limits=Limits(stall_seconds=0.3, grace_seconds=0)) as found, found.connect() as c:
        c.put_key(key)
        job = c.submit(request(key))
        c.watch(job)
        call = c._methods["Fetch"](pb.FetchRequest(job=bytes.fromhex(job)))
        until(lambda: len(found.events("Fetch")) == 1)  # nothing is read meanwhile
        assert found.events("Fetch")[0]["result"] in ("stalled", "ok"), "ok: all of it fitted into the buffers"
        call.cancel()
        assert c.fetch(job) == expected(request(key), key)


def test_a_client_that_sends_nothing_is_let_go(tmp_path: Path) -> None:
    messages = key_messages(key_file(tmp_path))

    def some() -> Iterator[Any]:
        yield from messages[:2]
        threading.Event().wait(30)

    with loop(tmp_path, limits=Limits(stall_seconds=0.2, grace_seconds=0)) as found, found.connect() as c:
        call = c._methods["PutKey"](some(), metadata=())
        with pytest.raises(grpc.RpcError):
            list(call)
        until(lambda: len(found.events("PutKey")) == 1)
        assert found.events("PutKey")[0]["result"] == "stalled"
        assert store_files(found) == []


def test_a_step_that_fails_ends_its_job_only(tmp_path: Path) -> None:
    worker = HashWorker()
    key = key_file(tmp_path)

    def fail(step: Step) -> None:
        if step.stage == "range check":
            raise ParameterError("no luck")

    with loop(tmp_path, worker=worker) as found, found.connect() as c:
        c.put_key(key)
        worker.fault = fail
        with pytest.raises(ParameterError, match=r"could not finish.*no luck"):
            digest(c, request(key))
        worker.fault = lambda _: (_ for _ in ()).throw(RuntimeError("contents"))
        with pytest.raises(Error, match="its log says where") as e:
            digest(c, request(key, 1))
        assert "contents" not in str(e.value)
        worker.fault = lambda _: None
        assert digest(c, request(key)) == expected(request(key), key), "asked again, it goes on"
    assert [stage for stage, _ in worker.ran].count("combination") == 1


def test_a_full_disk_fails_the_job_and_room_lets_it_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = key_file(tmp_path)
    keep = Depot.keep_result

    def full(self: Depot, client: str, step: Step, result: bytes) -> None:
        if step.stage == "combination":
            raise OSError(errno.ENOSPC, "No space left on device")
        keep(self, client, step, result)

    with loop(tmp_path) as found, found.connect() as c:
        c.put_key(key)
        monkeypatch.setattr(Depot, "keep_result", full)
        with pytest.raises(Error, match=r"cannot write.*No space left"):
            digest(c, request(key))
        monkeypatch.setattr(Depot, "keep_result", keep)
        assert digest(c, request(key)) == expected(request(key), key)
    assert [stage for stage, _ in found.worker.ran].count("affine") == 4


def test_what_has_been_kept_long_enough_goes(tmp_path: Path) -> None:
    key = key_file(tmp_path)
    with loop(tmp_path, kept=Kept(keep_seconds=1)) as found, found.connect() as c:
        c.put_key(key)
        job = c.submit(request(key))
        c.watch(job)
        assert found.depot.sweep(0) == 0
        assert found.depot.sweep(1e12) == 1
        with pytest.raises(MissingKeyError, match="no job"):
            c.fetch(job)
        assert [p.suffix for p in sorted(store_files(found))] == [".json", ".key"]


# ---- restarts ----


def test_a_restart_goes_on_with_the_step_that_was_not_finished(tmp_path: Path) -> None:
    worker = HashWorker()
    key = key_file(tmp_path)
    with loop(tmp_path, worker=worker) as found:
        with found.connect() as c:
            c.put_key(key)
            worker.gate.clear()
            job = c.submit(request(key))
            assert worker.begun.acquire(timeout=30)
        found.service.stopping(0)
        assert found.service.jobs.join(10), "without opening the gate"
        assert [e["stage"] for e in found.events("halted")] == ["affine"]
    assert len(worker.ran) == 1
    second = HashWorker()
    with loop(tmp_path, worker=second) as found, found.connect() as c:
        c.watch(job)
        assert c.fetch(job) == expected(request(key), key)
    assert len(second.ran) == 9
    assert found.events("resumed")[0]["jobs"] == 1


def test_damaged_results_and_those_of_another_plan_are_computed_anew(tmp_path: Path) -> None:
    key = key_file(tmp_path)
    with loop(tmp_path) as found, found.connect() as c:
        c.put_key(key)
        first = digest(c, request(key))
        for path in (found.depot.path / client(found) / "results").iterdir():
            data = bytearray(path.read_bytes())
            data[-1] ^= 1
            path.write_bytes(data)
        found.worker.ran.clear()
        assert digest(c, request(key)) == first
        assert len(found.worker.ran) == 9
    other = HashWorker(plan=PLAN[::-1])
    with loop(tmp_path, worker=other) as found, found.connect() as c:
        second = digest(c, request(key))
        assert len(other.ran) == 9
    assert second != first


def test_two_detectors_do_not_share_a_directory(running: Loop) -> None:
    with pytest.raises(Error, match="another detector works in store"):
        Depot(running.depot.path)


# ---- descriptions ----


def test_steps_are_data(tmp_path: Path) -> None:
    """What a step is travels as bytes, and is itself again."""
    for step in steps_of(request(key_file(tmp_path))):
        again = Step.from_json(step.to_json())
        assert again == step
        assert again.name == step.name
    for bad in (
        b"",
        b"{}",
        b"[1]",
        step.to_json() + b" ",
        step.to_json().replace(b"digest", b"digests", 1),
        bytes(1 << 17),
    ):
        with pytest.raises(FormatError, match=r"no description|are the most"):
            Step.from_json(bad)


def test_descriptions_of_detectors() -> None:
    for bad in (b"", b"[]", b"{}", b'{"detector": 1}', b"[" * 100_000):
        with pytest.raises(FormatError, match="none"):
            Info.from_json(bad)


def test_requests_check_themselves() -> None:
    good = {
        "key": "0" * 64,
        "bulletin": 0,
        "digest": "0" * 64,
        "mode": "messages",
        "capacity": 1,
        "first": 0,
        "last": 1,
    }
    Request(**good)
    for change in (
        {"bulletin": -1},
        {"first": 1},
        {"first": -1},
        {"key": "../" + "0" * 61},
        {"mode": "x"},
        {"capacity": 0},
    ):
        with pytest.raises(ParameterError):
            Request(**{**good, **change})
