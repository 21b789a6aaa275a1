# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Kernels in shards, for devices of several processes.

A shard is a call of a function of a module: what one worker computes, of values that the pool has put where workers
read them, and of small ones that travel with it. Results are combined exactly, so that a sharded kernel has the words
of `cpu`. Shards are pure: one may be computed twice, anywhere, and the first result that is right is taken. A pool
knows no kernel, a kernel no pool: `ringforge.scale` has the pool of a Ray cluster.
"""

from __future__ import annotations

import itertools
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from ringforge.devices.base import Buffer, Device, Execution, Implementation, Preparation, Progress, Report
from ringforge.errors import FormatError

T = TypeVar("T")


@dataclass(frozen=True)
class Cost:
    """What a shard takes, as its plan predicts.

    Attributes:
        seconds: of one thread of the planner's processor.
        stored: bytes of stored values that it reads, shared by the workers of a node. sent: bytes that travel with it
            alone. result: bytes that come back.
        memory: bytes that a worker needs of its own, at the most.
    """

    seconds: float = 0.0
    stored: int = 0
    sent: int = 0
    result: int = 0
    memory: int = 0


class Stored(Protocol):
    """A value that workers can read. It is freed when nobody holds this any more."""

    @property
    def name(self) -> str:
        """Unlike that of any other value."""

    @property
    def bytes(self) -> int:
        """In the store."""


class Task(Protocol):
    """What a shard's function is given first: where it runs."""

    @property
    def threads(self) -> int:
        """For native calls."""

    @property
    def progress(self) -> Progress:
        """For native calls: takes the fraction of the shard done; False: the shard is cancelled."""

    def get(self, stored: Stored) -> Any:
        """A stored value. Arrays in it are those of the store, not copies: they must not be written."""

    def cached(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` returns, kept by this worker for later shards as long as there is room.

        Args:
            key: all that the value depends on: names of stored values, and numbers.
        """


@dataclass(frozen=True)
class Shard:
    """One part of a kernel's run.

    Attributes:
        name: what it is, for people and for counts: stage and range.
        function: of a module; called as function(task, *arguments).
        arguments: small values that can be pickled, and stored ones.
        check: run where the result is used: returns it in the form that is combined.
            Raises FormatError where it is none of the kind; the shard is then computed again.
        cost: predicted.
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    check: Callable[[Any], Any]
    cost: Cost = field(default_factory=Cost)


class Pool(ABC):
    """Workers and what they share.

    Attributes:
        workers: shards that are computed at a time. threads: of each of them.
    """

    workers: int
    threads: int

    @abstractmethod
    def put(self, value: Any, of: Any = None, version: Hashable = None) -> Stored:
        """Puts a value where workers read it, once for each object.

        Args:
            value: what can be pickled; arrays are shared without copies by the workers of a node.
            of: the object that the value says all of, itself by default; for an object that has been put and is still
                stored, the stored one is returned.
            version: of the object, where it can change: it is put again when this differs.

        Raises:
            StorageError: the store is full.
        """

    @abstractmethod
    def run(self, shards: Sequence[Shard], progress: Progress | None = None) -> list[Any]:
        """Checked results of all shards, in order. Shards that are lost are computed again.

        Raises:
            Error "cancelled": progress returned False. Error: what a shard raised; or a shard was lost or wrong
            several times, and the message says where.
        """


class Share(Pool):
    """A part of a pool, for one of several things that are computed at a time: shards are cut for as few workers, and
    go to whichever are free.

    Args:
        pool: whose workers and store these are. parts: things at a time.
    """

    def __init__(self, pool: Pool, parts: int) -> None:
        self.pool, self._parts = pool, parts

    @property
    def workers(self) -> int:  # type: ignore[override]
        """At least one."""
        return max(1, self.pool.workers // self._parts)

    @property
    def threads(self) -> int:  # type: ignore[override]
        """Of each."""
        return self.pool.threads

    def put(self, value: Any, of: Any = None, version: Hashable = None) -> Stored:
        return self.pool.put(value, of, version)

    def run(self, shards: Sequence[Shard], progress: Progress | None = None) -> list[Any]:
        return self.pool.run(shards, progress)


class Distant(Buffer):
    """A result that stays in the store."""

    @abstractmethod
    def fetched(self, pool: Pool) -> Any:
        """What it holds, as a host object."""


class ShardedDevice(Device):
    """A device whose kernels run in the shards of a pool.

    Args:
        name: KIND:WHICH. pool: its workers.
    """

    def __init__(self, name: str, pool: Pool) -> None:
        self.name, self.pool = name, pool

    def shared(self, parts: int) -> ShardedDevice:
        """The same workers for one of so many things that are computed at a time."""
        return self if parts == 1 else ShardedDevice(self.name, Share(self.pool, parts))

    def fetch(self, buffer: Any) -> Any:
        return buffer.fetched(self.pool) if isinstance(buffer, Distant) else super().fetch(buffer)


class Sharded(Implementation):
    """How a kernel is cut for the workers of a :class:`ShardedDevice`."""

    @abstractmethod
    def place(self, p: Preparation[Any], pool: Pool) -> Any:
        """Checks keys and operands as `cpu` does, and puts them in the store; returns the state that `shards` gets."""

    @abstractmethod
    def shards(self, r: Execution[Any, Any], pool: Pool) -> list[Shard]:
        """The shards of a run, at least `pool.workers` of them where the kernel has as many parts.

        Raises:
            ShapeError, MismatchError: the inputs are none of the kernel's.
        """

    @abstractmethod
    def combine(self, r: Execution[Any, Any], results: list[Any]) -> tuple[list[Any], Report]:
        """The kernel's results of those of the shards, and what all shards together took; seconds are filled in."""

    def prepare(self, p: Preparation[Any]) -> Any:
        return self.place(p, p.device.pool)

    def run(self, r: Execution[Any, Any]) -> tuple[list[Any], Report]:
        start, pool = time.perf_counter(), r.device.pool
        outputs, report = self.combine(r, pool.run(self.shards(r, pool), r.progress))
        return outputs, Report(
            r.device.name, time.perf_counter() - start, bytes=report.bytes, operations=report.operations
        )


def cut(count: int, parts: int) -> list[range]:
    """`count` things in `parts` ranges of nearly equal size, in order; fewer where there are not as many things."""
    parts = max(1, min(parts, count))
    edges = [count * i // parts for i in range(parts + 1)]
    return [range(a, b) for a, b in itertools.pairwise(edges)]


def expect(result: Any, kind: type[T], what: str) -> T:
    """A shard's result, if it is of this type.

    Raises:
        FormatError: it is not.
    """
    if not isinstance(result, kind):
        raise FormatError(f"a worker returned {type(result).__name__} for {what}, not {kind.__name__}")
    return result
