# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A connection to a service, over gRPC: calls that are counted, watched, and refused in plain words.

A server's answers are foreign input: refusals are printed without control characters. Nothing is tried twice.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import grpc

from ringforge import errors
from ringforge.errors import Error, FormatError, ParameterError
from ringforge.secrecy import RawSecret
from ringforge.serving import framing
from ringforge.serving.access import bearer, client_credentials, require_cover, split_address
from ringforge.serving.calls import ERROR_KEY
from ringforge.serving.diagnose import why_not
from ringforge.serving.jobs import Progress
from ringforge.serving.quota import QuotaError, QuotaFileError
from ringforge.serving.sessions import BusyError

#: Characters of a server's message that are shown.
_MESSAGE = 600

#: Seconds without a sign of the server after which it is given up, unless told otherwise.
STALL_SECONDS = 60.0

_MAX_SECONDS = 1e7


@dataclass
class Traffic:
    """Bytes of messages by what they were for; gRPC's and TLS's own framing is not in them.

    What answers a kind counts as received under it.
    """

    sent: dict[str, int] = field(default_factory=dict)
    received: dict[str, int] = field(default_factory=dict)

    def total(self) -> tuple[int, int]:
        """Bytes sent and received."""
        return sum(self.sent.values()), sum(self.received.values())


@dataclass(frozen=True)
class Words:
    """What errors say of a service.

    server: "server of ...". program: the command that serves. unfinished: what becomes of a call that breaks off.
    duration: where to read how long calls take.
    """

    server: str
    program: str
    unfinished: str
    duration: str


