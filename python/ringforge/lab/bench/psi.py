# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Private set intersection between two processes over loopback, beside Table 4 of the third-generation paper.

Sets are random, half of the client's elements are the server's (where it has so many), and the result is compared with
the intersection of the two sets in the clear. The server's processor time and memory are read from the system, for
exactly the client's run: PRF, keys and queries.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from rich.table import Table

import ringforge
from ringforge import _native
from ringforge.errors import Error, ParameterError
from ringforge.lab.papers.psi.figures import PSI_ROWS
from ringforge.lab.timing import Timing, both_clocks
from ringforge.runs import Record, duration

ALGORITHMS: Final = ("ringforge", "paper")

#: Table 4 of the paper by bits of an element and log2 of the bins. Its traffic (MiB) is without keys.
PAPER: Final = {(row.bits, row.log_bins): row for row in PSI_ROWS}

_REASON = "a measurement with random elements"
_NO_LIMIT = str(1 << 40)
_TEXT_BITS = 63


@dataclass(frozen=True)
class PsiCase:
    """One table and its client. `bins`, `elements`, `client` and `capacity` are log2; `bits` is of mode direct.

    capacity: the table is planned for so many elements; by default for as many as there are.
    """

    mode: str = "direct"
    bits: int = 32
    bins: int = 14
    elements: int = 20
    client: int = 13
    algorithm: str = "ringforge"
    hashes: int = 3
    threads: int = 2
    capacity: int | None = None
    seed: int = 1

    def check(self) -> None:
        """Raises: ParameterError for what cannot be drawn or built, before anything is."""
        if self.mode not in ("direct", "oprf"):
            raise ParameterError(f'mode is "{self.mode}": take direct or oprf')
        if self.algorithm not in ALGORITHMS:
            raise ParameterError(f'algorithm is "{self.algorithm}": take one of {", ".join(ALGORITHMS)}')
        if self.capacity is not None and self.capacity < self.elements:
            raise ParameterError(f"2^{self.elements} elements are more than the capacity of 2^{self.capacity}")
        if self.mode == "direct" and (1 << self.elements) + (1 << self.client) > 1 << self.bits:
            raise ParameterError(
                f"2^{self.elements} elements of the server and 2^{self.client} of the client are more than there are "
                f"integers of {self.bits} bits: take fewer elements or more bits"
            )

    @property
    def name(self) -> str:
        """For records."""
        return f"{self.mode} b={self.bits}" if self.mode == "direct" else self.mode


def distinct(rng: np.random.Generator, count: int, bits: int) -> npt.NDArray[np.uint64]:
    """Different random integers below 2^bits, in random order."""
    if bits <= 24:
        return rng.permutation(1 << bits)[:count].astype(np.uint64)
    found = np.zeros(0, np.uint64)
    while len(found) < count:
        more = rng.integers(0, 1 << bits, count - len(found) + 64, dtype=np.uint64)
        found = np.unique(np.concatenate((found, more)))
    return rng.permutation(found)[:count]


@dataclass(frozen=True)
class Sets:
    """The server's elements, of which a smaller table takes the first ones, and the sets of several clients."""

    server: npt.NDArray[np.uint64]
    clients: tuple[npt.NDArray[np.uint64], ...]


