# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Services as processes whose writes fail when a test says so: `faults.c` stands between them and the system.

A process that has imported everything forks one server for each start, so that hundreds of starts take seconds.
`python -m tests.serving.faults MODULE...` is that process.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import json
import mmap
import os
import runpy
import select
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.psi.processes import PATIENCE, environment

#: More calls than anybody makes.
ALWAYS = 1 << 40


def compiled(folder: Path) -> Path:
    """Return the compiled `faults.c`; skips the test where there is no compiler of C."""
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("no compiler of C, or no Linux")
    target = folder / "faults.so"
    source = Path(__file__).with_name("faults.c")
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", target, source, "-ldl"], check=True)
    return target


class Faults:
    """The numbers that a process shares with this one.

    Args:
        folder: for the file; below `folder / "disk"` calls fail.
    """

    def __init__(self, folder: Path) -> None:
        self.disk, self._file = folder / "disk", folder / "control"
        self.disk.mkdir()
        self._file.write_bytes(bytes(4096))
        with self._file.open("r+b") as f:
            self._map = mmap.mmap(f.fileno(), 4096)

    def environment(self, library: Path) -> dict[str, str]:
        return {"LD_PRELOAD": str(library), "FAULTS_CONTROL": str(self._file), "FAULTS_UNDER": str(self.disk)}

    def set(self, first: int = 0, count: int = 1, error: int = errno.ENOSPC) -> None:
        """From now on, calls fail from the `first` on, as many as `count`; 0: none does."""
        self._map[:32] = struct.pack("4q", 0, first, count, error)

    @property
    def seen(self) -> int:
        """Calls since `set`."""
        return int(struct.unpack("q", self._map[:8])[0])


class Server:
    """A server that was forked. `ready` is its first line, or None when it ended before."""

    def __init__(self, pid: int, out: Path, err: Path) -> None:
        self.pid, self._out, self._err, self.code = pid, out, err, None
        self.ready: dict[str, Any] | None = None
        self.out = ""

    @property
    def errors(self) -> str:
        return self._err.read_text(errors="replace")


class Zygote:
    """The process that forks servers. Servers work in `folder / "disk"`'s parent.

    Args:
        module: to be run, as by `python -m`. imports: modules to be imported before. environment: as of `Faults`.
    """

    def __init__(self, folder: Path, module: str, imports: Sequence[str], **more: str) -> None:
        self._folder, self._count = folder, 0
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.serving.faults", module, *imports],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=folder,
            env=environment(RINGFORGE_RUNTIME_DIR=str(folder / "run"), **more),
            text=True,
            bufsize=1,
        )
        assert self._said() == "imported"

    def _said(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def _ask(self, **what: Any) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        return self._said()

    def start(self, *words: object) -> Server:
        """Start a server, and wait until it is ready or has ended."""
        self._count += 1
        out, err = (self._folder / f"{self._count}.{kind}" for kind in ("out", "err"))
        pid = int(self._ask(words=list(map(str, words)), out=str(out), err=str(err)))
        server, until = Server(pid, out, err), time.monotonic() + PATIENCE
        while "\n" not in (text := out.read_text() if out.exists() else ""):
            server.code = self._code(server, 0.01)
            if server.code is not None:
                server.out = out.read_text()
                return server
            assert time.monotonic() < until, "it neither starts nor ends"
        server.ready = json.loads(text.splitlines()[0])
        return server

    def _code(self, server: Server, seconds: float) -> int | None:
        said = self._ask(wait=server.pid, seconds=seconds)
        return None if said == "runs" else int(said)

    def alive(self, server: Server) -> bool:
        return self._code(server, 0) is None

    def stop(self, server: Server, number: int = signal.SIGTERM) -> int:
        """End a server; returns its exit code."""
        if server.code is None:
            os.kill(server.pid, number)
            server.code = self._code(server, 60)
        if server.code is None:
            os.kill(server.pid, signal.SIGKILL)
            self._code(server, 60)
            raise AssertionError("SIGTERM did not end it within a minute")
        return server.code

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()


@contextlib.contextmanager
def zygote(folder: Path, faults: Faults, module: str, *imports: str, **more: str) -> Iterator[Zygote]:
    """Run the process that forks servers."""
    made = Zygote(folder, module, imports, **faults.environment(compiled(folder)), **more)
    try:
        yield made
    finally:
        made.close()


def _fork(module: str, order: dict[str, Any]) -> int:
    pid = os.fork()
    if pid:
        return pid
    os.setsid()
    for number, name in ((1, order["out"]), (2, order["err"])):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), number)
    os.dup2(os.pipe()[0], 0)  # whose other end stays open: some servers end with their standard input
    sys.argv = [module, *order["words"]]
    code: object = 0
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as e:
        code = e.code
        if isinstance(code, str):
            print(code, file=sys.stderr)
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 70
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def _wait(pid: int, seconds: float) -> str:
    until = time.monotonic() + seconds
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return str(os.waitstatus_to_exitcode(status))
        if time.monotonic() >= until:
            return "runs"
        select.select([], [], [], 0.005)


if __name__ == "__main__":
    for each in sys.argv[2:]:
        importlib.import_module(each)
    print("imported", flush=True)
    running = set()
    for line in sys.stdin:
        order = json.loads(line)
        if "words" in order:
            running.add(pid := _fork(sys.argv[1], order))
            print(pid, flush=True)
        else:
            said = _wait(order["wait"], order["seconds"])
            if said != "runs":
                running.discard(order["wait"])
            print(said, flush=True)
    for pid in running:
        os.kill(pid, signal.SIGKILL)
