# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Where detection's time goes: one bulletin on one thread, by stage and by kind of operation.

Stages are timed. Within the affine transform, products with diagonals and their sums are one fused pass; the rotations'
share is their number times the time of a rotation of the first stage, which is nothing else, and the rest is products.
Entries are random: operations do not depend on them.
"""

from __future__ import annotations

import importlib.util
import resource
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from ringforge import _native, bfv
from ringforge._native.omr import CompressionKeys, CompressionSecret
from ringforge.errors import ParameterError
from ringforge.files import writing
from ringforge.lab.papers.omr import cost
from ringforge.lab.papers.omr.figures import AFFINE_OVER_RANGE, DEGREE, MOST_MESSAGES, SOPHOMR, STAGES
from ringforge.lab.tables import Cell, Table, Value
from ringforge.lab.timing import Timing, both_clocks, timed, total
from ringforge.omr.compress import compression_context, compression_plan
from ringforge.omr.plan import Plan
from ringforge.omr.sets import Set
from ringforge.runs import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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


@dataclass(frozen=True, slots=True)
class Stages:
    """Times of one bulletin's stages, each run once on random entries, and of a sum of two ciphertexts."""

    plan: Plan
    babies: Timing
    run: Timing
    subtract: Timing
    range_check: Timing
    compression: Timing
    add: Timing
    digest_bytes: int

    @property
    def affine(self) -> Timing:
        """Rotations of the key, products and giant steps, the subtraction: what SophOMR calls the affine transform."""
        return total((self.babies, self.run, self.subtract))


def stages(s: Set, method: Literal["paper", "ringforge"], threads: int = 1, capacity: int = MOST_MESSAGES) -> Stages:
    """Runs the stages of a plan on random signals and payloads: operations do not depend on them.

    Raises:
        NoiseError: the set's modulus does not suffice. ParameterError: no such method.
    """
    plan, rng = Plan.make(s, method), np.random.default_rng(8)
    native, layout = plan.shape.native, plan.shape.layout
    session = bfv.Session(plan.shape.context.params, threads)
    session.add_galois_keys([native.baby_element, native.giant_element])
    galois, ev, relin = session.galois_keys, session.evaluator, session.relin_key
    signals = rng.integers(0, s.t, (s.entries, s.n), dtype=np.uint32)
    diagonals = [np.asarray(layout.encode(signals, g, threads)) for g in range(plan.giants)]
    key = (rng.integers(-1, 2, s.n) % s.t).astype(np.uint32)
    v = session.encrypt(np.asarray(layout.key_slots(key)).astype(np.int64))
    b = session.context.encode(rng.integers(0, s.t, s.entries).astype(np.int64))
    compress = compression_plan(s, capacity, s.payload_words)
    opener = CompressionSecret(compression_context(s))
    keys = CompressionKeys(session.secret_key, opener, None, threads)
    words = rng.integers(0, s.t, (s.entries, s.payload_words), dtype=np.uint32)

    first, babies = timed(lambda: native.babies(v, galois, threads))
    second, outputs = timed(lambda: list(native.run(babies, 0, diagonals, galois, threads)))
    add, _ = timed(lambda: ev.add(outputs[0], outputs[1]))
    subtract, errors = timed(lambda: [ev.sub_plain(c, b) for c in outputs])
    checked, u = timed(lambda: plan.program.run(ev, relin, errors))
    compression, digest = timed(
        lambda: compress.digest(keys, [compress.part(keys, u, words, 0, compress.units, threads)], 0)
    )
    return Stages(plan, first, second, subtract, checked, compression, add, len(digest))


def profile(s: Set, method: Literal["paper", "ringforge"]) -> Profile:
    """The split of one bulletin's time by kind of operation, on one thread.

    Raises:
        NoiseError, ParameterError: as `stages`.
    """
    found = stages(s, method)
    native, giants = found.plan.shape.native, found.plan.giants
    turned, ran = int(native.baby_counts().rotation), native.run_counts(0, giants)
    turns = int(ran.rotation)
    rotation = found.babies.cpu / turned
    # As many sums follow rotations; those of products are part of the products' pass.
    sums = turns * found.add.cpu
    products = found.run.cpu - turns * rotation - sums
    return Profile(
        method,
        (
            Part("PCmul", products, int(ran.plain_mul), "derived"),
            Part("Rot", found.babies.cpu + turns * rotation, turned + turns, "derived"),
            Part("CCadd", sums + found.subtract.cpu, turns + s.clues, "derived"),
            Part("range check", found.range_check.cpu, None, "measured"),
            Part("compression", found.compression.cpu, None, "measured"),
        ),
    )


def beside_sophomr(
    s: Set, threads: Sequence[int] = (1, 2), method: Literal["paper", "ringforge"] = "ringforge"
) -> Iterator[Record]:
    """Times of each stage by a method, wall time beside what SophOMR states of itself for the same stage. Compression
    is the same by both methods.

    Raises:
        NoiseError, ParameterError: as `stages`.
    """
    for count in threads:
        found = stages(s, method, count)
        stated = {1: SOPHOMR.one_thread, 2: SOPHOMR.two_threads}.get(count) if s.entries == DEGREE else None
        taken = (found.affine, found.range_check, found.compression)
        rows = [*zip(STAGES, taken, strict=True), ("all", total(taken))]
        theirs = (*stated, sum(stated)) if stated is not None else (None,) * 4
        for (name, timing), other in zip(rows, theirs, strict=True):
            yield Record(
                system="omr",
                case=f"detect: {name}",
                params=s.name,
                algorithm=method,
                threads=count,
                peak_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                peer=None if other is None else "SophOMR, as it states",
                peer_version=None if other is None else "Sapphire Rapids",
                extra={
                    "kernels": _native.kernels.active(),
                    "digest_bytes": found.digest_bytes,
                    "stated_digest_bytes": SOPHOMR.digest_bytes,
                    "stated_memory_gb": SOPHOMR.memory_gb,
                },
                **both_clocks(timing, stated=other, clock="wall"),
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
