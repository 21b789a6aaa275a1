# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Lint of the SystemVerilog sources by Verilator and by slang: whole machines, and every common cell by itself.

Verilator reads them as simulation does; slang, whose elaboration Yosys uses, as synthesis does. Each finds what the
other lets pass: slang that two processes drive a register, Verilator that widths differ.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ringforge.errors import HardwareError
from ringforge.hw.core import build, cells
from ringforge.hw.core.machine import Machine
from ringforge.hw.core.sources import sources

#: All that slang warns of by itself and with -Wextra, but for what parametric sources and state machines do on
#: purpose: casts that change nothing for some parameters, and a default beside all states.
SLANG: Final = ("-Wextra", "-Wno-useless-cast", "-Wno-case-redundant-default", "-D", "SYNTHESIS")


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
    """Lints one subject after the other, by Verilator with -Wall and by slang with `SLANG`.

    Raises:
        HardwareError: Verilator or slang is missing; the message says how to get it.
    """
    tool = build.verilator()
    if importlib.util.find_spec("pyslang") is None:
        raise HardwareError("linting needs slang, which is not installed: pip install pyslang")
    with tempfile.TemporaryDirectory() as folder:
        for subject in subjects:
            done = subprocess.run(
                [str(tool), "--lint-only", "-Wall", "--top-module", subject.top]
                + [f"-G{name}={value}" for name, value in subject.parameters]
                + _files(subject, ["+libext+.sv"]),
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
            )
            yield Finding(subject, (*_messages(done.stdout + done.stderr, done.returncode), *_slang(subject)))


def _files(subject: Subject, suffix: list[str]) -> list[str]:
    """A machine's files; or a cell's, with the folders where those that it instantiates are found by name."""
    if subject.machine is not None:
        return [str(path) for path in subject.machine.files()]
    found = [word for folder in _folders() for word in ("-y", str(folder))] + suffix
    for pattern in ("*_pkg.sv", f"{subject.top}.sv"):
        found += [str(path) for folder in _folders() for path in sorted(folder.glob(pattern))]
    return found


def _slang(subject: Subject) -> list[str]:
    """What slang says of a subject, in its own words."""
    from pyslang import TextDiagnosticClient
    from pyslang.driver import Driver

    words = ["slang", *SLANG, "--top", subject.top, *_files(subject, ["-Y", ".sv"])]
    words += [word for name, value in subject.parameters for word in ("-G", f"{name}={value}")]
    driver, said = Driver(), TextDiagnosticClient()
    driver.addStandardArgs()
    well = driver.parseCommandLine(" ".join(f'"{word}"' for word in words)) and driver.processOptions()
    driver.diagEngine.clearClients()
    driver.diagEngine.addClient(said)
    well = well and driver.parseAllSources()
    if well:
        compilation = driver.createCompilation()
        driver.reportParseDiags()
        driver.reportCompilation(compilation, True)
        driver.runAnalysis(compilation)
    lines = [line.strip() for line in said.getString().splitlines()]
    found = [line for line in lines if re.search(r"(^|: )(warning|error|fatal error): ", line)]
    return [f"slang: {line}" for line in found] or ([] if well else ["slang: the sources cannot be read"])


def _messages(output: str, status: int) -> tuple[str, ...]:
    lines = [line.strip() for line in output.splitlines()]
    found = [line for line in lines if re.match(r"%(Warning|Error)", line) and "Exiting due to" not in line]
    if status and not found:
        found = [line for line in lines if line][-1:] or [f"Verilator ended with {status}"]
    return tuple(found)
