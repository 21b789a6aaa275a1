# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Ring and scheme primitives beside Lattigo: same degree, same primes, one thread, in turn.

Each side runs in a child process of its own. Times are medians over rounds that alternate the sides, by both clocks of
both sides; ratios are of processor time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ringforge import _native, ckks
from ringforge.lab.peers import lattigo
from ringforge.lab.timing import Timing, alternate, both_clocks, measure, median, timed
from ringforge.params import Parameters
from ringforge.runs import Record

CASES = ("ntt", "intt", "rotate", "rotate_hoisted", "multiply", "linear_transform")


@dataclass(frozen=True)
class RingCase:
    """One comparison. `limbs` of Q and `special` primes of `prime_bits` bits; `diagonals` for linear_transform."""

    case: str
    log_n: int = 14
    prime_bits: int = 50
    limbs: int = 7
    special: int = 1
    rotations: int = 8
    diagonals: int = 128
    budget_s: float = 0.5


def primes(c: RingCase) -> tuple[list[int], list[int]]:
    """Q and P: just below 2^bits, 1 mod 2^18; the special primes are the largest."""
    found = _native.kernels.primes_below(c.prime_bits, c.limbs + c.special, 1 << 18)
    return found[c.special :], found[: c.special]


@dataclass(frozen=True)
class Side:
    """One side's time of an operation, its largest error, and what encoding took beforehand."""

    time: Timing
    error: float
    encoding: Timing | None = None


def _transform(c: RingCase, prime: int) -> Timing:
    """One transform of a limb. The native loop has a clock of its own; processor time is that of the whole call, whose
    preparation is less than a hundredth of so many transforms.
    """
    name, forward = _native.kernels.active(), c.case == "ntt"
    one = _native.kernels.time_ntt(name, prime, c.log_n, forward, 16)
    repeat = max(64, int(c.budget_s / 5 / one))
    runs = []
    for _ in range(5):
        whole, wall = timed(lambda: _native.kernels.time_ntt(name, prime, c.log_n, forward, repeat))
        runs.append(Timing(wall, whole.cpu / repeat, repeat))
    return median(runs)


def measure_here(c: RingCase) -> Side:
    """Our side of a case, in this process, on one thread."""
    q, p = primes(c)
    if c.case in {"ntt", "intt"}:
        return Side(_transform(c, q[0]), 0.0)
    params = Parameters("bench", c.log_n, q, p, 1, 40.0, "benchmark: sizes as the peer's")
    s = ckks.Session(params)
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, params.slots)
    a, ev = s.encrypt(x), s.evaluator
    if c.case == "rotate":
        s.add_rotation_keys([5])
        taken = measure(lambda: ev.rotate(a, 5, s.galois_keys), c.budget_s, at_least=3)
        error = np.abs(s.decrypt(ev.rotate(a, 5, s.galois_keys)) - np.roll(x, -5)).max()
    elif c.case == "rotate_hoisted":
        steps = list(range(1, c.rotations + 1))
        s.add_rotation_keys(steps)
        taken = measure(lambda: ev.rotate_hoisted(a, steps, s.galois_keys), c.budget_s, at_least=3)
        taken = taken.times(1 / c.rotations)
        error = np.abs(s.decrypt(ev.rotate_hoisted(a, steps, s.galois_keys)[-1]) - np.roll(x, -steps[-1])).max()
    elif c.case == "multiply":
        rk = s.relin_key

        def product() -> ckks.Ciphertext:
            return ev.rescale(ev.relinearize(ev.mul(a, a), rk))

        taken = measure(product, c.budget_s, at_least=3)
        error = np.abs(s.decrypt(product()) - x * x).max()
    elif c.case == "linear_transform":
        return _linear_transform(c, s, a, x)
    else:
        raise ValueError(f"unknown case {c.case}")
    return Side(taken, float(error))


