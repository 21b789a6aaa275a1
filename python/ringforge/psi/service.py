# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The server of private set intersection, over gRPC.

One query computes at a time, on all threads; others wait in `sessions.Turns`. What clients send is checked against the
sizes that the table's plan prescribes before it is kept. A client that goes away, or whose deadline passes, ends its
query. Logs are lines of JSON about sizes, times and kinds of refusal, never about contents.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TextIO

import grpc

from ringforge.errors import (
    Error,
    FormatError,
    MemoryLimitError,
    MismatchError,
    MissingKeyError,
    ParameterError,
    ShapeError,
)
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.psi import wire
from ringforge.psi.access import AccessError, Tokens, peer_identity
from ringforge.psi.info import TableInfo
from ringforge.psi.proto import psi_pb2 as pb
from ringforge.psi.quota import Quota, QuotaError
from ringforge.psi.server import Server
from ringforge.psi.sessions import BusyError, Memory, Sessions, Turns

#: Trailing metadata that names the kind of a refusal.
ERROR_KEY = "ringforge-error"

#: Which status each error becomes; the first that fits.
_STATUS: list[tuple[type[Exception], grpc.StatusCode]] = [
    (AccessError, grpc.StatusCode.UNAUTHENTICATED),
    (QuotaError, grpc.StatusCode.RESOURCE_EXHAUSTED),
    (BusyError, grpc.StatusCode.RESOURCE_EXHAUSTED),
    (MemoryLimitError, grpc.StatusCode.RESOURCE_EXHAUSTED),
    (MismatchError, grpc.StatusCode.FAILED_PRECONDITION),
    (MissingKeyError, grpc.StatusCode.NOT_FOUND),
    (FormatError, grpc.StatusCode.INVALID_ARGUMENT),
    (ParameterError, grpc.StatusCode.INVALID_ARGUMENT),
    (ShapeError, grpc.StatusCode.INVALID_ARGUMENT),
    (RingforgeValueError, grpc.StatusCode.INVALID_ARGUMENT),
]

_POLL_SECONDS = 0.25


@dataclass(frozen=True)
class Limits:
    """What a service takes on at a time.

    memory: bytes of keys, requests and replies of all clients; one query's working memory comes on top.
    sessions, sessions_each: open sessions in all, and of one client. idle_seconds: after which one is forgotten.
    waiting: queries that may wait. moving_seconds: within which a client must have sent what it began to send, and
    taken a reply.
    grace_seconds: what running queries get to end when the service is told to stop.
    """

    memory: int = 2 << 30
    sessions: int = 64
    sessions_each: int = 16
    idle_seconds: float = 300.0
    waiting: int = 32
    moving_seconds: float = 600.0
    grace_seconds: float = 30.0

    def __post_init__(self) -> None:
        for name in ("memory", "sessions", "sessions_each", "waiting"):
            if getattr(self, name) < 1:
                raise ParameterError(f"{name} {getattr(self, name)}: 1 is the least")
        for name in ("idle_seconds", "moving_seconds"):
            if not getattr(self, name) > 0:
                raise ParameterError(f"{name} {getattr(self, name)}: more than 0 is needed")
        if not self.grace_seconds >= 0:
            raise ParameterError(f"grace_seconds {self.grace_seconds}: 0 or more is needed")


