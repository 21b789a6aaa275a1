# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Shards in the tasks of a Ray cluster.

What a pool does is to hold results until they are right: Ray says where a task runs and when a worker is dead; a shard
that is lost, hangs, or has a result that its check refuses is sent again, at most `TRIES` times.
"""

from __future__ import annotations

import itertools
import threading
import time
import weakref
from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import ray
from ray import exceptions
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from ringforge.devices import Progress
from ringforge.devices.sharding import Pool, Shard
from ringforge.errors import ClusterError, Error, FormatError, MemoryLimitError, ParameterError, StorageError
from ringforge.scale.cluster import Cluster
from ringforge.scale.counts import Counts
from ringforge.scale.packing import installation, pack, unpack
from ringforge.scale.task import Began, Call, Result, end, work

#: How often a shard is computed before its run fails.
TRIES = 3

#: Seconds between two calls of `progress`.
_LOOK = 0.2

#: Seconds that a cancelled shard has to stop by itself.
_GRACE = 0.5

#: As many times its patience a shard waits for a worker while none tells anything.
_NOTHING = 5

#: Of the object store, what arguments and results under way may take.
_UNDER_WAY = 0.25

_NAMES = itertools.count()
_LIVING: weakref.WeakValueDictionary[str, RayStored] = weakref.WeakValueDictionary()
_LIVING_LOCK = threading.Lock()

#: What Ray says when a shard is lost; its like may succeed elsewhere.
_LOST = (
    exceptions.WorkerCrashedError,
    exceptions.NodeDiedError,
    exceptions.LocalRayletDiedError,
    exceptions.OutOfMemoryError,
    exceptions.ObjectLostError,
    exceptions.TaskCancelledError,
)


@dataclass(frozen=True, eq=False)
class RayStored:
    """A value in the object store, for as long as somebody holds this."""

    name: str
    bytes: int
    reference: Any = field(repr=False)
    #: Where it is; gone when that was left.
    cluster: Cluster = field(repr=False)
    #: The object that it says all of: while this is held, no other one has its id.
    of: Any = field(repr=False)


class FullStoreError(ClusterError, StorageError):
    """A store has no room for a value."""


class NoMemoryError(ClusterError, MemoryLimitError):
    """No node has the memory that a shard needs."""


class _Attempt:
    """A shard under way."""

    def __init__(self, index: int, shard: Shard, stream: Any, sent: int, title: str) -> None:
        self.index, self.shard, self.stream, self.sent, self.title = index, shard, stream, sent, title
        self.began: Began | None = None
        self.heard = time.monotonic()
        self.fraction = 0.0

    @property
    def where(self) -> str:
        return "a worker" if self.began is None else f"process {self.began.pid} of node {self.began.node[:12]}"


class RayPool(Pool):
    """The workers of a Ray cluster.

    Args:
        cluster: joined.
        workers: shards at a time; by default as many as the nodes have processors for.
        threads: of each worker.
        patience: seconds, at the least, that a shard may take without a sign before it is computed elsewhere.
    """

    def __init__(
        self, cluster: Cluster, *, workers: int | None = None, threads: int = 1, patience: float = 120.0
    ) -> None:
        if threads < 1 or (workers is not None and workers < 1):
            raise ParameterError("a pool has at least one worker of at least one thread")
        self.cluster, self.threads, self._patience = cluster, threads, patience
        self._workers = workers
        self.counts = Counts()
        self._lock = threading.Lock()
        #: Of each run that has shards under way: how many, and bytes of their arguments and results. Runs that wait.
        self._under_way: dict[Any, tuple[int, int]] = {}
        self._wanting: set[Any] = set()
        #: When a worker has told something the last time, to any run; or a run began.
        self.heard = time.monotonic()
        self._places = threading.Lock()
        self._put: weakref.WeakValueDictionary[tuple[int, Hashable], RayStored] = weakref.WeakValueDictionary()
        self._remote = ray.remote(num_returns="streaming", max_retries=0)(work)
        self._end = ray.remote(num_cpus=0, max_retries=0)(end)
        self.workers  # noqa: B018  # refuses a cluster without workers at once

    @property
    def workers(self) -> int:  # type: ignore[override]
        """Shards that are computed at a time: nodes come and go."""
        nodes = self.cluster.look()
        places = sum(n.cpus // self.threads for n in nodes)
        if not any(n.cpus for n in nodes):
            raise ClusterError("no node of the cluster has processors: start some, `ray start --address=HEAD:PORT`")
        if places == 0:
            raise ParameterError(
                f"no node of the cluster has {self.threads} processors (the largest has "
                f"{max((n.cpus for n in nodes), default=0)}): take fewer threads for each worker"
            )
        return places if self._workers is None else min(places, self._workers)

    @property
    def limited(self) -> bool:
        """Whether it is to take less than the cluster has."""
        return self._workers is not None

    # ---- the store ----

    def put(self, value: Any, of: Any = None, version: Hashable = None) -> RayStored:
        of = value if of is None else of
        self.cluster.answers()
        with self._lock:
            found = self._put.get((id(of), version))
            if found is not None:
                return found
            packed = pack(value, _refuse_stored)
            room = self._room()
            with _LIVING_LOCK:
                held = sum(s.bytes for s in list(_LIVING.values()) if s.cluster is self.cluster)
            if held + packed.bytes > room * (1 - _UNDER_WAY):
                raise FullStoreError(
                    f"the object store of a node has {room:,} bytes, of which {held:,} are taken: {packed.bytes:,} "
                    "more do not fit beside results; start the nodes with more (ray start --object-store-memory, or "
                    "ray:local?store=BYTES)"
                )
            try:
                reference = ray.put(packed)
            except (exceptions.ObjectStoreFullError, exceptions.OutOfDiskError) as e:
                raise FullStoreError(
                    f"the object store has no room for {packed.bytes:,} bytes: start the nodes with more "
                    "(ray start --object-store-memory)"
                ) from e
            stored = RayStored(f"stored-{next(_NAMES)}", packed.bytes, reference, self.cluster, of)
            self._put[id(of), version] = stored
            with _LIVING_LOCK:
                _LIVING[stored.name] = stored
            self.counts.put(packed.bytes)
            return stored

    def _room(self) -> int:
        """Bytes of the smallest store that values go to: the driver's, and those of nodes that compute."""
        nodes = self.cluster.look()
        return min((n.store for n in nodes if n.cpus >= self.threads or n.id == self.cluster.home), default=0)

    # ---- shards ----

    def admit(self, run: Any, size: int, shards: int, room: float) -> bool:
        """Whether a run may send a shard whose arguments and results have `size` bytes: what waits here takes no memory
        of workers. One may always be, so that every run comes to an end; a run that has its share of the places leaves
        those that become free to the ones that wait for theirs. `leave` takes it back."""
        with self._places:
            counts = {r: count for r, (count, _) in self._under_way.items()}
            mine, taken = self._under_way.get(run, (0, 0))[0], sum(t for _, t in self._under_way.values())
            share = max(1, shards // len({run, *counts, *self._wanting}))
            full = counts and (sum(counts.values()) >= shards or taken + size > room)
            others = self._wanting - {run}
            if full or (mine >= share and any(counts.get(other, 0) < share for other in others)):
                self._wanting.add(run)
                return False
            self._wanting.discard(run)
            count, taken = self._under_way.get(run, (0, 0))
            self._under_way[run] = (count + 1, taken + size)
            return True

    def leave(self, run: Any, size: int) -> None:
        """A shard that was admitted is over."""
        with self._places:
            count, taken = self._under_way.pop(run)
            if count > 1:
                self._under_way[run] = (count - 1, taken - size)

    def end_run(self, run: Any) -> None:
        """A run is over, and waits for nothing."""
        with self._places:
            self._wanting.discard(run)

    def run(self, shards: Sequence[Shard], progress: Progress | None = None) -> list[Any]:
        self.cluster.answers()
        self.heard = time.monotonic()
        return _Run(self, shards, progress).results()

    def send(self, shard: Shard, index: int, avoid: str | None) -> _Attempt:
        """Hands a shard to Ray. `avoid`: a node where it went wrong."""
        stored: dict[str, RayStored] = {}

        def name_of(value: Any) -> str | None:
            if not isinstance(value, RayStored):
                return None
            if value.cluster is not self.cluster:
                raise ClusterError(
                    f"{shard.name} reads what was stored in a Ray cluster that has been left: prepare it anew on the "
                    "device that is open"
                )
            stored[value.name] = value
            return value.name

        packed = pack((shard.function, shard.arguments), name_of)
        nodes = [n for n in self.cluster.look() if n.cpus >= self.threads]
        able = [n for n in nodes if n.memory >= shard.cost.memory]
        if not able:
            raise NoMemoryError(
                f"{shard.name} needs {shard.cost.memory:,} bytes of memory, and the "
                f"largest node has {max((n.memory for n in nodes), default=0):,} bytes: add a larger node, or cut the "
                "work for more workers"
            )
        with _LIVING_LOCK:
            living = frozenset(_LIVING.keys())
        call = Call(
            packed,
            tuple(stored),
            living,
            self.threads,
            min(n.memory // max(1, n.cpus // self.threads) for n in able),
            installation(),
        )
        title = f"{shard.name[:60]} {next(_NAMES)}"
        others = [n for n in able if n.id != avoid]
        stream = self._remote.options(
            name=title,
            num_cpus=self.threads,
            memory=shard.cost.memory or None,
            scheduling_strategy="SPREAD"
            if avoid is None or not others
            else NodeAffinitySchedulingStrategy(others[index % len(others)].id, soft=True),
        ).remote(call, *(s.reference for s in stored.values()))
        return _Attempt(index, shard, stream, packed.bytes, title)

    def patience(self, shard: Shard, slowest: float) -> float:
        """Seconds without a sign after which a shard is given up."""
        return max(self._patience, 20 * shard.cost.seconds / self.threads, 20 * slowest)

    def stop(self, attempts: Iterable[_Attempt]) -> None:
        """Cancels shards; a worker that does not stop by itself is ended."""
        for a in attempts:
            with suppress(exceptions.RayError, ValueError):
                ray.cancel(a.stream, force=False)
            if a.began is not None:
                # By a task of its node: a process that hangs in the system hears nothing of Ray's.
                self._end.options(
                    name="end", scheduling_strategy=NodeAffinitySchedulingStrategy(a.began.node, soft=False)
                ).remote(a.began.pid, a.title, _GRACE)

    def close(self) -> None:
        """Leaves the cluster; one that was started here ends."""
        self.cluster.leave()


class _Run:
    """One run of shards. Nothing of it is shared with other runs but Ray, and the counts."""

    def __init__(self, pool: RayPool, shards: Sequence[Shard], progress: Progress | None) -> None:
        self._pool, self._shards, self._progress = pool, shards, progress
        self._waiting: deque[tuple[int, str | None]] = deque((i, None) for i in range(len(shards)))
        self._going: dict[Any, _Attempt] = {}
        self._failures: list[list[str]] = [[] for _ in shards]
        self._results: dict[int, Any] = {}
        self._told = 0.0
        self._slowest = 0.0

    def results(self) -> list[Any]:
        """Of all shards, in order."""
        last = 0.0
        try:
            while len(self._results) < len(self._shards):
                self._send()
                for stream in self._ready():
                    self._hear(self._going[stream])
                if time.monotonic() - last > _LOOK:
                    last = time.monotonic()
                    self._pool.cluster.look()
                    self._give_up()
                    self._tell()
        finally:
            going = list(self._going.values())
            for attempt in going:
                self._over(attempt)
            self._pool.end_run(self)
            # Of a head that is gone Ray's calls would wait for ever.
            with suppress(Error):
                if going:
                    self._pool.cluster.answers()
                    self._pool.stop(going)
        if self._progress is not None:
            self._progress(1.0)
        return [self._results[i] for i in range(len(self._shards))]

    def _ready(self) -> list[Any]:
        """Streams of shards that have something to tell; waits a little where none has."""
        going = list(self._going)
        if not going:  # other runs have all workers
            time.sleep(_LOOK / 4)
            return []
        # Looking costs the driver time: often only where a place may become free that this run waits for.
        if not ray.wait(going, num_returns=1, timeout=_LOOK / 4 if self._waiting else _LOOK)[0]:
            return []
        ready: list[Any] = ray.wait(going, num_returns=len(going), timeout=0)[0]
        return ready

    def _send(self) -> None:
        """Keeps workers busy, and no more than that."""
        if not self._waiting:
            return
        workers = self._pool.workers
        most = workers if self._pool.limited else 2 * workers
        room = _UNDER_WAY * self._pool._room()
        while self._waiting:
            index, avoid = self._waiting[0]
            shard = self._shards[index]
            if not self._pool.admit(self, _size(shard), most, room):
                return
            self._waiting.popleft()
            try:
                attempt = self._pool.send(shard, index, avoid)
            except BaseException:
                self._pool.leave(self, _size(shard))
                raise
            self._going[attempt.stream] = attempt

    def _over(self, attempt: _Attempt) -> None:
        """Nothing of a shard is under way any more."""
        del self._going[attempt.stream]
        self._pool.leave(self, _size(attempt.shard))

    def _hear(self, attempt: _Attempt) -> None:
        """Takes the next that a worker tells."""
        try:
            told = ray.get(next(attempt.stream))
        except StopIteration:
            self._again(attempt, "lost", "its worker ended it without a result")
        except _LOST as e:
            self._again(attempt, "lost", type(e).__name__)
        except exceptions.RayTaskError as e:
            raise ClusterError(
                f"{attempt.shard.name} cannot be run by {attempt.where} ({_last_line(e)}): see that ringforge-he is "
                "installed on each node, in the Python that runs Ray"
            ) from None
        except exceptions.RayError as e:
            self._pool.cluster.answers()
            self._again(attempt, "lost", f"{type(e).__name__}: {_last_line(e)}")
        else:
            attempt.heard = self._pool.heard = time.monotonic()
            if isinstance(told, Began):
                attempt.began = told
            elif isinstance(told, float):
                attempt.fraction = told
            elif isinstance(told, Result):
                self._take(attempt, told)
            else:
                self._again(attempt, "wrong", f"a worker sent {type(told).__name__}")

    def _take(self, attempt: _Attempt, result: Result) -> None:
        shard, size = attempt.shard, 0
        try:
            size = result.value.bytes
            value = unpack(result.value)
        except Exception as e:  # pickles raise anything
            self._again(attempt, "wrong", f"its result cannot be read ({type(e).__name__})")
            return
        if result.raised:
            if isinstance(value, MemoryError):
                self._again(attempt, "lost", "it had no memory")
                return
            raise value if isinstance(value, Exception) else Error(f"{shard.name} raised {type(value).__name__}")
        try:
            checked = shard.check(value)
        except FormatError as e:
            self._again(attempt, "wrong", str(e))
            return
        self._over(attempt)
        self._results[attempt.index] = checked
        self._slowest = max(self._slowest, result.seconds)
        self._pool.counts.computed(shard, attempt.sent, size, result.seconds, result.cpu_seconds)

    def _again(self, attempt: _Attempt, how: str, why: str) -> None:
        """Sends a shard once more.

        Raises:
            Error: it has gone wrong too often.
        """
        self._over(attempt)
        self._pool.counts.failed(attempt.shard, how)
        failures = self._failures[attempt.index]
        failures.append(f"{attempt.where}: {how}, {why}")
        if len(failures) >= TRIES:
            raise ClusterError(
                f"{attempt.shard.name} went wrong {TRIES} times ({'; '.join(failures)}): see the logs of Ray there, "
                "then start anew"
            )
        self._waiting.appendleft((attempt.index, None if attempt.began is None else attempt.began.node))

    def _give_up(self) -> None:
        """Ends shards that have given no sign for too long, and those of nodes that are gone."""
        now, alive = time.monotonic(), {n.id for n in self._pool.cluster.nodes}
        for a in list(self._going.values()):
            silent = now - a.heard
            if a.began is None:
                quiet = now - self._pool.heard
                if quiet > _NOTHING * self._pool.patience(a.shard, self._slowest):
                    raise ClusterError(
                        f"{a.shard.name} has not begun, and no worker has told anything for {quiet:.0f} s: see whether "
                        "other programs take all processors of the cluster (`ray status`), and the logs of Ray on its "
                        "nodes"
                    )
                continue
            if a.began.node not in alive:
                self._pool.stop([a])
                self._again(a, "lost", "its node is gone")
            elif silent > self._pool.patience(a.shard, self._slowest):
                self._pool.stop([a])
                self._again(a, "hung", f"no sign for {silent:.0f} s")

    def _tell(self) -> None:
        if self._progress is None:
            return
        done = len(self._results) + sum(a.fraction for a in self._going.values())
        self._told = max(self._told, min(done / len(self._shards), 1.0))
        if self._progress(self._told) is False:
            raise Error("cancelled")


def _refuse_stored(value: Any) -> str | None:
    if isinstance(value, RayStored):
        raise ParameterError("a stored value cannot be part of another one: give both to the shard")
    return None


def _size(shard: Shard) -> int:
    """Bytes of a shard's arguments and results, as planned."""
    return shard.cost.sent + shard.cost.result


def _last_line(error: BaseException) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1][:300] if lines else type(error).__name__
