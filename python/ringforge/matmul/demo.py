# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The demo: a step of ridge regression in which patients' data and the model's weights are both encrypted.

Three parties. A *model owner* has weights w and holds the key, for the improved weights are for it. A *hospital* has
442 patients' data X and how their disease went, y (scikit-learn's diabetes data); it encrypts them with the model
owner's public key. A *server* gets ciphertexts and evaluation keys, and computes

    w' = (1 - eta * ridge) * w  -  eta / n * X^T (X w - y)

It learns nothing. The hospital learns nothing. The model owner decrypts w', which with w gives it the gradient: ten
numbers about all patients together. Whoever has both the key and what the server received has the patients' data: the
model owner and the server must not collude.

The parties are three processes with files and a socket between them; this one is the model owner.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ringforge import _native
from ringforge import params as parameter_sets
from ringforge.cli.console import console, progress, properties, say, seconds_text, size_text
from ringforge.cli.demo_command import missing
from ringforge.errors import Error
from ringforge.files import clear_demo, finish_demo, writing
from ringforge.local_http import first_line, process, say_error
from ringforge.matmul.machine import Array
from ringforge.matmul.program import Input, Program, trace
from ringforge.matmul.roles import Contributor, KeyHolder, Parcel
from ringforge.matmul.service import Connection

#: Learning rate and ridge penalty.
RATE, RIDGE = 6.0, 0.001

#: What the parties agree on about sizes: |X w| and |X^T (X w - y)| stay below these. See :func:`load_data` for why.
FIT_BOUND, GRADIENT_BOUND = 4.0, 128.0

#: Largest difference from numpy's weights that passes, whatever is predicted.
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Data:
    """Patients' features (n, 10), scaled into [-1, 1], and progression of the disease (n,), about 0."""

    x: Array
    y: Array


def load_data() -> Data:
    """scikit-learn's diabetes data. Columns of X have length 5, so |X^T r| <= 5 |r|, which is about 40 here.

    Raises:
        UnsupportedModelError: scikit-learn is not installed.
    """
    try:
        from sklearn.datasets import load_diabetes
    except ImportError:
        raise missing("scikit-learn") from None
    x, y = load_diabetes(return_X_y=True)
    return Data(np.asarray(x, dtype=np.float64) * 5, (np.asarray(y, dtype=np.float64) - 150) / 200)


def first_weights(data: Data) -> Array:
    """What the model owner starts from: the slope of each feature alone, of 40 patients it knows."""
    x, y = data.x[:40], data.y[:40]
    w = np.asarray(x.T @ (y - y.mean()) / (x**2).sum(axis=0), dtype=np.float64)
    return np.clip(w / 4, -1, 1)


def step(X: Any, XT: Any, y: Any, w: Any) -> Any:
    """One step of ridge regression, on encrypted matrices; XT is X.T, encrypted apart to save a level."""
    n = X.shape[0]
    residual = X.matmul(w, bound=FIT_BOUND) - y
    gradient = XT.matmul(residual, bound=GRADIENT_BOUND)
    return (1 - RATE * RIDGE) * w - (RATE / n) * gradient


def plain_step(data: Data, w: Array) -> Array:
    """The same with numpy."""
    gradient = data.x.T @ (data.x @ w - data.y)
    return np.asarray((1 - RATE * RIDGE) * w - RATE / len(data.x) * gradient)


def loss(data: Data, w: Array) -> float:
    """Mean squared error and penalty, halved."""
    return float(((data.x @ w - data.y) ** 2).mean() + RIDGE * (w**2).sum()) / 2


def make_program(parameters: str, patients: int, features: int) -> Program:
    """What the parties agree on; shapes, sizes and the expression are public."""
    shapes = {"X": (patients, features), "XT": (features, patients), "y": (patients,), "w": (features,)}
    chosen = None if parameters == "auto" else parameter_sets.named(parameters)
    return trace(chosen, step, {name: Input(shape=s) for name, s in shapes.items()})


