# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What shards take on a number of workers: time, traffic and memory, before there is a cluster.

The model: values are put into the store of the driver's node once; those that all shards of a stage read go to every
other node once, one after the other from the driver's; what some of the shards read goes once to each node that has one
of them; a shard's own part goes where it is computed; shards go to the worker that is free first, the longest first. A
stage begins when the one before has ended; its values lie in the store for a second more. Shards of one stage need not
be alike. docs/scale.md holds it against measurements.

>>> work = [Stage("affine", (Cost(seconds=2.0, result=10**6),) * 8, serial=0.5)]
>>> [round(predict(work, Cluster(workers)).seconds, 1) for workers in (1, 2, 4, 8, 16)]
[16.5, 8.5, 4.5, 2.5, 2.5]
>>> most_useful(work, Cluster(16))
8
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ringforge.devices.sharding import Cost
from ringforge.errors import ParameterError

#: Arguments and results of at most so many bytes travel with their messages, and never lie in a store (Ray's limit).
_INLINE = 100 << 10

#: Shards that are sent for each worker before one is done.
_AHEAD = 2

#: Seconds that a store may keep what nobody holds any more: Ray frees so often.
_FREED = 1.0

#: More workers must save this part of the time, or they do not help.
_USEFUL = 0.02


@dataclass(frozen=True)
class Stage:
    """Shards that may be computed at once.

    Attributes:
        name: of the stage.
        costs: of its shards.
        shared: bytes of stored values that every shard reads, part of each `Cost.stored`.
        distinct: bytes of the values that some shards read beside those, each counted once; by default each shard reads
            its own.
        serial: seconds of the driver after the shards: combination, and what is not sharded.
        kept: bytes of further values that shards read and that earlier work has put: they are in the store, and where
            they are read, but are not put or moved again.
        function: of the shards, MODULE.FUNCTION, as counts of pools name it.
        chains: things whose stages follow each other apart from those of the others: as many put theirs one by one.
        stays: whether what it puts is read by later stages, which have it among what they keep.
    """

    name: str
    costs: tuple[Cost, ...]
    shared: int = 0
    serial: float = 0.0
    kept: int = 0
    function: str = ""
    distinct: int | None = None
    stays: bool = False
    chains: int = 1

    def __post_init__(self) -> None:
        if any(c.stored < self.shared for c in self.costs):
            raise ParameterError(f"stage {self.name}: a shard reads less than what all of them share")

    @property
    def read(self) -> int:
        """Bytes that shards read beside what all of them share, counted for each shard."""
        return sum(c.stored - self.shared for c in self.costs)

    @property
    def own(self) -> int:
        """The same, each value counted once."""
        return self.read if self.distinct is None else min(self.distinct, self.read)

    def moved(self, nodes: int) -> float:
        """The part of what shards read beside what all share that goes to other nodes than the driver's. A value that r
        shards read goes to a node unless none of the r is computed there."""
        if not self.own or nodes == 1:
            return 0.0
        readers = self.read / self.own
        return self.own * (nodes - 1) * (1.0 - float((1 - 1 / nodes) ** readers)) / self.read


