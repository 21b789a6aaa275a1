# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A PostgreSQL server of the demo's own: a temporary directory, a socket in it, no port."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ringforge.errors import Error
from ringforge.files import first_line

#: Where Debian keeps the server's programs, by version.
_PROGRAMS = Path("/usr/lib/postgresql")

#: The user that they may run as where this process is root's, which they refuse.
_USER = "postgres"

_PATIENCE = 60.0


def program(name: str) -> str:
    """The place of one of the server's programs.

    Raises:
        Error: it is not installed.
    """
    found = shutil.which(name) or max((str(p) for p in _PROGRAMS.glob(f"*/bin/{name}")), default="")
    if not found:
        raise Error(f"PostgreSQL's {name} is not installed: apt-get install postgresql, or leave --postgres away")
    return found


def _options() -> dict[str, Any]:
    return {"user": _USER, "group": _USER, "extra_groups": []} if os.geteuid() == 0 else {}


def _run(words: Sequence[str], folder: Path) -> None:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, **_options())
    if done.returncode:
        raise Error(f"{Path(words[0]).name} failed: {first_line(Exception(done.stderr.strip()))}")


@contextlib.contextmanager
def postgres_server() -> Iterator[tuple[str, str]]:
    """A running server: its connection string, and its version. Gone with the block.

    Raises:
        Error: PostgreSQL is not installed, or does not start.
    """
    folder = Path(tempfile.mkdtemp(prefix="ringforge-postgres-"))
    data = folder / "data"
    try:
        if _options():
            shutil.chown(folder, _USER, _USER)
        _run([program("initdb"), "--auth=trust", "--username=board", "--no-sync", f"--pgdata={data}"], folder)
        server = subprocess.Popen(
            [program("postgres"), "-D", str(data), "-k", str(folder), "-c", "listen_addresses="],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **_options(),
        )
        try:
            _wait(server, folder)
            version = (data / "PG_VERSION").read_text().strip()
            yield f"postgresql+pg8000://board@/postgres?unix_sock={folder}/.s.PGSQL.5432", f"PostgreSQL {version}"
        finally:
            server.send_signal(signal.SIGINT)  # ends sessions, then the server
            server.wait(_PATIENCE)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(server: subprocess.Popen[bytes], folder: Path) -> None:
    ready = [program("pg_isready"), "-q", "-h", str(folder)]
    until = time.monotonic() + _PATIENCE
    while subprocess.run(ready, check=False).returncode:
        if server.poll() is not None or time.monotonic() > until:
            raise Error("the PostgreSQL server does not start: run without --postgres")
        time.sleep(0.05)
