# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A service that listens at an address, until signals end it."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import secrets
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from types import FrameType
from typing import Any

import grpc
from grpc_health.v1 import health_pb2 as _health_pb2

from ringforge import _native
from ringforge.errors import Error
from ringforge.serving import framing, notify
from ringforge.serving.calls import Log
from ringforge.serving.frontdoor import FrontDoor, Seen
from ringforge.serving.limits import Limits
from ringforge.serving.published import Published
from ringforge.serving.service import READY, Service
from ringforge.threads import retry, spawn

health_pb2: Any = _health_pb2

#: Seconds that computations get to end once their calls are over.
_LAST_SECONDS = 2.0

#: Seconds between looks whether calls are under way that get the grace.
_LOOK_SECONDS = 0.5

#: Seconds within which a service is ended by force that has nothing under way and does not stop.
_NOTHING_SECONDS = 5.0

#: Milliseconds after which a connection without calls is closed: strangers need not keep descriptors.
_IDLE_MS = 60_000

#: Seconds beyond the grace after which a service that has not stopped is ended by force.
_FORCE_SECONDS = 4.5

#: Open files that a service asks for, as far as the system lets it.
_DESCRIPTORS = 65_536

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

        spawn(run)
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
            ("grpc.max_connection_idle_ms", _IDLE_MS),
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
        # For the look at the front door: the same server, without TLS, which would need a name that it is known by.
        self._inside = f"unix-abstract:ringforge-{os.getpid()}-{secrets.token_hex(16)}"
        try:
            opened = self._grpc.add_insecure_port(self._inside)
        except RuntimeError:
            opened = 0
        if not opened:
            raise Error(
                "cannot open an abstract Unix socket, by which a service looks whether it answers: allow it where "
                "this process runs (profiles of AppArmor or SELinux, seccomp, RestrictAddressFamilies=AF_UNIX)"
            )
        before = set(threading.enumerate())
        self._grpc.start()
        self._serving = [t for t in threading.enumerate() if t not in before and t.name.endswith("(_serve)")]
        self._stopping = False
        self.door = FrontDoor(self._look)

    @property
    def broken(self) -> bool:
        """Whether the thread that takes calls has ended before it was told to: nobody is answered then."""
        return not self._stopping and not all(t.is_alive() for t in self._serving)

    def _look(self, seconds: float) -> Seen:
        """Make a call as a client would, on a connection of its own."""
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_http_proxy", 0), ("grpc.enable_retries", 0)]
        with grpc.insecure_channel(self._inside, options) as channel:
            ready = channel.unary_unary(
                f"/{self.service.name}/{READY}", health_pb2.HealthCheckRequest.SerializeToString
            )
            try:
                ready(health_pb2.HealthCheckRequest(), timeout=seconds, metadata=self.service.probe_metadata)
            except grpc.RpcError as e:
                code = e.code()
                silent = code is grpc.StatusCode.DEADLINE_EXCEEDED
                return Seen(False, f"a call was not served: {code.name}", silent)
        return Seen(True)

    def stop(self, grace_seconds: float) -> bool:
        """Takes no more calls, lets those that run end within the grace, then ends them; returns whether they did.

        Calls that were never let in, of whoever keeps silent, get no grace.
        """
        self._stopping = True
        self.service.health.stop()
        self.service.stopping(grace_seconds)
        over, until = self._grpc.stop(grace_seconds), time.monotonic() + grace_seconds
        while not over.wait(_LOOK_SECONDS) and time.monotonic() < until:
            if not self.service.busy:
                self._grpc.stop(0)
                break
        ended = over.wait(_LAST_SECONDS)
        return self.service.finish(_LAST_SECONDS) and ended


def raise_descriptors() -> None:
    """Allow this process as many open files as it may have: each connection of anybody takes one."""
    least, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(least, min(most, _DESCRIPTORS)), most))


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

    def lost(why: str) -> None:
        """Ends the process, for a supervisor to start another."""
        log("failed", result=why)
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        os._exit(1)

    raise_descriptors()
    guard = _native.StopGuard(limits.grace_seconds + _FORCE_SECONDS, _FORCE_SECONDS)
    wakeup = signal.set_wakeup_fd(guard.descriptor, warn_on_full_buffer=False)
    before = {s: signal.signal(s, on_signal) for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    try:
        print(json.dumps({**ready, "port": running.port, "pid": os.getpid()}), flush=True)
        log("listening", port=running.port)
        notify.ready()
        spawn(lambda: running.door.watch(stop, lambda: lost("nobody is answered")))
        while not stop.wait(min(1.0, limits.idle_seconds / 4)):
            if running.broken:
                lost("the thread that takes calls has ended")
            try:
                running.service.housekeeping()
            except MemoryError:  # next time
                continue
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
        ending = threading.Event()

        def end() -> None:
            try:
                ended.append(running.stop(limits.grace_seconds))
            finally:
                ending.set()

        spawn(end)
        busy = time.monotonic()
        while not ending.wait(0.1):
            retry()
            busy = time.monotonic() if running.service.busy else busy
            if time.monotonic() - busy > _NOTHING_SECONDS:
                lost("it did not stop though nothing was under way")
            if published:
                published.beat()
            if hurry.is_set():
                ended = [running.stop(0)]
                break
        if not ended or not all(ended):  # something computes on: the process cannot be taken apart around it
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
