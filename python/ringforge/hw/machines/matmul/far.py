# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Keys and masks that near memory has no room for: which of them live there, and when the others are copied in.

A program is cut into *steps*, each with the cycles that it takes by itself and the polynomials (of keys, of masks) that
it reads. All are of one size, so near memory is a row of places. Most places hold one polynomial for ever; the rest is
a buffer of two halves. The program runs in *phases*: while one reads what is in one half, COPYs fill the other one for
the next, and a SYNC between two phases waits for them. A run needs nothing in the buffer that another left there.

    SYNC | step, COPY, COPY, step, COPY, step | SYNC | step, COPY, ...

COPYs of a phase stand behind its first step, whose instructions wait for what is left of the phase before: by then
nobody reads the half that is filled. Behind each step as many are issued as the queue is expected to have room for,
since a COPY that finds it full holds up all that comes behind; so a step should take no longer than a full queue does.

Which polynomials come from afar. As few bytes as possible cross the link: those that fewest steps read. Among equals
they are spread over time, so that the link is busy from the beginning to the end and nowhere asked for more than it
has had time for: with a *credit* that grows as time passes, never beyond a quarter of a half, and falls by one for each
polynomial that is read from the buffer, a polynomial comes from afar where the credit allows it. The rate at which
the credit grows is the least at which the others fit near memory. At or below the link's own rate little waits.

What a phase takes, with its steps' cycles w_1 + w_2 + ..., n polynomials to copy, L cycles for each, if steps are
short:

    max(w_1 + w_2 + ..., w_1 + latency + n L) + sync

with `sync` for what units lose while one waits. The difference to its steps' cycles is a *stall*. Several sizes of the
buffer are tried, the fastest is kept.

>>> steps = [Step(100, (f"key {i}",)) for i in range(12)]
>>> plan = plan_far(steps, 10, Link(cycles=80, latency=20))
>>> len(plan.resident), len(plan.far), plan.stall
(8, 4, 0.0)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final

from ringforge.errors import MemoryLimitError, ParameterError

if TYPE_CHECKING:
    from ringforge.hw.machines.matmul.config import FameConfig

#: COPYs that an element has under way or waiting, at most.
COPY_QUEUE: Final = 8
#: Halvings of the interval in which the credit's rate is sought.
_SEARCH: Final = 16
#: A plan this close to what steps or link take alone is not bettered.
_NEAR: Final = 1.002


@dataclass(frozen=True)
class Step:
    """A part of an element's program between two places where COPYs may stand.

    Attributes:
        cycles: that it takes when nothing has to be waited for, above 0.
        reads: names of the constant polynomials that it reads. Its last instructions depend on all of them.
    """

    cycles: float
    reads: tuple[Hashable, ...]


@dataclass(frozen=True)
class Link:
    """What brings polynomials from far memory to one element.

    Attributes:
        cycles: L, of a polynomial, all elements copying.
        latency: from a COPY to its first data.
        queue: COPYs under way or waiting.
        sync: cycles that units are idle around a SYNC.
    """

    cycles: float
    latency: float = 0
    queue: int = COPY_QUEUE
    sync: float = 0

    @classmethod
    def of(cls, config: FameConfig, log_n: int) -> Link:
        """A machine's link to its far memory, which its elements share evenly."""
        rate = min(config.far_bytes_per_second / config.clock_hz / config.pes, float(config.far_line_bytes))
        return cls(config.polynomial_bytes(log_n) / rate, config.far_latency, sync=config.dram_latency)


@dataclass(frozen=True)
class Copy:
    """A COPY: `name` from far memory to the near place `place`, behind step `step` (-1: before the first)."""

    name: Hashable
    place: int
    step: int


@dataclass(frozen=True)
class Phase:
    """Steps first <= i < end, and what is copied beside them.

    Attributes:
        first, end: the steps; none in a phase that only fills the buffer before the first.
        places: near place of each polynomial that its steps read from the buffer.
        copies: for the next phase, in order.
        work: cycles of its steps.
        cycles: with the wait for its copies.
    """

    first: int
    end: int
    places: dict[Hashable, int]
    copies: tuple[Copy, ...]
    work: float
    cycles: float


