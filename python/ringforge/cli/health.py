# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What `ringforge doctor` looks at. Rooms register the tools that they use: entry points, `ringforge.doctor`."""

from __future__ import annotations

import contextlib
import importlib.metadata
import itertools
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

import ringforge
from ringforge import DISTRIBUTION, _native
from ringforge.cli import self_test
from ringforge.cli.console import size_text
from ringforge.cli.findings import Finding, State, Tool
from ringforge.errors import Error, ParameterError
from ringforge.registered import load, registered

_GROUP = "ringforge.doctor"

#: What each extra of pyproject.toml gives.
EXTRAS = {
    "demo": "what `ringforge demo` needs for all six systems",
    "onnx": "`matvec plan --model model.onnx`, matvec.from_onnx",
    "sklearn": "matvec.from_sklearn and its estimators",
    "parquet": "sets of psi in Parquet files",
    "hw": "simulation, synthesis, timing, proofs of the accelerators, and exploring: `ringforge hw`, `explore`",
    "plots": "figures of papers: `ringforge reproduce matvec --plots`",
    "lab": "`ringforge bench` with its peers, `ringforge reproduce` with figures",
    "ray": "devices of several machines, `--device ray:local`; estimators in programs on Ray",
    "notebooks": "the notebooks of examples/notebooks",
    "docs": "`make docs`, the site of the documentation",
    "test": "`make test`",
    "lint": "`make lint`",
    "bench": "`make bench`: TenSEAL and FLINT, to compare with",
    "proto": "`make proto`",
    "fuzz": "`make fuzz`",
}

#: Processor features of the kernel sets, as the kernel of Linux names them.
_FEATURES = {
    "avx2": ("avx2", "fma"),
    "avx512": ("avx512f", "avx512dq", "avx512vl", "avx512bw", "avx512ifma"),
}

#: Below these, sets of everyday sizes do not fit.
_LEAST_MEMORY, _LEAST_DISK = 2 << 30, 1 << 30

#: No clock that is set shows a time before the release.
_RELEASED = 1_767_225_600


def program(name: str, *others: str) -> str:
    """The place of a program on the path, or "".

    Args:
        name: the program.
        others: names that it may have instead.
    """
    return next((place for word in (name, *others) if (place := shutil.which(word))), "")


def examine() -> Iterator[Finding]:
    """Everything, in the order in which it is printed."""
    yield from _machine()
    yield from _versions()
    yield from _kernels()
    yield from _checks()
    yield from _extras()
    yield from examine_tools()


# ---- the machine --------------------------------------------------------------------------------


def _machine() -> Iterator[Finding]:
    def finding(name: str, state: State, found: str, remedy: str = "") -> Finding:
        return Finding(group="machine", name=name, state=state, found=found, remedy=remedy)

    yield finding("system", State.OK, f"{platform.system()} {platform.release()} on {platform.machine()}")
    yield finding("processor", State.OK, _cpuinfo("model name") or platform.processor() or "unknown")
    usable, limit = len(os.sched_getaffinity(0)), _cpu_limit()
    cores = f"{os.cpu_count()} processors, {usable} for this process"
    yield finding("cores", State.OK, cores + ("" if limit is None else f", limited to the time of {limit:g}"))
    total, left = _memory()
    small = total < _LEAST_MEMORY
    yield finding(
        "memory",
        State.LIMITED if small else State.OK,
        f"{size_text(total)}, {size_text(left)} free",
        "plans for less: `--memory 512MiB` of `matvec plan` and `matmul plan`" if small else "",
    )
    for name, place in (("disk, here", Path.cwd()), ("disk, temporary files", Path(tempfile.gettempdir()))):
        free = shutil.disk_usage(place).free
        full = free < _LEAST_DISK
        remedy = "make room, or name another folder in TMPDIR" if full and "temporary" in name else ""
        state = State.LIMITED if full else State.OK
        yield finding(name, state, f"{place}: {size_text(free)} free", remedy or ("make room" if full else ""))


def _cpuinfo(key: str) -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            label, _, value = line.partition(":")
            if label.strip() == key:
                return value.strip()
    return ""


def _cgroup(name: str) -> str:
    """A file of this process's control group, or of the root as a container sees it."""
    with contextlib.suppress(OSError):
        own = Path("/proc/self/cgroup").read_text().strip().rpartition(":")[2].lstrip("/")
        for folder in (Path("/sys/fs/cgroup") / own, Path("/sys/fs/cgroup")):
            with contextlib.suppress(OSError):
                return (folder / name).read_text().strip()
    return ""


def _cpu_limit() -> float | None:
    quota, _, period = _cgroup("cpu.max").partition(" ")
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() else None


def _memory() -> tuple[int, int]:
    """Bytes in all and free, as the machine and the control group limit them."""
    values = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            label, _, rest = line.partition(":")
            values[label] = int(rest.split()[0]) << 10
    total, left = values.get("MemTotal", 0), values.get("MemAvailable", 0)
    limit, used = _cgroup("memory.max"), _cgroup("memory.current")
    if limit.isdigit() and used.isdigit() and int(limit) < total:
        return int(limit), min(left, int(limit) - int(used))
    return total, left


