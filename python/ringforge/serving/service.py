# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What the services of all systems are made of: methods behind a door.

A client that goes away, that neither sends nor takes what it should, or whose deadline passes, ends its call.
`calls.Door` lets clients in.
"""

from __future__ import annotations

import abc
import hashlib
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

import grpc

from ringforge.errors import FormatError
from ringforge.serving import framing
from ringforge.serving.access import Tokens
from ringforge.serving.calls import Call, Door, Log, Names
from ringforge.serving.limits import Limits
from ringforge.serving.sessions import BusyError
from ringforge.serving.work import Threads, Work

#: What answers a method: takes its messages, gives replies.
Handler = Callable[[Iterator[Any], Call], Iterator[Any]]


class Service(abc.ABC):
    """Handlers for the methods of one service.

    Args:
        name: of the service, as in its .proto file. methods: of `framing.Method`, by name.
        limits: what is taken on at a time.
        names: gives clients their names.
        tokens: of the clients that are served; None serves all, and tells them apart by address.
        log: for events.
    """

    def __init__(
        self,
        name: str,
        methods: Mapping[str, framing.Method],
        limits: Limits,
        names: Names,
        tokens: Tokens | None = None,
        log: Log | None = None,
    ) -> None:
        self._name, self._methods, self.limits = name, methods, limits
        self._log = log or Log(None)
        self._door = Door(limits, names, tokens, self._log)
        self._threads = Threads()

    @abc.abstractmethod
    def _handlers(self) -> dict[str, Handler]:
        """What answers each method."""

    def handlers(self) -> grpc.GenericRpcHandler:
        """The methods, for `grpc.Server.add_generic_rpc_handlers`."""
        of = self._handlers()
        made = {}
        for name, (request, *_) in self._methods.items():
            # To gRPC all are streams, whatever they are to clients: for others it would wait for the first message
            # before this service has seen who sends it.
            made[name] = grpc.stream_stream_rpc_method_handler(
                self._call(name, of[name]), request_deserializer=framing.parser(request), response_serializer=_serialize
            )
        return grpc.method_handlers_generic_handler(self._name, made)

    def _call(self, name: str, handler: Handler) -> Callable[[Any, Any], Iterator[Any]]:
        def call(requests: Any, context: Any) -> Iterator[Any]:
            with self._door.entering(name, context) as entered:
                for message in handler(entered.receive(requests), entered):
                    with entered.within(self.limits.stall_seconds):
                        yield message

        return call

    def reload(self) -> None:  # noqa: B027, for services that have nothing to reload
        """Takes up what has changed on disk; SIGHUP asks for it."""

    def housekeeping(self) -> None:
        """To be called now and then: forgets what is idle."""
        self._door.refusals.flush()

    def stopping(self, grace_seconds: float) -> None:  # noqa: B027, for services whose work is all in calls
        """The service is told to stop, or to hurry: what need not be begun is not begun."""

    def finish(self, seconds: float) -> bool:
        """Waits for computations, which end by themselves once their calls are over; returns whether they have."""
        return self._threads.join(seconds)

    def close(self) -> None:
        """Lets go of what is held; to be called when no call can come any more."""
        self._door.refusals.flush(now=True)


def only(requests: Iterator[Any], what: str) -> Any:
    """The message of a call that has one.

    Raises:
        FormatError: there is none.
    """
    first = next(requests, None)
    if first is None or isinstance(first, framing.Malformed):
        raise FormatError(f"the message is no {what}")
    return first


def header(requests: Iterator[Any], what: str, holds: str) -> Any:
    """The header that a stream of `what` begins with; it holds this.

    Raises:
        FormatError: it begins with something else.
    """
    first = next(requests, None)
    if first is None or first.WhichOneof("part") != "header":
        raise FormatError(f"{what}: the first message is no header: send {holds} first")
    return first.header


def receive(requests: Iterator[Any], path: Path, size: int, sha256: str, what: str, server: str) -> None:
    """Writes the chunks of a body to a new file, as they come.

    Args:
        size, sha256: as announced, the latter in hexadecimal. server: what messages call the service.

    Raises:
        FormatError: it is not what was announced. BusyError: there is no room.
    """
    checksum = hashlib.sha256()
    try:
        with path.open("xb") as f:
            for chunk in framing.pieces(requests, size, what):
                f.write(chunk)
                checksum.update(chunk)
    except OSError as e:
        raise BusyError(f"{server} cannot write ({e.strerror}): tell its operator, try again later") from None
    if checksum.hexdigest() != sha256:
        raise FormatError(f"{what}: its SHA-256 is not the one announced: it was changed on its way; send it again")


def working(work: Work, sign: Any) -> Generator[Any, None, Any]:
    """Sends a sign now and then while something is computed; returns what was computed."""
    while not work.done:
        if work.step(framing.BEAT_SECONDS) is None and not work.done:
            yield sign
    return work.result()


def _serialize(message: Any) -> bytes:
    return bytes(message.SerializeToString())
