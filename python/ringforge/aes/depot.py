# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a server of AES keeps on its disk. Everything is whole or not there; nothing of it is a secret of a client but
the keys for tags of streams, which client and server share.

    CLIENT/sets/SET.json          names, digests and sizes of a set's files: evaluation keys, or round keys
    CLIENT/sets/SET/              those of them that have come
    CLIENT/jobs/JOB.json          a request and how it stands, and JOB.input, what it is done on
    CLIENT/work/JOB/              checkpoints (`runner`)
    CLIENT/results/JOB.aes        the result
    CLIENT/counters.sqlite        counters of streams (`ledger`)
    incoming/                     what is on its way; emptied at the start

SET.json has the time of the set's last use. CLIENT is a keyed hash of the client's token.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Container
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ringforge.aes.wire import BLOCKS, NAME_BYTES, STREAM
from ringforge.errors import FormatError, MissingKeyError, ParameterError
from ringforge.files import keep
from ringforge.serving import depot, jobs
from ringforge.serving.clock import Clock
from ringforge.serving.depot import MAX_JSON, dumped, write


@dataclass(frozen=True)
class Part:
    """A file of a set: its name, SHA-256 in hexadecimal, and bytes."""

    name: str
    sha256: str
    bytes: int


@dataclass(frozen=True)
class FileSet:
    """Files that belong together.

    Attributes:
        kind: of `wire`. parts: its files.
    """

    kind: str
    parts: tuple[Part, ...]

    @cached_property
    def name(self) -> str:
        """32 hexadecimal digits; equal sets have the same."""
        return hashlib.sha256(dumped(asdict(self))).hexdigest()[: 2 * NAME_BYTES]

    @property
    def bytes(self) -> int:
        return sum(p.bytes for p in self.parts)


@dataclass(frozen=True)
class Request:
    """What a client asks for.

    Attributes:
        evaluation, round_keys: names of sets. kind: blocks or a stream. compute: what to compute afterwards.
        sha256, bytes: of what it is done on.

    Raises:
        ParameterError: no such kind.
    """

    evaluation: str
    round_keys: str
    kind: str
    compute: str
    sha256: str
    bytes: int

    def __post_init__(self) -> None:
        if self.kind not in (BLOCKS, STREAM):
            raise ParameterError(f'a job is done on {BLOCKS} or a {STREAM}, not on "{self.kind[:32]}"')

    @cached_property
    def name(self) -> str:
        """32 hexadecimal digits; equal requests have the same."""
        return hashlib.sha256(dumped(asdict(self))).hexdigest()[: 2 * NAME_BYTES]


@dataclass(frozen=True)
class Job(jobs.Job):
    """A request, and how it stands. `request`: what is asked for. `blocks`: how many it is about."""

    request: Request
    blocks: int = 0

    @property
    def name(self) -> str:
        return self.request.name