# ---- versions -----------------------------------------------------------------------------------


def _requirements() -> list[Requirement]:
    """What the installed package asks for; nothing where it is a source tree on the path."""
    try:
        lines = importlib.metadata.distribution(DISTRIBUTION).requires or []
    except importlib.metadata.PackageNotFoundError:
        return []
    found = []
    for line in lines:
        with contextlib.suppress(InvalidRequirement):
            found.append(Requirement(line))
    return found


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _lacking(requirements: Iterable[Requirement]) -> tuple[list[str], list[str]]:
    """Packages that are there, with their versions, and what others lack."""
    there, lacking = [], []
    for r in requirements:
        version = _version(r.name)
        if version is None:
            lacking.append(f"{r.name} is not installed")
        elif not r.specifier.contains(version, prereleases=True):
            lacking.append(f"{r.name} {version} is not {r.specifier}")
        else:
            there.append(f"{r.name} {version}")
    return there, lacking


def pip_install(what: str) -> str:
    """The command by which this Python gets a package."""
    return f"{shlex.quote(sys.executable)} -m pip install {shlex.quote(what)}"


def _versions() -> Iterator[Finding]:
    def finding(name: str, found: str, state: State = State.OK, remedy: str = "") -> Finding:
        return Finding(group="versions", name=name, state=state, found=found, remedy=remedy)

    kind = ""
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        text = importlib.metadata.distribution(DISTRIBUTION).read_text("WHEEL") or ""
        kind = ", ".join(re.findall(r"^Tag: (.*)$", text, re.MULTILINE))
    yield finding("ringforge", f"{ringforge.__version__} {kind}".strip())
    yield finding("Python", f"{platform.python_version()} at {sys.executable}")
    yield finding("C library", " ".join(platform.libc_ver()).strip() or "unknown")
    always = [r for r in _requirements() if r.marker is None or r.marker.evaluate({"extra": ""})]
    there, lacking = _lacking(always)
    if lacking:
        yield finding("packages", "; ".join(lacking), State.BROKEN, pip_install(DISTRIBUTION))
    elif there:
        yield finding("packages", ", ".join(there))


# ---- kernels ------------------------------------------------------------------------------------


def _kernels() -> Iterator[Finding]:
    def finding(name: str, state: State, found: str, remedy: str = "") -> Finding:
        return Finding(group="kernels", name=name, state=state, found=found, remedy=remedy)

    runs = list(_native.kernels.available())
    try:
        active = _native.kernels.active()
    except ParameterError as e:
        yield finding("in use", State.BROKEN, str(e), "unset RINGFORGE_KERNELS")
        active = ""
    digests: dict[str, dict[str, str]] = {}
    flags = set(_cpuinfo("flags").split())
    for name in ("ref", *_FEATURES):
        lacks = [f for f in _FEATURES.get(name, ()) if f not in flags]
        if name not in runs:
            why = f"the processor lacks {', '.join(lacks)}" if lacks else "the processor has it, the system hides it"
            yield finding(name, State.MISSING, why)
            continue
        role = "in use" if name == active else "can be used"
        try:
            digests[name] = self_test.with_kernels(name)
            self_test.compare(name, digests[name], digests.get("ref", {}))
        except Error as e:
            remedy = f"choose another set: RINGFORGE_KERNELS={runs[0] if name != runs[0] else runs[-1]}; and report it"
            yield finding(name, State.BROKEN, f"{role}; the self-test failed: {e}", remedy)
            continue
        yield finding(name, State.OK, f"{role}; encrypts, computes and decrypts as ref does")
    if active and runs and active != runs[-1]:
        yield finding(
            "in use",
            State.LIMITED,
            f"{active}, as RINGFORGE_KERNELS says; {runs[-1]} is faster",
            "unset RINGFORGE_KERNELS",
        )


# ---- checks -------------------------------------------------------------------------------------


def _random_source() -> str:
    """What the system's random source says of itself.

    Raises:
        Error: it does not answer, repeats itself, or is far from even.
    """
    try:
        drawn = [os.getrandom(8192, os.GRND_NONBLOCK) for _ in range(8)]
    except BlockingIOError:
        raise Error("it has not gathered enough yet: wait after the machine's start") from None
    except OSError as e:
        raise Error(f"getrandom fails: {e.strerror}") from None
    bits = np.unpackbits(np.frombuffer(b"".join(drawn), np.uint8))
    # Six standard deviations: 2e-9 of good sources fail.
    away = abs(int(bits.sum()) - bits.size / 2) / (bits.size**0.5 / 2)
    if len(set(drawn)) != len(drawn) or away > 6:
        raise Error("its bytes repeat or are not even")
    return "answers, does not repeat, is even"


