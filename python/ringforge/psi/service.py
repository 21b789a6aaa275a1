# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The server of private set intersection, over gRPC.

One query computes at a time, on all threads; others wait in `sessions.Turns`. What clients send is checked against the
sizes that the table's plan prescribes before it is kept. A client that goes away, that neither sends nor takes what it
should, or whose deadline passes, ends its query.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any

from ringforge.errors import FormatError, MismatchError, ParameterError
from ringforge.psi import wire
from ringforge.psi.info import TableInfo
from ringforge.psi.proto import psi_pb2 as pb
from ringforge.psi.server import Server, Session
from ringforge.serving import framing, service
from ringforge.serving.access import Tokens
from ringforge.serving.calls import Call, Log
from ringforge.serving.limits import Limits
from ringforge.serving.quota import Quota
from ringforge.serving.service import Handler, asked_today, header, only, working
from ringforge.serving.sessions import SESSION_BYTES, Memory, Sessions, Turns
from ringforge.serving.status import Asked, Use
from ringforge.serving.work import Work

#: Seconds after which a change of the queue is told at the latest.
_POLL_SECONDS = 0.25


class _State:
    """What is public about the table as it is now."""

    def __init__(self, info: TableInfo) -> None:
        self.json = info.to_json()
        self.table = bytes.fromhex(info.digest())
        self.plan = info.native()
        self.reply_bytes = info.reply_bytes(self.plan)


