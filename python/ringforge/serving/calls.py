# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What surrounds every call of the service: who asks, how many ask at once, deadlines, refusals, the log.

A call takes nothing before its client is known: no place, no memory, nothing of what is kept for others.
"""

from __future__ import annotations

import contextlib
import heapq
import hmac
import itertools
import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, TextIO

import grpc

from ringforge.errors import (
    ClusterError,
    DuplicateError,
    Error,
    FormatError,
    MemoryLimitError,
    MismatchError,
    MissingKeyError,
    ParameterError,
    ShapeError,
    StorageError,
)
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.serving.access import AccessError, Tokens, peer_identity
from ringforge.serving.limits import Limits
from ringforge.serving.meter import Meter
from ringforge.serving.quota import QuotaError, QuotaFileError
from ringforge.serving.sessions import BusyError, share
from ringforge.threads import spawn

#: Trailing metadata that names the kind of a refusal.
ERROR_KEY = "ringforge-error"

#: What clients hear of workers that fail: where those are, and what they are called, is not theirs to know.
WORKERS_FAILED = "the server's workers failed; its log says where: ask again later, or tell its operator"

#: Which status each error becomes; the first that fits.
_STATUS: list[tuple[type[Exception], grpc.StatusCode]] = [
    (AccessError, grpc.StatusCode.UNAUTHENTICATED),
    (QuotaError, grpc.StatusCode.RESOURCE_EXHAUSTED),
    (QuotaFileError, grpc.StatusCode.UNAVAILABLE),
    (StorageError, grpc.StatusCode.UNAVAILABLE),
    (DuplicateError, grpc.StatusCode.ALREADY_EXISTS),
    (BusyError, grpc.StatusCode.RESOURCE_EXHAUSTED),
    (MemoryLimitError, grpc.StatusCode.RESOURCE_EXHAUSTED),
    (MismatchError, grpc.StatusCode.FAILED_PRECONDITION),
    (MissingKeyError, grpc.StatusCode.NOT_FOUND),
    (FormatError, grpc.StatusCode.INVALID_ARGUMENT),
    (ParameterError, grpc.StatusCode.INVALID_ARGUMENT),
    (ShapeError, grpc.StatusCode.INVALID_ARGUMENT),
    (RingforgeValueError, grpc.StatusCode.INVALID_ARGUMENT),
]

#: Seconds within which refusals of one kind share a line of the log, so that nobody can fill it.
_SHARED_SECONDS = 1.0

#: Calls beyond the limit of all clients, at the most: what clients have of their shares when others have taken more.
_BEYOND = 256

#: Metadata by which the service's own look at its front door is known, and the client that it is.
PROBE_KEY, PROBE_CLIENT = "ringforge-probe", b"the own look"


def why(e: ClusterError) -> str:
    """What the log has of it: names of shards, nodes and processes, and no contents."""
    return " ".join(str(e).split())[:600]


class Log:
    """Writes one JSON line for each event. Values are numbers and short fixed words; contents have no way in."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream, self._lock = stream, threading.Lock()

    def __call__(self, event: str, **values: float | int | str) -> None:
        if self._stream is None:
            return
        try:  # a full disk, a closed pipe or a moment without memory must not end queries
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            kept = {k: round(v, 6) if isinstance(v, float) else v for k, v in values.items()}
            line = json.dumps({"time": now, "event": event, **kept}) + "\n"
            with self._lock:
                self._stream.write(line)
                self._stream.flush()
        except (OSError, ValueError, MemoryError):
            pass

    @contextlib.contextmanager
    def trouble(self, event: str) -> Iterator[None]:
        """Records an error of ours or of the operating system, by its kind, and goes on."""
        try:
            yield
        except (Error, OSError) as e:
            self(event, result=type(e).__name__)


class Refusals:
    """Logs calls that were refused at the door: the first of a kind at once, those soon after it as a number."""

    def __init__(self, log: Log, clock: Callable[[], float] = time.monotonic) -> None:
        self._log, self._clock, self._lock = log, clock, threading.Lock()
        self._pending: dict[str, int] = {}
        self._last: dict[str, float] = {}

    def __call__(self, kind: str) -> None:
        """Counts one. `kind` is a fixed word."""
        with self._lock:
            self._pending[kind] = self._pending.get(kind, 0) + 1
        self.flush()

    def flush(self, now: bool = False) -> None:
        """Logs what is due, or everything."""
        with self._lock:
            due = {
                kind: count
                for kind, count in self._pending.items()
                if now or self._clock() - self._last.get(kind, -1e9) >= _SHARED_SECONDS
            }
            for kind in due:
                del self._pending[kind]
                self._last[kind] = self._clock()
        for kind, count in due.items():
            self._log("refused", result=kind, count=count)


