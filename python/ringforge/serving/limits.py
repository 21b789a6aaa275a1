# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a service takes on at a time."""

from __future__ import annotations

from dataclasses import dataclass

from ringforge.errors import ParameterError

#: The longest time of any kind: seven days.
MAX_SECONDS = 7 * 86_400.0

_MAX_COUNT, _MAX_MEMORY = 1 << 16, 1 << 50


@dataclass(frozen=True)
class Limits:
    """What a service takes on at a time.

    memory: bytes of keys, requests and replies of all clients; one query's working memory comes on top.
    sessions, sessions_each: open sessions in all, and of one client. idle_seconds: after which one is forgotten.
    waiting: queries that may wait. moving_seconds: within which a client must have sent what it began to send, and
    taken a reply. stall_seconds: within which a call's first message must come, each later one, and each of ours be
    taken.
    calls, calls_each: calls under way in all, and of one client, which is also the most streams of one connection.
    grace_seconds: what running queries get to end when the service is told to stop.

    Raises:
        ParameterError: one is outside its range, or no number.
    """

    memory: int = 2 << 30
    sessions: int = 64
    sessions_each: int = 16
    idle_seconds: float = 300.0
    waiting: int = 32
    moving_seconds: float = 600.0
    stall_seconds: float = 30.0
    calls: int = 512
    calls_each: int = 32
    grace_seconds: float = 30.0

    def __post_init__(self) -> None:
        for name in ("memory", "sessions", "sessions_each", "waiting", "calls", "calls_each"):
            most = _MAX_MEMORY if name == "memory" else _MAX_COUNT
            if not 1 <= getattr(self, name) <= most:
                raise ParameterError(f"{_said(name)} {getattr(self, name)}: 1 to {most} are possible")
        for name in ("idle_seconds", "moving_seconds", "stall_seconds"):
            if not 0.001 <= getattr(self, name) <= MAX_SECONDS:  # not NaN either
                raise ParameterError(
                    f"{_said(name)} {getattr(self, name)}: 0.001 to {MAX_SECONDS:.0f} seconds (seven days) are possible"
                )
        if not 0 <= self.grace_seconds <= MAX_SECONDS:
            raise ParameterError(
                f"grace {self.grace_seconds}: 0 to {MAX_SECONDS:.0f} seconds (seven days) are possible"
            )


def _said(name: str) -> str:
    """The word of a field, as options have it."""
    return name.removesuffix("_seconds").replace("sessions_each", "sessions per client").replace("_", " ")
