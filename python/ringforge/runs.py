# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Records of runs that were measured: one JSON object a line, with the environment they were made in beside them."""

import dataclasses
import datetime
import json
import os
import platform
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from rich.table import Table

from ringforge.files import writing

_RATIOS = ("ratio", "ratio_with_encoding")

Clock: TypeAlias = Literal["processor", "wall"]
"""A clock that times are taken by: processor time is that of all threads and child processes together."""

_TIMED: Final = ("clock", "wall_seconds", "cpu_seconds", "peer_wall_seconds", "peer_cpu_seconds", "machine")

_RESULTS = Path("bench", "results")


def saved_results(folder: Path | None = None) -> Path:
    """Where saved results are looked for: the folder given, `bench/results` here, or that of the source tree this
    package is run from; the first that is there, else the one here.
    """
    if folder is not None:
        return folder
    here = Path.cwd() / _RESULTS
    tree = Path(__file__).resolve().parents[2] / _RESULTS
    return here if here.is_dir() or not tree.is_dir() else tree


@dataclass(frozen=True)
class Record:
    """One measurement of one system, next to the same work done by a peer where there is one.

    `seconds`, `encode_seconds` and `peer_seconds` are by `clock`; the other clock of both sides stands beside. Cycles
    of a simulation have no clock, and in files of older versions it is not stated.

    Attributes:
        machine: processor, cores, date, and the load of the machine before and after; None where nothing was timed.

    Raises:
        ValueError: `seconds` or `peer_seconds` are not those of the clock.
    """

    system: str
    case: str
    params: str
    algorithm: str
    seconds: float
    level: int | None = None
    device: str = "cpu"
    threads: int = 1
    encode_seconds: float | None = None
    peer: str | None = None
    peer_version: str | None = None
    peer_seconds: float | None = None
    max_rel_error: float | None = None
    peak_mib: float | None = None
    cycles: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    clock: Clock | None = None
    wall_seconds: float | None = None
    cpu_seconds: float | None = None
    peer_wall_seconds: float | None = None
    peer_cpu_seconds: float | None = None
    machine: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.clock is None:
            return
        both = (
            (self.cpu_seconds, self.peer_cpu_seconds)
            if self.clock == "processor"
            else (self.wall_seconds, self.peer_wall_seconds)
        )
        if (self.seconds, self.peer_seconds) != both:
            raise ValueError(f"{self.case}: seconds of both sides are not those of the {self.clock} clock: {both}")

    @property
    def ratio(self) -> float | None:
        """How many times longer the peer takes."""
        return None if self.peer_seconds is None or not self.seconds else self.peer_seconds / self.seconds

    @property
    def ratio_with_encoding(self) -> float | None:
        """The same with the time of encoding counted on this side."""
        if self.peer_seconds is None or self.encode_seconds is None:
            return None
        total = self.seconds + self.encode_seconds
        return self.peer_seconds / total if total else None

    def to_json(self) -> str:
        """One line with every key, ratios included; what is unknown is null. Clocks are left out if there is none."""
        values = {item.name: getattr(self, item.name) for item in dataclasses.fields(self)}
        extra = values.pop("extra")
        if self.clock is None:
            values = {name: value for name, value in values.items() if name not in _TIMED}
        ratios = {name: getattr(self, name) for name in _RATIOS}
        return json.dumps(values | ratios | {"extra": dict(extra)}, allow_nan=False)

    @classmethod
    def from_json(cls, line: str) -> "Record":
        """Reads a line back; the ratios are computed anew."""
        values = json.loads(line)
        for name in _RATIOS:
            values.pop(name, None)
        return cls(**values)


def table(records: Iterable[Record], title: str | None = None) -> Table:
    """The records as a table for the terminal, without columns that no record has anything for.

    Where a record states its clock, both clocks of both sides are shown, and the ratio names the one it is of.
    """
    rows = list(records)
    made = Table(title=title)
    texts: dict[str, Callable[[Record], str]] = {
        "system": lambda r: r.system,
        "case": lambda r: r.case,
        "params": lambda r: r.params,
        "algorithm": lambda r: r.algorithm,
        "level": lambda r: _text(r.level, "d"),
        "device": lambda r: r.device,
        "threads": lambda r: str(r.threads),
        "peer": lambda r: " ".join(part for part in (r.peer, r.peer_version) if part) or "-",
    }
    if any(r.clock for r in rows):
        times: dict[str, Callable[[Record], str]] = {
            "wall": lambda r: duration(r.wall_seconds),
            "processor": lambda r: duration(r.cpu_seconds),
            "encoding": lambda r: duration(r.encode_seconds),
            "peer wall": lambda r: duration(r.peer_wall_seconds),
            "peer processor": lambda r: duration(r.peer_cpu_seconds),
            "ratio of": lambda r: "-" if r.ratio is None or r.clock is None else r.clock,
        }
    else:
        times = {
            "time": lambda r: duration(r.seconds),
            "encoding": lambda r: duration(r.encode_seconds),
            "peer time": lambda r: duration(r.peer_seconds),
        }
    numbers: dict[str, Callable[[Record], str]] = times | {
        "ratio": lambda r: _text(r.ratio, ".2f"),
        "with encoding": lambda r: _text(r.ratio_with_encoding, ".2f"),
        "error": lambda r: _text(r.max_rel_error, ".1e"),
        "MiB": lambda r: _text(r.peak_mib, ".0f"),
        "cycles": lambda r: _text(r.cycles, "d"),
    }
    always = {"wall", "processor"}
    cells = {name: [text(r) for r in rows] for name, text in (texts | numbers).items()}
    shown = [name for name, column in cells.items() if name in always or set(column) - {"-"}]
    for name in shown:
        made.add_column(name, justify="right" if name in numbers else "left")
    for i in range(len(rows)):
        made.add_row(*(cells[name][i] for name in shown))
    return made


def duration(seconds: float | None) -> str:
    """Seconds with a unit that suits them."""
    if seconds is None:
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}" if seconds < 1000 else f"{seconds:.0f} s"
    return f"{seconds * 1e9:.3g} ns"


def _text(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def environment(
    *, kernels: str | None = None, compiler_flags: str | None = None, repository: Path | None = None
) -> dict[str, Any]:
    """What the numbers depend on besides the code: machine, build and time."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "usable_cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "kernels": kernels,
        "compiler_flags": compiler_flags,
        "commit": _commit(repository or Path.cwd()),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "platform": platform.platform(),
    }


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _commit(folder: Path) -> str | None:
    """The checked-out commit, marked where tracked files differ from it; None outside a repository."""
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def save(records: Sequence[Record], directory: Path, name: str, env: Mapping[str, Any] | None = None) -> Path:
    """Write NAME.jsonl and, where given, NAME.environment.json; returns the path of the first.

    Names say what was measured and on which day: records of the same are replaced.
    """
    directory.mkdir(parents=True, exist_ok=True)
    target = directory / f"{name}.jsonl"
    _write(target, "".join(record.to_json() + "\n" for record in records))
    if env is not None:
        _write(directory / f"{name}.environment.json", json.dumps(dict(env), indent=2) + "\n")
    return target


def load(path: Path) -> list[Record]:
    """Reads a saved file."""
    return [Record.from_json(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _write(target: Path, text: str) -> None:
    with writing(target, replace=True) as f:
        f.write(text.encode())