class Deadlines:
    """Calls functions whose time has come; one thread for all of them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._due: list[tuple[float, int, list[Callable[[], None]]]] = []
        self._numbers = itertools.count()
        self._over = 0
        self._running = False

    @contextlib.contextmanager
    def within(self, seconds: float, function: Callable[[], None]) -> Iterator[None]:
        """Calls the function if the block takes longer."""
        todo = [function]
        at = time.monotonic() + seconds
        with self._changed:
            if not self._running:  # the thread says itself that it runs: one that found no memory never did
                spawn(self._run)
            heapq.heappush(self._due, (at, next(self._numbers), todo))
            if self._due[0][2] is todo:
                self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                todo.clear()
                self._over += 1
                if self._over > 64 and 2 * self._over > len(self._due):  # blocks that have ended take no room
                    self._due = [d for d in self._due if d[2]]
                    heapq.heapify(self._due)
                    self._over = 0

    def _run(self) -> None:
        with self._changed:
            if self._running:
                return
            self._running = True
        while True:
            with contextlib.suppress(Exception):  # no memory for a moment: the next block is ended all the same
                self._end_next()

    def _end_next(self) -> None:
        with self._changed:
            while not self._due or self._due[0][0] > time.monotonic():
                self._changed.wait(self._due[0][0] - time.monotonic() if self._due else None)
            todo = heapq.heappop(self._due)[2]
            function = todo[0] if todo else None  # none: the block has ended
            self._over -= function is None
        if function is not None:
            function()


class GoneError(Exception):
    """The client has gone, or its deadline has passed: nobody hears an answer."""


@dataclass
class Call:
    """One call of one client, as its handler sees it."""

    context: Any
    limits: Limits
    deadlines: Deadlines
    method: str = ""
    client: bytes = b""
    gone: threading.Event = field(default_factory=threading.Event)
    stalled: bool = False
    displaced: bool = False
    notes: dict[str, float | int | str] = field(default_factory=dict)

    def going_on(self) -> bool:
        """Whether somebody still wants the answer."""
        left = self.context.time_remaining()
        return not self.gone.is_set() and (left is None or left > 0)

    def check(self, fraction: float) -> None:
        """A sign of progress, which ends the work when nobody wants it."""
        del fraction
        if not self.going_on():
            raise GoneError

    def when_over(self, function: Callable[[], None]) -> None:
        """Calls it once the call is over, however it ends."""
        if not self.context.add_callback(function):
            function()

    def within(self, seconds: float) -> contextlib.AbstractContextManager[None]:
        """Ends the call when the block takes longer."""

        def end() -> None:
            self.stalled = True
            self.context.cancel()

        return self.deadlines.within(seconds, end)

    def give_up(self, idle_seconds: float) -> bool:
        """End the call, so that what it holds is free for others; `sessions.Memory` asks for it."""
        if idle_seconds:
            return False
        self.displaced = True
        self.context.cancel()
        return True

    def moving(self) -> contextlib.AbstractContextManager[None]:
        """For the whole of what is to be received, or to be taken."""
        return self.within(self.limits.moving_seconds)

    def receive(self, requests: Iterator[Any]) -> Iterator[Any]:
        """The client's messages, each within the time that one may take."""
        while True:
            with self.within(self.limits.stall_seconds):
                message = next(requests, None)
            if message is None:
                return
            yield message


def is_inside(context: Any) -> bool:
    """Whether a call comes by the address that a service has for itself."""
    return str(context.peer()).startswith("unix")


class Names(Protocol):
    """What gives clients the names that they have here, in logs and in what is counted."""

    def client(self, identity: str) -> bytes:
        """The 16 bytes that stand for the client with this token or address, and do not tell it."""


