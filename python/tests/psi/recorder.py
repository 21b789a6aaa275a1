# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Stands between client and server, passes everything on, and keeps it; finds the messages of gRPC in it (RFC 9113)."""

from __future__ import annotations

import selectors
import socket
import threading
from dataclasses import dataclass, field

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


@dataclass
class Messages:
    """Reads one direction of an HTTP/2 connection: data frames, and in them messages with a length before each."""

    preface: bool
    pending: bytearray = field(default_factory=bytearray)
    streams: dict[int, bytearray] = field(default_factory=dict)

    def take(self, data: bytes) -> list[tuple[int, int]]:
        """Takes what has come; returns stream and size of the messages that are complete now."""
        self.pending += data
        if self.preface:
            if len(self.pending) < len(PREFACE):
                return []
            assert self.pending.startswith(PREFACE)
            del self.pending[: len(PREFACE)]
            self.preface = False
        found = []
        while len(self.pending) >= 9:
            length = int.from_bytes(self.pending[:3], "big")
            if len(self.pending) < 9 + length:
                break
            kind, flags = self.pending[3], self.pending[4]
            stream = int.from_bytes(self.pending[5:9], "big") & 0x7FFFFFFF
            payload = bytes(self.pending[9 : 9 + length])
            del self.pending[: 9 + length]
            if kind != 0:
                continue
            assert not flags & 8, "no padding is expected"
            body = self.streams.setdefault(stream, bytearray())
            body += payload
            while len(body) >= 5:
                size = int.from_bytes(body[1:5], "big")
                if len(body) < 5 + size:
                    break
                assert body[0] == 0, "no compression is expected"
                found.append((stream, size))
                del body[: 5 + size]
        return found


class Recorder:
    """A port that leads to a server's.

    sent, received: all bytes from and to the client. messages: (direction, stream, size) in the order of their ends;
    with `parse` only, since TLS hides them.
    """

    def __init__(self, port: int, *, parse: bool = True) -> None:
        self._target, self._parse = port, parse
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        self.sent, self.received = bytearray(), bytearray()
        self.messages: list[tuple[str, int, int]] = []
        self._wake, self._end = socket.socketpair()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with selectors.DefaultSelector() as ready:
            ready.register(self._listener, selectors.EVENT_READ, None)
            ready.register(self._end, selectors.EVENT_READ, None)
            while True:
                for key, _ in ready.select():
                    if key.fileobj is self._end:
                        return
                    if key.fileobj is self._listener:
                        client, _ = self._listener.accept()
                        server = socket.create_connection(("127.0.0.1", self._target))
                        ready.register(client, selectors.EVENT_READ, (server, "sent", Messages(True)))
                        ready.register(server, selectors.EVENT_READ, (client, "received", Messages(False)))
                        continue
                    source = key.fileobj
                    assert isinstance(source, socket.socket)
                    target, direction, reader = key.data
                    try:
                        data = source.recv(1 << 16)
                        if data:
                            target.sendall(data)
                        else:
                            target.shutdown(socket.SHUT_WR)
                    except OSError:
                        data = b""
                    if not data:
                        ready.unregister(source)
                        continue
                    getattr(self, direction).extend(data)
                    if self._parse:
                        self.messages += [(direction, *m) for m in reader.take(data)]

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self._wake.send(b"x")
        self._thread.join()
        self._listener.close()