def _linear_transform(c: RingCase, s: ckks.Session, a: ckks.Ciphertext, x: np.ndarray) -> Side:
    """`diagonals` consecutive full diagonals: a matrix of `diagonals` x slots, compact packing, without folding.

    The folds of a matrix that wide are part of a matrix product, not of a linear transform, so the matrix here
    is chosen with as many rows as there are slots, of which only the first diagonals are full.
    """
    slots = s.params.slots
    rng = np.random.default_rng(2)
    baby = 1 << ((c.diagonals.bit_length()) // 2)
    packing = _native.Packing(slots, c.diagonals, slots, _native.Span.compact, 0)
    plan = _native.Plan(packing, _native.Algorithm.bsgs, min(baby, packing.diagonals))
    native = _native.Matvec(s.context, plan, s.params.max_level, 1)
    matrix = rng.uniform(-1, 1, (slots, c.diagonals))
    encoding, _ = timed(lambda: native.encode(matrix, np.zeros(0), a.scale, a.scale, 1.0, True))
    for element, level in native.required_keys:
        s.galois_keys.insert(s.client.galois_key(s.secret_key, element, level))
    # The packing's input is periodic in its columns.
    v = x[: c.diagonals]
    periodic = s.encrypt(np.tile(v, slots // c.diagonals), level=s.params.max_level)
    taken = measure(lambda: native.run([periodic], s.galois_keys), c.budget_s, at_least=3)
    got = s.decrypt(native.run([periodic], s.galois_keys)[0]).real
    return Side(taken, float(np.abs(got - matrix @ v).max()), encoding)


def _in_child(c: RingCase) -> Side:
    code = (
        "import dataclasses, json, sys; from ringforge.lab.bench import ring; "
        "print(json.dumps(dataclasses.asdict(ring.measure_here(ring.RingCase(**json.loads(sys.argv[1]))))))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, json.dumps(asdict(c))],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ,
    )
    found: dict[str, Any] = json.loads(out.stdout)
    encoding = found["encoding"]
    return Side(Timing(**found["time"]), found["error"], None if encoding is None else Timing(**encoding))


def _request(c: RingCase, split: int | None = None) -> lattigo.Request:
    q, p = primes(c)
    return lattigo.Request(
        case=c.case,  # type: ignore[arg-type]
        log_n=c.log_n,
        prime_bits=c.prime_bits,
        limbs=c.limbs,
        special=c.special,
        q=tuple(q),
        p=tuple(p),
        rotations=tuple(range(1, c.rotations + 1)) if c.case == "rotate_hoisted" else (5,),
        diagonals=tuple(range(c.diagonals)) if c.case == "linear_transform" else (),
        log_bsgs=split,
        budget_s=c.budget_s,
    )


def compare(c: RingCase, rounds: int = 3, *, peer: bool = True) -> Record:
    """One case, both sides, alternating. Lattigo's linear transform is given its best split of the steps."""
    ours: list[Side] = []
    theirs: list[lattigo.Result] = []
    extra: dict[str, object] = {
        "rounds": rounds,
        "prime_bits": c.prime_bits,
        "limbs": c.limbs,
        "special": c.special,
    }
    split = None
    transform = c.case == "linear_transform"
    if transform:
        extra["diagonals"] = c.diagonals
        if peer:
            split = lattigo.run_best_split(_request(c)).log_bsgs
            extra["peer_log_bsgs"] = split

    def here() -> Timing:
        ours.append(_in_child(c))
        return ours[-1].time

    def there() -> Timing:
        # Our linear transform ends with its rescale, so the peer's rescale counts too.
        r = lattigo.run(_request(c, split))
        theirs.append(r)
        rescale = (r.rescale_seconds or 0.0, r.rescale_cpu_seconds or 0.0) if transform else (0.0, 0.0)
        return Timing(r.seconds + rescale[0], r.cpu_seconds + rescale[1], r.iterations)

    sides = alternate({"ours": here, "peer": there} if peer else {"ours": here}, rounds)
    times = both_clocks(median(sides["ours"]), median(sides["peer"]) if peer else None)
    encoding = [r.encoding for r in ours if r.encoding is not None]
    return Record(
        system="ring",
        case=c.case,
        params=f"N=2^{c.log_n}, {c.limbs}+{c.special} primes of {c.prime_bits} bits",
        algorithm="bsgs" if transform else c.case,
        level=c.limbs - 1,
        encode_seconds=median(encoding).by(times["clock"]) if encoding else None,
        peer="lattigo" if theirs else None,
        peer_version=theirs[-1].peer_version if theirs else None,
        max_rel_error=max(r.error for r in ours),
        extra=extra | {"kernels": _native.kernels.active(), "peer_error": theirs[-1].error if theirs else None},
        **times,
    )
