# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Work of three systems in shards, beside the same work in one process of this machine.

The parties take turns: `cpu` with one thread, a cluster of one worker, `cpu` with two threads, a cluster of two workers
... Each turn is a process of its own, in which results are compared with those of `cpu`. It does the work twice: the
first time keys and tables are put, and workers make what they keep; the second time is what a session that is open
takes. Of a machine that does other work, processor time is to be compared; so are the ratios of times that were taken
in turn.
"""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from rich.table import Table

from ringforge import _native, params
from ringforge.cli.console import size_text
from ringforge.devices import CpuDevice, Device, KeySet
from ringforge.devices.registry import import_kernels
from ringforge.devices.scaling import Cluster, Workload, predict_work
from ringforge.devices.sharding import ShardedDevice
from ringforge.errors import Error, ParameterError
from ringforge.lab.timing import Timing, both_clocks, load
from ringforge.runs import Record

#: Bytes of each node's object store.
STORES = {"omr": 6_000_000_000, "psi": 1_000_000_000, "matmul": 3_000_000_000}

#: Of a turn, at the most; and for which a cluster is watched that has nothing to do.
_LIMIT_SECONDS, _IDLE_SECONDS = 1500, 3.0

#: Of a run: seconds, CPU seconds, these beside `cpu 1`, how many times as fast as the party's with one.
_COLUMNS = ("s", "CPU s", "to cpu 1", "speed-up")


class Work(NamedTuple):
    """What is measured: `open(device, threads)` is a session, each call of which returns bytes that are the same
    wherever they are computed. `planned` is the same work, for predictions."""

    params: str
    case: str
    open: Callable[[Device, int], Callable[[], bytes]]
    planned: Workload


def _matmul(size: str) -> Work:
    from ringforge.devices import ciphertexts
    from ringforge.matmul import KeyHolder, Server
    from ringforge.matmul.program import Input, trace
    from ringforge.matmul.workload import workload

    n = int(size or 512)
    shape = {"A": Input(shape=(n, n)), "B": Input(shape=(n, n))}
    program = trace(params.named("matmul-b-128"), lambda A, B: A @ B, shape)
    holder = KeyHolder(program, fixed_seed_for_tests=_seed(1))
    keys = holder.evaluation_keys(2)
    a, b = np.random.default_rng(1).uniform(-1, 1, (2, n, n))
    parcels = [holder.encrypt("A", a, 2), holder.encrypt("B", b, 2)]

    def opened(device: Device, threads: int) -> Callable[[], bytes]:
        server = Server(program, keys, threads=threads, device=device)

        def run() -> bytes:
            found, _ = server.run(parcels)
            words = [w for c in found["result"].ciphertexts for w in ciphertexts.words(c)]
            return b"".join(np.ascontiguousarray(w).tobytes() for w in words)

        return run

    return Work("matmul-b-128", f"{n} x {n} times {n} x {n}", opened, workload("matmul-b-128", n))


def _psi(size: str) -> Work:
    from ringforge.psi import planner
    from ringforge.psi.forecast import lookups
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

    def opened(device: Device, threads: int) -> Callable[[], bytes]:
        handle = device.prepare(LookupKernel(plan), keys, table, threads=threads)

        def run() -> bytes:
            (reply,), _ = device.run(handle, [request], threads=threads)
            # Replies are masked afresh by whoever makes them: what they decrypt to is the same.
            return bytes(np.ascontiguousarray(client.decode(reply)).tobytes())

        return run

    case = f"one query of 2^{log_bins} of 2^14 bins"
    return Work("(32, 14)", case, opened, lookups(plan, cells.size, case))


def _omr(size: str) -> Work:
    from ringforge._native import io
    from ringforge.omr import sets
    from ringforge.omr.compress import compression_plan
    from ringforge.omr.engine import Engine, encode_diagonals
    from ringforge.omr.forecast import workload
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
    weights = [rng.integers(0, s.t, (s.entries, 33)).astype(np.uint32) for _ in bulletins]

    def opened(device: Device, threads: int) -> Callable[[], bytes]:
        # Bulletins do not depend on each other: as many are searched at a time as there are workers.
        workers = device.pool.workers if isinstance(device, ShardedDevice) else 1
        shared = device.shared(workers) if isinstance(device, ShardedDevice) else device
        engine = Engine(plan, key, threads=threads, device=shared)

        def search(i: int) -> bytes:
            u = engine.range_check(engine.subtract_b(engine.affine(encoded[i]), b[i]))
            return bytes(io.to_bytes(context, u)) + engine.compress(digest, u, weights[i], 0, digest.units)

        def run() -> bytes:
            with ThreadPoolExecutor(workers) as at_once:
                return b"".join(at_once.map(search, bulletins))

        return run

    case = f"{len(bulletins)} bulletins of {s.entries:,} entries"
    return Work(s.name, case, opened, workload(s.name, len(bulletins)))


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
        `first` and `again`: seconds, cpu_seconds of all processes, and received, bytes between nodes; load: others that
        compute, on average; digest: hash of the results. Of a cluster also the pool's counts, idle (processor seconds
        that its processes take in a second without work), store (bytes in the fullest one, at the most) and `planned`,
        what was predicted: traffic and traffic_again, and store.
    """
    work = SYSTEMS[system](size)
    # How kernels are cut is registered by modules of their own.
    import_kernels()
    if turn.party == "cpu":
        took = _twice(partial(work.open, CpuDevice(), turn.count), lambda: (time.process_time(), None))
    else:
        from ringforge.scale.several import several

        with several(turn.count, store=STORES[system]) as cluster:

            def used() -> tuple[float, int | None]:
                usage = cluster.usage()
                return time.process_time() + usage.cpu_seconds, usage.received

            # Workers start and import what they need at the first shard: no part of the work.
            _wake(cluster.device)
            before, _ = used()
            time.sleep(_IDLE_SECONDS)
            idle = (used()[0] - before) / _IDLE_SECONDS
            took = {**_twice(partial(work.open, cluster.device, 1), used), "idle": idle}
            took |= {"store": cluster.usage().store, "counts": cluster.device.pool.counts.summary}
            took["planned"] = _planned(work.planned, turn.count)
    return {"params": work.params, "case": work.case, "load": load()[0], **took}