def _native_randomness() -> str:
    """Whether keys and ciphertexts are drawn anew, in a child after a fork too.

    Raises:
        Error: two are equal.
    """
    params = _native.fhew.parameters("gates-degraded", "the check of random numbers of ringforge doctor")
    bit = np.zeros(1, np.uint8)
    secret = _native.fhew.SecretKey(params)
    made = [secret.encrypt(bit).tobytes() for _ in range(4)]
    if len(set(made)) != len(made) or _native.fhew.SecretKey(params).key_id == secret.key_id:
        raise Error("two encryptions or two keys are the same")
    return "keys and encryptions differ each time"


def _clock() -> str:
    """What clocks say.

    Raises:
        Error: the clock runs backwards, or shows a time before this release.
    """
    info = time.get_clock_info("monotonic")
    readings = [time.monotonic_ns() for _ in range(1000)]
    if any(b < a for a, b in itertools.pairwise(readings)) or not info.monotonic:
        raise Error("the monotonic clock runs backwards: deadlines and quotas would be wrong")
    if time.time() < _RELEASED:
        raise Error("the date is before this release: certificates and quotas would be judged wrongly")
    return f"{info.implementation}, resolution {info.resolution * 1e9:.0f} ns"


_CHECKS: tuple[tuple[str, Callable[[], str], str], ...] = (
    ("random source", _random_source, "update the system's kernel, or give the virtual machine a random device"),
    ("random numbers", _native_randomness, "install the package anew, and report it"),
    ("clock", _clock, "set the date (timedatectl set-ntp true)"),
)


def _checks() -> Iterator[Finding]:
    for name, check, remedy in _CHECKS:
        try:
            yield Finding(group="checks", name=name, state=State.OK, found=check())
        except Error as e:
            yield Finding(group="checks", name=name, state=State.BROKEN, found=str(e), remedy=remedy)


# ---- extras and tools ---------------------------------------------------------------------------


def _extras() -> Iterator[Finding]:
    requirements = _requirements()
    names = importlib.metadata.metadata(DISTRIBUTION).get_all("Provides-Extra", []) if requirements else []
    for name in names:
        _, lacking = _lacking(_asked(requirements, name))
        yield Finding(
            group="extras",
            name=name,
            state=State.MISSING if lacking else State.OK,
            found="; ".join(lacking),
            gives=EXTRAS.get(name, ""),
            remedy=pip_install(f"{DISTRIBUTION}[{name}]") if lacking else "",
        )


def _asked(requirements: Sequence[Requirement], extra: str) -> list[Requirement]:
    """Packages that an extra asks for beside what is always needed, those of extras that it names included.

    Args:
        requirements: the package's. Of several in one line, those that this Python takes count.
        extra: its name.
    """
    found: list[Requirement] = []
    seen, waiting = {extra}, [extra]
    while waiting:
        name = waiting.pop()
        for r in requirements:
            if r.marker is None or not r.marker.evaluate({"extra": name}) or r.marker.evaluate({"extra": ""}):
                continue
            if canonicalize_name(r.name) != canonicalize_name(DISTRIBUTION):
                found.append(r)
            else:
                waiting += sorted(r.extras - seen)
                seen |= r.extras
    return list(dict.fromkeys(found))


def own_tools() -> Iterator[Tool]:
    """Tools that no single room uses."""
    yield Tool("C++ compiler", _told("g++", "c++"), "simulation of the accelerators; building from source", "g++")
    yield Tool("Clang", _told("clang++"), "`make fuzz`", "clang")
    yield Tool("make", program("make"), "building from source; simulation of the accelerators", "make")
    chromium = program("chromium", "chromium-browser", "google-chrome")
    yield Tool("Chromium", chromium, "tests of pages, pictures of them", "chromium")
    yield Tool("Graphviz", program("dot"), "drawings of graphs: call graphs of the C++ reference", "graphviz")
    yield Tool("Valgrind", program("valgrind"), "the proof that secrets steer no branch (`make test`)", "valgrind")
    yield Tool("Doxygen", program("doxygen"), "the C++ reference of `make docs`", "doxygen")


def _told(*names: str) -> str:
    """The first line of what a program says of its version, or "" where there is none."""
    place = program(*names)
    if not place:
        return ""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run([place, "--version"], capture_output=True, text=True, timeout=10, check=False)
        return (done.stdout.splitlines() or [place])[0]
    return place


def _system_install(package: str) -> str:
    """The command that installs a package of the system, named as Debian names it."""
    root = "" if os.geteuid() == 0 else "sudo "
    if program("apt-get"):
        return f"{root}apt-get install {package}"
    return f"install {package} (so Debian calls it) with this system's packages"


def examine_tools() -> Iterator[Finding]:
    """Tools of others, our own first, then those that rooms register."""
    tools = list(own_tools())
    for entry in registered(_GROUP).values():
        try:
            tools += load(entry)()
        except Error as e:
            yield Finding(group="tools", name=entry.name, state=State.MISSING, found=str(e))
    for tool in tools:
        install = pip_install(tool.package) if tool.pip else _system_install(tool.package)
        yield Finding(
            group="tools",
            name=tool.name,
            state=State.OK if tool.found else State.MISSING,
            found=tool.found,
            gives=tool.gives,
            remedy="" if tool.found else install,
        )
