#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Two builds of Ringforge in alternation, operation by operation: what a noisy machine still tells.

    tools/alternate.py OLD/.venv/bin/python NEW/.venv/bin/python --pin 0

One process for each build stays alive; they take turns at single operations of some milliseconds, in changing order, on
one core. "new/old" is the median of the turns' ratios of processor time with its 95 % interval (bootstrap); "best" is
the ratio of the fastest tenths. Only names that both builds have are used. `tools/compare_builds.py` runs whole
benchmarks instead.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

INSECURE = "benchmark: sizes as given"


def _ring(log_n: int, bits: int, limbs: int, only: str) -> Callable[[], object]:
    """An operation of CKKS at N = 2^log_n with `limbs` + 1 primes of so many bits, a digit a limb."""
    import numpy as np

    from ringforge import _native, ckks
    from ringforge.params import Parameters

    found = _native.kernels.primes_below(bits, limbs + 1, 1 << 18)
    s = ckks.Session(Parameters("bench", log_n, found[1:], found[:1], 1, 40.0, INSECURE))
    a = s.encrypt(np.random.default_rng(1).uniform(-1, 1, s.params.slots))
    b, ev = s.encrypt(np.arange(s.params.slots) / s.params.slots), s.evaluator
    if only == "add":
        return lambda: [ev.add(a, b) for _ in range(10)]
    if only == "sub":
        return lambda: [ev.sub(a, b) for _ in range(10)]
    if only == "rotate":
        s.add_rotation_keys([5])
        return lambda: ev.rotate(a, 5, s.galois_keys)
    if only == "rotate_hoisted":
        s.add_rotation_keys(list(range(1, 9)))
        return lambda: ev.rotate_hoisted(a, list(range(1, 9)), s.galois_keys)
    if only == "multiply":
        key = s.relin_key
        return lambda: ev.rescale(ev.relinearize(ev.mul(a, b), key))
    raise ValueError(only)


def _ntt(log_n: int, bits: int, forward: bool) -> Callable[[], object]:
    from ringforge import _native

    prime = _native.kernels.primes_below(bits, 1, 1 << 18)[0]
    repeat = max(1, 2_000_000 >> log_n >> 4)
    return lambda: _native.kernels.time_ntt(_native.kernels.active(), prime, log_n, forward, repeat)


def _matmul(m: int, n: int, k: int) -> Callable[[], object]:
    import numpy as np

    from ringforge import matmul
    from ringforge.params import named

    s = matmul.Session(named("matmul-a", insecure=INSECURE))
    rng = np.random.default_rng(1)
    a, b = s.encrypt(rng.uniform(-1, 1, (m, n))), s.encrypt(rng.uniform(-1, 1, (n, k)))
    return lambda: a @ b


def _nand(name: str) -> Callable[[], object]:
    """One NAND with its bootstrap."""
    import numpy as np

    from ringforge._native import fhew

    params = fhew.parameters(name, INSECURE)
    secret = fhew.SecretKey(params)
    key = fhew.EvaluationKey.make(secret, fhew.Method.GINX, 1)
    wires = np.concatenate([secret.encrypt(np.array([0, 1], np.uint8)), np.zeros((1, params.n + 1), np.uint32)])
    kind = np.array([fhew.kind_names().index("NAND")], np.uint8)
    inputs, outputs = np.array([[0, 1, -1]], np.int32), np.array([2], np.int32)
    return lambda: fhew.evaluate(key, kind, inputs, wires, outputs, 1)