@dataclass(frozen=True)
class Cluster:
    """What the shards run on.

    Attributes:
        workers: shards at a time. per_node: of them on one node, at the most.
        network: bytes per second between two nodes. store: bytes per second into the store of a node.
        overhead: seconds that a shard takes beside its work: its way to the worker and back.
    """

    workers: int
    per_node: int = 16
    network: float = 1.25e9
    store: float = 2e9
    overhead: float = 0.002

    def __post_init__(self) -> None:
        if min(self.workers, self.per_node) < 1 or min(self.network, self.store) <= 0 or self.overhead < 0:
            raise ParameterError("a cluster has one worker at least, and rates above 0")

    @property
    def nodes(self) -> int:
        """The fewest that have as many workers; the driver's is one of them."""
        return -(-self.workers // self.per_node)


@dataclass(frozen=True)
class Prediction:
    """What work takes on a cluster.

    Attributes:
        workers: of the cluster.
        seconds: from the first value put to the last result combined.
        work: seconds of all shards together, on one worker.
        put: bytes put into the store. traffic: bytes between nodes. results: bytes that shards return.
        store: bytes of values in the store of the fullest node. memory: bytes that the workers of one node need of
            their own.
    """

    workers: int
    seconds: float
    work: float
    put: int
    traffic: int
    results: int
    store: int
    memory: int


def predict(stages: Sequence[Stage], cluster: Cluster) -> Prediction:
    """Time, traffic and memory of stages that follow each other."""
    seconds = work = 0.0
    lie: list[tuple[float, int]] = []
    put = traffic = results = store = memory = 0
    nodes, others = cluster.nodes, cluster.nodes - 1
    for stage in stages:
        sent, shared = sum(c.sent for c in stage.costs), stage.shared if stage.costs else 0
        placed = stage.own + shared + sent
        # What is put meets what the stage before has left; results meet what still lies there when they come.
        travelling = sum(heapq.nlargest(_AHEAD * cluster.workers, (c.sent for c in stage.costs if c.sent > _INLINE)))
        early = travelling + stage.own
        store = max(store, stage.kept + shared + early // stage.chains + _lying(lie, seconds))
        back, away, moved = sum(c.result for c in stage.costs), others / nodes, stage.moved(nodes)
        seconds += placed / cluster.store + shared * others / cluster.network
        times = [_taken(c, stage.shared, moved, away, cluster) for c in stage.costs]
        seconds += _makespan(times, cluster.workers)
        seconds += stage.serial
        work += sum(c.seconds for c in stage.costs) + stage.serial
        put += placed
        traffic += shared * others + round(moved * stage.read + away * (sent + back))
        results += back
        held = travelling + sum(c.result for c in stage.costs if c.result > _INLINE) + stage.own + shared
        store = max(store, held + stage.kept + _lying(lie, seconds))
        lie.append((seconds, 0 if stage.stays else held))
        at_once = min(cluster.workers, cluster.per_node)
        memory = max(memory, sum(heapq.nlargest(at_once, (c.memory for c in stage.costs))))
    return Prediction(cluster.workers, seconds, work, put, traffic, results, store, memory)


def _lying(left: Sequence[tuple[float, int]], now: float) -> int:
    """Bytes that stages have left, of each when it ended, and that are not freed yet."""
    return sum(size for ended, size in left if now - ended < _FREED)


def most_useful(stages: Sequence[Stage], cluster: Cluster) -> int:
    """The number of workers, up to those of the cluster, beyond which more of them save less than 2 % of the time."""
    counts = range(1, cluster.workers + 1)
    taken = [predict(stages, replace(cluster, workers=w)).seconds for w in counts]
    least = min(taken)
    return next(w for w, t in zip(counts, taken, strict=True) if t <= least * (1 + _USEFUL))


@dataclass(frozen=True)
class Workload:
    """Work of one system, as it is cut for any number of workers.

    Attributes:
        what: it is, in words.
        stages: for so many workers, of one piece of the work.
        pieces: of the work, one after the other, for so many workers.
        first: for so many workers: stages before the first piece, such as tables that are put once.
    """

    what: str
    stages: Callable[[int], Sequence[Stage]]
    pieces: Callable[[int], int] = lambda _: 1
    first: Callable[[int], Sequence[Stage]] = lambda _: ()


def predict_work(work: Workload, cluster: Cluster, measured: Mapping[str, float] | None = None) -> Prediction:
    """Time, traffic and memory of all pieces.

    Args:
        measured: by the name of a function: how many times as long its shards take as their costs say.
    """
    before = predict(_corrected(work.first(cluster.workers), measured), cluster)
    stages = _corrected(work.stages(cluster.workers), measured)
    each, n = predict(stages, cluster), work.pieces(cluster.workers)
    # Of the piece before, values may still be there.
    store = each.store if n == 1 else predict(stages * 2, cluster).store
    return Prediction(
        cluster.workers,
        before.seconds + n * each.seconds,
        before.work + n * each.work,
        before.put + n * each.put,
        before.traffic + n * each.traffic,
        before.results + n * each.results,
        max(before.store, store),
        max(before.memory, each.memory),
    )


def useful(found: Sequence[Prediction]) -> int:
    """The fewest workers of those predicted with which work takes at most 2 % longer than with any of them."""
    least = min(p.seconds for p in found)
    return min(p.workers for p in found if p.seconds <= least * (1 + _USEFUL))


def _corrected(stages: Sequence[Stage], measured: Mapping[str, float] | None) -> list[Stage]:
    """Stages with the seconds that shards of their functions took."""
    found = []
    for s in stages:
        factor = (measured or {}).get(s.function, 1.0)
        found.append(replace(s, costs=tuple(replace(c, seconds=factor * c.seconds) for c in s.costs)))
    return found


def _taken(c: Cost, shared: int, moved: float, away: float, cluster: Cluster) -> float:
    bytes_ = moved * (c.stored - shared) + away * (c.sent + c.result)
    return c.seconds + cluster.overhead + bytes_ / cluster.network


def _makespan(seconds: Sequence[float], workers: int) -> float:
    busy = [0.0] * min(workers, len(seconds))
    for each in sorted(seconds, reverse=True):
        heapq.heapreplace(busy, busy[0] + each)
    return max(busy, default=0.0)
