# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What shards take on a number of workers: time, traffic and memory, before there is a cluster.

The model: values are put into the store of the driver's node once; those that all shards of a stage read go to every
other node once, one after the other from the driver's; a shard's own part goes where it is computed; shards go to the
worker that is free first, the longest first. A stage begins when the one before has ended. Shards of one stage need
not be alike. docs/scale.md holds it against measurements.

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

#: More workers must save this part of the time, or they do not help.
_USEFUL = 0.02


@dataclass(frozen=True)
class Stage:
    """Shards that may be computed at once.

    Attributes:
        name: of the stage.
        costs: of its shards.
        shared: bytes of stored values that every shard reads, part of each `Cost.stored`.
        serial: seconds of the driver after the shards: combination, and what is not sharded.
        kept: bytes of further values that shards read and that earlier work has put: they are in the store, and where
            they are read, but are not put or moved again.
        function: of the shards, MODULE.FUNCTION, as counts of pools name it.
    """

    name: str
    costs: tuple[Cost, ...]
    shared: int = 0
    serial: float = 0.0
    kept: int = 0
    function: str = ""

    def __post_init__(self) -> None:
        if any(c.stored < self.shared for c in self.costs):
            raise ParameterError(f"stage {self.name}: a shard reads less than what all of them share")


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
    """Time, traffic and memory of stages that follow each other.

    Values of one stage are counted as freed before the next one's are put.
    """
    seconds = work = 0.0
    put = traffic = results = store = memory = 0
    others = cluster.nodes - 1
    for stage in stages:
        own = sum(c.stored - stage.shared + c.sent for c in stage.costs)
        placed = own + (stage.shared if stage.costs else 0)
        back = sum(c.result for c in stage.costs)
        away = others / cluster.nodes
        seconds += placed / cluster.store + stage.shared * others / cluster.network
        seconds += _makespan([_taken(c, stage.shared, away, cluster) for c in stage.costs], cluster.workers)
        seconds += stage.serial
        work += sum(c.seconds for c in stage.costs) + stage.serial
        put += placed
        traffic += stage.shared * others + round((own + back) * away)
        results += back
        held = sum(x for c in stage.costs for x in (c.sent, c.result) if x > _INLINE)
        held += sum(c.stored - stage.shared for c in stage.costs) + (stage.shared if stage.costs else 0)
        store = max(store, held + stage.kept)
        at_once = min(cluster.workers, cluster.per_node)
        memory = max(memory, sum(heapq.nlargest(at_once, (c.memory for c in stage.costs))))
    return Prediction(cluster.workers, seconds, work, put, traffic, results, store, memory)


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
    each = predict(_corrected(work.stages(cluster.workers), measured), cluster)
    n = work.pieces(cluster.workers)
    return Prediction(
        cluster.workers,
        before.seconds + n * each.seconds,
        before.work + n * each.work,
        before.put + n * each.put,
        before.traffic + n * each.traffic,
        before.results + n * each.results,
        max(before.store, each.store),
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


def _taken(c: Cost, shared: int, away: float, cluster: Cluster) -> float:
    moved = c.stored - shared + c.sent + c.result
    return c.seconds + cluster.overhead + away * moved / cluster.network


def _makespan(seconds: Sequence[float], workers: int) -> float:
    busy = [0.0] * min(workers, len(seconds))
    for each in sorted(seconds, reverse=True):
        heapq.heapreplace(busy, busy[0] + each)
    return max(busy, default=0.0)
