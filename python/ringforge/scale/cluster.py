# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The cluster of this process: started here, or joined. A process has one at a time, which is Ray's rule."""

from __future__ import annotations

import atexit
import logging
import os
import secrets
import shutil
import signal
import socket
import tempfile
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringforge.errors import ClusterError, Error, ParameterError

try:
    import ray
except ImportError as e:
    raise Error("devices of kind ray need Ray, which is not installed: pip install 'ringforge-he[ray]'") from e

_LOCK = threading.RLock()
_JOINED: Cluster | None = None

#: Seconds that the head has to say which nodes there are.
_SILENT = 10.0

#: Of a socket's name there may be 107 bytes, of which Ray takes this many.
_RAYS_PART = 75


class _SlowError(Error):
    """A node of this process was not there in time."""


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
        self.address, self.pid, self.asked = address, os.getpid(), (cpus, store)
        self.own = not ray.is_initialized()
        self.users = 0
        self._place: Path | None = None
        self._guarded: dict[str, str | None] = {}
        if self.own:
            try:
                self._start(cpus, store)
            except _SlowError:  # Ray waits 30 s for it; the second time, files have been read already
                self._start(cpus, store)
        try:
            self.home: str = ray.get_runtime_context().get_node_id()
            self._gcs: str = ray.get_runtime_context().gcs_address
            self._identity = _identity()
            self._seen = self._silent = 0.0
            self.nodes = self._look()
        except BaseException:
            if self.own:
                ray.shutdown()
                self._forget()
            raise

    def _start(self, cpus: int | None, store: int | None) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        given: dict[str, Any] = {}
        if self.address == "local":
            self._guarded = _guard()
            self._place = _private_place()
            atexit.register(self._leave_at_exit)
            given = {"num_cpus": cpus or len(os.sched_getaffinity(0)), "object_store_memory": store}
            given |= {"include_dashboard": False, "_temp_dir": str(self._place / "ray")}
        handler = signal.getsignal(signal.SIGTERM)
        try:
            ray.init(address=self.address, log_to_driver=False, logging_level=logging.ERROR, **given)
        except Exception as e:  # of many types
            self._forget()
            if self.address == "local":
                slow = "timed out" in str(e)
                raise (_SlowError if slow else Error)(
                    f"the node of ray:local did not start ({type(e).__name__}: {_first_line(e)}): see that this "
                    "machine is not overloaded, that /dev/shm has room for its object store (ray:local?store=BYTES "
                    "takes less) and the directory of temporary files for its logs, then start again"
                ) from e
            raise Error(
                f"the Ray cluster {self.address} cannot be joined ({type(e).__name__}: {_first_line(e)}): see "
                "that its head runs, that Ray and Python have the same versions here as there, and, where it wants a "
                "token, that RAY_AUTH_TOKEN_PATH names its file"
            ) from e
        finally:
            # Ray puts a handler of its own; services have theirs.
            if threading.current_thread() is threading.main_thread() and handler is not None:
                signal.signal(signal.SIGTERM, handler)

    def _forget(self) -> None:
        """Takes away what was made for a cluster of this process alone: its directory, and its token."""
        atexit.unregister(self._leave_at_exit)
        if self._place is not None:
            _end_processes(self._place)
            shutil.rmtree(self._place, ignore_errors=True)
        _restore(self._guarded)
        self._guarded = {}

    def _leave_at_exit(self) -> None:
        if os.getpid() == self.pid:
            self.users = 0
            self.leave()

    def look(self) -> list[Node]:
        """The nodes that are alive, as of a second ago.

        Raises:
            ClusterError: the cluster does not answer any more.
        """
        with _LOCK:
            if time.monotonic() - self._seen > 1:
                self.nodes = self._look()
            return self.nodes

    def _look(self) -> list[Node]:
        self.answers()
        found = []
        for node in self._asked():
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

    def _asked(self) -> list[dict[str, Any]]:
        """What Ray says of the nodes. Its call has no end where a head takes connections and says nothing."""
        said: Future[list[dict[str, Any]]] = Future()

        def ask() -> None:
            try:
                said.set_result(ray.nodes())  # type: ignore[no-untyped-call]
            except BaseException as e:
                said.set_exception(e)

        try:
            if time.monotonic() < self._silent:
                raise TimeoutError
            threading.Thread(target=ask, name="nodes", daemon=True).start()
            return said.result(_SILENT)
        except TimeoutError:
            if time.monotonic() >= self._silent:  # who asks next is told at once
                self._silent = time.monotonic() + _SILENT / 2
            raise ClusterError(
                f"the head of the Ray cluster, {self._gcs}, has been silent for {_SILENT:.0f} s: see that it is not "
                "stopped or overloaded, then ask again"
            ) from None

    def answers(self) -> None:
        """Asks whether the head is there, in a way that cannot hang.

        Raises:
            ClusterError: it is not.
        """
        self.same_process()
        host, _, port = self._gcs.rpartition(":")
        for attempt in range(3):
            try:
                socket.create_connection((host.strip("[]"), int(port)), timeout=2).close()
                return
            except OSError:
                time.sleep(attempt * 0.5)
        raise ClusterError(
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
        if not self.joined:
            raise ClusterError(
                f"the Ray cluster {self.address} has been left: open the device anew, and prepare there what was "
                "prepared here"
            )

    @property
    def joined(self) -> bool:
        """Whether Ray of this process is still in it: programs can leave it without us, and join it again, when what
        was stored is gone."""
        return ray.is_initialized() and _identity() == self._identity

    def leave(self) -> None:
        """Leaves the cluster when its last user does; one that was started here ends."""
        global _JOINED
        if os.getpid() != self.pid:  # the lock is another process's, too
            return
        with _LOCK:
            self.users -= 1
            if self.users > 0:
                return
            if _JOINED is self:
                _JOINED = None
            if self.own:
                if self.joined:
                    ray.shutdown()
                self._forget()


def join(address: str, cpus: int | None = None, store: int | None = None) -> Cluster:
    """The cluster of this process, with one user more: each calls `Cluster.leave` once.

    Raises:
        ParameterError: the process has joined another one, or started it otherwise. Error: there is none at this
        address.
    """
    global _JOINED
    with _LOCK:
        if _JOINED is not None and _JOINED.pid == os.getpid() and not _JOINED.joined:
            _JOINED.users = 0
            _JOINED.leave()
        if _JOINED is not None:
            _JOINED.same_process()
            if _JOINED.address != address:
                raise ParameterError(
                    f"this process has joined the Ray cluster {_JOINED.address}, and can have one at a time: close the "
                    f"device of it before you open ray:{address}"
                )
            if any(given not in (None, has) for given, has in zip((cpus, store), _JOINED.asked, strict=True)):
                raise ParameterError(
                    "this process has started its node of ray:local with other cpus or another store: take the same "
                    "for all devices, or close those that are open"
                )
            _JOINED.users += 1
            return _JOINED
        if ray.is_initialized() and address == "local":
            raise ParameterError("this program has joined a Ray cluster of its own already: ray:auto uses it")
        _JOINED = Cluster(address, cpus, store)
        _JOINED.users = 1
        return _JOINED


def _guard() -> dict[str, str | None]:
    """Has Ray ask for a token that this process alone knows: it listens on all interfaces, and whoever can talk to it
    can run programs as this user. Returns what the environment had before."""
    before = {name: os.environ.get(name) for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN")}
    if os.environ.setdefault("RAY_AUTH_MODE", "token") == "token":
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        read_settings()
    return before


def _restore(before: dict[str, str | None]) -> None:
    """Puts the environment back: the token of a node that has ended opens no other cluster."""
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    if before:
        read_settings()


def read_settings() -> None:
    """Ray read its settings when it was imported."""
    settings: Any = ray._raylet
    settings.Config.initialize("")
    settings.AuthenticationTokenLoader.instance().reset_cache()


def _identity() -> tuple[str, str]:
    """Of what Ray has joined: its node, and what the cluster calls this program. Each alone may come again."""
    here = ray.get_runtime_context()
    return here.get_node_id(), here.get_job_id()


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), "no reason given")


def _end_processes(place: Path) -> None:
    """Ends what Ray has started in this directory: a node that did not start in time is left running. What begins just
    then has no command line for a moment, or is begun by what is ended: two looks in turn find nothing."""
    quiet = 0
    for _ in range(40):
        quiet = 0 if _kill(place) else quiet + 1
        if quiet == 2:
            return
        time.sleep(0.05)


def _kill(place: Path) -> bool:
    """Kills processes whose command lines name the directory; says whether there were any."""
    found = False
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with suppress(OSError):
                if f"{place}/".encode() in (entry / "cmdline").read_bytes():
                    os.kill(int(entry.name), signal.SIGKILL)
                    found = True
    return found


def _private_place() -> Path:
    """A new directory that no other user can enter: Ray makes its own ones open to all."""
    place = Path(tempfile.mkdtemp(prefix="ringforge-"))
    if len(os.fsencode(place)) + _RAYS_PART > 107:
        place.rmdir()
        place = Path(tempfile.mkdtemp(prefix="ringforge-", dir="/tmp"))
    return place
