# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The health protocol of gRPC, `grpc.health.v1.Health`, for whoever watches over a service.

It asks for no token, since probes have none, and tells nothing but whether calls are taken. So that strangers gain
nothing by it, few such calls go on at a time, beside those of clients, and each must send its message in time.
"""

from __future__ import annotations

import threading
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
        self._checks = threading.BoundedSemaphore(MOST_CHECKS)
        self._watches = threading.BoundedSemaphore(MOST_WATCHES)

    def stop(self) -> None:
        """No calls are taken from now on; whoever watches hears it."""
        with self._changed:
            self._serving = False
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
        self, places: threading.BoundedSemaphore, method: Callable[[str, Any], Iterator[Any]]
    ) -> Callable[[Any, Any], Iterator[Any]]:
        def call(requests: Any, context: Any) -> Iterator[Any]:
            if not places.acquire(blocking=False):
                context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many ask at a time: ask again later")
            try:
                with self._deadlines.within(self._seconds, context.cancel):
                    message = next(requests, None)
                if message is None or isinstance(message, framing.Malformed):
                    context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the message is no HealthCheckRequest")
                for answer in method(getattr(message, "service", ""), context):
                    with self._deadlines.within(self._seconds, context.cancel):
                        yield answer
            except grpc.RpcError:  # the caller has gone
                return
            finally:
                places.release()

        return call

    def _check(self, name: str, context: Any) -> Iterator[Any]:
        if name not in self._names:
            context.abort(grpc.StatusCode.NOT_FOUND, "there is no such service here")
        yield pb.HealthCheckResponse(status=_Serving.SERVING if self._serving else _Serving.NOT_SERVING)

    def _watch(self, name: str, context: Any) -> Iterator[Any]:
        gone = threading.Event()

        def leave() -> None:
            gone.set()
            with self._changed:
                self._changed.notify_all()

        if not context.add_callback(leave):
            return
        told = None
        while not gone.is_set():
            with self._changed:
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
