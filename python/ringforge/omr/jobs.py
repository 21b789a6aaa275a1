# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Requests to a detector, worked off one at a time, step by step.

A request is written down before it is acknowledged, and each step's result as soon as it is there. So work goes on
after a restart with the step that was not finished, whatever ended the process; and a second request about the same
bulletin and key finds what the first one has computed. A request that is cancelled, and a process that is told to stop,
end within their step: its work is lost, that of the steps before is not. Which work is done, in which order, with which
sizes, does not depend on what is found: the detector cannot know it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import threading
import time
from collections.abc import Callable

from ringforge.errors import Error
from ringforge.omr.depot import Depot, Job
from ringforge.omr.steps import FINISHED, UNFINISHED, Progress, Request, Session, Step, Worker
from ringforge.serving.calls import Log
from ringforge.serving.sessions import BusyError, Turns

#: Stages whose results are kept after they have been used: what another digest of the same bulletin begins with.
_KEPT = ("range check",)


class _Running:
    """A job that is not finished, as this process sees it."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.ticket: object | None = None
        self.cancelled = threading.Event()
        self.progress = Progress(job.state)


class _Course:
    """How far a request's steps are, and how long they still take, roughly."""

    def __init__(self, steps: list[Step], finished: set[str]) -> None:
        self._count, self._whole = len(steps), sum(s.share for s in steps) or 1.0
        self._found = self._done = sum(s.share for s in steps if s.name in finished)
        self._begun = time.monotonic()

    def finish(self, step: Step) -> None:
        self._done += step.share

    def at(self, number: int, step: Step, part: float) -> Progress:
        """With this part of a step done."""
        done = self._done + part * step.share
        took, computed = time.monotonic() - self._begun, done - self._found
        left = (self._whole - done) * took / computed if computed > 0 else -1.0
        return Progress("running", 0, step.stage, number, self._count, min(1.0, done / self._whole), left)


