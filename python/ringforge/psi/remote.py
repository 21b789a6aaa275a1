# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The client of private set intersection, over gRPC.

`Connection` has the methods of the service, and counts bytes; `intersect` does a whole run. A server's answers are
foreign input: sizes are held against the plan, and refusals are printed without control characters. Nothing is tried
twice, and nothing the client learns goes back to the server: not even whether a reply could be decrypted.
"""

from __future__ import annotations

import contextlib
import functools
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from ringforge import errors
from ringforge.errors import Error, FormatError, ParameterError
from ringforge.psi import wire
from ringforge.psi.access import bearer, client_credentials, require_cover, split_address
from ringforge.psi.client import Client, Element, Result
from ringforge.psi.diagnose import why_not
from ringforge.psi.info import MAX_INFO, TableInfo
from ringforge.psi.proto import psi_pb2 as pb
from ringforge.psi.quota import QuotaError, QuotaFileError
from ringforge.psi.sessions import BusyError

#: Trailing metadata that names the kind of a refusal.
ERROR_KEY = "ringforge-error"

#: Characters of a server's message that are shown.
_MESSAGE = 600

#: What closing a session may take: it is a courtesy.
_CLOSE_SECONDS = 5.0

#: Seconds without a sign of the server after which it is given up, unless told otherwise.
STALL_SECONDS = 60.0

_MAX_SECONDS = 1e7

#: Told the name of a step, and the fraction done; during a query also how many others come first.
Report = Callable[[str, float, int], None]


@dataclass
class Traffic:
    """Bytes of messages by what they were for; gRPC's and TLS's own framing is not in them.

    Kinds: info, prf, keys, requests; what answers a kind counts as received under it. Progress is in requests.
    """

    sent: dict[str, int] = field(default_factory=dict)
    received: dict[str, int] = field(default_factory=dict)

    def total(self) -> tuple[int, int]:
        """Bytes sent and received."""
        return sum(self.sent.values()), sum(self.received.values())


class Connection:
    """A server, reached over TCP.

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
        options = [*wire.OPTIONS, ("grpc.enable_retries", 0), ("grpc.enable_http_proxy", 0)]
        self._channel = (
            grpc.insecure_channel(address, options)
            if ca is None
            else grpc.secure_channel(address, client_credentials(Path(ca)), options)
        )
        self._methods = {}
        for name, (request, reply, client_streams, server_streams) in wire.METHODS.items():
            kind = ("stream" if client_streams else "unary") + "_" + ("stream" if server_streams else "unary")
            make = getattr(self._channel, kind)
            path = f"/{wire.SERVICE}/{name}"
            self._methods[name] = make(path, self._counted(name, request), self._parsed(name, reply))

    def close(self) -> None:
        """Ends the connection."""
        self._channel.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- the service's methods ---------------------------------------------------------------------

    def info(self) -> tuple[TableInfo, dict[str, int]]:
        """What the server says of its table, and what is left of today's quota: "prf", "bins".

        Raises:
            FormatError: no such description. Error: see `intersect`.
        """
        with self._refusals(), self._call("Info", pb.InfoRequest()) as replies:
            header = self._header(replies)
            if header.total_bytes > MAX_INFO:
                raise FormatError(
                    f"the server announces a description of {header.total_bytes} bytes; at most {MAX_INFO} are taken"
                )
            data = wire.assemble(replies, header.total_bytes, "the table's description")
        return TableInfo.from_json(data), {"prf": header.prf_left, "bins": header.bins_left}

    def evaluate_prf(
        self, table: bytes, blinded: Sequence[bytes], progress: Callable[[float], None] | None = None
    ) -> list[bytes]:
        """The pseudorandom function at blinded elements of 32 bytes, in batches."""
        found: list[bytes] = []
        for at in range(0, len(blinded), wire.PRF_BATCH):
            batch = blinded[at : at + wire.PRF_BATCH]
            asked = pb.PrfRequest(table=table, blinded=b"".join(batch))
            with self._refusals(), self._call("EvaluatePrf", asked) as replies:
                reply = self._answer(replies, pb.PrfReply())
            if isinstance(reply, wire.Malformed) or len(reply.evaluated) != len(batch) * wire.ELEMENT_BYTES:
                raise FormatError(f"the server's answer to {len(batch)} blinded elements has the wrong size")
            data = reply.evaluated
            found += [data[i : i + wire.ELEMENT_BYTES] for i in range(0, len(data), wire.ELEMENT_BYTES)]
            if progress:
                progress(len(found) / len(blinded))
        return found

    def open_session(self, table: bytes, keys: bytes, progress: Callable[[float], None] | None = None) -> bytes:
        """Deposits evaluation keys; returns the session's name."""
        header = pb.OpenHeader(table=table, total_bytes=len(keys))

        def messages() -> Iterator[Any]:
            yield pb.OpenRequest(header=header)
            for i, chunk in enumerate(wire.chunks(keys), 1):
                yield pb.OpenRequest(chunk=chunk)
                if progress:
                    progress(min(1.0, i * wire.CHUNK / len(keys)))

        with self._refusals(), self._call("OpenSession", messages()) as replies:
            reply = self._answer(replies, pb.OpenReply())
        if isinstance(reply, wire.Malformed) or len(reply.session) != wire.SESSION_BYTES:
            raise FormatError("the server's answer to the evaluation keys names no session")
        return bytes(reply.session)

    def query(
        self,
        table: bytes,
        session: bytes,
        request: bytes,
        reply_bytes: int,
        progress: Callable[[float, int], None] | None = None,
    ) -> bytes:
        """Sends a request and takes the reply, which must have `reply_bytes`."""
        header = pb.QueryHeader(table=table, session=session, total_bytes=len(request))

        def messages() -> Iterator[Any]:
            yield pb.QueryRequest(header=header)
            for chunk in wire.chunks(request):
                yield pb.QueryRequest(chunk=chunk)

        with self._refusals(), self._call("Query", messages()) as replies:
            first = next(replies, None)
            while first is not None and first.WhichOneof("part") == "progress":
                step = first.progress
                if progress:
                    progress(min(1.0, step.done / max(1, step.steps)), step.waiting)
                first = next(replies, None)
            if first is None or first.WhichOneof("part") != "header" or first.header.total_bytes != reply_bytes:
                raise FormatError(f"the server announces no reply of {reply_bytes} bytes, which the table's plan has")
            return wire.assemble(replies, reply_bytes, "the reply")

    def close_session(self, session: bytes) -> None:
        """Lets the server forget the keys. Errors do not matter: it forgets them anyway, later."""
        with contextlib.suppress(grpc.RpcError):
            self._methods["CloseSession"](
                pb.CloseRequest(session=session), timeout=_CLOSE_SECONDS, metadata=self._metadata
            )

    # ---- underneath --------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _call(self, name: str, request: Any) -> Iterator[Iterator[Any]]:
        """A call with a stream of replies, ended with the block. `request` is a message, or an iterator of them."""
        watch = _Watch(self._stall)
        if isinstance(request, Iterator):
            request = watch.noting(request)
        call = self._methods[name](request, timeout=self._left(), metadata=self._metadata)
        watch.start(call.cancel)
        try:
            yield watch.watching(call)
        except grpc.RpcError:
            if watch.stalled:
                raise Error(
                    f"nothing has moved between {self.address} and here for {self._stall:g} seconds: the server or the "
                    "network is stuck or overloaded; nothing was learned; run again, or wait longer with --stall"
                ) from None
            raise
        finally:
            watch.end()
            call.cancel()

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
            "`ringforge psi estimate` says what a query takes"
        )

    def _counted(self, name: str, kind: type[Any]) -> Callable[[Any], bytes]:
        del kind
        label = _KINDS[name]

        def serialize(message: Any) -> bytes:
            data = bytes(message.SerializeToString())
            self.traffic.sent[label] = self.traffic.sent.get(label, 0) + len(data)
            return data

        return serialize

    def _parsed(self, name: str, kind: type[Any]) -> Callable[[bytes], Any]:
        parse, label = wire.parser(kind), _KINDS[name]

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
            return Error(f"{self.address} is no server of private set intersection, or one of another version: {text}")
        if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
            return BusyError(f"{self.address} takes no more: {text}: try again later")
        if code is grpc.StatusCode.CANCELLED:
            return Error(
                f"{self.address} ended the call ({text}): it is stopping, or waited too long for data; run again"
            )
        return Error(f"{self.address} failed ({code.name}: {text}): try again, or ask its operator")

    def _unavailable(self, text: str) -> str:
        if not self._heard:
            return why_not(self.address, self._ca, text)
        return (
            f"the connection to {self.address} broke: the server has ended, or the network failed; nothing was "
            f"learned; run again ({text})"
        )


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

        threading.Thread(target=run, name="psi stall", daemon=True).start()

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


