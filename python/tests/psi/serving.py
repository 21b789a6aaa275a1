# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A service in this process with a real server behind it."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringforge.psi import Server, wire
from ringforge.psi.service import Service
from ringforge.serving.calls import Log
from ringforge.serving.limits import Limits
from ringforge.serving.listener import Running
from ringforge.serving.quota import Quota


@dataclass
class Real:
    """What tests look at."""

    server: Server
    service: Service
    running: Running
    log: io.StringIO

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.running.port}"

    def events(self, name: str) -> list[dict[str, Any]]:
        """Log lines of one event."""
        return [e for e in map(json.loads, self.log.getvalue().splitlines()) if e["event"] == name]


@contextlib.contextmanager
def real(
    server: Server,
    folder: Path,
    *,
    prf: int = 1 << 20,
    bins: int = 1 << 24,
    limits: Limits | None = None,
    port: int = 0,
) -> Iterator[Real]:
    """Runs a service on a free port."""
    quota = Quota(folder / "quota.sqlite", {"prf": prf, "bins": bins}, words=wire.QUOTAS)
    log = io.StringIO()
    limits = limits or Limits(grace_seconds=0)
    service = Service(server, quota, limits, None, Log(log))
    running = Running(service, f"127.0.0.1:{port}", None)
    try:
        yield Real(server, service, running, log)
    finally:
        running.stop(0)
        quota.close()
