# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Runs the fuzz targets of the Python readers, each in turn under Atheris, and prints a summary.

    python python/fuzz/run.py SECONDS [TARGET...]      default: all of targets.py

Fails when a target found something. Corpora grow in cpp/fuzz/corpus/python; findings go to build/fuzz/findings, logs
and the summary to build/fuzz.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import resource
import subprocess
import sys
import types
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CORPUS = ROOT / "cpp" / "fuzz" / "corpus" / "python"
BUILD = ROOT / "build" / "fuzz"

#: What one input may take: address space, resident memory (MiB), seconds.
ADDRESS_SPACE, RESIDENT, SLOWEST = 16 << 30, 2048, 25


def one(name: str, arguments: list[str]) -> None:
    """Fuzzes one target in this process, which libFuzzer ends."""
    import random

    import atheris
    import targets

    for function in _functions():
        with contextlib.suppress(TypeError, ValueError):
            atheris.instrument_func(function)
    chosen = targets.TARGETS[name]
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))

    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        return chosen.mutate(data, random.Random(seed), lambda d: atheris.Mutate(d, max(len(d), max_size)))[:max_size]

    atheris.Setup([name, *arguments], chosen, custom_mutator=mutate)
    atheris.Fuzz()


def _functions() -> set[types.FunctionType]:
    """All functions of the library that are loaded, for the fuzzer to see which lines run."""
    found: set[types.FunctionType] = set()
    waiting = [vars(m) for n, m in sys.modules.items() if n.startswith("ringforge")]
    seen = set()
    while waiting:
        for value in list(waiting.pop().values()):
            value = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
            if not str(getattr(value, "__module__", "")).startswith("ringforge") or id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, types.FunctionType):
                found.add(value)
            elif isinstance(value, type):
                waiting.append(vars(value))
    return found


def fuzz(name: str, seconds: int) -> str:
    """Runs one target in a process of its own; returns its line of the summary."""
    corpus, findings, log = CORPUS / name, BUILD / "findings", BUILD / f"python-{name}.log"
    for folder in (corpus, findings):
        folder.mkdir(parents=True, exist_ok=True)
    words = [
        f"-max_total_time={seconds}",
        f"-rss_limit_mb={RESIDENT}",
        f"-timeout={SLOWEST}",
        f"-max_len={1 << 16}",
        f"-artifact_prefix={findings}/python-{name}-",
        "-print_final_stats=1",
    ]
    with log.open("wb") as out:
        command = [sys.executable, __file__, "--one", name, *words, str(corpus)]
        code = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False).returncode
    text = log.read_text(errors="replace")

    def last(pattern: str) -> str:
        found = re.findall(pattern, text)
        return found[-1] if found else "?"

    stats = [last(rf"stat::{s}: *(\d+)") for s in ("number_of_executed_units", "average_exec_per_sec")]
    shown = [*stats, last(r"cov: (\d+)"), last(r"ft: (\d+)"), last(r"stat::peak_rss_mb: *(\d+)")]
    result = "clean" if code == 0 else f"FOUND: see {log.relative_to(ROOT)}"
    return f"{name:20} {shown[0]:>10} {shown[1]:>8} {shown[2]:>10} {shown[3]:>10} {shown[4]:>9}  {result}"


def write_seeds(names: list[str]) -> None:
    """Puts the seeds where the corpora are; a process of its own, so that nothing of it stays."""
    import targets

    for name in names:
        folder = CORPUS / name
        folder.mkdir(parents=True, exist_ok=True)
        for seed in targets.TARGETS[name].seeds():
            (folder / hashlib.sha1(seed).hexdigest()).write_bytes(seed)


def main(words: list[str]) -> int:
    """Entry point."""
    if words[:1] == ["--one"]:
        one(words[1], words[2:])
        return 0
    if words[:1] == ["--seeds"]:
        write_seeds(words[1:])
        return 0
    if not words or not words[0].isdigit():
        print(__doc__, file=sys.stderr)
        return 2
    import targets

    names = words[1:] or list(targets.TARGETS)
    if unknown := set(names) - targets.TARGETS.keys():
        print(f"no target {', '.join(sorted(unknown))}; there are {', '.join(targets.TARGETS)}", file=sys.stderr)
        return 2
    subprocess.run([sys.executable, __file__, "--seeds", *names], check=True)
    commit = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    with contextlib.suppress(OSError):
        described = subprocess.run(commit, capture_output=True, text=True, check=False).stdout.strip()
    lines = [
        f"Fuzzing of the readers in Python: {words[0]} s for each target, one process at a time",
        f"date {datetime.now(UTC).date()}, Python {sys.version.split()[0]}, Atheris, commit {described or 'unknown'}",
        f"{'target':20} {'inputs':>10} {'per s':>8} {'coverage':>10} {'features':>10} {'peak MB':>9}  result",
    ]
    BUILD.mkdir(parents=True, exist_ok=True)
    for name in names:
        lines.append(fuzz(name, int(words[0])))
        print(lines[-1], flush=True)
    (BUILD / "summary-python.txt").write_text("\n".join(lines) + "\n")
    return any("FOUND" in line for line in lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
