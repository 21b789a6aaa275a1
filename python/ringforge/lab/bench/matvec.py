# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The seven layers of the matrix-vector paper beside TenSEAL: same degree, prime sizes and scale, one thread.

Both sides draw the same random matrix and vector, run in child processes of their own, in turn, and check
their result against float64 numpy. TenSEAL encodes diagonals inside its call, so its one time stands beside
ours with and without encoding.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ringforge.hw.machines.matvec.published import LAYERS
from ringforge.lab.papers.matvec import layer
from ringforge.lab.peers import tenseal
from ringforge.params import named
from ringforge.runs import Record

LEVELS = ("full", "auto")

_CHILD = """
import json, resource, sys
import numpy as np
from ringforge import _native, matvec
from ringforge.lab.bench.timing import measure
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
first = server.prepare_seconds
if first < r["budget"]:
    del server
    server = matvec.Server(model, compiled.program, keys, threads=r["threads"])
result, report = server.evaluate(encrypted)
timing = measure(lambda: server.evaluate(encrypted), r["budget"], at_least=3)
chosen = compiled.choices[0].chosen
print(json.dumps({
    "seconds": timing.wall,
    "cpu_seconds": timing.cpu,
    "runs": timing.iterations,
    "encode_seconds": server.prepare_seconds,
    "encode_seconds_first": first,
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


def measure_here(c: MatvecCase) -> dict[str, object]:
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
    result: dict[str, object] = json.loads(out.stdout)
    return result


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
    """A record for each layer and level, in turn with the peer."""
    for name in layers:
        cases = [MatvecCase(name, params, level, algorithm, threads, insecure=insecure) for level in levels]
        ours = [measure_here(cases[0])]
        theirs = tenseal.matmul(peer_request(cases[0])) if peer else None
        ours += [measure_here(c) for c in cases[1:]]
        for c, r in zip(cases, ours, strict=True):
            extra = {
                k: r[k]
                for k in (
                    "cpu_seconds",
                    "runs",
                    "encode_seconds_first",
                    "babies",
                    "giants",
                    "log_scale",
                    "kernels",
                    "operations",
                )
            }
            extra |= {"level_choice": c.level, "m": layer(name).m, "n": layer(name).n}
            if theirs is not None:
                extra |= {
                    "peer_cpu_seconds": theirs.cpu_seconds,
                    "peer_runs": theirs.iterations,
                    "peer_max_rel_error": theirs.max_rel_error,
                    "peer_split_columns": theirs.split_columns,
                    "peer_split_rows": theirs.split_rows,
                    "peer_peak_mib": theirs.peak_mib,
                }
            yield Record(
                system="matvec",
                case=name,
                params=params,
                algorithm=str(r["algorithm"]),
                level=int(str(r["level"])),
                threads=threads,
                seconds=float(str(r["seconds"])),
                encode_seconds=float(str(r["encode_seconds"])),
                peer="tenseal" if theirs else None,
                peer_version=theirs.peer_version if theirs else None,
                peer_seconds=theirs.seconds if theirs else None,
                max_rel_error=float(str(r["max_rel_error"])),
                peak_mib=float(str(r["peak_mib"])),
                extra=extra,
            )


def all_layers() -> list[str]:
    """Names of the seven layers, in the paper's order."""
    return [x.name for x in LAYERS]
