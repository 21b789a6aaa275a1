# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A scripted service in this process that is told of, and what is asked of its endpoint."""

from __future__ import annotations

import contextlib
import http.client
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ringforge.serving.calls import Log
from ringforge.serving.published import Published
from tests.psi import loopback
from tests.psi.loopback import Loop


@dataclass(frozen=True)
class Answer:
    """Of an endpoint."""

    status: int
    body: bytes
    headers: dict[str, str]


def ask(address: str, path: str, method: str = "GET", **headers: str) -> Answer:
    """One request; `Host` may be replaced."""
    host, _, port = address.rpartition(":")
    connection = http.client.HTTPConnection(host.strip("[]"), int(port), timeout=30)
    try:
        connection.putrequest(method, path, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        response = connection.getresponse()
        return Answer(response.status, response.read(), dict(response.getheaders()))
    finally:
        connection.close()


@dataclass
class Told:
    """A service with its endpoint."""

    loop: Loop
    published: Published
    directory: Path

    def ask(self, path: str, **headers: str) -> Answer:
        return ask(self.published.metrics, path, **headers)

    def metrics(self) -> dict[tuple[str, ...], float]:
        """Samples by name and labels, read by the library's own parser."""
        return parse(self.ask("/metrics").body)

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.ask("/status").body)
        return found


def parse(text: bytes) -> dict[tuple[str, ...], float]:
    """Samples: name, then values of labels in the order of their names."""
    return {
        (s.name, *(v for _, v in sorted(s.labels.items()))): s.value
        for family in text_string_to_metric_families(text.decode())
        for s in family.samples
    }


@contextlib.contextmanager
def told(folder: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Iterator[Told]:
    """Runs a service that is told of. Options are those of `loopback.loop`."""
    monkeypatch.setenv("RINGFORGE_RUNTIME_DIR", str(folder / "run"))
    with loopback.loop(folder, **options) as loop:
        published = Published(loop.service, "psi", {"device": "scripted"}, "127.0.0.1:0", Log(loop.log), beats=True)
        published.through(loop.running.door)
        published.start(loop.address)
        try:
            yield Told(loop, published, folder / "run")
        finally:
            published.close()
