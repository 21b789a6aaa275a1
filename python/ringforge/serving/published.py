# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A running service told of: by files in the runtime directory, and at the address of `--metrics` if there is one."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from ringforge.errors import Error
from ringforge.serving import runtime
from ringforge.serving.frontdoor import FrontDoor, Seen
from ringforge.serving.status import Load, Status, build_facts, resident
from ringforge.serving.web import Web, metrics_address

#: Seconds between two looks at the service, and after which it is written down though nothing has changed.
LOOK_SECONDS, WRITE_SECONDS = 1.0, 5.0

#: Seconds for which one look answers all who ask.
_FRESH_SECONDS = 0.25

#: Seconds without a sign of the main thread after which the service is no longer said to be well.
BEAT_SECONDS = 60.0

_PLAIN = "text/plain; charset=utf-8"


class Source(Protocol):
    """A service, as it is told of."""

    def load(self) -> Load:
        """What it does now, and has done. No client is named."""


class Log(Protocol):
    """Where events go: `calls.Log`."""

    def __call__(self, event: str, **values: float | int | str) -> None:
        """Writes one."""


class Published:
    """Tells of a service from `start` to `close`.

    Args:
        source: the service. service: what it is, as its command says.
        facts: version, device, set and the like; short, and public.
        metrics: HOST:PORT or PORT of an endpoint with /healthz, /readyz, /metrics and /status; None for none.
        log: for events.
        beats: whether the service's main thread calls `beat`, so that its silence means something.

    Raises:
        ParameterError, Error: nothing can listen at `metrics`.
    """

    def __init__(
        self,
        source: Source,
        service: str,
        facts: Mapping[str, str],
        metrics: str | None = None,
        log: Log | None = None,
        beats: bool = False,
    ) -> None:
        self._source, self._service, self._address = source, service, ""
        self._facts = {**build_facts(), **{k: v[:400] for k, v in facts.items()}}
        self._log, self._beats = log, beats
        self._started, self._beat = time.time(), time.monotonic()
        self._ready = True
        self._door: FrontDoor | None = None
        self._lock = threading.Lock()
        self._last: tuple[float, Status] | None = None
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._note: runtime.Note | None = None
        routes: Mapping[str, Callable[[], tuple[int, str, bytes]]] = {
            "/healthz": self._serve_health,
            "/readyz": self._serve_ready,
            "/metrics": self._serve_metrics,
            "/status": lambda: (200, "application/json", self.status().to_json()),
        }
        self._web = None if metrics is None else Web(metrics_address(metrics), routes, "--metrics", any_name=True)

    @property
    def metrics(self) -> str:
        """HOST:PORT of the endpoint; empty if there is none."""
        return self._web.address if self._web else ""

    def through(self, door: FrontDoor) -> None:
        """Readiness is what a look at this front door shows."""
        self._door = door

    def beat(self) -> None:
        """The main thread goes on."""
        self._beat = time.monotonic()

    def stopping(self) -> None:
        """No more calls are taken."""
        self._ready = False
        self._last = None

    def status(self) -> Status:
        """How the service is; at most `_FRESH_SECONDS` old."""
        with self._lock:
            now = time.monotonic()
            if self._last is None or now - self._last[0] > _FRESH_SECONDS:
                self._last = (now, self._look())
            return self._last[1]

    def _look(self) -> Status:
        return Status(
            service=self._service,
            address=self._address,
            metrics=self.metrics,
            pid=os.getpid(),
            started=self._started,
            now=time.time(),
            beat=self._silence(),
            state="ready" if self._ready else "stopping",
            facts=self._facts,
            resident=resident(),
            load=self._source.load(),
        )

    def _silence(self) -> float:
        return max(0.0, time.monotonic() - self._beat) if self._beats else 0.0

    # ---- the endpoint ----

    def _serve_health(self) -> tuple[int, str, bytes]:
        if self._silence() > BEAT_SECONDS:
            return 503, _PLAIN, b"the main thread is stuck\n"
        return 200, _PLAIN, b"ok\n"

    def _serve_ready(self) -> tuple[int, str, bytes]:
        if not self._ready:
            return 503, _PLAIN, b"stopping\n"
        seen = self._door.seen() if self._door else Seen(True)
        return (200, _PLAIN, b"ready\n") if seen.ready else (503, _PLAIN, f"{seen.why}\n".encode())

    def _serve_metrics(self) -> tuple[int, str, bytes]:
        from ringforge.serving import exposition

        return 200, exposition.CONTENT_TYPE_LATEST, exposition.text(self.status())

    # ---- files ----

    def start(self, address: str) -> None:
        """Tells from now on of the service that listens at an address.

        What keeps files from being written keeps no service from running: the log says it.
        """
        self._address, self._last = address, None
        try:
            self._note = runtime.Note(runtime.directory(), self._service, self._address)
            self._note.write(self.status())
        except (Error, OSError) as e:
            self._say(e)
        else:
            self._thread = threading.Thread(target=self._run, name="status", daemon=True)
            self._thread.start()
        if self._web:
            self._web.start()

    def _say(self, error: Exception) -> None:
        if self._log:
            words = str(error) if isinstance(error, Error) else getattr(error, "strerror", None) or type(error).__name__
            self._log("runtime directory", result=words)

    def _run(self) -> None:
        written, told, well = time.monotonic(), self.status(), True
        while not self._over.wait(LOOK_SECONDS):
            assert self._note is not None
            try:
                now = self.status()
                if _alike(now, told) and time.monotonic() - written < WRITE_SECONDS:
                    continue
                self._note.write(now)
                written, told, well = time.monotonic(), now, True
            except Exception as e:  # a fault in one look must not silence the service for good
                if well:
                    self._say(e)
                well = False

    def close(self) -> None:
        """The service has ended: nothing tells of it any more."""
        self._over.set()
        if self._thread:
            self._thread.join()
        if self._note:
            self._note.remove()
        if self._web:
            self._web.close()


def _alike(a: Status, b: Status) -> bool:
    return a.state == b.state and a.load == b.load


@contextlib.contextmanager
def published(
    source: Source,
    service: str,
    address: str,
    facts: Mapping[str, str],
    metrics: str | None = None,
    log: Log | None = None,
    door: FrontDoor | None = None,
) -> Iterator[Published]:
    """Tells of a service at an address while the block runs. The others are as for `Published`, and so are errors.

    `door`: what a look at it shows is whether the service is ready.
    """
    telling = Published(source, service, facts, metrics, log)
    if door is not None:
        telling.through(door)
    telling.start(address)
    try:
        yield telling
    finally:
        telling.close()
