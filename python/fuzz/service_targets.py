# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Fuzz targets of what services tell of themselves."""

from __future__ import annotations

import json
from pathlib import Path

import mutators
from registry import room, target

from ringforge.serving import exposition, overview, runtime
from ringforge.serving.status import Load, Method, Queue, Status, Task, Use


def _status() -> bytes:
    method = Method(outcomes={"ok": 3, "FormatError": 1}, times=[1] * 21, seconds=2.5, received=10, sent=20)
    load = Load(
        under_way=1,
        methods={"Query": method},
        queues={"queries": Queue(waiting=1, most=32)},
        work=[Task(what="Query", stage="a stage", fraction=0.5, seconds=1.0, seconds_left=1.0)],
        uses={"sessions": Use(used=1, most=64)},
    )
    return Status(
        service="psi", address="127.0.0.1:1", pid=1, started=1.0, now=2.0, state="ready", facts={"a": "b"}, load=load
    ).to_json()


def _directory() -> Path:
    folder = room() / "runtime"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


@target("serving.status.Status.from_json", seeds=lambda: [_status()], mutate=mutators.in_json)
def service_status(data: bytes) -> None:
    """Found in a directory, whatever is in the file; what is accepted is shown, and told as metrics."""
    (_directory() / "psi-1-00000000.json").write_bytes(data)
    (found,) = runtime.found(_directory())
    (shown,) = overview.Overview(_directory()).known()["services"]
    assert shown["state"] == "dead"
    json.dumps(shown)
    status = Status.from_json(data, "it")
    assert found.status == status == Status.from_json(status.to_json(), "it")
    exposition.text(status)
