# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A service that listens at an address, until signals end it."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Any

import grpc

from ringforge.errors import Error
from ringforge.psi import wire
from ringforge.psi.service import Limits, Log, Service


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
            *wire.OPTIONS,
            ("grpc.so_reuseport", 0),
            ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
            ("grpc.max_connection_idle_ms", 600_000),
        ]
        self._grpc = grpc.server(
            ThreadPoolExecutor(service.workers, thread_name_prefix="psi call"),
            handlers=[service.handlers()],
            options=options,
            maximum_concurrent_rpcs=service.workers,
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

    def stop(self, grace_seconds: float) -> None:
        """Takes no more calls, lets those that run end within the grace, then ends them."""
        self._grpc.stop(grace_seconds).wait()
        self.service.finish(10.0)


def serve(running: Running, limits: Limits, log: Log, ready: dict[str, Any]) -> None:
    """Serves until SIGTERM or SIGINT, then ends what runs; a second signal does so at once. SIGHUP reloads the table.

    Prints `ready` and port and process id as a JSON line when it is.
    """
    stop, hurry, reload = threading.Event(), threading.Event(), threading.Event()

    def on_signal(number: int, frame: FrameType | None) -> None:
        del frame
        if number == signal.SIGHUP:
            reload.set()
        else:
            (hurry if stop.is_set() else stop).set()

    before = {s: signal.signal(s, on_signal) for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    try:
        print(json.dumps({**ready, "port": running.port, "pid": os.getpid()}), flush=True)
        log("listening", port=running.port)
        while not stop.wait(min(1.0, limits.idle_seconds / 4)):
            running.service.housekeeping()
            if reload.is_set():
                reload.clear()
                with log.trouble("reload"):
                    running.service.reload()
        log("stopping", grace_seconds=limits.grace_seconds)
        ending = threading.Thread(target=running.stop, args=(limits.grace_seconds,), daemon=True)
        ending.start()
        while ending.is_alive():
            ending.join(0.1)
            if hurry.is_set():
                running.stop(0)
                break
        running.service.close()
        log("stopped")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.stdout.flush()