def draw(case: PsiCase, clients: int = 1, least: int | None = None) -> Sets:
    """Random sets. Half of a client's elements are among the server's first 2^least, where these are so many."""
    rng = np.random.default_rng(case.seed)
    size, asked = 1 << case.elements, 1 << case.client
    bits = case.bits if case.mode == "direct" else _TEXT_BITS
    numbers = distinct(rng, size + asked, bits)
    common = numbers[: 1 << (case.elements if least is None else least)]
    sets = []
    for _ in range(clients):
        shared = rng.permutation(common)[: asked // 2]
        others = rng.permutation(numbers[size:])[: asked - len(shared)]
        sets.append(rng.permutation(np.concatenate((shared, others))))
    return Sets(numbers[:size], tuple(sets))


def write(path: Path, numbers: npt.NDArray[np.uint64], mode: str) -> Path:
    """A file with one element on each line: integers, or in mode oprf strings of 16 letters."""
    form = "{}\n" if mode == "direct" else "{:016x}\n"
    path.write_text("".join(map(form.format, numbers.tolist())), encoding="ascii")
    return path


# ---- processes -----------------------------------------------------------------------------------


def _command(words: Sequence[object]) -> list[str]:
    return [sys.executable, "-m", "ringforge.cli", "psi", *map(str, words)]


def _environment() -> dict[str, str]:
    here = str(Path(ringforge.__file__).resolve().parents[1])
    return dict(os.environ) | {"PYTHONPATH": os.pathsep.join(filter(None, (here, os.environ.get("PYTHONPATH"))))}


def _run(words: Sequence[object]) -> dict[str, Any]:
    """Runs a command of `ringforge psi` that prints JSON."""
    done = subprocess.run(_command(words), capture_output=True, text=True, env=_environment(), check=False)
    if done.returncode:
        raise Error(f"ringforge psi {words[0]} ended with status {done.returncode}: {done.stderr.strip()}")
    found: dict[str, Any] = json.loads(done.stdout)["result"]
    return found


def build(table: Path, elements: Path, case: PsiCase) -> dict[str, Any]:
    """Builds a table by `ringforge psi build`; returns what it prints."""
    words: list[object] = [
        "build", table, "--set", elements, "--mode", case.mode, "--bins", case.bins, "--hashes", case.hashes,
        "--algorithm", case.algorithm, "--threads", case.threads, "--json",
    ]  # fmt: skip
    if case.mode == "direct":
        words += ["--bits", case.bits]
    if case.algorithm == "paper":
        words += ["--insecure", "the paper's algorithm, measured"]
    if case.capacity is not None:
        words += ["--capacity", 1 << case.capacity]
    return _run(words)


class Serving:
    """`ringforge psi serve` as a process, for the time of a `with` block.

    Raises:
        Error: it does not start; the message has its words.
    """

    def __init__(self, table: Path, threads: int) -> None:
        self._log = table.with_name(f"{table.name}.log")
        limits = ("--prf-per-day", _NO_LIMIT, "--bins-per-day", _NO_LIMIT, "--memory", "64GiB")
        words = ("serve", table, "--listen", "127.0.0.1:0", "--threads", threads, "--log", self._log, *limits)
        self._process = subprocess.Popen(
            _command(words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=_environment()
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise Error(f"ringforge psi serve did not start: {self._process.communicate()[1].strip()}")
        self.address = f"127.0.0.1:{json.loads(line)['port']}"

    def cpu_seconds(self) -> float:
        """Processor time of all its threads so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_mib(self) -> float:
        """The largest resident size so far, the memory-mapped table included."""
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM:"))

    def computed(self) -> list[float]:
        """Wall seconds of each query's computation, from the server's log."""
        events = map(json.loads, self._log.read_text(encoding="utf-8").splitlines())
        return [e["computed"] for e in events if e["event"] == "Query" and "computed" in e]

    def __enter__(self) -> Serving:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()


@dataclass(frozen=True)
class Run:
    """One client's run. `wall` and `cpu` are the server's seconds, wall only of the computation; the client's are for
    its whole process. Bytes by kind, from and to the client.
    """

    wall: float
    cpu: float
    peak_mib: float
    client_wall: float
    client_cpu: float
    queries: int
    sent: dict[str, int]
    received: dict[str, int]
    matches: int
    answer: dict[str, Any]


def ask(serving: Serving, elements: Path, case: PsiCase, expected: set[str]) -> Run:
    """A client process asks for the elements of a file.

    Args:
        expected: the intersection, as the file writes it.

    Raises:
        Error: a process fails, or the result is not the intersection.
    """
    before = len(serving.computed())
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu, start = serving.cpu_seconds(), time.perf_counter()
    words = ("query", "--server", serving.address, "--set", elements, "--threads", case.threads, "--json")
    answer = _run((*words, "--accept-insecure", _REASON))
    client_wall, cpu = time.perf_counter() - start, serving.cpu_seconds() - cpu
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = {str(m["element"]) for m in answer.pop("matches")}
    if found != expected:
        raise Error(
            f"the result is wrong: {len(found - expected)} elements that are not the server's, "
            f"{len(expected - found)} missing of {len(expected)}"
        )
    received = {"replies" if kind == "requests" else kind: size for kind, size in answer["received"].items()}
    return Run(
        wall=sum(serving.computed()[before:]),
        cpu=cpu,
        peak_mib=serving.peak_mib(),
        client_wall=client_wall,
        client_cpu=after.ru_utime + after.ru_stime - children.ru_utime - children.ru_stime,
        queries=answer["queries"],
        sent=dict(answer["sent"]),
        received=received,
        matches=len(found),
        answer=answer,
    )


def _shared(a: Path, b: Path) -> set[str]:
    return set(a.read_text(encoding="ascii").split()) & set(b.read_text(encoding="ascii").split())


# ---- measurements --------------------------------------------------------------------------------


def compare(cases: Sequence[PsiCase], rounds: int = 1) -> Iterator[Record]:
    """A record for each case, all asked in turn, `rounds` times; the reported run is that of median processor time.

    Raises:
        ParameterError, Error: as in `PsiCase.check` and `ask`.
    """
    for case in cases:
        case.check()
    with tempfile.TemporaryDirectory(prefix="ringforge-psi-") as scratch, contextlib.ExitStack() as running:
        prepared = []
        for number, case in enumerate(cases):
            sets = draw(case)
            server = write(Path(scratch) / f"server-{number}", sets.server, case.mode)
            client = write(Path(scratch) / f"client-{number}", sets.clients[0], case.mode)
            table = Path(scratch) / f"table-{number}"
            built = build(table, server, case)
            serving = running.enter_context(Serving(table, case.threads))
            prepared.append((serving, client, case, _shared(server, client), built))
        runs: list[list[Run]] = [[] for _ in cases]
        for turn in range(rounds):
            order = range(len(cases))
            for number in reversed(order) if turn % 2 else order:
                runs[number].append(ask(*prepared[number][:4]))
        for case, taken, (_, _, _, _, built) in zip(cases, runs, prepared, strict=True):
            yield _record(case, taken, built)


def _record(case: PsiCase, runs: Sequence[Run], built: dict[str, Any]) -> Record:
    run = sorted(runs, key=lambda r: r.cpu)[len(runs) // 2]
    paper = PAPER.get((case.bits, case.bins)) if case.mode == "direct" else None
    extra: dict[str, Any] = {
        "kernels": _native.kernels.active(),
        "cpu_seconds_are": "of the server's whole run: PRF, keys and queries; wall time is that of the queries",
        "rounds_cpu_seconds": [r.cpu for r in runs],
        "client_wall_seconds": run.client_wall,
        "client_cpu_seconds": run.client_cpu,
        "client_steps": run.answer["seconds"],
        "queries": run.queries,
        "sent": run.sent,
        "received": run.received,
        "matches": run.matches,
        "server_elements": 1 << case.elements,
        "client_elements": 1 << case.client,
        "hashes": case.hashes,
        "capacity": built["capacity"],
        "cells": built["cells"],
        "insecure": built["insecure"],
        "build_seconds": built["seconds"],
        "bytes_on_disk": built["bytes_on_disk"],
        "probabilities": run.answer["probabilities"],
    }
    if paper is not None:
        extra |= {"paper_sent_mib": paper.to_sender_mb, "paper_received_mib": paper.to_receiver_mb}
    return Record(
        system="psi",
        case=case.name,
        params=f"2^{case.bins} bins, 2^{case.elements} and 2^{case.client} elements",
        algorithm=case.algorithm,
        threads=case.threads,
        peer=None if paper is None else "paper",
        peer_version=None if paper is None else "accelerator, Table 4",
        peak_mib=run.peak_mib,
        extra=extra,
        **both_clocks(Timing(run.wall, run.cpu), stated=None if paper is None else float(paper.seconds), clock="wall"),
    )


def independence(case: PsiCase, sizes: Sequence[int], instances: int = 3, rounds: int = 1) -> Iterator[Record]:
    """Tables of different sizes, all planned for the largest: a record of each size.

    Every instance has sets of its own and two clients; its tables are built first, then asked one after another by
    each client in turn, `rounds` times, every other time in the opposite order. `seconds` is the median of the server's
    processor time over all of these.

    Raises:
        ParameterError, Error: as in `PsiCase.check` and `ask`.
    """
    if not sizes or instances < 1 or rounds < 1:
        raise ParameterError("give at least one size, one instance and one round")
    largest = replace(case, elements=max(sizes), capacity=max(max(sizes), case.capacity or 0))
    largest.check()
    online: dict[int, list[Run]] = {size: [] for size in sizes}
    builds: dict[int, list[dict[str, Any]]] = {size: [] for size in sizes}
    for instance in range(instances):
        with tempfile.TemporaryDirectory(prefix="ringforge-psi-") as scratch:
            folder = Path(scratch)
            sets = draw(replace(largest, seed=case.seed + instance), 2, min(sizes))
            for size in sizes:
                server = write(folder / f"server-{size}", sets.server[: 1 << size], case.mode)
                builds[size].append(build(folder / f"table-{size}", server, replace(largest, elements=size)))
            clients = [write(folder / f"client-{i}", c, case.mode) for i, c in enumerate(sets.clients)]
            for turn in range(len(clients) * rounds):
                client = clients[turn % len(clients)]
                for size in reversed(sizes) if (instance + turn + turn // 2) % 2 else sizes:
                    expected = _shared(folder / f"server-{size}", client)
                    with Serving(folder / f"table-{size}", case.threads) as serving:
                        online[size].append(ask(serving, client, case, expected))
    for size in sizes:
        record = _record(replace(largest, elements=size), online[size], builds[size][0])
        cpus = [r.cpu for r in online[size]]
        taken = Timing(statistics.median(r.wall for r in online[size]), statistics.median(cpus), len(cpus))
        yield replace(
            record,
            **both_clocks(taken, clock="processor"),
            peer=None,
            peer_version=None,
            peak_mib=max(r.peak_mib for r in online[size]),
            extra=dict(record.extra)
            | {
                "seconds_are": "processor time of the server, median over instances, clients and rounds",
                "spread": max(cpus) / min(cpus) - 1 if min(cpus) else 0.0,
                "build_seconds": statistics.median(b["seconds"] for b in builds[size]),
                "instances": instances,
            },
        )


def spread(records: Sequence[Record]) -> float:
    """How much more the slowest of the sizes takes than the fastest, as a fraction."""
    times = [r.seconds for r in records]
    return max(times) / min(times) - 1 if min(times, default=0.0) else 0.0


def verdict(records: Sequence[Record]) -> str:
    """The spread between sizes, next to that between runs of one size."""
    within = max(float(r.extra["spread"]) for r in records)
    return f"medians of the sizes differ by {spread(records):.1%}; runs of one size by up to {within:.1%}"


def details(records: Sequence[Record]) -> Table:
    """Times, bytes by kind and queries, one row a record."""
    made = Table(title="server, client, traffic in MiB")
    for name in ("case", "params", "algorithm"):
        made.add_column(name)
    for name in (
        "build", "server wall", "server cpu", "client wall", "queries", "keys", "PRF", "requests", "replies", "matches",
        "paper sent", "paper received",
    ):  # fmt: skip
        made.add_column(name, justify="right")
    for r in records:
        x = r.extra
        sent, received = x["sent"], x["received"]
        made.add_row(
            r.case, r.params, r.algorithm, duration(x["build_seconds"]), duration(r.wall_seconds),
            duration(r.cpu_seconds), duration(x["client_wall_seconds"]),
            str(x["queries"]), _mib(sent.get("keys")), _mib(sent.get("prf", 0) + received.get("prf", 0)),
            _mib(sent.get("requests")), _mib(received.get("replies")), str(x["matches"]),
            str(x.get("paper_sent_mib", "-")), str(x.get("paper_received_mib", "-")),
        )  # fmt: skip
    return made


def _mib(size: int | None) -> str:
    return "-" if size is None else f"{size / 2**20:.2f}"
