# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The server of the demo: a process of its own that computes on what it cannot read, over local HTTP.

It is started with a model and nothing else. It compiles programs and publishes them, takes evaluation keys,
and answers ciphertexts with ciphertexts. What it receives stays in its folder, for whoever wants to look.
It listens on 127.0.0.1 only and authenticates nobody: a demonstration, not a deployment.

    python -m ringforge.matvec.service --model model.onnx --batches 1,64 --folder server

prints one JSON line with its port, and ends when its standard input is closed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy.typing as npt

from ringforge import params as parameter_sets
from ringforge.devices import Report
from ringforge.errors import Error, MissingKeyError, ShapeError
from ringforge.files import load_table, overwriting
from ringforge.local_http import HEADERS, BodyHandler, Counting, listen, say_error
from ringforge.matvec.compiler import compile_model
from ringforge.matvec.model import Sequential
from ringforge.matvec.model_files import load_model
from ringforge.matvec.program import Program
from ringforge.matvec.roles import EncryptedVectors, EvaluationKeys, Server
from ringforge.parties import ciphertext_file_bytes, key_file_bytes
from ringforge.serving.local import Told, telling

REPORT_HEADER = "Ringforge-Report"

#: Groups of vectors in one request.
MAX_GROUPS = 1024


class Service:
    """Programs of one model, with the keys of one client.

    Args:
        model: the layers, in the clear: the server's own.
        programs: by name, what clients may ask for.
        folder: where received and produced files go.
        threads: threads for evaluation.
    """

    def __init__(self, model: Sequential, programs: Mapping[str, Program], folder: Path, threads: int) -> None:
        self.model = model
        self.programs = dict(programs)
        self.folder = folder
        self.threads = threads
        self._servers: dict[str, Server] = {}
        self.told = Told("program", "keys", "evaluate")

    def close(self) -> None:
        """Forgets keys, programs and encoded models."""
        self._servers.clear()
        self.programs.clear()

    def limit(self, name: str, action: str) -> int:
        """Bytes of the largest file that is taken, of keys or of ciphertexts."""
        program = self.programs[name]
        if action == "keys":
            return (0 if program.backend == "clear" else key_file_bytes(program)) + HEADERS
        count = MAX_GROUPS * len(program.plans[0].packing.blocks)
        if program.backend == "clear":
            return count * 8 * (program.context.params.slots + 3) + HEADERS
        return ciphertext_file_bytes(program.context, program.input_level, count) + HEADERS

    def accept_keys(self, name: str, path: Path) -> dict[str, Any]:
        """Loads a client's evaluation keys and encodes the model for them; says how long each took."""
        program = self.programs[name]
        with self.told.turn("keys") as progress:
            start = time.perf_counter()
            keys = EvaluationKeys.load(path, program, self.threads)
            loaded = time.perf_counter() - start
            server = Server(self.model, program, keys, threads=self.threads, progress=progress)
            self._servers[name] = server
        return {
            "load_seconds": loaded,
            "encode_seconds": server.prepare_seconds,
            "device": server.device_name,
        }

    def evaluate(self, name: str, source: Path, target: Path) -> tuple[dict[str, Any], bytes]:
        """Ciphertexts in, ciphertexts out: what it took, and what `target` holds then."""
        with self.told.turn("evaluate") as progress:
            server = self._servers.get(name)
            if server is None:
                raise MissingKeyError(f'no evaluation keys for program "{name}": send them first')
            start = time.perf_counter()
            inputs = EncryptedVectors.load(source, server.program, "input", self.threads)
            loaded = time.perf_counter()
            outputs, layers = server.evaluate_layers(inputs, progress)
            evaluated = time.perf_counter()
            with overwriting():
                outputs.save(target, server.program)
            saved = time.perf_counter()
            results = target.read_bytes()
        report = {
            "read_seconds": loaded - start,
            "evaluate_seconds": evaluated - loaded,
            "write_seconds": saved - evaluated,
            "groups": len(inputs.groups),
            "layers": [[layer, asdict(report)] for layer, report in layers],
        }
        return report, results


