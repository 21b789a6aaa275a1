# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Requests that cannot go on for a while, or whose end cannot be written down: none is lost, none hangs, none is
charged twice.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import resource
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ringforge.errors import Error, StorageError
from ringforge.omr.depot import Depot, Job
from ringforge.omr.detector_client import Connection
from ringforge.omr.detector_service import Kept
from ringforge.omr.steps import Step
from ringforge.serving import jobs
from ringforge.serving.limits import Limits
from ringforge.serving.quota import Quota, QuotaError
from ringforge.serving.sessions import BusyError
from tests.omr.detecting import KEY_BYTES, HashWorker, Loop, digest, expected, key_file, loop, request
from tests.omr.test_detector_process import Process
from tests.psi.processes import PATIENCE


def wait_for(done: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not done():
        assert time.monotonic() < until
        time.sleep(0.02)


def state(c: Connection, job: str) -> str:
    return next(str(j["state"]) for j in c.info().jobs if j["job"] == job)


def on_disk(found: Loop, job: str) -> Job | None:
    (client,) = found.depot.clients()
    return found.depot.job(client, job)


class Disk:
    """Refuses to write down jobs in some states."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.refused: tuple[str, ...] = ()
        keep = Depot.keep_job

        def keep_job(depot: Depot, job: Job, *before: Callable[[], None]) -> None:
            if job.state in self.refused:
                raise OSError(errno.ENOSPC, "No space left on device")
            keep(depot, job, *before)

        monkeypatch.setattr(Depot, "keep_job", keep_job)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


def failing(error: BaseException, stage: str = "combination", times: int = 1) -> HashWorker:
    """A worker on which a step fails so often."""
    left = [times]

    def fault(step: Step) -> None:
        if step.stage == stage and left[0]:
            left[0] -= 1
            raise error

    return HashWorker(fault=fault)


def test_a_failure_that_cannot_be_written_down_is_told_and_written_later(tmp_path: Path, disk: Disk) -> None:
    key = key_file(tmp_path)
    with loop(tmp_path, worker=failing(Error("no luck"), times=2), quota=3) as found, found.connect() as c:
        c.put_key(key)
        disk.refused = ("failed",)
        job = c.submit(request(key))
        for _ in range(2):  # who asks later hears the same
            with pytest.raises(Error, match="no luck"):
                c.watch(job)
        assert state(c, job) == "failed"
        stored = on_disk(found, job)
        assert stored is not None
        assert stored.state == "waiting"
        found.service.housekeeping()
        assert state(c, job) == "failed", "there is no room yet"
        disk.refused = ()
        found.service.housekeeping()
        stored = on_disk(found, job)
        assert stored is not None
        assert (stored.state, stored.error) == ("failed", ("Error", "no luck"))
        disk.refused = ("failed",)
        assert c.submit(request(key)) == job, "asked again, it is begun again, as ever for the price of one"
        with pytest.raises(Error, match="no luck"):
            c.watch(job)
        assert digest(c, request(key)) == expected(request(key), key)
        assert c.info().left["bulletins"] == 0


@pytest.mark.parametrize("again", [False, True])
def test_an_end_that_cannot_be_written_down_is_an_end(tmp_path: Path, disk: Disk, again: bool) -> None:
    """Now, and after a restart, where nothing is computed a second time."""
    key = key_file(tmp_path)
    with loop(tmp_path, quota=1) as found, found.connect() as c:
        c.put_key(key)
        disk.refused = ("done",)
        assert digest(c, request(key)) == expected(request(key), key)
        assert digest(c, request(key)) == expected(request(key), key)
        if again:
            disk.refused = ()
            found.service.housekeeping()
        (job,) = found.depot.jobs()
        assert job.state == ("done" if again else "waiting")
        steps = len(found.worker.ran)
    disk.refused = ()
    with loop(tmp_path, quota=1) as found, found.connect() as c:
        c.watch(job.name)
        assert c.fetch(job.name) == expected(request(key), key)
        assert digest(c, request(key)) == expected(request(key), key)
        assert found.worker.ran == []
    assert steps == 9


def test_a_cancelled_request_whose_end_cannot_be_written_down(tmp_path: Path, disk: Disk) -> None:
    worker = HashWorker()
    key = key_file(tmp_path)
    with loop(tmp_path, worker=worker) as found, found.connect() as c:
        c.put_key(key)
        disk.refused = ("cancelled",)
        worker.gate.clear()
        job = c.submit(request(key))
        assert c.cancel(job)
        with pytest.raises(Error, match="was cancelled"):
            c.watch(job)
        c.drop_key(request(key).key)
        disk.refused = ()
        found.service.housekeeping()
        assert found.depot.jobs() == [], "what was dropped does not come back"


TROUBLES: list[tuple[Any, str]] = [
    (OSError(errno.ENOSPC, "No space left on device"), "No space left on device"),
    (OSError(errno.EMFILE, "Too many open files"), "Too many open files"),
    (OSError(errno.EIO, "Input/output error"), "Input/output error"),
    (MemoryError(), "no memory left"),
    (StorageError("counters cannot be written down"), "cannot be written down"),
]


@pytest.mark.parametrize("ask", [False, True])
@pytest.mark.parametrize(("error", "said"), TROUBLES, ids=[said for _, said in TROUBLES])
def test_what_cannot_go_on_is_told_and_goes_on(tmp_path: Path, error: BaseException, said: str, ask: bool) -> None:
    """By itself, or as soon as its client asks again; from where it was, and for the price of one."""
    key = key_file(tmp_path)
    with loop(tmp_path, worker=failing(error), quota=1) as found, found.connect() as c:
        c.put_key(key)
        job = c.submit(request(key))
        with pytest.raises(StorageError, match=rf"{said}.*goes on by itself"):
            c.watch(job)
        if ask:
            assert c.submit(request(key)) == job
            c.watch(job)
        else:
            assert state(c, job) == "failed"
            wait_for(lambda: found.service.housekeeping() or state(c, job) == "done")
        assert c.fetch(job) == expected(request(key), key)
        assert [stage for stage, _ in found.worker.ran].count("affine") == 4
        assert c.info().left["bulletins"] == 0


def test_trouble_that_stays_is_looked_at_less_and_less_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = key_file(tmp_path)
    now = [time.monotonic()]
    worker = failing(OSError(errno.ENOSPC, "No space left on device"), times=1 << 30)
    with loop(tmp_path, worker=worker) as found, found.connect() as c:
        c.put_key(key)
        job = c.submit(request(key))
        with pytest.raises(StorageError):
            c.watch(job)
        monkeypatch.setattr(jobs.time, "monotonic", lambda: now[0])
        now[0] += 1000
        tries = []
        for second in range(3000):
            now[0] += 1
            before = len(found.worker.ran)
            found.service.jobs.tend()
            wait_for(lambda: found.service.jobs.unfinished == 0)
            if len(found.worker.ran) > before:
                tries.append(second)
        pauses = [b - a for a, b in itertools.pairwise(tries)]
        assert pauses[:5] == [2, 4, 8, 16, 32]
        assert pauses[-1] == 600
        monkeypatch.undo()
        assert c.cancel(job)
        with pytest.raises(Error, match="was cancelled"):
            c.watch(job)


@pytest.mark.parametrize("step", [None, "range check"])
def test_a_held_request_goes_on_in_the_next_process(tmp_path: Path, step: str | None) -> None:
    key = key_file(tmp_path)
    trouble = OSError(errno.ENOSPC, "No space left on device")
    with loop(tmp_path, worker=failing(trouble, step or "affine"), quota=1) as found, found.connect() as c:
        c.put_key(key)
        job = c.submit(request(key))
        with pytest.raises(StorageError):
            c.watch(job)
    with loop(tmp_path, quota=1) as found, found.connect() as c:
        c.watch(job)
        assert c.fetch(job) == expected(request(key), key)
        assert c.info().left["bulletins"] == 0


def test_what_cannot_be_written_down_is_not_charged(tmp_path: Path, disk: Disk) -> None:
    key = key_file(tmp_path)
    with loop(tmp_path, quota=1) as found, found.connect() as c:
        c.put_key(key)
        disk.refused = ("waiting",)
        with pytest.raises(BusyError, match="cannot write"):
            c.submit(request(key))
        assert c.info().left["bulletins"] == 1
        assert found.service.jobs.turns.busy == 0
        disk.refused = ()
        assert digest(c, request(key)) == expected(request(key), key)
        with pytest.raises(QuotaError, match="0 of 1 a day are left"):
            c.submit(request(key, 1))
        assert len(c.info().jobs) == 1, "what is over the quota leaves nothing"


def test_what_is_taken_is_charged_though_its_name_may_not_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk fails once the request has its name, so that the next process may find it or not."""
    key, sync, failed = key_file(tmp_path), os.fsync, list[str]()

    def fsync(file: int) -> None:
        if os.readlink(f"/proc/self/fd/{file}").endswith("/jobs") and not failed:
            failed.append("once")
            raise OSError(errno.EIO, "Input/output error")
        sync(file)

    with loop(tmp_path, quota=1) as found, found.connect() as c:
        c.put_key(key)
        monkeypatch.setattr(os, "fsync", fsync)
        assert digest(c, request(key)) == expected(request(key), key)
        assert failed
        assert c.info().left["bulletins"] == 0


def test_what_is_charged_and_has_no_name_yet_is_worked_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, worker, keep, failed = key_file(tmp_path), HashWorker(), Depot.keep_job, list[str]()

    def keep_job(depot: Depot, job: Job, before: Callable[[], None] | None = None) -> None:
        if before is not None:
            before()
            failed.append("once")
            raise OSError(errno.EIO, "Input/output error")
        keep(depot, job)

    monkeypatch.setattr(Depot, "keep_job", keep_job)
    with loop(tmp_path, worker=worker, quota=1) as found, found.connect() as c:
        c.put_key(key)
        worker.gate.clear()
        job = c.submit(request(key))
        assert c.submit(request(key)) == job
        assert state(c, job) == "waiting"
        assert found.depot.jobs() == []
        found.service.housekeeping()
        assert [j.name for j in found.depot.jobs()] == [job]
        worker.gate.set()
        c.watch(job)
        assert c.fetch(job) == expected(request(key), key)
        assert len(failed) == 1
        assert c.info().left["bulletins"] == 0


def test_what_was_not_charged_when_the_process_ended_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store as it is while the request is charged is what a process leaves that is killed there."""
    key, charge, left = key_file(tmp_path), Quota.charge, tmp_path / "left"

    def killed(quota: Quota, client: bytes, kind: str, count: int) -> None:
        shutil.copytree(tmp_path / "store", left / "store")
        shutil.copyfile(tmp_path / "quota.sqlite", left / "quota.sqlite")
        charge(quota, client, kind, count)

    with loop(tmp_path, quota=1) as found, found.connect() as c:
        c.put_key(key)
        found.quota._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        monkeypatch.setattr(Quota, "charge", killed)
        c.watch(c.submit(request(key)))
    monkeypatch.undo()
    with loop(left, quota=1) as found, found.connect() as c:
        assert c.info().jobs == []
        assert found.service.jobs.unfinished == 0
        assert list(left.glob("store/*/jobs/.*")) == []
        assert digest(c, request(key)) == expected(request(key), key)
        assert c.info().left["bulletins"] == 0


def test_what_is_over_the_quota_leaves_nothing_whatever_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise OSError(errno.EIO, "Input/output error")

    key = key_file(tmp_path)
    monkeypatch.setattr(Depot, "forget", fails)
    for _ in range(2):
        with loop(tmp_path, quota=0) as found, found.connect() as c:
            if not c.info().keys:
                c.put_key(key)
            with pytest.raises(QuotaError):
                c.submit(request(key))
            assert found.service.jobs.unfinished == 0
            assert found.depot.jobs() == []


@pytest.mark.parametrize("where", ["_log", "_hold", "_trouble", "leave"])
def test_no_memory_while_a_request_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """Nobody asks again, and the request goes on."""
    key, failed = key_file(tmp_path), list[str]()
    with loop(tmp_path, worker=failing(MemoryError()), quota=1) as found, found.connect() as c:
        c.put_key(key)
        all_jobs = found.service.jobs
        whose: Any = all_jobs.turns if where == "leave" else all_jobs
        really: Any = getattr(whose, where)

        class Fails:
            def __call__(self, *words: Any, **values: Any) -> Any:
                if where == "_log" and values.get("result") != "held":
                    return really(*words, **values)
                if where == "leave":
                    really(*words)
                if not failed:
                    failed.append(where)
                    raise MemoryError
                return None if where == "leave" else really(*words, **values)

            def __getattr__(self, name: str) -> Any:
                return getattr(really, name)

        monkeypatch.setattr(whose, where, Fails())
        job = c.submit(request(key))
        assert all_jobs.join(10)
        assert failed == [where]
        for held in all_jobs._held.values():
            held.due = 0.0
        found.service.housekeeping()
        assert all_jobs.join(10)
        assert state(c, job) == "done"


def test_an_unfinished_request_that_nobody_has_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when it could not be read for a moment when the process began."""
    key, worker = key_file(tmp_path), HashWorker()
    with loop(tmp_path, worker=worker) as found, found.connect() as c:
        c.put_key(key)
        worker.gate.clear()
        job = c.submit(request(key))

    def fails(*_: Any) -> Job:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(Depot, "_read_job", fails)
    with loop(tmp_path) as found, found.connect() as c:
        monkeypatch.undo()
        assert found.service.jobs.unfinished == 0
        found.service.jobs._look = 0.0
        found.service.housekeeping()
        assert found.service.jobs.join(10)
        assert state(c, job) == "done"


def test_a_request_that_cannot_be_read_holds_up_no_other(tmp_path: Path, disk: Disk) -> None:
    key = key_file(tmp_path)
    with loop(tmp_path, worker=failing(Error("no luck"), times=2)) as found, found.connect() as c:
        c.put_key(key)
        disk.refused = ("failed",)
        names = [c.submit(request(key, i)) for i in range(2)]
        for name in names:
            with pytest.raises(Error, match="no luck"):
                c.watch(name)
        disk.refused = ()
        (path,) = tmp_path.glob(f"store/*/jobs/{names[0]}.json")
        path.write_text("{")
        found.service.housekeeping()
        assert {j.name: j.state for j in found.depot.jobs()} == dict.fromkeys(names, "failed")


def test_who_asks_about_a_request_that_cannot_be_read_hears_who_can_mend_it(tmp_path: Path) -> None:
    key = key_file(tmp_path)
    with loop(tmp_path, quota=1) as found, found.connect() as c:
        c.put_key(key)
        job = c.submit(request(key))
        c.watch(job)
        (path,) = tmp_path.glob(f"store/*/jobs/{job}.json")
        path.write_text("{")
        for ask in (lambda: c.watch(job), lambda: c.fetch(job), lambda: c.submit(request(key))):
            with pytest.raises(StorageError, match="tell its operator") as told:
                ask()
            assert "remove" not in str(told.value)
        seen = [e for e in found.events("job") if e["result"] == "unreadable"]
        assert {(e["job"], e["kind"]) for e in seen} == {(job, "FormatError")}
        path.unlink()
        assert found.service.jobs.turns.busy == 0


def test_keys_on_their_way_count_with_their_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another client sends one while there is room for one of two."""
    first, second, refused = key_file(tmp_path), key_file(tmp_path, 1), list[str]()
    arriving = Depot.arriving

    @contextlib.contextmanager
    def another(depot: Depot) -> Iterator[Path]:
        with arriving(depot) as path:
            if not refused:
                refused.append("not")
                with found.connect(1) as eve:
                    try:
                        eve.put_key(second)
                    except BusyError as e:
                        refused.append(str(e))
            yield path

    kept = Kept(disk=KEY_BYTES * 3 // 2)
    with loop(tmp_path, kept=kept, tokens=True) as found, found.connect(0) as c:
        monkeypatch.setattr(Depot, "arriving", another)
        c.put_key(first)
        assert found.service._on_disk() <= kept.disk
        assert "the detector's disk is full" in refused[-1]


def test_more_than_may_wait_are_taken_up_after_a_restart(tmp_path: Path) -> None:
    """A server that is started with a shorter queue loses none of what the one before had acknowledged."""
    worker = HashWorker()
    key = key_file(tmp_path)
    asked = [request(key, last=1 + i) for i in range(6)]
    with loop(tmp_path, worker=worker) as found, found.connect() as c:
        c.put_key(key)
        worker.gate.clear()
        names = [c.submit(r) for r in asked]
        found.service.jobs.stop()
    limits = Limits(grace_seconds=0, waiting=1)
    with loop(tmp_path, limits=limits, kept=Kept(jobs_each=9)) as found, found.connect() as c:
        wait_for(lambda: found.service.housekeeping() or all(state(c, n) == "done" for n in names))
        for name, r in zip(names, asked, strict=True):
            assert c.fetch(name) == expected(r, key)


def test_no_descriptors_for_a_moment(tmp_path: Path) -> None:
    """A real process, which may open no file while a job runs."""
    key, hold = key_file(tmp_path), tmp_path / "hold"
    hold.mkdir()
    process = Process(tmp_path, 0, HOLD=str(hold))
    pid = process.process.pid
    with Connection(process.address, timeout=PATIENCE) as c:
        c.put_key(key)
        (hold / "affine").touch()
        job = c.submit(request(key))
        wait_for(lambda: sum(j["state"] == "waiting" for j in c.info().jobs) == 1)
        wait_for(lambda: len(list((tmp_path / "store").glob("*/results/*"))) == 4)
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        for stage in ("combination", "range check", "compression", "digest"):
            (hold / stage).touch()
        with pytest.raises(StorageError, match="Too many open files"):
            c.watch(job)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        assert digest(c, request(key)) == expected(request(key), key)
    process.end(signal.SIGTERM)
