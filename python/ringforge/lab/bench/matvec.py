# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The seven layers of the matrix-vector paper beside TenSEAL: same degree, prime sizes and scale, one thread.

Both sides draw the same random matrix and vector, run in child processes of their own, in turn, and check their result
against float64 numpy. Ours is measured before and after the peer's, which takes minutes. TenSEAL encodes diagonals
inside its call, so its one time stands beside ours with and without encoding.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ringforge.hw.machines.matvec.published import LAYERS
from ringforge.lab.papers.matvec import layer
from ringforge.lab.peers import tenseal
from ringforge.lab.timing import Timing, both_clocks, median
from ringforge.params import named
from ringforge.runs import Record

LEVELS = ("full", "auto")

_CHILD = """
import json, resource, sys
import numpy as np
from ringforge import _native, matvec
from ringforge.lab.timing import measure
from ringforge.matvec.roles import exact_error

r = json.loads(sys.argv[1])
rng = np.random.default_rng(r["seed"])
weights = rng.uniform(-1, 1, (r["m"], r["n"]))
v = rng.uniform(-1, 1, r["n"])
model = matvec.Linear(weights)
level = None
if r["level"] == "full":
    from ringforge.params import named
    level = named(r["params"], r["insecure"]).max_level
parameters = r["params"]
if r["insecure"]:
    from ringforge.params import named
    parameters = named(r["params"], r["insecure"])
compiled = matvec.compile_model(model, parameters, level=level, algorithm=r["algorithm"])
client = matvec.Client(compiled.program)
keys = client.evaluation_keys(threads=r["threads"])
encrypted = client.encrypt(v)
# Twice: the first time the system hands out memory it has not touched before.
server = matvec.Server(model, compiled.program, keys, threads=r["threads"])
def encoding(server):
    handles = server._handles
    return {"wall": sum(h.prepare_seconds for h in handles), "cpu": sum(h.prepare_cpu_seconds for h in handles)}

first = encoding(server)
if first["wall"] < r["budget"]:
    del server
    server = matvec.Server(model, compiled.program, keys, threads=r["threads"])
result, report = server.evaluate(encrypted)
timing = measure(lambda: server.evaluate(encrypted), r["budget"], at_least=3)
chosen = compiled.choices[0].chosen
print(json.dumps({
    "time": {"wall": timing.wall, "cpu": timing.cpu, "iterations": timing.iterations},
    "encoding": encoding(server),
    "encoding_first": first,
    "max_rel_error": exact_error(weights @ v, client.decrypt(result)[0]),
    "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    "level": compiled.program.input_level,
    "algorithm": chosen.algorithm,
    "babies": chosen.plan.baby,
    "giants": chosen.plan.giants,
    "log_scale": compiled.program.linear_steps[0].log_input_scale,
    "kernels": _native.kernels.active(),
    "operations": dict(report.operations),
}))
"""


@dataclass(frozen=True)
class MatvecCase:
    """One layer at one set. `level`: "full" (all primes) or "auto" (what the planner takes)."""

    layer: str
    params: str = "set-b"
    level: str = "auto"
    algorithm: str = "bsgs"
    threads: int = 1
    seed: int = 7
    budget_s: float = 3.0
    insecure: str = ""


def measure_here(c: MatvecCase) -> dict[str, Any]:
    """Our side, in a child process."""
    shape = layer(c.layer)
    request = {
        "m": shape.m,
        "n": shape.n,
        "params": c.params,
        "level": c.level,
        "algorithm": c.algorithm,
        "threads": c.threads,
        "seed": c.seed,
        "budget": c.budget_s,
        "insecure": c.insecure,
    }
    out = subprocess.run(
        [sys.executable, "-c", _CHILD, json.dumps(request)],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ,
    )
    result: dict[str, Any] = json.loads(out.stdout)
    return result | {name: Timing(**result[name]) for name in ("time", "encoding", "encoding_first")}


def peer_request(c: MatvecCase) -> tenseal.MatmulRequest:
    """TenSEAL's side of a case: as many primes, of the same sizes."""
    p = named(c.params, c.insecure)
    shape = layer(c.layer)
    bits = [q.bit_length() for q in (*p.q, *p.p)]
    return tenseal.MatmulRequest(
        m=shape.m,
        n=shape.n,
        seed=c.seed,
        scale_bits=int(p.log_scale),
        poly_modulus_degree=p.degree,
        coeff_mod_bit_sizes=tuple(bits),
        threads=c.threads,
        budget_s=c.budget_s,
    )


def compare(
    layers: Sequence[str],
    params: str,
    levels: Sequence[str] = LEVELS,
    *,
    threads: int = 1,
    peer: bool = True,
    algorithm: str = "bsgs",
    insecure: str = "",
) -> Iterator[Record]:
    """A record for each layer and level, ours before and after the peer's."""
    for name in layers:
        cases = [MatvecCase(name, params, level, algorithm, threads, insecure=insecure) for level in levels]
        rounds = [[measure_here(c) for c in cases]]
        theirs = tenseal.matmul(peer_request(cases[0])) if peer else None
        if theirs is not None:
            rounds.append([measure_here(c) for c in cases])
        for c, *taken in zip(cases, *rounds, strict=True):
            yield _record(c, taken, theirs)


def _record(c: MatvecCase, rounds: Sequence[dict[str, Any]], theirs: tenseal.MatmulResult | None) -> Record:
    r = rounds[-1]
    shape = layer(c.layer)
    peer = None if theirs is None else Timing(theirs.seconds, theirs.cpu_seconds, theirs.iterations)
    times = both_clocks(median(r["time"] for r in rounds), peer, threads=c.threads)
    extra = {k: r[k] for k in ("babies", "giants", "log_scale", "kernels", "operations")} | {
        "runs": sum(r["time"].iterations for r in rounds),
        "encode_seconds_first": r["encoding_first"].by(times["clock"]),
        "level_choice": c.level,
        "m": shape.m,
        "n": shape.n,
    }
    if theirs is not None:
        extra |= {
            "peer_runs": theirs.iterations,
            "peer_max_rel_error": theirs.max_rel_error,
            "peer_split_columns": theirs.split_columns,
            "peer_split_rows": theirs.split_rows,
            "peer_peak_mib": theirs.peak_mib,
        }
    return Record(
        system="matvec",
        case=c.layer,
        params=c.params,
        algorithm=str(r["algorithm"]),
        level=int(r["level"]),
        threads=c.threads,
        encode_seconds=median(r["encoding"] for r in rounds).by(times["clock"]),
        peer=None if theirs is None else "tenseal",
        peer_version=None if theirs is None else theirs.peer_version,
        max_rel_error=float(r["max_rel_error"]),
        peak_mib=float(r["peak_mib"]),
        extra=extra,
        **times,
    )


def all_layers() -> list[str]:
    """Names of the seven layers, in the paper's order."""
    return [x.name for x in LAYERS]
