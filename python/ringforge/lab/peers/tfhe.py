# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""tfhe-rs as a peer: a small Rust program, built once for this processor into a cache and run as a child process."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ringforge.lab.peers.child import PeerError, PeerMissingError, ask, cache_folder
from ringforge.security import Instance, estimate

SOURCES = Path(__file__).with_name("tfhe")
OLDEST_RUST = (1, 91)
VERSION = "1.8.2"

#: As the library's own benchmarks are built: its transforms and rotations use what the processor has.
RUSTFLAGS = "-C target-cpu=native"

#: log2 of the library's published bound on the probability that a gate fails, by parameter set. The sets ending in
#: -ks-pbs switch keys before the bootstrap, the others after it.
FAILURE_LOG2 = {
    "default": -64.344,
    "default-ks-pbs": -64.017,
    "2^-165": -165.434,
    "2^-165-ks-pbs": -166.826,
}
#: Published for the library's default set.
PUBLISHED_SECURITY = 132

GATES = ("AND", "OR", "NAND", "NOR", "XOR", "XNOR", "MUX")


@dataclass(frozen=True)
class Request:
    """What to measure: each gate on one thread for `budget_s` seconds, then levels of `batch` NAND gates that are
    independent of each other, for each number of `threads`; a batch of 0 measures none.
    """

    params: str = "default"
    gates: tuple[str, ...] = ("NAND",)
    budget_s: float = 1.0
    batch: int = 0
    threads: tuple[int, ...] = (1,)


@dataclass(frozen=True)
class Gate:
    """Medians of wall and processor seconds of one gate."""

    seconds: float
    cpu_seconds: float
    iterations: int


@dataclass(frozen=True)
class Batch:
    """Wall seconds, and processor seconds of all threads, for one gate of a batch."""

    threads: int
    seconds: float
    cpu_seconds: float
    gates: int


@dataclass(frozen=True)
class Result:
    """Measurements at one parameter set: LWE dimension n, k polynomials of `degree`, binary secrets, modulus 2^32.

    Deviations of the noise are fractions of the modulus. `errors` counts wrong bits.
    """

    peer: str
    peer_version: str
    params: str
    n: int
    k: int
    degree: int
    lwe_deviation: float
    glwe_deviation: float
    keygen_seconds: float
    gates: dict[str, Gate]
    batches: tuple[Batch, ...]
    errors: int
    peak_mib: float

    @property
    def failure_log2(self) -> float:
        """log2 of the published bound on the probability that a gate fails."""
        return FAILURE_LOG2[self.params]

    def security_bits(self) -> float:
        """What our estimator gives for the weaker of the two keys."""
        pairs = ((self.n, self.lwe_deviation), (self.k * self.degree, self.glwe_deviation))
        return min(estimate(Instance(n, 32, deviation * 2.0**32, "binary")).bits for n, deviation in pairs)


def run(request: Request, *, timeout_s: float | None = None) -> Result:
    """Makes keys and measures in a child process, building the program first where needed.

    Raises:
        PeerMissingError: no Rust. PeerError: the program cannot be built, refuses, or computes wrong bits.
    """
    if request.params not in FAILURE_LOG2:
        raise PeerError(f'tfhe-rs has no parameter set "{request.params}" here: take {", ".join(FAILURE_LOG2)}')
    answer = ask([str(program())], dataclasses.asdict(request), timeout_s=timeout_s)
    answer["gates"] = {name: Gate(**gate) for name, gate in answer["gates"].items()}
    answer["batches"] = tuple(Batch(**batch) for batch in answer["batches"])
    result = Result(**answer)
    if result.errors:
        raise PeerError(f"tfhe-rs {result.peer_version} computed {result.errors} wrong bits at {request.params}")
    return result


@dataclass(frozen=True)
class IntegersRequest:
    """Operations on unsigned integers to measure, "add32" for example, at the parameters of blocks of two bits with
    this failure probability: "2^-64" or "2^-128"."""

    integers: str = "2^-64"
    operations: tuple[str, ...] = ("add32",)
    budget_s: float = 1.0


