# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The client of private set intersection for programs with an event loop.

>>> async with AsyncConnection("psi.example:8760", ca="ca.pem", token=token) as connection:
...     outcome = await connection.intersect([b"alice", b"carol"])

Messages go through `grpc.aio`. Blinding, encryption and decryption run in the loop's executor, natively and without the
interpreter's lock: the loop goes on meanwhile. Cancelling a task (`task.cancel()`, `asyncio.timeout`) ends the call on
its way and closes the session; a computation that has begun on this side ends by itself. What leaves this machine,
in which order, and all errors are as for `ringforge.psi.remote`.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any, Self

import grpc
import grpc.aio

from ringforge.errors import Error, FormatError
from ringforge.psi import estimate as estimates
from ringforge.psi import wire
from ringforge.psi.client import REQUEST_BYTES, Element
from ringforge.psi.info import AskedMode, TableInfo
from ringforge.psi.proto import psi_pb2 as pb
from ringforge.psi.remote import Described
from ringforge.psi.runs import IncompleteError, Outcome, Report, Run, Step, Steps
from ringforge.serving import framing
from ringforge.serving.remote import STALL_SECONDS

__all__ = ["AsyncConnection", "IncompleteError", "Outcome", "Report", "Run"]

#: What closing a session may take: it is a courtesy, for which who cancels a task does not wait long.
_CLOSE_SECONDS = 1.0

#: What `grpc.aio` says of a call when a message could not be sent; and how long a better reason is waited for.
_UNSENT = "Internal error from Core"
_LATE_STEPS, _LATE_SECONDS = 20, 0.01


class _Status:
    """A status of gRPC, with the methods of its exceptions."""

    def __init__(self, code: Any, details: Any, metadata: Any) -> None:
        self.code, self.details, self.trailing_metadata = (lambda: code), (lambda: details), (lambda: metadata)
        #: Whether it is none of the server's: a message could not be sent.
        self.unknown = code is grpc.StatusCode.INTERNAL and details == _UNSENT


