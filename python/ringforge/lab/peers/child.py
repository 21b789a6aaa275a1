# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Talking to a peer: one JSON request in, JSON lines out."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ringforge.errors import Error


class PeerError(Error):
    """A peer could not do what was asked; the message carries its own words."""


class PeerMissingError(PeerError):
    """A peer is not installed; the message says what to install."""


def cache_folder() -> Path:
    """Where built peers are kept."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "ringforge"


def ask(
    command: Sequence[str],
    request: Mapping[str, object],
    *,
    timeout_s: float | None = None,
    env: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Runs the command with the request on its standard input and returns its last JSON line.

    Lines that are no JSON objects are skipped, since libraries print warnings of their own.
    """
    name = command[-1]
    try:
        done = subprocess.run(
            list(command),
            input=json.dumps(request),
            capture_output=True,
            text=True,
            timeout=timeout_s,
            env=None if env is None else dict(env),
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        raise PeerError(f"{name} took longer than {timeout_s} s; ask for less or raise the limit") from late
    except OSError as refused:
        raise PeerError(f"{name} could not be started: {refused}") from refused
    if done.returncode != 0:
        raise PeerError(f"{name} ended with status {done.returncode}: {_tail(done.stderr or done.stdout)}")
    answers = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not answers:
        raise PeerError(f"{name} printed no result: {_tail(done.stdout + done.stderr)}")
    answer: dict[str, Any] = json.loads(answers[-1])
    return answer


def _tail(text: str, lines: int = 12) -> str:
    return "\n".join(text.strip().splitlines()[-lines:]) or "nothing was printed"
