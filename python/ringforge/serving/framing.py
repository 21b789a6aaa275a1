# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""How messages of a service are cut, and what both ends agree on.

Bodies larger than a message travel as a header with their exact size, then chunks of `CHUNK` bytes, the last one
shorter. Whoever receives one knows its size beforehand.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from google.protobuf.message import DecodeError, Message

from ringforge.errors import FormatError

#: Bytes in a chunk, and the largest message either end takes.
CHUNK = 1 << 20
MAX_MESSAGE = 2 << 20

#: Signs of progress within one computation: always as many, so that their number says nothing.
STEPS = 32

#: Seconds after which a server that works says so again. Clients take its silence for much longer as a stall.
BEAT_SECONDS = 5.0

#: A method: request, reply, whether requests and replies are streams.
Method = tuple[type[Message], type[Message], bool, bool]

#: Channel options of both ends. Pings find a peer that has vanished without a word.
OPTIONS: list[tuple[str, int]] = [
    ("grpc.max_receive_message_length", MAX_MESSAGE),
    ("grpc.max_send_message_length", MAX_MESSAGE),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.keepalive_permit_without_calls", 0),
    ("grpc.http2.max_pings_without_data", 0),
]


class Malformed:
    """Stands for bytes that are no message."""

    def WhichOneof(self, _: str) -> None:  # noqa: N802, as messages have it
        """No part."""


def parser(kind: type[Message]) -> Callable[[bytes], Message | Malformed]:
    """Reads a message of this kind. Bytes that are none are not gRPC's to refuse, but the handler's, in plain words."""

    def parse(data: bytes) -> Message | Malformed:
        message = kind()
        try:
            message.ParseFromString(data)
        except DecodeError:
            return Malformed()
        return message

    return parse


def chunks(body: bytes) -> Iterator[bytes]:
    """The body in pieces, without copying it as a whole."""
    view = memoryview(body)
    for at in range(0, len(view), CHUNK):
        yield bytes(view[at : at + CHUNK])


def pieces(parts: Iterable[Any], expected: int, what: str) -> Iterator[bytes]:
    """The chunks of a body; `parts` are messages with a part "chunk".

    Raises:
        FormatError: something else than chunks comes, one of wrong size, or not exactly `expected` bytes in all.
    """
    at = 0
    for message in parts:
        if message.WhichOneof("part") != "chunk":
            raise FormatError(f"{what}: a message is no chunk: send a header first, then chunks only")
        size = len(message.chunk)
        if size != min(CHUNK, expected - at) or not size:
            raise FormatError(
                f"{what}: a chunk of {size} bytes at byte {at} of {expected}: chunks have {CHUNK} bytes, the last one "
                "the rest"
            )
        yield message.chunk
        at += size
    if at != expected:
        raise FormatError(
            f"{what}: {at} bytes came, {expected} are needed: the sender ended early, it was cut off; send all of it"
        )


def assemble(parts: Iterable[Any], expected: int, what: str) -> bytes:
    """Puts chunks together. Arguments and errors are those of `pieces`."""
    body = io.BytesIO()  # gives its bytes away without a copy
    for chunk in pieces(parts, expected, what):
        body.write(chunk)
    return body.getvalue()
