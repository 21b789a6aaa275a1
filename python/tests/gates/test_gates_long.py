# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Noise, failures and truth tables of all sets, at length.

The published sets' keys take gigabytes: each is made for its own test and gone after it.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from ringforge import gates
from ringforge.gates import aes, noise, sets
from ringforge.gates.circuit import Circuit
from ringforge.gates.kinds import GateKind
from ringforge.gates.storage import Method
from tests.gates.measured import (
    KINDS,
    TWO_INPUTS,
    Bench,
    check_dependent_inputs_are_charged,
    check_dependent_inputs_are_replaced,
    plausible,
)

pytestmark = pytest.mark.long

THREADS = 2

#: Samples of each stage, and how far their mean square may be from the prediction: 7 standard deviations.
SAMPLES, TOLERANCE = 10_000, 0.10

PAIRS: list[tuple[str, Method]] = [
    ("gates-128", "ginx"),
    ("gates-128-f128", "ginx"),
    ("gates-128-f128", "ap"),
    ("gates-128-f128", "automorphism"),
]
PAPER = ("paper-medium", "paper-std128-ap", "paper-std192", "paper-std256", "paper-std192q", "paper-std256q")
PUBLISHED: list[tuple[str, Method]] = [
    *((name, "ap") for name in PAPER),
    *((name, "ginx") for name in PAPER),
    ("paper-std128-ap", "automorphism"),
]


def need_memory(name: str, method: Method) -> None:
    """Skips a test whose key would not fit with 2 GiB to spare."""
    s = sets.named(name, "its size")
    need = s.bootstrap_key_bytes(method) + s.table_bytes + (2 << 30)
    meminfo = Path("/proc/meminfo").read_text().splitlines()
    free = next(int(line.split()[1]) << 10 for line in meminfo if line.startswith("MemAvailable"))
    if free < need:
        pytest.skip(f"{name} by {method} needs {need / 2**30:.1f} GiB, {free / 2**30:.1f} are free")


@pytest.mark.parametrize(("name", "method"), PAIRS)
def test_every_stage_has_the_predicted_variance(name: str, method: Method) -> None:
    """NAND of fresh bits with two keys, XOR of gates' outputs with two more."""
    ratios = []
    for seed, (kind, inputs) in enumerate([(GateKind.NAND, "fresh"), (GateKind.XOR, "gate")] * 2, 1):
        bench = Bench(name, method, seed, THREADS)
        measured, predicted = bench.measure(kind, inputs, SAMPLES // 4)
        ratios.append(measured / predicted)
        del bench
    assert np.mean(ratios, axis=0) == pytest.approx(1, abs=TOLERANCE), ratios


def test_degraded_set_fails_as_often_as_predicted() -> None:
    wrong, expected = Bench("gates-degraded", threads=THREADS).chain((GateKind.NAND,), 20_000)
    assert expected / 2 < wrong < expected * 2


def test_dependent_inputs_of_the_degraded_set() -> None:
    """Run as they are they fail as often as their wiring says; the evaluator replaces them, and none fails."""
    bench = Bench("gates-degraded", threads=THREADS)
    check_dependent_inputs_are_charged(bench, SAMPLES // 4)
    check_dependent_inputs_are_replaced(bench, SAMPLES)


@pytest.mark.parametrize(("name", "method"), [*PAIRS, ("gates-128", "ap"), ("gates-128", "automorphism")])
def test_truth_tables_on_refreshed_bits(name: str, method: Method) -> None:
    """Wherever the model says that an error among these gates would be a wonder, there is none."""
    bench = Bench(name, method, threads=THREADS)
    assert noise.circuit_failure(bench.gate_set, {k.name: 1000 for k in KINDS}, "gate", method) < -30
    assert {k.name: bench.wrong(k, 1000) for k in KINDS} == {k.name: 0 for k in KINDS}


@pytest.mark.parametrize(("name", "method"), PUBLISHED)
def test_published_sets_fail_as_often_as_predicted(name: str, method: Method) -> None:
    need_memory(name, method)
    wrong, expected = Bench(name, method, threads=THREADS).chain(TWO_INPUTS, 1000)
    assert plausible(wrong, expected, 1e-5), (wrong, expected)


@pytest.mark.parametrize("name", ["adder32", "adder32_prefix"])
def test_a_hundred_encrypted_sums(name: str) -> None:
    secret, key = gates.keygen("gates-128", threads=THREADS)
    rng = np.random.default_rng(32)
    a, b = (rng.integers(0, 1 << 32, 100).tolist() for _ in range(2))
    carry = rng.integers(0, 2, 100).tolist()
    numbers = (("a", a, 32), ("b", b, 32), ("carry_in", carry, 1))
    inputs = {port: gates.encrypt(secret, gates.to_bits(x, width)) for port, x, width in numbers}
    circuit = Circuit(name)
    start = time.perf_counter()
    found = circuit.evaluate(gates.Evaluator(key, threads=THREADS), inputs)
    seconds = time.perf_counter() - start
    print(f"{name}: {100 * circuit.report().bootstraps / seconds:.0f} bootstraps a second on {THREADS} threads")
    low, high = (gates.from_bits(gates.decrypt(secret, found[port])) for port in ("sum", "carry_out"))
    assert [x + (y << 32) for x, y in zip(low, high, strict=True)] == [
        x + y + z for x, y, z in zip(a, b, carry, strict=True)
    ]


def test_aes_on_encrypted_bits() -> None:
    """FIPS-197, appendix C.1: a block in one computation."""
    block, key = bytes.fromhex("00112233445566778899aabbccddeeff"), bytes(range(16))
    run = aes.run_block(block, key, threads=THREADS)
    print(run.figures)
    assert run.result.hex() == "69c4e0d86a7b0430d8cdb78070b4c55a"
    assert run.good
    assert run.figures["bootstraps"] == 18_576
    assert run.figures["failure_log2"] < -50
