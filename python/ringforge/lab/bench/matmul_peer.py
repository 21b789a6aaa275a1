# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The published product of encrypted matrices (Algorithm 2), done by Lattigo on one thread.

One rotation, plaintext product and addition for each diagonal, one relinearised product for each k, one rescale for
each linear transform and one for the sum. What is run merges diagonals that agree modulo the slots (z and z - ml where
ml = N/2); the published baseline rotates once for each diagonal ("127 rotations" for 64 x 64), so the rotations that
merging saved are added to its time, and both times are reported. A product that takes long is not run: its time is put
together from at least :data:`SAMPLES` rotations at the level of either step, and a few products.

Beside it stands the same with sigma and tau by Lattigo's own evaluator of linear transforms, which shares rotations
among diagonals (baby steps and giant steps); the transforms of the second step have too few diagonals for that when
the matrices are square.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ringforge.errors import LevelError
from ringforge.lab.papers.matmul import ProductCounts, Shape, product_counts
from ringforge.lab.peers import lattigo
from ringforge.lab.peers.child import PeerError
from ringforge.lab.timing import Timing, total
from ringforge.params import Parameters
from ringforge.runs import Clock

SAMPLES = 32
"""Least number of rotations measured for either step, where a product has as many."""

LIMIT_S = 180.0
"""A product that takes longer than this, keys and encoding included, is extrapolated."""

PLENTY_BYTES = 1 << 31
"""With more bytes of encoded diagonals than this, Lattigo's own evaluator is tried with one split only."""

TOO_MANY_BYTES = 1 << 33
"""With more than this it is not tried."""

LOWEST_LEVEL = 3
"""Levels that Algorithm 2 takes."""

Run = Callable[[lattigo.Request], lattigo.Result]


@dataclass(frozen=True)
class Seconds:
    """Lattigo's Algorithm 2 for a shape by one clock, in seconds; keys and encoding of diagonals are not in them.

    Attributes:
        step_1: sigma and tau, rescaled.
        step_2: all epsilon^k and omega^k, rescaled.
        products: relinearised products, their sum, its rescale.
        rotation_1: one rotation with its plaintext product and addition, at the first step's level (median).
        rotation_2: the same at the second step's.
        product: one relinearised product (median).
        bsgs_step_1: sigma and tau by Lattigo's own evaluator, rescaled; None if not asked for, or too large.
        merged: rotations that merging saved, (step 1, step 2).
    """

    step_1: float
    step_2: float
    products: float
    rotation_1: float
    rotation_2: float
    product: float
    bsgs_step_1: float | None = None
    merged: tuple[int, int] = (0, 0)

    @property
    def whole(self) -> float:
        """The whole product, diagonals that agree modulo the slots merged."""
        return self.step_1 + self.step_2 + self.products

    @property
    def published(self) -> float:
        """The whole product with one rotation for each non-zero diagonal, as published."""
        return self.whole + self.merged[0] * self.rotation_1 + self.merged[1] * self.rotation_2

    @property
    def bsgs(self) -> float | None:
        """The whole product with sigma and tau by Lattigo's own evaluator."""
        return None if self.bsgs_step_1 is None else self.bsgs_step_1 + self.step_2 + self.products


@dataclass(frozen=True)
class PeerProduct:
    """What Lattigo took for a product.

    Attributes:
        wall, cpu: by either clock.
        rotations: rotations of the product, (step 1, step 2).
        measured: how many of them were measured, (step 1, step 2).
        extrapolated: put together from samples.
        error: largest difference from the clear result; of the samples where extrapolated.
        version: Lattigo's.
        peak_mib: memory of the peer's process.
    """

    wall: Seconds
    cpu: Seconds
    rotations: tuple[int, int]
    measured: tuple[int, int]
    extrapolated: bool
    error: float
    version: str
    peak_mib: float

    @property
    def published(self) -> Timing:
        """The whole product with one rotation for each non-zero diagonal, as published."""
        return Timing(self.wall.published, self.cpu.published)

    def by(self, clock: Clock) -> Seconds:
        """Seconds by one of the clocks."""
        return self.cpu if clock == "processor" else self.wall


def request(p: Parameters) -> lattigo.Request:
    """A request at the highest level of a parameter set: same degree, primes and scale.

    Raises:
        LevelError: the set has too few levels.
    """
    if p.max_level < LOWEST_LEVEL:
        raise LevelError(
            f"Algorithm 2 takes {LOWEST_LEVEL} levels, {p.name} has {p.max_level}: take a set with more primes"
        )
    return lattigo.Request(
        case="matmul_naive",
        log_n=p.log_n,
        q=tuple(p.q),
        p=tuple(p.p),
        level=p.max_level,
        log_scale=round(p.log_scale),
        seed=7,
    )


