# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a detector keeps on its disk: detection keys, requests, results of steps. Everything is whole or not there.

    CLIENT/keys/KEY.key           a detection key as it came, and KEY.json, what it holds
    CLIENT/jobs/JOB.json          a request and how it stands, and JOB.journal, a line for each step computed
    CLIENT/results/STEP           a step's result: a label with its description and checksum, then the result
    incoming/                     what is on its way; emptied at the start

CLIENT is a keyed hash of the client's token. KEY.json has the time of the key's last use. Results are found by the
digest of what they are the result of, so a result of another plan, key or bulletin is never taken for one; a result
that does not match its checksum is as good as none.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ringforge import _native
from ringforge.errors import Error, FormatError, MismatchError, MissingKeyError
from ringforge.files import keep, secret_in, writing
from ringforge.omr.steps import Request, Step
from ringforge.serving import depot, jobs
from ringforge.serving.clock import Clock
from ringforge.serving.depot import MAX_JSON, dumped, write
from ringforge.serving.jobs import FINISHED

#: What a result's file begins with.
MAGIC = b"RGFSTEP1"

_BLOCK = 1 << 20


@dataclass(frozen=True)
class Job(jobs.Job):
    """A request, and how it stands.

    Attributes:
        request: what is asked for. digest: name of the step whose result is the digest, once it is there.
    """

    request: Request
    digest: str = ""

    @property
    def name(self) -> str:
        return self.request.name


class Depot(depot.Depot[Job]):
    """The detector's directory. One process at a time has it.

    Args:
        path: made if there is none. clock: for tests.

    Raises:
        Error: another process has it. OSError: it cannot be written.
    """

    def __init__(self, path: str | Path, clock: Clock | None = None) -> None:
        super().__init__(path, "detector", clock)

    def read_job(self, client: str, values: dict[str, Any]) -> Job:
        return Job(client, Request(**values.pop("request")), **values)

    # ---- keys ----

    def keep_key(self, client: str, name: str, path: Path, about: dict[str, Any]) -> None:
        """Takes a file of `arriving` as the client's detection key.

        Raises:
            MismatchError: it has this key already. FormatError: the file holds a secret.
        """
        what = secret_in(path)
        if what:
            raise FormatError(f"this file holds {what}: it was thrown away; send the detection key, and nothing else")
        folder = self._of(client, "keys")
        if (folder / f"{name}.key").exists():
            raise MismatchError(f"this detector holds the key {name[:16]} of yours already: it is not taken twice")
        write(folder / f"{name}.json", dumped({**about, "bytes": path.stat().st_size, "since": self.clock()}))
        self.touch(folder / f"{name}.json")
        keep(path, folder / f"{name}.key")

    def keys(self, client: str) -> dict[str, dict[str, Any]]:
        """The client's keys by name, with what they hold."""
        folder = self.path / client / "keys"
        return {
            p.stem: json.loads(p.with_suffix(".json").read_bytes())
            for p in sorted(folder.glob("*.key"))
            if p.with_suffix(".json").exists()
        }

    def key(self, client: str, name: str) -> Path:
        """The file of a client's key.

        Raises:
            MissingKeyError: it has no such key here.
        """
        path = self.path / client / "keys" / f"{name}.key"
        if len(name) != 64 or not name.isalnum() or not path.exists():
            raise MissingKeyError(
                f"this detector holds no key {name[:16]} of this client: it was not used for as long as the detector "
                "keeps keys, was dropped, or was never sent; send it again, as `ringforge omr retrieve` does"
            )
        return path

    def drop(self, client: str, key: str) -> None:
        """Forgets a key, and all that was computed with it.

        Raises:
            MissingKeyError: there is none.
        """
        path = self.key(client, key)
        for job in self.jobs(client):
            if job.request.key == key:
                self.forget(job)
        path.unlink()
        path.with_suffix(".json").unlink(missing_ok=True)
        for result in (self.path / client / "results").glob("*"):
            with contextlib.suppress(Error, OSError):
                if label(result)["step"]["key"] == key:
                    result.unlink()

    def key_files(self, client: str) -> dict[str, Path]:
        folder = self.path / client / "keys"
        files = {p.stem: p for p in sorted(folder.glob("*.json"))}
        return {name: path for name, path in files.items() if path.with_suffix(".key").exists()}

    def keys_of(self, job: Job) -> tuple[str, ...]:
        return (job.request.key,)

    # ---- jobs ----

    def forget(self, job: Job) -> None:
        """Removes a job and its digest."""
        folder = self.path / job.client
        if job.digest:
            (folder / "results" / job.digest).unlink(missing_ok=True)
        (folder / "jobs" / f"{job.name}.journal").unlink(missing_ok=True)
        (folder / "jobs" / f"{job.name}.json").unlink(missing_ok=True)

    def journal(self, job: Job, line: dict[str, Any]) -> None:
        """Adds a line about a step to a job's journal: sizes and counts, nothing else."""
        with (self._of(job.client, "jobs") / f"{job.name}.journal").open("ab") as f:
            f.write(dumped(line) + b"\n")

    def read_journal(self, job: Job) -> list[dict[str, Any]]:
        """All lines, the first first."""
        path = self.path / job.client / "jobs" / f"{job.name}.journal"
        found = []
        for line in path.read_bytes().splitlines() if path.exists() else ():
            with contextlib.suppress(ValueError):  # cut off, for want of room
                found.append(json.loads(line))
        return found

    # ---- results ----

    def keep_result(self, client: str, step: Step, result: bytes) -> None:
        """Writes a step's result, with its description and checksum before it."""
        about = {"step": json.loads(step.to_json()), "bytes": len(result), "sha256": hashlib.sha256(result).hexdigest()}
        head = _native.io.seal(_native.io.LABEL, bytes.fromhex(step.name), dumped(about))
        path = self._of(client, "results") / step.name
        with writing(path, replace=True) as f:
            f.write(MAGIC + len(head).to_bytes(4, "little"))
            f.write(head)
            f.write(result)
        self.touch(path)

    def result_path(self, client: str, step: str) -> Path:
        """Where a step's result is, or will be."""
        return self.path / client / "results" / step

    def has_result(self, client: str, step: Step) -> bool:
        """Whether the result is there, and whole; one that is not is removed."""
        path = self.result_path(client, step.name)
        if not path.exists():
            return False
        try:
            with path.open("rb") as f:
                about = _read_label(f, step.name)
                checksum = hashlib.sha256()
                while block := f.read(_BLOCK):
                    checksum.update(block)
            whole = bool(about["sha256"] == checksum.hexdigest())
        except (FormatError, OSError, KeyError):
            whole = False
        if not whole:
            path.unlink(missing_ok=True)
        return whole

    def drop_result(self, client: str, step: str) -> None:
        """Removes a result that nobody needs any more."""
        self.result_path(client, step).unlink(missing_ok=True)

    def digest(self, job: Job) -> bytes:
        """The digest of a job that is done.

        Raises:
            FormatError: it is gone, or damaged.
        """
        path = self.result_path(job.client, job.digest)
        try:
            return read_result(path)
        except FileNotFoundError:
            raise FormatError("this digest has been removed: ask for it again") from None

    def sweep(self, before: float) -> int:
        """Removes finished jobs not changed since, with results that no unfinished job may need; returns how many."""
        count = super().sweep(before)
        for client in self.clients():
            jobs = self.jobs(client)
            if all(j.state in FINISHED for j in jobs):
                kept = {j.digest for j in jobs}
                for path in (self.path / client / "results").glob("*"):
                    with contextlib.suppress(OSError):
                        if path.name not in kept and path.stat().st_mtime < before:
                            path.unlink()
        return count


