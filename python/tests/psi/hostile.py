# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""An HTTP/2 client that does what gRPC's own would not: streams without a body, windows of zero, silence."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from typing import Any

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings

from ringforge.psi import wire
from ringforge.serving import access


def framed(message: Any) -> bytes:
    """A message as gRPC has it in a stream."""
    data = bytes(message.SerializeToString())
    return b"\0" + len(data).to_bytes(4, "big") + data


class Hostile:
    """One connection.

    statuses: of streams that the server has ended with one (gRPC's number). resets: of streams it has reset (HTTP/2's
    error code). refused: streams beyond what it allows at a time.
    """

    def __init__(self, port: int, *, token: str = "", window: int = 65535) -> None:
        self.token, self.window = token, window
        self._socket = socket.create_connection(("127.0.0.1", port))
        config = h2.config.H2Configuration(client_side=True, header_encoding="utf-8")
        self._h2 = h2.connection.H2Connection(config)
        self._h2.local_settings = h2.settings.Settings(
            client=True, initial_values={h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window}
        )
        self._h2.initiate_connection()
        self._h2.increment_flow_control_window((1 << 31) - 1 - 65535)  # of the connection: streams have their own
        self._flush()
        self.statuses: dict[int, int] = {}
        self.resets: dict[int, int] = {}
        self.received: dict[int, bytes] = {}
        self.closed = False

    def _flush(self) -> None:
        self._socket.sendall(self._h2.data_to_send())

    def open(self, method: str, *more: tuple[str, str], service: str = wire.SERVICE) -> int:
        """Begins a call: headers, and no body. Takes no notice of how many the server allows."""
        number = self._h2.get_next_available_stream_id()
        headers = [
            (":method", "POST"),
            (":scheme", "http"),
            (":path", f"/{service}/{method}"),
            (":authority", "127.0.0.1"),
            ("te", "trailers"),
            ("content-type", "application/grpc"),
            *more,
        ]
        if self.token:
            headers.append((access.AUTHORIZATION, f"Bearer {self.token}"))
        self._h2.remote_settings.max_concurrent_streams = 1 << 30
        self._h2.send_headers(number, headers)
        self._flush()
        return number

    def end(self, stream: int) -> None:
        """Says that no more comes."""
        self._h2.end_stream(stream)
        self._flush()

    def send(self, stream: int, data: bytes, seconds: float = 30) -> None:
        """Sends a body as the server's window allows; leaves the call open."""
        until = time.monotonic() + seconds
        while data:
            size = min(len(data), self._h2.local_flow_control_window(stream), self._h2.max_outbound_frame_size)
            if size:
                self._h2.send_data(stream, data[:size])
                self._flush()
                data = data[size:]
            else:
                assert time.monotonic() < until, "the server does not read"
                self.take(0.05)

    def take(self, seconds: float) -> list[Any]:
        """What the server sends in this time. Windows are never widened."""
        found: list[Any] = []
        until = time.monotonic() + seconds
        while not self.closed and (left := until - time.monotonic()) > 0:
            self._socket.settimeout(left)
            try:
                data = self._socket.recv(1 << 16)
            except TimeoutError:
                break
            except OSError:
                data = b""
            if not data:
                self.closed = True
                break
            try:
                events = self._h2.receive_data(data)
            except h2.exceptions.ProtocolError:
                self.closed = True
                break
            found += events
            for event in events:
                if isinstance(event, h2.events.ResponseReceived | h2.events.TrailersReceived):
                    status = dict(event.headers or ()).get("grpc-status")
                    if status is not None:
                        self.statuses[int(event.stream_id or 0)] = int(status)
                elif isinstance(event, h2.events.StreamReset):
                    self.resets[int(event.stream_id or 0)] = int(event.error_code or 0)
                elif isinstance(event, h2.events.DataReceived):
                    self.received[event.stream_id] = self.received.get(event.stream_id, b"") + event.data
                elif isinstance(event, h2.events.ConnectionTerminated):
                    self.closed = True
            try:
                self._flush()
            except OSError:
                self.closed = True
        return found

    def until_ended(self, streams: Sequence[int], seconds: float = 30) -> None:
        """Waits until the server has ended these streams, in whatever way."""
        until = time.monotonic() + seconds
        while not self.closed and any(s not in self.statuses and s not in self.resets for s in streams):
            assert time.monotonic() < until, "the server leaves streams open"
            self.take(0.1)

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Hostile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
