# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A small web server that takes so many connections and no more, and is at rest when no more can be had."""

from __future__ import annotations

import contextlib
import errno
import json
import socket
import socketserver
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ringforge.threads import retry, spawn

#: Seconds between attempts to take a connection while there are no descriptors or no memory for it.
PAUSE_SECONDS = 0.25

#: What accepting a connection fails with when this process, or the system, is at its limit.
_AT_LIMIT = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}


class BoundedServer(ThreadingHTTPServer):
    """Each connection has a thread. When there are too many, the one that has been silent the longest is closed.

    A connection is silent until the head of its request has come (`heard`). It has the handler's `timeout` for that.
    With none silent, one more is told to come later.

    most: connections at a time.
    """

    most = 64
    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self,
        address: tuple[str, int],
        handler: type[BaseHTTPRequestHandler],
        family: socket.AddressFamily = socket.AF_INET,
    ) -> None:
        self.address_family = family
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._silent: dict[Any, float] = {}  # since when, in the order in which they came
        self._heard: set[Any] = set()
        self._patience = float(getattr(handler, "timeout", None) or 30.0)
        super().__init__(address, handler)

    def server_bind(self) -> None:
        """Bind without asking for the name of the address, which may take long."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    def serve_forever(self, poll_interval: float = 0.5) -> None:
        """Serve until `shutdown`; a moment without memory does not end it."""
        while True:
            try:
                super().serve_forever(poll_interval)
                return
            except MemoryError:
                time.sleep(PAUSE_SECONDS)

    def service_actions(self) -> None:
        """Let go of who has been silent for too long, and start threads for whom there was no memory."""
        retry()
        with self._lock:
            late = time.monotonic() - self._patience
            gone = [c for c, since in self._silent.items() if since < late]
        for connection in gone:
            _hang_up(connection)

    def get_request(self) -> tuple[Any, Any]:
        """Take a connection; at the limit of descriptors, waits for one to end before the next attempt."""
        self._ended.clear()
        try:
            return super().get_request()
        except OSError as e:
            if e.errno in _AT_LIMIT:
                self._drop_silent(PAUSE_SECONDS)
                self._ended.wait(PAUSE_SECONDS)
            raise

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread, if there is a place."""
        with self._lock:
            full = len(self._silent) + len(self._heard) >= self.most
        if full and not self._drop_silent():
            self._refuse(request)
            return
        with self._lock:
            self._silent[request] = time.monotonic()
        spawn(lambda: self.process_request_thread(request, client_address))

    def _drop_silent(self, seconds: float = 0.0) -> bool:
        """Close the connection that has been silent the longest, and for so long; says whether there was one."""
        with self._lock:
            oldest, since = next(iter(self._silent.items()), (None, 0.0))
            if oldest is not None and since > time.monotonic() - seconds:
                oldest = None
            if oldest is not None:
                del self._silent[oldest]
        if oldest is not None:
            _hang_up(oldest)
        return oldest is not None

    def _refuse(self, request: Any) -> None:
        body = f"Error: this server has {self.most} connections under way, the most it takes: try again later".encode()
        head = f"HTTP/1.1 503 Busy\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
        with contextlib.suppress(OSError):
            request.settimeout(0)
            request.send(head + body)
        self.shutdown_request(request)

    def heard(self, request: Any) -> None:
        """The head of a connection's request has come."""
        with self._lock:
            if self._silent.pop(request, None) is not None:
                self._heard.add(request)

    def shutdown_request(self, request: Any) -> None:
        """End a connection; its place is free."""
        with self._lock:
            self._silent.pop(request, None)
            self._heard.discard(request)
        super().shutdown_request(request)
        self._ended.set()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say the kind of a fault, and nothing of what clients sent."""
        del request, client_address
        kind = sys.exc_info()[0]
        with contextlib.suppress(OSError, MemoryError):
            print(json.dumps({"event": "fault", "result": kind.__name__ if kind else ""}), file=sys.stderr, flush=True)


def _hang_up(connection: Any) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
