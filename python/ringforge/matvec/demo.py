# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The demo: handwritten digits, classified by a server that cannot see them.

This process trains a network, hands it to a server process as an ONNX file, and then plays the client: it
alone makes and holds the secret key. Between the two go a program, evaluation keys and ciphertexts, over a
socket of this machine. In the end every encrypted prediction is compared with the network's in the clear.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.table import Table

from ringforge import _native, ckks, local_http
from ringforge import params as parameter_sets
from ringforge.cli.console import console, progress, properties, say, seconds_text, size_text
from ringforge.errors import ParameterError
from ringforge.files import clear_demo, finish_demo, save_vectors, writing
from ringforge.local_http import first_line, process
from ringforge.matvec import digits, networks
from ringforge.matvec.demo_result import DemoResult, Exchange, time_rows
from ringforge.matvec.model import Linear, Sequential
from ringforge.matvec.model_files import load_model, save_model
from ringforge.matvec.onnx_import import save_onnx
from ringforge.matvec.polynomial import Polynomial
from ringforge.matvec.program import Program
from ringforge.matvec.report import summary_json, write_report
from ringforge.matvec.roles import Client, EncryptedVectors
from ringforge.matvec.service import REPORT_HEADER, layer_reports

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

#: Bytes kept of what the server received, from before the checksum that ends a record: packed residues.
SAMPLE, CHECKSUM = 1 << 16, 32

#: Runs of the single image; the median counts.
SINGLE_RUNS = 5


class Connection(local_http.Connection):
    """The client's end of the socket."""

    def program(self, name: str) -> Program:
        """Fetches and checks a program.

        Raises:
            ParameterError: its backend does not encrypt, or its parameters are not secure.
        """
        body, _ = self.request("GET", f"/programs/{name}")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{name}.json"
            with writing(path) as f:
                f.write(body)
            program = Program.load(path)
        refuse_unencrypted(program.backend)
        if not program.context.params.secure:
            raise ParameterError(f"the server's parameters are below 128 bits: {program.context.params.insecure}")
        return program

    def send_keys(self, name: str, path: Path) -> dict[str, Any]:
        """Sends evaluation keys; returns what the server says of them."""
        return self.report("POST", f"/programs/{name}/keys", path)

    def evaluate(self, name: str, source: Path, target: Path) -> dict[str, Any]:
        """Sends ciphertexts, stores the answer, returns the server's report."""
        body, headers = self.request("POST", f"/programs/{name}/evaluate", source)
        with writing(target) as f:
            f.write(body)
        return local_http.read_report(headers.get(REPORT_HEADER, "{}"))


def refuse_unencrypted(backend: str) -> None:
    """The demo claims secrecy, so it runs on nothing that gives none.

    Raises:
        ParameterError: the backend is not ckks.
    """
    if backend != "ckks":
        raise ParameterError(f'the demo refuses backend "{backend}": it would show pixels to the server; use ckks')


@contextlib.contextmanager
def server_process(
    model: Path, folder: Path, parameters: str, threads: int, samples: Path | None = None
) -> Iterator[tuple[int, int]]:
    """Starts the server with a model, a folder, its own samples if any, and nothing else; yields its port and process
    id."""
    words = ["--model", str(model.resolve()), "--folder", ".", "--params", parameters, "--threads", str(threads)]
    if samples is not None:
        words += ["--samples", str(samples.resolve())]
    with process("ringforge.matvec.service", *words, folder=folder) as started:
        answer = first_line(started, "server")
        yield int(answer["port"]), int(answer["pid"])


