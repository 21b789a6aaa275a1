# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Requests that are asked for again while they end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ringforge.errors import Error
from ringforge.serving import jobs
from ringforge.serving.calls import Log
from ringforge.serving.jobs import Tell

CLIENT = "ab" * 16


@dataclass(frozen=True)
class Job(jobs.Job):
    @property
    def name(self) -> str:
        return "cd" * 16


class Store:
    """`kept`: is told after a job was written down."""

    def __init__(self) -> None:
        self.written: dict[str, Job] = {}
        self.kept: Any = lambda _: None

    def jobs(self, client: str | None = None) -> list[Job]:
        del client
        return list(self.written.values())

    def job(self, client: str, name: str) -> Job | None:
        del client
        return self.written.get(name)

    def keep_job(self, job: Job, before: Callable[[], None] | None = None) -> None:
        if before is not None:
            before()
        self.written[job.name] = job
        self.kept(job)


class Jobs(jobs.Jobs[Job]):
    """The first one fails, others go on until they are cancelled."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, 9, 9, Log(None), "the server", 2)
        self.begun = 0

    def compute(self, job: Job, tell: Tell) -> Job:
        self.begun += 1
        if self.begun == 1:
            raise Error("the first one fails")
        while tell(jobs.Progress("running")):
            time.sleep(0.01)
        return job

    def still_there(self, job: Job) -> bool:
        del job
        return False


def test_a_request_that_failed_is_asked_for_again_while_it_is_written_down() -> None:
    store = Store()
    found, asking = Jobs(store), list[threading.Thread]()

    def kept(job: Job) -> None:
        if job.state == "failed":
            asking.append(threading.Thread(target=found.take, args=(Job(CLIENT), lambda: None)))
            asking[0].start()
            asking[0].join(0.3)

    store.kept = kept
    found.take(Job(CLIENT), lambda: None)
    until = time.monotonic() + 10
    while found.begun < 2:
        assert time.monotonic() < until
        time.sleep(0.01)
    asking[0].join()
    time.sleep(0.3)
    assert found.unfinished == 1
    assert found.cancel(CLIENT, "cd" * 16)
    assert found.join(10)
    assert store.written["cd" * 16].state == "cancelled"


def test_who_watches_does_not_wait_for_requests_that_are_written_down() -> None:
    store = Store()
    found, told = Jobs(store), list[object]()

    def kept(job: Job) -> None:
        if job.state == "waiting" and not told:
            watching = threading.Thread(target=lambda: told.append(found.progress(CLIENT, "ef" * 16)), daemon=True)
            watching.start()
            watching.join(5)
            told.append("written")

    store.kept = kept
    found.take(Job(CLIENT), lambda: None)
    assert told == [None, "written"]
    assert found.join(10)
