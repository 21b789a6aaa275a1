# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A service that listens at an address, until signals end it."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from types import FrameType
from typing import Any

import grpc

from ringforge import _native
from ringforge.errors import Error
from ringforge.serving import framing, notify
from ringforge.serving.calls import Log
from ringforge.serving.limits import Limits
from ringforge.serving.published import Published
from ringforge.serving.service import Service

#: Seconds that computations get to end once their calls are over.
_LAST_SECONDS = 2.0

#: Seconds beyond the grace after which a service that has not stopped is ended by force.
_FORCE_SECONDS = 4.5

#: Threads of calls that are being refused, beside those of calls that go on.
_REFUSING = 512


class _Threads(Executor):
    """A thread for each call. `calls.Door` bounds how many go on; one that waits keeps no other from beginning."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def run() -> None:
            try:
                future.set_result(function(*args, **options))
            except BaseException as e:
                future.set_exception(e)

        try:
            threading.Thread(target=run, name="call", daemon=True).start()
        except RuntimeError as e:  # no more threads: this call goes unanswered, the server serves others
            future.set_exception(e)
        return future


class Running:
    """A service that listens.

    Args:
        service: what answers. address: HOST:PORT; port 0 takes a free one. credentials: for TLS.

    Raises:
        Error: the address cannot be listened at.
    """

    def __init__(self, service: Service, address: str, credentials: grpc.ServerCredentials | None = None) -> None:
        self.service = service
        options: list[tuple[str, int]] = [
            *framing.OPTIONS,
            ("grpc.so_reuseport", 0),
            ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
            ("grpc.max_connection_idle_ms", 120_000),
            ("grpc.server_handshake_timeout_ms", 20_000),
            ("grpc.max_concurrent_streams", service.limits.calls_each),
            ("grpc.compression_enabled_algorithms_bitset", 1),  # none: what is small must not become large
        ]
        self._grpc = grpc.server(
            _Threads(),
            handlers=[service.handlers(), service.health.handlers()],
            options=options,
            maximum_concurrent_rpcs=service.limits.calls + _REFUSING,
        )
        try:
            if credentials is None:
                self.port = self._grpc.add_insecure_port(address)
            else:
                self.port = self._grpc.add_secure_port(address, credentials)
        except RuntimeError:
            self.port = 0
        if not self.port:
            tls = "" if credentials is None else ", or the certificate and the key do not belong together"
            raise Error(
                f"cannot listen at {address}: another program does, the address is not this machine's{tls}; "
                "choose another with --listen"
            )
        self._grpc.start()

    def stop(self, grace_seconds: float) -> bool:
        """Takes no more calls, lets those that run end within the grace, then ends them; returns whether they did."""
        self.service.health.stop()
        self.service.stopping(grace_seconds)
        ended = self._grpc.stop(grace_seconds).wait(grace_seconds + _LAST_SECONDS)
        return self.service.finish(_LAST_SECONDS) and ended


def serve(
    running: Running, limits: Limits, log: Log, ready: dict[str, Any], published: Published | None = None
) -> None:
    """Serves until SIGTERM or SIGINT, then ends what runs; a second signal does so at once. SIGHUP reloads it.

    Prints `ready` and port and process id as a JSON line when it is. `published`, started, tells of it meanwhile. If
    something keeps it from stopping in time, the process ends all the same, with exit code 1: a thread that does not
    need the interpreter sees to that.
    """
    stop, hurry, reload = threading.Event(), threading.Event(), threading.Event()

    def on_signal(number: int, frame: FrameType | None) -> None:
        del frame
        if number == signal.SIGHUP:
            reload.set()
        else:
            (hurry if stop.is_set() else stop).set()

    guard = _native.StopGuard(limits.grace_seconds + _FORCE_SECONDS, _FORCE_SECONDS)
    wakeup = signal.set_wakeup_fd(guard.descriptor, warn_on_full_buffer=False)
    before = {s: signal.signal(s, on_signal) for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    try:
        print(json.dumps({**ready, "port": running.port, "pid": os.getpid()}), flush=True)
        log("listening", port=running.port)
        notify.ready()
        while not stop.wait(min(1.0, limits.idle_seconds / 4)):
            running.service.housekeeping()
            if published:
                published.beat()
            if reload.is_set():
                reload.clear()
                notify.reloading()
                with log.trouble("reload"):
                    running.service.reload()
                notify.ready()
        log("stopping", grace_seconds=limits.grace_seconds)
        notify.stopping()
        if published:
            published.stopping()
        ended: list[bool] = []
        ending = threading.Thread(target=lambda: ended.append(running.stop(limits.grace_seconds)), daemon=True)
        ending.start()
        while ending.is_alive():
            ending.join(0.1)
            if published:
                published.beat()
            if hurry.is_set():
                ended = [running.stop(0)]
                break
        if not all(ended):  # something computes on: the process cannot be taken apart around it
            log("stopped", result="a computation did not end")
            if published:
                published.close()
            sys.stdout.flush()
            os._exit(1)
        running.service.close()
        log("stopped")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(wakeup)
        guard.close()
        sys.stdout.flush()
