# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The demo: numbers that one process encrypts, and another adds and compares without being able to read them.

The *key holder*, this process, makes the keys, encrypts numbers bit by bit, and puts evaluation key and ciphertexts
into a folder. The *server*, another process, has that folder and the circuits, and runs two 32-bit adders and an 8-bit
ALU on what it finds. The key holder decrypts, and compares with the circuits in the clear.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from ringforge import _native
from ringforge.cli.console import console, progress, properties, say, seconds_text, size_text
from ringforge.errors import Error
from ringforge.files import clear_demo, finish_demo, writing
from ringforge.gates import sets
from ringforge.gates.bits import Evaluator, decrypt, encrypt, from_bits, to_bits
from ringforge.gates.circuit import Circuit
from ringforge.gates.figures import power_text, run_figures
from ringforge.gates.storage import (
    Method,
    keygen,
    load_bits,
    load_evaluation_key,
    save_bits,
    save_evaluation_key,
    save_secret_key,
)
from ringforge.local_http import process, say_error

#: What the adders add, and the operations of the ALU, all of them on one pair of numbers.
SUMS = 4
OPERATIONS = ("a + b", "a - b", "a & b", "a | b", "a ^ b", "a << 1", "a >> 1", "a < b")

KEY_FILE = "eval.key"

Numbers = dict[str, list[int]]


def make_inputs() -> dict[str, Numbers]:
    """Random numbers for each circuit, by port."""
    words = [[secrets.randbits(32) for _ in range(SUMS)] for _ in range(2)]
    adder = {"a": words[0], "b": words[1], "carry_in": [0] * SUMS}
    count = len(OPERATIONS)
    alu = {"a": [secrets.randbits(8)] * count, "b": [secrets.randbits(8)] * count, "op": list(range(count))}
    return {"adder32": adder, "adder32_prefix": adder, "alu8": alu}


@dataclass
class DemoResult:
    """What the demo prints."""

    parameters: str
    method: str
    inputs: dict[str, Numbers]
    got: dict[str, Numbers]
    exact: dict[str, Numbers]
    runs: dict[str, dict[str, Any]]
    seconds: dict[str, float]
    sizes: dict[str, int]
    pids: dict[str, int]

    @property
    def good(self) -> bool:
        """All results are as in the clear."""
        return self.got == self.exact


def compute(folder: Path, names: Sequence[str], threads: int, tell: Callable[[dict[str, Any]], None]) -> None:
    """The server's part: runs circuits NAME on NAME.ct of a folder into NAME.out.ct.

    Args:
        folder: with the evaluation key and the encrypted inputs.
        names: shipped circuits.
        threads: for each level.
        tell: takes what each step took.
    """
    start = time.perf_counter()
    key = load_evaluation_key(folder / KEY_FILE, threads, "the key holder's choice")
    tell({"pid": os.getpid(), "load_seconds": time.perf_counter() - start})
    for name in names:
        circuit, evaluator = Circuit(name), Evaluator(key, threads)
        inputs = load_bits(folder / f"{name}.ct", key)
        start = time.perf_counter()
        results = circuit.evaluate(evaluator, inputs)
        figures = run_figures(circuit, evaluator, results, time.perf_counter() - start)
        save_bits(folder / f"{name}.out.ct", results)
        report = circuit.report()
        tell({"circuit": name, "depth": report.depth, "each": report.bootstraps, **figures})


def _next(server: subprocess.Popen[bytes]) -> dict[str, Any]:
    """The next line that the server says."""
    assert server.stdout is not None
    line = server.stdout.readline()
    try:
        answer: dict[str, Any] = json.loads(line)
    except json.JSONDecodeError:
        raise Error(f"the server process ended early (exit code {server.wait(10)})") from None
    if "error" in answer:
        raise Error(f"the server: {answer['error']}")
    return answer