class Jobs:
    """All requests to a detector.

    Args:
        depot: where they are kept. worker: computes. waiting: requests that may wait. each: unfinished ones of a
        client. log: for events.
    """

    def __init__(self, depot: Depot, worker: Worker, waiting: int, each: int, log: Log) -> None:
        self._depot, self._worker, self._each, self._log = depot, worker, each, log
        self._turns = Turns(waiting)
        self._changed = threading.Condition()
        self._running: dict[tuple[str, str], _Running] = {}
        self._stopping = threading.Event()

    # ---- what clients ask for ----

    def resume(self) -> int:
        """Takes up what was not finished when the last process ended; returns how many requests that are."""
        unfinished = [j for j in self._depot.jobs() if j.state in UNFINISHED]
        for job in unfinished:
            with self._log.trouble("resume"):
                self._begin(dataclasses.replace(job, state="waiting"))
        return len(unfinished)

    def submit(self, client: str, request: Request, charge: Callable[[], None]) -> Job:
        """Writes a request down and sees to it; one that is there already is not begun anew.

        Args:
            charge: counts it against the client's quota; not called for a request that is there, unless it failed.

        Raises:
            BusyError: too many are waiting, of all clients or of this one. MissingKeyError: there is no such key.
            ParameterError: nothing can be made of it.
        """
        self._depot.key(client, request.key)
        steps = self._worker.steps(request)
        with self._changed:
            known = self._depot.job(client, request.name)
            if known is not None and (known.state in UNFINISHED or self._still_there(known, steps)):
                return known
            mine = [r for (who, _), r in self._running.items() if who == client]
            if len(mine) >= self._each:
                raise BusyError(
                    f"this client has {len(mine)} requests under way, of {self._each} that it may: wait for one, or "
                    "cancel it"
                )
            charge()
            job = Job(client, request, changed=time.time())
            self._begin(job)
            return job

    def _still_there(self, job: Job, steps: list[Step]) -> bool:
        return job.state == "done" and job.digest == steps[-1].name and self._depot.has_result(job.client, steps[-1])

    def _begin(self, job: Job) -> None:
        running = _Running(job)
        running.ticket = self._turns.enter(bytes.fromhex(job.client))
        try:
            self._depot.keep_job(job)
            thread = threading.Thread(target=self._work, args=(running,), name="omr job", daemon=True)
            self._running[job.client, job.name] = running
            thread.start()
        except BaseException:
            self._running.pop((job.client, job.name), None)
            self._turns.leave(running.ticket)
            raise

    def cancel(self, client: str, name: str) -> bool:
        """Ends a request that is not finished, within its step; says whether there was one. The results of the steps
        before stay for a while.
        """
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
                ahead = self._turns.ahead(running.ticket) if running.progress.state == "waiting" else 0
                return dataclasses.replace(running.progress, waiting=ahead)
        job = self._depot.job(client, name)
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

    def _going_on(self, running: _Running) -> bool:
        return not running.cancelled.is_set() and not self._stopping.is_set()

    def _work(self, running: _Running) -> None:
        job = running.job
        try:
            if self._turns.wait(running.ticket, lambda: self._going_on(running)):
                job = self._compute(running)
            elif running.cancelled.is_set():
                job = dataclasses.replace(job, state="cancelled")
        except (Error, OSError) as e:
            kind = type(e).__name__
            text = str(e) if isinstance(e, Error) else f"the detector cannot write ({e.strerror}): tell its operator"
            job = dataclasses.replace(job, state="failed", error=(kind, text[:600]))
        except Exception as e:
            where = e.__traceback__
            while where is not None and where.tb_next is not None:
                where = where.tb_next
            at = f"{os.path.basename(where.tb_frame.f_code.co_filename)}:{where.tb_lineno}" if where else ""
            self._log("job", result=f"fault {type(e).__name__} at {at}", job=job.name[:12])
            job = dataclasses.replace(job, state="failed", error=("Error", "the detector failed; its log says where"))
        finally:
            self._end(running, job)

    def _end(self, running: _Running, job: Job) -> None:
        if running.cancelled.is_set() and job.state == "waiting":
            job = dataclasses.replace(job, state="cancelled")
        stopped = job.state == "waiting"  # by the process's end: the next one goes on
        if not stopped:
            job = dataclasses.replace(job, changed=time.time())
            with contextlib.suppress(OSError):  # no room even for that: the next process tries again
                self._depot.keep_job(job)
            self._log("job", client=job.client[:12], job=job.name[:12], result=job.state, kind=job.error[0])
        with self._changed:
            self._turns.leave(running.ticket)
            del self._running[job.client, job.name]
            self._changed.notify_all()

    def _tell(self, running: _Running, progress: Progress) -> None:
        with self._changed:
            running.progress = progress
            self._changed.notify_all()

    def _compute(self, running: _Running) -> Job:
        job = running.job
        steps = self._worker.steps(job.request)
        finished = self._finished(job.client, steps)
        course = _Course(steps, finished)
        session: Session | None = None
        for number, step in enumerate(steps):

            def told(part: float, number: int = number, step: Step = step) -> bool:
                self._tell(running, course.at(number, step, part))
                return self._going_on(running)

            if not told(0.0):
                return job
            if step.name in finished:
                continue
            try:
                if session is None:
                    key = self._depot.key(job.client, job.request.key)
                    session = self._worker.open(key, lambda _: self._going_on(running))
                self._run(job, session, step, steps, told)
            except Error:
                if self._going_on(running):
                    raise
                self._log("halted", job=job.name[:12], stage=step.stage, first=step.first, last=step.last)
                return job
            course.finish(step)
        return dataclasses.replace(job, state="done", digest=steps[-1].name)

    def _finished(self, client: str, steps: list[Step]) -> set[str]:
        """Steps that need not be computed: their results are there, or only finished ones need them."""
        finished: set[str] = set()
        needed = {steps[-1].name}
        for step in reversed(steps):
            if step.name not in needed or self._depot.has_result(client, step):
                finished.add(step.name)
            else:
                needed.update(step.inputs)
        return finished

    def _run(self, job: Job, session: Session, step: Step, steps: list[Step], told: Callable[[float], bool]) -> None:
        start = time.monotonic()
        inputs = [self._depot.result_path(job.client, name) for name in step.inputs]
        taken = sum(p.stat().st_size for p in inputs)
        result, counts = session.run(step, inputs, told)
        self._depot.keep_result(job.client, step, result)
        line = {"stage": step.stage, "first": step.first, "last": step.last, "counts": counts}
        self._depot.journal(job, {**line, "bytes_in": taken, "bytes_out": len(result)})
        seconds = time.monotonic() - start
        self._log("step", job=job.name[:12], stage=step.stage, first=step.first, last=step.last, seconds=seconds)
        place = steps.index(step)
        for earlier in steps[:place]:
            wanted = any(earlier.name in later.inputs for later in steps[place + 1 :])
            if earlier.name in step.inputs and not wanted and earlier.stage not in _KEPT:
                self._depot.drop_result(job.client, earlier.name)

    # ---- the end ----

    def stop(self) -> None:
        """Ends the step under way. Unfinished requests stay written down."""
        self._stopping.set()
        with self._changed:
            self._changed.notify_all()

    @property
    def stopped(self) -> bool:
        """Whether no step is computed any more."""
        return self._stopping.is_set()

    def join(self, seconds: float) -> bool:
        """Waits for the step under way; says whether it has ended."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._running, seconds)

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
