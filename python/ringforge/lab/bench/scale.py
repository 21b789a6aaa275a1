# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Work of three systems in shards, beside the same work in one process of this machine.

The parties take turns: `cpu` with one thread, a cluster of one worker, `cpu` with two threads, a cluster of two workers
... Each turn is a process of its own, in which results are compared with those of `cpu`. Of a machine that does other
work, processor time is to be compared; so are the ratios of times that were taken in turn.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table

from ringforge import _native, params
from ringforge.cli.console import size_text
from ringforge.devices import CpuDevice, Device, KeySet
from ringforge.devices.registry import import_kernels
from ringforge.devices.sharding import ShardedDevice
from ringforge.errors import Error, ParameterError
from ringforge.runs import Record

#: Bytes of each node's object store.
STORES = {"omr": 6_000_000_000, "psi": 1_000_000_000, "matmul": 3_000_000_000}

_LIMIT_SECONDS = 1500


class Work(NamedTuple):
    """What is measured: `run(device, threads)` returns bytes that are the same wherever it is computed."""

    params: str
    case: str
    run: Callable[[Device, int], bytes]


def _matmul(size: str) -> Work:
    from ringforge.devices import ciphertexts
    from ringforge.matmul import KeyHolder, Server
    from ringforge.matmul.program import Input, trace

    n = int(size or 512)
    shape = {"A": Input(shape=(n, n)), "B": Input(shape=(n, n))}
    program = trace(params.named("matmul-b-128"), lambda A, B: A @ B, shape)
    holder = KeyHolder(program, fixed_seed_for_tests=_seed(1))
    keys = holder.evaluation_keys(2)
    a, b = np.random.default_rng(1).uniform(-1, 1, (2, n, n))
    parcels = [holder.encrypt("A", a, 2), holder.encrypt("B", b, 2)]

    def run(device: Device, threads: int) -> bytes:
        found, _ = Server(program, keys, threads=threads, device=device).run(parcels)
        words = [w for c in found["result"].ciphertexts for w in ciphertexts.words(c)]
        return b"".join(np.ascontiguousarray(w).tobytes() for w in words)

    return Work("matmul-b-128", f"{n} x {n} times {n} x {n}", run)


