#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Two builds of Ringforge side by side: the same benchmarks, alternating, and how far one build is from itself.

    tools/compare_builds.py OLD/.venv/bin/ringforge NEW/.venv/bin/ringforge --rounds 5

Every round runs each command with the old build, the new one, and the old one again, every other round in the opposite
order. "new / old" is the ratio of medians. "old / old" is the same between the two runs of the old build: what the
machine does by itself. "slower" is by how much the median of the rounds' own ratios exceeds 1 beyond the spread, the
larger half of the inter-quartile range of old / old; a figure is marked when that is over the limit. "best" is the
ratio of the fastest runs, which other work on the machine disturbs least.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

COMMANDS = {
    "ring": ["ring", "--peer", "none", "--rounds", "1"],
    "gates": ["gates", "--peer", "none", "--threads", "1", "--threads", "2", "--rounds", "3"],
    "psi": ["psi", "--bins", "10", "--client", "9", "--elements", "14", "--bits", "26", "--threads", "1"],
    "matmul": ["matmul", "--params", "set-a", "--shape", "all", "--peer", "none"],
}


def figures(program: Path, command: list[str], pinned: str) -> dict[str, float]:
    """Seconds by name, as the records of one run state them: the measurement, and the encoding where there is one."""
    with tempfile.TemporaryDirectory() as empty:
        run = ["taskset", "-c", pinned] if pinned else []
        done = subprocess.run(
            [*run, str(program), "bench", *command, "--json"], capture_output=True, text=True, cwd=empty, check=False
        )
    if done.returncode:
        sys.exit(f"{program} bench {' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    out: dict[str, float] = {}
    for line in done.stdout.splitlines():
        record = json.loads(line)
        record = record.get("result", record)  # builds before the envelope print bare records
        name = " ".join(str(record[k]) for k in ("system", "case", "params", "algorithm", "threads"))
        out[name] = record["seconds"]
        if record.get("encode_seconds"):
            out[name + " encoding"] = record["encode_seconds"]
        for key, value in (record["extra"] | {k: record.get(k) for k in ("wall_seconds", "cpu_seconds")}).items():
            if key.endswith("seconds") and isinstance(value, float) and value > 0:
                out[f"{name} {key}"] = value
    return out


def compare(old: Path, new: Path, names: list[str], rounds: int, limit: float, pinned: str) -> bool:
    """Prints one line a figure; whether all are within the limit."""
    good = True
    print(
        f"{'figure':<86} {'old':>10} {'new':>10} {'new/old':>8} {'old/old':>8} {'spread':>7} {'slower':>7} {'best':>6}"
    )
    for name in names:
        sides: list[dict[str, list[float]]] = [{}, {}, {}]
        for turn in range(rounds):
            order = [(0, old), (1, new), (2, old)]
            for side, program in order if turn % 2 == 0 else reversed(order):
                for figure, seconds in figures(program, COMMANDS[name], pinned).items():
                    sides[side].setdefault(figure, []).append(seconds)
            print(f"{name}: round {turn + 1} of {rounds}", file=sys.stderr)
        for figure, first in sides[0].items():
            then, again = sides[1].get(figure), sides[2][figure]
            if then is None:
                print(f"{figure:<86} is not among the new build's figures")
                good = False
                continue
            base = [(a + b) / 2 for a, b in zip(first, again, strict=True)]
            own = [b / a for a, b in zip(first, again, strict=True)]
            ratio = statistics.median(x / y for x, y in zip(then, base, strict=True))
            low, _, high = statistics.quantiles(own, n=4) if len(own) > 1 else (1.0, 1.0, 1.0)
            spread = max(abs(high - 1), abs(1 - low))
            slower = max(0.0, ratio - 1 - spread)
            good &= slower <= limit
            print(
                f"{figure:<86} {statistics.median(base):>10.4g} {statistics.median(then):>10.4g} {ratio:>8.3f} "
                f"{statistics.median(own):>8.3f} {spread:>7.3f} {slower:>7.3f} {min(then) / min(*first, *again):>6.3f}"
                f"{' !' if slower > limit else ''}",
                flush=True,
            )
    return good


def main() -> int:
    """Reads the command line; 0 when no figure is over the limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, help="the ringforge program of the old build")
    parser.add_argument("new", type=Path, help="of the new one")
    parser.add_argument("--bench", action="append", choices=list(COMMANDS), help="may be repeated; default: all")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=0.03, help="how much slower is too slow, beyond the spread")
    parser.add_argument("--pin", default="", help="CPUs to run on, as for taskset")
    args = parser.parse_args()
    model = next(
        (x.partition(":")[2].strip() for x in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in x), ""
    )
    print(f"{model or platform.processor()}, {os.cpu_count()} cores, {args.rounds} rounds, alternating")
    return not compare(
        args.old.resolve(), args.new.resolve(), args.bench or list(COMMANDS), args.rounds, args.limit, args.pin
    )


if __name__ == "__main__":
    sys.exit(main())
