# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A service in this process with a scripted server behind it: for tests of the service itself, without cryptography."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from ringforge.errors import Error, FormatError
from ringforge.psi import wire
from ringforge.psi.remote import Connection
from ringforge.psi.service import Service
from ringforge.serving.calls import Log
from ringforge.serving.limits import Limits
from ringforge.serving.listener import Running
from ringforge.serving.quota import Quota

#: Sizes of the scripted plan; the request is larger than a chunk.
KEY_BYTES, REQUEST_BYTES, REPLY_BYTES, BINS = 3_000_000, 1_500_000, 2_500_000, 256


class Plan:
    """Sizes, as a native plan has them."""

    key_bytes, request_bytes, reply_bytes, bins = KEY_BYTES, REQUEST_BYTES, REPLY_BYTES, BINS


class Info:
    """As much of a table info as the service uses."""

    def __init__(self, version: int = 1) -> None:
        self.version = version

    def to_json(self) -> bytes:
        return json.dumps({"version": self.version, "padding": "x" * 1_200_000}).encode()

    def digest(self) -> str:
        return hashlib.sha256(self.to_json()).hexdigest()

    def native(self) -> Plan:
        return Plan()

    def reply_bytes(self, plan: Plan) -> int:
        return plan.reply_bytes


@dataclass
class Session:
    """Keys, with the info they were made for."""

    info: Info
    keys: bytes
    bytes: int = KEY_BYTES

    @property
    def plan(self) -> Plan:
        return self.info.native()


@dataclass
class ScriptedServer:
    """Answers with a hash of keys and request. `gate` holds computations up, `prf_gate` evaluations; `computing` says
    that one is under way."""

    info: Info = field(default_factory=Info)
    gate: threading.Event = field(default_factory=threading.Event)
    prf_gate: threading.Event = field(default_factory=threading.Event)
    computing: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    order: list[bytes] = field(default_factory=list)
    cancelled: int = 0
    newer: Info | None = None
    fault: Exception | None = None

    def __post_init__(self) -> None:
        self.gate.set()
        self.prf_gate.set()

    def reload(self, check: Callable[[Any], None]) -> bool:
        if self.newer is None:
            return False
        check(self.newer)
        self.info, self.newer = self.newer, None
        return True

    def evaluate_prf(self, blinded: Sequence[bytes], progress: Callable[[float], None]) -> list[bytes]:
        progress(0.0)
        self.prf_gate.wait()
        if any(b == bytes(32) for b in blinded):
            raise FormatError("an element is no valid encoding")
        if self.fault:
            raise self.fault
        return [hashlib.sha256(b).digest() for b in blinded]

    def open(self, keys: bytes, digest: str) -> Session:
        assert digest == self.info.digest()
        if keys[:4] != b"keys":
            raise FormatError("no evaluation keys")
        return Session(self.info, keys)

    def answer(self, session: Session, request: bytes, progress: Callable[[float], bool]) -> bytes:
        self.order.append(request[:8])
        self.computing.release()
        step = 0
        while not self.gate.wait(0.01) or step < 8:
            if not progress(step / 8):
                self.cancelled += 1
                raise Error("cancelled")
            step = min(step + 1, 7) if not self.gate.is_set() else step + 1
        return reply_to(session.keys, request)


def keys(who: int = 0) -> bytes:
    """Evaluation keys of the right size."""
    return b"keys" + bytes([who]) * (KEY_BYTES - 4)


def request(number: int = 0) -> bytes:
    """A request of the right size."""
    return number.to_bytes(8, "big") + bytes(REQUEST_BYTES - 8)


def reply_to(keys: bytes, request: bytes) -> bytes:
    """What `ScriptedServer` answers."""
    seed = hashlib.sha256(keys + request).digest()
    return (seed * (REPLY_BYTES // 32 + 1))[:REPLY_BYTES]


@dataclass
class Loop:
    """A running service, with what tests look at."""

    server: ScriptedServer
    service: Service
    running: Running
    log: io.StringIO
    quota: Quota
    folder: Path

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.running.port}"

    @property
    def table(self) -> bytes:
        return bytes.fromhex(self.server.info.digest())

    def events(self, name: str) -> list[dict[str, Any]]:
        """Log lines of one event."""
        return [e for e in map(json.loads, self.log.getvalue().splitlines()) if e["event"] == name]


@contextlib.contextmanager
def loop(
    folder: Path,
    limits: Limits | None = None,
    *,
    prf: int = 1 << 20,
    bins: int = 1 << 20,
    tokens: Any = None,
    credentials: Any = None,
    server: ScriptedServer | None = None,
) -> Iterator[Loop]:
    """Runs a service with a `ScriptedServer` on a free port."""
    limits = limits or Limits(grace_seconds=0)
    server = server or ScriptedServer()
    quota = Quota(folder / "quota.sqlite", {"prf": prf, "bins": bins}, words=wire.QUOTAS)
    log = io.StringIO()
    service = Service(server, quota, limits, tokens, Log(log))  # type: ignore[arg-type]
    running = Running(service, "127.0.0.1:0", credentials)
    try:
        yield Loop(server, service, running, log, quota, folder)
    finally:
        server.gate.set()
        server.prf_gate.set()
        running.stop(0)
        quota.close()


def exchange(loop: Loop, who: int = 0, **options: Any) -> None:
    """A session and a query that must work."""
    with Connection(loop.address, timeout=60, **options) as c:
        session = c.open_session(loop.table, keys(who))
        reply = c.query(loop.table, session, request(who), REPLY_BYTES)
        assert reply == reply_to(keys(who), request(who))
        c.close_session(session)


def status(loop: Loop, method: str, messages: list[bytes], metadata: Any = ()) -> tuple[grpc.StatusCode, str]:
    """What the service says to these raw messages."""
    channel = grpc.insecure_channel(loop.address)
    _, _, client_streams, server_streams = wire.METHODS[method]
    kind = ("stream" if client_streams else "unary") + "_" + ("stream" if server_streams else "unary")
    call = getattr(channel, kind)(f"/{wire.SERVICE}/{method}", None, None)
    try:
        answer = call(iter(messages) if client_streams else messages[0], timeout=30, metadata=metadata)
        list(answer) if server_streams else None
    except grpc.RpcError as e:
        return e.code(), e.details()
    finally:
        channel.close()
    return grpc.StatusCode.OK, ""


def wait_for(condition: Callable[[], bool]) -> None:
    """Until something has happened that other threads do."""
    tick = threading.Event()
    for _ in range(3000):
        if condition():
            return
        tick.wait(0.01)
    raise AssertionError("it does not happen")
