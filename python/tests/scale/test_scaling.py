# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The model of clusters against counting by hand and against a simulation."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringforge.devices.scaling import Cluster, Stage, Workload, most_useful, predict, predict_work
from ringforge.devices.sharding import Cost, cut
from ringforge.errors import ParameterError

COSTS = st.lists(st.builds(Cost, seconds=st.floats(0.01, 10.0)), min_size=1, max_size=40)


@given(COSTS, st.integers(1, 12))
def test_time_is_between_its_bounds(costs: list[Cost], workers: int) -> None:
    """No schedule is below the mean or the longest shard; that of the longest first is within 4/3 of the best."""
    cluster = Cluster(workers, overhead=0.0)
    found = predict([Stage("one", tuple(costs))], cluster).seconds
    seconds = [c.seconds for c in costs]
    floor = max(max(seconds), sum(seconds) / workers)
    assert floor * (1 - 1e-9) <= found <= sum(seconds) / workers + max(seconds)
    assert predict([Stage("one", tuple(costs))], Cluster(1, overhead=0.0)).seconds == pytest.approx(sum(seconds))


@given(COSTS)
def test_more_workers_take_no_longer_than_the_work(costs: list[Cost]) -> None:
    stages = [Stage("one", tuple(costs), serial=0.5)]
    assert 1 <= most_useful(stages, Cluster(16)) <= min(16, len(costs))


def test_bytes_by_hand() -> None:
    """Two nodes, four shards: keys of 100 go to the other node, half of the rest crosses."""
    costs = tuple(Cost(seconds=1.0, stored=100 + 10, sent=4, result=6, memory=m) for m in (1, 2, 3, 4))
    found = predict([Stage("one", costs, shared=100)], Cluster(4, per_node=2, network=10.0, store=1e9, overhead=0.0))
    assert found.put == 100 + 4 * 14
    assert found.results == 24
    assert found.traffic == 100 + (4 * 14 + 24) // 2
    assert found.store == 100 + 4 * 10, "small arguments and results travel with their messages"
    large = predict([Stage("one", tuple(replace(c, result=10**6) for c in costs), shared=100)], Cluster(4))
    assert large.store == 100 + 4 * (10 + 10**6)
    assert found.memory == 4 + 3
    assert found.seconds == pytest.approx(100 / 10 + 1.0 + 0.5 * 20 / 10, rel=1e-3)
    alone = predict([Stage("one", costs, shared=100)], Cluster(4))
    assert alone.traffic == 0


def test_stages_follow_each_other() -> None:
    one, two = Stage("one", (Cost(seconds=1.0),) * 4), Stage("two", (Cost(seconds=3.0),), serial=0.25)
    cluster = Cluster(4, overhead=0.0)
    both = predict([one, two], cluster)
    assert both.seconds == pytest.approx(predict([one], cluster).seconds + predict([two], cluster).seconds)
    assert both.work == pytest.approx(7.25)
    assert most_useful([one, two], Cluster(64)) == 4


def test_the_longest_shard_is_a_floor() -> None:
    rng = random.Random(1)
    costs = (*(Cost(seconds=rng.uniform(0.1, 1.0)) for _ in range(50)), Cost(seconds=5.0))
    assert predict([Stage("one", costs)], replace(Cluster(1000), overhead=0.0)).seconds == 5.0


@pytest.mark.parametrize("wrong", [{"workers": 0}, {"workers": 1, "network": 0.0}, {"workers": 1, "overhead": -1.0}])
def test_clusters_that_cannot_be(wrong: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match="one worker at least"):
        Cluster(**wrong)  # type: ignore[arg-type]


def test_shards_that_read_less_than_all_of_them() -> None:
    with pytest.raises(ParameterError, match="stage one"):
        Stage("one", (Cost(stored=1),), shared=2)


@given(st.integers(1, 1000), st.integers(1, 40))
def test_ranges(count: int, parts: int) -> None:
    found = cut(count, parts)
    assert [i for r in found for i in r] == list(range(count))
    assert len(found) == min(count, parts)
    assert max(map(len, found)) - min(map(len, found)) <= 1


def test_what_some_shards_read_is_put_once() -> None:
    """Eight shards that read two of four values each, four nodes: a value is read by four of them, and goes to the node
    of each, the driver's excepted, with the chance that one of the four is computed there."""
    costs = (Cost(seconds=1.0, stored=20),) * 8
    stage = Stage("one", costs, distinct=40)
    found = predict([stage], Cluster(4, per_node=1))
    assert (found.put, found.store) == (40, 40)
    assert found.traffic == round(40 * 3 * (1 - 0.75**4))
    # A simulation of just that.
    rng, total = random.Random(1), 0
    for _ in range(20_000):
        places = [rng.randrange(4) for _ in range(8)]
        for value in range(4):
            readers = {places[(2 * value + i) % 8] for i in range(4)}
            total += 10 * len(readers - {0})
    assert found.traffic == pytest.approx(total / 20_000, rel=0.02)
    assert predict([Stage("one", costs)], Cluster(4, per_node=1)).put == 160


def test_stores_keep_values_for_a_second_more() -> None:
    def stage(seconds: float, stored: int, result: int = 0) -> Stage:
        return Stage("some", (Cost(seconds=seconds, stored=stored, result=result << 20),), kept=5)

    def held(*stages: Stage) -> int:
        return predict(stages, Cluster(1, overhead=0.0, store=1e18)).store - 5

    assert held(stage(0.5, 10), stage(2.0, 20), stage(1.0, 12)) == 32, "each meets what the one before has left"
    assert held(stage(0.3, 10), stage(0.3, 20), stage(1.0, 12)) == 42
    assert held(stage(1.5, 10), stage(1.5, 20)) == 30
    # A result that comes later than a second meets nothing; one that comes before does.
    assert held(stage(1.0, 10), stage(2.0, 20, 1)) == 20 + (1 << 20)
    assert held(stage(1.0, 10), stage(0.5, 20, 1)) == 30 + (1 << 20)
    # Of two things that go on by themselves, one puts when the other is computed.
    first, second = (Stage("both", (Cost(2.0, stored=x),) * 2, kept=5, chains=2) for x in (10, 12))
    assert held(first, second) == 2 * 10 + 12
    cluster = Cluster(1, overhead=0.0, store=1e18)
    work = Workload("two pieces", lambda _: [stage(2.0, 10)], pieces=lambda _: 2)
    assert predict_work(work, cluster).store == 5 + 20
    assert predict_work(replace(work, pieces=lambda _: 1), cluster).store == 5 + 10
    assert held(replace(stage(1.0, 10), stays=True), stage(1.0, 12)) == 12, "later stages have it among what they keep"