@dataclass(frozen=True)
class IntegersResult:
    """Measurements: LWE dimension n, k polynomials of `degree`, binary secrets, modulus 2^64."""

    peer: str
    peer_version: str
    params: str
    n: int
    k: int
    degree: int
    lwe_deviation: float
    glwe_deviation: float
    failure_log2: float
    keygen_seconds: float
    operations: dict[str, Gate]
    errors: int
    peak_mib: float

    def security_bits(self) -> float:
        """What our estimator gives for the weaker of the two keys."""
        pairs = ((self.n, self.lwe_deviation), (self.k * self.degree, self.glwe_deviation))
        return min(estimate(Instance(n, 64, deviation * 2.0**64, "binary")).bits for n, deviation in pairs)


def run_integers(request: IntegersRequest, threads: int = 1, *, timeout_s: float | None = None) -> IntegersResult:
    """Makes keys and measures operations on integers in a child process, on this many threads.

    Raises:
        PeerMissingError: no Rust. PeerError: the program cannot be built, refuses, or computes wrong numbers.
    """
    environment = dict(os.environ) | {"RAYON_NUM_THREADS": str(threads)}
    answer = ask([str(program())], dataclasses.asdict(request), timeout_s=timeout_s, env=environment)
    answer["operations"] = {name: Gate(**gate) for name, gate in answer["operations"].items()}
    result = IntegersResult(**answer)
    if result.errors:
        raise PeerError(f"tfhe-rs {result.peer_version} computed {result.errors} wrong numbers at {request.integers}")
    return result


def program() -> Path:
    """The built program's path. The cache is keyed by sources and processor, so a change of either builds anew."""
    target = cache_folder() / f"tfhe-{_digest()}" / "ringforge-tfhe"
    if not target.is_file():
        _build(find_cargo(), target)
    return target


def find_cargo() -> Path:
    """The first cargo that is new enough: on PATH, then where rustup puts it.

    Raises:
        PeerMissingError: there is none.
    """
    found = [(path, version) for path in _candidates() if (version := _version(path)) is not None]
    for path, version in found:
        if version >= OLDEST_RUST:
            return path
    old = "".join(f" ({path} is {version[0]}.{version[1]})" for path, version in found)
    wanted = ".".join(map(str, OLDEST_RUST))
    raise PeerMissingError(f"comparing with tfhe-rs needs Rust {wanted} or newer{old}: see https://rustup.rs")


def _candidates() -> Iterator[Path]:
    if on_path := shutil.which("cargo"):
        yield Path(on_path)
    yield Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo") / "bin" / "cargo"


def _version(path: Path) -> tuple[int, int] | None:
    try:
        done = subprocess.run(
            [str(path), "--version"], capture_output=True, text=True, env=_environment(path), timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r"\bcargo (\d+)\.(\d+)", done.stdout)
    return (int(match[1]), int(match[2])) if match else None


def _environment(cargo: Path) -> dict[str, str]:
    """cargo calls rustc by name, so its own folder comes first."""
    search = os.pathsep.join((str(cargo.parent), os.environ.get("PATH", "")))
    return dict(os.environ) | {"RUSTFLAGS": RUSTFLAGS, "PATH": search}


@functools.cache
def _digest() -> str:
    digest = hashlib.sha256(f"{platform.system()} {platform.machine()} {_processor()}".encode())
    for name in ("Cargo.toml", "Cargo.lock", "src/main.rs", "src/integers.rs"):
        digest.update(f"\0{name}\0".encode() + (SOURCES / name).read_bytes())
    return digest.hexdigest()[:16]


def _processor() -> str:
    """What code for this processor may not run on another for."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2] for line in lines if line.startswith("flags")), platform.processor())


def _build(cargo: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        done = subprocess.run(
            [str(cargo), "build", "--release", "--locked", "--quiet", "--target-dir", scratch],
            cwd=SOURCES,
            capture_output=True,
            text=True,
            env=_environment(cargo),
            check=False,
        )
        if done.returncode != 0:
            raise PeerError(f"building the tfhe-rs program failed:\n{done.stderr.strip()}")
        (Path(scratch) / "release" / target.name).replace(target)
