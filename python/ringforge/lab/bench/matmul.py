# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Products of two encrypted matrices beside Lattigo's Algorithm 2: same degree, primes and scale.

Our side runs in a child process of its own, as Lattigo does, on random matrices, and checks its result against
float64 numpy. Encoding of diagonals and making of keys stand apart on both sides. Ours is measured before and after
each run of Lattigo, whose long products are run once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from rich.table import Table

from ringforge.errors import ParameterError, ShapeError
from ringforge.lab.bench import matmul_ours, matmul_peer
from ringforge.lab.bench.matmul_ours import Ours
from ringforge.lab.papers.matmul import BENCHMARKS, Shape
from ringforge.lab.papers.matmul.parameters import INSECURE_REASON
from ringforge.lab.peers import lattigo
from ringforge.lab.timing import Timing, both_clocks, median
from ringforge.params import Parameters, named
from ringforge.runs import Record

SETS = {"set-a": "matmul-a", "set-b": "matmul-b", "set-c": "matmul-c"}
"""The paper's names of its parameter sets, and ours of the same."""

LEVELS = ("full", "auto")
"""Levels of our inputs: of all primes, or as low as the plan takes."""


@dataclass(frozen=True)
class MatmulCase:
    """One product at one set. `algorithm` is a method's name, or auto."""

    shape: Shape
    params: str
    algorithm: str = "ringforge"
    level: str = "full"
    threads: int = 1
    seed: int = 7
    budget_s: float = 3.0
    insecure: str = INSECURE_REASON


def ours(
    shape: Shape, params: Parameters, *, algorithm: str, level: str, threads: int, seed: int, budget_s: float
) -> Ours:
    """Multiplies two encrypted random matrices with entries in [-1, 1), in this process.

    Args:
        shape: of the product.
        params: a set whose slots hold its matrices.
        algorithm: name of a method, auto, or naive: the published product with a full key switch for each diagonal.
        level: one of LEVELS; naive runs at the highest.
        threads: threads of the evaluation.
        seed: of the matrices.
        budget_s: seconds of repeated runs; at least three.
    """
    return matmul_ours.measure(
        shape, params, algorithm=algorithm, full=level == "full", threads=threads, seed=seed, budget_s=budget_s
    )


def parse_shape(text: str) -> Shape:
    """A shape from "64x64x16" or "64-64-16": m, l, n.

    Raises:
        ShapeError: not three positive whole numbers.
    """
    parts = text.lower().replace("-", "x").split("x")
    if len(parts) != 3 or not all(p.strip().isascii() and p.strip().isdigit() for p in parts):
        raise ShapeError(f'"{text}" is no shape: write the three sizes of m x l times l x n, as in 64x64x16')
    return Shape(*map(int, parts))


def cases(
    shapes: Sequence[str] | None,
    params: str | None,
    *,
    algorithms: Sequence[str] = ("ringforge",),
    levels: Sequence[str] = ("full",),
    threads: int = 1,
    insecure: str = INSECURE_REASON,
) -> list[MatmulCase]:
    """What to measure.

    Args:
        shapes: such as "64x64x16"; "all" for the twelve of Table III; None for its cubes.
        params: a set's name, or set-a, set-b, set-c for the paper's; None for the one of each shape in Table III, or
            the first of them that holds the shape. Of Table III's shapes those for this set are taken, if any is.
        algorithms: names of methods, auto, or naive.
        levels: of LEVELS.
        threads: threads on our side.
        insecure: why sets below 128 bits may be used.

    Raises:
        ParameterError: an unknown set, or an insecure one without a reason.
        ShapeError: a shape does not fit the set.
    """
    name = None if params is None else SETS.get(params, params)
    slots = None if name is None else named(name, insecure).slots
    if shapes is None or list(shapes) == ["all"]:
        listed = [b for b in BENCHMARKS if shapes is not None or b.kind == "IV"]
        if slots is not None:
            listed = [b for b in listed if b.shape.largest <= slots]
            most = max((b.parameters.slots for b in listed), default=0)
            listed = [b for b in listed if b.parameters.slots == most]
        wanted = [b.shape for b in listed]
    else:
        wanted = [parse_shape(s) for s in shapes]
    if not wanted:
        raise ShapeError(f"no shape of Table III fits the {slots} slots of {name}; give --shape")
    made: list[MatmulCase] = []
    for shape in wanted:
        at = name or _published(shape)
        have = named(at, insecure).slots
        if shape.largest > have:
            raise ShapeError(f"{shape} needs {shape.largest} slots, {at} has {have}: take a larger set")
        made += [
            MatmulCase(shape, at, algorithm, level, threads, insecure=insecure)
            for algorithm in algorithms
            for level in levels
            if algorithm != matmul_ours.NAIVE or level == levels[0]
        ]
    return made


def _published(shape: Shape) -> str:
    """The paper's set for a shape, or the first that holds it."""
    for b in BENCHMARKS:
        if b.shape == shape:
            return f"matmul-{b.set_name.lower()}"
    for name in SETS.values():
        if shape.largest <= named(name, INSECURE_REASON).slots:
            return name
    raise ParameterError(f"none of the paper's sets holds {shape} in one ciphertext; give --params with a larger one")