class Depot(depot.Depot[Job]):
    """The server's directory. One process at a time has it.

    Args:
        path: made if there is none. clock: for tests.

    Raises:
        Error: another process has it. OSError: it cannot be written.
    """

    def __init__(self, path: str | Path, clock: Clock | None = None) -> None:
        super().__init__(path, "server of AES", clock)
        for found in self.path.glob("*/jobs/*.input"):  # of a process that was killed before it had taken the request
            if not found.with_suffix(".json").exists():
                found.unlink(missing_ok=True)

    def read_job(self, client: str, values: dict[str, Any]) -> Job:
        return Job(client, Request(**values.pop("request")), **values)

    # ---- sets of files ----

    def announce(self, client: str, wanted: FileSet) -> None:
        """Writes down what files a set has."""
        folder = self._of(client, "sets")
        (folder / wanted.name).mkdir(mode=0o700, exist_ok=True)
        write(folder / f"{wanted.name}.json", dumped({**asdict(wanted), "since": self.clock()}))
        self.touch(folder / f"{wanted.name}.json")

    def sets(self, client: str) -> dict[str, FileSet]:
        """The client's sets by name, complete or not."""
        found = {}
        for path in sorted((self.path / client / "sets").glob("*.json")):
            values = json.loads(path.read_bytes()[:MAX_JSON])
            found[path.stem] = FileSet(values["kind"], tuple(Part(**p) for p in values["parts"]))
        return found

    def missing(self, client: str, wanted: FileSet) -> list[str]:
        """Names of the set's files that have not come yet."""
        folder = self.path / client / "sets" / wanted.name
        return [p.name for p in wanted.parts if not (folder / p.name).exists()]

    def set_named(self, client: str, name: str) -> FileSet:
        """A client's set.

        Raises:
            MissingKeyError: it has no such set here.
        """
        found = self.sets(client).get(name)
        if found is None:
            raise MissingKeyError(
                f"this server holds no set {name[:16]} of this client: it was not used for as long as the server keeps "
                "keys, was dropped, or was never sent; send it again, as `ringforge aes submit` does"
            )
        return found

    def complete(self, client: str, name: str, kind: str) -> Path:
        """The folder of a complete set of this kind.

        Raises:
            MissingKeyError: there is none, or files are missing. ParameterError: it is of another kind.
        """
        found = self.set_named(client, name)
        if found.kind != kind:
            raise ParameterError(f"set {name[:16]} is of {found.kind}, where one of {kind} is needed")
        missing = self.missing(client, found)
        if missing:
            raise MissingKeyError(f"{len(missing)} files of set {name[:16]} have not come yet: send them")
        return self.path / client / "sets" / name

    def keep_file(self, client: str, name: str, part: str, path: Path) -> None:
        """Takes a file of `arriving` as one of a set."""
        keep(path, self.path / client / "sets" / name / part)
        self.used(client, name)

    def drop(self, client: str, key: str) -> None:
        for job in self.jobs(client):
            if key in self.keys_of(job):
                self.forget(job)
        (self.path / client / "sets" / f"{key}.json").unlink(missing_ok=True)
        shutil.rmtree(self.path / client / "sets" / key, ignore_errors=True)

    def key_files(self, client: str) -> dict[str, Path]:
        return {p.stem: p for p in sorted((self.path / client / "sets").glob("*.json"))}

    def keys_of(self, job: Job) -> tuple[str, ...]:
        return job.request.evaluation, job.request.round_keys

    # ---- jobs ----

    def ledger(self, client: str) -> Path:
        """The client's ledger of counters."""
        return self._of(client, "jobs").parent / "counters.sqlite"

    def keep_input(self, client: str, name: str, path: Path) -> None:
        """Takes a file of `arriving` as what a job is done on."""
        keep(path, self.input(client, name))

    def input(self, client: str, name: str) -> Path:
        """What a job is done on."""
        return self._of(client, "jobs") / f"{name}.input"

    def work(self, job: Job) -> Path:
        """Where its checkpoints are."""
        return self._of(job.client, "work") / job.name

    def result(self, job: Job) -> Path:
        """Where its result is, or will be."""
        return self._of(job.client, "results") / f"{job.name}.aes"

    def clean(self, job: Job) -> None:
        """Removes what a job that has ended needs no more: its input and checkpoints."""
        self.input(job.client, job.name).unlink(missing_ok=True)
        shutil.rmtree(self.work(job), ignore_errors=True)

    def forget(self, job: Job) -> None:
        """Removes a job with all that it has."""
        self.clean(job)
        self.result(job).unlink(missing_ok=True)
        (self.path / job.client / "jobs" / f"{job.name}.json").unlink(missing_ok=True)

    def expire(self, before: float, busy: Container[str]) -> int:
        count = super().expire(before, busy)
        for folder in self.path.glob("*/sets/*/"):  # of a process that was killed while it dropped a set
            if not folder.with_suffix(".json").exists():
                shutil.rmtree(folder, ignore_errors=True)
        return count


def part_of(name: str, sha256: bytes, size: int) -> Part:
    """A file of a set, from a message.

    Raises:
        FormatError: no SHA-256.
    """
    if len(sha256) != 32:
        raise FormatError(f"a file is known by a SHA-256 of 32 bytes, not {len(sha256)}")
    return Part(name, sha256.hex(), size)
