# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""All seven layers of the matrix-vector paper at sets A, B and C. Minutes; run by `make test-long`.

Each case runs in a child process, so that its peak memory can be held against the prediction.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from ringforge.hw.machines.matvec.published import LAYERS

pytestmark = pytest.mark.long

CHILD = """
import json, resource, sys
import numpy as np
from ringforge import matvec
from ringforge._native import trim_memory
from ringforge.lab.papers.matvec import layer
from ringforge.matvec.roles import exact_error

def memory(field):  # KiB: VmRSS now, VmHWM the peak since it was reset
    lines = open("/proc/self/status").read().splitlines()
    return int(next(x for x in lines if x.startswith(field)).split()[1])


name, parameters, algorithm, level = sys.argv[1:]
m, n = layer(name).m, layer(name).n
rng = np.random.default_rng(7)
weights, x = rng.uniform(-1, 1, (m, n)), rng.uniform(-1, 1, n)
model = matvec.Linear(weights)
compiled = matvec.compile_model(model, parameters, algorithm=algorithm, level=int(level) or None)
client = matvec.Client(compiled.program)
encrypted = client.encrypt(x)
open("/proc/self/clear_refs", "w").write("5")
before = memory("VmRSS")
server = matvec.Server(model, compiled.program, client.evaluation_keys(threads=2), threads=2)
result, report = server.evaluate(encrypted)
grown = memory("VmHWM") - before
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
error = exact_error(weights @ x, client.decrypt(result)[0])
chosen = compiled.choices[0].chosen
print(json.dumps({
    "error": error,
    "peak_mib": peak / 1024,
    "grown_mib": grown / 1024,
    "predicted_mib": chosen.memory / 2**20,
    "seconds": report.seconds,
    "plan": f"{chosen.algorithm} {chosen.plan.baby}x{chosen.plan.giants}",
    "level": compiled.program.input_level,
    "counts_equal": all(v == getattr(chosen.cost.ops, k) for k, v in report.operations.items()),
}))
"""


def evaluate(name: str, parameters: str, algorithm: str = "bsgs", level: int = 0) -> dict[str, float]:
    out = subprocess.run(
        [sys.executable, "-c", CHILD, name, parameters, algorithm, str(level)],
        env=os.environ,
        check=True,
        capture_output=True,
        text=True,
    )
    result: dict[str, float] = json.loads(out.stdout)
    print(f"{name} {parameters} {algorithm} level {level or 'auto'}: {result}")
    return result


@pytest.mark.parametrize("parameters", ["set-a", "set-b", "set-c"])
@pytest.mark.parametrize("name", [x.name for x in LAYERS])
def test_bsgs(name: str, parameters: str) -> None:
    r = evaluate(name, parameters)
    assert r["error"] < 2**-20
    assert r["counts_equal"]


@pytest.mark.parametrize("name", [x.name for x in LAYERS])
def test_diagonal_at_set_a(name: str) -> None:
    assert evaluate(name, "set-a", "diagonal")["error"] < 2**-20


def test_diagonal_at_set_b() -> None:
    assert evaluate("rnnt-fc0", "set-b", "diagonal")["error"] < 2**-20


@pytest.mark.parametrize("name", ["rnnt-fc0", "alex-7"])
def test_horner_at_set_b(name: str) -> None:
    assert evaluate(name, "set-b", "horner")["error"] < 2**-20


@pytest.mark.parametrize(("level", "limit_gib"), [(0, 4), (6, 10)])
def test_alex_6_memory(level: int, limit_gib: int) -> None:
    r = evaluate("alex-6", "set-b", "bsgs", level)
    assert r["peak_mib"] < limit_gib * 1024
    assert r["grown_mib"] == pytest.approx(r["predicted_mib"], rel=0.1)