def run_demo(
    *,
    images: int = 300,
    out: Path = Path("demo-out"),
    parameters: str = "auto",
    threads: int = 1,
    backend: str = "ckks",
    network: str = "dense",
) -> DemoResult:
    """Runs the whole demo, prints its summary, writes `out/report.html`.

    Args:
        images: held-out images to classify in batches, 1 ... 600.
        out: folder for the report, the model, and what the server received.
        parameters: a set by name, or "auto".
        threads: threads for either side.
        backend: "ckks"; everything else is refused.
        network: "dense", "conv" or "deep"; the last two are planned with bounds measured on the training images.

    Raises:
        ParameterError: backend, images, network or parameters that cannot be.
    """
    refuse_unencrypted(backend)
    if network not in networks.NETWORKS:
        raise ParameterError(f'there is no network "{network}"; there are {", ".join(networks.NETWORKS)}')
    if not 1 <= images <= digits.HELD_OUT:
        raise ParameterError(f"--images {images} is outside 1 ... {digits.HELD_OUT}, the images held out from training")
    if parameters != "auto":
        parameter_sets.named(parameters)
    begin = time.perf_counter()
    clear_demo(out, ("server", "report.html", "summary.json"))
    folder = out / "server"
    folder.mkdir()

    say(f"training on scikit-learn's digits, {digits.HELD_OUT} images held out ...")
    data = digits.load_digits()
    with progress("training") as update:
        trained = (
            digits.train(data, progress=update)
            if network == "dense"
            else networks.train(network, data, progress=update)
        )
    train_seconds = time.perf_counter() - begin
    # Polynomials on an interval have no form in ONNX that keeps their digits.
    path = folder / ("model.npz" if network == "deep" else "model.onnx")
    (save_model if network == "deep" else save_onnx)(path, trained)
    model = load_model(path)
    samples = None if network == "dense" else folder / "samples.npy"
    if samples is not None:
        save_vectors(samples, data.train)

    x, labels = data.test[:images], data.test_labels[:images]
    with (
        server_process(path, folder, parameters, threads, samples) as (port, pid),
        tempfile.TemporaryDirectory() as own,
    ):
        say(
            f"server process {pid} listens on 127.0.0.1:{port}; it has the trained network. The secret key stays "
            f"in this process, {os.getpid()}"
        )
        connection = Connection(port)
        # One secret key for both programs; it stays in this process.
        single_program, batch_program = connection.program("single"), connection.program("batch")
        secret = ckks.Client(single_program.context).secret_key()
        one = _exchange(connection, "single", single_program, secret, x[:1], Path(own), threads, SINGLE_RUNS)
        say(f"encrypting {images} images, up to {batch_program.batch} in each ciphertext ...")
        many = _exchange(connection, "batch", batch_program, secret, x, Path(own), threads, 1)
        connection.close()
        # Only now: nothing that the server is asked depends on what its answers hold.
        single, batch = _read(one, threads), _read(many, threads)
    result = DemoResult(
        backend=batch.program.backend,
        parameters=parameter_sets.describe(batch.program.context.params),
        device=one.device,
        kernels=_native.kernels.active(),
        threads=threads,
        network=_network(model, network),
        weights=sum(layer.weights.size + layer.bias.size for layer in model.layers if isinstance(layer, Linear)),
        train_seconds=train_seconds,
        total_seconds=time.perf_counter() - begin,
        images=x,
        labels=labels,
        plain_scores=model(x),
        single=single,
        batch=batch,
        client_pid=os.getpid(),
        server_pid=pid,
        folder=out,
    )
    print_result(result)
    report = out / "report.html"
    write_report(result, report)
    with writing(out / "summary.json") as f:
        f.write(summary_json(result).encode())
    say(f"wrote {report}")
    finish_demo(out)
    return result


def _network(model: Sequential, name: str) -> str:
    """The sizes between layers, and the activations."""
    parts = [str(model.inputs)]
    for layer in model.layers:
        if isinstance(layer, Linear):
            parts.append(str(layer.rows))
        else:
            parts.append(f"polynomial of degree {layer.degree}" if isinstance(layer, Polynomial) else "square")
    kind = {"conv": " (convolution, squares, average pool and classes)"}.get(name, "")
    return " → ".join(parts) + kind


@dataclass
class _Try:
    """One run of an exchange: what it took so far, the server's report, and where its answer lies."""

    began_to_answered: float
    seconds: dict[str, float]
    report: dict[str, Any]
    answer: Path


@dataclass
class _Asked:
    """A program's dealings with the server, before any answer is decrypted."""

    client: Client
    exchange: Exchange
    device: str
    key_seconds: dict[str, float]
    tries: list[_Try]