class Peer(RawSecret):
    """A server, as a client knows it: where it is, how long to wait for it, what was sent, what its refusals mean.

    Args:
        address: HOST:PORT.
        ca: PEM file of the authority that signed the server's certificate; None connects without TLS.
        token: what the server knows this client by.
        timeout: seconds that everything done here may take in all; None waits for as long as it takes.
        stall: seconds without a sign of the server, or anything sent, after which it is given up. A server that
        computes gives one every few seconds, also to those who wait for their turn.
        plaintext: allows other machines without TLS.

    Raises:
        ParameterError: the address is none; another machine without TLS; a time of 0 or less, or above 10^7 seconds.
    """

    saved_by = "make a new connection"

    #: The service's name, its methods, under which kind of traffic the bytes of each are counted, and its words.
    service: ClassVar[str]
    methods: ClassVar[Mapping[str, framing.Method]]
    kinds: ClassVar[Mapping[str, str]]
    words: ClassVar[Words]

    def __init__(
        self,
        address: str,
        *,
        ca: str | Path | None = None,
        token: str | None = None,
        timeout: float | None = None,
        stall: float = STALL_SECONDS,
        plaintext: bool = False,
    ) -> None:
        host, port = split_address(address)
        require_cover(host, ca is not None, plaintext, "--tls-ca")
        if port == 0:
            raise ParameterError(f"{address}: nobody listens at port 0; the server prints its port when it starts")
        for what, seconds in (("timeout", timeout), ("stall", stall)):
            if seconds is not None and not 0 < seconds <= _MAX_SECONDS:
                raise ParameterError(
                    f"a {what} of {seconds} seconds: more than 0 and at most {_MAX_SECONDS:.0f} are possible"
                )
        self.address, self.tls, self.traffic = address, ca is not None, Traffic()
        self._ca, self._timeout, self._stall, self._heard = ca, timeout, stall, False
        self._deadline = None if timeout is None else time.monotonic() + timeout
        self._metadata = bearer(token) if token else ()
        options = [*framing.OPTIONS, ("grpc.enable_retries", 0), ("grpc.enable_http_proxy", 0)]
        self._options, self._process = options, os.getpid()

    # ---- underneath --------------------------------------------------------------------------------

    def _channel_of(self, library: Any) -> Any:
        """A channel of `grpc` or of `grpc.aio`."""
        if self._ca is None:
            return library.insecure_channel(self.address, options=self._options)
        return library.secure_channel(self.address, client_credentials(Path(self._ca)), options=self._options)

    def _calls_of(self, channel: Any) -> dict[str, Any]:
        """The methods of a channel."""
        found = {}
        for name, (_, reply, client_streams, server_streams) in self.methods.items():
            kind = ("stream" if client_streams else "unary") + "_" + ("stream" if server_streams else "unary")
            make = getattr(channel, kind)
            found[name] = make(
                f"/{self.service}/{name}",
                request_serializer=self._counted(name),
                response_deserializer=self._parsed(name, reply),
            )
        return found

    def _same_process(self) -> None:
        """Refuses to go on in a child of the process that has connected: both would talk on one line."""
        if os.getpid() != self._process:
            raise Error(
                f"this connection to {self.address} was made before the process was forked: make a new one in the child"
            )

    def _stalled(self) -> Error:
        return Error(
            f"nothing has moved between {self.address} and here for {self._stall:g} seconds: the server or the "
            f"network is stuck or overloaded; {self.words.unfinished}, or wait longer with --stall"
        )

    def _answer(self, replies: Iterator[Any], sign: Any) -> Any:
        """The reply, after signs that the server works."""
        found = None
        for reply in replies:
            if found is not None:
                raise FormatError("the server gives several answers in place of one: it may be another program")
            found = None if reply == sign else reply
        if found is None:
            raise FormatError("the server ended the call without an answer: it may be another program")
        return found

    def _header(self, replies: Iterator[Any]) -> Any:
        first = next(replies, None)
        if first is None or first.WhichOneof("part") != "header":
            raise FormatError("the server's answer does not begin as it should: it may be another program")
        return first.header

    def _left(self) -> float | None:
        if self._deadline is None:
            return None
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise self._late()
        return left

    def _late(self) -> Error:
        return Error(
            f"{self.address} has not done it within {self._timeout:g} seconds: give more with --timeout; "
            f"{self.words.duration}"
        )

    def _counted(self, name: str) -> Callable[[Any], bytes]:
        label = self.kinds[name]

        def serialize(message: Any) -> bytes:
            data = bytes(message.SerializeToString())
            self.traffic.sent[label] = self.traffic.sent.get(label, 0) + len(data)
            return data

        return serialize

    def _parsed(self, name: str, kind: type[Any]) -> Callable[[bytes], Any]:
        parse, label = framing.parser(kind), self.kinds[name]

        def deserialize(data: bytes) -> Any:
            self._heard = True
            self.traffic.received[label] = self.traffic.received.get(label, 0) + len(data)
            return parse(data)

        return deserialize

    @contextlib.contextmanager
    def _refusals(self) -> Iterator[None]:
        """Turns a status of gRPC into an error that says what to do."""
        try:
            yield
        except grpc.RpcError as e:
            raise self._error(e) from None

    def _error(self, e: Any) -> Error:
        code, text = e.code(), clean(e.details() or "")
        names = [str(v) for k, v in e.trailing_metadata() or () if k == ERROR_KEY]
        if code is grpc.StatusCode.DEADLINE_EXCEEDED and self._timeout is not None:
            return self._late()
        if code is grpc.StatusCode.UNAUTHENTICATED:
            return Error(f"{self.address} refused this client: {text}")
        if names:
            return _KNOWN.get(names[0], Error)(f"{self.address} refused: {text}")
        if code is grpc.StatusCode.UNAVAILABLE:
            return Error(self._unavailable(text))
        if code is grpc.StatusCode.UNIMPLEMENTED:
            return Error(f"{self.address} is no {self.words.server}, or one of another version: {text}")
        if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
            return BusyError(f"{self.address} takes no more: {text}: try again later")
        if code is grpc.StatusCode.CANCELLED:
            return Error(
                f"{self.address} ended the call ({text}): it is stopping, or waited too long for data; run again"
            )
        return Error(f"{self.address} failed ({code.name}: {text}): try again, or ask its operator")

    def _unavailable(self, text: str) -> str:
        if not self._heard:
            return why_not(self.address, self._ca, text, self.words.program)
        return (
            f"the connection to {self.address} broke: the server has ended, or the network failed; "
            f"{self.words.unfinished} ({text})"
        )


