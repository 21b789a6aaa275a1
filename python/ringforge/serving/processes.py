# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Commands of Ringforge as processes, for demos: servers that are ended with a block, clients that print JSON."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ringforge
from ringforge.errors import Error
from ringforge.local_http import first_line

#: Seconds that a process gets to end.
_PATIENCE = 60


def _command(*words: object) -> list[str]:
    return [sys.executable, "-m", "ringforge.cli", *map(str, words)]


def _environment() -> dict[str, str]:
    roots = [str(Path(ringforge.__file__).parents[1]), *(os.path.abspath(p) for p in sys.path if p)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(roots)}


@contextlib.contextmanager
def served(folder: Path, name: str, *words: object) -> Iterator[dict[str, Any]]:
    """A server's process, in a folder; what it said when it was ready. Its standard error goes to NAME.stderr there."""
    with (folder / f"{name}.stderr").open("wb") as complaints:
        started = subprocess.Popen(
            _command(*words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
            env=_environment(),
            cwd=folder,
        )
    assert started.stdout is not None
    try:
        yield first_line(started, name)
    finally:
        started.send_signal(signal.SIGTERM)
        try:
            started.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()
        started.stdout.close()


def start(folder: Path, *words: object) -> subprocess.Popen[bytes]:
    """A client's process, in a folder; `answer` is for its end."""
    return subprocess.Popen(
        _command(*words),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=_environment(),
        cwd=folder,
    )


def answer(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """What a client's process prints as JSON.

    Raises:
        Error: it failed; what it says is on standard error.
    """
    out, _ = process.communicate()
    if process.returncode:
        raise Error(f"a client's process ended with exit code {process.returncode}; what it said is above")
    found: dict[str, Any] = json.loads(out)["result"]
    return found