def _exchange(
    connection: Connection,
    name: str,
    program: Program,
    secret: ckks.SecretKey,
    x: Array,
    own: Path,
    threads: int,
    runs: int,
) -> _Asked:
    """Keys once, then the images `runs` times; answers stay as they came."""
    client = Client(program, secret)
    e = Exchange(program, len(x))
    keys = own / f"{name}.keys"
    clock = time.perf_counter

    start = clock()
    with progress("evaluation keys") as update:
        e.sizes["evaluation keys"] = client.save_evaluation_keys(keys, threads, update)
    made = clock()
    answer = connection.send_keys(name, keys)
    sent = clock()
    key_seconds = {
        "make keys": made - start,
        "read keys": float(answer["load_seconds"]),
        "encode model": float(answer["encode_seconds"]),
    }
    key_seconds["send keys"] = max(0.0, sent - made - key_seconds["read keys"] - key_seconds["encode model"])
    e.sizes["secret key (client only)"] = len(_native.io.to_bytes(program.context, secret))

    tries: list[_Try] = []
    for number in range(runs):
        source, target = own / f"{name}-{number}.ct", own / f"{name}-{number}.results"
        t0 = clock()
        encrypted = client.encrypt(x, threads)
        t1 = clock()
        e.sizes["ciphertexts sent"] = encrypted.save(source, program)
        t2 = clock()
        report = connection.evaluate(name, source, target)
        t3 = clock()
        e.ciphertexts = sum(len(g) for g in encrypted.groups)
        serving = sum(float(report[k]) for k in ("read_seconds", "evaluate_seconds", "write_seconds"))
        seconds = {
            "encrypt": t1 - t0,
            "write and read ciphertexts": (t2 - t1) + report["read_seconds"] + report["write_seconds"],
            "transfer": max(0.0, t3 - t2 - serving),
            "evaluate": float(report["evaluate_seconds"]),
        }
        tries.append(_Try(t3 - t0, seconds, report, target))
    e.sample = source.read_bytes()[-CHECKSUM - SAMPLE : -CHECKSUM]
    return _Asked(client, e, str(answer["device"]), key_seconds, tries)


def _read(asked: _Asked, threads: int) -> Exchange:
    """Decrypts all answers; figures are those of the run of median latency."""
    client, e, clock = asked.client, asked.exchange, time.perf_counter
    found: list[tuple[float, dict[str, float], _Try, EncryptedVectors, Array]] = []
    for run in asked.tries:
        t3 = clock()
        result = EncryptedVectors.load(run.answer, e.program, "output", threads)
        t4 = clock()
        scores = client.decrypt(result, e.images, threads=threads)
        t5 = clock()
        seconds = {**run.seconds, "decrypt": t5 - t4}
        seconds["write and read ciphertexts"] += t4 - t3
        found.append((run.began_to_answered + t5 - t3, seconds, run, result, scores))
    found.sort(key=lambda entry: entry[0])
    e.latency, seconds, run, result, e.scores = found[len(found) // 2]
    e.seconds = {**asked.key_seconds, **seconds}
    e.layers = layer_reports(run.report)
    e.error_bound = client.error_bound(result)
    e.sizes["ciphertexts returned"] = run.answer.stat().st_size
    return e


def print_result(r: DemoResult) -> None:
    """The summary, for a terminal."""
    screen = console()
    p = r.precision
    agreed = len(r.labels) - int((r.plain != r.encrypted).sum())
    screen.print(
        properties(
            "result",
            {
                "backend": f"{r.backend} on device {r.device}, kernels {r.kernels}, {r.threads} threads",
                "parameters": f"{r.parameters['name']}: N = {r.parameters['N']}, "
                f"primes {r.parameters['limbs']}, log2 QP {r.parameters['log2 QP']}",
                "security": f"{r.parameters['security']} ({parameter_sets.security_source()})",
                "network": f"{r.network}, {r.weights} weights, trained in {seconds_text(r.train_seconds)}",
                "accuracy": f"{r.plain_accuracy:.1%} plain, {r.encrypted_accuracy:.1%} encrypted, "
                f"on {len(r.labels)} held-out images",
                "agreement": f"encrypted and plain predictions agree on {agreed} of {len(r.labels)} images"
                + ("" if r.disagreements else ": all of them"),
                "latency": f"{seconds_text(r.single.latency)} for one image alone, pixels to answer",
                "amortised": f"{seconds_text(r.amortised)} per image, up to {r.batch.program.batch} in each ciphertext",
                "precision": f"{p.min_bits:.1f} bits after the point at worst, {p.mean_bits:.1f} on average",
                "error": f"{p.max_error:.2g} measured, {r.batch.error_bound:.2g} predicted bound",
            },
        )
    )
    columns = (("one image", r.single), (f"{len(r.labels)} images", r.batch))
    for title, cell in (
        ("time", lambda e: {k: seconds_text(v) for k, v in time_rows(e).items()}),
        ("size", lambda e: {k: size_text(v) for k, v in e.sizes.items()}),
        ("operations counted", lambda e: {k.replace("_", " "): str(v) for k, v in e.operations.items()}),
    ):
        table = Table(title=title, title_justify="left")
        table.add_column("")
        cells = [cell(e) for _, e in columns]
        for label, _ in columns:
            table.add_column(label, justify="right", no_wrap=True)
        for name in cells[0]:
            table.add_row(name, *(c.get(name, "") for c in cells))
        screen.print(table)
    verdict = (
        "every encrypted prediction equals the plain one"
        if not r.disagreements
        else f"FAILED: {r.disagreements} predictions differ"
    )
    say(f"{verdict}; the whole demo took {seconds_text(r.total_seconds)}")
