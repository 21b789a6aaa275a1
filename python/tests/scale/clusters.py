# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Ray clusters of this machine: a head without processors, and node managers of their own with one each."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ray
from ray.cluster_utils import Cluster as RaysCluster

from ringforge.devices import open_device
from ringforge.scale.device import RayDevice
from tests.psi.processes import environment

#: Of each node's object store.
STORE = 150_000_000


@contextmanager
def cluster(nodes: int = 3, store: int = STORE, **options: Any) -> Iterator[tuple[RaysCluster, RayDevice]]:
    """A head and nodes with one processor each, and a device that has joined them.

    Args:
        store: bytes of each node's object store. options: of the device.
    """
    place = Path(tempfile.mkdtemp(prefix="rf-", dir="/tmp"))
    # Ray's utility writes the address of its cluster where programs look for one: not over that of another cluster.
    (place / "ray").mkdir()
    settings = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled", "RAY_TMPDIR": str(place)}
    settings["PYTHONPATH"] = environment()["PYTHONPATH"]
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    handler = signal.getsignal(signal.SIGTERM)
    ours: RaysCluster | None = None
    device = None
    try:
        ours = _started(nodes, store, place)
        device = open_device(f"ray:{ours.address}", **options)
        assert isinstance(device, RayDevice)
        yield ours, device
    finally:
        if device is not None:
            device.close()  # type: ignore[attr-defined]
        ray.shutdown()
        if ours is not None:
            ours.shutdown()
        signal.signal(signal.SIGTERM, handler)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        shutil.rmtree(place, ignore_errors=True)


def _started(nodes: int, store: int, place: Path) -> RaysCluster:
    """A cluster, at the third attempt at the latest: Ray gives each process of its nodes 30 s to begin, which a machine
    that does much else may not."""
    for attempt in range(3):
        ours = RaysCluster()
        try:
            ours.add_node(
                num_cpus=0, object_store_memory=store, include_dashboard=False, temp_dir=str(place / f"ray{attempt}")
            )
            for _ in range(nodes):
                ours.add_node(num_cpus=1, object_store_memory=store, memory=max(4 << 30, 3 * store))
        except Exception as e:
            ours.shutdown()
            if "timed out" not in str(e) or attempt == 2:
                raise
        else:
            return ours
    raise AssertionError
