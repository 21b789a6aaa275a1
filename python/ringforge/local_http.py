# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Parties as processes of one machine that talk over local HTTP: what the services of all systems share.

Servers listen on 127.0.0.1 only and authenticate nobody: what is before them decides who reaches them from elsewhere.
They answer programs of this machine and no web page, take no more than what is needed, and wait for nobody for ever.
Bodies go straight into files, which count only when what they hold was accepted; refusals arrive as the exceptions they
were.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from email.message import Message
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from ringforge import errors
from ringforge.errors import Error, FormatError, ParameterError
from ringforge.files import first_line as reason
from ringforge.files import naming, new_file
from ringforge.local_server import BoundedServer

#: Largest answer taken, and how much of a body is held in memory at a time.
MAX_BODY = 1 << 32
CHUNK = 1 << 20

#: Room in a body for headers of files, beside the objects they hold.
HEADERS = 1 << 16

#: What services ask themselves for, to see whether clients are answered.
READY_PATH = "/.ready"

#: Bytes of a body that nobody wants which are read all the same, so that the sender hears why.
_DISCARDED = 1 << 26


# ---- servers -------------------------------------------------------------------------------------


class Counting(Protocol):
    """What counts calls: `serving.meter.Meter`."""

    def begin(self) -> None:
        """A call begins; `end` must follow."""

    def end(self, method: str, outcome: str, seconds: float) -> None:
        """It has ended."""

    def moved(self, method: str, received: int = 0, sent: int = 0) -> None:
        """Bytes came and went."""


