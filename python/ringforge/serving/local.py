# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What services over local HTTP (`ringforge.local_http`) tell of themselves: calls, and what they compute."""

from __future__ import annotations

import contextlib
import http.client
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ringforge.local_http import READY_PATH
from ringforge.serving.meter import Meter
from ringforge.serving.status import Load, Method, Queue, Task

if TYPE_CHECKING:
    from ringforge.serving.frontdoor import Seen


@dataclass
class _Turn:
    what: str
    begun: float | None = None
    fraction: float = 0.0

    def task(self, ahead: int) -> Task:
        if self.begun is None:
            return Task(what=self.what, waiting=ahead, fraction=0.0, seconds_left=-1.0)
        took = max(0.0, time.monotonic() - self.begun)
        left = took * (1 - self.fraction) / self.fraction if self.fraction else -1.0
        return Task(what=self.what, fraction=self.fraction, seconds=took, seconds_left=left)


class Told:
    """Counts the calls of a service, and knows what it computes; thread-safe.

    Args:
        methods: fixed words for what is asked for.
    """

    def __init__(self, *methods: str) -> None:
        self.meter = Meter(methods)
        self._lock, self._changing = threading.Lock(), threading.Lock()
        self._turns: list[_Turn] = []

    @contextlib.contextmanager
    def turn(self, what: str) -> Iterator[Callable[[float], None]]:
        """One computation at a time: waits for the others. Yields what takes the fraction done."""
        turn = _Turn(what)
        with self._changing:
            self._turns.append(turn)
        try:
            with self._lock:
                turn.begun = time.monotonic()

                def done(fraction: float) -> None:
                    turn.fraction = min(1.0, max(0.0, fraction))

                yield done
        finally:
            with self._changing:
                self._turns.remove(turn)

    def load(self) -> Load:
        """What the service does now, and has done. No client is named."""
        with self._changing:
            turns = sorted(self._turns, key=lambda t: t.begun is None)[:16]
            waiting = sum(t.begun is None for t in self._turns)
        return Load(
            under_way=self.meter.under_way,
            methods={name: Method.of(c) for name, c in self.meter.counted().items()},
            queues={"computations": Queue(waiting=waiting, most=0)},
            work=[t.task(place) for place, t in enumerate(turns)],
        )


def look(address: str, seconds: float) -> Seen:
    """Ask a service over local HTTP for its sign of life, as its clients ask: on a connection of its own."""
    from ringforge.serving.frontdoor import Seen

    host, _, port = address.rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=seconds)
    try:
        connection.request("GET", READY_PATH)
        status = connection.getresponse().status
    except TimeoutError:
        return Seen(False, "nothing was answered", silent=True)
    except (OSError, http.client.HTTPException) as e:
        return Seen(False, f"a call was not served: {type(e).__name__}")
    finally:
        connection.close()
    return Seen(status == 200, f"a call was not served: {status}")


def telling(
    told: Told, service: str, facts: Mapping[str, str], metrics: str | None = None
) -> Callable[[str], contextlib.AbstractContextManager[Mapping[str, str]]]:
    """For `local_http.listen`: tells of a service, as `published.Published` does, and the service manager of it."""

    @contextlib.contextmanager
    def around(address: str) -> Iterator[Mapping[str, str]]:
        from ringforge.serving import notify
        from ringforge.serving.frontdoor import FrontDoor
        from ringforge.serving.published import published

        with published(told, service, address, facts, metrics, door=FrontDoor(partial(look, address))) as p:
            notify.ready()
            try:
                yield {"metrics": p.metrics} if p.metrics else {}
            finally:
                p.stopping()
                notify.stopping()

    return around
