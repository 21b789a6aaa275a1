# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Requests to a service that compute for long, worked off one at a time, whether or not their clients stay.

A request is written down before it is acknowledged, so that work goes on after a restart, whatever ended the process.
What is computed, and what is kept of it on the way, is the service's own (`Jobs.compute`).
"""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import itertools
import os
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import KW_ONLY, dataclass
from typing import Generic, Protocol, TypeVar

from ringforge.errors import ClusterError, Error
from ringforge.serving.calls import WORKERS_FAILED, Log, why
from ringforge.serving.sessions import BusyError, Turns
from ringforge.serving.status import Task
from ringforge.serving.work import TOLD
from ringforge.threads import spawn

#: States of a request. Those that a restart takes up again come first.
UNFINISHED = ("waiting", "running")
FINISHED = ("done", "failed", "cancelled")


@dataclass(frozen=True)
class Progress:
    """How a job stands.

    Attributes:
        state: of `UNFINISHED` or `FINISHED`. waiting: requests to be computed before it.
        stage: that is under way, or was last. done, steps: steps finished, of how many.
        fraction: of the work. seconds_left: as far as it can be told, else -1.
        error: name of its kind, and text, when it failed.
    """

    state: str
    waiting: int = 0
    stage: str = ""
    done: int = 0
    steps: int = 0
    fraction: float = 0.0
    seconds_left: float = -1.0
    error: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class Job(abc.ABC):
    """A request, and how it stands.

    Attributes:
        client: whose. state: of `UNFINISHED` or `FINISHED`. error: name of its kind, and text. changed: seconds since
        1970.
    """

    client: str
    _: KW_ONLY
    state: str = "waiting"
    error: tuple[str, str] = ("", "")
    changed: float = 0.0

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """Hexadecimal digits; equal requests have the same."""


J = TypeVar("J", bound=Job)


class Store(Protocol[J]):
    """Where requests are written down."""

    def jobs(self, client: str | None = None) -> list[J]:
        """All jobs, or a client's, the oldest change first."""

    def job(self, client: str, name: str) -> J | None:
        """A client's job, or None."""

    def keep_job(self, job: J) -> None:
        """Writes down how a job stands."""


#: Takes how a job stands; returns whether to go on.
Tell = Callable[[Progress], bool]


class _Running(Generic[J]):
    """A job that is not finished, as this process sees it."""

    def __init__(self, job: J) -> None:
        self.job = job
        self.ticket: object | None = None
        self.cancelled = threading.Event()
        self.progress = Progress(job.state)
        self.begun = 0.0


