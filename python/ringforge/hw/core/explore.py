# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Design space exploration: every configuration of a machine that fits a card, by models of its time and resources.

A machine brings a :class:`Space`: axes, and what a point on them comes to. Small spaces are enumerated, as SophOMR's
engine does (Section VI: filter by DSP, BRAM and URAM, rank by latency, then by resources); large ones are searched by
Optuna's NSGA-II, with a fixed seed and the published design among its first trials, so that the best point found is
never behind it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, ClassVar, Final

import numpy as np

from ringforge.errors import HardwareError, ParameterError
from ringforge.hw.core.cards import Blocks, Card
from ringforge.hw.core.synthesis import Module

Values = Mapping[str, int | str]
#: Called with the share of work done.
Progress = Callable[[float], None]

#: Bits of an ultra RAM in 36-kbit block RAMs: what `Point.memory` counts.
URAM_IN_BRAM36: Final = 8
#: Spaces up to so many points are enumerated.
ENUMERATED: Final = 30_000


@dataclass(frozen=True)
class Point:
    """A configuration, by models.

    Attributes:
        values: where it lies on the axes.
        seconds: of the space's workload.
        clock_hz: that was assumed.
        dsp: slices.
        blocks: of memory.
        bytes_per_second: to and from the card's memory, on average.
        config: its configuration, as a file in a machine's folder `config` has it; empty where there is none.
        refused: why it cannot be built; empty where it can.
    """

    values: Values
    seconds: float
    clock_hz: float
    dsp: int
    blocks: Blocks
    bytes_per_second: float
    config: Mapping[str, Any] = field(default_factory=dict)
    refused: tuple[str, ...] = ()

    @property
    def memory(self) -> float:
        """On-chip memory in 36-kbit block RAMs."""
        return self.blocks.bram36 + URAM_IN_BRAM36 * self.blocks.uram

    @property
    def objectives(self) -> tuple[float, float, float, float]:
        """What is to be small: seconds, DSP slices, memory, bandwidth."""
        return self.seconds, self.dsp, self.memory, self.bytes_per_second

    @property
    def rank(self) -> tuple[float, float, float]:
        """Latency, then DSP slices, then memory."""
        return self.seconds, self.dsp, self.memory

    def fitted(self, card: Card) -> Point:
        """The same, refused where the card has too little."""
        over = [
            f"{have:,g} of {there:,} {what}"
            for what, have, there in (
                ("DSP slices", self.dsp, card.dsp),
                ("block RAMs", self.blocks.bram36, card.bram36),
                ("ultra RAMs", self.blocks.uram, card.uram),
            )
            if have > there
        ]
        if self.bytes_per_second > card.bytes_per_second:
            over.append(f"{self.bytes_per_second / 1e9:,.0f} GB/s of the memory's {card.bytes_per_second / 1e9:,.0f}")
        return replace(self, refused=(*self.refused, *over))

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "values": dict(self.values),
            "seconds": self.seconds if not self.refused else None,
            "clock_hz": self.clock_hz,
            "dsp": self.dsp,
            "bram36": self.blocks.bram36,
            "uram": self.blocks.uram,
            "bytes_per_second": self.bytes_per_second,
            "config": dict(self.config),
            "refused": list(self.refused),
        }


class Space(ABC):
    """What configurations a machine may have, and what each comes to by models."""

    #: The machine's name.
    machine: ClassVar[str]
    #: What `Point.seconds` is of, in a sentence.
    workload: str
    #: What models give the figures, in a sentence.
    models: str

    @property
    @abstractmethod
    def axes(self) -> Mapping[str, Sequence[int | str]]:
        """Names of the parameters, and the values that each may take."""

    @abstractmethod
    def point(self, values: Values, card: Card, clock_hz: float) -> Point:
        """A point; what no machine can have is refused with a reason, without regard to the card's size."""

    def published(self, card: Card) -> Values | None:  # noqa: ARG002
        """Where the paper's design lies on the axes; None if it does not."""
        return None

    def cells(self, point: Point) -> Sequence[tuple[Module, int]]:  # noqa: ARG002
        """Modules that take most of a point's resources, and how many there are of each; () if none are ours."""
        return ()


