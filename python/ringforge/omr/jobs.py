# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Requests to a detector, worked off one at a time, step by step.

A request is written down before it is acknowledged, and each step's result as soon as it is there. So work goes on
after a restart with the step that was not finished, whatever ended the process; and a second request about the same
bulletin and key finds what the first one has computed. Which work is done, in which order, with which sizes, does not
depend on what is found: the detector cannot know it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from ringforge.errors import Error
from ringforge.omr.depot import Depot, Job
from ringforge.omr.steps import FINISHED, UNFINISHED, Progress, Request, Step, Worker
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
        """Ends a request that is not finished; says whether there was one. What it has computed stays for a while."""
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
        whole = sum(s.share for s in steps) or 1.0
        finished = self._finished(job.client, steps)
        begun, computed = time.monotonic(), 0.0
        session = None
        for number, step in enumerate(steps):
            if not self._going_on(running):
                return job
            done = sum(s.share for s in steps if s.name in finished)
            left = (whole - done) * (time.monotonic() - begun) / computed if computed else -1.0
            self._tell(running, Progress("running", 0, step.stage, number, len(steps), done / whole, left))
            if step.name in finished:
                continue
            if session is None:
                session = self._worker.open(self._depot.key(job.client, job.request.key))
            self._run(job, session, step, steps)
            finished.add(step.name)
            computed += step.share
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

    def _run(self, job: Job, session: Any, step: Step, steps: list[Step]) -> None:
        start = time.monotonic()
        inputs = [self._depot.result_path(job.client, name) for name in step.inputs]
        taken = sum(p.stat().st_size for p in inputs)
        result, counts = session.run(step, inputs)
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
        """Begins no further step. Unfinished requests stay written down."""
        self._stopping.set()
        with self._changed:
            self._changed.notify_all()

    @property
    def stopped(self) -> bool:
        """Whether no further step will be begun."""
        return self._stopping.is_set()

    def join(self, seconds: float) -> bool:
        """Waits for the steps under way; says whether they have ended."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._running, seconds)

    @property
    def unfinished(self) -> int:
        """Requests under way."""
        with self._changed:
            return len(self._running)


def _alike(a: Progress, b: Progress | None) -> bool:
    return b is not None and (a.state, a.waiting, a.stage, a.done) == (b.state, b.waiting, b.stage, b.done)
