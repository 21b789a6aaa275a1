# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Where services of this machine leave word of themselves, for the page of `ringforge serve`.

    SERVICE-PID-XXXX.json         its `status.Status`, replaced as it changes
    SERVICE-PID-XXXX.lock         locked for as long as its process lives, whatever ends it

Files have mode 0600. Both go when the service ends; a file whose lock nobody holds tells of one that ended otherwise.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ringforge.errors import Error, FormatError, ParameterError
from ringforge.files import writing
from ringforge.serving.status import MAX_BYTES, Status

#: Services whose files are read; more than anybody runs.
_MOST = 256

#: Seconds after which what is left of a service that ended otherwise is removed by the next that starts.
_FORGOTTEN = 7 * 86_400.0

_NAME = re.compile(r"[a-z0-9-]{1,40}-\d{1,10}-[0-9a-f]{8}")


def directory(environment: Mapping[str, str] | None = None) -> Path:
    """Where the files are: $RINGFORGE_RUNTIME_DIR, else the $RUNTIME_DIRECTORY of systemd, else the user's directory
    below $XDG_RUNTIME_DIR or the temporary directory.
    """
    e = os.environ if environment is None else environment
    if e.get("RINGFORGE_RUNTIME_DIR"):
        return Path(e["RINGFORGE_RUNTIME_DIR"])
    if e.get("RUNTIME_DIRECTORY"):
        return Path(e["RUNTIME_DIRECTORY"].partition(":")[0])
    if e.get("XDG_RUNTIME_DIR"):
        return Path(e["XDG_RUNTIME_DIR"]) / "ringforge"
    return Path(tempfile.gettempdir()) / f"ringforge-{os.getuid()}"


def _require_own(path: Path) -> None:
    """Refuses a directory in which others could put or replace files.

    Raises:
        ParameterError: it is one. OSError: there is none.
    """
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid not in (os.geteuid(), 0) or status.st_mode & 0o022:
        raise ParameterError(
            f"the runtime directory {path} is not this user's alone: others could put files there. Remove it, or name "
            "another with RINGFORGE_RUNTIME_DIR"
        )


class Note:
    """The files of one service.

    Args:
        path: the directory; made, with mode 0700, if there is none.
        service: what it is; words. address: where it listens. What an earlier process of the same service at the same
        address has left is removed.

    Raises:
        ParameterError: the directory is open to others. OSError: it cannot be written.
    """

    def __init__(self, path: Path, service: str, address: str) -> None:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        _require_own(path)
        _sweep(path, service, address)
        word = re.sub(r"[^a-z0-9]+", "-", service.lower())[:40]
        name = f"{word}-{os.getpid()}-{secrets.token_hex(4)}"
        self._file, self._lock_file = path / f"{name}.json", path / f"{name}.lock"
        # Nobody sees the lock's file before it is locked.
        temporary = path / f".{name}.lock"
        self._lock: IO[bytes] = temporary.open("xb")
        try:
            os.fchmod(self._lock.fileno(), 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            temporary.rename(self._lock_file)
        except BaseException:
            self._lock.close()
            temporary.unlink(missing_ok=True)
            raise

    def write(self, status: Status) -> None:
        """Replaces what is told.

        Raises:
            OSError: no room, or the directory has gone.
        """
        with writing(self._file, private=True, replace=True) as f:
            f.write(status.to_json())

    def remove(self) -> None:
        """The service has ended as it should."""
        self._file.unlink(missing_ok=True)
        self._lock_file.unlink(missing_ok=True)
        self._lock.close()


@dataclass(frozen=True)
class Found:
    """What a service has left.

    name: of its files. alive: whether its process lives. written: seconds since 1970. status: what it told last; None
    with `trouble`, why it cannot be read.
    """

    name: str
    alive: bool
    written: float
    status: Status | None
    trouble: str = ""


def found(path: Path) -> list[Found]:
    """All services that have left files, by name. None where there is no directory.

    Raises:
        ParameterError: the directory is open to others.
    """
    try:
        _require_own(path)
        names = sorted(p.stem for p in path.glob("*.json") if _NAME.fullmatch(p.stem))
    except FileNotFoundError:
        return []
    there = (_read(path, name) for name in names[:_MOST])
    return [f for f in there if f is not None]


def forget(path: Path) -> int:
    """Removes what services have left that ended without doing so; returns how many these were.

    Raises:
        ParameterError: the directory is open to others.
    """
    dead = [f for f in found(path) if not f.alive]
    for f in dead:
        _remove(path, f.name)
    return len(dead)


def _sweep(path: Path, service: str, address: str) -> None:
    with contextlib.suppress(Error, OSError):
        for f in found(path):
            s = f.status
            again = s is not None and s.service == service and s.address == address
            if not f.alive and (again or time.time() - f.written > _FORGOTTEN):
                _remove(path, f.name)
        for part in path.glob(".*.part"):  # of a process that was killed while it wrote
            if time.time() - part.lstat().st_mtime > _FORGOTTEN:
                part.unlink(missing_ok=True)


def _remove(path: Path, name: str) -> None:
    for suffix in (".json", ".lock"):
        (path / f"{name}{suffix}").unlink(missing_ok=True)


def _read(path: Path, name: str) -> Found | None:
    alive = _alive(path / f"{name}.lock")
    try:
        with _opened(path / f"{name}.json") as f:
            written = os.fstat(f.fileno()).st_mtime
            data = f.read(MAX_BYTES + 1)
    except FileNotFoundError:  # it has just ended
        return None
    except OSError as e:
        return Found(name, alive, 0.0, None, f"it cannot be read ({e.strerror})")
    try:
        return Found(name, alive, written, Status.from_json(data, f"{name}.json"))
    except FormatError as e:
        return Found(name, alive, written, None, str(e))


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """A regular file; links are not followed, and nothing waits for a pipe's other end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as f:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is no ordinary file")
        yield f


def _alive(lock: Path) -> bool:
    try:
        with _opened(lock) as f:
            try:
                fcntl.flock(f, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
    except OSError:
        pass
    return False