class Service(service.Service):
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
        super().__init__(wire.SERVICE, wire.METHODS, limits, quota, tokens, log)
        self._server, self._quota = server, quota
        self._state = _State(server.info)
        self._check_memory(limits, server.info)
        self.memory = Memory(limits.memory)
        self.sessions = Sessions(limits.sessions, limits.sessions_each, limits.idle_seconds)
        self._turns = Turns(limits.waiting)
        self._prf_turns = Turns(limits.waiting)
        self._open_turns = Turns(limits.sessions)

    def _handlers(self) -> dict[str, Handler]:
        return {
            "Info": self._serve_info,
            "EvaluatePrf": self._serve_prf,
            "OpenSession": self._serve_open,
            "Query": self._serve_query,
            "CloseSession": self._serve_close,
        }

    def _queues(self) -> Mapping[str, Turns]:
        return {"queries": self._turns, "evaluations": self._prf_turns, "keys": self._open_turns}

    def _quotas(self) -> dict[str, Asked]:
        return asked_today(self._quota)

    def _uses(self) -> dict[str, Use]:
        return {
            "sessions": Use(used=len(self.sessions), most=self.sessions.most),
            "memory": Use(used=self.memory.used, most=self.memory.limit),
        }

    # ---- what calls have in common -----------------------------------------------------------------

    def check(self, client: bytes) -> None:
        """See whether what clients ask for can be counted."""
        del client
        self._quota.check()

    def reload(self) -> None:
        """Takes a newer state of the table, if there is one; sessions that are open keep theirs.

        Raises:
            FormatError, ParameterError: it is damaged, or cannot be served with this device and memory; the old one
            stays.
        """
        if self._server.reload(lambda info: self._check_memory(self.limits, info)):
            self._state = _State(self._server.info)
            self._log("reloaded", table=self._state.table.hex()[:12])

    @staticmethod
    def _check_memory(limits: Limits, info: TableInfo) -> None:
        """Refuses a table of which the memory does not hold a single client."""
        plan = info.native()
        keys = max(plan.key_bytes, getattr(plan, "session_bytes", 0))
        need = keys + plan.request_bytes + info.reply_bytes(plan)
        if need > limits.memory:
            raise ParameterError(
                f"one client's keys, request and reply take {need} bytes, more than the {limits.memory} allowed: "
                f"give --memory {-(-need // (1 << 20))}MiB or more"
            )

    @staticmethod
    def _check_table(table: bytes, current: bytes) -> None:
        if len(table) != wire.TABLE_BYTES:
            raise FormatError(f"a table is named by {wire.TABLE_BYTES} bytes, not {len(table)}: the digest of its info")
        if table != current:
            raise MismatchError("the table has changed since this client asked about it: ask again, with Info")

    @staticmethod
    def _check_size(announced: int, expected: int, what: str) -> None:
        if announced != expected:
            raise FormatError(
                f"{what} of {announced} bytes: the table's plan makes it {expected}; take the plan from Info"
            )

    # ---- methods -----------------------------------------------------------------------------------

    def _serve_info(self, requests: Iterator[Any], call: Call) -> Iterator[Any]:
        only(requests, "InfoRequest")
        left = self._quota.left(call.client)
        info = self._state.json
        yield pb.InfoReply(header=pb.InfoHeader(total_bytes=len(info), prf_left=left["prf"], bins_left=left["bins"]))
        for chunk in framing.chunks(info):
            yield pb.InfoReply(chunk=chunk)

    def _serve_prf(self, requests: Iterator[Any], call: Call) -> Iterator[Any]:
        request = only(requests, "PrfRequest")
        self._check_table(request.table, self._state.table)
        blinded = request.blinded
        size = len(blinded)
        count, rest = divmod(size, wire.ELEMENT_BYTES)
        if rest or not 1 <= count <= wire.PRF_BATCH:
            raise FormatError(
                f"{size} bytes of blinded elements: 1 to {wire.PRF_BATCH} of {wire.ELEMENT_BYTES} bytes each are needed"
            )
        call.notes["elements"] = count

        def compute(_: Callable[[float], bool]) -> list[bytes]:
            self._quota.charge(call.client, "prf", count)
            elements = [blinded[i : i + wire.ELEMENT_BYTES] for i in range(0, size, wire.ELEMENT_BYTES)]
            return self._server.evaluate_prf(elements, call.check)

        work = Work(self._threads, call, self._prf_turns, self._prf_turns.enter(call.client), compute)
        evaluated = yield from working(work, pb.PrfReply())
        yield pb.PrfReply(evaluated=b"".join(evaluated))

    def _serve_open(self, requests: Iterator[Any], call: Call) -> Iterator[Any]:
        what, state = "evaluation keys", self._state
        size, room = state.plan.key_bytes, state.plan.request_bytes + state.reply_bytes
        with self.sessions.opening(call.client) as keep:
            with call.moving():
                head = header(requests, what, "the table's name and the size")
                self._check_table(head.table, state.table)
                self._check_size(head.total_bytes, size, what)
                arriving = self.memory.reserve(size, what, call.client, call.give_up, room)
                try:
                    data = framing.assemble(requests, size, what)
                    ticket = self._open_turns.enter(call.client)
                except BaseException:
                    arriving()
                    raise
            table = head.table.hex()
            compute = functools.partial(self._open, data, table)
            work = Work(self._threads, call, self._open_turns, ticket, compute, arriving)
            del data, compute
            session = yield from working(work, pb.OpenReply())
            arriving()  # before the thread's end does
            held = self.memory.reserve(session.bytes, what, call.client, room=room)
            name = keep(session, held)
            held.give_up = functools.partial(self.sessions.evict, name)
            call.notes["bytes"] = size
        yield pb.OpenReply(session=name, idle_seconds=max(1, round(self.limits.idle_seconds)))

    def _open(self, data: bytes, table: str, progress: Callable[[float], bool]) -> Session:
        del progress
        return self._server.open(data, table)

    def _serve_close(self, requests: Iterator[Any], call: Call) -> Iterator[Any]:
        request = next(requests, None)
        if request is None or isinstance(request, framing.Malformed) or len(request.session) != SESSION_BYTES:
            raise FormatError(f"a session is named by {SESSION_BYTES} bytes, those that OpenSession gave")
        call.notes["found"] = int(self.sessions.close(request.session, call.client))
        yield pb.CloseReply()

    def _serve_query(self, requests: Iterator[Any], call: Call) -> Iterator[Any]:
        work, told, over = yield from self._begin_query(requests, call)
        yield from self._progress(work, told)
        reply = work.result()
        with call.moving():
            yield pb.QueryReply(header=pb.ReplyHeader(total_bytes=len(reply)))
            for chunk in framing.chunks(reply):
                yield pb.QueryReply(chunk=chunk)
        # Before the client knows that this was all: its next query must find the place that this one had.
        over.now()

    def _begin_query(self, requests: Iterator[Any], call: Call) -> Generator[Any, None, tuple[Work, int, _Last]]:
        """Receives a request; returns its computation, what the client was told of the queue, and what ends it."""
        what = "a request"
        with call.moving():
            head = header(requests, what, "the table's name and the size")
            if len(head.session) != SESSION_BYTES:
                raise FormatError(f"a session is named by {SESSION_BYTES} bytes, not {len(head.session)}")
            held = contextlib.ExitStack()  # what the call and the computation need: gone when both have ended
            over = _Last(2, held.close)
            call.when_over(over)
            try:
                session = held.enter_context(self.sessions.using(head.session, call.client))
                plan = session.plan
                self._check_table(head.table, bytes.fromhex(session.info.digest()))
                self._check_size(head.total_bytes, plan.request_bytes, what)
                size = plan.request_bytes + session.info.reply_bytes(plan)
                held.callback(self.memory.reserve(size, "a request and its reply", call.client, call.give_up))
                body = framing.assemble(requests, plan.request_bytes, what)
                # Who does not even take this does not get a turn, in which others would wait for it.
                told = self._turns.busy
                yield pb.QueryReply(progress=pb.Progress(waiting=told, done=0, steps=framing.STEPS))
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
            compute = functools.partial(self._server.answer, session, body)
            return Work(self._threads, call, self._turns, ticket, compute, over), told, over

    def _progress(self, work: Work, told: int) -> Iterator[Any]:
        """Position in the queue when it changes, every step once; the last sign again when nothing changes."""
        done, last = 0, time.monotonic()
        while not work.done:
            ahead = work.ahead if not done else 0
            step = work.step(_POLL_SECONDS)
            if step is not None:
                done = step
            elif work.done or (ahead == told and time.monotonic() - last < framing.BEAT_SECONDS):
                continue
            told, last = ahead, time.monotonic()
            yield pb.QueryReply(progress=pb.Progress(waiting=ahead if not done else 0, done=done, steps=framing.STEPS))

    def housekeeping(self) -> None:
        """To be called now and then: forgets what is idle."""
        super().housekeeping()
        count = self.sessions.sweep()
        if count:
            self._log("expired", sessions=count)

    def close(self) -> None:
        """Lets go of the table and of all keys; to be called when no call can come any more."""
        super().close()
        self.sessions.clear()
        del self._server, self._state  # threads of gRPC may hold this object until the process ends


class _Last:
    """Calls a function once: when it has been called itself for the last of a number of times, or at `now`."""

    def __init__(self, times: int, function: Callable[[], None]) -> None:
        self._left, self._function, self._lock = times, function, threading.Lock()

    def __call__(self) -> None:
        self._count(1)

    def now(self) -> None:
        """Waits for no further call."""
        self._count(self._left)

    def _count(self, times: int) -> None:
        with self._lock:
            before, self._left = self._left, max(0, self._left - times)
            last = before > 0 and self._left == 0
        if last:
            self._function()