#: Under which kind of traffic a method's bytes are counted.
_KINDS = {
    "Info": "info",
    "EvaluatePrf": "prf",
    "OpenSession": "keys",
    "Query": "requests",
    "CloseSession": "info",
}

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


@dataclass(frozen=True)
class Outcome:
    """A run: what was found, of which table, with how many bytes and seconds by step."""

    result: Result
    info: TableInfo
    traffic: Traffic
    seconds: dict[str, float]


def require_secure(info: TableInfo, accept_insecure: str) -> None:
    """Refuses a plan below 128 bits, which the server has chosen, unless this side gives a reason.

    Raises:
        ParameterError: it gives none.
    """
    if info.plan.insecure and not accept_insecure:
        raise ParameterError(
            f"the server's table uses parameters below 128 bits ({clean(info.plan.insecure)}): ask for another table, "
            'or go on with accept_insecure="..." and a reason'
        )


def intersect(
    connection: Connection,
    elements: Iterable[Element],
    *,
    threads: int = 1,
    accept_insecure: str = "",
    report: Report | None = None,
    known: tuple[TableInfo, dict[str, int]] | None = None,
) -> Outcome:
    """A whole run with fresh keys.

    Args:
        connection: to the server.
        elements: this client's set, as for `Client`.
        threads: for this side's work.
        accept_insecure: reason to use a plan below 128 bits.
        report: told what is going on.
        known: what `Connection.info` said, if it was asked already.

    Raises:
        Error: the server cannot be reached, refuses, breaks off, or is late. QuotaError, BusyError: it refuses for
        now. FormatError: it answers what it must not. ParameterError: its plan is insecure.
    """

    def say(step: str, done: float, waiting: int) -> None:
        if report:
            report(step, done, waiting)

    seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def step(name: str) -> Iterator[Callable[[float], None]]:
        start = time.perf_counter()
        say(name, 0.0, 0)
        yield lambda done: say(name, done, 0)
        seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - start

    with step("table info"):
        info, left = known or connection.info()
        require_secure(info, accept_insecure)
        plan = info.native()
    table = bytes.fromhex(info.digest())
    client = Client(info, elements, threads=threads)
    with step("blind"):
        blinded = client.blinded()
    if info.mode == "oprf":
        _enough("prf", len(blinded), left, "evaluations of the pseudorandom function")
        with step("evaluate PRF") as progress:
            evaluated = connection.evaluate_prf(table, blinded, progress)
        with step("place"):
            client.finish_prf(evaluated)
    _enough("bins", client.queries * plan.bins, left, f"bins ({client.queries} queries)")
    with step("make keys"):
        keys = client.keys()
    with step("send keys") as progress:
        session = connection.open_session(table, keys, progress)
    del keys
    try:
        number = 0
        while True:
            with step("encrypt"):
                request = client.next_request()
            if request is None:
                break
            number += 1
            name = "query" if client.queries == 1 else f"query {number} of {client.queries}"
            start = time.perf_counter()
            reply = connection.query(table, session, request, plan.reply_bytes, functools.partial(say, name))
            seconds["query"] = seconds.get("query", 0.0) + time.perf_counter() - start
            with step("decrypt"):
                client.accept(reply)
    finally:
        connection.close_session(session)
    return Outcome(client.result(), info, connection.traffic, seconds)


def _enough(kind: str, need: int, left: dict[str, int], what: str) -> None:
    if need > left[kind]:
        raise QuotaError(
            f"{need} {what} are needed, the server's daily quota leaves this client {left[kind]}: ask for fewer "
            "elements, wait until midnight UTC, or agree on a larger quota with the server's operator"
        )