class BodyHandler(BaseHTTPRequestHandler):
    """Receives bodies into files, and answers. Derived classes add the routes. One request for each connection."""

    protocol_version = "HTTP/1.1"
    server_version = "ringforge"

    #: Seconds for the head of a request, and of silence in its body.
    timeout = 30.0

    #: Bytes that a body or an answer must move in a second, all in all, after the first `timeout` seconds.
    pace = 1 << 16

    #: What the service asks itself for, to see whether clients are answered; empty: nothing.
    ready_path = ""

    #: Counts calls, where somebody wants to know.
    meter: Counting | None = None

    # ---- the peer ----

    def setup(self) -> None:
        super().setup()
        self._start, self._counts = time.monotonic(), False
        self._outcome, self._received, self._sent = "gone", 0, 0

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError, TimeoutError):  # the peer has gone: nobody is left to be told
            super().handle()

    def counted_as(self) -> str:
        """A fixed word for what is asked for."""
        return "other"

    def finish(self) -> None:
        if self._counts and self.meter is not None:
            method = self.counted_as()
            self.meter.moved(method, self._received, self._sent)
            self.meter.end(method, self._outcome, time.monotonic() - self._start)
        with contextlib.suppress(OSError):
            super().finish()

    def parse_request(self) -> bool:
        """Reads the head; refuses what does not come from a program on this machine."""
        if not super().parse_request():
            return False
        self.close_connection = True
        if isinstance(self.server, BoundedServer):
            self.server.heard(self.request)
        if self.ready_path and self.path == self.ready_path and not self._foreign():
            self.answer(200, b"ready")
            return False
        if self.meter is not None:
            self.meter.begin()
            self._counts = True
        why = self._foreign()
        if why:
            self.discard()
            self.answer(403, f"Error: {why}".encode())
        return not why

    def _foreign(self) -> str:
        """What shows that a request is a web page's doing, or was meant for another server; empty if nothing does."""
        port = int(self.connection.getsockname()[1])
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or not self.goes_by(hosts[0], port):
            return f"requests must name this server by its address, as in 127.0.0.1:{port}, in one Host header"
        if any(not self.goes_by(o.removeprefix("http://"), port) for o in self.headers.get_all("Origin", [])):
            return "requests that a web page of another origin makes are not answered"
        if self.headers.get("Sec-Fetch-Site", "none") not in {"none", "same-origin"}:
            return "requests that a web page of another site makes are not answered"
        return ""

    def goes_by(self, name: str, port: int) -> bool:
        """Whether requests may call the server so, in their Host header."""
        host, _, said = name.rpartition(":") if ":" in name else (name, ":", "80")
        return host in {"127.0.0.1", "localhost"} and said == str(port)

    def _deadline(self, count: int) -> float:
        return time.monotonic() + self.timeout + count / self.pace

    @contextlib.contextmanager
    def refusing(self) -> Iterator[None]:
        """Answers with the errors of ours that arise, and with those of storage."""
        try:
            yield
        except Error as e:
            self._outcome = type(e).__name__
            self.answer(400, f"{type(e).__name__}: {e}".encode())
            self.discard()
        except (ConnectionError, TimeoutError):
            raise
        except (OSError, MemoryError) as e:
            what = e.strerror if isinstance(e, OSError) and e.strerror else "it has no memory left for it"
            self.answer(
                500, f"StorageError: the server cannot do this now ({what}): see to its disk, ask again".encode()
            )
            self.discard()

    # ---- bodies ----

    @contextlib.contextmanager
    def receiving(self, path: Path, limit: int) -> Iterator[Path]:
        """The body in a temporary file, which takes the name `path` when the block ends without an error.

        So a body that the block refuses leaves the earlier one in its place.

        Args:
            path: its name if it is accepted.
            limit: the most bytes that an acceptable body has.

        Raises:
            FormatError: its length is not announced, too large, or not what comes; or it comes too slowly.
        """
        length = self.announced()
        if not 0 < length <= limit:
            said = self.headers.get("Content-Length", "")[:40]
            raise FormatError(f'a body of "{said}" bytes; send Content-Length from 1 to {limit}')
        with new_file(path, replace=True) as temporary:
            with temporary.open("wb") as f:
                for some in self._body():
                    f.write(some)
            with naming(path):
                yield temporary

    def _body(self) -> Iterator[bytes]:
        """The pieces of the body that are still to come."""
        deadline = self._deadline(self._left())
        while self._left():
            try:
                some = self.rfile.read1(min(self._left(), CHUNK))
            except TimeoutError:
                some = b""
                deadline = 0.0
            if time.monotonic() > deadline:
                self._unread = 0
                raise FormatError(
                    f"the body comes too slowly: {self.timeout:g} s of silence, or below {self.pace} bytes/s"
                )
            if not some:
                left, self._unread = self._left(), 0
                raise FormatError(f"the body ended {left} bytes early")
            self._unread = self._left() - len(some)
            self._received += len(some)
            yield some

    _unread = -1

    def _left(self) -> int:
        """Bytes of the body that have not been read."""
        if self._unread < 0:
            self._unread = self.announced()
        return self._unread

    def announced(self) -> int:
        """Bytes that the sender announces, or 0 if it says nothing acceptable."""
        length = self.headers.get("Content-Length", "")
        return int(length) if length.isascii() and length.isdecimal() and len(length) < 20 else 0

    def discard(self) -> None:
        """Reads what is left of a body that nobody wants, within reason: senders listen when they have sent all."""
        done = 0
        with contextlib.suppress(FormatError, ConnectionError):
            for some in self._body():
                done += len(some)
                if done > _DISCARDED:
                    break

    def answer(self, code: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        """Sends status, headers and body.

        Raises:
            TimeoutError: the peer does not take it.
        """
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        view, deadline = memoryview(body), self._deadline(len(body))
        for at in range(0, len(view), CHUNK):
            if time.monotonic() > deadline:
                raise TimeoutError
            self.wfile.write(view[at : at + CHUNK])
            self._sent += len(view[at : at + CHUNK])
        if self._outcome == "gone":
            self._outcome = "ok" if code == 200 else "refused" if code < 500 else "fault"

    def log_message(self, format: str, *args: Any) -> None:
        """Silence: nothing that clients send reaches a log."""


def listen(
    handler: type[BodyHandler],
    service: object,
    port: int = 0,
    *,
    until_closed: bool = True,
    around: Callable[[str], contextlib.AbstractContextManager[Mapping[str, object]]] | None = None,
) -> None:
    """Serves until interrupted or terminated, or with `until_closed` until standard input is closed.

    Handlers find `service` as their attribute. Prints one JSON line with port and process id when it is ready.
    `around` is called with the address and entered while it serves; what it yields goes into that line.

    Raises:
        FormatError: there is no such port. OSError: it is taken.
    """
    bound: Any = type("Handler", (handler,), {"service": service, "ready_path": READY_PATH})
    try:
        httpd = BoundedServer(("127.0.0.1", port), bound)
    except OverflowError:
        raise FormatError(f"port {port} is outside 0 ... 65535") from None

    def stop_with_parent() -> None:
        # Not by way of `sys.stdin`: its lock, held by a thread that waits, aborts an interpreter that ends.
        with contextlib.suppress(OSError):
            while os.read(0, 1 << 16):
                pass
        httpd.shutdown()

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise KeyboardInterrupt

    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, stop) if main else None
    try:
        address = f"127.0.0.1:{httpd.server_address[1]}"
        with contextlib.suppress(KeyboardInterrupt), around(address) if around else contextlib.nullcontext({}) as more:
            print(json.dumps({"port": httpd.server_address[1], "pid": os.getpid(), **more}), flush=True)
            if until_closed:
                threading.Thread(target=stop_with_parent, daemon=True).start()
            httpd.serve_forever()
    finally:
        if main:
            signal.signal(signal.SIGTERM, before)
        httpd.server_close()
        del bound.service  # classes live on; what they refer to need not


