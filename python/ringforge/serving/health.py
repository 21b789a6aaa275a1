# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The health protocol of gRPC, `grpc.health.v1.Health`, for whoever watches over a service.

It asks for no token, since probes have none, and tells nothing but whether calls are taken. So that strangers gain
nothing by it, few such calls go on at a time, beside those of clients, and each must send its message in time. When
there are too many, the one that has waited for its peer the longest is ended: a check that sends its message at once is
answered at once, and no number of silent streams keeps it out. Watches that were answered go next, the oldest first.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import grpc
from grpc_health.v1 import health_pb2

from ringforge.serving import framing
from ringforge.serving.calls import Deadlines

pb: Any = health_pb2

SERVICE = "grpc.health.v1.Health"

#: Checks and watches under way at a time.
MOST_CHECKS, MOST_WATCHES = 64, 16

_Serving = pb.HealthCheckResponse.ServingStatus


class _Places:
    """Calls under way. One that waits for its peer, to send or take a message, goes when another needs the place.

    Args:
        displaced: called when one that has been answered has lost its place, which `has` tells it; None keeps these.
    """

    def __init__(self, most: int, sending_seconds: float, displaced: Callable[[], None] | None = None) -> None:
        self._most, self._sending, self._displaced = most, sending_seconds, displaced
        self._lock = threading.Lock()
        self._waiting: dict[Any, float] = {}  # when each may be ended, in the order in which they came

    def enter(self, context: Any) -> bool:
        """Takes a place, another's if need be; says whether there was one."""
        with self._lock:
            gone, answered = None, False
            if len(self._waiting) >= self._most:
                now = time.monotonic()
                gone = next((c for c, at in self._waiting.items() if at <= now), None)
                if gone is None and self._displaced is not None:
                    gone = next((c for c, at in self._waiting.items() if at == math.inf), None)
                if gone is None:
                    return False
                answered = self._waiting.pop(gone) == math.inf
            self._waiting[context] = 0.0
        if answered and self._displaced is not None:
            self._displaced()
        elif gone is not None:
            gone.cancel()
        return True

    def has(self, context: Any) -> bool:
        """Whether the call still has its place."""
        with self._lock:
            return context in self._waiting

    def waiting(self, context: Any, waits: bool) -> None:
        """The call waits for its peer to take a message from now on, or no longer."""
        with self._lock:
            if context in self._waiting:
                self._waiting[context] = time.monotonic() + self._sending if waits else math.inf

    def leave(self, context: Any) -> None:
        """Gives the place up, if it is still there."""
        with self._lock:
            self._waiting.pop(context, None)


class Health:
    """Answers whether a service takes calls.

    Args:
        name: of the service, as its .proto file has it; the empty name stands for the whole server.
        seconds: within which a call's message must come, and each of ours be taken.
    """

    def __init__(self, name: str, seconds: float) -> None:
        self._names, self._seconds = ("", name), seconds
        self._changed = threading.Condition()
        self._serving = True
        self._deadlines = Deadlines()
        self._checks = _Places(MOST_CHECKS, 0.0)
        self._watches = _Places(MOST_WATCHES, 1.0, self._look_again)

    def stop(self) -> None:
        """No calls are taken from now on; whoever watches hears it."""
        self._serving = False
        self._look_again()

    def _look_again(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def handlers(self) -> grpc.GenericRpcHandler:
        """The methods, for `grpc.server`."""
        made = {
            name: grpc.stream_stream_rpc_method_handler(
                self._limited(places, method),
                request_deserializer=framing.parser(pb.HealthCheckRequest),
                response_serializer=pb.HealthCheckResponse.SerializeToString,
            )
            for name, places, method in (
                ("Check", self._checks, self._check),
                ("Watch", self._watches, self._watch),
            )
        }
        return grpc.method_handlers_generic_handler(SERVICE, made)

    def _limited(
        self, places: _Places, method: Callable[[str, Any], Iterator[Any]]
    ) -> Callable[[Any, Any], Iterator[Any]]:
        def call(requests: Any, context: Any) -> Iterator[Any]:
            if not places.enter(context):
                context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many ask at a time: ask again later")
            try:
                with self._deadlines.within(self._seconds, context.cancel):
                    message = next(requests, None)
                if message is None or isinstance(message, framing.Malformed):
                    context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the message is no HealthCheckRequest")
                for answer in method(getattr(message, "service", ""), context):
                    places.waiting(context, True)  # until it takes the answer
                    with self._deadlines.within(self._seconds, context.cancel):
                        yield answer
                    places.waiting(context, False)
            except grpc.RpcError:  # the caller has gone
                return
            finally:
                places.leave(context)

        return call

    def _check(self, name: str, context: Any) -> Iterator[Any]:
        if name not in self._names:
            context.abort(grpc.StatusCode.NOT_FOUND, "there is no such service here")
        yield pb.HealthCheckResponse(status=_Serving.SERVING if self._serving else _Serving.NOT_SERVING)

    def _watch(self, name: str, context: Any) -> Iterator[Any]:
        gone = threading.Event()

        def leave() -> None:
            gone.set()
            self._look_again()

        if not context.add_callback(leave):
            return
        told = None
        while not gone.is_set():
            with self._changed:
                if not self._watches.has(context):
                    context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "another watch has taken the place: watch again")
                now = _Serving.SERVICE_UNKNOWN
                if name in self._names:
                    now = _Serving.SERVING if self._serving else _Serving.NOT_SERVING
                if now == told:
                    if not self._serving:
                        return
                    self._changed.wait()
                    continue
            told = now
            yield pb.HealthCheckResponse(status=now)
