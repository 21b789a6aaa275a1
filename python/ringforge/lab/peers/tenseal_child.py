# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The child that runs TenSEAL. Run it by its path: it needs TenSEAL and numpy, and nothing of Ringforge.

It reads one JSON request from standard input and prints one JSON object as its last line: a result, or
{"missing": why} where a package is not installed, or {"refused": why} where the request cannot be served.
"""

import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# A script's own folder leads the search path, and there `tenseal` would be the module next to this one.
_HERE = Path(__file__).resolve().parent
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != _HERE]


class RefusedError(Exception):
    """The request cannot be served."""


def timed(fn: Callable[[], list[Any]], budget_s: float, single_run_s: float) -> tuple[float, float, int, list[Any]]:
    """Median wall and processor seconds, the number of runs they come from, and the last run's value.

    A short first run only warms up; a long one is the measurement.
    """
    walls: list[float] = []
    cpus: list[float] = []
    first = True
    while True:
        wall, cpu = time.perf_counter(), time.process_time()
        value = fn()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
        if first and walls[0] < budget_s / 4:
            walls.clear()
            cpus.clear()
        first = False
        if walls and (walls[0] >= single_run_s or sum(walls) >= budget_s):
            return statistics.median(walls), statistics.median(cpus), len(walls), value


def peak_mib() -> float:
    """The largest resident size so far.

    The kernel's status file comes first: the usage call also counts what the process was before it became
    this program.
    """
    try:
        for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def column_parts(n: int, slots: int, wanted: int | None) -> int:
    """How many ciphertexts hold the vector."""
    fewest = -(-n // slots)
    parts = fewest if wanted is None else wanted
    if not fewest <= parts <= n:
        raise RefusedError(f"split_columns is {wanted}; {n} values take {fewest} to {n} parts of {slots}")
    return parts


def matmul(request: dict[str, Any]) -> dict[str, Any]:
    """Measures one product."""
    import numpy as np
    import tenseal as ts

    m, n, threads = int(request["m"]), int(request["n"]), int(request.get("threads", 1))
    degree = int(request.get("poly_modulus_degree", 8192))
    if m < 1 or n < 1:
        raise RefusedError(f"m and n are {m} and {n}; give at least 1")
    slots = degree // 2
    columns = column_parts(n, slots, request.get("split_columns"))
    rows = -(-m // slots)  # a longer result would come out wrong without a word

    rng = np.random.default_rng(int(request.get("seed", 0)))
    matrix = rng.uniform(-1, 1, (m, n))
    vector = rng.uniform(-1, 1, n)
    try:
        context = ts.context(
            ts.SCHEME_TYPE.CKKS,
            degree,
            coeff_mod_bit_sizes=list(request.get("coeff_mod_bit_sizes", (60, 40, 40, 60))),
            n_threads=threads,
        )
        context.global_scale = 2.0 ** int(request.get("scale_bits", 40))
        context.generate_galois_keys()
        parts = [ts.ckks_vector(context, part.tolist()) for part in np.array_split(vector, columns)]
    except ValueError as error:
        raise RefusedError(str(error)) from error
    # TenSEAL multiplies from the left, v A, so each block is transposed.
    blocks = [
        [ts.plain_tensor(block.T) for block in np.array_split(band, columns, axis=1)]
        for band in np.array_split(matrix, rows)
    ]

    def product() -> list[Any]:
        bands = []
        for band in blocks:
            total = parts[0].matmul(band[0])
            for part, block in zip(parts[1:], band[1:], strict=True):
                total += part.matmul(block)
            bands.append(total)
        return bands

    try:
        seconds, cpu_seconds, iterations, encrypted = timed(
            product, float(request.get("budget_s", 5)), float(request.get("single_run_s", 60))
        )
    except ValueError as error:
        raise RefusedError(str(error)) from error
    want = matrix @ vector
    got = np.concatenate([band.decrypt() for band in encrypted])
    return {
        "case": "matmul",
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "iterations": iterations,
        "max_rel_error": float(np.max(np.abs(got - want)) / np.max(np.abs(want))),
        "split_columns": columns,
        "split_rows": rows,
        "threads": threads,
        "peer": "tenseal",
        "peer_version": str(ts.__version__),
        "peak_mib": peak_mib(),
    }


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Serves one request."""
    try:
        import numpy as np
        import tenseal as ts
    except ImportError as error:
        return {"missing": str(error)}
    if request.get("version_only"):
        return {"peer_version": str(ts.__version__), "numpy_version": np.__version__}
    try:
        return matmul(request)
    except RefusedError as error:
        return {"refused": str(error)}


if __name__ == "__main__":
    reply = json.dumps(answer(json.load(sys.stdin)))
    print(reply, flush=True)