class Door:
    """Lets calls in: knows clients, counts their calls, and turns exceptions into what a client understands.

    Args:
        limits: how many calls at once. names: gives clients their names, as a quota does.
        tokens: of the clients that are served; None serves all, and tells them apart by address. log: for events.
        meter: counts calls.
    """

    def __init__(self, limits: Limits, names: Names, tokens: Tokens | None, log: Log, meter: Meter) -> None:
        self._limits, self._names, self._tokens, self._log, self._meter = limits, names, tokens, log, meter
        self.refusals = Refusals(log)
        self._deadlines = Deadlines()
        self.probe_secret = secrets.token_hex(32)
        self._calls: dict[bytes, int] = {}
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def entering(self, name: str, context: Any) -> Iterator[Call]:
        """Around one call: authenticates, counts, logs."""
        start = time.monotonic()
        call = Call(context, self._limits, self._deadlines, name)
        refusal: tuple[grpc.StatusCode, str, str] | None = None
        result = "ok"
        inside = False
        counted = True
        try:
            if self._is_probe(context):
                call.client, counted = PROBE_CLIENT, False
            else:
                call.client = self._names.client(self._identity(context))
            self._count(call.client)
            inside = True
            if counted:
                self._meter.begin()
            call.when_over(call.gone.set)
            yield call
        except GeneratorExit:  # nobody takes the messages of a stream any more
            result = "gone"
            raise
        except (GoneError, grpc.RpcError):
            result = "gone"
            late = context.time_remaining() == 0
            code = grpc.StatusCode.DEADLINE_EXCEEDED if late else grpc.StatusCode.CANCELLED
            refusal = (code, "its deadline passed" if late else "the client went away", "Error")
        except ClusterError as e:
            result = "ClusterError"
            call.notes["why"] = why(e)
            refusal = (grpc.StatusCode.UNAVAILABLE, WORKERS_FAILED, "Error")
        except (Error, AccessError) as e:
            code = next((c for kind, c in _STATUS if isinstance(e, kind)), grpc.StatusCode.INTERNAL)
            result = type(e).__name__
            refusal = (code, " ".join(str(e).split()), result)
        except (OSError, MemoryError) as e:  # of the machine, for now; nobody's names of files
            result = type(e).__name__
            why_not = e.strerror if isinstance(e, OSError) and e.strerror else "it has no memory left for it"
            text = f"the server cannot do this now ({why_not}): try again later, or tell its operator"
            refusal = (grpc.StatusCode.UNAVAILABLE, text, "StorageError")
        except Exception as e:  # a fault of ours: the client hears that, the log where, nobody any contents
            where = e.__traceback__
            while where is not None and where.tb_next is not None:
                where = where.tb_next
            at = f"{os.path.basename(where.tb_frame.f_code.co_filename)}:{where.tb_lineno}" if where else ""
            result = f"fault {type(e).__name__} at {at}"
            refusal = (grpc.StatusCode.INTERNAL, "the server failed; its log says where: tell its operator", "Error")
        finally:
            if inside:
                self._uncount(call.client)
            if not counted:
                pass  # neither a client nor a matter for the log
            elif inside:
                seconds = time.monotonic() - start
                result = "displaced" if call.displaced else "stalled" if call.stalled else result
                self._meter.end(name, _outcome(result), seconds)
                self._log(name, client=call.client.hex()[:12], result=result, seconds=seconds, **call.notes)
            else:
                self._meter.refused(name, _outcome(result))
                self.refusals(result)
        if refusal is not None:
            context.set_trailing_metadata(((ERROR_KEY, refusal[2]),))
            context.abort(refusal[0], refusal[1])

    @property
    def busy(self) -> bool:
        """Whether calls that were let in are under way."""
        with self._lock:
            return bool(self._calls)

    def _is_probe(self, context: Any) -> bool:
        shown = [value for key, value in context.invocation_metadata() or () if key == PROBE_KEY]
        return len(shown) == 1 and hmac.compare_digest(str(shown[0]).encode(), self.probe_secret.encode())

    def _identity(self, context: Any) -> str:
        if is_inside(context):
            raise AccessError("this address is the service's own, for looking at its front door")
        if self._tokens is None:
            return peer_identity(context.peer())
        return self._tokens.identity(context.invocation_metadata())

    def _count(self, client: bytes) -> None:
        each, most = self._limits.calls_each, self._limits.calls
        with self._lock:
            have, every = self._calls.get(client, 0), sum(self._calls.values())
            if have >= each:
                raise BusyError(f"this client has {each} calls under way already, the most it may: wait for them")
            # Others may have taken all: a client has its share all the same, so that they cannot keep it out.
            fair = have < share(most, len(self._calls.keys() - {client}))
            if every >= most and (not fair or every >= most + _BEYOND):
                raise BusyError(f"this server has {most} calls under way already, the most it takes: try again later")
            self._calls[client] = have + 1

    def _uncount(self, client: bytes) -> None:
        with self._lock:
            self._calls[client] -= 1
            if not self._calls[client]:
                del self._calls[client]


def _outcome(result: str) -> str:
    """The word under which a result is counted: those of faults have places in them, of which there may be many."""
    return "fault" if result.startswith("fault ") else result
