# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A server of one program: a process that multiplies matrices it cannot read, over local HTTP.

It is started with a program and nothing else. It takes evaluation keys and encrypted inputs, from whoever has them, and
answers with encrypted outputs. What it receives stays in its folder, for whoever wants to look.
It listens on 127.0.0.1 only and authenticates nobody: a demonstration, not a deployment.

    python -m ringforge.matmul.service --program program.json --folder server

prints one JSON line with its port, and ends when its standard input is closed.

    GET  /program          the program
    POST /keys             evaluation keys
    POST /inputs/NAME      ciphertexts of an input
    POST /run              computes; answers with a report
    GET  /outputs/NAME     ciphertexts of an output
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy.typing as npt

from ringforge import errors
from ringforge.errors import Error, FormatError, MissingKeyError, ParameterError
from ringforge.files import load_vectors, naming
from ringforge.matmul.program import Program
from ringforge.matmul.roles import EvaluationKeys, Parcel, Server
from ringforge.matvec.service import _Handler


class Service:
    """A program with the keys and inputs that have come.

    Args:
        program: what is computed.
        folder: where received and produced files go.
        threads: threads to use.
        plain: the program's plain inputs, the server's own.
    """

    def __init__(
        self, program: Program, folder: Path, threads: int, plain: Mapping[str, npt.ArrayLike] | None = None
    ) -> None:
        self.program, self.folder, self.threads = program, folder, threads
        self.plain = dict(plain or {})
        self._server: Server | None = None
        self._lock = threading.Lock()

    def close(self) -> None:
        """Forgets keys and what was encoded."""
        self._server = None
        del self.program

    def accept_keys(self, path: Path) -> dict[str, Any]:
        """Loads evaluation keys; says how long it took."""
        with self._lock:
            start = time.perf_counter()
            keys = EvaluationKeys.load(path, self.program, self.threads)
            self._server = Server(self.program, keys, threads=self.threads)
        return {"load_seconds": time.perf_counter() - start, "bytes": path.stat().st_size}

    def run(self) -> dict[str, Any]:
        """Computes the outputs from the inputs in the folder; says what it took."""
        with self._lock:
            if self._server is None:
                raise MissingKeyError("no evaluation keys have come: send them first")
            start = time.perf_counter()
            parcels = []
            for spec in self.program.encrypted_inputs:
                path = self.folder / f"{spec.name}.input"
                if not path.exists():
                    raise ParameterError(f"input {spec.name} has not come yet")
                parcels.append(Parcel.load(path, self.program, spec.name, self.threads))
            loaded = time.perf_counter()
            before = self._server.machine.prepare_seconds
            results, report = self._server.run(parcels, self.plain)
            done = time.perf_counter()
            prepared = self._server.machine.prepare_seconds - before
            for name, parcel in results.items():
                parcel.save(self.folder / f"{name}.output", self.program)
        return {
            "read_seconds": loaded - start,
            "encode_seconds": prepared,
            "compute_seconds": done - loaded - prepared,
            "report": asdict(report),
        }


class _ProductHandler(_Handler):
    """The routes above; bodies are received as the matvec service does."""

    service: Service  # type: ignore[assignment]

    def do_GET(self) -> None:  # noqa: N802
        parts = self.path.strip("/").split("/")
        if parts == ["program"]:
            self._answer(200, self.service.program.model_dump_json(exclude_none=True).encode())
        elif len(parts) == 2 and parts[0] == "outputs" and parts[1] in self.service.program.outputs:
            path = self.service.folder / f"{parts[1]}.output"
            if path.exists():
                self._answer(200, path.read_bytes())
            else:
                self._answer(400, b"ParameterError: nothing has been computed yet")
        else:
            self._answer(404, b"there is no such thing here")

    def do_POST(self) -> None:  # noqa: N802
        parts = self.path.strip("/").split("/")
        folder, names = self.service.folder, [x.name for x in self.service.program.encrypted_inputs]
        try:
            if parts == ["keys"]:
                answer = self.service.accept_keys(self._receive(folder / "evaluation.keys"))
            elif len(parts) == 2 and parts[0] == "inputs" and parts[1] in names:
                path = self._receive(folder / f"{parts[1]}.input")
                with naming(path):
                    Parcel.load(path, self.service.program, parts[1], self.service.threads)
                answer = {"bytes": path.stat().st_size}
            elif parts == ["run"]:
                if self._length():
                    self._discard()
                answer = self.service.run()
            else:
                self._discard()
                self._answer(404, b"there is no such input or action")
                return
            self._answer(200, json.dumps(answer).encode())
        except Error as e:
            self.close_connection = True
            self._answer(400, f"{type(e).__name__}: {e}".encode())
        except OSError as e:
            self.close_connection = True
            self._answer(500, f"Error: the server cannot store it: {e.strerror}".encode())


