# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Computing for a call, in turn, in a thread of its own, while the call's thread talks to the client."""

from __future__ import annotations

import itertools
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from ringforge.serving import framing
from ringforge.serving.calls import Call, GoneError
from ringforge.serving.sessions import Turns
from ringforge.serving.status import Task
from ringforge.threads import spawn

#: Works that wait and are told of one by one; queues say how many there are.
TOLD = 16


class Threads:
    """The threads that compute, which may outlive their calls for a moment."""

    def __init__(self) -> None:
        self._running: dict[int, Work] = {}
        self._changed = threading.Condition()

    def start(self, work: Work) -> None:
        """Runs it in a thread that does not keep the process from ending."""

        def run() -> None:
            try:
                work.run()
            finally:
                with self._changed:
                    self._running.pop(id(work), None)
                    self._changed.notify_all()

        self._running[id(work)] = work
        spawn(run)

    @property
    def busy(self) -> bool:
        """Whether any runs or waits."""
        return bool(self._running)

    def tasks(self) -> list[Task]:
        """What is computed, and then what waits, next first."""
        every = list(self._running.values())
        begun = [w.task() for w in every if w.begun]
        waiting = itertools.islice((w for w in every if not w.begun), TOLD)
        return begun + sorted((w.task() for w in waiting), key=lambda t: (t.what, t.waiting))

    def join(self, seconds: float) -> bool:
        """Waits until none runs; returns whether that is so."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._running, seconds)


class Work:
    """One computation. It waits for its turn, reports steps, and gives up when nobody wants it any more.

    Args:
        call: whom it is for. turns, ticket: what it waits for, and gives up at the end.
        compute: called with a function that takes the fraction done, and returns whether to go on.
        over: called at the end, however it ends.
    """

    def __init__(
        self,
        threads: Threads,
        call: Call,
        turns: Turns,
        ticket: object,
        compute: Callable[[Callable[[float], bool]], Any],
        over: Callable[[], None] = lambda: None,
    ) -> None:
        self._call, self._turns, self._ticket, self._over = call, turns, ticket, over
        self._compute: Callable[[Callable[[float], bool]], Any] | None = compute
        self._events: queue.SimpleQueue[int | BaseException | None] = queue.SimpleQueue()
        self._step = 0
        self._begun: float | None = None
        self._result: Any = None
        self.done = False
        try:
            threads.start(self)
        except BaseException:
            turns.leave(ticket)
            over()
            raise

    def run(self) -> None:
        """Waits and computes, in a thread of its own."""
        try:
            start = time.monotonic()  # may find no memory, as all that follows: the turn is given up all the same
            if not self._turns.wait(self._ticket, self._call.going_on):
                raise GoneError
            self._call.notes["waited"] = time.monotonic() - start
            start = self._begun = time.monotonic()
            compute, self._compute = self._compute, None
            assert compute is not None
            self._result = compute(self._progress)
            self._call.notes["computed"] = time.monotonic() - start
            self._progress(1.0)
            self._events.put(None)
        except BaseException as e:
            self._events.put(e if self._call.going_on() else GoneError())
        finally:
            self._compute = None
            try:
                self._turns.leave(self._ticket)
            finally:
                self._over()

    def _progress(self, fraction: float) -> bool:
        while self._step < min(framing.STEPS, int(fraction * framing.STEPS)):
            self._step += 1
            self._events.put(self._step)
        return self._call.going_on()

    @property
    def begun(self) -> bool:
        """Whether its turn has come."""
        return self._begun is not None

    @property
    def ahead(self) -> int:
        """Others to be computed before this one."""
        return self._turns.ahead(self._ticket)

    def task(self) -> Task:
        """How it stands, for those who run the service."""
        fraction = min(1.0, self._step / framing.STEPS)
        if self._begun is None:
            return Task(what=self._call.method, waiting=self.ahead, fraction=0.0, seconds_left=-1.0)
        took = max(0.0, time.monotonic() - self._begun)
        left = took * (1 - fraction) / fraction if fraction else -1.0
        return Task(what=self._call.method, fraction=fraction, seconds=took, seconds_left=left)

    def step(self, seconds: float) -> int | None:
        """The next step of `framing.STEPS`; None when none comes in time, or it is `done`.

        Raises:
            any error of the computation.
        """
        try:
            event = self._events.get(timeout=seconds)
        except queue.Empty:
            return None
        if isinstance(event, BaseException):
            raise event
        self.done = event is None
        return event

    def result(self) -> Any:
        """What was computed; once."""
        assert self.done
        result, self._result = self._result, None
        return result