class Log:
    """Writes one JSON line for each event. Values are numbers and short fixed words; contents have no way in."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream, self._lock = stream, threading.Lock()

    def __call__(self, event: str, **values: float | int | str) -> None:
        if self._stream is None:
            return
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        kept = {k: round(v, 6) if isinstance(v, float) else v for k, v in values.items()}
        with self._lock, contextlib.suppress(OSError, ValueError):  # a full disk or closed pipe must not end queries
            self._stream.write(json.dumps({"time": now, "event": event, **kept}) + "\n")
            self._stream.flush()

    @contextlib.contextmanager
    def trouble(self, event: str) -> Iterator[None]:
        """Records an error of ours or of the operating system, by its kind, and goes on."""
        try:
            yield
        except (Error, OSError) as e:
            self(event, result=type(e).__name__)


class _GoneError(Exception):
    """The client has gone, or its deadline has passed: nobody hears an answer."""


@dataclass
class _Call:
    """One call of one client, as its handler sees it."""

    context: Any
    client: bytes
    gone: threading.Event
    notes: dict[str, float | int | str]

    def going_on(self) -> bool:
        """Whether somebody still wants the answer."""
        left = self.context.time_remaining()
        return not self.gone.is_set() and (left is None or left > 0)

    def check(self, fraction: float) -> None:
        """A sign of progress, which ends the work when nobody wants it."""
        del fraction
        if not self.going_on():
            raise _GoneError

    def when_over(self, function: Callable[[], None]) -> None:
        """Calls it once the call is over, however it ends."""
        if not self.context.add_callback(function):
            function()


class _State:
    """What is public about the table as it is now."""

    def __init__(self, info: TableInfo) -> None:
        self.json = info.to_json()
        self.table = bytes.fromhex(info.digest())
        self.plan = info.native()


class Service:
    """Handlers for the methods of `psi.proto`.

    Args:
        server: answers queries; its table says what sizes are right.
        quota: what clients may ask for.
        limits: what is taken on at a time.
        tokens: of the clients that are served; None serves all, and tells them apart by address.
        log: for events.

    Raises:
        ParameterError: not even one client fits into the memory.
    """

    def __init__(
        self, server: Server, quota: Quota, limits: Limits, tokens: Tokens | None = None, log: Log | None = None
    ) -> None:
        self._server, self._quota, self._limits, self._tokens = server, quota, limits, tokens
        self._log = log or Log(None)
        self._state = _State(server.info)
        plan = self._state.plan
        keys = max(plan.key_bytes, getattr(plan, "session_bytes", 0))
        need = keys + plan.request_bytes + plan.reply_bytes
        if need > limits.memory:
            raise ParameterError(
                f"one client's keys, request and reply take {need} bytes, more than the {limits.memory} allowed: "
                f"give --memory {-(-need // (1 << 20))}MiB or more"
            )
        self.memory = Memory(limits.memory)
        self.sessions = Sessions(limits.sessions, limits.sessions_each, limits.idle_seconds)
        self._turns = Turns(limits.waiting)
        self._prf_turns = Turns(limits.waiting)
        self.workers = limits.sessions + limits.waiting + 8
        self._calls: dict[bytes, int] = {}
        self._calls_lock = threading.Lock()
        self._computing: set[threading.Thread] = set()

    # ---- around every call -------------------------------------------------------------------------

    def handlers(self) -> grpc.GenericRpcHandler:
        """The methods, for `grpc.Server.add_generic_rpc_handlers`."""
        of = {
            "Info": self._serve_info,
            "EvaluatePrf": self._serve_prf,
            "OpenSession": self._serve_open,
            "Query": self._serve_query,
            "CloseSession": self._serve_close,
        }
        made = {}
        for name, (request, _, client_streams, server_streams) in wire.METHODS.items():
            kind = ("stream" if client_streams else "unary") + "_" + ("stream" if server_streams else "unary")
            make = getattr(grpc, f"{kind}_rpc_method_handler")
            wrapped = self._streaming(name, of[name]) if server_streams else self._single(name, of[name])
            made[name] = make(wrapped, request_deserializer=wire.parser(request), response_serializer=_serialize)
        return grpc.method_handlers_generic_handler(wire.SERVICE, made)

    def _single(self, name: str, handler: Callable[[Any, _Call], Any]) -> Callable[[Any, Any], Any]:
        def call(request: Any, context: Any) -> Any:
            with self._around(name, context) as entered:
                return handler(request, entered)

        return call

    def _streaming(
        self, name: str, handler: Callable[[Any, _Call], Iterator[Any]]
    ) -> Callable[[Any, Any], Iterator[Any]]:
        def call(request: Any, context: Any) -> Iterator[Any]:
            with self._around(name, context) as entered:
                yield from handler(request, entered)

        return call

    @contextlib.contextmanager
    def _around(self, name: str, context: Any) -> Iterator[_Call]:
        """Authenticates, logs, and turns exceptions into the status that a client understands."""
        start = time.monotonic()
        call = _Call(context, b"", threading.Event(), {})
        refusal: tuple[grpc.StatusCode, str, str] | None = None
        result = "ok"
        counted = False
        call.when_over(call.gone.set)
        try:
            identity = (
                peer_identity(context.peer())
                if self._tokens is None
                else self._tokens.identity(context.invocation_metadata())
            )
            call.client = self._quota.client(identity)
            counted = self._count(call.client)
            yield call
        except GeneratorExit:  # nobody takes the messages of a stream any more
            result = "gone"
            raise
        except (_GoneError, grpc.RpcError):
            result = "gone"
            late = context.time_remaining() == 0
            code = grpc.StatusCode.DEADLINE_EXCEEDED if late else grpc.StatusCode.CANCELLED
            refusal = (code, "its deadline passed" if late else "the client went away", "Error")
        except (Error, AccessError) as e:
            code = next((c for kind, c in _STATUS if isinstance(e, kind)), grpc.StatusCode.INTERNAL)
            result = type(e).__name__
            refusal = (code, " ".join(str(e).split()), result)
        except Exception as e:  # a fault of ours: the client hears that, the log where, nobody any contents
            where = e.__traceback__
            while where is not None and where.tb_next is not None:
                where = where.tb_next
            at = f"{os.path.basename(where.tb_frame.f_code.co_filename)}:{where.tb_lineno}" if where else ""
            result = f"fault {type(e).__name__} at {at}"
            refusal = (grpc.StatusCode.INTERNAL, "the server failed; its log says where: tell its operator", "Error")
        finally:
            if counted:
                self._uncount(call.client)
            seconds = time.monotonic() - start
            self._log(name, client=call.client.hex()[:12], result=result, seconds=seconds, **call.notes)
        if refusal is not None:
            context.set_trailing_metadata(((ERROR_KEY, refusal[2]),))
            context.abort(refusal[0], refusal[1])

    def _count(self, client: bytes) -> bool:
        most = max(4, self.workers // 2)
        with self._calls_lock:
            if self._calls.get(client, 0) >= most:
                raise BusyError(f"this client has {most} calls under way already, the most it may: wait for them")
            self._calls[client] = self._calls.get(client, 0) + 1
        return True

    def _uncount(self, client: bytes) -> None:
        with self._calls_lock:
            self._calls[client] -= 1
            if not self._calls[client]:
                del self._calls[client]

    # ---- what calls have in common -----------------------------------------------------------------

    def reload(self) -> None:
        """Takes a newer state of the table, if there is one; sessions that are open keep theirs."""
        if self._server.reload():
            self._state = _State(self._server.info)
            self._log("reloaded", table=self._state.table.hex()[:12])

    @staticmethod
    def _check_table(table: bytes, current: bytes) -> None:
        if len(table) != wire.TABLE_BYTES:
            raise FormatError(f"a table is named by {wire.TABLE_BYTES} bytes, not {len(table)}: the digest of its info")
        if table != current:
            raise MismatchError("the table has changed since this client asked about it: ask again, with Info")

    @staticmethod
    def _header(requests: Iterator[Any], what: str) -> Any:
        """The header that a stream begins with."""
        first = next(requests, None)
        if first is None or first.WhichOneof("part") != "header":
            raise FormatError(f"{what}: the first message is no header: send the table's name and the size first")
        return first.header

    @staticmethod
    def _check_size(announced: int, expected: int, what: str) -> None:
        if announced != expected:
            raise FormatError(
                f"{what} of {announced} bytes: the table's plan makes it {expected}; take the plan from Info"
            )

    @contextlib.contextmanager
    def _moving(self, call: _Call) -> Iterator[None]:
        """Ends a call whose client does not send, or take, what is to be moved."""
        timer = threading.Timer(self._limits.moving_seconds, call.context.cancel)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    # ---- methods -----------------------------------------------------------------------------------

    def _serve_info(self, request: Any, call: _Call) -> Iterator[Any]:
        if isinstance(request, wire.Malformed):
            raise FormatError("the message is no InfoRequest")
        left = self._quota.left(call.client)
        info = self._state.json
        yield pb.InfoReply(header=pb.InfoHeader(total_bytes=len(info), prf_left=left["prf"], bins_left=left["bins"]))
        for chunk in wire.chunks(info):
            yield pb.InfoReply(chunk=chunk)

    def _serve_prf(self, request: Any, call: _Call) -> Any:
        if isinstance(request, wire.Malformed):
            raise FormatError("the message is no PrfRequest")
        self._check_table(request.table, self._state.table)
        blinded = request.blinded
        size = len(blinded)
        count, rest = divmod(size, wire.ELEMENT_BYTES)
        if rest or not 1 <= count <= wire.PRF_BATCH:
            raise FormatError(
                f"{size} bytes of blinded elements: 1 to {wire.PRF_BATCH} of {wire.ELEMENT_BYTES} bytes each are needed"
            )
        call.notes["elements"] = count
        ticket = self._prf_turns.enter(call.client)
        try:
            if not self._prf_turns.wait(ticket, call.going_on):
                raise _GoneError
            self._quota.charge(call.client, "prf", count)
            elements = [blinded[i : i + wire.ELEMENT_BYTES] for i in range(0, size, wire.ELEMENT_BYTES)]
            return pb.PrfReply(evaluated=b"".join(self._server.evaluate_prf(elements, call.check)))
        finally:
            self._prf_turns.leave(ticket)

    def _serve_open(self, requests: Iterator[Any], call: _Call) -> Any:
        what, state = "evaluation keys", self._state
        size = state.plan.key_bytes
        with self._moving(call), self.sessions.opening(call.client) as keep:
            header = self._header(requests, what)
            self._check_table(header.table, state.table)
            self._check_size(header.total_bytes, size, what)
            arriving = self.memory.reserve(size, what)
            try:
                data = wire.assemble(requests, size, what)
                session = self._server.open(data, header.table.hex())
                del data
            finally:
                arriving()
            held = self.memory.reserve(session.bytes, what)
            name = keep(session, held)
            call.notes["bytes"] = size
        return pb.OpenReply(session=name, idle_seconds=max(1, round(self._limits.idle_seconds)))

    def _serve_close(self, request: Any, call: _Call) -> Any:
        if isinstance(request, wire.Malformed) or len(request.session) != wire.SESSION_BYTES:
            raise FormatError(f"a session is named by {wire.SESSION_BYTES} bytes, those that OpenSession gave")
        call.notes["found"] = int(self.sessions.close(request.session, call.client))
        return pb.CloseReply()

    def _serve_query(self, requests: Iterator[Any], call: _Call) -> Iterator[Any]:
        what = "a request"
        with self._moving(call):
            header = self._header(requests, what)
            if len(header.session) != wire.SESSION_BYTES:
                raise FormatError(f"a session is named by {wire.SESSION_BYTES} bytes, not {len(header.session)}")
            with self.sessions.using(header.session, call.client) as session:
                plan = session.info.native()
                self._check_table(header.table, bytes.fromhex(session.info.digest()))
                self._check_size(header.total_bytes, plan.request_bytes, what)
                release = self.memory.reserve(plan.request_bytes + plan.reply_bytes, "a request and its reply")
                over = _Last(2, release)  # the call and the computation: whichever ends last
                call.when_over(over)
                try:
                    body = wire.assemble(requests, plan.request_bytes, what)
                    ticket = self._turns.enter(call.client)
                    try:
                        self._quota.charge(call.client, "bins", plan.bins)
                    except BaseException:
                        self._turns.leave(ticket)
                        raise
                except BaseException:
                    over()
                    raise
                call.notes["bins"] = plan.bins
                answer = _Answer(self, call, header.session, body, ticket, over)
        # The thread holds the ticket now, and the session by a `using` of its own.
        del body, session
        with contextlib.ExitStack() as sending:
            for message in answer.messages():
                if message.WhichOneof("part") == "header":
                    sending.enter_context(self._moving(call))
                yield message

    def compute(self, answer: _Answer) -> None:
        """Starts computing an answer, in a thread of its own."""

        def run() -> None:
            try:
                answer.run(self._server, self.sessions, self._turns)
            finally:
                self._computing.discard(threading.current_thread())

        thread = threading.Thread(target=run, name="psi query", daemon=True)
        self._computing.add(thread)
        thread.start()

    def ahead(self, ticket: object) -> int:
        """Queries to be computed before this one."""
        return self._turns.ahead(ticket)

    def housekeeping(self) -> None:
        """To be called now and then: forgets what is idle."""
        count = self.sessions.sweep()
        if count:
            self._log("expired", sessions=count)

    def finish(self, seconds: float) -> None:
        """Waits for computations, which end by themselves once their calls are over."""
        until = time.monotonic() + seconds
        for thread in list(self._computing):
            thread.join(max(0.0, until - time.monotonic()))

    def close(self) -> None:
        """Lets go of the table and of all keys; to be called when no call can come any more."""
        self.sessions.clear()
        del self._server, self._state  # threads of gRPC may hold this object until the process ends


class _Last:
    """Calls a function when it has been called itself for the last of a number of times."""

    def __init__(self, times: int, function: Callable[[], None]) -> None:
        self._left, self._function, self._lock = times, function, threading.Lock()

    def __call__(self) -> None:
        with self._lock:
            self._left -= 1
            last = self._left == 0
        if last:
            self._function()


class _Answer:
    """One query: the thread that waits for its turn and computes, and the messages that its client sees meanwhile."""

    def __init__(
        self, service: Service, call: _Call, session: bytes, request: bytes, ticket: object, over: Callable[[], None]
    ) -> None:
        self._service, self._call, self._session, self._ticket, self._over = service, call, session, ticket, over
        self._request: bytes | None = request
        self._events: queue.SimpleQueue[int | bytes | BaseException] = queue.SimpleQueue()
        self._step = 0
        service.compute(self)

    def run(self, server: Server, sessions: Sessions, turns: Turns) -> None:
        """In the thread: waits, computes, and reports."""
        start = time.monotonic()
        try:
            with sessions.using(self._session, self._call.client) as keys:
                if not turns.wait(self._ticket, self._call.going_on):
                    raise _GoneError
                self._call.notes["waited"] = time.monotonic() - start
                start = time.monotonic()
                request, self._request = self._request, None
                assert request is not None
                reply = server.answer(keys, request, self._progress)
                self._call.notes["computed"] = time.monotonic() - start
                self._progress(1.0)
                self._events.put(reply)
        except BaseException as e:
            self._events.put(e if self._call.going_on() else _GoneError())
        finally:
            self._request = None
            turns.leave(self._ticket)
            self._over()

    def _progress(self, fraction: float) -> bool:
        while self._step < min(wire.STEPS, int(fraction * wire.STEPS)):
            self._step += 1
            self._events.put(self._step)
        return self._call.going_on()

    def messages(self) -> Iterator[Any]:
        """Position in the queue when it changes, every step once, then the reply."""
        waiting, done = -1, 0
        while True:
            ahead = self._service.ahead(self._ticket) if not done else 0
            if ahead != waiting and not done:
                waiting = ahead
                yield pb.QueryReply(progress=pb.Progress(waiting=waiting, done=0, steps=wire.STEPS))
            try:
                event = self._events.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                continue
            if isinstance(event, BaseException):
                raise event
            if isinstance(event, bytes):
                break
            done = event
            yield pb.QueryReply(progress=pb.Progress(waiting=0, done=done, steps=wire.STEPS))
        yield pb.QueryReply(header=pb.ReplyHeader(total_bytes=len(event)))
        for chunk in wire.chunks(event):
            yield pb.QueryReply(chunk=chunk)


def _serialize(message: Any) -> bytes:
    return bytes(message.SerializeToString())