class Connection:
    """The other end of the socket, for key holders and contributors.

    Args:
        port: of a service on this machine.
    """

    def __init__(self, port: int) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=3600)

    def program(self, path: Path) -> Program:
        """Fetches the program, stores and checks it."""
        path.write_bytes(self._request("GET", "/program", None))
        return Program.load(path)

    def send_keys(self, path: Path) -> dict[str, Any]:
        """Sends evaluation keys; returns what the server says of them."""
        return dict(json.loads(self._request("POST", "/keys", path)))

    def send_input(self, name: str, path: Path) -> dict[str, Any]:
        """Sends the ciphertexts of an input."""
        return dict(json.loads(self._request("POST", f"/inputs/{name}", path)))

    def run(self) -> dict[str, Any]:
        """Has the outputs computed; returns the server's report."""
        return dict(json.loads(self._request("POST", "/run", None)))

    def fetch(self, name: str, path: Path) -> int:
        """Stores the ciphertexts of an output; returns bytes."""
        body = self._request("GET", f"/outputs/{name}", None)
        path.write_bytes(body)
        return len(body)

    def close(self) -> None:
        self._http.close()

    def _request(self, method: str, url: str, path: Path | None) -> bytes:
        """Raises: as the server's error is called; Error when it gives no answer."""
        try:
            if path is None:
                self._http.request(method, url, headers={"Content-Length": "0"} if method == "POST" else {})
            else:
                with path.open("rb") as f:
                    self._http.request(method, url, f, {"Content-Length": str(path.stat().st_size)})
            response = self._http.getresponse()
            body = response.read()
        except ConnectionRefusedError:
            raise Error(f"nobody listens on port {self._http.port} of this machine: start `serve` first") from None
        except (http.client.HTTPException, ConnectionError) as e:
            raise Error(f"the server gave no proper answer ({type(e).__name__}): it may have ended") from None
        if response.status != 200:
            name, _, message = body.decode(errors="replace").partition(": ")
            kind = getattr(errors, name, Error) if name in errors.__all__ else Error
            raise kind(f"the server refused: {message or name}")
        return body


def parse_assignment(text: str) -> tuple[str, Path]:
    """NAME=FILE.

    Raises:
        ParameterError: the text is something else.
    """
    name, equals, path = text.partition("=")
    if not (name and equals and path):
        raise ParameterError(f'"{text}" does not say which file is for which input: write NAME=FILE')
    return name, Path(path)


def serve(program: Path, folder: Path, port: int, threads: int, plain: list[str], *, until_closed: bool) -> None:
    """Listens until it is interrupted, or with `until_closed` until standard input is closed.

    Prints one JSON line with port and process id when it is ready.
    """
    loaded = Program.load(program)
    given = {}
    for name, path in map(parse_assignment, plain):
        values = load_vectors(path)
        given[name] = values.reshape(loaded.input(name).shape) if values.size == 1 or 1 in values.shape else values
    folder.mkdir(parents=True, exist_ok=True)
    service = Service(loaded, folder, threads, given)
    handler = type("Handler", (_ProductHandler,), {"service": service})
    try:
        httpd = ThreadingHTTPServer(("127.0.0.1", port), handler)
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
    service.close()
    handler.service = None  # type: ignore[attr-defined]


def main() -> int:
    """Entry point of the server process."""
    parser = argparse.ArgumentParser(prog="ringforge.matmul.service", description=__doc__)
    parser.add_argument("--program", type=Path, required=True, help="the program; public")
    parser.add_argument("--folder", type=Path, required=True, help="where received files go")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--plain", action="append", default=[], help="NAME=FILE of a plain input")
    o = parser.parse_args()
    try:
        serve(o.program, o.folder, o.port, o.threads, o.plain, until_closed=True)
    except (Error, OSError) as e:
        print(json.dumps({"error": " ".join(str(e).split())}), flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
