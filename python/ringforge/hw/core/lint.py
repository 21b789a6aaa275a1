# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Verilator's lint of the SystemVerilog sources: whole machines, and every common cell by itself."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ringforge.hw.core import build
from ringforge.hw.core.sources import sources
from ringforge.hw.machines.matvec.config import MatvecConfig


@dataclass(frozen=True)
class Subject:
    """What one lint run looks at: a top module with parameters, and the files it needs."""

    name: str
    top: str
    parameters: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Finding:
    """The outcome of one lint run: its warnings and errors, none when all is well."""

    subject: Subject
    messages: tuple[str, ...]


def machines() -> list[Subject]:
    """Every described machine, with real multipliers and with their twins for simulation."""
    return [
        Subject(f"{name}, {'twin' if twin else 'real'} multipliers", build.TOP, tuple(values.items()))
        for name in MatvecConfig.names()
        for twin in (False, True)
        for values in (MatvecConfig.named(name).parameters(twin=twin),)
    ]


def cells() -> list[Subject]:
    """Every common cell as a top of its own, with its default parameters."""
    return [Subject(p.stem, p.stem) for f in _folders() for p in sorted(f.glob("rf_*.sv")) if p.stem != "rf_pkg"]


def _folders() -> list[Path]:
    return [sources() / name / "rtl" for name in ("common", "shell")]


def lint(subjects: list[Subject]) -> Iterator[Finding]:
    """Lints one subject after the other, with every warning that Verilator has (-Wall).

    Raises:
        HardwareError: there is no Verilator.
    """
    tool = build.verilator()
    with tempfile.TemporaryDirectory() as folder:
        machine = [str(f) for f in build.file_list()]
        cell = [*(a for f in _folders() for a in ("-y", str(f))), "+libext+.sv", str(_folders()[0] / "rf_pkg.sv")]
        for subject in subjects:
            files = (
                machine
                if subject.top == build.TOP
                else [*cell, *(str(p) for f in _folders() for p in f.glob(f"{subject.top}.sv"))]
            )
            sets = [f"-G{name}={value}" for name, value in subject.parameters]
            done = subprocess.run(
                [str(tool), "--lint-only", "-Wall", "--top-module", subject.top, *sets, *files],
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
            )
            yield Finding(subject, _messages(done.stdout + done.stderr, done.returncode))


def _messages(output: str, status: int) -> tuple[str, ...]:
    lines = [line.strip() for line in output.splitlines()]
    found = [line for line in lines if re.match(r"%(Warning|Error)", line) and "Exiting due to" not in line]
    if status and not found:
        found = [line for line in lines if line][-1:] or [f"Verilator ended with {status}"]
    return tuple(found)
