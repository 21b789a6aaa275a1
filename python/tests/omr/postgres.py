# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A PostgreSQL of its own for tests: of Debian's package, in a temporary directory, behind a Unix socket."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import sqlalchemy as sa


def programs() -> Path | None:
    """Where initdb and pg_ctl are; the newest release."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"), key=lambda p: int(p.parts[-3]))
    if found:
        return found[-1].parent
    there = shutil.which("pg_ctl")
    return Path(there).parent if there else None


class Postgres:
    """A server. PostgreSQL does not run as root, so root runs it as nobody."""

    def __init__(self) -> None:
        bin_folder = programs()
        assert bin_folder is not None
        self._bin = bin_folder
        self.folder = Path(tempfile.mkdtemp(prefix="ringforge-pg-", dir="/tmp"))  # a socket's path must be short
        self._as: list[str] = []
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            self._as = ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]
        self._run("initdb", "-D", "data", "-U", "ringforge", "-A", "trust", "-N", "--no-locale", "-E", "UTF8")
        self.start()

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [*self._as, str(self._bin / program), *arguments],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder), "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if program == "initdb" else subprocess.DEVNULL,  # else the server keeps the pipe
            stderr=subprocess.STDOUT,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout

    def start(self) -> None:
        # Without fsync: what is tested is that servers end and fail, not that the machine does.
        options = f"-k {self.folder} -c listen_addresses='' -c shared_buffers=16MB -c max_connections=80 -c fsync=off"
        self._run("pg_ctl", "-D", "data", "-w", "-l", "log", "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        """Mode "immediate" is as if the machine had failed."""
        self._run("pg_ctl", "-D", "data", "-w", "-m", mode, "stop")

    def url(self, database: str) -> str:
        return f"postgresql+pg8000://ringforge@/{database}?unix_sock={self.folder}/.s.PGSQL.5432"

    def make(self, database: str) -> str:
        """A new database; returns its connection string."""
        engine = sa.create_engine(self.url("postgres"), isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
        with engine.connect() as c:
            c.exec_driver_sql(f"CREATE DATABASE {database}")
        return self.url(database)

    def close(self) -> None:
        self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)
