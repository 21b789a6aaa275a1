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
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import grpc

from ringforge.errors import FormatError, ParameterError
from ringforge.psi import wire
from ringforge.psi.client import REQUEST_BYTES, Client, Element, Result
from ringforge.psi.info import MAX_INFO, Mode, TableInfo
from ringforge.psi.proto import psi_pb2 as pb
from ringforge.serving import framing, remote
from ringforge.serving.quota import QuotaError
from ringforge.serving.remote import Traffic, Words, clean
from ringforge.serving.sessions import SESSION_BYTES

#: What closing a session may take: it is a courtesy.
_CLOSE_SECONDS = 5.0

#: Told the name of a step, and the fraction done; during a query also how many others come first.
Report = Callable[[str, float, int], None]


class Connection(remote.Connection):
    """A server of private set intersection. Signs of progress count as traffic of requests."""

    service, methods = wire.SERVICE, wire.METHODS
    kinds: ClassVar = {
        "Info": "info",
        "EvaluatePrf": "prf",
        "OpenSession": "keys",
        "Query": "requests",
        "CloseSession": "info",
    }
    words = Words(
        server="server of private set intersection",
        program="psi serve",
        unfinished="nothing was learned; run again",
        duration="`ringforge psi estimate` says what a query takes",
    )

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
            data = framing.assemble(replies, header.total_bytes, "the table's description")
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
            if isinstance(reply, framing.Malformed) or len(reply.evaluated) != len(batch) * wire.ELEMENT_BYTES:
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
            for i, chunk in enumerate(framing.chunks(keys), 1):
                yield pb.OpenRequest(chunk=chunk)
                if progress:
                    progress(min(1.0, i * framing.CHUNK / len(keys)))

        with self._refusals(), self._call("OpenSession", messages()) as replies:
            reply = self._answer(replies, pb.OpenReply())
        if isinstance(reply, framing.Malformed) or len(reply.session) != SESSION_BYTES:
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
            for chunk in framing.chunks(request):
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
            return framing.assemble(replies, reply_bytes, "the reply")

    def close_session(self, session: bytes) -> None:
        """Lets the server forget the keys. Errors do not matter: it forgets them anyway, later."""
        with contextlib.suppress(grpc.RpcError):
            self._methods["CloseSession"](
                pb.CloseRequest(session=session), timeout=_CLOSE_SECONDS, metadata=self._metadata
            )


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
    mode: Mode | None = None,
    request_bytes: int = REQUEST_BYTES,
    exact_sizes: bool = False,
    report: Report | None = None,
    known: tuple[TableInfo, dict[str, int]] | None = None,
) -> Outcome:
    """A whole run with fresh keys. Replies are decrypted after the session is closed.

    Args:
        connection: to the server.
        elements: this client's set, as for `Client`.
        threads: for this side's work.
        accept_insecure: reason to use a plan below 128 bits.
        mode, request_bytes, exact_sizes: as for `Client`.
        report: told what is going on.
        known: what `Connection.info` said, if it was asked already.

    Raises:
        Error: the server cannot be reached, refuses, breaks off, or is late. QuotaError, BusyError: it refuses for
        now. FormatError: it answers what it must not. ParameterError: its plan is insecure, or one that the client
        does not ask (`client.check_table`).
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
    client = Client(info, elements, threads=threads, mode=mode, request_bytes=request_bytes, exact_sizes=exact_sizes)
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
            client.accept(reply)
    finally:
        connection.close_session(session)
    with step("decrypt"):
        result = client.result()
    return Outcome(result, info, connection.traffic, seconds)


def _enough(kind: str, need: int, left: dict[str, int], what: str) -> None:
    if need > left[kind]:
        raise QuotaError(
            f"{need} {what} are needed, the server's daily quota leaves this client {left[kind]}: ask for fewer "
            "elements, wait until midnight UTC, or agree on a larger quota with the server's operator"
        )
