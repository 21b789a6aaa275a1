# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""How many entries a second a board takes: its service, a database that is written to disk, clients on this machine.

Signals are uniform words, as those of receivers look to the board: all of them are screened, hashed, held against what
is there, written, acknowledged after fsync. Making them is not counted.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from rich.table import Table

from ringforge import _native
from ringforge.errors import Error, ParameterError
from ringforge.lab.timing import Timing, both_clocks
from ringforge.omr.board_client import RemoteBoard
from ringforge.omr.demo_postgres import postgres_server
from ringforge.omr.sets import Set
from ringforge.omr.signal import Signals
from ringforge.runs import Record

#: Signals a second that a board has to take.
WANTED: Final = 2000.0
DATABASES: Final = ("sqlite", "postgresql")

_PATIENCE = 60.0


@dataclass(frozen=True)
class PostingCase:
    """What to post: `entries` of `set` to a board in `database`, one of `DATABASES`, from `clients` at a time."""

    set: Set
    database: str = "sqlite"
    entries: int = 16_384
    clients: int = 2
    rounds: int = 3
    threads: int = 2

    def check(self) -> None:
        """Raises: ParameterError for what cannot be run."""
        if self.database not in DATABASES:
            raise ParameterError(f'there is no database "{self.database}": take one of {", ".join(DATABASES)}')
        if not 1 <= self.clients <= min(self.entries, 8) or self.rounds < 1 or self.threads < 1:
            raise ParameterError("take 1 to 8 clients, at least one entry for each, one round and one thread")


@dataclass(frozen=True)
class Posted:
    """Seconds of one round: on the clock, and of processors for the service, clients, and PostgreSQL's processes."""

    wall: float
    service: float
    clients: float
    database: float

    @property
    def cpu(self) -> float:
        """Of all of them."""
        return self.service + self.clients + self.database


def _processor(pid: int, below: bool = False) -> float:
    """Processor seconds of a process; of all processes below it instead, as long as they live."""
    tick = os.sysconf("SC_CLK_TCK")
    parents: dict[int, int] = {}
    used: dict[int, float] = {}
    for place in Path("/proc").glob("[0-9]*/stat") if below else [Path(f"/proc/{pid}/stat")]:
        try:
            fields = place.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        number = int(place.parent.name)
        parents[number], used[number] = int(fields[1]), (int(fields[11]) + int(fields[12])) / tick
    if not below:
        return used[pid]

    def is_below(number: int) -> bool:
        while number in parents:
            number = parents[number]
            if number == pid:
                return True
        return False

    return sum(seconds for number, seconds in used.items() if is_below(number))


@contextmanager
def _service(case: PostingCase, database: str, folder: Path) -> Iterator[tuple[int, str]]:
    """A board's service in a process of its own: its number, and where it listens."""
    command = [sys.executable, "-m", "ringforge.cli", "omr", "board", "serve", "--database", database]
    command += ["--set", case.set.name, "--insecure", case.set.insecure or "a measurement"]
    command += ["--listen", "127.0.0.1:0", "--threads", str(case.threads), "--log", str(folder / "log")]
    words = folder / "words"
    with words.open("wb") as errors, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                process.wait(_PATIENCE)
                raise Error(f"the board's service did not start: {words.read_text(errors='replace').strip()[:400]}")
            yield process.pid, json.loads(line)["listening"]
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()


def post(case: PostingCase, seed: int = 1) -> Posted:
    """One round, on a new board.

    Raises:
        Error: the service or PostgreSQL does not start, or not everything was acknowledged.
    """
    s, rng = case.set, np.random.default_rng(seed)
    a, b = (rng.integers(0, s.t, (case.entries, words), dtype=np.uint32) for words in (s.n, s.clues))
    signals = Signals(s, a, b).pack()
    payloads = rng.integers(0, 256, (case.entries, s.payload_bytes), dtype=np.uint8)
    acknowledged: list[int] = []
    troubles: list[Exception] = []

    def one(client: int, address: str) -> None:
        part = slice(client * case.entries // case.clients, (client + 1) * case.entries // case.clients)
        try:
            with RemoteBoard(address, s) as board:
                acknowledged.extend(receipt.count for receipt in board.posting(signals[part], payloads[part]))
        except Exception as e:  # told to who waits for all clients
            troubles.append(e)

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ringforge-posting-")))
        url = str(folder / "board.sqlite")
        if case.database == "postgresql":
            url, _ = stack.enter_context(postgres_server())
        pid, address = stack.enter_context(_service(case, url, folder))

        def used() -> tuple[float, float, float, float]:
            service = _processor(pid)
            return time.perf_counter(), service, time.process_time(), _processor(os.getpid(), below=True) - service

        before = used()
        posters = [threading.Thread(target=one, args=(client, address)) for client in range(case.clients)]
        for poster in posters:
            poster.start()
        for poster in posters:
            poster.join()
        after = used()
    if troubles:
        raise troubles[0]
    if sum(acknowledged) != case.entries:
        raise Error(f"{sum(acknowledged)} of {case.entries} entries were acknowledged: this build is broken")
    return Posted(*(late - early for early, late in zip(before, after, strict=True)))


def compare(case: PostingCase, databases: tuple[str, ...] = DATABASES) -> Iterator[Record]:
    """A record for each database: the median round, seconds for one entry.

    Raises:
        as `PostingCase.check` and `post`.
    """
    case.check()
    for database in databases:
        of = replace(case, database=database)
        of.check()
        runs = sorted((post(of, seed) for seed in range(1, case.rounds + 1)), key=lambda run: run.wall)
        median = runs[len(runs) // 2]
        yield Record(
            system="omr",
            case=f"posting, {database}",
            params=case.set.name,
            algorithm="ringforge",
            threads=case.threads,
            extra={
                "kernels": _native.kernels.active(),
                "entries": case.entries,
                "clients": case.clients,
                "rounds": case.rounds,
                "a_second": case.entries / median.wall,
                "wanted_a_second": WANTED,
                "service_us": 1e6 * median.service / case.entries,
                "clients_us": 1e6 * median.clients / case.entries,
                "database_us": 1e6 * median.database / case.entries,
                "rounds_a_second": [case.entries / run.wall for run in runs],
            },
            # Of one entry; clients wait for acknowledgements, so wall time counts.
            **both_clocks(Timing(median.wall, median.cpu, len(runs)).times(1 / case.entries), clock="wall"),
        )


def verdict(records: list[Record]) -> Table:
    """Entries a second, and where processor time goes."""
    made = Table(title="entries a second; microseconds of processor time for one")
    for column in ("case", "a second", "wanted", "service", "clients", "PostgreSQL", "a second and core", ""):
        made.add_column(column, justify="left" if column in ("case", "") else "right")
    for r in records:
        x = r.extra
        spent = x["service_us"] + x["clients_us"] + x["database_us"]
        made.add_row(
            r.case,
            f"{x['a_second']:,.0f}",
            f"{x['wanted_a_second']:,.0f}",
            *(f"{x[name]:.0f}" for name in ("service_us", "clients_us", "database_us")),
            f"{1e6 / spent:,.0f}" if spent else "-",
            "reached" if x["a_second"] >= x["wanted_a_second"] else "NOT REACHED",
        )
    return made