def _twice(opened: Callable[[], Callable[[], bytes]], used: Callable[[], tuple[float, int | None]]) -> dict[str, Any]:
    """Opens a session and asks it twice; `used` are processor seconds, and bytes between nodes, so far."""
    at = [(time.perf_counter(), *used())]
    run = opened()
    made = run()
    at.append((time.perf_counter(), *used()))
    same = run() == made
    at.append((time.perf_counter(), *used()))
    if not same:
        raise Error("the second results differ from the first")
    found: dict[str, Any] = {"digest": sha256(made).hexdigest()}
    for when, (a, b) in zip(("first", "again"), itertools.pairwise(at), strict=True):
        received = None if a[2] is None or b[2] is None else b[2] - a[2]
        found[when] = {"seconds": b[0] - a[0], "cpu_seconds": b[1] - a[1], "received": received}
    return found


def _planned(work: Workload, workers: int) -> dict[str, int]:
    """What is predicted for one worker on each node, and the work done twice in one session."""
    cluster = Cluster(workers, per_node=1)
    once = predict_work(work, cluster)
    again = predict_work(replace(work, first=lambda _: ()), cluster)
    twice = predict_work(replace(work, pieces=lambda n: 2 * work.pieces(n)), cluster)
    return {"traffic": once.traffic, "traffic_again": again.traffic, "store": twice.store}


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
                device=turn.party,
                threads=turn.count,
                extra={k: v for k, v in took.items() if k not in ("case", "params")},
                # Of the first time; workers wait for each other and for what is sent.
                **both_clocks(Timing(took["first"]["seconds"], took["first"]["cpu_seconds"]), clock="wall"),
            )


def tables(records: Sequence[Record]) -> list[Table]:
    """What it took beside `cpu`, medians of all rounds; bytes beside what was predicted."""
    found = []
    for system in dict.fromkeys(r.system for r in records):
        mine = [r for r in records if r.system == system]
        of = {t: rs for t in TURNS if (rs := [r for r in mine if (r.device, r.threads) == (t.party, t.count)])}
        shown = Table(title=f"{system}: {mine[0].case}, {mine[0].params}", title_justify="left")
        for label in ("party", *(f"{when}: {x}" for when in ("first", "again") for x in _COLUMNS), "idle CPU"):
            shown.add_column(label, justify="left" if label == "party" else "right")
        for t, rs in of.items():
            row = [t.name]
            for when in ("first", "again"):
                wall, cpu = (_median(rs, when, x) for x in ("seconds", "cpu_seconds"))
                base, one = of.get(TURNS[0]), of.get(Turn(t.party, 1))
                row += [f"{wall:.1f}", f"{cpu:.1f}"]
                row.append(f"{cpu / _median(base, when, 'cpu_seconds'):.2f}" if base else "")
                row.append(f"{_median(one, when, 'seconds') / wall:.2f}" if one else "")
            shown.add_row(*row, f"{rs[-1].extra['idle']:.3f}" if "idle" in rs[-1].extra else "")
        found.append(shown)
        bytes_ = Table(title=f"{system}: bytes, as predicted and as they were", title_justify="left")
        for label in ("party", "between nodes, first", "predicted", "again", "predicted", "fullest store", "predicted"):
            bytes_.add_column(label, justify="left" if label == "party" else "right")
        for t, rs in of.items():
            last = rs[-1].extra
            if "planned" in last:
                planned, row = last["planned"], [t.name]
                for when, name in (("first", "traffic"), ("again", "traffic_again")):
                    received = last[when]["received"]
                    row += ["" if received is None else size_text(received), size_text(planned[name])]
                bytes_.add_row(*row, size_text(last["store"]), size_text(planned["store"]))
        if bytes_.row_count:
            found.append(bytes_)
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


def _median(records: Sequence[Record], when: str, what: str) -> float:
    return float(statistics.median(r.extra[when][what] for r in records))


def one(system: str, size: str, party: str, count: str) -> None:
    """One turn, printed as JSON."""
    print(json.dumps(measure(system, size, Turn(party, int(count)))))