_CHILD = """
import dataclasses, json, sys
from ringforge.lab.bench import matmul
from ringforge.lab.papers.matmul import Shape
from ringforge.params import named

r = json.loads(sys.argv[1])
made = matmul.ours(
    Shape(**r["shape"]), named(r["params"], r["insecure"]), algorithm=r["algorithm"], level=r["level"],
    threads=r["threads"], seed=r["seed"], budget_s=r["budget_s"],
)
print(json.dumps(dataclasses.asdict(made)))
"""


def measure_here(c: MatmulCase) -> Ours:
    """Our side, in a child process."""
    out = subprocess.run(
        [sys.executable, "-c", _CHILD, json.dumps(asdict(c))],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    found = json.loads(out.stdout)
    return Ours(**found | {name: Timing(**found[name]) for name in ("time", "encoding")})


def compare(todo: Sequence[MatmulCase], *, peer: bool = True) -> Iterator[Record]:
    """A record for each case. The peer runs on one thread, once for cases of equal shape and set, of which the first
    is measured before and after it.

    Raises:
        PeerError: Lattigo failed, or is missing; the latter before anything is measured.
    """
    if peer:
        lattigo.program()
    done: dict[tuple[Shape, str], matmul_peer.PeerProduct] = {}
    for c in todo:
        mine = measure_here(c)
        key = (c.shape, c.params)
        if peer and key not in done:
            done[key] = matmul_peer.measure(c.shape, named(c.params, c.insecure))
            mine = _both(mine, measure_here(c))
        yield record(c, mine, done.get(key))


def _both(before: Ours, after: Ours) -> Ours:
    """One measurement of two, with both times kept."""
    rounds = {"rounds_seconds": [[t.wall, t.cpu] for t in (before.time, after.time)]}
    encoding = median((before.encoding, after.encoding))
    return replace(after, time=median((before.time, after.time)), encoding=encoding, extra=after.extra | rounds)


def record(c: MatmulCase, mine: Ours, theirs: matmul_peer.PeerProduct | None) -> Record:
    """Both sides of a case: by processor time where ours has one thread, as the peer does, else by wall time."""
    extra: dict[str, Any] = dict(mine.extra) | asdict(c.shape)
    times = both_clocks(mine.time, None if theirs is None else theirs.published, threads=c.threads)
    if theirs is not None:
        # By the clock of the record.
        peer = theirs.by(times["clock"])
        extra |= {
            "peer_threads": 1,
            "peer_extrapolated": theirs.extrapolated,
            "peer_seconds_merged": peer.whole,
            "peer_merged": list(peer.merged),
            "peer_seconds_bsgs": peer.bsgs,
            "peer_step_1": peer.step_1,
            "peer_step_2": peer.step_2,
            "peer_products": peer.products,
            "peer_bsgs_step_1": peer.bsgs_step_1,
            "peer_rotation_1": peer.rotation_1,
            "peer_rotation_2": peer.rotation_2,
            "peer_product": peer.product,
            "peer_rotations": list(theirs.rotations),
            "peer_rotations_measured": list(theirs.measured),
            "peer_error": theirs.error,
            "peer_peak_mib": theirs.peak_mib,
        }
    return Record(
        system="matmul",
        case=str(c.shape),
        params=c.params,
        algorithm=mine.algorithm,
        level=mine.level,
        threads=c.threads,
        encode_seconds=mine.encoding.by(times["clock"]),
        peer=None if theirs is None else "lattigo",
        peer_version=None if theirs is None else theirs.version,
        max_rel_error=mine.max_rel_error,
        peak_mib=mine.peak_mib,
        extra=extra,
        **times,
    )


def details(records: Sequence[Record]) -> Table:
    """What the common table leaves out."""
    table = Table(title="details")
    for name in ("shape", "params", "plan"):
        table.add_column(name, overflow="fold")
    for name in (
        "KS",
        "keys",
        "key MiB",
        "left",
        "right",
        "products",
        "rotation",
        "merged",
        "bsgs",
        "max error",
        "bound",
    ):
        table.add_column(name, justify="right", no_wrap=True)

    def seconds(x: float | None) -> str:
        return "-" if x is None else f"{x * 1e3:.3g} ms" if x < 1 else f"{x:.3g} s"

    def ratio(r: Record, name: str) -> str:
        other = r.extra.get(name)
        return "-" if other is None else f"{other / r.seconds:.1f}x"

    for r in records:
        e = r.extra
        phases = e.get("cpu_phases") or [None] * 3
        table.add_row(
            r.case,
            r.params,
            str(e.get("plan", "")) + (" (extrapolated)" if e.get("extrapolated") else ""),
            str(e.get("key_switches", "-")),
            str(e.get("keys", "-")),
            f"{e['key_mib']:.0f}" if "key_mib" in e else "-",
            *map(seconds, phases),
            seconds(e.get("rotation_cpu_seconds")),
            ratio(r, "peer_seconds_merged"),
            ratio(r, "peer_seconds_bsgs"),
            f"{e['max_error']:.1e}" if "max_error" in e else "-",
            f"{e['error_bound']:.1e}" if "error_bound" in e else "-",
        )
    return table
