# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a service that works off requests keeps on its disk. Everything is whole or not there.

    CLIENT/jobs/JOB.json          a request and how it stands
    incoming/                     what is on its way; emptied at the start
    .clock                        the store's time (`clock.Mark`)

CLIENT is a keyed hash of the client's token. What else there is of a client is the service's own.

Ages are those of a `clock.Clock`: setting the wall clock makes nothing old. After another boot of the machine only its
uptime counts, so things stay for longer than was said rather than for less. When a key was last used is the time of its
file, which needs no room to be written.
"""

from __future__ import annotations

import abc
import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Callable, Container, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, Generic, TypeVar

from ringforge.errors import Error, FormatError, ParameterError
from ringforge.files import make_folder, writing
from ringforge.serving.clock import Clock, Mark
from ringforge.serving.jobs import FINISHED, UNFINISHED, Job

#: Bytes of a file of JSON.
MAX_JSON = 1 << 16

J = TypeVar("J", bound=Job)


class Depot(abc.ABC, Generic[J]):
    """A service's directory. One process at a time has it.

    Args:
        path: made if there is none. server: what messages call the service. clock: for tests.

    Raises:
        Error: another process has it. OSError: it cannot be written.
    """

    def __init__(self, path: str | Path, server: str, clock: Clock | None = None) -> None:
        self.path, self._server, self.clock = Path(path), server, clock or Clock()
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
        for part in self.path.glob("*/*/.*.part"):  # of a process that was killed while it wrote
            part.unlink(missing_ok=True)
        mark = None
        with contextlib.suppress(OSError):
            mark = Mark.from_json((self.path / ".clock").read_bytes()[:MAX_JSON])
        self.clock.resume(mark, believe_wall=False)
        self._keep_time()

    @abc.abstractmethod
    def read_job(self, client: str, values: dict[str, Any]) -> J:
        """A job from what `keep_job` wrote, the client left out. May raise any error for what is none."""

    @abc.abstractmethod
    def forget(self, job: J) -> None:
        """Removes a job with all that it has."""

    @abc.abstractmethod
    def key_files(self, client: str) -> dict[str, Path]:
        """The files whose times say when each of a client's keys was used last, by the key's name."""

    @abc.abstractmethod
    def keys_of(self, job: J) -> tuple[str, ...]:
        """Names of the keys that a job needs."""

    @abc.abstractmethod
    def drop(self, client: str, key: str) -> None:
        """Forgets a key, with all that was computed with it."""

    def clean(self, job: J) -> None:
        """Removes what a job that has ended needs no more."""

    # ---- ages ----

    def _keep_time(self) -> None:
        with contextlib.suppress(OSError):  # the next time will do
            write(self.path / ".clock", self.clock.mark().to_json())

    def touch(self, path: Path) -> None:
        """Notes that a file is used now."""
        now = self.clock()
        with contextlib.suppress(OSError):
            os.utime(path, (now, now))

    def used(self, client: str, *keys: str) -> None:
        """Notes that keys are used now."""
        files = self.key_files(client)
        for key in keys:
            if key in files:
                self.touch(files[key])

    def sweep(self, before: float) -> int:
        """Removes jobs that ended and have not changed since, and what nobody needs any more; returns how many jobs."""
        self._keep_time()
        count = 0
        for job in self.jobs():
            if job.state in FINISHED and job.changed < before:
                self.forget(job)
                count += 1
            elif job.state in FINISHED:
                self.clean(job)
        return count

    def expire(self, before: float, busy: Container[str]) -> int:
        """Removes keys that were not used since, with the jobs that have ended and used them; returns how many.

        Args:
            busy: clients with requests under way, or keys that come: theirs stay.
        """
        count = 0
        for client in self.clients():
            if client in busy:
                continue
            last: dict[str, float] = {}
            for job in self.jobs(client):
                for key in self.keys_of(job):
                    at = job.changed if job.state in FINISHED else float("inf")
                    last[key] = max(at, last.get(key, 0.0))
            for key, path in self.key_files(client).items():
                if max(path.stat().st_mtime, last.get(key, 0.0)) < before:
                    self.drop(client, key)
                    count += 1
        return count

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
        total = 0
        for path in (self.path / client).rglob("*"):
            with contextlib.suppress(FileNotFoundError):  # gone meanwhile
                total += path.stat().st_size if path.is_file() else 0
        return total

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

    def keep_job(self, job: J, before: Callable[[], None] | None = None) -> None:
        """Writes down how a job stands.

        Args:
            before: is called when all is on the disk and only the name is missing. If it raises, what was there stays;
                and if the process ends in it, the next one removes what has no name.
        """
        values = {**asdict(job), "changed": self.clock()}
        del values["client"]
        with writing(self._of(job.client, "jobs") / f"{job.name}.json", replace=True) as f:
            f.write(dumped(values))
            if before is not None:
                f.flush()
                os.fsync(f.fileno())
                before()


def dumped(values: dict[str, Any]) -> bytes:
    """JSON, always the same bytes."""
    return json.dumps(values, sort_keys=True).encode()


def write(path: Path, data: bytes) -> None:
    """Write a file of a service's own, whole or not at all; it and its name are on the disk when this returns."""
    with writing(path, replace=True) as f:
        f.write(data)
