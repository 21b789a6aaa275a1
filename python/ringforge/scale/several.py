# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A Ray cluster of several node managers on this machine: for measurements, where there are no several machines.

Each node has an object store and workers of its own, and what one needs of another's store travels over the loopback.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringforge.errors import ParameterError
from ringforge.scale.device import RayDevice, open_ray

_TICKS = os.sysconf("SC_CLK_TCK")

#: Seconds between two looks at what stores hold.
_LOOK = 0.2


@dataclass(frozen=True)
class Usage:
    """Of all node managers and workers, so far.

    Attributes:
        cpu_seconds: of the cluster's processes that live. store: bytes of values in the store of the fullest node, the
            most at any of the looks, five a second. received: bytes that node managers received from others; None where
            the system does not tell.
    """

    cpu_seconds: float
    store: int
    received: int | None


class Several:
    """A running cluster.

    Attributes:
        device: that has joined it.
    """

    def __init__(self, device: RayDevice) -> None:
        self.device = device
        self._store, self._ended = 0, threading.Event()
        self._watching = threading.Thread(target=self._watch, name="stores", daemon=True)
        self._watching.start()

    def _watch(self) -> None:
        import ray
        from ray._private.internal_api import node_stats

        nodes = [(n["NodeManagerAddress"], n["NodeManagerPort"]) for n in ray.nodes() if n["Alive"]]  # type: ignore[no-untyped-call]
        while not self._ended.wait(_LOOK):
            for address, port in nodes:
                try:
                    held = node_stats(address, port, False).store_stats.object_store_bytes_used  # type: ignore[no-untyped-call]
                except Exception:  # of many types; a node that does not answer now
                    continue
                self._store = max(self._store, int(held))

    def end(self) -> None:
        """Looks at the stores no more."""
        self._ended.set()
        self._watching.join()

    def usage(self) -> Usage:
        """What the processes have taken."""
        found = _descendants(os.getpid())
        managers = [pid for pid in found if _name(pid) == "raylet"]
        return Usage(sum(map(_cpu_seconds, found)), self._store, _received(managers))


@contextmanager
def several(nodes: int, *, store: int, threads: int = 1, memory: int = 8 << 30) -> Iterator[Several]:
    """A head with one worker, where the driver is, and further nodes with one worker each.

    Args:
        nodes: the head among them. store: bytes of each node's object store. threads: of each worker.
        memory: bytes that each node offers to shards.

    Raises:
        ParameterError: no nodes. Error: Ray is not installed, or the cluster does not start.
    """
    if nodes < 1:
        raise ParameterError(f"a cluster of {nodes} nodes: 1 is the least")
    import ray
    from ray.cluster_utils import Cluster

    from ringforge.scale.cluster import read_settings

    place = Path(tempfile.mkdtemp(prefix="rf-", dir="/tmp"))
    token = place / "token"
    token.touch(0o600)
    token.write_text(secrets.token_hex(32))
    # Ray's utility writes the address of its cluster where programs look for one: not over that of another cluster.
    (place / "ray").mkdir()
    settings = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}
    settings["RAY_TMPDIR"] = str(place)
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    read_settings()
    handler = signal.getsignal(signal.SIGTERM)
    ours: Any = Cluster()
    device = cluster = None
    try:
        given: dict[str, Any] = {"num_cpus": threads, "object_store_memory": store, "memory": memory}
        ours.add_node(**given, include_dashboard=False, temp_dir=str(place / "ray"))
        for _ in range(nodes - 1):
            ours.add_node(**given)
        device = open_ray(ours.address, threads=threads)
        cluster = Several(device)
        yield cluster
    finally:
        if cluster is not None:
            cluster.end()
        if device is not None:
            device.close()
        ray.shutdown()
        ours.shutdown()
        signal.signal(signal.SIGTERM, handler)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        shutil.rmtree(place, ignore_errors=True)


# ---- of processes --------------------------------------------------------------------------------


def _descendants(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        mine = children.get(waiting.pop(), [])
        found += mine
        waiting += mine
    return found


def _stat(pid: int) -> list[str]:
    """The fields behind the name: state, parent, ..."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def _cpu_seconds(pid: int) -> float:
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / _TICKS if fields else 0.0


def _received(pids: list[int]) -> int | None:
    """Bytes over the TCP connections that these processes hold."""
    program = shutil.which("ss")
    if program is None:
        return None
    said = subprocess.run([program, "-tinpH"], capture_output=True, text=True, check=False, timeout=20).stdout
    total, mine = 0, False
    for line in said.splitlines():
        if not line[:1].isspace():
            mine = any(f"pid={pid}," in line for pid in pids)
        if mine and (found := re.search(r"bytes_received:(\d+)", line)):
            total += int(found[1])
    return total