def run_demo(
    *,
    out: Path = Path("demo-out/gates"),
    parameters: str = "gates-128",
    method: Method = "ginx",
    insecure: str = "",
    threads: int = 1,
) -> DemoResult:
    """Runs both parties, prints what they did, writes `out/summary.json`.

    Args:
        out: folder for the summary; the folder between the parties is `out/server`.
        parameters: a set by name.
        method: the accumulator.
        insecure: why a set below 128 bits may be used.
        threads: threads for each party.

    Raises:
        ParameterError: unknown or insecure parameters. Error: the server process failed.
    """
    clock, seconds, sizes = time.perf_counter, {}, {}
    begin = start = clock()
    clear_demo(out, ("server", "summary.json"))
    inputs, got, runs = make_inputs(), {}, {}
    with progress("evaluation key") as update:
        secret, key = keygen(parameters, method=method, threads=threads, insecure=insecure, progress=update)
    seconds["make keys"] = clock() - start
    folder = (out / "server").resolve()
    folder.mkdir()
    with tempfile.TemporaryDirectory() as own:
        save_secret_key(Path(own) / "secret.key", secret)
        start = clock()
        sizes["evaluation key"] = save_evaluation_key(folder / KEY_FILE, key)
        seconds["write evaluation key"] = clock() - start
        del key
        start = clock()
        widths = {n: {p.name: p.width for p in Circuit(n).inputs} for n in inputs}
        sizes["encrypted inputs"] = 0
        for name, numbers in inputs.items():
            items = {port: encrypt(secret, to_bits(values, widths[name][port])) for port, values in numbers.items()}
            sizes["encrypted inputs"] += save_bits(folder / f"{name}.ct", items)
        seconds["encrypt"] = clock() - start
        say(
            f"key holder, process {os.getpid()}, has made the keys and encrypted its numbers; the secret key stays here"
        )
        words = ("--folder", ".", "--threads", str(threads), *inputs)
        with process("ringforge.gates.demo", *words, folder=folder) as server:
            started = _next(server)
            say(f"server, process {started['pid']}, has evaluation key and ciphertexts, and computes ...")
            for name in inputs:
                runs[name] = _next(server)
        seconds["server reads key"] = started["load_seconds"]
        start = clock()
        for name in inputs:
            results = load_bits(folder / f"{name}.out.ct", secret)
            got[name] = {port: from_bits(decrypt(secret, bits)) for port, bits in results.items()}
        seconds["decrypt"] = clock() - start
    seconds["altogether"] = clock() - begin
    result = DemoResult(
        parameters=parameters,
        method=method,
        inputs=inputs,
        got=got,
        exact={name: Circuit(name).clear(numbers) for name, numbers in inputs.items()},
        runs=runs,
        seconds=seconds,
        sizes=sizes,
        pids={"key holder": os.getpid(), "server": started["pid"]},
    )
    print_result(result)
    with writing(out / "summary.json") as f:
        f.write(json.dumps(summary(result), indent=2).encode())
    finish_demo(out)
    return result


def print_result(r: DemoResult) -> None:
    """The sums, the ALU's operations, and what they took."""
    adder, total = r.inputs["adder32"], r.got["adder32"]
    for a, b, low, carry in zip(adder["a"], adder["b"], total["sum"], total["carry_out"], strict=True):
        say(f"  {a} + {b} = {low + (carry << 32)}")
    numbers, found = r.inputs["alu8"], r.got["alu8"]
    pieces = [f"{text}: {y}" for text, y in zip(OPERATIONS, found["y"], strict=True)]
    say(f"  a = {numbers['a'][0]}, b = {numbers['b'][0]}: {', '.join(pieces)}")
    table = Table(title="circuits", title_justify="left")
    for label in (
        "circuit",
        "runs",
        "bootstraps",
        "levels",
        "time",
        "bootstraps a second",
        "a bit is wrong",
        "results",
    ):
        table.add_column(label, no_wrap=True, justify="left" if label in {"circuit", "results"} else "right")
    for name, run in r.runs.items():
        table.add_row(
            name,
            str(run["runs"]),
            str(run["bootstraps"]),
            str(run["depth"]),
            seconds_text(run["seconds"]),
            f"{run['bootstraps_per_second']:.1f}",
            f"at most {power_text(run['failure_log2'])}",
            "as in the clear" if r.got[name] == r.exact[name] else "WRONG",
        )
    console().print(table)
    s = sets.named(r.parameters, "shown by the demo")
    rows = {
        "parameters": f"{r.parameters}: n = {s.n}, q = 2^{s.log_q}, N = {s.ring_degree}, log2 Q = {s.log_modulus:.1f}; "
        f"{r.method}" + (f"; INSECURE: {s.insecure}" if s.insecure else ""),
        "kernels": _native.kernels.active(),
    }
    rows.update({k: seconds_text(v) for k, v in r.seconds.items()})
    rows.update({k: size_text(v) for k, v in r.sizes.items()})
    console().print(properties("result", rows))
    verdict = "all results are as in the clear" if r.good else "FAILED: results differ from those in the clear"
    say(f"{verdict}; it took {seconds_text(r.seconds['altogether'])}")


def summary(r: DemoResult) -> dict[str, Any]:
    """The figures, for programs."""
    return {
        "system": "gates",
        "parameters": r.parameters,
        "method": r.method,
        "good": r.good,
        "circuits": r.runs,
        "seconds": r.seconds,
        "bytes": r.sizes,
    }


def main() -> int:
    """Entry point of the server's process."""
    parser = argparse.ArgumentParser(prog="ringforge.gates.demo", description="The server of the demo.")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("circuits", nargs="+")
    o = parser.parse_args()
    try:
        compute(o.folder, o.circuits, o.threads, lambda answer: print(json.dumps(answer), flush=True))
    except (Error, OSError) as e:
        say_error(e)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