def _psi(size: str) -> Work:
    from ringforge.psi import planner
    from ringforge.psi.kernels import LookupKernel, LookupKeys, LookupTable
    from ringforge.psi.table import Arrays

    log_bins = int(size or 11)
    fields = planner.choose("direct", 1 << 20, 14, 0, 0, 3, 32, "ringforge")
    plan = fields.model_copy(update={"log_bins": log_bins}).native()
    rng = np.random.default_rng(1)
    each = 3 * (1 << 20 - 14)
    cells = np.sort(rng.integers(0, plan.cells // each, (plan.bins, each)) + np.arange(each) * (plan.cells // each))
    arrays = Arrays(
        np.arange(plan.bins + 1, dtype=np.uint64) * np.uint64(each),
        cells.reshape(-1).astype(np.uint32),
        np.ones((cells.size, plan.cell_words), np.uint16),
        np.zeros(0, np.uint16),
    )
    client = _native.psi.ClientKey(plan, _seed(2))
    table, keys = LookupTable(plan, arrays), KeySet(own=(LookupKeys(client.evaluation_keys(2)),))
    asked = np.where(np.arange(plan.bins) % 2 == 0, cells[:, 0], (cells[:, 0] + 1) % plan.cells).astype(np.uint32)
    request = client.query(asked, 2)

    def run(device: Device, threads: int) -> bytes:
        handle = device.prepare(LookupKernel(plan), keys, table, threads=threads)
        (reply,), _ = device.run(handle, [request], threads=threads)
        # Replies are masked afresh by whoever makes them: what they decrypt to is the same.
        return bytes(np.ascontiguousarray(client.decode(reply)).tobytes())

    return Work("(32, 14)", f"one query of 2^{log_bins} of 2^14 bins", run)


def _omr(size: str) -> Work:
    from ringforge._native import io
    from ringforge.omr import sets
    from ringforge.omr.compress import compression_plan
    from ringforge.omr.engine import Engine, encode_diagonals
    from ringforge.omr.keys import DetectionKey, ReceiverSecret, bfv_context
    from ringforge.omr.plan import Plan

    name, _, number = size.partition(":")
    s, bulletins = sets.named(name or "ringforge", "a measurement of random entries"), range(int(number or 2))
    plan, context = Plan.make(s), bfv_context(s)
    secret = ReceiverSecret.make(s, fixed_seed_for_tests=_seed(1))
    key = DetectionKey.make(secret, threads=2, fixed_seed_for_tests=_seed(2))
    rng, digest = np.random.default_rng(1), compression_plan(s, 62, 33)
    encoded = [
        encode_diagonals(plan, rng.integers(0, s.t, (s.entries, s.n)).astype(np.uint32), threads=2) for _ in bulletins
    ]
    b = [rng.integers(0, s.t, (s.entries, s.clues)).astype(np.uint32) for _ in bulletins]
    weights = rng.integers(0, s.t, (s.entries, 33)).astype(np.uint32)

    def run(device: Device, threads: int) -> bytes:
        # Bulletins do not depend on each other: as many are searched at a time as there are workers.
        workers = device.pool.workers if isinstance(device, ShardedDevice) else 1
        shared = device.shared(workers) if isinstance(device, ShardedDevice) else device
        engine = Engine(plan, key, threads=threads, device=shared)

        def search(i: int) -> bytes:
            u = engine.range_check(engine.subtract_b(engine.affine(encoded[i]), b[i]))
            return bytes(io.to_bytes(context, u)) + engine.compress(digest, u, weights, 0, digest.units)

        with ThreadPoolExecutor(workers) as at_once:
            return b"".join(at_once.map(search, bulletins))

    return Work(s.name, f"{len(bulletins)} bulletins of {s.entries:,} entries", run)


SYSTEMS: dict[str, Callable[[str], Work]] = {"matmul": _matmul, "psi": _psi, "omr": _omr}


def _seed(number: int) -> Any:
    return _native.TestSeed(bytes([number]) * 32)


@dataclass(frozen=True)
class Turn:
    """One party: `cpu` with so many threads, or a cluster of so many workers."""

    party: str
    count: int

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.party} {self.count}"


TURNS = (Turn("cpu", 1), Turn("ray", 1), Turn("cpu", 2), Turn("ray", 2))


def measure(system: str, size: str, turn: Turn) -> dict[str, Any]:
    """One turn, in this process.

    Returns:
        seconds, cpu_seconds of all processes; load: others that compute, on average; digest: hash of the results;
        of a cluster also the pool's counts, bytes of the fullest store, bytes received between nodes.
    """
    work, took = SYSTEMS[system](size), dict[str, Any]()
    # How kernels are cut is registered by modules of their own.
    import_kernels()
    if turn.party == "cpu":
        start, cpu = time.perf_counter(), time.process_time()
        made = work.run(CpuDevice(), turn.count)
        took |= {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu}
    else:
        from ringforge.scale.several import several

        with several(turn.count, store=STORES[system]) as cluster:
            # Workers start and import what they need at the first shard: no part of the work.
            _wake(cluster.device)
            before = cluster.usage()
            start, cpu = time.perf_counter(), time.process_time()
            made = work.run(cluster.device, 1)
            took |= {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu}
            after = cluster.usage()
            took["driver_cpu_seconds"] = took["cpu_seconds"]
            took["cpu_seconds"] += after.cpu_seconds - before.cpu_seconds
            received = None if after.received is None else after.received - (before.received or 0)
            took |= {"store": after.store, "received": received, "counts": cluster.device.pool.counts.summary}
    digest = sha256(made).hexdigest()
    return {"params": work.params, "case": work.case, "digest": digest, "load": os.getloadavg()[0], **took}


def _wake(device: Any) -> None:
    from ringforge.devices.sharding import Shard

    pool = device.pool
    pool.run([Shard(f"wake {i}", _awake, (), lambda given: given) for i in range(4 * pool.workers)])


def _awake(_task: Any) -> int:
    from ringforge import matmul, omr, psi

    time.sleep(0.3)
    return len([matmul, omr, psi])


def apart(system: str, size: str, turn: Turn) -> dict[str, Any]:
    """One turn, in a process of its own.

    Raises:
        Error: it failed.
    """
    # Not as __main__: workers import the module by its name.
    call = "import sys; from ringforge.lab.bench.scale import one; one(*sys.argv[1:])"
    command = [sys.executable, "-c", call, system, size, turn.party, str(turn.count)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_LIMIT_SECONDS)
    if done.returncode:
        raise Error(f"{system} on {turn.name} failed: {done.stderr.strip().splitlines()[-1:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(system: str, size: str = "", rounds: int = 1, turns: Sequence[Turn] = TURNS) -> Iterator[Record]:
    """Turns of a system, each as soon as it is done.

    Raises:
        ParameterError: there is no such system. Error: a turn failed, or its results are not those of the first one.
    """
    if system not in SYSTEMS:
        raise ParameterError(f'"{system}" is not measured: there are {", ".join(SYSTEMS)}')
    first = ""
    for _ in range(rounds):
        for turn in turns:
            took = apart(system, size, turn)
            if (first := first or took["digest"]) != took["digest"]:
                raise Error(f"{system}: results of {turn.name} differ from those of {turns[0].name}")
            yield Record(
                system=system,
                case=took["case"],
                params=took["params"],
                algorithm=turn.name,
                seconds=took["seconds"],
                device=turn.party,
                threads=turn.count,
                extra={k: v for k, v in took.items() if k not in ("case", "params", "seconds")},
            )


def tables(records: Sequence[Record]) -> list[Table]:
    """What it took beside `cpu`, medians of all rounds; bytes beside what was predicted."""
    found = []
    for system in dict.fromkeys(r.system for r in records):
        mine = [r for r in records if r.system == system]
        shown = Table(title=f"{system}: {mine[0].case}, {mine[0].params}", title_justify="left")
        for label in (
            "party",
            "CPU seconds",
            "to cpu 1",
            "seconds",
            "times as fast as with 1",
            "store",
            "between nodes",
        ):
            shown.add_column(label, justify="left" if label == "party" else "right")
        of = {t: [r for r in mine if (r.device, r.threads) == (t.party, t.count)] for t in TURNS}
        cpu = {t: statistics.median(r.extra["cpu_seconds"] for r in rs) for t, rs in of.items() if rs}
        wall = {t: statistics.median(r.seconds for r in rs) for t, rs in of.items() if rs}
        for t in cpu:
            alone, last = wall.get(Turn(t.party, 1)), of[t][-1].extra
            shown.add_row(
                t.name,
                f"{cpu[t]:.1f}",
                f"{cpu[t] / cpu[TURNS[0]]:.2f}" if TURNS[0] in cpu else "",
                f"{wall[t]:.1f}",
                f"{alone / wall[t]:.2f}" if alone else "",
                size_text(last["store"]) if "store" in last else "",
                size_text(last["received"]) if last.get("received") is not None else "",
            )
        found.append(shown)
        kinds: dict[str, Any] = next((r.extra["counts"]["kinds"] for r in reversed(mine) if "counts" in r.extra), {})
        costs = Table(title=f"{system}: shards, as predicted and as they were", title_justify="left")
        for label in ("function", "shards", "CPU seconds", "predicted", "sent", "predicted", "returned", "predicted"):
            costs.add_column(label, justify="left" if label == "function" else "right")
        for name, k in kinds.items():
            if k["predicted"]:
                times = (f"{k[x]:.1f}" for x in ("cpu_seconds", "predicted"))
                sizes = (size_text(k[x]) for x in ("sent", "predicted_sent", "returned", "predicted_returned"))
                costs.add_row(name.removeprefix("ringforge."), str(k["shards"]), *times, *sizes)
        if costs.row_count:
            found.append(costs)
    return found


def one(system: str, size: str, party: str, count: str) -> None:
    """One turn, printed as JSON."""
    print(json.dumps(measure(system, size, Turn(party, int(count)))))
