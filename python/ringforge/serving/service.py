# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What the services of all systems are made of: methods behind a door.

A client that goes away, that neither sends nor takes what it should, or whose deadline passes, ends its call.
`calls.Door` lets clients in.
"""

from __future__ import annotations

import abc
import contextlib
import functools
import hashlib
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

import grpc
from grpc_health.v1 import health_pb2 as _health_pb2

from ringforge.errors import Error, FormatError, StorageError
from ringforge.serving import framing
from ringforge.serving.access import Tokens
from ringforge.serving.calls import PROBE_KEY, Call, Door, Log, Names
from ringforge.serving.health import Health
from ringforge.serving.limits import Limits
from ringforge.serving.meter import Meter
from ringforge.serving.quota import Quota
from ringforge.serving.sessions import BusyError, Turns
from ringforge.serving.status import Asked, Load, Method, Queue, Task, Use
from ringforge.serving.work import Threads, Work
from ringforge.threads import retry

health_pb2: Any = _health_pb2

#: Seconds for which counts of quotas, and of disks, are good: they are read from files.
_QUOTA_SECONDS, _DISK_SECONDS = 2.0, 60.0

#: Method by which a service looks at its own front door; no client's.
READY = "Ready"

#: What is computed or waits, told of one by one, at the most; queues say how much there is.
_TASKS = 64

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
        self.meter = Meter(tuple(methods))
        self.health = Health(name, limits.stall_seconds)
        self._door = Door(limits, names, tokens, self._log, self.meter)
        self._threads = Threads()
        self._ready_turns = Turns(limits.calls)
        self._checking = False  # a check for the look at the front door is under way
        self._quotas_read: tuple[float, dict[str, Asked]] = (-1e9, {})
        self._disks_read: tuple[float, dict[str, Use]] = (-1e9, {})

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
                self._call(name, of[name]),
                request_deserializer=self._reading(name, framing.parser(request)),
                response_serializer=functools.partial(self._serialize, name),
            )
        made[READY] = grpc.stream_stream_rpc_method_handler(
            self._call(READY, self._serve_ready),
            request_deserializer=framing.parser(health_pb2.HealthCheckRequest),
            response_serializer=lambda message: bytes(message.SerializeToString()),
        )
        return grpc.method_handlers_generic_handler(self._name, made)

    def _serve_ready(self, requests: Iterator[Any], call: Call) -> Iterator[Any]:
        """Do what a small call of a client does: be let in, send a message, count, compute in turn, answer.

        A service is not mute while its check waits, for a file that others have locked: the look hears that after half
        of its time.
        """
        only(requests, "HealthCheckRequest")
        until = time.monotonic() + min(self.limits.stall_seconds, call.context.time_remaining()) / 2

        def compute(_: Callable[[float], bool]) -> None:
            self._checking = True
            try:
                self.check(call.client)
            finally:
                self._checking = False

        work = Work(self._threads, call, self._ready_turns, self._ready_turns.enter(call.client), compute)
        while not work.done:
            left = until - time.monotonic()
            if work.step(max(left, 0.05)) is None and not work.done and self._checking and left <= 0:
                raise StorageError("the files that every call needs are in use by others: try again later")
        yield health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.SERVING)

    def check(self, client: bytes) -> None:  # noqa: B027, for services that count nothing
        """Do what every client's first call needs; raises the error that it would raise."""

    @property
    def probe_metadata(self) -> tuple[tuple[str, str], ...]:
        """The metadata by which the service's own look at its front door is known."""
        return ((PROBE_KEY, self._door.probe_secret),)

    @property
    def name(self) -> str:
        """The service's name, as in its .proto file."""
        return self._name

    @property
    def busy(self) -> bool:
        """Whether calls that were let in, or computations, are under way."""
        return self._door.busy or self._threads.busy

    def _call(self, name: str, handler: Handler) -> Callable[[Any, Any], Iterator[Any]]:
        def call(requests: Any, context: Any) -> Iterator[Any]:
            with self._door.entering(name, context) as entered:
                for message in handler(entered.receive(requests), entered):
                    with entered.within(self.limits.stall_seconds):
                        yield message

        return call

    def _reading(self, name: str, parse: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
        def read(data: bytes) -> Any:
            self.meter.moved(name, received=len(data))
            return parse(data)

        return read

    def _serialize(self, name: str, message: Any) -> bytes:
        data = bytes(message.SerializeToString())
        self.meter.moved(name, sent=len(data))
        return data

    # ---- what it tells of itself -------------------------------------------------------------------

    def load(self) -> Load:
        """What the service does now, and has done, for those who run it. No client is named."""
        now = time.monotonic()
        # What is read from files: the last counts for as long as these cannot be read.
        if now - self._quotas_read[0] > _QUOTA_SECONDS:
            self._quotas_read = (now, self._quotas_read[1])
            with contextlib.suppress(Error, OSError):
                self._quotas_read = (now, self._quotas())
        if now - self._disks_read[0] > _DISK_SECONDS:
            self._disks_read = (now, self._disks_read[1])
            with contextlib.suppress(Error, OSError):
                self._disks_read = (now, self._disks())
        return Load(
            under_way=self.meter.under_way,
            methods={name: Method.of(c) for name, c in self.meter.counted().items()},
            queues={name: Queue(waiting=t.waiting, most=t.most) for name, t in self._queues().items()},
            work=self._under_way()[:_TASKS],
            quotas=self._quotas_read[1],
            uses={**self._uses(), **self._disks_read[1]},
        )

    def _queues(self) -> Mapping[str, Turns]:
        """Where clients wait, by a fixed word for what."""
        return {}

    def _under_way(self) -> list[Task]:
        """What is computed, and what waits for it."""
        return self._threads.tasks()

    def _quotas(self) -> dict[str, Asked]:
        """What was asked for today."""
        return {}

    def _uses(self) -> dict[str, Use]:
        """How much of what it has to give is taken."""
        return {}

    def _disks(self) -> dict[str, Use]:
        """The same, of what takes a while to be counted."""
        return {}

    # ---- life --------------------------------------------------------------------------------------

    def reload(self) -> None:  # noqa: B027, for services that have nothing to reload
        """Takes up what has changed on disk; SIGHUP asks for it."""

    def housekeeping(self) -> None:
        """To be called now and then: forgets what is idle."""
        retry()
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


def asked_today(quota: Quota) -> dict[str, Asked]:
    """What a quota has counted since midnight, of all clients together.

    Raises:
        QuotaFileError: it cannot be read.
    """
    used = quota.used()
    return {
        kind: Asked(used=used.get(kind, (0, 0))[0], clients=used.get(kind, (0, 0))[1], each=limit)
        for kind, limit in quota.limits.items()
    }