@dataclass
class DemoResult:
    """What the demo prints."""

    program: Program
    exact: Array
    got: Array
    bound: float
    loss_before: float
    loss_after: float
    seconds: dict[str, float]
    sizes: dict[str, int]
    pids: dict[str, int]
    operations: dict[str, int]
    folder: Path

    @property
    def error(self) -> float:
        """Largest difference from numpy."""
        return float(np.abs(self.got - self.exact).max())

    @property
    def good(self) -> bool:
        """As precise as predicted, and an improvement."""
        return self.error <= min(self.bound, TOLERANCE) and self.loss_after < self.loss_before


def hospital(port: int, program: Path, public_key: Path, threads: int) -> dict[str, Any]:
    """The hospital: loads its data, encrypts them with the public key, sends them to the server."""
    loaded, data = Program.load(program), load_data()
    start = time.perf_counter()
    contributor = Contributor.load(loaded, public_key)
    connection, sent = Connection(port), 0
    with tempfile.TemporaryDirectory() as own:
        for name, values in {"X": data.x, "XT": data.x.T, "y": data.y}.items():
            path = Path(own) / f"{name}.ct"
            sent += contributor.encrypt(name, values, threads).save(path, loaded)
            connection.send_input(name, path)
    connection.close()
    return {"pid": os.getpid(), "seconds": time.perf_counter() - start, "bytes": sent}


def run_demo(*, out: Path = Path("demo-out/matmul"), parameters: str = "auto", threads: int = 1) -> DemoResult:
    """Runs the three parties, prints what each saw, writes `out/summary.json`.

    Args:
        out: folder for the summary and what the server received.
        parameters: a set by name, or "auto".
        threads: threads for each party.

    Raises:
        ParameterError: unknown parameters. LevelError: too few levels.
    """
    data = load_data()
    patients, features = data.x.shape
    weights = first_weights(data)
    clock, seconds, sizes = time.perf_counter, {}, {}
    begin = start = clock()
    program = make_program(parameters, patients, features)
    seconds["plan"] = clock() - start
    folder = out / "server"
    clear_demo(out, ("server", "program.json", "summary.json"))
    folder.mkdir()
    program_file = out / "program.json"
    program.save(program_file)
    say(f"{patients} patients with {features} features; the step is planned, all parties have the program")

    server_words = ("--program", str(program_file.resolve()), "--folder", ".", "--threads", str(threads))
    with (
        tempfile.TemporaryDirectory() as temporary,
        process("ringforge.matmul.service", *server_words, folder=folder) as server,
    ):
        own, answer = Path(temporary), first_line(server, "server")
        say(f"server process {answer['pid']} listens on 127.0.0.1:{answer['port']}")
        connection = Connection(answer["port"])

        start = clock()
        owner = KeyHolder(program)
        sizes["public key"] = owner.save_public_key(own / "public.key")
        with progress("evaluation keys") as update:
            sizes["evaluation keys"] = owner.save_evaluation_keys(own / "eval.keys", threads, update)
        seconds["make keys"] = clock() - start
        start = clock()
        connection.send_keys(own / "eval.keys")
        seconds["send keys"] = clock() - start
        say(f"model owner, process {os.getpid()}, has made the keys; the secret one stays here")

        hospital_words = ("--port", str(answer["port"]), "--program", str(program_file.resolve()))
        key_words = ("--public-key", str(own / "public.key"), "--threads", str(threads))
        with process("ringforge.matmul.demo", *hospital_words, *key_words, folder=folder.parent) as other:
            sent = first_line(other, "hospital")
        seconds["hospital encrypts and sends"], sizes["hospital's ciphertexts"] = sent["seconds"], sent["bytes"]
        say(f"hospital, process {sent['pid']}, has encrypted its patients' data and sent them")

        start = clock()
        sizes["weights' ciphertext"] = owner.encrypt("w", weights, threads).save(own / "w.ct", program)
        connection.send_input("w", own / "w.ct")
        seconds["encrypt and send weights"] = clock() - start
        say("the server computes ...")
        report = connection.run()
        seconds["server reads"] = report["read_seconds"]
        seconds["server encodes diagonals and masks"] = report["encode_seconds"]
        seconds["server computes"] = report["compute_seconds"]
        start = clock()
        sizes["result's ciphertext"] = connection.fetch("result", own / "result.ct")
        connection.close()
        got = owner.decrypt(Parcel.load(own / "result.ct", program, "result", threads), threads)
        seconds["fetch and decrypt"] = clock() - start
    seconds["altogether"] = clock() - begin
    result = DemoResult(
        program=program,
        exact=plain_step(data, weights),
        got=got,
        bound=owner.error_bound("result"),
        loss_before=loss(data, weights),
        loss_after=loss(data, got),
        seconds=seconds,
        sizes=sizes,
        pids={"server": answer["pid"], "hospital": sent["pid"], "model owner": os.getpid()},
        operations=dict(report["report"]["operations"]),
        folder=out,
    )
    print_result(result)
    with writing(out / "summary.json") as f:
        f.write(json.dumps(summary(result), indent=2).encode())
    finish_demo(out)
    return result


