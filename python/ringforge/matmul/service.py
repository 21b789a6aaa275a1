# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A server of one program: a process that multiplies matrices it cannot read, over local HTTP.

It is started with a program and nothing else. It takes evaluation keys and encrypted inputs, from whoever has them, and
answers with encrypted outputs. What it receives stays in its folder, for whoever wants to look.
It listens on 127.0.0.1 only and authenticates nobody: a tunnel before it decides who reaches it from elsewhere.

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
import json
import math
import sys
import time
import urllib.parse
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy.typing as npt

from ringforge import local_http
from ringforge.errors import Error, MissingKeyError, ParameterError
from ringforge.files import load_vectors, overwriting, writing
from ringforge.local_http import HEADERS, BodyHandler, Counting, listen, say_error
from ringforge.matmul.program import Program
from ringforge.matmul.roles import EvaluationKeys, Parcel, Server
from ringforge.parties import ciphertext_file_bytes, key_file_bytes
from ringforge.serving.local import Told, telling
from ringforge.unique import named_once


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
        self.told = Told("program", "keys", "inputs", "run", "outputs")

    def close(self) -> None:
        """Forgets keys and what was encoded."""
        self._server = None
        del self.program

    def keys_limit(self) -> int:
        """Bytes of the largest file of keys that is taken."""
        return key_file_bytes(self.program) + HEADERS

    def input_limit(self, name: str) -> int:
        """Bytes of the largest file that is taken for an input."""
        spec = self.program.input(name)
        return ciphertext_file_bytes(self.program.context, spec.level, math.prod(spec.ciphertexts)) + HEADERS

    def accept_keys(self, path: Path) -> dict[str, Any]:
        """Loads evaluation keys; says how long it took."""
        with self.told.turn("keys") as progress:
            start = time.perf_counter()
            keys = EvaluationKeys.load(path, self.program, self.threads, progress)
            self._server = Server(self.program, keys, threads=self.threads)
        return {"load_seconds": time.perf_counter() - start, "bytes": path.stat().st_size}

    def run(self) -> dict[str, Any]:
        """Computes the outputs from the inputs in the folder; says what it took."""
        with self.told.turn("run") as progress:
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
            results, report = self._server.run(parcels, self.plain, progress)
            done = time.perf_counter()
            prepared = self._server.machine.prepare_seconds - before
            with overwriting():
                for name, parcel in results.items():
                    parcel.save(self.folder / f"{name}.output", self.program)
        return {
            "read_seconds": loaded - start,
            "encode_seconds": prepared,
            "compute_seconds": done - loaded - prepared,
            "report": asdict(report),
        }


class Handler(BodyHandler):
    """The routes above."""

    service: Service

    @property
    def meter(self) -> Counting:  # type: ignore[override]
        """The service's."""
        return self.service.told.meter

    def counted_as(self) -> str:
        return self.path.strip("/").partition("/")[0]

    def do_GET(self) -> None:  # noqa: N802
        parts = self.path.strip("/").split("/")
        if parts == ["program"]:
            self.answer(200, self.service.program.model_dump_json(exclude_none=True).encode())
        elif len(parts) == 2 and parts[0] == "outputs" and parts[1] in self.service.program.outputs:
            path = self.service.folder / f"{parts[1]}.output"
            with self.refusing():
                if not path.exists():
                    raise ParameterError("nothing has been computed yet")
                self.answer(200, path.read_bytes())
        else:
            self.answer(404, b"there is no such thing here")

    def do_POST(self) -> None:  # noqa: N802
        parts = self.path.strip("/").split("/")
        folder, names = self.service.folder, [x.name for x in self.service.program.encrypted_inputs]
        with self.refusing():
            if parts == ["keys"]:
                with self.receiving(folder / "evaluation.keys", self.service.keys_limit()) as received:
                    answer = self.service.accept_keys(received)
            elif len(parts) == 2 and parts[0] == "inputs" and parts[1] in names:
                limit = self.service.input_limit(parts[1])
                with self.receiving(folder / f"{parts[1]}.input", limit) as received:
                    Parcel.load(received, self.service.program, parts[1], self.service.threads)
                    answer = {"bytes": received.stat().st_size}
            elif parts == ["run"]:
                self.discard()
                answer = self.service.run()
            else:
                self.discard()
                self.answer(404, b"there is no such input or action")
                return
            self.answer(200, json.dumps(answer).encode())


class Connection(local_http.Connection):
    """The other end of the socket, for key holders and contributors."""

    def program(self, path: Path) -> Program:
        """Fetches the program, stores and checks it."""
        with writing(path) as f:
            f.write(self.request("GET", "/program")[0])
        return Program.load(path)

    def send_keys(self, path: Path) -> dict[str, Any]:
        """Sends evaluation keys; returns what the server says of them."""
        return self.report("POST", "/keys", path)

    def send_input(self, name: str, path: Path) -> dict[str, Any]:
        """Sends the ciphertexts of an input."""
        return self.report("POST", f"/inputs/{urllib.parse.quote(name, safe='')}", path)

    def run(self) -> dict[str, Any]:
        """Has the outputs computed; returns the server's report."""
        return self.report("POST", "/run")

    def fetch(self, name: str, path: Path) -> int:
        """Stores the ciphertexts of an output; returns bytes."""
        body = self.request("GET", f"/outputs/{urllib.parse.quote(name, safe='')}")[0]
        with writing(path) as f:
            f.write(body)
        return len(body)


def parse_assignment(text: str) -> tuple[str, Path]:
    """NAME=FILE.

    Raises:
        ParameterError: the text is something else.
    """
    name, equals, path = text.partition("=")
    if not (name and equals and path):
        raise ParameterError(f'"{text}" does not say which file is for which input: write NAME=FILE')
    return name, Path(path)


def serve(
    program: Path,
    folder: Path,
    port: int,
    threads: int,
    plain: list[str],
    *,
    until_closed: bool,
    metrics: str | None = None,
    header: bool | None = None,
) -> None:
    """Listens until it is interrupted, or with `until_closed` until standard input is closed.

    Prints one JSON line with port and process id when it is ready. `metrics`: as `serving.published.Published`;
    `header`: of plain inputs, as of `files.load_table`.
    """
    loaded = Program.load(program)
    given = {}
    for name, path in named_once(map(parse_assignment, plain), "--plain").items():
        values = load_vectors(path, header=header)
        given[name] = values.reshape(loaded.input(name).shape) if values.size == 1 or 1 in values.shape else values
    folder.mkdir(parents=True, exist_ok=True)
    service = Service(loaded, folder, threads, given)
    facts = {"program": loaded.digest[:12], "set": loaded.context.params.name, "device": "cpu"}
    listen(Handler, service, port, until_closed=until_closed, around=telling(service.told, "matmul", facts, metrics))
    service.close()


def main() -> int:
    """Entry point of the server process."""
    parser = argparse.ArgumentParser(prog="ringforge.matmul.service", description=__doc__)
    parser.add_argument("--program", type=Path, required=True, help="the program; public")
    parser.add_argument("--folder", type=Path, required=True, help="where received files go")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--plain", action="append", default=[], help="NAME=FILE of a plain input")
    parser.add_argument("--header", action=argparse.BooleanOptionalAction, help="the first line of CSV is one, or not")
    o = parser.parse_args()
    try:
        serve(o.program, o.folder, o.port, o.threads, o.plain, until_closed=True, header=o.header)
    except (Error, OSError) as e:
        say_error(e)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
