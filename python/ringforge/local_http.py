# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Parties as processes of one machine that talk over local HTTP: what the services of all systems share.

Servers listen on 127.0.0.1 only and authenticate nobody: demonstrations, not deployments. Bodies go straight into
files, and refusals arrive as the exceptions they were.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from ringforge import errors
from ringforge.errors import Error, FormatError, ParameterError
from ringforge.files import writing

#: Largest body taken, and how much of it is held in memory at a time.
MAX_BODY = 1 << 32
CHUNK = 1 << 20


# ---- servers -------------------------------------------------------------------------------------


class BodyHandler(BaseHTTPRequestHandler):
    """Receives bodies into files, and answers. Derived classes add the routes."""

    protocol_version = "HTTP/1.1"
    server_version = "ringforge"

    @contextlib.contextmanager
    def refusing(self) -> Iterator[None]:
        """Answers with the errors of ours that arise, and with those of storage."""
        try:
            yield
        except Error as e:
            self.close_connection = True
            self.answer(400, f"{type(e).__name__}: {e}".encode())
        except OSError as e:
            self.close_connection = True
            self.answer(500, f"Error: the server cannot store it: {e.strerror}".encode())

    def receive(self, path: Path) -> Path:
        """Stores the body, whole or not at all.

        Raises:
            FormatError: its length is not announced, too large, or not what comes.
        """
        left = self.announced()
        if not left:
            length = self.headers.get("Content-Length", "")
            raise FormatError(f'a body of "{length}" bytes; send Content-Length from 1 to {MAX_BODY}')
        with writing(path) as f:
            while left:
                some = self.rfile.read(min(left, CHUNK))
                if not some:
                    raise FormatError(f"the body ended {left} bytes early")
                f.write(some)
                left -= len(some)
        return path

    def announced(self) -> int:
        """Bytes that the sender announces, or 0 if it says nothing acceptable."""
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdecimal() and len(length) < 20):
            return 0
        return int(length) if int(length) <= MAX_BODY else 0

    def discard(self) -> None:
        """Reads a body that nobody wants, so that the sender is ready to hear why."""
        self.close_connection = True
        left = self.announced()
        while left and (some := self.rfile.read(min(left, CHUNK))):
            left -= len(some)

    def answer(self, code: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        """Sends status, headers and body."""
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Silence: nothing that clients send reaches a log."""


def listen(handler: type[BodyHandler], service: object, port: int = 0, *, until_closed: bool = True) -> None:
    """Serves until interrupted, or with `until_closed` until standard input is closed.

    Handlers find `service` as their attribute. Prints one JSON line with port and process id when it is ready.

    Raises:
        FormatError: there is no such port. OSError: it is taken.
    """
    bound: Any = type("Handler", (handler,), {"service": service})
    try:
        httpd = ThreadingHTTPServer(("127.0.0.1", port), bound)
    except OverflowError:
        raise FormatError(f"port {port} is outside 0 ... 65535") from None
    httpd.daemon_threads = True
    print(json.dumps({"port": httpd.server_address[1], "pid": os.getpid()}), flush=True)

    def stop_with_parent() -> None:
        sys.stdin.buffer.read()
        httpd.shutdown()

    if until_closed:
        threading.Thread(target=stop_with_parent, daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        httpd.serve_forever()
    httpd.server_close()
    del bound.service  # classes live on; what they refer to need not


def say_error(error: Exception) -> None:
    """The one JSON line of a process that cannot do what it was started for."""
    print(json.dumps({"error": " ".join(str(error).split())}), flush=True)


# ---- the other end -------------------------------------------------------------------------------


class Connection:
    """The client's end of the socket.

    Args:
        port: of a server on this machine.
    """

    def __init__(self, port: int) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=3600)

    def close(self) -> None:
        """Ends the connection."""
        self._http.close()

    def request(self, method: str, url: str, path: Path | None = None) -> tuple[bytes, Message]:
        """Sends a file or nothing; returns the answer's body and headers.

        Raises:
            Error: as the server's error is called; `Error` itself when it gives no proper answer.
        """
        try:
            if path is None:
                self._http.request(method, url, headers={"Content-Length": "0"} if method == "POST" else {})
            else:
                with path.open("rb") as f:
                    self._http.request(method, url, f, {"Content-Length": str(path.stat().st_size)})
            response = self._http.getresponse()
            body = response.read()
        except ConnectionRefusedError:
            raise Error(f"nobody listens on port {self._http.port} of this machine: start the server first") from None
        except (http.client.HTTPException, ConnectionError) as e:
            raise Error(f"the server gave no proper answer ({type(e).__name__}): it may have ended") from None
        if response.status != 200:
            raise _refusal(body.decode(errors="replace"))
        return body, response.headers


def _refusal(text: str) -> Error:
    """What a server refused, as the exception it was there."""
    name, _, message = text.partition(": ")
    if message and name in errors.__all__:
        kind: type[Error] = getattr(errors, name)
        return kind(f"the server refused: {message}")
    return Error(f"the server refused: {text}")


@contextlib.contextmanager
def process(module: str, *arguments: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another party: a Python process with these arguments and this folder, and nothing else.

    It is told to end when the block does, by closing its standard input.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(os.path.abspath(p) for p in sys.path if p)}
    started = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        cwd=folder,
    )
    assert started.stdin is not None
    assert started.stdout is not None
    try:
        yield started
    finally:
        started.stdin.close()
        try:
            started.wait(10)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()
        started.stdout.close()


def first_line(started: subprocess.Popen[bytes], who: str) -> dict[str, Any]:
    """The JSON line that a party prints when it is ready.

    Raises:
        ParameterError: it could not start, and says why. Error: it says nothing.
    """
    assert started.stdout is not None
    try:
        answer = dict(json.loads(started.stdout.readline()))
    except (json.JSONDecodeError, TypeError):
        raise Error(f"the {who} process did not start (exit code {started.wait(10)})") from None
    if "error" in answer:
        raise ParameterError(f"the {who}: {answer['error']}")
    return answer
