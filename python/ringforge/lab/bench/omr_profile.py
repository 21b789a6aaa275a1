# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Where detection's time goes: one bulletin on one thread, by stage and by kind of operation.

Stages are timed. Within the affine transform, products with diagonals and their sums are one fused pass; the rotations'
share is their number times the time of a rotation of the first stage, which is nothing else, and the rest is products.
Entries are random: operations do not depend on them.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from ringforge import bfv
from ringforge.errors import ParameterError
from ringforge.files import writing
from ringforge.lab.papers.omr import cost
from ringforge.lab.papers.omr.figures import AFFINE_OVER_RANGE, DEGREE
from ringforge.lab.tables import Cell, Table, Value
from ringforge.omr.plan import Plan
from ringforge.omr.sets import Set

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_Result = TypeVar("_Result")

METHODS: tuple[Literal["paper", "ringforge"], ...] = ("paper", "ringforge")
#: Of pictures.
FORMATS = ("png", "svg", "pdf")
#: Parts of a profile, in order.
PARTS = ("PCmul", "Rot", "CCadd", "range check", "compression")


@dataclass(frozen=True, slots=True)
class Part:
    """Seconds of processor time of a part, operations in it, and how the time was found.

    `count` is None where operations are of many kinds.
    """

    name: str
    seconds: float
    count: int | None
    source: Literal["measured", "derived"]


@dataclass(frozen=True, slots=True)
class Profile:
    """Of one method."""

    method: str
    parts: tuple[Part, ...]

    @property
    def seconds(self) -> float:
        """Of all parts."""
        return sum(part.seconds for part in self.parts)


def _timed(run: Callable[[], _Result]) -> tuple[float, _Result]:
    start = time.process_time()
    value = run()
    return time.process_time() - start, value


@dataclass(frozen=True, slots=True)
class _Affine:
    """The affine transform of random signals: seconds of its two stages and of a sum, and the errors."""

    babies: float
    run: float
    add: float
    subtract: float
    errors: list[bfv.Ciphertext]


def _affine(plan: Plan, session: bfv.Session) -> _Affine:
    s, shape, rng = plan.set, plan.shape, np.random.default_rng(8)
    signals = rng.integers(0, s.t, (s.entries, s.n), dtype=np.uint32)
    diagonals = [np.asarray(shape.layout.encode(signals, g)) for g in range(plan.giants)]
    key = rng.integers(-1, 2, s.n) % s.t
    v = session.encrypt(np.asarray(shape.layout.key_slots(key.astype(np.uint32))).astype(np.int64))
    session.add_galois_keys([shape.native.baby_element, shape.native.giant_element])
    galois, ev = session.galois_keys, session.evaluator
    first, babies = _timed(lambda: shape.native.babies(v, galois))
    second, outputs = _timed(lambda: list(shape.native.run(babies, 0, diagonals, galois)))
    add, _ = _timed(lambda: ev.add(outputs[0], outputs[1]))
    b = session.context.encode(rng.integers(0, s.t, s.entries).astype(np.int64))
    subtract, errors = _timed(lambda: [ev.sub_plain(c, b) for c in outputs])
    return _Affine(first, second, add, subtract, errors)


def profile(s: Set, method: Literal["paper", "ringforge"]) -> Profile:
    """Runs the stages of a plan on random signals.

    Raises:
        NoiseError: the set's modulus does not suffice. ParameterError: no such method.
    """
    plan = Plan.make(s, method)
    native, session = plan.shape.native, bfv.Session(plan.shape.context.params)
    relin = session.relin_key
    affine = _affine(plan, session)
    range_check, _ = _timed(lambda: plan.program.run(session.evaluator, relin, affine.errors))
    turned, ran = int(native.baby_counts().rotation), native.run_counts(0, plan.giants)
    giants = int(ran.rotation)
    rotation = affine.babies / turned
    # As many sums follow rotations; those of products are part of the products' pass.
    sums = giants * affine.add
    products = affine.run - giants * rotation - sums
    return Profile(
        method,
        (
            Part("PCmul", products, int(ran.plain_mul), "derived"),
            Part("Rot", affine.babies + giants * rotation, turned + giants, "derived"),
            Part("CCadd", sums + affine.subtract, giants + s.clues, "derived"),
            Part("range check", range_check, None, "measured"),
        ),
    )