@dataclass(frozen=True)
class Found:
    """What an exploration came to.

    Attributes:
        space: that was explored.
        card: what points were fitted to.
        clock_hz: assumed.
        size: points of the space.
        points: those that were looked at, by rank; refused ones last.
        published: the paper's design by the same models, if it lies in the space.
    """

    space: Space
    card: Card
    clock_hz: float
    size: int
    points: tuple[Point, ...]
    published: Point | None

    @cached_property
    def fitting(self) -> tuple[Point, ...]:
        """Points that can be built."""
        return tuple(p for p in self.points if not p.refused)

    @property
    def best(self) -> Point:
        """The first one.

        Raises:
            ParameterError: none fits; the message has the reasons of the one that lacks least.
        """
        if not self.fitting:
            nearest = min(self.points, key=lambda p: len(p.refused))
            raise ParameterError(
                f"no configuration of {self.space.machine} fits the {self.card.title}; the nearest lacks: "
                f"{'; '.join(nearest.refused)}. Take a larger card"
            )
        return self.fitting[0]

    @cached_property
    def front(self) -> tuple[Point, ...]:
        """The Pareto front over latency, DSP slices, memory and bandwidth."""
        return pareto(self.fitting)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values: the front, and what it was found among."""
        return {
            "machine": self.space.machine,
            "workload": self.space.workload,
            "models": self.space.models,
            "card": self.card.name,
            "clock_hz": self.clock_hz,
            "space": self.size,
            "evaluated": len(self.points),
            "fitting": len(self.fitting),
            "front": [p.to_dict() for p in self.front],
            "published": None if self.published is None else self.published.to_dict(),
        }


def pareto(points: Iterable[Point]) -> tuple[Point, ...]:
    """Points that no other one dominates, by rank; of equal ones the first."""
    front: list[Point] = []
    held = np.empty((1024, 4))
    # In this order no later point dominates an earlier one.
    for point in sorted(points, key=lambda p: p.objectives):
        row, count = np.array(point.objectives), len(front)
        if (held[:count] <= row).all(axis=1).any():
            continue
        if count == len(held):
            held = np.concatenate([held, np.empty_like(held)])
        held[count] = row
        front.append(point)
    return tuple(sorted(front, key=lambda p: p.rank))


def explore(
    space: Space,
    card: Card,
    clock_hz: float | None = None,
    *,
    trials: int = ENUMERATED,
    seed: int = 1,
    progress: Progress | None = None,
) -> Found:
    """Looks at a space's points: at all of them if they are at most `trials`, else at so many that Optuna chooses.

    Raises:
        ParameterError: a clock or a number of trials that is not positive.
        HardwareError: the space is too large to enumerate, and Optuna is not installed.
    """
    clock = card.clock_hz if clock_hz is None else clock_hz
    if not clock > 0 or trials < 1:
        raise ParameterError(f"a clock of {clock:g} Hz and {trials} trials: both must be positive")
    size = prod(len(v) for v in space.axes.values())
    chosen = space.published(card)

    def at(values: Values) -> Point:
        return space.point(values, card, clock).fitted(card)

    found: dict[tuple[Any, ...], Point] = {}
    choose = _all(space) if size <= trials else _searched(space, at, trials, seed, chosen)
    each = max(1, min(size, trials) // 100)
    for n, values in enumerate(choose, 1):
        key = tuple(values.values())
        if key not in found:
            found[key] = at(values)
        if progress is not None and n % each == 0:
            progress(n / min(size, trials))
    ordered = sorted(found.values(), key=lambda p: (len(p.refused) > 0, p.rank))
    return Found(space, card, clock, size, tuple(ordered), None if chosen is None else at(chosen))


def _all(space: Space) -> Iterator[Values]:
    names = list(space.axes)
    for values in product(*space.axes.values()):
        yield dict(zip(names, values, strict=True))


def _searched(
    space: Space, at: Callable[[Values], Point], trials: int, seed: int, first: Values | None
) -> Iterator[Values]:
    try:
        import optuna
    except ImportError:
        raise HardwareError(
            f"the space of {space.machine} has more points than {trials:,}, which takes Optuna to search: "
            "pip install optuna, or allow more trials"
        ) from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    axes = space.axes
    sampler = optuna.samplers.NSGAIISampler(seed=seed, population_size=64)
    study = optuna.create_study(directions=["minimize"] * 3, sampler=sampler)
    if first is not None:
        study.enqueue_trial(dict(first))
    for _ in range(trials):
        trial = study.ask()
        values: dict[str, Any] = {
            name: trial.suggest_categorical(name, list(choices)) for name, choices in axes.items()
        }
        point = at(values)
        trial.set_constraint("fits", float(len(point.refused)))
        study.tell(trial, [min(point.seconds, 1e9), point.dsp, point.memory])
        yield values
