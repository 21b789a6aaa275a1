# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The cluster of this process: started here, or joined. A process has one at a time, which is Ray's rule."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import signal
import socket
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringforge.errors import Error, ParameterError

try:
    import ray
except ImportError as e:
    raise Error("devices of kind ray need Ray, which is not installed: pip install 'ringforge-he[ray]'") from e

_LOCK = threading.RLock()
_JOINED: Cluster | None = None

#: Of a socket's name there may be 107 bytes, of which Ray takes this many.
_RAYS_PART = 75


@dataclass(frozen=True)
class Node:
    """A node of the cluster: its id, address, processors, bytes for tasks and of its object store."""

    id: str
    address: str
    cpus: int
    memory: int
    store: int


class Cluster:
    """Ray, as this process has it.

    Args:
        address: `local`, `auto`, HOST:PORT. cpus, store: of a local node: processors, bytes of the object store.

    Raises:
        Error: there is no such cluster, or it does not let us in.
    """

    def __init__(self, address: str, cpus: int | None, store: int | None) -> None:
        self.address, self.pid = address, os.getpid()
        self.own = not ray.is_initialized()
        self._place: Path | None = None
        if self.own:
            self._start(cpus, store)
        self.home: str = ray.get_runtime_context().get_node_id()
        self._gcs: str = ray.get_runtime_context().gcs_address
        self._seen = 0.0
        self.nodes = self._look()

    def _start(self, cpus: int | None, store: int | None) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        given: dict[str, Any] = {}
        if self.address == "local":
            _guard()
            self._place = _private_place()
            given = {"num_cpus": cpus or len(os.sched_getaffinity(0)), "object_store_memory": store}
            given |= {"include_dashboard": False, "_temp_dir": str(self._place / "ray")}
        handler = signal.getsignal(signal.SIGTERM)
        try:
            ray.init(address=self.address, log_to_driver=False, logging_level=logging.ERROR, **given)
        except Exception as e:  # of many types
            self._forget()
            raise Error(
                f"the Ray cluster {self.address} cannot be joined ({type(e).__name__}: {str(e).splitlines()[0]}): see "
                "that its head runs, that Ray and Python have the same versions here as there, and, where it wants a "
                "token, that RAY_AUTH_TOKEN_PATH names its file"
            ) from e
        finally:
            # Ray puts a handler of its own; services have theirs.
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGTERM, handler)

    def _forget(self) -> None:
        if self._place is not None:
            shutil.rmtree(self._place, ignore_errors=True)

    def look(self) -> list[Node]:
        """The nodes that are alive, as of a second ago.

        Raises:
            Error: the cluster does not answer any more.
        """
        with _LOCK:
            if time.monotonic() - self._seen > 1:
                self.nodes = self._look()
            return self.nodes

    def _look(self) -> list[Node]:
        self.answers()
        found = []
        nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
        for node in nodes:
            r = node["Resources"]
            if node["Alive"]:
                found.append(
                    Node(
                        node["NodeID"],
                        node["NodeManagerAddress"],
                        int(r.get("CPU", 0)),
                        int(r.get("memory", 0)),
                        int(r.get("object_store_memory", 0)),
                    )
                )
        self._seen = time.monotonic()
        return found

    def answers(self) -> None:
        """Asks whether the head is there, in a way that cannot hang.

        Raises:
            Error: it is not.
        """
        self.same_process()
        host, _, port = self._gcs.rpartition(":")
        for attempt in range(3):
            try:
                socket.create_connection((host.strip("[]"), int(port)), timeout=2).close()
                return
            except OSError:
                time.sleep(attempt * 0.5)
        raise Error(
            f"the head of the Ray cluster, {self._gcs}, does not answer any more: what was computed there is lost; "
            "start the cluster anew, then this program"
        )

    def same_process(self) -> None:
        """Raises:
        Error: this is a forked child, or the cluster has been left."""
        if os.getpid() != self.pid:
            raise Error(
                f"the Ray cluster was joined by process {self.pid}, of which this is a fork: open the device in the "
                "child alone, or start children by spawn"
            )
        if not ray.is_initialized():
            raise Error(f"the Ray cluster {self.address} has been left: open the device anew")

    def leave(self) -> None:
        """Leaves the cluster; one that was started here ends."""
        global _JOINED
        with _LOCK:
            if _JOINED is self:
                _JOINED = None
            if self.own and os.getpid() == self.pid:
                ray.shutdown()
                self._forget()


def join(address: str, cpus: int | None = None, store: int | None = None) -> Cluster:
    """The cluster of this process.

    Raises:
        ParameterError: the process has joined another one. Error: there is none at this address.
    """
    global _JOINED
    with _LOCK:
        if _JOINED is not None:
            _JOINED.same_process()
            if _JOINED.address != address:
                raise ParameterError(
                    f"this process has joined the Ray cluster {_JOINED.address}, and can have one at a time: close the "
                    f"device of it before you open ray:{address}"
                )
            return _JOINED
        if ray.is_initialized() and address == "local":
            raise ParameterError("this program has joined a Ray cluster of its own already: ray:auto uses it")
        _JOINED = Cluster(address, cpus, store)
        return _JOINED


def _guard() -> None:
    """Has Ray ask for a token that this process alone knows: it listens on all interfaces, and whoever can talk to it
    can run programs as this user."""
    if os.environ.setdefault("RAY_AUTH_MODE", "token") == "token":
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        # Ray read its settings when it was imported.
        settings: Any = ray._raylet
        settings.Config.initialize("")
        settings.AuthenticationTokenLoader.instance().reset_cache()


def _private_place() -> Path:
    """A new directory that no other user can enter: Ray makes its own ones open to all."""
    place = Path(tempfile.mkdtemp(prefix="ringforge-"))
    if len(os.fsencode(place)) + _RAYS_PART > 107:
        place.rmdir()
        place = Path(tempfile.mkdtemp(prefix="ringforge-", dir="/tmp"))
    return place
