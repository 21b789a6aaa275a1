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

from ringforge.hw.core import build, cells
from ringforge.hw.core.machine import Machine
from ringforge.hw.core.sources import sources


@dataclass(frozen=True)
class Subject:
    """What one lint run looks at: a top module with parameters, of a machine, or a cell by itself."""

    name: str
    top: str
    parameters: tuple[tuple[str, int], ...] = ()
    machine: Machine | None = None


@dataclass(frozen=True)
class Finding:
    """The outcome of one lint run: its warnings and errors, none when all is well."""

    subject: Subject
    messages: tuple[str, ...]


def configurations(machine: Machine) -> list[Subject]:
    """A machine in every described configuration, with real multipliers and with their twins for simulation.

    A configuration without multipliers, whose parameters are the same for both, comes once.
    """
    found: list[Subject] = []
    for name in machine.config.names():
        config = machine.config.named(name)
        real, twin = (tuple(config.parameters(twin=kind).items()) for kind in (False, True))
        if real == twin:
            found.append(Subject(name, machine.top, real, machine))
        else:
            found.append(Subject(f"{name}, real multipliers", machine.top, real, machine))
            found.append(Subject(f"{name}, twin multipliers", machine.top, twin, machine))
    return found


def common() -> list[Subject]:
    """Every common cell as a top of its own, with its default parameters."""
    return [Subject(name, name) for name in cells.modules()]


def _folders() -> list[Path]:
    return [sources() / name / "rtl" for name in cells.LIBRARIES]


def lint(subjects: list[Subject]) -> Iterator[Finding]:
    """Lints one subject after the other, with every warning that Verilator has (-Wall).

    Raises:
        HardwareError: there is no Verilator.
    """
    tool = build.verilator()
    with tempfile.TemporaryDirectory() as folder:
        cell = [*(a for f in _folders() for a in ("-y", str(f))), "+libext+.sv"]
        cell += [str(p) for f in _folders() for p in sorted(f.glob("*_pkg.sv"))]
        for subject in subjects:
            if subject.machine is not None:
                files = [str(f) for f in subject.machine.files()]
            else:
                files = [*cell, *(str(p) for f in _folders() for p in f.glob(f"{subject.top}.sv"))]
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
