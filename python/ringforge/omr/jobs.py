# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Requests to a detector, worked off step by step.

Each step's result is written down as soon as it is there. So work goes on after a restart with the step that was not
finished; and a second request about the same bulletin and key finds what the first one has computed. A request that is
cancelled, and a process that is told to stop, end within their step: its work is lost, that of the steps before is not.
Which work is done, in which order, with which sizes, does not depend on what is found: the detector cannot know it.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Hashable

from ringforge.errors import Error
from ringforge.omr.depot import Depot, Job
from ringforge.omr.steps import Request, Session, Step, Worker
from ringforge.serving import jobs
from ringforge.serving.calls import Log
from ringforge.serving.jobs import Progress, Tell

#: Stages whose results are kept after they have been used: what another digest of the same bulletin begins with.
_KEPT = ("range check",)


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


class Jobs(jobs.Jobs[Job]):
    """All requests to a detector.

    Args:
        depot: where they are kept. worker: computes. waiting: requests that may wait. each: unfinished ones of a
        client. log: for events. at_once: requests that are computed at a time; those of a key about a bulletin, which
        have steps in common, one after the other.
    """

    def __init__(self, depot: Depot, worker: Worker, waiting: int, each: int, log: Log, at_once: int = 1) -> None:
        super().__init__(depot, waiting, each, log, "the detector", at_once)
        self._depot, self._worker = depot, worker

    def alone(self, job: Job) -> Hashable:
        return job.request.key, job.request.digest

    def submit(self, client: str, request: Request, charge: Callable[[], None]) -> Job:
        """Writes a request down and sees to it; one that is there already is not begun anew.

        Args:
            charge: as `serving.jobs.Jobs.take`.

        Raises:
            BusyError: too many are waiting, of all clients or of this one. MissingKeyError: there is no such key.
            ParameterError: nothing can be made of it.
        """
        self._depot.key(client, request.key)
        self._worker.steps(request)
        return self.take(Job(client, request), charge)

    def still_there(self, job: Job) -> bool:
        steps = self._worker.steps(job.request)
        return job.state == "done" and job.digest == steps[-1].name and self._depot.has_result(job.client, steps[-1])

    def compute(self, job: Job, tell: Tell) -> Job:
        steps = self._worker.steps(job.request)
        finished = self._finished(job.client, steps)
        course = _Course(steps, finished)
        session: Session | None = None
        for number, step in enumerate(steps):

            def told(part: float, number: int = number, step: Step = step) -> bool:
                return tell(course.at(number, step, part))

            if not told(0.0):
                return job
            if step.name in finished:
                continue
            try:
                if session is None:
                    key = self._depot.key(job.client, job.request.key)
                    session = self._worker.open(key, lambda _: tell(course.at(number, step, 0.0)))  # noqa: B023
                self._run(job, session, step, steps, told)
            except Error:
                if told(0.0):
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