def print_result(r: DemoResult) -> None:
    """What each party saw, and what it took."""
    screen, p = console(), r.program.context.params
    received = sum(v for k, v in r.sizes.items() if "ciphertext" in k and not k.startswith("result"))
    screen.print(
        properties(
            "what each party saw",
            {
                "server": f"{size_text(received)} of ciphertexts, {size_text(r.sizes['evaluation keys'])} of "
                "evaluation keys, the program: shapes and the formula; no number of anybody's",
                "hospital": "its own data, the public key, the program; nothing of the weights",
                "model owner": f"its weights before and after, so the gradient: {len(r.got)} numbers about all "
                "patients together; no ciphertext of the hospital's",
                "together": "with each other's help, model owner and server could decrypt the patients' data: "
                "they must not collude",
            },
        )
    )
    counts = ", ".join(f"{v} {k.replace('_', ' ')}" for k, v in r.operations.items() if v)
    rows = {
        "parameters": f"{p.name}: N = 2^{p.log_n}, {len(p.q)} + {len(p.p)} primes, log2 QP {p.log_qp:.1f} of "
        f"{parameter_sets.max_log_qp(p.log_n):.0f} allowed: {parameter_sets.describe(p)['security']}",
        "kernels": _native.kernels.active(),
        "loss": f"{r.loss_before:.5f} before the step, {r.loss_after:.5f} after",
        "error": f"{r.error:.2g} largest difference from numpy, {r.bound:.2g} predicted bound",
        "counted": counts,
    }
    rows.update({k: seconds_text(v) for k, v in r.seconds.items()})
    rows.update({k: size_text(v) for k, v in r.sizes.items()})
    screen.print(properties("result", rows))
    verdict = "as numpy has them" if r.error <= min(r.bound, TOLERANCE) else "FAILED: the weights differ from numpy's"
    say(f"the encrypted step gives the weights {verdict}; it took {seconds_text(r.seconds['altogether'])}")


def summary(r: DemoResult) -> dict[str, Any]:
    """The figures, for programs."""
    return {
        "system": "matmul",
        "parameters": parameter_sets.describe(r.program.context.params),
        "max_error": r.error,
        "predicted_error": r.bound,
        "loss_before": r.loss_before,
        "loss_after": r.loss_after,
        "weights": np.asarray(r.got).tolist(),
        "seconds": r.seconds,
        "bytes": r.sizes,
        "operations": r.operations,
    }


def main() -> int:
    """Entry point of the hospital's process."""
    parser = argparse.ArgumentParser(prog="ringforge.matmul.demo", description="The hospital of the demo.")
    parser.add_argument("--port", type=int, required=True, help="of the server")
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--public-key", type=Path, required=True, help="the model owner's")
    parser.add_argument("--threads", type=int, default=1)
    o = parser.parse_args()
    try:
        answer = hospital(o.port, o.program, o.public_key, o.threads)
    except (Error, OSError) as e:
        say_error(e)
        return 1
    print(json.dumps(answer), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
