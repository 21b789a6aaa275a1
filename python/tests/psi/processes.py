# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Servers and clients as processes, over TCP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ringforge
import tests
from tests.answers import result_of

#: What starting a process, or a small query, takes at the very most.
PATIENCE = 120


def environment(**more: str) -> dict[str, str]:
    """This process's environment, with its paths of Python."""
    roots = [str(Path(p).parents[1]) for p in (ringforge.__file__, tests.__file__) if p]
    return {**os.environ, "PYTHONPATH": os.pathsep.join([*roots, *sys.path]), "COLUMNS": "160", **more}


def start(words: Sequence[object], folder: Path, **more: str) -> subprocess.Popen[str]:
    """Starts `ringforge psi` with these words."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.psi.command", "psi", *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(**more),
        cwd=folder,
        text=True,
    )


def run(words: Sequence[object], folder: Path, code: int = 0, **more: str) -> tuple[str, str]:
    """Runs `ringforge psi` with these words; returns what it printed on standard output and standard error."""
    process = start(words, folder, **more)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == code, f"{words}: exit code {process.returncode}\n{out}\n{err}"
    assert "Traceback" not in err, err
    return out, err


class Serving:
    """A server process; its standard error is collected as it comes."""

    def __init__(
        self,
        folder: Path,
        *words: object,
        table: str = "table",
        slow: float = 0,
        port: int = 0,
        threads: int = 1,
        **more: str,
    ) -> None:
        if slow:
            words = ("--device", "slow", *words)
        self.process = start(
            ["serve", table, "--listen", f"127.0.0.1:{port}", "--threads", threads, *words],
            folder,
            SLOW_SECONDS=str(slow),
            **more,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the server did not start: {self.process.communicate(timeout=PATIENCE)[1]}")
        self.ready: dict[str, Any] = json.loads(line)
        self.port = int(self.ready["port"])
        self.address = f"127.0.0.1:{self.port}"
        self.lines: list[str] = []
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._changed:
                self.lines.append(line)
                self._changed.notify_all()

    def wait_for(self, event: str, count: int = 1) -> None:
        """Waits until the log has as many such events."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.events(event)) >= count, PATIENCE), "".join(self.lines)

    def events(self, name: str) -> list[dict[str, Any]]:
        """Log lines of one event. Everything on standard error must be such a line."""
        return [e for e in map(json.loads, list(self.lines)) if e["event"] == name]

    def memory(self, field: str = "VmHWM") -> int:
        """Bytes of memory: the most there ever were, or VmRSS for now."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) * 1024
        raise AssertionError(field)

    def kill(self) -> None:
        """Ends it without a word to anybody."""
        self.process.kill()
        self.process.wait(PATIENCE)

    def stop(self) -> int:
        """SIGTERM; returns the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        assert "Traceback" not in "".join(self.lines)
        return code

    def __enter__(self) -> Serving:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
        self._reader.join(10)


def query(serving: Serving, folder: Path, name: str, *words: object) -> dict[str, Any]:
    """A client process asks for the elements of a file; returns what it prints as JSON."""
    out, _ = run(["query", "--server", serving.address, "--set", name, "--threads", "1", "--json", *words], folder)
    return dict(result_of(out))