def published() -> Profile:
    """The paper's CPU: its counts and times of operations, and the range check by the text's ratio."""
    counts = cost.affine()
    multiply, rotate, add = cost.cpu_seconds(counts)
    return Profile(
        "SophOMR, derived",
        (
            Part("PCmul", multiply, counts.multiply, "derived"),
            Part("Rot", rotate, counts.rotate, "derived"),
            Part("CCadd", add, counts.add, "derived"),
            Part("range check", (multiply + rotate + add) / AFFINE_OVER_RANGE, None, "derived"),
        ),
    )


def profiles(s: Set, methods: Sequence[Literal["paper", "ringforge"]] = METHODS) -> Iterator[Profile]:
    """What the paper says, where the set is its size, and each method here."""
    if s.entries == DEGREE:
        yield published()
    for method in methods:
        yield profile(s, method)


def table(s: Set, found: Sequence[Profile]) -> Table:
    """Seconds and shares."""
    rows: list[tuple[Cell, ...]] = [
        (
            p.method,
            part.name,
            None if part.count is None else Value(part.count, "", "derived"),
            Value(part.seconds, "s", part.source),
            Value(100 * part.seconds / p.seconds, "%", "derived"),
        )
        for p in found
        for part in p.parts
    ]
    return Table(
        f"Detection's time, set {s.name}, one thread",
        ("method", "part", "operations", "time", "share"),
        tuple(rows),
        (
            "Processor time. PCmul: products with diagonals, their transforms and the sums of products, one fused "
            "pass; CCadd: sums after giant rotations and the subtraction of the signals' second halves. Rot: the first "
            "stage's time, and its rotation's time for every giant step; PCmul is what is left of the second stage.",
            "SophOMR: counts of two MatMuls with shared baby rotations, the times that Table IV implies, and a range "
            "check by the text's ratio; its compression is not in the paper.",
        ),
    )


def check_picture(path: Path) -> str:
    """The format of a picture, by its name.

    Raises:
        ParameterError: another than those, or matplotlib is not installed.
    """
    suffix = path.suffix.lower().lstrip(".")
    if suffix not in FORMATS:
        raise ParameterError(f'no picture can be written to "{path.name}": take one of .{", .".join(FORMATS)}')
    if importlib.util.find_spec("matplotlib") is None:
        raise ParameterError("pictures need matplotlib: `pip install matplotlib`, or leave --plot away")
    return suffix


def plot(s: Set, found: Sequence[Profile], path: Path) -> None:
    """Writes the picture: a bar for each method, seconds by part. The format follows the suffix.

    Raises:
        ParameterError: as `check_picture`. OSError: as `files.writing`.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 1.4 + 0.7 * len(found)), layout="constrained")
    axes: Axes = figure.subplots()
    colors = dict(zip(PARTS, ("#4c72b0", "#dd8452", "#937860", "#55a868", "#8172b3"), strict=True))
    for row, p in enumerate(found):
        left = 0.0
        for part in p.parts:
            axes.barh(row, part.seconds, left=left, color=colors[part.name])
            if part.seconds > 0.04 * max(x.seconds for x in found):
                middle = left + part.seconds / 2
                axes.text(middle, row, f"{100 * part.seconds / p.seconds:.0f} %", ha="center", va="center", color="w")
            left += part.seconds
        axes.text(left, row, f" {p.seconds:.1f} s", va="center")
    axes.set_yticks(range(len(found)), [p.method for p in found])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.12 * max(p.seconds for p in found))
    axes.set_xlabel("seconds on one thread")
    axes.set_title(f"Detection of one bulletin of {s.entries:,} entries")
    used = {part.name for p in found for part in p.parts}
    axes.legend(
        [axes.barh(0, 0, color=colors[name]) for name in PARTS if name in used],
        [name for name in PARTS if name in used],
        loc="lower right",
        frameon=False,
    )
    with writing(path) as f:
        figure.savefig(f, format=check_picture(path), dpi=150)
