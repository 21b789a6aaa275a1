# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What fuzz targets of the Python readers are, the table of them, and the files they work on."""

from __future__ import annotations

import contextlib
import functools
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mutators

from ringforge.errors import Error

#: Why insecure parameters are used.
REASON = "fuzzing"


@dataclass(frozen=True)
class Target:
    """A fuzz target.

    Attributes:
        reads: the readers it reaches, by their names below `ringforge`.
        seeds: sound inputs to start from.
        run: what is fuzzed.
        mutate: how inputs are changed.
    """

    name: str
    reads: tuple[str, ...]
    seeds: Callable[[], list[bytes]]
    run: Callable[[bytes], None]
    mutate: mutators.Mutator

    def __call__(self, data: bytes) -> None:
        with contextlib.suppress(Error):
            self.run(data)


TARGETS: dict[str, Target] = {}


def target(
    *reads: str, seeds: Callable[[], list[bytes]], mutate: mutators.Mutator = mutators.bare
) -> Callable[[Callable[[bytes], None]], Callable[[bytes], None]]:
    """Makes a function a target, under its name."""

    def register(run: Callable[[bytes], None]) -> Callable[[bytes], None]:
        TARGETS[run.__name__] = Target(run.__name__, reads, seeds, run, mutate)
        return run

    return register


@functools.cache
def room() -> Path:
    """A folder of this process, in memory where there is such a place."""
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="ringforge-fuzz-", dir=memory if memory.is_dir() else None))


def stored(name: str, data: bytes) -> Path:
    """The input as a file."""
    path = room() / name
    path.write_bytes(data)
    return path


def written(name: str, write: Callable[[Path], object]) -> bytes:
    """What `write` puts into a file of this name."""
    path = room() / f"seed-{name}"
    write(path)
    data = path.read_bytes()
    path.unlink()
    return data
