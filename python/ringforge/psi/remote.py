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
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

import grpc

from ringforge.errors import FormatError
from ringforge.psi import wire
from ringforge.psi.client import REQUEST_BYTES, Element
from ringforge.psi.info import MAX_INFO, AskedMode, TableInfo
from ringforge.psi.proto import psi_pb2 as pb
from ringforge.psi.runs import IncompleteError, Outcome, Report, Run, Step, Steps, require_secure
from ringforge.serving import framing, remote
from ringforge.serving.remote import Words
from ringforge.serving.sessions import SESSION_BYTES

__all__ = ["Connection", "IncompleteError", "Outcome", "Report", "Run", "drive", "intersect", "require_secure"]

#: What closing a session may take: it is a courtesy.
_CLOSE_SECONDS = 5.0


class Described(remote.Peer):
    """What connections of both kinds say of the service. Signs of progress count as traffic of requests."""

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
        unfinished="what was asked has no answer; run again",
        duration="`ringforge psi estimate` says what a query takes",
    )

    def _description(self, header: Any) -> int:
        """Bytes of the table's description."""
        if header.total_bytes > MAX_INFO:
            raise FormatError(
                f"the server announces a description of {header.total_bytes} bytes; at most {MAX_INFO} are taken: it "
                "is of another version, or another program"
            )
        return int(header.total_bytes)

    def _evaluated(self, reply: Any, count: int) -> list[bytes]:
        if isinstance(reply, framing.Malformed) or len(reply.evaluated) != count * wire.ELEMENT_BYTES:
            raise FormatError(
                f"the server's answer to {count} blinded elements has the wrong size: it is of another version, or "
                "another program"
            )
        data = reply.evaluated
        return [data[i : i + wire.ELEMENT_BYTES] for i in range(0, len(data), wire.ELEMENT_BYTES)]

    def _session(self, reply: Any) -> bytes:
        if isinstance(reply, framing.Malformed) or len(reply.session) != SESSION_BYTES:
            raise FormatError(
                "the server's answer to the evaluation keys names no session: it is of another version, or another "
                "program"
            )
        return bytes(reply.session)

    def _reply_follows(self, first: Any, reply_bytes: int) -> None:
        if first is None or first.WhichOneof("part") != "header" or first.header.total_bytes != reply_bytes:
            raise FormatError(
                f"the server announces no reply of {reply_bytes} bytes, which the table's plan has: it is of another "
                "version, or another program"
            )


class Connection(Described, remote.Connection):
    """A server of private set intersection."""

    # ---- the service's methods ---------------------------------------------------------------------

    def info(self) -> tuple[TableInfo, dict[str, int]]:
        """What the server says of its table, and what is left of today's quota: "prf", "bins".

        Raises:
            FormatError: no such description. Error: see `intersect`.
        """
        with self._refusals(), self._call("Info", pb.InfoRequest()) as replies:
            header = self._header(replies)
            data = framing.assemble(replies, self._description(header), "the table's description")
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
            found += self._evaluated(reply, len(batch))
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
        return self._session(reply)

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
            self._reply_follows(first, reply_bytes)
            return framing.assemble(replies, reply_bytes, "the reply")

    def close_session(self, session: bytes) -> None:
        """Lets the server forget the keys. Errors do not matter: it forgets them anyway, later."""
        with contextlib.suppress(grpc.RpcError):
            self._methods["CloseSession"](
                pb.CloseRequest(session=session), timeout=_CLOSE_SECONDS, metadata=self._metadata
            )


def intersect(
    connection: Connection,
    elements: Iterable[Element] = (),
    *,
    threads: int = 1,
    accept_insecure: str = "",
    mode: AskedMode | None = None,
    request_bytes: int = REQUEST_BYTES,
    exact_sizes: bool = False,
    report: Report | None = None,
    known: tuple[TableInfo, dict[str, int]] | None = None,
    resume: Run | None = None,
    hang_up: bool = False,
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
        resume: a run that ended in the middle (`IncompleteError.run`), in place of elements and options: asks what has
            no answer yet. The server learns that this client was the same, which it may know anyway.
        hang_up: closes the connection before replies are decrypted, so that not even the time of its end says how
            long that took. Whoever asks once should; a connection that is shared or used again stays open.

    Raises:
        Error: the server cannot be reached, refuses, breaks off, or is late. QuotaError, BusyError: it refuses for
        now. FormatError: it answers what it must not. ParameterError: its plan is insecure, or one that the client
        does not ask (`client.check_table`). IncompleteError: one of these came after some queries were answered; it
        carries what is known. MismatchError: a run that is resumed was for an older state of the table.
    """
    run = resume or Run(
        elements,
        threads=threads,
        accept_insecure=accept_insecure,
        mode=mode,
        request_bytes=request_bytes,
        exact_sizes=exact_sizes,
    )
    return drive(run.steps(connection.traffic, known, hang_up=hang_up), connection, report)


def drive(steps: Steps, connection: Connection, report: Report | None = None) -> Outcome:
    """Does what a run asks for, one step after the other."""
    act: Callable[[], Step] = functools.partial(next, steps)
    while True:
        try:
            step = act()
        except StopIteration as end:
            outcome: Outcome = end.value
            return outcome
        try:
            act = functools.partial(steps.send, _perform(step, connection, report))
        except BaseException as e:
            act = functools.partial(steps.throw, e)
        del step


def _perform(step: Step, connection: Connection, report: Report | None) -> Any:
    def tell(done: float, waiting: int = 0) -> None:
        if report and not step.quiet:
            report(step.name, done, waiting)

    tell(0.0)
    if step.work is not None:
        return step.work()
    call = getattr(connection, step.method)
    return call(*step.arguments) if step.method in ("info", "close_session", "close") else call(*step.arguments, tell)