def label(path: Path) -> dict[str, Any]:
    """What a result's file says of itself: "step", the step's description, "bytes", "sha256".

    Raises:
        FormatError: it is none. OSError: it cannot be read.
    """
    with path.open("rb") as f:
        return _read_label(f, path.name)


def read_result(path: Path) -> bytes:
    """A whole result, its checksum compared.

    Raises:
        FormatError: it is none, or damaged. OSError: it cannot be read.
    """
    with path.open("rb") as f:
        about = _read_label(f, path.name)
        result = f.read()
    if hashlib.sha256(result).hexdigest() != about["sha256"]:
        raise FormatError(f"{path.name[:16]} is damaged: its checksum does not match; ask for it again")
    return result


def _read_label(f: IO[bytes], name: str) -> dict[str, Any]:
    start = f.read(len(MAGIC) + 4)
    size = int.from_bytes(start[len(MAGIC) :], "little")
    if not start.startswith(MAGIC) or size > MAX_JSON:
        raise FormatError(f"{name[:16]} is no result of a step")
    _, step, text = _native.io.unseal(f.read(size), _native.io.LABEL)
    if step.hex() != name:
        raise FormatError(f"{name[:16]} holds the result of another step, {step.hex()[:16]}")
    try:
        about: dict[str, Any] = json.loads(text)
        about["step"]["key"], about["sha256"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise FormatError(f"{name[:16]} is no result of a step") from None
    return about