def spread(steps: Sequence[int], count: int) -> tuple[int, ...]:
    """At most `count` of the steps, evenly over the list."""
    if len(steps) <= count:
        return tuple(steps)
    return tuple(steps[i * len(steps) // count] for i in range(count))


def _steps(counts: ProductCounts) -> tuple[list[int], list[int]]:
    """Distinct rotations of either step."""
    first = frozenset().union(*map(counts.steps, counts.step1))
    second = frozenset().union(*(counts.steps(d) for pair in counts.step2 for d in pair))
    return sorted(first), sorted(second)


def measure(
    shape: Shape, p: Parameters, *, limit_s: float = LIMIT_S, bsgs: bool = True, run: Run = lattigo.run
) -> PeerProduct:
    """Lattigo's time for a product.

    Args:
        shape: of the product; its matrices must fit in one ciphertext.
        p: parameters; inputs are at the highest level.
        limit_s: longest whole run; 0 extrapolates always.
        bsgs: measure Lattigo's own evaluator on sigma and tau, too.
        run: does a request.

    Raises:
        LevelError: the set has fewer than three levels.
        ShapeError: a matrix does not fit in the slots.
        PeerError: Lattigo failed, or is missing.
    """
    counts = product_counts(shape, p.slots)
    base = request(p)
    first, second = _steps(counts)
    # A product so small that it has no rotation in a step is run as a whole; there is nothing to extrapolate from.
    sampled = None
    if first and second:
        samples = replace(base, rotations=spread(first, SAMPLES), second_rotations=spread(second, SAMPLES))
        sampled = _extrapolate(counts, run(samples), samples)
    if sampled is None or (limit_s > 0 and sampled[1] <= limit_s):
        made = _whole(run(replace(base, shape=(shape.m, shape.l, shape.n))), counts)
    else:
        made = sampled[0]
    own = [_transform(base, counts, d, run) for d in counts.step1] if bsgs else []
    known = [x for x in own if x is not None]
    if not known or len(known) < len(counts.step1):
        return made
    step = total(known)
    return replace(made, wall=replace(made.wall, bsgs_step_1=step.wall), cpu=replace(made.cpu, bsgs_step_1=step.cpu))


def _extrapolate(counts: ProductCounts, result: lattigo.Result, samples: lattigo.Request) -> tuple[PeerProduct, float]:
    """A product from the times of its operations, and how long a whole run would take."""
    walls, cpus = result.parts or {}, result.cpu_parts or {}
    rotations = counts.step1_rotations, counts.step2_rotations
    made = PeerProduct(
        wall=_sum_of(counts, walls),
        cpu=_sum_of(counts, cpus),
        rotations=rotations,
        measured=(len(samples.rotations), len(samples.second_rotations)),
        extrapolated=True,
        error=result.error,
        version=result.peer_version,
        peak_mib=result.peak_mib,
    )
    return made, made.wall.whole + sum(rotations) * walls["key"] + counts.masks * walls["encode"]


def _sum_of(counts: ProductCounts, t: dict[str, float]) -> Seconds:
    """A product from the times of its operations by one clock."""
    l = counts.shape.l  # noqa: E741
    rotations = counts.step1_rotations, counts.step2_rotations
    masks = counts.step1_masks - rotations[0], counts.masks - counts.step1_masks - rotations[1]
    return Seconds(
        step_1=rotations[0] * t["rotation_1"] + masks[0] * t["mask_1"] + 2 * t["rescale_1"],
        step_2=rotations[1] * t["rotation_2"] + masks[1] * t["mask_2"] + 2 * l * t["rescale_2"],
        products=l * t["product"] + t["rescale_3"],
        rotation_1=t["rotation_1"],
        rotation_2=t["rotation_2"],
        product=t["product"],
        merged=_merged(counts),
    )


def _merged(counts: ProductCounts) -> tuple[int, int]:
    """Rotations of a step, one for each diagonal that moves anything, beyond the distinct ones."""

    def moving(diagonals: frozenset[int]) -> int:
        return sum(1 for d in diagonals if d % counts.slots)

    first = sum(map(moving, counts.step1)) - counts.step1_rotations
    second = sum(moving(d) for pair in counts.step2 for d in pair) - counts.step2_rotations
    return first, second


def _whole(result: lattigo.Result, counts: ProductCounts) -> PeerProduct:
    """A product that was run."""
    walls, cpus = result.parts or {}, result.cpu_parts or {}

    def seconds(t: dict[str, float]) -> Seconds:
        return Seconds(
            step_1=t["step_1"],
            step_2=t["step_2"],
            products=t["products"],
            rotation_1=t.get("rotation_1", 0.0),
            rotation_2=t.get("rotation_2", 0.0),
            product=t["product"],
            merged=_merged(counts),
        )

    return PeerProduct(
        wall=seconds(walls),
        cpu=seconds(cpus),
        rotations=(counts.step1_rotations, counts.step2_rotations),
        measured=(int(walls["rotations_1"]), int(walls["rotations_2"])),
        extrapolated=False,
        error=result.error,
        version=result.peer_version,
        peak_mib=result.peak_mib,
    )


def _transform(base: lattigo.Request, counts: ProductCounts, diagonals: frozenset[int], run: Run) -> Timing | None:
    """Time of Lattigo's own evaluator for these diagonals, rescale included; None if they take too much memory."""
    steps = tuple(sorted({d % counts.slots for d in diagonals}))
    size = len(steps) * (len(base.q) + len(base.p)) << base.log_n + 3
    if size > TOO_MANY_BYTES:
        return None
    splits = (1,) if size > PLENTY_BYTES else (1, 2)
    asked = replace(base, case="linear_transform", diagonals=steps, budget_s=0.2)
    try:
        best = min((run(replace(asked, log_bsgs=split)) for split in splits), key=lambda r: r.cpu_seconds)
    except PeerError:
        # A column without which the comparison still stands; at the largest set it takes most of a machine's memory.
        return None
    return Timing(best.seconds + (best.rescale_seconds or 0.0), best.cpu_seconds + (best.rescale_cpu_seconds or 0.0))
