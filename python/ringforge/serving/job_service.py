# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A service whose requests compute for long: they wait in `jobs.Jobs`; what clients keep lies in a `depot.Depot`."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ringforge.cli.console import size_text
from ringforge.serving import service
from ringforge.serving.access import Tokens
from ringforge.serving.calls import Log
from ringforge.serving.depot import Depot
from ringforge.serving.framing import Method
from ringforge.serving.jobs import Jobs
from ringforge.serving.limits import Limits
from ringforge.serving.quota import Quota
from ringforge.serving.sessions import BusyError, Turns
from ringforge.serving.status import Asked, Task, Use

#: Seconds between looks for what is too old, at the most.
_SWEEP_SECONDS = 60.0


class _Arrival(NamedTuple):
    """Bytes that are on their way from a client, and keys of the client that are needed with them."""

    client: str
    size: int
    keys: tuple[str, ...]


class Kept(Protocol):
    """What stays with a service."""

    @property
    def keep_seconds(self) -> float:
        """How long results are kept, and keys that nobody uses."""

    @property
    def disk(self) -> int:
        """Bytes of the depot, at the most."""


class JobService(service.Service):
    """See the module.

    Args:
        name, methods, limits, tokens, log: as of every service. quota: what clients may ask for.
        depot: what is kept, on disk. jobs: what is computed; those that the last process left are taken up.
        kept: what stays.
    """

    #: What messages call the service.
    called = "the server"

    def __init__(
        self,
        name: str,
        methods: Mapping[str, Method],
        limits: Limits,
        quota: Quota,
        depot: Depot[Any],
        jobs: Jobs[Any],
        kept: Kept,
        tokens: Tokens | None,
        log: Log,
    ) -> None:
        super().__init__(name, methods, limits, quota, tokens, log)
        self._quota, self._depot, self.jobs, self._kept = quota, depot, jobs, kept
        self._check_turns = Turns(limits.sessions)
        self._changing = threading.Lock()  # of what the depot holds
        self._arriving: list[_Arrival] = []
        self._swept = time.monotonic()
        self._grace = 0.0
        resumed = self.jobs.resume()
        if resumed:
            self._log("resumed", jobs=resumed)

    @property
    def busy(self) -> bool:
        """Whether calls that were let in, or computations, are under way."""
        return super().busy or bool(self.jobs.unfinished)

    def check(self, client: bytes) -> None:
        """Count what a client has left, as every client's first call does."""
        self._quota.left(client)

    def _queues(self) -> Mapping[str, Turns]:
        return {"requests": self.jobs.turns, "keys": self._check_turns}

    def _under_way(self) -> list[Task]:
        return [*self.jobs.tasks(), *super()._under_way()]

    def _quotas(self) -> dict[str, Asked]:
        return service.asked_today(self._quota)

    def _disks(self) -> dict[str, Use]:
        return {"disk": Use(used=self._on_disk(), most=self._kept.disk)}

    def _on_disk(self) -> int:
        """Bytes that the things of all clients take."""
        return sum(self._depot.bytes_of(c) for c in self._depot.clients())

    @contextlib.contextmanager
    def _incoming(
        self, client: str, size: int, keys: tuple[str, ...] = (), check: Callable[[], None] = lambda: None
    ) -> Iterator[Path]:
        """A file for what arrives, counted as if it were there already.

        Args:
            keys: of the client, which stay meanwhile. check: may refuse it; nothing changes until it is counted.

        Raises:
            BusyError: there is no room for it.
        """
        arrival = _Arrival(client, size, keys)
        with self._changing:
            check()
            self._make_room(client, size)
            self._arriving.append(arrival)
        try:
            with self._depot.arriving() as path:
                yield path
        finally:
            with self._changing:
                self._arriving.remove(arrival)

    def _make_room(self, client: str, size: int) -> None:
        """See that so many bytes of a client have room on the disk; for who holds `_changing`.

        When there is none, keys of the client that takes the most go, as long as it keeps more than this one will have:
        those that no request under way needs, the longest unused first. Who has lost keys sends them again.

        Raises:
            BusyError: there is no room, and nobody else has more than a share.
        """
        while True:
            have = {c: self._depot.bytes_of(c) for c in self._depot.clients()}
            used = sum(have.values()) + sum(a.size for a in self._arriving)
            if used + size <= self._kept.disk:
                return
            mine = have.pop(client, 0)
            if not any(self._drop_key(c) for c in sorted(have, key=lambda c: -have[c]) if have[c] > mine + size):
                raise BusyError(
                    f"{self.called}'s disk is full: {size_text(used)} of {size_text(self._kept.disk)} are taken; try "
                    "again later, or ask its operator for more"
                )

    def _drop_key(self, client: str) -> bool:
        """Drop what a client has not used for longest, unless a request needs it; says whether there was any."""
        under_way = self.jobs.unended(client)
        needed = {k for j in self._depot.jobs(client) if j.name in under_way for k in self._depot.keys_of(j)}
        needed.update(k for a in self._arriving if a.client == client for k in a.keys)
        with contextlib.suppress(OSError):
            spare = {k: path.stat().st_mtime for k, path in self._depot.key_files(client).items() if k not in needed}
            if spare:
                self._depot.drop(client, min(spare, key=lambda k: spare[k]))
                self._log("displaced", keys=1, client=client[:12])
                return True
        return False

    # ---- life --------------------------------------------------------------------------------------

    def stopping(self, grace_seconds: float) -> None:
        """Ends the step under way; what is unfinished is taken up by the next process."""
        self._grace = grace_seconds
        self.jobs.stop()

    def housekeeping(self) -> None:
        """To be called now and then: forgets what is too old."""
        super().housekeeping()
        with self._log.trouble("tend"):
            self.jobs.tend()
        if time.monotonic() - self._swept >= min(_SWEEP_SECONDS, self._kept.keep_seconds):
            self._swept = time.monotonic()
            with self._log.trouble("sweep"), self._changing:
                before = self._depot.clock() - self._kept.keep_seconds
                jobs = self._depot.sweep(before)
                keys = self._depot.expire(before, {*self.jobs.clients(), *(a.client for a in self._arriving)})
                if jobs or keys:
                    self._log("expired", jobs=jobs, keys=keys)

    def finish(self, seconds: float) -> bool:
        """Waits for the step under way, which belongs to no call; returns whether it has ended."""
        return self.jobs.join(max(seconds, self._grace)) and super().finish(seconds)

    def close(self) -> None:
        """Lets go of the depot."""
        super().close()
        self._depot.close()
