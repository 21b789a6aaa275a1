# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Requests to a service that compute for long, worked off one at a time, whether or not their clients stay.

A request is written down before it is acknowledged, so that work goes on after a restart, whatever ended the process.
It is charged when the disk has its file but not yet under the name by which it is found: nothing that is refused, or
that a killed process had not charged, is ever worked off. A process that is killed between the charge and that name
has charged for nothing; its client asks again and is charged again, once.
What is computed, and what is kept of it on the way, is the service's own (`Jobs.compute`).

No write that fails loses a request. What stands in its way for a moment only (a full disk, no memory, no file
descriptors, workers that fail) holds it: on the disk it goes on waiting, who watches it is told why, and `tend` begins
it again, as does who asks again. An end that cannot be written down is known here, and written when there is room; the
next process finds a request that waits, and works it off again.
"""

from __future__ import annotations

import abc
import dataclasses
import itertools
import os
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import KW_ONLY, dataclass
from typing import Generic, Protocol, TypeVar

from ringforge.errors import ClusterError, Error, StorageError
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
        error: name of its kind, and text, when it failed or is held.
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
        client: whose. state: of `UNFINISHED` or `FINISHED`. error: name of its kind, and text.
        changed: when it was written down, by the clock of the store.
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

    def keep_job(self, job: J, before: Callable[[], None] | None = None) -> None:
        """Writes down how a job stands; first does something that may refuse it, for which only the name is missing."""


#: Seconds between looks for unfinished requests on the disk that nobody has.
_LOOK_SECONDS = 60.0

#: Seconds after which a held request is begun again: at first, and at the most; twice as many each time.
_PAUSE, _LONGEST = 1.0, 600.0

#: Takes how a job stands; returns whether to go on.
Tell = Callable[[Progress], bool]


class _Running(Generic[J]):
    """A job that is not finished, as this process sees it."""

    def __init__(self, job: J, pause: float = _PAUSE) -> None:
        self.job, self.pause = job, pause
        self.ticket: object | None = None
        self.cancelled = threading.Event()
        self.progress = Progress(job.state)
        self.begun = 0.0


@dataclass
class _Held(Generic[J]):
    """A job that could not go on, and is begun again.

    error: as of `Progress`; none if nothing has failed yet. due: by the monotonic clock. pause: before that.
    """

    job: J
    error: tuple[str, str]
    due: float
    pause: float

    def progress(self) -> Progress:
        return Progress("failed" if self.error[1] else "waiting", error=self.error)


class Jobs(abc.ABC, Generic[J]):
    """All requests to a service.

    Args:
        store: where they are kept. waiting: requests that may wait. each: unfinished ones of a client. log: for events.
        server: what messages call the service. at_once: requests that are computed at a time.
    """

    def __init__(self, store: Store[J], waiting: int, each: int, log: Log, server: str, at_once: int = 1) -> None:
        self._store, self._each, self._log, self._server = store, each, log, server
        self.turns = Turns(waiting, at_once)
        self._taking = threading.Lock()  # one request is written down at a time; comes before the next one
        self._changed = threading.Condition()
        self._running: dict[tuple[str, str], _Running[J]] = {}
        self._held: dict[tuple[str, str], _Held[J]] = {}
        self._unwritten: dict[tuple[str, str], J] = {}  # ended or charged, which the disk does not know
        self._look = time.monotonic() + _LOOK_SECONDS
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
        unfinished = [dataclasses.replace(j, state="waiting") for j in self._store.jobs() if j.state in UNFINISHED]
        with self._changed:
            for job in unfinished:
                self._hold(job)
                self._again(job.client, job.name)
        return len(unfinished)

    def take(self, job: J, charge: Callable[[], None]) -> J:
        """Writes a request down and sees to it; one that is there already is not begun anew, unless it is held.

        Args:
            charge: counts it against the client's quota; not called for a request that is there, unless it failed.
                It comes when the request is on the disk but for its name, so that what cannot be written is not
                charged, and what is not charged is not there.

        Raises:
            BusyError: too many are waiting, of all clients or of this one. StorageError: it is there, and cannot be
            read. OSError: it cannot be written down.
        """
        key, charged = (job.client, job.name), False

        def before() -> None:
            nonlocal charged
            charge()
            charged = True

        with self._taking:  # watchers, and what is computed, do not wait for the disk
            with self._changed:
                known = self.known(*key)
                if known is not None and known.state in UNFINISHED:
                    self._again(*key)
                    return known
                if known is not None and self.still_there(known):
                    return known
                mine = sum(who == job.client for who, _ in [*self._running, *self._held])
                if mine >= self._each:
                    raise BusyError(
                        f"this client has {mine} requests under way, of {self._each} that it may: wait for one, or "
                        "cancel it"
                    )
                running = self._running[key] = self._enter(job)
                ended = self._unwritten.pop(key, None)
            written = False
            try:
                self._store.keep_job(job, before)
                written = True
            except (Error, OSError, MemoryError):
                if not charged:
                    raise
                # Only the name is missing, or not yet safe: what is paid for is worked off, and `tend` writes it.
            finally:
                with self._changed:
                    if charged:
                        if not written:
                            self._unwritten[key] = job
                        self._start(running)
                    else:
                        if ended is not None:
                            self._unwritten[key] = ended
                        self._gone(running)
            return job

    def _enter(self, job: J, pause: float = _PAUSE) -> _Running[J]:
        running = _Running[J](job, pause)
        about = self.alone(job)
        running.ticket = self.turns.enter(bytes.fromhex(job.client), None if about is None else (job.client, about))
        return running

    def _start(self, running: _Running[J]) -> None:
        """Begins a request that is written down, and has a turn."""
        job = running.job
        try:
            self._running[job.client, job.name] = running
            spawn(lambda: self._work(running))
        except MemoryError:
            self._look = 0.0
            self._gone(running)
            self._hold(job, pause=running.pause)
        else:
            self._held.pop((job.client, job.name), None)

    def _gone(self, running: _Running[J]) -> None:
        """Gives up a request's turn, and forgets that it is under way, whatever fails."""
        try:
            self.turns.leave(running.ticket)
        finally:
            self._running.pop((running.job.client, running.job.name), None)
            self._changed.notify_all()

    def _hold(self, job: J, error: tuple[str, str] = ("", ""), pause: float = _PAUSE) -> None:
        self._held[job.client, job.name] = _Held(job, error, time.monotonic() + pause, min(2 * pause, _LONGEST))

    def _again(self, client: str, name: str) -> None:
        """Begins a held request, if there is a place for it."""
        held = self._held.get((client, name))
        if held is None or (client, name) in self._running or self.stopped:
            return
        try:
            running = self._enter(held.job, held.pause)
        except (BusyError, OSError, MemoryError):
            held.error, held.due = ("", ""), time.monotonic() + _PAUSE
            return
        self._start(running)

    def tend(self) -> None:
        """Begins held requests whose time has come, writes down what could not be written, and looks for unfinished
        requests that nobody has; to be called now and then. One that makes trouble holds up no other.
        """
        if time.monotonic() >= self._look and not self.stopped:
            self._look = time.monotonic() + _LOOK_SECONDS
            with self._log.trouble("look"):
                for job in self._store.jobs():
                    if job.state in UNFINISHED:
                        with self._log.trouble("look"):
                            self.known(job.client, job.name)
        with self._changed:
            for key, job in list(self._unwritten.items()):
                if key not in self._running and key not in self._held and self._dropped(*key):
                    del self._unwritten[key]
                else:
                    self._write_end(job)
            for client, name in [key for key, held in self._held.items() if held.due <= time.monotonic()]:
                self._again(client, name)

    def _dropped(self, client: str, name: str) -> bool:
        """Whether a request is not on the disk any more, as when its keys are dropped; what cannot be read is."""
        try:
            return self._store.job(client, name) is None
        except (Error, OSError, MemoryError):
            return False

    def known(self, client: str, name: str) -> J | None:
        """A client's request as it stands, which the disk may not know yet.

        Raises:
            StorageError: it is there, and cannot be read.
        """
        key = client, name
        with self._changed:
            found = self._unwritten.get(key)
            if found is None and (key in self._running or key in self._held):
                return self._running[key].job if key in self._running else self._held[key].job
            if found is None:
                found = self._stored(client, name)
            if found is not None and found.state in UNFINISHED and key not in self._running:
                self._held.setdefault(key, _Held(found, ("", ""), 0.0, _PAUSE))
            return found

    def _stored(self, client: str, name: str) -> J | None:
        try:
            return self._store.job(client, name)
        except (Error, OSError) as e:
            self._log("job", client=client[:12], job=name, result="unreadable", kind=type(e).__name__)
            raise StorageError(
                f"{self._server} cannot read what it has written down about request {name[:12]}: tell its operator, "
                "who finds it in the log as unreadable; ask again when that is mended"
            ) from None

    def every(self, client: str) -> list[J]:
        """All requests of a client, as `known`; those that are held have failed for now."""
        with self._changed:
            there = {j.name: j for j in self._store.jobs(client)}
            for (who, name), running in self._running.items():
                if who == client:  # a moment before, or long after the disk has it
                    there.setdefault(name, running.job)
            found = [self._unwritten.get((client, j.name), j) for j in there.values()]
            errors = {name: held.error for (who, name), held in self._held.items() if who == client and held.error[1]}
        return [dataclasses.replace(j, state="failed", error=errors[j.name]) if j.name in errors else j for j in found]

    def clients(self) -> set[str]:
        """Clients that have requests under way or held."""
        with self._changed:
            return {client for client, _ in [*self._running, *self._held, *self._unwritten]}

    def unended(self, client: str) -> set[str]:
        """Names of a client's requests that are under way or held."""
        with self._changed:
            return {name for who, name in [*self._running, *self._held] if who == client}

    def cancel(self, client: str, name: str) -> bool:
        """Ends a request that is not finished, soon; says whether there was one."""
        with self._changed:
            running, held = self._running.get((client, name)), self._held.pop((client, name), None)
            if running is not None:
                running.cancelled.set()
            elif held is not None:
                self._write_end(dataclasses.replace(held.job, state="cancelled"))
            self._changed.notify_all()
            return running is not None or held is not None

    def progress(self, client: str, name: str) -> Progress | None:
        """How a client's request stands; None if it has no such."""
        with self._changed:
            running = self._running.get((client, name))
            if running is not None:
                ahead = self.turns.ahead(running.ticket) if running.progress.state == "waiting" else 0
                return dataclasses.replace(running.progress, waiting=ahead)
            held = self._held.get((client, name))  # needs no file
            job = self.known(client, name) if held is None else held.job
            held = self._held.get((client, name))
        if held is not None:
            return held.progress()
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
        job, trouble = running.job, ("", "")
        try:
            if self.turns.wait(running.ticket, lambda: self._going_on(running)):
                running.begun = time.monotonic()
                job = self.compute(running.job, lambda now: self._tell(running, now))
            elif running.cancelled.is_set():
                job = dataclasses.replace(job, state="cancelled")
        except Exception as e:
            if isinstance(e, Error) and not self._going_on(running):
                return
            if isinstance(e, ClusterError):
                self._log("job", result="ClusterError", job=job.name[:12], why=why(e))
            if _passing(e):
                trouble = self._trouble(e)
                return  # whatever has failed here, `_end` holds what has not ended
            if isinstance(e, Error | OSError):
                error = type(e).__name__, str(e) if isinstance(e, Error) else self._trouble(e)[1]
            else:
                self._log("job", result=f"fault {type(e).__name__} at {_place(e)}", job=job.name[:12])
                error = "Error", f"{self._server} failed; its log says where"
            job = dataclasses.replace(job, state="failed", error=(error[0], error[1][:600]))
        finally:
            self._end(running, job, trouble)

    def _trouble(self, e: BaseException) -> tuple[str, str]:
        """What clients hear of what keeps a request from going on for now."""
        if isinstance(e, ClusterError):
            return "Error", WORKERS_FAILED
        if isinstance(e, OSError):
            what = f"{self._server} cannot write ({e.strerror}): tell its operator"
        elif isinstance(e, StorageError):
            what = str(e)
        else:
            what = f"{self._server} has no memory left for it now: tell its operator"
        return "StorageError", f"{what[:400]}; it goes on by itself when that is over, or at once when asked for again"

    def _end(self, running: _Running[J], job: J, trouble: tuple[str, str]) -> None:
        if running.cancelled.is_set() and job.state == "waiting":
            job = dataclasses.replace(job, state="cancelled")
        with self._changed:  # who asks again finds it under way, or ended and gone
            result, kind = job.state, job.error[0]
            try:
                if job.state != "waiting":
                    self._write_end(job)
                else:  # also one that the process's end has stopped: the next one goes on
                    result, kind = "held" if trouble[1] else "", trouble[0]
                    self._hold(job, trouble, running.pause)
            except BaseException:
                self._look = 0.0  # it is unfinished on the disk, and nobody has it: `tend` finds it there
                raise
            finally:
                self._gone(running)
            if result:
                self._log("job", client=job.client[:12], job=job.name[:12], result=result, kind=kind)

    def _write_end(self, job: J) -> None:
        """Writes down how a job stands, or keeps in mind that the disk does not know."""
        self._unwritten[job.client, job.name] = job
        try:
            self._store.keep_job(job)
        except (Error, OSError, MemoryError) as e:
            self._log("job", job=job.name[:12], result="not written", kind=type(e).__name__)
        else:
            del self._unwritten[job.client, job.name]

    def _tell(self, running: _Running[J], progress: Progress) -> bool:
        with self._changed:
            running.progress = progress
            self._changed.notify_all()
        return self._going_on(running)

    # ---- the end ----

    def stop(self) -> None:
        """Ends what is computed. Unfinished requests stay written down."""
        self._stopping.set()
        with self._log.trouble("stop"):
            self.tend()
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


def _passing(e: BaseException) -> bool:
    """Whether what ended a request may be over by itself, or when an operator has seen to it."""
    return isinstance(e, OSError | MemoryError | StorageError | ClusterError) and not isinstance(e, FileNotFoundError)


def _place(e: BaseException) -> str:
    """Where a fault of ours arose; nothing of what it was about."""
    where = e.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    return f"{os.path.basename(where.tb_frame.f_code.co_filename)}:{where.tb_lineno}" if where else ""


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