@dataclass(frozen=True)
class FarPlan:
    """Where each polynomial is when it is read.

    Attributes:
        resident: polynomials that stay in near memory; place i holds the i-th.
        far: those in far memory, in order of their first use; far place i holds the i-th.
        half: places of each half of the buffer, which follows the residents.
        phases: in order.
    """

    resident: tuple[Hashable, ...]
    far: tuple[Hashable, ...]
    half: int
    phases: tuple[Phase, ...]

    @property
    def places(self) -> int:
        """Places of near memory in use."""
        return len(self.resident) + 2 * self.half

    @cached_property
    def copied(self) -> int:
        """Polynomials that cross the link in a run."""
        return sum(len(p.copies) for p in self.phases)

    @cached_property
    def cycles(self) -> float:
        """Of a run, stalls included."""
        return sum(p.cycles for p in self.phases)

    @cached_property
    def stall(self) -> float:
        """Cycles in which a run waits for the link."""
        return self.cycles - sum(p.work for p in self.phases)

    @cached_property
    def syncs(self) -> frozenset[int]:
        """Steps before which a SYNC waits for copies."""
        return frozenset(b.first for a, b in pairwise(self.phases) if a.copies)

    def place(self, name: Hashable, step: int) -> int:
        """Near place at which a step reads a polynomial.

        Raises:
            ParameterError: the step does not read it.
        """
        if (fixed := self._resident.get(name)) is not None:
            return fixed
        number = bisect_right(self._ends, step)
        if step < 0 or number == len(self.phases) or name not in self.phases[number].places:
            raise ParameterError(f"step {step} does not read {name}: ask for what its `reads` named")
        return self.phases[number].places[name]

    def copies_behind(self, step: int) -> tuple[Copy, ...]:
        """COPYs that stand behind a step; -1: before the first one."""
        return self._behind.get(step, ())

    @cached_property
    def _resident(self) -> dict[Hashable, int]:
        return {name: i for i, name in enumerate(self.resident)}

    @cached_property
    def _ends(self) -> list[int]:
        return [p.end for p in self.phases]

    @cached_property
    def _behind(self) -> dict[int, tuple[Copy, ...]]:
        found: dict[int, list[Copy]] = {}
        for phase in self.phases:
            for copy in phase.copies:
                found.setdefault(copy.step, []).append(copy)
        return {step: tuple(copies) for step, copies in found.items()}