class Jobs(abc.ABC, Generic[J]):
    """All requests to a service.

    Args:
        store: where they are kept. waiting: requests that may wait. each: unfinished ones of a client. log: for events.
        server: what messages call the service. at_once: requests that are computed at a time.
    """

    def __init__(self, store: Store[J], waiting: int, each: int, log: Log, server: str, at_once: int = 1) -> None:
        self._store, self._each, self._log, self._server = store, each, log, server
        self.turns = Turns(waiting, at_once)
        self._changed = threading.Condition()
        self._running: dict[tuple[str, str], _Running[J]] = {}
        self._stopping = threading.Event()

    @abc.abstractmethod
    def compute(self, job: J, tell: Tell) -> J:
        """Works a request off; returns the job as done. When `tell` returns False, ends soon: returns the job as it
        was, or raises any `Error`.
        """

    @abc.abstractmethod
    def still_there(self, job: J) -> bool:
        """Whether a finished job's result is there, so that nothing need be computed."""

    def alone(self, job: J) -> Hashable:  # noqa: ARG002
        """What of a request's client it is about, if no other request about that may be computed at the same time."""
        return None

    # ---- what clients ask for ----

    def resume(self) -> int:
        """Takes up what was not finished when the last process ended; returns how many requests that are."""
        unfinished = [j for j in self._store.jobs() if j.state in UNFINISHED]
        for job in unfinished:
            with self._log.trouble("resume"):
                self._begin(dataclasses.replace(job, state="waiting"))
        return len(unfinished)

    def take(self, job: J, charge: Callable[[], None]) -> J:
        """Writes a request down and sees to it; one that is there already is not begun anew.

        Args:
            charge: counts it against the client's quota; not called for a request that is there, unless it failed.

        Raises:
            BusyError: too many are waiting, of all clients or of this one.
        """
        with self._changed:
            known = self._store.job(job.client, job.name)
            if known is not None and (known.state in UNFINISHED or self.still_there(known)):
                return known
            mine = [r for (who, _), r in self._running.items() if who == job.client]
            if len(mine) >= self._each:
                raise BusyError(
                    f"this client has {len(mine)} requests under way, of {self._each} that it may: wait for one, or "
                    "cancel it"
                )
            charge()
            self._begin(job)
            return job

    def _begin(self, job: J) -> None:
        running = _Running[J](job)
        about = self.alone(job)
        running.ticket = self.turns.enter(bytes.fromhex(job.client), None if about is None else (job.client, about))
        try:
            self._store.keep_job(job)
            self._running[job.client, job.name] = running
            spawn(lambda: self._work(running))
        except BaseException:
            self._running.pop((job.client, job.name), None)
            self.turns.leave(running.ticket)
            raise

    def cancel(self, client: str, name: str) -> bool:
        """Ends a request that is not finished, soon; says whether there was one."""
        with self._changed:
            running = self._running.get((client, name))
            if running is None:
                return False
            running.cancelled.set()
            self._changed.notify_all()
            return True

    def progress(self, client: str, name: str) -> Progress | None:
        """How a client's request stands; None if it has no such."""
        with self._changed:
            running = self._running.get((client, name))
            if running is not None:
                ahead = self.turns.ahead(running.ticket) if running.progress.state == "waiting" else 0
                return dataclasses.replace(running.progress, waiting=ahead)
        job = self._store.job(client, name)
        if job is None:
            return None
        fraction = 1.0 if job.state == "done" else 0.0
        return Progress(
            job.state, fraction=fraction, error=job.error, seconds_left=0.0 if job.state == "done" else -1.0
        )

    def wait(self, before: Progress | None, client: str, name: str, seconds: float) -> Progress | None:
        """How a request stands, as soon as that differs from before, or after so many seconds."""
        until = time.monotonic() + seconds
        while True:
            now = self.progress(client, name)
            left = until - time.monotonic()
            if now is None or now.state in FINISHED or left <= 0 or self.stopped or not _alike(now, before):
                return now
            with self._changed:
                self._changed.wait(min(left, 0.25))

    # ---- work ----

    def _going_on(self, running: _Running[J]) -> bool:
        return not running.cancelled.is_set() and not self._stopping.is_set()

    def _work(self, running: _Running[J]) -> None:
        job = running.job
        try:
            if self.turns.wait(running.ticket, lambda: self._going_on(running)):
                running.begun = time.monotonic()
                job = self.compute(running.job, lambda now: self._tell(running, now))
            elif running.cancelled.is_set():
                job = dataclasses.replace(job, state="cancelled")
        except (Error, OSError) as e:
            if isinstance(e, Error) and not self._going_on(running):
                return
            if isinstance(e, ClusterError):
                self._log("job", result="ClusterError", job=job.name[:12], why=why(e))
                e = Error(WORKERS_FAILED)
            kind = type(e).__name__
            text = str(e) if isinstance(e, Error) else f"{self._server} cannot write ({e.strerror}): tell its operator"
            job = dataclasses.replace(job, state="failed", error=(kind, text[:600]))
        except Exception as e:
            where = e.__traceback__
            while where is not None and where.tb_next is not None:
                where = where.tb_next
            at = f"{os.path.basename(where.tb_frame.f_code.co_filename)}:{where.tb_lineno}" if where else ""
            self._log("job", result=f"fault {type(e).__name__} at {at}", job=job.name[:12])
            job = dataclasses.replace(
                job, state="failed", error=("Error", f"{self._server} failed; its log says where")
            )
        finally:
            self._end(running, job)

    def _end(self, running: _Running[J], job: J) -> None:
        if running.cancelled.is_set() and job.state == "waiting":
            job = dataclasses.replace(job, state="cancelled")
        stopped = job.state == "waiting"  # by the process's end: the next one goes on
        if not stopped:
            self._log("job", client=job.client[:12], job=job.name[:12], result=job.state, kind=job.error[0])
        with self._changed:  # who asks again finds it under way, or ended and gone
            if not stopped:
                job = dataclasses.replace(job, changed=time.time())
                with contextlib.suppress(OSError):  # no room even for that: the next process tries again
                    self._store.keep_job(job)
            self.turns.leave(running.ticket)
            del self._running[job.client, job.name]
            self._changed.notify_all()

    def _tell(self, running: _Running[J], progress: Progress) -> bool:
        with self._changed:
            running.progress = progress
            self._changed.notify_all()
        return self._going_on(running)

    # ---- the end ----

    def stop(self) -> None:
        """Ends what is computed. Unfinished requests stay written down."""
        self._stopping.set()
        with self._changed:
            self._changed.notify_all()

    @property
    def stopped(self) -> bool:
        """Whether nothing is computed any more."""
        return self._stopping.is_set()

    def join(self, seconds: float) -> bool:
        """Waits for what is computed; says whether it has ended."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._running, seconds)

    def tasks(self) -> list[Task]:
        """What is computed, and what waits, next first. Whose it is, and its name, are not in it."""
        with self._changed:
            every = list(self._running.values())
            waiting = itertools.islice((r for r in every if not r.begun), TOLD)
            tasks = [_task(r, self.turns.ahead(r.ticket)) for r in [*(r for r in every if r.begun), *waiting]]
        return sorted(tasks, key=lambda t: t.waiting)

    @property
    def unfinished(self) -> int:
        """Requests under way."""
        with self._changed:
            return len(self._running)


def _alike(a: Progress, b: Progress | None) -> bool:
    """As far as watchers are told: they get a hundred messages about a request's work at the most, and some more."""

    def about(p: Progress) -> tuple[str, int, str, int, int]:
        return p.state, p.waiting, p.stage, p.done, int(100 * p.fraction)

    return b is not None and about(a) == about(b)


def _task(running: _Running[J], ahead: int) -> Task:
    p = running.progress
    if p.state != "running":
        return Task(what="request", waiting=ahead, fraction=0.0, seconds_left=-1.0)
    seconds = max(0.0, time.monotonic() - running.begun)
    fraction = min(1.0, max(0.0, p.fraction))
    left = p.seconds_left if p.seconds_left >= 0 else -1.0
    return Task(what="request", stage=p.stage[:400], fraction=fraction, seconds=seconds, seconds_left=left)