def layer_reports(answer: Mapping[str, Any]) -> list[tuple[str, Report]]:
    """The reports in an answer to `evaluate`."""
    return [(str(name), Report(**report)) for name, report in answer["layers"]]


class Handler(BodyHandler):
    """GET a program; POST keys or ciphertexts to one."""

    service: Service

    @property
    def meter(self) -> Counting:  # type: ignore[override]
        """The service's."""
        return self.service.told.meter

    def counted_as(self) -> str:
        parts = self.path.strip("/").split("/")
        return "program" if len(parts) == 2 else parts[-1]

    def do_GET(self) -> None:  # noqa: N802
        parts = self.path.strip("/").split("/")
        if len(parts) == 2 and parts[0] == "programs" and parts[1] in self.service.programs:
            self.answer(200, self.service.programs[parts[1]].model_dump_json().encode())
        else:
            self.answer(404, b"there is no such program")

    def do_POST(self) -> None:  # noqa: N802
        parts = self.path.strip("/").split("/")
        known = len(parts) == 3 and parts[0] == "programs" and parts[1] in self.service.programs
        if not known or parts[2] not in {"keys", "evaluate"}:
            self.discard()
            self.answer(404, b"there is no such program or action")
            return
        _, name, action = parts
        with self.refusing():
            folder = self.service.folder
            with self.receiving(folder / f"{name}.{action}", self.service.limit(name, action)) as received:
                if action == "keys":
                    report, results = self.service.accept_keys(name, received), b""
                else:
                    report, results = self.service.evaluate(name, received, folder / f"{name}.results")
            if action == "keys":
                self.answer(200, json.dumps(report).encode())
            else:
                self.answer(200, results, {REPORT_HEADER: json.dumps(report)})


def make_programs(
    model: Sequential, parameters: str, batches: Sequence[int], samples: npt.ArrayLike | None = None
) -> dict[str, Program]:
    """A program per batch size, all with the same parameters: "single" for one vector, "batch" for more.

    A batch of 0 stands for as many vectors as fit beside each other. With samples, bounds are measured on them.
    """
    first = compile_model(model, None if parameters == "auto" else parameter_sets.named(parameters), samples=samples)
    chosen = first.program.context.params
    widest = max(max(s.rows, s.cols) for s in first.program.linear_steps)
    largest = chosen.slots >> (widest - 1).bit_length()
    if largest < 1:
        raise ShapeError(f"{chosen.name} has {chosen.slots} slots, the widest layer has {widest} values")
    out = {}
    for batch in batches:
        size = batch or largest
        out["single" if size == 1 else "batch"] = compile_model(model, chosen, batch=size, samples=samples).program
    return out


def main() -> int:
    """Entry point of the server process."""
    parser = argparse.ArgumentParser(prog="ringforge.matvec.service", description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="the server's model")
    parser.add_argument("--params", default="auto", help="parameter set, or auto")
    parser.add_argument("--batches", default="1,0", help="batch sizes, 0 for the largest")
    parser.add_argument("--folder", type=Path, required=True, help="where received files go")
    parser.add_argument("--samples", type=Path, help="the server's own samples of inputs, for bounds")
    parser.add_argument("--header", action=argparse.BooleanOptionalAction, help="the first line of CSV is one, or not")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--metrics", help="HOST:PORT, where the service tells of itself")
    options = parser.parse_args()
    try:
        model = load_model(options.model)
        samples = None if options.samples is None else load_table(options.samples, header=options.header)
        programs = make_programs(model, options.params, [int(b) for b in options.batches.split(",")], samples)
    except (Error, OSError) as e:
        say_error(e)
        return 1
    service = Service(model, programs, options.folder, options.threads)
    facts = {"set": next(iter(programs.values())).context.params.name, "device": "cpu"}
    try:
        listen(Handler, service, around=telling(service.told, "matvec", facts, options.metrics))
    except Error as e:
        say_error(e)
        return 1
    service.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
