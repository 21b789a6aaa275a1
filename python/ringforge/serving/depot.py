# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a service that works off requests keeps on its disk. Everything is whole or not there.

    CLIENT/jobs/JOB.json          a request and how it stands
    incoming/                     what is on its way; emptied at the start

CLIENT is a keyed hash of the client's token. What else there is of a client is the service's own.
"""

from __future__ import annotations

import abc
import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, Generic, TypeVar

from ringforge.errors import Error, FormatError, ParameterError
from ringforge.files import make_folder, writing
from ringforge.serving.jobs import FINISHED, UNFINISHED, Job

#: Bytes of a file of JSON.
MAX_JSON = 1 << 16

J = TypeVar("J", bound=Job)


class Depot(abc.ABC, Generic[J]):
    """A service's directory. One process at a time has it.

    Args:
        path: made if there is none. server: what messages call the service.

    Raises:
        Error: another process has it. OSError: it cannot be written.
    """

    def __init__(self, path: str | Path, server: str) -> None:
        self.path, self._server = Path(path), server
        make_folder(self.path, 0o700)
        self._lock: IO[bytes] = (self.path / ".lock").open("ab")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise Error(
                f"another {server} works in {self.path.name}: stop it, or name another directory with --store"
            ) from None
        self._incoming = self.path / "incoming"
        shutil.rmtree(self._incoming, ignore_errors=True)
        self._incoming.mkdir(mode=0o700)

    @abc.abstractmethod
    def read_job(self, client: str, values: dict[str, Any]) -> J:
        """A job from what `keep_job` wrote, the client left out. May raise any error for what is none."""

    @abc.abstractmethod
    def sweep(self, before: float) -> int:
        """Removes jobs that ended and have not changed since, and what nobody needs any more; returns how many jobs."""

    def close(self) -> None:
        """Lets another process have the directory."""
        self._lock.close()

    def _of(self, client: str, kind: str) -> Path:
        folder = self.path / client / kind
        make_folder(folder, 0o700)
        return folder

    def clients(self) -> list[str]:
        """All for whom something is kept."""
        return sorted(p.name for p in self.path.iterdir() if p.is_dir() and p.name != "incoming")

    @contextlib.contextmanager
    def arriving(self) -> Iterator[Path]:
        """A file for what arrives; gone with the block."""
        path = self._incoming / os.urandom(16).hex()
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def bytes_of(self, client: str) -> int:
        """What a client's things take on the disk."""
        return sum(p.stat().st_size for p in (self.path / client).rglob("*") if p.is_file())

    # ---- jobs ----

    def jobs(self, client: str | None = None) -> list[J]:
        """All jobs, or a client's, the oldest change first."""
        found = []
        for who in self.clients() if client is None else [client]:
            for path in (self.path / who / "jobs").glob("*.json"):
                with contextlib.suppress(Error, OSError):
                    found.append(self._read_job(who, path))
        return sorted(found, key=lambda j: (j.changed, j.name))

    def job(self, client: str, name: str) -> J | None:
        """A client's job, or None."""
        path = self.path / client / "jobs" / f"{name}.json"
        if len(name) != 32 or not name.isalnum() or not path.exists():
            return None
        return self._read_job(client, path)

    def _read_job(self, client: str, path: Path) -> J:
        try:
            found = json.loads(path.read_bytes()[:MAX_JSON])
            error = tuple(found.pop("error"))
            job = self.read_job(client, {**found, "error": (str(error[0]), str(error[1]))})
            good = job.state in UNFINISHED + FINISHED and path.stem == job.name
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, ParameterError):
            good = False
        if not good:
            raise FormatError(f"{path.name} is no job of a {self._server}: remove it")
        return job

    def keep_job(self, job: J) -> None:
        """Writes down how a job stands."""
        values = asdict(job)
        del values["client"]
        write(self._of(job.client, "jobs") / f"{job.name}.json", dumped(values))


def dumped(values: dict[str, Any]) -> bytes:
    """JSON, always the same bytes."""
    return json.dumps(values, sort_keys=True).encode()


def write(path: Path, data: bytes) -> None:
    """Write a file of a service's own, whole or not at all; it and its name are on the disk when this returns."""
    with writing(path, replace=True) as f:
        f.write(data)
