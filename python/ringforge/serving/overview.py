# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What is known of services: those that left files in the runtime directory, and others by the address of their
endpoint."""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import re
import socket
import threading
import time
import urllib.parse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ringforge.errors import Error, FormatError, ParameterError
from ringforge.files import first_line
from ringforge.serving import runtime
from ringforge.serving.status import MAX_BYTES, Method, Status, Task

#: Seconds between two questions to an endpoint, for one of them, and after which a file's service is called silent.
_EVERY, _PATIENCE, _SILENT = 2.0, 5.0, 20.0

#: Seconds for which one look at the files answers all who ask.
_FRESH = 0.25

#: Parts of calls for which times are told.
QUANTILES = (0.5, 0.9, 0.99)


class Endpoint:
    """A service elsewhere, asked again and again in a thread.

    Args:
        url: http://HOST:PORT of its --metrics.

    Raises:
        ParameterError: it is none.
    """

    def __init__(self, url: str) -> None:
        parts = urllib.parse.urlsplit(url if "://" in url else f"http://{url}")
        try:
            port = parts.port
        except ValueError:
            port = None
        host = parts.hostname or ""
        if (
            parts.scheme != "http"
            or port is None
            or not _is_host(host)
            or parts.path.strip("/")
            or parts.query
            or parts.username is not None
        ):
            raise ParameterError(f'"{url[:200]}" is no endpoint of a service: write http://HOST:PORT, as its --metrics')
        self._host, self._port = host, port
        self.name = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._lock = threading.Lock()
        self._asked, self._status, self._trouble = 0.0, None, "it has not answered yet"
        self._over = threading.Event()
        threading.Thread(target=self._run, name="endpoint", daemon=True).start()

    _status: Status | None

    def _run(self) -> None:
        while True:
            try:
                found, trouble = Status.from_json(self._ask(), self.name), ""
            except FormatError as e:
                found, trouble = None, str(e)
            except (OSError, http.client.HTTPException, Error) as e:
                words = getattr(e, "strerror", None) or first_line(e)
                found, trouble = None, f"no answer ({words})"
            with self._lock:
                if found is not None:
                    self._asked, self._status = time.time(), found
                self._trouble = trouble
            if self._over.wait(_EVERY):
                return

    def _ask(self) -> bytes:
        """What it says; whatever it does, this ends in time, and takes no more than it must."""
        until = time.monotonic() + _PATIENCE
        connection = http.client.HTTPConnection(self._host, self._port, timeout=_PATIENCE)
        watch = threading.Timer(_PATIENCE, lambda: _hang_up(connection))
        watch.daemon = True
        watch.start()
        try:
            connection.request("GET", "/status")
            response = connection.getresponse()
            data = response.read(MAX_BYTES + 1)
            if response.status != 200:
                raise FormatError(f"{self.name} answers with HTTP status {response.status}: it is no endpoint of ours")
            return data
        except (OSError, http.client.HTTPException):
            if time.monotonic() >= until:
                raise TimeoutError(f"it took longer than {_PATIENCE:.0f} s") from None
            raise
        finally:
            watch.cancel()
            connection.close()

    def known(self) -> dict[str, Any]:
        """For the page."""
        with self._lock:
            asked, status, trouble = self._asked, self._status, self._trouble
        state = "unreachable" if status is None or trouble else _state(status)
        return _entry(f"url {self.name}", self.name, state, asked, status, trouble)

    def close(self) -> None:
        """Asks no more."""
        self._over.set()


def _hang_up(connection: http.client.HTTPConnection) -> None:
    sock = connection.sock
    if sock is not None:
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)


def _is_host(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return re.fullmatch(r"[A-Za-z0-9._-]{1,253}", host) is not None
    return True


class Overview:
    """All services that are known.

    Args:
        directory: the runtime directory. urls: of endpoints elsewhere.

    Raises:
        ParameterError: an URL is none.
    """

    def __init__(self, directory: Path, urls: Sequence[str] = ()) -> None:
        self._directory = directory
        self._endpoints = [Endpoint(url) for url in dict.fromkeys(urls)]
        self._lock = threading.Lock()
        self._last: tuple[float, dict[str, Any]] | None = None

    def close(self) -> None:
        """Asks nobody any more."""
        for e in self._endpoints:
            e.close()

    def known(self) -> dict[str, Any]:
        """For the page: what there is, those that run first."""
        with self._lock:
            now = time.monotonic()
            if self._last is None or now - self._last[0] > _FRESH:
                self._last = (now, self._look())
            return self._last[1]

    def _look(self) -> dict[str, Any]:
        trouble, services = "", []
        try:
            services = [_of_file(f) for f in runtime.found(self._directory)]
        except (Error, OSError) as e:
            trouble = str(e) if isinstance(e, Error) else f"{self._directory}: {e.strerror}"
        # Another service may listen now where one ended.
        by_file = {s["metrics"] for s in services if s["metrics"] and s["state"] != "dead"}
        services += [e.known() for e in self._endpoints if e.name not in by_file]
        services.sort(key=lambda s: (s["state"] in ("dead", "unreachable"), s["service"], s["address"], s["id"]))
        return {"now": time.time(), "directory": str(self._directory), "trouble": trouble, "services": services}


def _of_file(f: runtime.Found) -> dict[str, Any]:
    state = "dead"
    if f.alive:
        state = "silent" if f.status is None or time.time() - f.written > _SILENT else _state(f.status)
    return _entry(f"file {f.name}", f.name, state, f.written, f.status, f.trouble)


def _state(status: Status) -> str:
    return "silent" if status.beat > _SILENT else status.state


def _entry(id: str, name: str, state: str, told: float, status: Status | None, trouble: str) -> dict[str, Any]:
    """One service, with all that the page shows, computed."""
    entry: dict[str, Any] = {"id": id, "state": state, "told": told, "trouble": trouble}
    if status is None:
        return {**entry, "service": name, "address": "", "metrics": "", "known": False}
    load = status.load
    return {
        **entry,
        "known": True,
        "service": status.service,
        "address": status.address,
        "metrics": status.metrics,
        "pid": status.pid,
        "started": status.started,
        "facts": status.facts,
        "resident": status.resident,
        "under_way": load.under_way,
        "queues": {k: q.model_dump() for k, q in load.queues.items()},
        "uses": {k: u.model_dump() for k, u in load.uses.items()},
        "quotas": {k: a.model_dump() for k, a in load.quotas.items()},
        "work": [_task(t) for t in load.work],
        "methods": {k: _method(m) for k, m in load.methods.items() if m.outcomes or m.received},
    }


def _task(t: Task) -> dict[str, Any]:
    return t.model_dump()


def _method(m: Method) -> dict[str, Any]:
    return {
        "outcomes": m.outcomes,
        "received": m.received,
        "sent": m.sent,
        "times": [m.quantile(q) for q in QUANTILES],
    }
