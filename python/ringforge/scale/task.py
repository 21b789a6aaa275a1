# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a worker does with a shard.

Shards are computed on a thread of their own, one after the other, so that the worker can tell what is done of one, and
hear that it is cancelled, meanwhile.
"""

from __future__ import annotations

import os
import secrets
import signal
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Generator, Hashable, Iterator
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, TypeVar

from ringforge._native import trim_memory
from ringforge.devices import Progress
from ringforge.errors import ClusterError, Error
from ringforge.scale.packing import Packed, installation, pack, unpack

T = TypeVar("T")

#: Of this process, among all that workers of a program compute for: its actors may have pools of their own.
_DRIVER = secrets.token_hex(8)

#: Seconds between two looks at what is done.
_LOOK = 0.1

#: A worker whose own memory is this part of its room gives what it has dropped back to the system: that takes time.
_TRIMMED = 8


@dataclass(frozen=True)
class Began:
    """The first that a worker tells of a shard."""

    node: str
    pid: int


@dataclass(frozen=True)
class Result:
    """The last.

    Attributes:
        value: what the function returned, or the exception that it raised. raised: which of both.
        seconds, cpu_seconds: wall time, and that of all its threads.
    """

    value: Packed
    raised: bool
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class Call:
    """A shard, as it is sent.

    Attributes:
        shard: function and arguments. names: of the stored values that come with it. living: of all that are stored.
        threads: of the worker. room: bytes that it may keep for later shards. installation: the driver's.
        driver: the process whose names these are.
    """

    shard: Packed
    names: tuple[str, ...]
    living: frozenset[str]
    threads: int
    room: int
    installation: tuple[str, str, str]
    driver: str = field(default_factory=lambda: _DRIVER)

    def here(self, name: str) -> str:
        """The name of a stored value at a worker, unlike those of other processes."""
        return f"{name}@{self.driver}"

    @property
    def living_here(self) -> frozenset[str]:
        """All that are stored, by their names at a worker."""
        return frozenset(map(self.here, self.living))


@dataclass(frozen=True)
class Held:
    """A stored value, at a worker."""

    name: str
    bytes: int
    packed: Packed = field(repr=False)


class Cache:
    """What a worker keeps from shard to shard; the oldest goes where there is no room."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], T], room: int) -> T:
        """What `make` returned for this key. `room`: bytes that the process may have of its own."""
        if key not in self._kept:
            while self._kept and _own_bytes() > room:
                self._kept.popitem(last=False)
                trim_memory()
            self._kept[key] = make()
        self._kept.move_to_end(key)
        value: T = self._kept[key]
        return value

    def keep(self, living: frozenset[str], room: int) -> None:
        """Drops what depends on values that are stored no more, or are another driver's: it may hold their memory.

        Args:
            living: names of values at a worker. room: as of `get`.
        """
        kept = len(self._kept)
        for key in list(self._kept):
            if any(name.startswith("stored-") and name not in living for name in _words(key)):
                del self._kept[key]
        # Heaps keep what is freed, in pieces that do not serve what is made next.
        if len(self._kept) < kept and _own_bytes() > room // _TRIMMED:
            trim_memory()


def _words(key: Hashable) -> Iterator[str]:
    """The strings in a key."""
    if isinstance(key, str):
        yield key
    elif isinstance(key, (tuple, frozenset)):
        for part in key:
            yield from _words(part)


def _own_bytes() -> int:
    """Memory of this process that it shares with no other."""
    with open("/proc/self/statm", encoding="ascii") as f:
        _, resident, shared = map(int, f.read().split()[:3])
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


_CACHE = Cache()

#: Told where there is no memory to pack what went wrong.
_NO_MEMORY = pack(MemoryError())


class Run:
    """A shard that is computed, and its task (`ringforge.devices.sharding.Task`)."""

    def __init__(self, call: Call, values: tuple[Packed, ...]) -> None:
        self.threads, self._call = call.threads, call
        self._values = {name: Held(call.here(name), v.bytes, v) for name, v in zip(call.names, values, strict=True)}
        self.fraction, self.cancelled = 0.0, False
        self.finished = threading.Event()
        self.result: Result | None = None

    @property
    def progress(self) -> Progress:
        return self._told

    def get(self, stored: Any) -> Any:
        return unpack(stored.packed)

    def cached(self, key: Hashable, make: Callable[[], T]) -> T:
        return _CACHE.get(key, make, self._call.room)

    def compute(self) -> None:
        """Computes the shard."""
        start, cpu = time.perf_counter(), time.process_time()
        try:
            try:
                function, arguments = unpack(self._call.shard, self._values.__getitem__)
                value, raised = pack(function(self, *arguments)), False
            except BaseException as e:  # whatever it is, the driver is to know
                value, raised = packed_error(e), True
            self.result = Result(value, raised, time.perf_counter() - start, time.process_time() - cpu)
        finally:
            self.finished.set()

    def _told(self, fraction: float) -> bool:
        self.fraction = max(self.fraction, min(fraction, 1.0))
        return not self.cancelled


class _Computing:
    """The thread of all shards of this worker. It stays: what memory a thread has for its work is its own, and many
    threads one after the other would each take more from the system."""

    def __init__(self) -> None:
        self._lock, self._runs = threading.Lock(), SimpleQueue[Run]()
        self._thread: threading.Thread | None = None

    def start(self, run: Run) -> None:
        """Computes a shard after those that were started before."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._work, name="shards", daemon=True)
                self._thread.start()
        self._runs.put(run)

    def _work(self) -> None:
        while True:
            self._runs.get().compute()


_COMPUTING = _Computing()


def packed_error(error: BaseException) -> Packed:
    """An exception of a shard, as its type where the driver can have it."""
    try:
        packed = pack(error)
        if type(unpack(packed)) is type(error):
            return packed
    except Exception:  # a type that cannot be pickled
        pass
    return pack(Error(f"{type(error).__name__}: {error}"))


def work(call: Call, *values: Packed) -> Generator[Began | float | Result, None, None]:
    """The remote function: who computes the shard, then fractions done, then the result.

    Args:
        values: the stored ones, in the order of the call's names.
    """
    import ray

    yield Began(ray.get_runtime_context().get_node_id(), os.getpid())
    if installation() != call.installation:
        error = ClusterError(
            "a node of the cluster has {} of Python {} (modules {}), the driver {} of Python {} (modules {}): "
            "install the same on all nodes".format(*installation(), *call.installation)
        )
        yield Result(pack(error), True, 0.0, 0.0)
        return
    _CACHE.keep(call.living_here, call.room)
    run, told = Run(call, values), 0.0
    _COMPUTING.start(run)
    try:
        while not run.finished.wait(_LOOK):
            if run.fraction > told:
                told = run.fraction
                yield told
    except BaseException:  # cancelled: by Ray, which interrupts this thread
        run.cancelled = True
        run.finished.wait()
        raise
    yield run.result or Result(_NO_MEMORY, True, 0.0, 0.0)


def end(pid: int, title: str, grace: float) -> None:
    """Ends a worker of this node that still has a task of this title after so many seconds."""
    place, until = f"/proc/{pid}/cmdline", time.monotonic() + grace
    while True:
        try:
            with open(place, "rb") as f:
                busy = f.read().rstrip(b"\0 ") == f"ray::{title}".encode()
        except OSError:
            return
        if not busy:
            return
        if time.monotonic() > until:
            os.kill(pid, signal.SIGKILL)
            return
        time.sleep(0.05)
