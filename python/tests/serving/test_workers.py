# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What clients and the log are told when workers of a service's device fail."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from ringforge.devices import Buffer, CpuDevice
from ringforge.errors import ClusterError, Error
from ringforge.psi import Server
from ringforge.psi.remote import Connection, intersect
from ringforge.psi.store import Store
from tests.omr.detecting import HashWorker, key_file, loop, request
from tests.psi.serving import real

WHERE = "the head of the Ray cluster, 10.1.2.3:6379, does not answer any more"


class Lost(CpuDevice):
    """Its workers are gone."""

    def run(self, *_: Any, **__: Any) -> tuple[list[Any | Buffer], Any]:
        raise ClusterError(WHERE)


def told(log: io.StringIO) -> list[str]:
    """What the log says of workers."""
    return [e["why"] for e in map(json.loads, log.getvalue().splitlines()) if e.get("result") == "ClusterError"]


def test_clients_of_a_query_do_not_learn_where_workers_are(tmp_path: Path) -> None:
    Store.build(tmp_path / "table", {b"a": b"1", b"b": b"2"}, log_bins=8)
    with real(Server(tmp_path / "table", device=Lost()), tmp_path) as service:
        with Connection(service.address, timeout=60) as c, pytest.raises(Error, match="tell its operator") as e:
            intersect(c, [b"a"])
        assert "10.1.2.3" not in str(e.value)
        assert told(service.log) == [WHERE]


def test_clients_of_a_job_do_not_learn_where_workers_are(tmp_path: Path) -> None:
    def fail(_: Any) -> None:
        raise ClusterError(WHERE)

    key = key_file(tmp_path)
    with loop(tmp_path, worker=HashWorker(fault=fail)) as service, service.connect() as c:
        c.put_key(key)
        with pytest.raises(Error, match="tell its operator") as e:
            c.watch(c.submit(request(key)))
        assert "10.1.2.3" not in str(e.value)
        assert told(service.log) == [WHERE]
