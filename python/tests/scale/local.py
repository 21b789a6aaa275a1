# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A pool of threads that treats shards as a cluster does: what travels is pickled, what is stored is read-only.

It tests how kernels are cut without the seconds that a cluster takes to start, and it can lose and spoil results.
"""

from __future__ import annotations

import itertools
import pickle
import weakref
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from ringforge.devices import Progress
from ringforge.devices.sharding import Pool, Shard, ShardedDevice
from ringforge.errors import Error, FormatError
from ringforge.scale.task import Cache

_NAMES = itertools.count()


@dataclass(frozen=True, eq=False)
class Held:
    """A stored value, as its pickle and the buffers beside it."""

    name: str
    bytes: int
    data: bytes = field(repr=False)
    buffers: tuple[bytes, ...] = field(repr=False)
    of: Any = field(repr=False, default=None)

    def __reduce__(self) -> tuple[Any, ...]:
        return _found, (self.name,)


#: As long as somebody holds them.
_HELD: weakref.WeakValueDictionary[str, Held] = weakref.WeakValueDictionary()


def _found(name: str) -> Held:
    return _HELD[name]


class Worker:
    """A task, with what its worker keeps from shard to shard.

    Args:
        made: counts what is made to be kept, by the first part of its key.
    """

    def __init__(
        self,
        threads: int,
        told: Callable[[float], bool | None],
        cache: Cache | None = None,
        made: Counter[Any] | None = None,
    ) -> None:
        self.threads, self._told = threads, told
        self._cache, self._made = cache or Cache(), Counter() if made is None else made

    @property
    def progress(self) -> Progress:
        return self._told

    def get(self, stored: Any) -> Any:
        return pickle.loads(stored.data, buffers=stored.buffers)

    def cached(self, key: Hashable, make: Callable[[], Any]) -> Any:
        def counted() -> Any:
            self._made[key[0] if isinstance(key, tuple) else key] += 1
            return make()

        return self._cache.get(key, counted, 1 << 40)


class LocalPool(Pool):
    """Values are stored for as long as somebody holds what `put` returned, and workers keep what they make of them.

    Args:
        workers, threads: as of a pool. spoil: makes something else of a result, or raises: once for each shard.

    Attributes:
        ran: names of shards, as often as they were computed. made: as of a worker, of all of them.
    """

    def __init__(self, workers: int = 3, threads: int = 1, spoil: Callable[[Any], Any] | None = None) -> None:
        self.workers, self.threads, self._spoil = workers, threads, spoil
        self._put: weakref.WeakValueDictionary[tuple[int, Hashable], Held] = weakref.WeakValueDictionary()
        self._idle: list[Cache] = []
        self.ran: list[str] = []
        self.made: Counter[Any] = Counter()

    def put(self, value: Any, of: Any = None, version: Hashable = None) -> Held:
        of = value if of is None else of
        key = (id(of), version)
        held = self._put.get(key)
        if held is None:
            buffers: list[pickle.PickleBuffer] = []
            data = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
            parts = tuple(bytes(b.raw()) for b in buffers)
            held = Held(f"stored-{next(_NAMES)}", len(data) + sum(map(len, parts)), data, parts, of)
            _HELD[held.name] = self._put[key] = held
        return held

    def _computed(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        try:
            cache = self._idle.pop()
        except IndexError:
            cache = Cache()
        cache.keep(frozenset(_HELD.keys()), 1 << 40)
        try:
            return function(Worker(self.threads, lambda _: True, cache, self.made), *arguments)
        finally:
            self._idle.append(cache)

    def run(self, shards: Sequence[Shard], progress: Progress | None = None) -> list[Any]:
        done = 0

        def one(shard: Shard) -> Any:
            nonlocal done
            function, arguments = pickle.loads(pickle.dumps((shard.function, shard.arguments)))
            for attempt in range(3):
                result = pickle.loads(pickle.dumps(self._computed(function, arguments)))
                self.ran.append(shard.name)
                if self._spoil is not None and attempt == 0:
                    result = self._spoil(result)
                try:
                    checked = shard.check(result)
                except FormatError:
                    continue
                done += 1
                if progress is not None and progress(done / len(shards)) is False:
                    raise Error("cancelled")
                return checked
            raise Error(f"{shard.name} was wrong three times")

        with ThreadPoolExecutor(self.workers) as threads:
            return list(threads.map(one, shards))


def device(**options: Any) -> ShardedDevice:
    """A device `ray:here` with the shards of this process."""
    return ShardedDevice("ray:here", LocalPool(**options))
