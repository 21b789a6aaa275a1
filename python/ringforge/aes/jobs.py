# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Requests to a server of AES, worked off one or a few at a time, round by round.

Each round's result is on the disk before the next begins, so work goes on after a restart with the round that was not
finished. A request that is cancelled, and a process that is told to stop, end within their round.
"""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator

from ringforge.aes import files
from ringforge.aes.computing import Computation
from ringforge.aes.depot import Depot, Job, Request
from ringforge.aes.engine import ROUNDS, AesServer
from ringforge.aes.keys import Scheme
from ringforge.aes.runner import Reached, Run, StoppedError
from ringforge.aes.sources import compute_on, source_of
from ringforge.aes.wire import EVALUATION, ROUND_KEYS, STREAM
from ringforge.errors import FormatError, MismatchError
from ringforge.serving import jobs
from ringforge.serving.calls import Log
from ringforge.serving.jobs import Progress, Tell

#: Whose evaluation keys: a client's, and the name of the set.
Owner = tuple[str, str]


@dataclasses.dataclass(eq=False)
class _Open:
    """Evaluation keys in memory. `users`: jobs that compute with them."""

    server: AesServer
    users: int = 0


class Servers:
    """Evaluation keys that are ready to compute with: those in use, and of the last jobs as many as there is room for.

    Args:
        most: in memory at a time: as many as jobs are computed. make: reads keys.
    """

    def __init__(self, most: int, make: Callable[[Owner], AesServer]) -> None:
        self._most, self._make = most, make
        self._lock = threading.Lock()
        self._open = OrderedDict[Owner, _Open]()

    @contextlib.contextmanager
    def using(self, owner: Owner) -> Iterator[AesServer]:
        """The server of these keys, one for all jobs that use them at a time.

        Raises:
            as `Scheme.server`.
        """
        with self._lock:
            if owner not in self._open:
                for idle in [o for o, found in self._open.items() if not found.users]:
                    if len(self._open) >= self._most:  # first lets go of the memory
                        del self._open[idle]
                self._open[owner] = _Open(self._make(owner))
            found = self._open[owner]
            self._open.move_to_end(owner)
            found.users += 1
        try:
            yield found.server
        finally:
            with self._lock:
                found.users -= 1


class Jobs(jobs.Jobs[Job]):
    """All requests to a server.

    Args:
        depot: where they are kept. scheme: of the keys. threads: to compute with.
        waiting: requests that may wait. each: unfinished ones of a client. log: for events.
        at_once: requests that are computed at a time; those about the same blocks or stream with the same keys, which
            have the rounds in common, one after the other.
    """

    def __init__(
        self, depot: Depot, scheme: Scheme, threads: int, waiting: int, each: int, log: Log, at_once: int = 1
    ) -> None:
        super().__init__(depot, waiting, each, log, "the server", at_once)
        self._depot = depot

        def opened(owner: Owner) -> AesServer:
            client, name = owner
            return scheme.server(depot.complete(client, name, EVALUATION), threads)

        self._servers = Servers(at_once, opened)

    def alone(self, job: Job) -> Hashable:
        return _plain(job).name

    def submit(self, client: str, request: Request, blocks: int, charge: Callable[[], None]) -> Job:
        """Writes a request down and sees to it; one that is there already is not begun anew.

        Args:
            blocks: that it is about. charge: as `serving.jobs.Jobs.take`.

        Raises:
            BusyError: too many are waiting, of all clients or of this one. MissingKeyError: a set is not there.
        """
        self._depot.complete(client, request.evaluation, EVALUATION)
        self._depot.complete(client, request.round_keys, ROUND_KEYS)
        return self.take(Job(client, request, blocks), charge)

    def still_there(self, job: Job) -> bool:
        return job.state == "done" and self._depot.result(job).exists()

    def compute(self, job: Job, tell: Tell) -> Job:
        if self._depot.result(job).exists():  # by a process that was killed before it said so
            return dataclasses.replace(job, state="done")
        tell(Progress("running", stage="reading keys"))
        with self._servers.using((job.client, job.request.evaluation)) as server:
            return self._compute(job, server, tell)

    def _compute(self, job: Job, server: AesServer, tell: Tell) -> Job:
        request, work, plain = job.request, self._depot.work(job), _plain(job)
        if request.compute and self._depot.result(plain).exists():  # AES is done already

            def told(part: float) -> bool:
                return tell(Progress("running", 0, "computing", 0, 1, part))

            computation = Computation.parse(request.compute)
            compute_on(server, self._depot.result(plain), computation, self._depot.result(job), told)
            return dataclasses.replace(job, state="done")
        folder = self._depot.complete(job.client, request.round_keys, ROUND_KEYS)
        path = self._depot.input(job.client, job.name)
        blocks, stream = (None, path) if request.kind == STREAM else (path, None)
        source = source_of(server, folder, blocks, stream, request.compute, self._depot.ledger(job.client))
        run = Run(server, files.RoundKeys(folder, server), source, work)

        def report(r: Reached) -> bool:
            budget = ""
            if r.finished is not None:
                f = r.finished
                budget = f", {f.budget:.1f} bits of noise budget left"
                seconds = {"seconds": f.seconds, "budget": f.budget}
                self._log("round", job=job.name[:12], state=f.state, round=f.round, **seconds)
            of = f"state {r.state + 1} of {r.states}, " if r.states > 1 else ""
            done = r.state * ROUNDS + (r.round if r.finished else max(0, r.round - 1))
            stage = f"{of}round {r.round} of {ROUNDS}{budget}"
            return tell(Progress("running", 0, stage, done, r.states * ROUNDS, r.fraction, r.seconds_left))

        try:
            self._run(run, job, report)
        except StoppedError:
            self._log("halted", job=job.name[:12])
            return job
        return dataclasses.replace(job, state="done")

    def _run(self, run: Run, job: Job, report: Callable[[Reached], bool]) -> None:
        out = self._depot.result(job)
        if any(run.directory.glob("state-*")):
            try:
                run(out, report)
                return
            except (FormatError, MismatchError) as e:  # a damaged checkpoint is as good as none
                self._log("checkpoint", job=job.name[:12], result=type(e).__name__)
                shutil.rmtree(run.directory, ignore_errors=True)
        run(out, report)


def _plain(job: Job) -> Job:
    """The request for AES alone, of one that computes on its result."""
    return dataclasses.replace(job, request=dataclasses.replace(job.request, compute=""))
