# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Attacks on a service of this machine. Each goes on until told that it is over, bounded by its numbers."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ringforge.errors import Error
from ringforge.psi.client import Client
from ringforge.psi.remote import Connection as Psi
from ringforge.serving import health
from tests.attack.services import HOSTILE, Service
from tests.psi.hostile import Hostile

#: Seconds for which a process is squeezed or stopped.
MOMENT = 3.0

Over = threading.Event


def _open(eve: Hostile, path: str) -> int:
    _, service, method = path.split("/")
    return eve.open(method, service=service)


def _hold(service: Service, over: Over, tokens: Sequence[str], window: int = 65535, message: bytes = b"") -> None:
    """As many calls of each token as it may have, silent or not read; new ones when they are ended."""
    while not over.is_set():
        with contextlib.ExitStack() as held:
            for token in tokens:
                with contextlib.suppress(OSError):
                    eve = held.enter_context(Hostile(service.port, token=token, window=window))
                    for i in range(32):
                        stream = _open(eve, service.methods[i % len(service.methods)])
                        if message:
                            eve.send(stream, message, 1)
                            eve.end(stream)
            over.wait(5)


def _sessions(service: Service, over: Over, tokens: Sequence[str]) -> None:
    """As many idle sessions as each token may have, again and again."""
    while not over.is_set():
        for token in tokens:
            with contextlib.suppress(Error, OSError), Psi(service.address, token=token, timeout=10) as c:
                info, _ = c.info()
                keys = Client(info, [b"x"]).keys()
                for _ in range(16):
                    if not over.is_set():
                        c.open_session(bytes.fromhex(info.digest()), keys)
        over.wait(1)


def _tokens(count: int) -> Callable[[Service, Over], None]:
    def attack(service: Service, over: Over) -> None:
        if service.name == "psi serve":
            half = threading.Thread(target=_sessions, args=(service, over, HOSTILE[:count]))
            half.start()
            _hold(service, over, HOSTILE[:count])
            half.join()
        else:
            _hold(service, over, HOSTILE[:count])

    return attack


def slow_readers(service: Service, over: Over) -> None:
    """Calls whose answers nobody takes: windows of zero."""
    _hold(service, over, HOSTILE[:4], window=0, message=b"\0\0\0\0\0")


def silent_streams(service: Service, over: Over) -> None:
    """Without a token: three connections with 90 streams each that send nothing."""
    while not over.is_set():
        with contextlib.ExitStack() as held:
            for _ in range(3):
                with contextlib.suppress(OSError):
                    eve = held.enter_context(Hostile(service.port))
                    for i in range(90):
                        _open(eve, service.methods[i % len(service.methods)])
            over.wait(2)


def _connections(
    port: int, over: Over, count: int, sent: Callable[[], bytes], seconds: float, host: str = "127.0.0.1"
) -> None:
    while not over.is_set():
        held = []
        for _ in range(count):
            with contextlib.suppress(OSError):
                held.append(socket.create_connection((host, port), timeout=1))
                held[-1].sendall(sent())
        over.wait(seconds)
        for s in held:
            s.close()


def garbage(service: Service, over: Over) -> None:
    """Random bytes, and random frames after a proper beginning."""
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    start = [
        b"",
        preface,
        b"POST /run HTTP/1.1\r\nHost: 127.0.0.1\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    ]
    _connections(service.port, over, 20, lambda: random.choice(start) + random.randbytes(2000), 0.5)


def half_open(service: Service, over: Over) -> None:
    """Two hundred connections that say nothing."""
    _connections(service.port, over, 200, lambda: b"", 5)


def flood(service: Service, over: Over) -> None:
    """Connections opened and closed, some hundred a second."""
    _connections(service.port, over, 50, lambda: b"", 0.1)


def strangers(service: Service, over: Over) -> None:
    """Silence at the endpoint of metrics and, of gRPC, on the health protocol; watches that are not read."""
    at = int(service.metrics.rpartition(":")[2])
    pages = threading.Thread(target=_connections, args=(at, over, 100, lambda: b"GET /readyz HTT", 3))
    pages.start()
    while service.methods and not over.is_set():
        with contextlib.ExitStack() as held:
            for window in (65535, 65535, 65535, 0):
                with contextlib.suppress(OSError):
                    eve = held.enter_context(Hostile(service.port, window=window))
                    for i in range(90):
                        stream = eve.open(("Check", "Watch")[i % 2], service=health.SERVICE)
                        if not window:
                            eve.send(stream, b"\0\0\0\0\0", 1)
                            eve.end(stream)
            over.wait(3)
    pages.join()


@contextlib.contextmanager
def _limited(pid: int, kind: int, least: int) -> Iterator[None]:
    before = resource.prlimit(pid, kind)
    resource.prlimit(pid, kind, (least, before[1]))
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(pid, kind, before)


def no_memory(service: Service, over: Over) -> None:
    """No more address space than it has, for a moment."""
    lines = Path(f"/proc/{service.pid}/status").read_text().splitlines()
    size = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmSize:"))
    with contextlib.suppress(ProcessLookupError), _limited(service.pid, resource.RLIMIT_AS, size):
        over.wait(MOMENT)
    over.wait()


def no_descriptors(service: Service, over: Over) -> None:
    """No more open files than it has, for a moment, while many connect."""
    used = len(os.listdir(f"/proc/{service.pid}/fd"))
    moment = Over()
    many = threading.Thread(target=half_open, args=(service, moment))
    with contextlib.suppress(ProcessLookupError), _limited(service.pid, resource.RLIMIT_NOFILE, used + 2):
        many.start()
        over.wait(MOMENT)
    moment.set()
    many.join()
    over.wait()


def stopped(service: Service, over: Over) -> None:
    """SIGSTOP, and SIGCONT after a moment."""
    pid = service.pid
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
        over.wait(MOMENT)
        os.kill(pid, signal.SIGCONT)
    over.wait()


def killed(service: Service, over: Over) -> None:
    """SIGKILL; who supervises it starts another."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(service.pid, signal.SIGKILL)
    over.wait()


#: By name; the first ones only for services by gRPC.
GRPC: dict[str, Callable[[Service, Over], None]] = {
    "4 tokens at their limits": _tokens(4),
    "16 tokens at their limits": _tokens(16),
    "silent streams": silent_streams,
    "slow readers": slow_readers,
}
ALL: dict[str, Callable[[Service, Over], None]] = {
    "none": lambda _, over: (over.wait(), None)[1],
    "garbage": garbage,
    "half-open connections": half_open,
    "flood of connections": flood,
    "strangers at health and metrics": strangers,
    "no memory for a moment": no_memory,
    "no descriptors for a moment": no_descriptors,
    "SIGSTOP for a moment": stopped,
    "kill -9": killed,
}