def say_error(error: Exception) -> None:
    """The one JSON line of a process that cannot do what it was started for."""
    print(json.dumps({"error": " ".join(str(error).split())}), flush=True)


# ---- the other end -------------------------------------------------------------------------------


#: Seconds that a client waits for an answer: computing takes long.
_PATIENCE = 3600


def read_report(text: bytes | str) -> dict[str, Any]:
    """The JSON object that a service says what it did with.

    Raises:
        Error: it is none.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise Error(f"the server's report is no JSON ({reason(e)}): is another program listening there?") from None
    if not isinstance(found, dict):
        raise Error("the server's report is no JSON object: is another program listening there?")
    return found


class Connection:
    """The client's end of the socket.

    Args:
        port: of a server on this machine.
    """

    def __init__(self, port: int) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE)

    def close(self) -> None:
        """Ends the connection."""
        self._http.close()

    def request(self, method: str, url: str, path: Path | None = None) -> tuple[bytes, Message]:
        """Sends a file or nothing; returns the answer's body and headers.

        Raises:
            Error: as the server's error is called; `Error` itself when it gives no proper answer.
        """
        where = f"port {self._http.port} of this machine"
        try:
            # A server that refuses a body may not wait for its end: what it said is there all the same.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                if path is None:
                    self._http.request(method, url, headers={"Content-Length": "0"} if method == "POST" else {})
                else:
                    with path.open("rb") as f:
                        self._http.request(method, url, f, {"Content-Length": str(path.stat().st_size)})
            response = self._http.getresponse()
            body = response.read(MAX_BODY)
        except ConnectionRefusedError:
            raise Error(f"nobody listens on {where}: start the server first") from None
        except TimeoutError:
            raise Error(f"the server on {where} has not answered for {_PATIENCE} s: see what it does") from None
        except (http.client.HTTPException, ConnectionError) as e:
            raise Error(f"{where} gave no proper answer ({type(e).__name__}): the server may have ended") from None
        finally:
            self._http.close()
        if response.status != 200:
            raise _refusal(body.decode(errors="replace"))
        return body, response.headers

    def report(self, method: str, url: str, path: Path | None = None) -> dict[str, Any]:
        """The same, for answers that are a JSON object.

        Raises:
            Error: as `request`; or the answer is none, so that another program seems to listen there.
        """
        return read_report(self.request(method, url, path)[0])


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
