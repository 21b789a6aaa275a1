# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Private set intersection by polynomials in memory, one server and one client on one machine.

The sets are random outputs of the PRF, which are what elements become; half of the client's are the server's (where it
has so many), and the result is compared with the intersection in the clear. The PRF itself is measured on a sample.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.table import Table

from ringforge import _native
from ringforge.errors import Error
from ringforge.lab.timing import Timing, Watch, both_clocks, median, timed
from ringforge.psi import oprf, poly
from ringforge.psi.table import pad_labels
from ringforge.runs import Record, duration

#: Elements that the PRF is measured on.
_SAMPLE = 4096


@dataclass(frozen=True)
class PolyCase:
    """One table and its client. `elements` and `client` are log2; label_bytes: of the longest label, 0 for none."""

    elements: int = 18
    client: int = 10
    label_bytes: int = 0
    threads: int = 1
    objective: poly.Objective = "balanced"
    seed: int = 1


def _prf_seconds(seed: int) -> tuple[float, float]:
    """Processor seconds an element, at the server for its own set and for a client's."""
    key, rng = oprf.ServerKey.random(), np.random.default_rng(seed)
    sample = [rng.bytes(16) for _ in range(_SAMPLE)]
    own, _ = timed(lambda: key.prf(sample))
    request = oprf.Request(sample)
    asked, _ = timed(lambda: key.evaluate(request.elements))
    return own.cpu / _SAMPLE, asked.cpu / _SAMPLE


def measure(case: PolyCase, rounds: int = 5) -> Record:
    """One case: a table, a session, and the same queries `rounds` times; the median time that the server takes to
    answer.

    Raises:
        Error: the result is not the intersection.
    """
    size, asked = 1 << case.elements, 1 << case.client
    rng = np.random.default_rng(case.seed)
    numbers = rng.integers(0, 256, (size + asked, 64), np.uint8)
    common = min(size, asked // 2)
    order = rng.permutation(asked)
    mine = np.concatenate([numbers[:common], numbers[size : size + asked - common]])[order]
    padded = case.label_bytes + 1 if case.label_bytes else 0
    search, found = timed(lambda: poly.suggest(size, asked, label_bytes=padded, objective=case.objective))
    fields, plan = found.fields, found.native
    labels, nonce = None, b""
    if padded:
        texts = [(b"%x" % i)[-case.label_bytes :] for i in range(size)]
        labels, nonce = pad_labels(texts, padded), os.urandom(8)
    build, arrays = timed(lambda: poly.compile_table(fields, numbers[:size], labels, nonce=nonce, threads=case.threads))
    client = poly.Client(fields, mine, nonce=nonce, label_bytes=padded, exact_sizes=True)
    making, keys = timed(client.keys)
    table = poly.table(plan, arrays)
    opening, session = timed(lambda: poly.SessionKeys(client.plan, keys, case.threads))
    requests: list[bytes] = []
    watch = Watch()
    while (request := client.next_request()) is not None:
        requests.append(request)
    asking = watch.read()
    runs: list[Timing] = []
    for _ in range(rounds):
        taken, replies = timed(lambda: [poly.evaluate(session, request, table, case.threads) for request in requests])
        runs.append(taken)
    for reply in replies:
        client.accept(reply)
    reading, result = timed(client.result)
    if result.found.tolist() != np.flatnonzero(order < common).tolist() or result.anomalies:
        raise Error(f"the result is wrong: {len(result.found)} found of {common}, {result.anomalies} anomalies")
    if padded and any(
        row.tobytes()[: len(text) + 1] != text + b"\x80"
        for row, text in zip(result.labels, (texts[i] for i in order[result.found]), strict=True)
    ):
        raise Error("a label is wrong")
    own, other = _prf_seconds(case.seed)
    total = len(keys) + sum(map(len, requests)) + sum(map(len, replies))
    prf_bytes = 2 * oprf.ELEMENT_BYTES * asked
    return Record(
        system="psi",
        case="poly" + (f", labels of {case.label_bytes} bytes" if padded else ""),
        params=f"2^{case.elements} and 2^{case.client} elements",
        algorithm="poly",
        threads=case.threads,
        peak_mib=arrays.bytes / 2**20,
        extra={
            "kernels": _native.kernels.active(),
            "seconds_are": "of the server for all queries, median over rounds; peak_mib is the table",
            "rounds_cpu_seconds": [t.cpu for t in runs],
            "rounds_wall_seconds": [t.wall for t in runs],
            "open_session_seconds": opening.cpu,
            "prf_answer_seconds": other * asked,
            "build_seconds": build.cpu,
            "build_wall_seconds": build.wall,
            "prf_seconds": own * size,
            "prf_seconds_are": f"of {_SAMPLE} elements, times their number",
            "search_seconds": search.wall,
            "client_cpu_seconds": making.cpu + asking.cpu + reading.cpu,
            "queries": len(requests),
            "key_bytes": len(keys),
            "request_bytes": sum(map(len, requests)),
            "reply_bytes": sum(map(len, replies)),
            "prf_bytes": prf_bytes,
            "total_bytes": total + prf_bytes,
            "estimated_seconds": found.estimate.online_seconds,
            "plan": fields.model_dump(),
            "matches": len(result.found),
            "false_positive_log2": plan.false_positive_log2(asked),
            "budget_bits": plan.budget,
        },
        **both_clocks(median(runs), clock="processor"),
    )


def compare(cases: Sequence[PolyCase], rounds: int = 5) -> Iterator[Record]:
    """A record for each case.

    Raises:
        Error: as `measure`.
    """
    for case in cases:
        yield measure(case, rounds)


def details(records: Sequence[Record]) -> Table:
    """Times and bytes, one row a record."""
    made = Table(title="PSI by polynomials: server online and offline, client, traffic in MB (10^6 bytes)")
    for name in ("case", "params"):
        made.add_column(name)
    for name in (
        "online cpu", "session", "PRF online", "build", "PRF offline", "client cpu", "keys", "requests", "replies",
        "PRF", "total", "table", "false +", "matches",
    ):  # fmt: skip
        made.add_column(name, justify="right")
    for r in records:
        x: dict[str, Any] = dict(r.extra)
        sizes = [f"{x[f'{kind}_bytes'] / 1e6:.2f}" for kind in ("key", "request", "reply", "prf", "total")]
        made.add_row(
            r.case, r.params, duration(r.seconds), duration(x["open_session_seconds"]),
            duration(x["prf_answer_seconds"]), duration(x["build_seconds"]), duration(x["prf_seconds"]),
            duration(x["client_cpu_seconds"]), *sizes, f"{r.peak_mib:.0f} MiB", f"2^{x['false_positive_log2']:.0f}",
            str(x["matches"]),
        )  # fmt: skip
    return made