def cases() -> dict[str, Callable[[], Callable[[], object]]]:
    """How each operation is made, by name."""
    out: dict[str, Callable[[], Callable[[], object]]] = {}
    for bits in (50, 54, 60):
        for log_n in (13, 14, 15, 16):
            for forward in (True, False):
                name = f"{'ntt' if forward else 'intt'} 2^{log_n} {bits} bits"
                out[name] = lambda log_n=log_n, bits=bits, forward=forward: _ntt(log_n, bits, forward)
    for log_n, limbs in ((13, 4), (14, 7), (15, 15)):
        for only in ("add", "sub", "rotate", "rotate_hoisted", "multiply"):
            name = f"{only} 2^{log_n} {limbs}+1 of 50 bits"
            out[name] = lambda log_n=log_n, limbs=limbs, only=only: _ring(log_n, 50, limbs, only)
    for only in ("rotate", "multiply"):
        out[f"{only} 2^14 7+1 of 54 bits"] = lambda only=only: _ring(14, 54, 7, only)
    out["nand gates-128"] = lambda: _nand("gates-128")
    for m, n, k in ((64, 64, 16), (64, 16, 64), (16, 64, 64), (64, 64, 64)):
        out[f"matmul {m}-{n}-{k} matmul-a"] = lambda m=m, n=n, k=k: _matmul(m, n, k)
    return out


def serve() -> None:
    """The other end of `Build`: a line with a name prepares it, an empty line runs it once and prints CPU seconds."""
    run: Callable[[], object] = int
    for line in sys.stdin:
        if name := line.strip():
            try:
                run = cases()[name]()
                run()
            except Exception as e:  # the driver prints it
                print(f"{type(e).__name__}: {e}".replace("\n", " "), flush=True)
                continue
            print("ready", flush=True)
            continue
        start = time.process_time()
        result = run()
        seconds = time.process_time() - start
        print(result if isinstance(result, float) else seconds, flush=True)


class Build:
    """A build's process."""

    def __init__(self, python: Path, pin: str) -> None:
        pinned = ["taskset", "-c", pin] if pin else []
        self._process = subprocess.Popen(
            [*pinned, str(python), __file__, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, line: str = "") -> str:
        """One line to the process, one line back."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().strip()


def compare(name: str, builds: tuple[Build, Build], rounds: int) -> None:
    """Prints one line."""
    said = [b.ask(name) for b in builds]
    if said != ["ready", "ready"]:
        print(f"{name:<34} old: {said[0]}; new: {said[1]}", flush=True)
        return
    sides: tuple[list[float], list[float]] = ([], [])
    for turn in range(rounds):
        for side in (0, 1) if turn % 2 == 0 else (1, 0):
            sides[side].append(float(builds[side].ask()))
    ratios = [y / x for x, y in zip(*sides, strict=True)]
    draws = sorted(statistics.median(random.choices(ratios, k=rounds)) for _ in range(400))
    old, new = (statistics.median(x) for x in sides)
    best = [sorted(x)[rounds // 10] for x in sides]
    print(
        f"{name:<34} {old * 1e3:>9.4f} {new * 1e3:>9.4f} {statistics.median(ratios):>8.3f} "
        f"[{draws[10]:.3f}, {draws[-11]:.3f}] {best[1] / best[0]:>6.3f}",
        flush=True,
    )


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, nargs="?", help="the old build's Python")
    parser.add_argument("new", type=Path, nargs="?", help="the new one's")
    parser.add_argument("--case", action="append", default=[], help="only operations whose names begin so")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--pin", default="", help="CPU to run on, as for taskset")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        serve()
        return
    if not (args.old and args.new):
        parser.error("two builds are needed: OLD/.venv/bin/python NEW/.venv/bin/python")
    cpu = [x.partition(":")[2].strip() for x in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in x]
    print(f"{cpu[0] if cpu else 'unknown CPU'}, {os.cpu_count()} CPUs, {args.rounds} rounds, medians of processor time")
    print(f"{'operation':<34} {'old ms':>9} {'new ms':>9} {'new/old':>8} {'95 %':>14} {'best':>8}")
    builds = (Build(args.old, args.pin), Build(args.new, args.pin))
    for name in cases():
        if not args.case or any(name.startswith(x) for x in args.case):
            compare(name, builds, args.rounds)


if __name__ == "__main__":
    main()