def plan_far(steps: Sequence[Step], room: int, link: Link, *, far_room: int | None = None) -> FarPlan:
    """Decides what stays in near memory and when the rest is copied.

    Args:
        steps: of the program, in order.
        room: places of near memory for what the steps read; ciphertexts, tables and programs are apart.
        link: to the far memory.
        far_room: polynomials that the element's far memory holds; None: enough.

    Raises:
        ParameterError: no steps, or one that takes no time. MemoryLimitError: near memory does not hold twice what
            one step reads, or far memory does not hold the rest.
    """
    if not steps or min(s.cycles for s in steps) <= 0:
        raise ParameterError("a program has steps that take more than 0 cycles each: join those that take none")
    uses: dict[Hashable, int] = {}
    for step in steps:
        for name in dict.fromkeys(step.reads):
            uses[name] = uses.get(name, 0) + 1
    if len(uses) <= room:
        return FarPlan(tuple(uses), (), 0, tuple(_phases(steps, frozenset(), 0, 0, link)))
    most = max(len(set(s.reads)) for s in steps)
    if room < 2 * most:
        raise MemoryLimitError(
            f"one step reads {most} polynomials, near memory has room for {room}: give twice as many places as a step "
            "reads, or cut the steps"
        )
    best: FarPlan | None = None
    half = max(most, min(link.queue, room // 2))
    while True:
        plan = _plan(steps, uses, room, half, link)
        if best is not None and plan.cycles >= best.cycles:
            break
        best = plan
        if half == room // 2 or best.cycles <= _NEAR * max(sum(s.cycles for s in steps), best.copied * link.cycles):
            break
        half = min(2 * half, room // 2)
    if far_room is not None and len(best.far) > far_room:
        raise MemoryLimitError(
            f"{len(best.far)} polynomials do not fit near memory, far memory holds {far_room}: take a plan with fewer "
            "keys or at a lower level, or a larger far memory such as the host's"
        )
    return best


def _plan(steps: Sequence[Step], uses: dict[Hashable, int], room: int, half: int, link: Link) -> FarPlan:
    far = _far(steps, uses, len(uses) - (room - 2 * half), max(half // 4, 1), link)
    resident = tuple(name for name in uses if name not in far)
    phases = tuple(_phases(steps, far, half, len(resident), link))
    return FarPlan(resident, tuple(name for name in uses if name in far), half, phases)


def _far(steps: Sequence[Step], uses: dict[Hashable, int], count: int, most: int, link: Link) -> frozenset[Hashable]:
    """So many polynomials that come from afar: those that fewest steps read, the last ones of these spread in time.

    `most`: credit that can be saved.
    """
    ranked = sorted(uses.values())
    limit = ranked[count - 1]
    always = {name for name, n in uses.items() if n < limit}
    count -= len(always)
    # Time in which the link can work: in a longer step its queue runs empty.
    spans = [min(s.cycles, link.queue * link.cycles) for s in steps]
    reads = [
        (end - span, name)
        for end, span, step in zip(accumulate(spans), spans, steps, strict=True)
        for name in dict.fromkeys(step.reads)
        if uses[name] <= limit
    ]

    def spread(rate: float) -> list[Hashable]:
        credit, last = 0.0, 0.0
        taken: dict[Hashable, bool] = {}
        for time, name in reads:
            credit, last = min(most, credit + (time - last) * rate), time
            if name in always or (taken.setdefault(name, credit >= 1)):
                credit -= 1
        return [name for name, far in taken.items() if far]

    low, high = 0.0, max(len(s.reads) for s in steps) / min(spans)
    found = spread(high)
    for _ in range(_SEARCH):
        if count <= len(found) <= _NEAR * count:
            break
        middle = (low + high) / 2
        tried = spread(middle)
        if len(tried) < count:
            low = middle
        else:
            high, found = middle, tried
    if len(found) < count:
        # What the first steps read never has credit: the latest of the rest go as well.
        taken = set(found)
        rest = [name for _, name in reads if name not in always and name not in taken]
        found += list(dict.fromkeys(reversed(rest)))[: count - len(found)]
    return frozenset(always).union(found[:count])


def _phases(
    steps: Sequence[Step], far: frozenset[Hashable], half: int, first_place: int, link: Link
) -> Iterator[Phase]:
    """Cuts the steps where what they read from the buffer is as much as was copied meanwhile, or fills a half."""
    cuts, reads = [0], [dict[Hashable, None]()]
    limit, meanwhile = 0, 0.0
    for i, step in enumerate(steps):
        mine = [name for name in step.reads if name in far]
        fresh = sum(name not in reads[-1] for name in dict.fromkeys(mine))
        if fresh and len(reads[-1]) + fresh > limit:
            cuts.append(i)
            # Where the link cannot keep up, longer phases meet less often.
            grown = 2 * len(reads[-1]) if meanwhile < len(reads[-1]) else 0
            reads.append(dict.fromkeys(mine))
            limit = max(min(half, max(int(meanwhile), grown)), len(reads[-1]))
            meanwhile = 0.0
        else:
            reads[-1].update(dict.fromkeys(mine))
            meanwhile += min(link.queue, step.cycles / link.cycles)
    cuts.append(len(steps))
    for number, (first, end) in enumerate(pairwise(cuts)):
        wanted = list(reads[number + 1]) if number + 1 < len(reads) else []
        base = first_place + half * ((number + 1) % 2)
        mine_at = {name: first_place + half * (number % 2) + i for i, name in enumerate(reads[number])}
        issued, cycles = _issue([s.cycles for s in steps[first:end]], len(wanted), link)
        order = enumerate(zip(wanted, issued, strict=True))
        copies = tuple(Copy(name, base + i, first + at) for i, (name, at) in order)
        yield Phase(first, end, mine_at, copies, sum(s.cycles for s in steps[first:end]), cycles)


def _issue(steps: Sequence[float], count: int, link: Link) -> tuple[list[int], float]:
    """Of a phase with steps of so many cycles: the step behind which each copy stands, -1 without steps; its cycles."""
    time, free = 0.0, 0.0
    issued: list[int] = []
    arrivals: list[float] = []

    def issue(step: int) -> None:
        nonlocal free
        free = max(free, time + link.latency) + link.cycles
        issued.append(step)
        arrivals.append(free)

    for i, cycles in enumerate(steps):
        time += cycles
        while len(issued) < count and (len(issued) < link.queue or arrivals[-link.queue] <= time):
            issue(i)
    while len(issued) < count:
        # Behind the last step the sequencer waits for the queue.
        if len(issued) >= link.queue:
            time = max(time, arrivals[-link.queue])
        issue(len(steps) - 1)
    return issued, max(time, *arrivals[-1:]) + link.sync if count else time