class Connection(Peer):
    """A server, reached over TCP; calls wait. Each service's own class has its methods. Arguments are `Peer`'s.

    Threads may share one; a process that was forked needs a new one.
    """

    def __init__(
        self,
        address: str,
        *,
        ca: str | Path | None = None,
        token: str | None = None,
        timeout: float | None = None,
        stall: float = STALL_SECONDS,
        plaintext: bool = False,
    ) -> None:
        super().__init__(address, ca=ca, token=token, timeout=timeout, stall=stall, plaintext=plaintext)
        self._channel = self._channel_of(grpc)
        self._methods = self._calls_of(self._channel)

    def close(self) -> None:
        """Ends the connection."""
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def _call(self, name: str, request: Any) -> Iterator[Iterator[Any]]:
        """A call with a stream of replies, ended with the block. `request` is a message, or an iterator of them."""
        self._same_process()
        watch = _Watch(self._stall)
        if isinstance(request, Iterator):
            request = watch.noting(request)
        call = self._methods[name](request, timeout=self._left(), metadata=self._metadata)
        watch.start(call.cancel)
        try:
            yield watch.watching(call)
        except grpc.RpcError:
            if watch.stalled:
                raise self._stalled() from None
            raise
        finally:
            watch.end()
            call.cancel()


class _Watch:
    """Ends a call on which nothing has moved for so many seconds."""

    def __init__(self, seconds: float) -> None:
        self.stalled = False
        self._seconds, self._since = seconds, math.inf  # not waiting
        self._over = threading.Event()

    def start(self, cancel: Callable[[], object]) -> None:
        """From now on."""

        def run() -> None:
            left = self._seconds
            while not self._over.wait(left):
                left = min(self._seconds, self._since + self._seconds - time.monotonic())
                if left <= 0:
                    self.stalled = True
                    cancel()
                    return

        threading.Thread(target=run, name="stall", daemon=True).start()

    def end(self) -> None:
        self._over.set()

    def watching(self, replies: Iterator[Any]) -> Iterator[Any]:
        """The server's messages; only the time in which one is awaited counts."""
        while True:
            self._since = time.monotonic()
            reply = next(replies, None)
            self._since = math.inf
            if reply is None:
                return
            yield reply

    def noting(self, requests: Iterator[Any]) -> Iterator[Any]:
        """This side's messages: that one is fetched says that the one before it has gone."""
        for request in requests:
            if self._since != math.inf:
                self._since = time.monotonic()
            yield request


_KNOWN: dict[str, type[Error]] = {
    **{name: getattr(errors, name) for name in errors.__all__},
    "QuotaError": QuotaError,
    "QuotaFileError": QuotaFileError,
    "BusyError": BusyError,
}


def clean(text: str) -> str:
    """A server's words for a terminal: printable characters only, and not too many."""
    line = "".join(c if c.isprintable() else " " for c in text)
    line = " ".join(line.split())
    return line if len(line) <= _MESSAGE else line[:_MESSAGE] + "..."


def watched(
    replies: Iterable[Any], job: str, service: str, again: str, report: Callable[[Progress], None] | None = None
) -> None:
    """Follows what a service tells of a job until it is done.

    Args:
        replies: messages that have `Progress`'s fields. job: its name.
        service: "the server". again: what to do with a job that was cancelled.

    Raises:
        Error: the job failed or was cancelled; the message says why. FormatError: an answer is none.
    """
    last = None
    for reply in replies:
        if isinstance(reply, framing.Malformed):
            raise FormatError(f"{service}'s sign of progress is none: it may be another program")
        last = Progress(
            clean(reply.state),
            reply.waiting,
            clean(reply.stage),
            reply.done,
            reply.steps,
            reply.permille / 1000,
            float(reply.seconds_left),
            (clean(reply.error), clean(reply.text)),
        )
        if report:
            report(last)
    if last is not None and last.state == "done":
        return
    if last is not None and last.state == "failed":
        kind = getattr(errors, last.error[0], Error) if last.error[0] in errors.__all__ else Error
        raise kind(f"{service} could not finish job {job[:12]}: {last.error[1]}")
    if last is not None and last.state == "cancelled":
        raise Error(f"job {job[:12]} was cancelled: {again}")
    raise Error(f"{service} stopped telling about job {job[:12]}: it is stopping; run again to go on")
