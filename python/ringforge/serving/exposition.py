# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a service tells of itself, in the words of Prometheus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from ringforge.serving.meter import BOUNDS
from ringforge.serving.status import Load, Status

__all__ = ["CONTENT_TYPE_LATEST", "text"]

_PREFIX = "ringforge_"


class _Once(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = list(families)

    def collect(self) -> Iterable[Metric]:
        return self._families


def text(status: Status) -> bytes:
    """The text format of Prometheus, as `CONTENT_TYPE_LATEST` says."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Once([*_about(status), *_calls(status.load), *_load(status.load)]))
    return generate_latest(registry)


def _gauge(name: str, help: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(_PREFIX + name, help, value)


def _about(s: Status) -> Iterator[Metric]:
    build = {"service": s.service, **{k: v for k, v in s.facts.items() if k.isidentifier() and k.isascii()}}
    yield InfoMetricFamily(f"{_PREFIX}build", "What runs: service, version, device, kernels.", build)
    yield _gauge("ready", "1 while calls are taken.", float(s.state == "ready"))
    yield _gauge("start_time_seconds", "When the process started, since 1970.", s.started)
    yield _gauge("resident_memory_bytes", "Memory of the process.", s.resident)
    yield _gauge("calls_under_way", "Calls that were let in and have not ended.", s.load.under_way)


def _calls(load: Load) -> Iterator[Metric]:
    calls = CounterMetricFamily(f"{_PREFIX}calls", "Ended calls.", labels=["method", "outcome"])
    received = CounterMetricFamily(f"{_PREFIX}received_bytes", "Bytes of messages that came.", labels=["method"])
    sent = CounterMetricFamily(f"{_PREFIX}sent_bytes", "Bytes of messages that went.", labels=["method"])
    times = HistogramMetricFamily(
        f"{_PREFIX}call_seconds",
        "Time of calls that were let in, from beginning to end.",
        labels=["method"],
    )
    for name, m in load.methods.items():
        for outcome, count in m.outcomes.items():
            calls.add_metric([name, outcome], count)
        received.add_metric([name], m.received)
        sent.add_metric([name], m.sent)
        below, buckets = 0, []
        for bound, count in zip([*map(str, BOUNDS), "+Inf"], m.times, strict=True):
            below += count
            buckets.append((bound, below))
        times.add_metric([name], buckets, m.seconds)
    yield from (calls, received, sent, times)


def _load(load: Load) -> Iterator[Metric]:
    waiting = GaugeMetricFamily(f"{_PREFIX}queue_length", "Who waits to be computed.", labels=["queue"])
    most = GaugeMetricFamily(f"{_PREFIX}queue_limit", "How many may wait.", labels=["queue"])
    for name, q in load.queues.items():
        waiting.add_metric([name], q.waiting)
        most.add_metric([name], q.most)
    yield from (waiting, most)

    running = [t for t in load.work if not t.waiting]
    under_way = GaugeMetricFamily(f"{_PREFIX}work_under_way", "What is computed now.", labels=["what"])
    done = GaugeMetricFamily(f"{_PREFIX}work_progress_ratio", "How much of it is done.", labels=["what", "place"])
    left = GaugeMetricFamily(f"{_PREFIX}work_seconds_left", "Time it still takes, about.", labels=["what", "place"])
    places: dict[str, int] = {}
    for t in running:
        place = str(places.get(t.what, 0))
        places[t.what] = places.get(t.what, 0) + 1
        done.add_metric([t.what, place], t.fraction)
        if t.seconds_left >= 0:
            left.add_metric([t.what, place], t.seconds_left)
    for what, count in places.items():
        under_way.add_metric([what], count)
    yield from (under_way, done, left)

    asked = GaugeMetricFamily(
        f"{_PREFIX}quota_used_today", "What all clients together have asked for since midnight UTC.", labels=["kind"]
    )
    clients = GaugeMetricFamily(f"{_PREFIX}quota_clients_today", "How many clients these are.", labels=["kind"])
    each = GaugeMetricFamily(f"{_PREFIX}quota_limit_each", "What one client may ask for in a day.", labels=["kind"])
    for kind, a in load.quotas.items():
        asked.add_metric([kind], a.used)
        clients.add_metric([kind], a.clients)
        each.add_metric([kind], a.each)
    yield from (asked, clients, each)

    used = GaugeMetricFamily(f"{_PREFIX}used", "Sessions, bytes of memory and disk that are taken.", labels=["of"])
    limit = GaugeMetricFamily(f"{_PREFIX}limit", "How much of it there is.", labels=["of"])
    for name, u in load.uses.items():
        used.add_metric([name], u.used)
        if u.most:
            limit.add_metric([name], u.most)
    yield from (used, limit)
