# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Small web servers for those who run services: endpoints of metrics, and the page. They answer GET only."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ringforge.errors import Error, ParameterError
from ringforge.local_http import BodyHandler
from ringforge.local_server import BoundedServer
from ringforge.serving.access import is_local, split_address

#: Connections at a time. One more closes the one that has been silent the longest.
_MOST = 32

#: Path to what answers it: status, type of contents, contents.
Routes = Mapping[str, Callable[[], tuple[int, str, bytes]]]

_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}


def metrics_address(text: str) -> str:
    """HOST:PORT of an endpoint; a port alone is this machine's.

    Raises:
        ParameterError: it is neither.
    """
    text = f"127.0.0.1:{text}" if text.isascii() and text.isdecimal() else text
    split_address(text)
    return text


def shown(host: str, port: int) -> str:
    """HOST:PORT, IPv6 addresses in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class _Handler(BodyHandler):
    timeout = 10.0
    service: Web

    def goes_by(self, name: str, port: int) -> bool:
        return self.service.goes_by(name, port)

    def do_GET(self) -> None:  # noqa: N802
        route = self.service.routes.get(self.path.partition("?")[0])
        if route is None:
            self.answer(404, b"there is no such page\n", {**_HEADERS, "Content-Type": "text/plain; charset=utf-8"})
            return
        code, kind, body = route()
        self.answer(code, body, {**_HEADERS, "Content-Type": kind})

    def _refuse(self) -> None:
        self.discard()
        self.answer(405, b"" if self.command == "HEAD" else b"only GET is answered\n", {**_HEADERS, "Allow": "GET"})

    do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = _refuse  # noqa: N815


class _Server(BoundedServer):
    most = _MOST

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Silence: a peer that goes away is none of the operator's concern."""


class Web:
    """A server of pages, in threads of its own from `start` to `close`.

    On an address of this machine alone, requests must name it: so no web page reaches it under a name of its own.

    Args:
        address: HOST:PORT; port 0 takes a free one. routes: what is answered.
        option: that names the address, for messages. any_name: on other addresses, whether requests may name the
        server by any host name, not only by its address and HOST: pages of others could then read it.

    Raises:
        ParameterError: no address. Error: nothing can listen there.
    """

    def __init__(self, address: str, routes: Routes, option: str, any_name: bool = False) -> None:
        self.routes = routes
        host, port = split_address(address)
        self._host, self._local = host.strip("[]"), is_local(host)
        self._any = any_name and not self._local
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        bound: Any = type("Handler", (_Handler,), {"service": self})
        try:
            self._httpd = _Server((self._host, port), bound, family)
        except OSError as e:
            raise Error(
                f"cannot listen at {address} ({e.strerror or type(e).__name__}): choose another address with {option}"
            ) from None
        self.port = int(self._httpd.server_address[1])
        self.address = shown(self._host, self.port)
        self._thread: threading.Thread | None = None

    def goes_by(self, name: str, port: int) -> bool:
        """Whether requests may call the server so. Whoever makes a name of theirs point here (DNS rebinding) cannot
        do so with an address.
        """
        if self._any:
            return True
        try:
            host, said = split_address(name if ":" in name.rpartition("]")[2] else f"{name}:80")
        except ParameterError:
            return False
        host = host.strip("[]").lower()
        ours = host == self._host.lower() or is_local(host) or (_is_address(host) and not self._local)
        return ours and said == port

    def start(self) -> None:
        """Answers, in a thread."""
        self._thread = threading.Thread(target=self._httpd.serve_forever, args=(0.1,), name="web", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Answers no more."""
        if self._thread is not None:
            self._httpd.shutdown()
            self._thread.join()
        self._httpd.server_close()


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


@contextlib.contextmanager
def serving(web: Web) -> Iterator[Web]:
    """Answers while the block runs."""
    web.start()
    try:
        yield web
    finally:
        web.close()
