# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The table of docs/operators.md: what one request costs a service, from the newest runs in bench/results.

    python tools/capacity.py            prints the table
    python tools/capacity.py --write    puts it into docs/operators.md

Processor time is of the service's process, so it does not depend on what else the machine did; an hour of one core
divided by it is the number of requests that the core can serve.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/operators.md"
BEGIN, END = "<!-- capacity: python tools/capacity.py --write -->", "<!-- capacity ends -->"


@dataclass(frozen=True)
class Run:
    """A record of a benchmark."""

    record: dict[str, Any]
    machine: str
    date: str

    @property
    def extra(self) -> dict[str, Any]:
        """What is the benchmark's own."""
        found: dict[str, Any] = self.record["extra"]
        return found

    @property
    def where(self) -> str:
        """Machine and date, for a row."""
        return f"{self.machine}, {self.date}"


def runs(name: str) -> list[Run]:
    """The records of the newest file NAME-DATE.jsonl."""
    paths = (ROOT / "bench/results").glob(f"{name}-*.jsonl")
    path = max(p for p in paths if re.fullmatch(rf"{re.escape(name)}-\d{{4}}-\d\d-\d\d", p.stem))
    about = json.loads(path.with_suffix(".environment.json").read_text())
    machine = f"{about['cpu'].replace('(R)', '')} with {about['kernels']}"
    return [Run(json.loads(line), machine, about["date"][:10]) for line in path.read_text().splitlines()]


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} µs" if seconds < 1e-3 else f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.0f} s"


def _rate(seconds: float) -> str:
    return f"{float(f'{3600 / seconds:.2g}'):,.0f}"


def _size(count: float) -> str:
    return f"{count / 2**20:.1f} MiB" if count >= 1e5 else f"{count / 2**10:.1f} KiB"


def _row(what: str, seconds: float, memory: str, sent: str, received: str, run: Run) -> str:
    return f"| {what} | {_time(seconds)} | {_rate(seconds)} | {memory} | {sent} | {received} | {run.where} |"


def rows() -> Iterator[str]:
    """The table's lines."""
    yield "| a request | processor time | an hour on one core | memory | a client sends | and gets | measured on |"
    yield "|---|---:|---:|---:|---:|---:|---|"
    for name, what in (
        ("psi-poly-20-12", "psi: 4,096 elements looked up among 2^20"),
        ("psi-poly-20-12-labels-16", "the same, with labels of 16 bytes"),
    ):
        run = next(r for r in runs(name) if r.record["case"].startswith("poly"))
        x = run.extra
        seconds = run.record["seconds"] + x["open_session_seconds"] + x["prf_answer_seconds"]
        keys = x["key_bytes"] + x["request_bytes"] + x["prf_bytes"] / 2
        table = f"{run.record['peak_mib']:,.0f} MiB of table"
        yield _row(what, seconds, table, _size(keys), _size(x["reply_bytes"] + x["prf_bytes"] / 2), run)
    for run in runs("omr-posting-ringforge"):
        kind = run.record["case"].partition(", ")[2]
        seconds = (run.extra["service_us"] + run.extra["database_us"]) * 1e-6
        kind = {"sqlite": "SQLite", "postgresql": "PostgreSQL, its server included"}[kind]
        yield _row(f"board: one entry posted, {kind}", seconds, "", "", "", run)
    run = next(r for r in runs("omr-stages-ringforge") if r.record["case"] == "detect: all")
    memory = f"{run.record['peak_mib']:,.0f} MiB"
    digest = _size(run.extra["digest_bytes"])
    yield _row("detector: one bulletin for one receiver", run.record["cpu_seconds"], memory, "", digest, run)
    run = next(r for r in runs("aes-run-bgv-aes") if r.record["case"] == "run")
    seconds, memory = run.record["cpu_seconds"], f"{run.record['peak_mib']:,.0f} MiB"
    keys = _size(run.extra["key_bytes"] + run.extra["round_key_bytes"])
    yield _row("aes: up to 2,048 blocks", seconds, memory, f"{keys}, once", "", run)


def written(page: str) -> str:
    """The page with the table as it is now.

    Raises:
        ValueError: it has no place for it.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the page has no lines {BEGIN} and {END}")
    table = "\n".join(rows())
    return f"{before}{begin}\n\n{table}\n\n{end}{after}"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put it into docs/operators.md")
    if parser.parse_args().write:
        PAGE.write_text(written(PAGE.read_text()))
    else:
        print("\n".join(rows()))


if __name__ == "__main__":
    main()
