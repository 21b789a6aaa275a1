# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The server's side of a run, as a lying server has it: what a client sends is written down, answers are anything.

The client, gRPC, HTTP and the sockets are real. A `Tap` stands between them, for gRPC tells no handler when a
connection begins and ends.
"""

from __future__ import annotations

import contextlib
import hashlib
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc

from ringforge.serving.calls import ERROR_KEY

#: Seconds for what other threads do: far more than they take.
PATIENCE = 60.0

#: Messages up to this size are compared as they are, without what is random in them; larger ones by their size.
_COMPARED = 512

Answer = Callable[[str, list[bytes]], Iterable[Any]]


class RefusedError(Exception):
    """The server refuses a call, as an error of ours of this name."""


class Seen:
    """Record of all that a server has seen of one run. `blanks` are public names that differ from client to client."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []
        self.blanks: list[bytes] = []
        self._decrypting = False
        self._left = 0

    def __call__(self, *event: Any) -> None:
        self.events.append(("after a decryption", *event) if self._decrypting else event)

    def decrypting(self, *taps: Tap) -> None:
        """The client begins to decrypt: which connections has it still open?"""
        if not self._decrypting:
            self._decrypting, self._left = True, sum(tap.left() for tap in taps)

    def transcript(self, *connections: int) -> tuple[Any, ...]:
        """All of it, with the connections made, and those that were open during decryption."""
        return (*self.events, ("connections", *connections), ("open during decryption", self._left))

    def message(self, data: bytes) -> Any:
        """Return the part of a message that is compared: its hash, or its size."""
        for name in self.blanks:
            data = data.replace(name, b"-" * len(name))
        return hashlib.sha256(data).hexdigest()[:12] if len(data) <= _COMPARED else len(data)


class Tap:
    """Passes bytes on between clients and a server, and knows which connections clients hold open."""

    def __init__(self, port: int) -> None:
        self._upstream, self._changed = port, threading.Condition()
        self._open = self.opened = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def close(self) -> None:
        self._socket.close()

    def left(self) -> int:
        """Connections that are still open after a while in which closed ones have surely ended."""
        with self._changed:
            self._changed.wait_for(lambda: not self._open, PATIENCE)
            return self._open

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            with self._changed:
                self._open += 1
                self.opened += 1
            server = socket.create_connection(("127.0.0.1", self._upstream))
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._pass, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, False), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, of_client: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
        if of_client:
            with self._changed:
                self._open -= 1
                self._changed.notify_all()
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)
        if of_client:
            with contextlib.suppress(OSError):
                source.shutdown(socket.SHUT_RDWR)


class _Handler(grpc.GenericRpcHandler):  # type: ignore[misc]
    def __init__(self, seen: Callable[[], Seen], answer: Answer) -> None:
        self._seen, self._answer = seen, answer

    def service(self, details: Any) -> Any:
        name = details.method.rsplit("/")[-1]

        def serve(requests: Iterator[bytes], context: Any) -> Iterator[bytes]:
            messages = list(requests)
            seen = self._seen()
            seen(name, *map(seen.message, messages))
            try:
                for message in self._answer(name, messages):
                    yield message.SerializeToString()
            except RefusedError as e:
                context.set_trailing_metadata(((ERROR_KEY, str(e)),))
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, "no")

        return grpc.stream_stream_rpc_method_handler(serve, None, None)


@contextlib.contextmanager
def speaking_grpc(seen: Callable[[], Seen], answer: Answer) -> Iterator[Tap]:
    """A server whose every call is answered by a function of the method's name and the client's messages."""
    with ThreadPoolExecutor(4) as pool:
        server = grpc.server(pool, [_Handler(seen, answer)])
        tap = Tap(server.add_insecure_port("127.0.0.1:0"))
        server.start()
        try:
            yield tap
        finally:
            tap.close()
            server.stop(0).wait()


@contextlib.contextmanager
def speaking_http(
    seen: Callable[[], Seen], answer: Callable[[str, bytes], tuple[bytes, dict[str, str]]]
) -> Iterator[Tap]:
    """The same for HTTP: the answer's body and headers, by method and path, and the request's body."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            seen()(self.command, self.path, seen().message(body))
            try:
                data, headers = answer(f"{self.command} {self.path}", body)
                code = 200
            except RefusedError as e:
                data, headers, code = f"{e}: no".encode(), {}, 400
            self.send_response(code)
            for name, value in {**headers, "Content-Length": str(len(data)), "Connection": "close"}.items():
                self.send_header(name, value)
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(data)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    tap = Tap(httpd.server_address[1])
    try:
        yield tap
    finally:
        tap.close()
        httpd.shutdown()
        httpd.server_close()
