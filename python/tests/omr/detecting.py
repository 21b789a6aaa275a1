# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A detector in this process whose steps are hashes: for tests of what surrounds the computation."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ringforge.errors import FormatError, ParameterError
from ringforge.omr.depot import Depot, read_result
from ringforge.omr.detector_client import Connection, key_name
from ringforge.omr.detector_service import Kept, Service
from ringforge.omr.progress import Progress, reach
from ringforge.omr.steps import Request, Step
from ringforge.serving.access import Tokens
from ringforge.serving.calls import Log
from ringforge.serving.limits import Limits
from ringforge.serving.listener import Running
from ringforge.serving.quota import Quota

#: Larger than a chunk.
KEY_BYTES = 2_500_000

DIGEST_BYTES = 1_500_000

#: Seconds between two looks whether a step is to go on.
BEAT = 0.01

PLAN = hashlib.sha256(b"plan").hexdigest()
BULLETINS = [(i, hashlib.sha256(bytes([i])).hexdigest()) for i in range(3)]

TOKENS = ["a" * 32, "b" * 32]


def key_file(folder: Path, who: int = 0, capacity: int = 50) -> Path:
    """A detection key of the right size."""
    path = folder / f"key{who}"
    path.write_bytes((b"key %d %d " % (who, capacity)).ljust(KEY_BYTES, b"."))
    return path


def steps_of(request: Request, plan: str = PLAN) -> list[Step]:
    """Four shards, their sum, the range check, two shards of compression, the digest."""

    def step(stage: str, first: int, last: int, *needs: Step, share: float = 1.0, **options: int) -> Step:
        return Step(
            stage,
            plan,
            request.key,
            request.digest,
            first,
            last,
            tuple(sorted(options.items())),
            tuple(n.name for n in needs),
            share,
        )

    shards = [step("affine", i, i + 1, share=4) for i in range(4)]
    combined = step("combination", 0, 4, *shards)
    checked = step("range check", 0, 1, combined, share=8)
    about = {"capacity": request.capacity, "begin": request.first, "end": request.last}
    halves = [step("compression", i, i + 1, checked, **about) for i in range(2)]
    return [*shards, combined, checked, *halves, step("digest", 0, 2, *halves, **about)]


@dataclass
class HashWorker:
    """Steps whose results are hashes. `gate` holds them up, for `pace` seconds at least; `begun` says that one is under
    way. They can be cancelled at every `BEAT`.
    """

    plan: str = PLAN
    gate: threading.Event = field(default_factory=threading.Event)
    begun: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    ran: list[tuple[str, str]] = field(default_factory=list)
    fault: Callable[[Step], None] = lambda _: None
    pace: Callable[[Step], float] = lambda _: 0.0

    def __post_init__(self) -> None:
        self.gate.set()

    def describe(self) -> dict[str, Any]:
        return {"set": "hashes", "plan": self.plan}

    def bulletins(self) -> list[tuple[int, str]]:
        return BULLETINS

    def check_key(self, path: Path, progress: Progress | None = None) -> dict[str, Any]:
        del progress
        words = path.read_bytes()[:64].split()
        if words[0] != b"key":
            raise FormatError("no detection key")
        return {"capacity": int(words[2])}

    def key_bytes(self) -> tuple[int, int]:
        return KEY_BYTES, KEY_BYTES

    def steps(self, request: Request) -> list[Step]:
        if request.capacity > 65:
            raise ParameterError(f"a capacity of {request.capacity}: 65 is the most")
        return steps_of(request, self.plan)

    def open(self, key: Path, progress: Progress | None = None) -> HashSession:
        del progress
        return HashSession(self, key.read_bytes())


@dataclass
class HashSession:
    """A key, and what computes with it."""

    worker: HashWorker
    key: bytes

    def run(self, step: Step, inputs: Sequence[Path], progress: Progress | None = None) -> tuple[bytes, dict[str, int]]:
        assert [p.name for p in inputs] == list(step.inputs)
        self.worker.ran.append((step.stage, step.key[:8]))
        self.worker.begun.release()
        begun, least = time.monotonic(), self.worker.pace(step)
        while (took := time.monotonic() - begun) < least or not self.worker.gate.is_set():
            assert took < 60
            reach(progress, took / (took + 1))
            time.sleep(BEAT)
        self.worker.fault(step)
        return result_of(step, self.key, [read_result(p) for p in inputs]), {"hashes": 1 + len(inputs)}


def result_of(step: Step, key: bytes, inputs: Sequence[bytes]) -> bytes:
    """What a step's result is."""
    seed = hashlib.sha256(step.to_json() + hashlib.sha256(key).digest() + b"".join(inputs)).digest()
    size = DIGEST_BYTES if step.stage == "digest" else 4096
    return (seed * (size // 32 + 1))[:size]


def expected(request: Request, key: Path) -> bytes:
    """The digest of a request, computed without a detector."""
    results: dict[str, bytes] = {}
    last = b""
    for step in steps_of(request):
        last = results[step.name] = result_of(step, key.read_bytes(), [results[i] for i in step.inputs])
    return last


def request(key: Path, bulletin: int = 0, mode: str = "messages", capacity: int = 50, last: int = 4096) -> Request:
    """About one of `BULLETINS`."""
    return Request(key_name(key), *BULLETINS[bulletin], mode, capacity, 0, last)


@dataclass
class Loop:
    """A running detector, with what tests look at."""

    worker: Any
    service: Service
    running: Running
    log: io.StringIO
    depot: Depot
    quota: Quota

    def connect(self, who: int | None = None, **options: Any) -> Connection:
        """As one of the clients of `TOKENS`, or as nobody in particular."""
        token = None if who is None else TOKENS[who]
        return Connection(f"127.0.0.1:{self.running.port}", timeout=60, token=token, **options)

    def events(self, name: str) -> list[dict[str, Any]]:
        """Log lines of one event."""
        return [e for e in map(json.loads, self.log.getvalue().splitlines()) if e["event"] == name]


@contextlib.contextmanager
def loop(
    folder: Path,
    *,
    worker: Any = None,
    limits: Limits | None = None,
    kept: Kept | None = None,
    quota: int = 1 << 20,
    tokens: bool = False,
    credentials: Any = None,
) -> Iterator[Loop]:
    """Runs a detector on a free port."""
    worker = worker or HashWorker()
    counted = Quota(folder / "quota.sqlite", {"bulletins": quota})
    log = io.StringIO()
    depot = Depot(folder / "store")
    service = Service(
        worker,
        depot,
        counted,
        limits or Limits(grace_seconds=0),
        kept,
        Tokens(TOKENS) if tokens else None,
        Log(log),
    )
    running = Running(service, "127.0.0.1:0", credentials)
    try:
        yield Loop(worker, service, running, log, depot, counted)
    finally:
        service.jobs.stop()
        if isinstance(worker, HashWorker):
            worker.gate.set()
        running.stop(0)
        assert service.jobs.join(60)
        service.close()
        counted.close()


def digest(c: Connection, asked: Request) -> bytes:
    """A whole request."""
    job = c.submit(asked)
    c.watch(job)
    return c.fetch(job)
