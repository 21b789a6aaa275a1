# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Far memory: every read finds its polynomial, nothing is overwritten early, and waits are those of the link."""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from itertools import pairwise

import pytest

from ringforge.errors import MemoryLimitError, ParameterError
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.machines.matmul.far import FarPlan, Link, Step, plan_far

LINK = Link(cycles=300, latency=40, sync=10)


def loop(transforms: int, rotations: int, *, hoisted: float = 20_000, shared: bool = False) -> list[Step]:
    """Linear transforms: a hoisted part in ten steps, then rotations with seven polynomials each."""
    steps = []
    for h in range(transforms):
        steps += [Step(hoisted / 10, ())] * 10
        steps += [Step(200, tuple((0 if shared else h, t, j) for j in range(7))) for t in range(rotations)]
    return steps


def execute(plan: FarPlan, steps: Sequence[Step], link: Link) -> float:
    """Runs a plan by itself: places hold names, copies go one after the other through the link's queue.

    Checks each read. A place may be overwritten only in a phase that does not read it. Returns the cycles.
    """
    held: dict[int, Hashable] = dict(enumerate(plan.resident))
    known = set(plan.far)
    coming: list[tuple[float, int, Hashable]] = []
    time, free = 0.0, 0.0
    read_in_phase: set[int] = set()

    def issue(step: int) -> None:
        nonlocal time, free
        for copy in plan.copies_behind(step):
            assert copy.name in known
            assert 0 <= copy.place < plan.places
            assert copy.place not in read_in_phase, "a copy overwrites what its phase reads"
            waiting = [done for done, _, _ in coming if done > time]
            if len(waiting) >= link.queue:
                time = waiting[-link.queue]
            free = max(free, time + link.latency) + link.cycles
            coming.append((free, copy.place, copy.name))

    issue(-1)
    for i, step in enumerate(steps):
        if i in plan.syncs:
            time = max(time, *(done for done, _, _ in coming)) + link.sync
            held.update({place: name for _, place, name in coming})
            coming.clear()
            read_in_phase.clear()
        for name in step.reads:
            place = plan.place(name, i)
            assert held[place] == name
            assert place not in [p for _, p, _ in coming], "read while it is overwritten"
            read_in_phase.add(place)
        time += step.cycles
        issue(i)
    assert not coming, "copies that nobody reads"
    return time


def test_links_of_the_machines() -> None:
    # A polynomial of 2^16 words of 54 bits, 128 bytes a cycle; two elements share the same rate.
    assert Link.of(FameConfig.named("fame-l"), 16) == Link(442_368 / 128, 128, 8, 64)
    medium = FameConfig.named("fame-m")
    alone = 221_184 / (medium.far_bytes_per_second / medium.clock_hz)
    assert Link.of(medium, 15).cycles == pytest.approx(max(2 * alone, 221_184 / medium.far_line_bytes))


def test_what_fits_stays() -> None:
    steps = loop(2, 5, shared=True)
    plan = plan_far(steps, 35, LINK)
    assert (len(plan.resident), plan.far, plan.copied, plan.stall, plan.places) == (35, (), 0, 0, 35)
    assert execute(plan, steps, LINK) == plan.cycles == sum(s.cycles for s in steps)


@pytest.mark.parametrize("room", [14, 40, 150, 400, 690])
@pytest.mark.parametrize("cycles", [3, 60, 300])
def test_reads_find_what_they_ask_for_in_the_time_foretold(room: int, cycles: float) -> None:
    steps, link = loop(10, 10), Link(cycles, 40, sync=10)
    plan = plan_far(steps, room, link)
    assert plan.places <= room
    names = [*plan.resident, *plan.far]
    assert len(names) == len(set(names))
    assert set(names) == {n for s in steps for n in s.reads}
    assert execute(plan, steps, link) == pytest.approx(plan.cycles)
    # Neither faster than its steps nor than the link.
    assert plan.cycles >= max(sum(s.cycles for s in steps), plan.copied * cycles)


def test_a_fast_enough_link_costs_nothing_but_its_meetings() -> None:
    # 700 polynomials, 100 too many, in 220,000 cycles: the link needs 300 each, and begins at once.
    steps = loop(10, 10)
    plan = plan_far(steps, 650, LINK)
    assert plan.copied >= 50
    assert plan.stall < 0.001 * plan.cycles


def test_a_slow_link_is_busy_all_the_time() -> None:
    steps, link = loop(10, 10), Link(1000, 40)
    plan = plan_far(steps, 300, link)
    assert plan.cycles < 1.2 * plan.copied * link.cycles
    assert plan.stall == pytest.approx(plan.cycles - sum(s.cycles for s in steps))


def test_what_is_read_most_often_stays() -> None:
    often = [Step(100, ("a", "b", f"once {i}")) for i in range(50)]
    plan = plan_far(often, 20, Link(50))
    assert {"a", "b"} <= set(plan.resident)
    assert plan.copied == len(plan.far) >= 32


def test_far_polynomials_are_spread_over_time() -> None:
    steps = [Step(100, (i,)) for i in range(1000)]
    plan = plan_far(steps, 900, Link(500, 10))
    far = [int(str(name)) for name in plan.far]
    gaps = [b - a for a, b in pairwise(far)]
    assert far[0] > 0
    assert max(gaps) <= 3 * len(steps) / len(plan.far)
    assert plan.stall == 0


def test_a_half_is_filled_while_the_other_is_read() -> None:
    steps = loop(4, 10)
    plan = plan_far(steps, 100, LINK)
    first = len(plan.resident)
    for a, b in pairwise(plan.phases):
        assert {c.place for c in a.copies} == set(b.places.values())
        halves = {(place - first) // plan.half for place in b.places.values()}
        assert len(halves) <= 1
        assert not {c.place for c in a.copies} & set(a.places.values())


def test_random_programs() -> None:
    draw = random.Random(17)
    for _ in range(40):
        names = range(draw.randint(10, 120))
        steps = [
            Step(draw.uniform(1, 500), tuple(draw.sample(names, draw.randint(0, 5))))
            for _ in range(draw.randint(1, 150))
        ]
        most = max(1, *(len(s.reads) for s in steps))
        link = Link(draw.uniform(1, 400), draw.uniform(0, 100), draw.randint(1, 8), draw.uniform(0, 50))
        room = draw.randint(2 * most, 130)
        plan = plan_far(steps, room, link)
        assert plan.places <= room
        assert execute(plan, steps, link) == pytest.approx(plan.cycles)
        assert plan.cycles >= max(sum(s.cycles for s in steps), plan.copied * link.cycles)
        assert plan == plan_far(steps, room, link)


def test_refusals() -> None:
    steps = loop(1, 10)
    with pytest.raises(MemoryLimitError, match="reads 7 polynomials, near memory has room for 13"):
        plan_far(steps, 13, LINK)
    with pytest.raises(MemoryLimitError, match="far memory holds 10: take a plan with fewer keys"):
        plan_far(steps, 14, LINK, far_room=10)
    with pytest.raises(ParameterError, match="more than 0 cycles"):
        plan_far([Step(0, ())], 1, LINK)
    with pytest.raises(ParameterError, match="more than 0 cycles"):
        plan_far([], 1, LINK)
    plan = plan_far(steps, 14, LINK)
    for step in (-1, 0, len(steps)):
        with pytest.raises(ParameterError, match="does not read"):
            plan.place((0, 9, 0), step)