def _at_once(coroutine: Any) -> Any:
    """The value of a coroutine that has nothing to wait for."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    return None


class _Stream:
    """Replies of a call, one by one. A call on which nothing has moved for so many seconds is ended."""

    def __init__(self, call: Any, seconds: float, stalled: Callable[[], Error]) -> None:
        self._call, self._seconds, self._stalled = call, seconds, stalled
        self._moved = time.monotonic()
        self._failure: Exception | None = None
        self._status: _Status | None = None
        call.add_done_callback(self._ended)

    def _ended(self, call: Any) -> None:
        """Keeps the status that the server gave: writing to a call that has ended overwrites it (grpc's issue
        36066)."""
        if self._status is None or self._status.unknown:
            self._status = _Status(
                *(_at_once(part) for part in (call.code(), call.details(), call.trailing_metadata()))
            )

    async def status(self, raised: Any) -> Any:
        """What the server said, of a call that has raised an error."""
        for _ in range(_LATE_STEPS):
            if self._status is not None and not self._status.unknown:
                break
            await asyncio.sleep(_LATE_SECONDS)
            self._ended(self._call)
        return raised if self._status is None else self._status

    async def send(self, requests: Iterator[Any]) -> None:
        """Sends messages as the server takes them; stops when it has ended the call."""
        try:
            for request in requests:
                await self._call.write(request)
                self._moved = time.monotonic()
            await self._call.done_writing()
        except (grpc.RpcError, asyncio.InvalidStateError):
            pass  # the status, which `next` raises, says more
        except Exception as e:  # of who is told of the progress
            self._failure = e
            self._call.cancel()

    async def next(self) -> Any:
        """The next reply; None after the last."""
        self._moved = time.monotonic()
        reading = asyncio.ensure_future(self._call.read())
        try:
            while True:
                left = self._moved + self._seconds - time.monotonic()
                if left <= 0:
                    raise self._stalled()
                done, _ = await asyncio.wait((reading,), timeout=left)
                if done:
                    if self._failure is not None:
                        raise self._failure
                    reply = reading.result()
                    return None if reply is grpc.aio.EOF else reply
        finally:
            reading.cancel()

    async def body(self, expected: int, what: str) -> bytes:
        """The chunks that follow a header, put together (`framing.assemble`)."""
        parts, size = [], 0
        while (part := await self.next()) is not None:
            parts.append(part)
            if part.WhichOneof("part") != "chunk" or not part.chunk:
                break
            size += len(part.chunk)
            if size > expected:
                break
        return await asyncio.to_thread(framing.assemble, parts, expected, what)

    async def answer(self, sign: Any) -> Any:
        """The only reply, after signs that the server works."""
        found = None
        while (reply := await self.next()) is not None:
            if found is not None:
                raise FormatError("the server gives several answers in place of one: it may be another program")
            found = None if reply == sign else reply
        if found is None:
            raise FormatError("the server ended the call without an answer: it may be another program")
        return found


class AsyncConnection(Described):
    """A server of private set intersection, for tasks of one event loop.

    Tasks may share one: their calls go side by side. Another loop, or a process that was forked, needs its own.

    Args:
        address: HOST:PORT.
        ca: PEM file of the authority that signed the server's certificate; None connects without TLS.
        token: what the server knows this client by.
        timeout: seconds that everything done here may take in all; None waits for as long as it takes.
        stall: seconds without a sign of the server, or anything sent, after which it is given up.
        plaintext: allows other machines without TLS.

    Raises:
        ParameterError: the address is none; another machine without TLS; a time out of range.
    """

    def __init__(
        self,
        address: str,
        *,
        ca: Any = None,
        token: str | None = None,
        timeout: float | None = None,
        stall: float = STALL_SECONDS,
        plaintext: bool = False,
    ) -> None:
        super().__init__(address, ca=ca, token=token, timeout=timeout, stall=stall, plaintext=plaintext)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._channel: Any = None
        self._methods: dict[str, Any] = {}

    async def close(self) -> None:
        """Ends the connection, and calls on their way."""
        if self._channel is not None:
            await self._channel.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # ---- the service's methods ---------------------------------------------------------------------

    async def info(self) -> tuple[TableInfo, dict[str, int]]:
        """What the server says of its table, and what is left of today's quota: "prf", "bins".

        Raises:
            FormatError: no such description. Error: see `ringforge.psi.remote.intersect`.
        """
        async with self._call("Info", pb.InfoRequest()) as replies:
            first = await replies.next()
            header = self._header(iter(() if first is None else (first,)))
            data = await replies.body(self._description(header), "the table's description")
        info = await asyncio.to_thread(TableInfo.from_json, data)
        return info, {"prf": header.prf_left, "bins": header.bins_left}

    async def estimate(
        self, count: int, *, threads: int = 1, request_bytes: int = REQUEST_BYTES, exact_sizes: bool = False
    ) -> estimates.Estimate:
        """What asking this server for so many different elements takes (`ringforge.psi.estimate.estimate`).

        Raises:
            ParameterError: no elements, or a table that the client does not ask. And what `info` raises.
        """
        info, _ = await self.info()
        work = functools.partial(
            estimates.estimate, info, count, threads, request_bytes=request_bytes, exact_sizes=exact_sizes
        )
        return await asyncio.to_thread(work)

    async def intersect(
        self,
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
        """A whole run with fresh keys; arguments and errors are those of `ringforge.psi.remote.intersect`.

        `report` is called in the loop. `elements` is gone through in another thread.
        """
        run = resume or Run(
            elements,
            threads=threads,
            accept_insecure=accept_insecure,
            mode=mode,
            request_bytes=request_bytes,
            exact_sizes=exact_sizes,
        )
        return await self._drive(run.steps(self.traffic, known, hang_up=hang_up), report)

    # ---- underneath --------------------------------------------------------------------------------

    async def _drive(self, steps: Steps, report: Report | None) -> Outcome:
        act: Callable[[], Step] = functools.partial(next, steps)
        while True:
            try:
                step = act()
            except StopIteration as end:
                outcome: Outcome = end.value
                return outcome
            try:
                act = functools.partial(steps.send, await self._perform(step, report))
            except BaseException as e:
                act = functools.partial(steps.throw, e)
            del step

    async def _perform(self, step: Step, report: Report | None) -> Any:
        def tell(done: float, waiting: int = 0) -> None:
            if report and not step.quiet:
                report(step.name, done, waiting)

        tell(0.0)
        if step.work is not None:
            return await asyncio.to_thread(step.work)
        calls: dict[str, Callable[..., Awaitable[Any]]] = {
            "info": self.info,
            "evaluate_prf": functools.partial(self._evaluate_prf, progress=tell),
            "open_session": functools.partial(self._open_session, progress=tell),
            "query": functools.partial(self._query, progress=tell),
            "close_session": self._close_session,
            "close": self.close,
        }
        return await calls[step.method](*step.arguments)

    async def _evaluate_prf(
        self, table: bytes, blinded: Sequence[bytes], progress: Callable[[float], None]
    ) -> list[bytes]:
        found: list[bytes] = []
        for at in range(0, len(blinded), wire.PRF_BATCH):
            batch = blinded[at : at + wire.PRF_BATCH]
            asked = pb.PrfRequest(table=table, blinded=b"".join(batch))
            async with self._call("EvaluatePrf", asked) as replies:
                found += self._evaluated(await replies.answer(pb.PrfReply()), len(batch))
            progress(len(found) / len(blinded))
        return found

    async def _open_session(self, table: bytes, keys: bytes, progress: Callable[[float], None]) -> bytes:
        def messages() -> Iterator[Any]:
            yield pb.OpenRequest(header=pb.OpenHeader(table=table, total_bytes=len(keys)))
            for i, chunk in enumerate(framing.chunks(keys), 1):
                yield pb.OpenRequest(chunk=chunk)
                progress(min(1.0, i * framing.CHUNK / len(keys)))

        async with self._call("OpenSession", messages()) as replies:
            return self._session(await replies.answer(pb.OpenReply()))

    async def _query(
        self, table: bytes, session: bytes, request: bytes, reply_bytes: int, progress: Callable[[float, int], None]
    ) -> bytes:
        def messages() -> Iterator[Any]:
            yield pb.QueryRequest(header=pb.QueryHeader(table=table, session=session, total_bytes=len(request)))
            for chunk in framing.chunks(request):
                yield pb.QueryRequest(chunk=chunk)

        async with self._call("Query", messages()) as replies:
            first = await replies.next()
            while first is not None and first.WhichOneof("part") == "progress":
                step = first.progress
                progress(min(1.0, step.done / max(1, step.steps)), step.waiting)
                first = await replies.next()
            self._reply_follows(first, reply_bytes)
            return await replies.body(reply_bytes, "the reply")

    async def _close_session(self, session: bytes) -> None:
        with contextlib.suppress(grpc.RpcError):
            method = self._connected()["CloseSession"]
            await method(pb.CloseRequest(session=session), timeout=_CLOSE_SECONDS, metadata=self._metadata)

    def _connected(self) -> dict[str, Any]:
        """The methods, of a channel that the loop has."""
        self._same_process()
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
            self._channel = self._channel_of(grpc.aio)
            self._methods = self._calls_of(self._channel)
        if loop is not self._loop:
            raise Error(
                f"this connection to {self.address} belongs to another event loop: make one in the loop that uses it"
            )
        return self._methods

    @contextlib.asynccontextmanager
    async def _call(self, name: str, request: Any) -> AsyncIterator[_Stream]:
        """A call with a stream of replies, ended with the block. `request` is a message, or an iterator of them."""
        method, several = self._connected()[name], isinstance(request, Iterator)
        call = method(*(() if several else (request,)), timeout=self._left(), metadata=self._metadata)
        replies = _Stream(call, self._stall, self._stalled)
        sending = asyncio.ensure_future(replies.send(request)) if several else None
        try:
            yield replies
        except grpc.RpcError as e:
            raise self._error(await replies.status(e)) from None
        finally:
            call.cancel()
            if sending is not None:
                sending.cancel()
                # Its end is waited for, not its outcome: a cancellation that arrives here is of the caller's task.
                await asyncio.wait((sending,))
