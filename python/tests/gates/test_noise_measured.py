# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The native gates have the noise that the model predicts, and fail as often. `test_gates_long` measures more."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from ringforge.gates import noise, sets
from ringforge.gates.kinds import GateKind
from tests.gates.measured import KINDS, Bench, plausible

#: Samples of each stage, and how far their mean square may be from the prediction: 4.7 standard deviations.
SAMPLES, TOLERANCE = 2000, 0.15


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench("gates-128")


def test_every_stage_has_the_predicted_variance(bench: Bench) -> None:
    """NAND of fresh bits with one key, XOR of gates' outputs with another."""
    half = SAMPLES // 2
    runs = [bench.measure(GateKind.NAND, "fresh", half), Bench("gates-128", seed=2).measure(GateKind.XOR, "gate", half)]
    ratios = np.array([measured / predicted for measured, predicted in runs])
    # Later stages see no difference between the gates; the rounded sum does.
    assert ratios[:, 1:].mean(axis=0) == pytest.approx(1, abs=TOLERANCE)
    assert ratios[:, 0] == pytest.approx(1, abs=TOLERANCE * 2**0.5)


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.name)
def test_truth_tables_on_refreshed_bits(bench: Bench, kind: GateKind) -> None:
    assert bench.wrong(kind, 100) == 0


def test_degraded_set_fails_as_often_as_predicted() -> None:
    wrong, expected = Bench("gates-degraded").chain((GateKind.NAND,), 1536)
    assert plausible(wrong, expected), (wrong, expected)
    assert expected > 5


#: Gates of dependent inputs run as they are: inputs of a traced gate, and by which wiring the model knows them.
AS_THEY_ARE = [(GateKind.NAND, "ab"), (GateKind.NAND, "aa"), (GateKind.XOR, "aA"), (GateKind.XOR, "ab")]


def traced(bench: Bench, kind: GateKind, wiring: str, count: int) -> npt.NDArray[np.float64]:
    """Errors of the rounded sums of gates of refreshed bits, one of them twice or complemented where the wiring says."""
    wires, _ = bench.refreshed(count)
    other = np.roll(wires, 1, axis=0) if wiring == "ab" else wires
    if wiring == "aA":
        q = 1 << bench.gate_set.log_q
        other = (-wires.astype(np.int64)) % q
        other[:, -1] = (other[:, -1] + q // 4) % q
    pairs = np.stack([wires, other.astype(np.uint32)], axis=1)
    return bench.stage_errors(kind, np.ascontiguousarray(pairs))[:, 0]


def misses(bench: Bench, kind: GateKind, errors: npt.NDArray[np.float64]) -> int:
    """Sums beyond the nearer end of the half circle: M/8 away, M/4 for doubled bits."""
    reach = bench.gate_set.rotation_modulus / (4 if noise.GATES[kind.name].doubled else 8)
    return int(np.sum(np.abs(errors) > reach) if noise.GATES[kind.name].doubled else np.sum(errors > reach))


def test_dependent_inputs_are_charged_in_full(count: int = 400) -> None:
    """The degraded set, gates run without looking at their inputs: variances and misses are those of the wiring, many times
    those of different inputs."""
    bench = Bench("gates-degraded", seed=3)
    seen, expected = {}, {}
    for kind, wiring in AS_THEY_ARE:
        errors = traced(bench, kind, wiring, count)
        predicted = bench.predicted(kind, "gate", wiring)[0]
        # Squares of `count` Gaussians: 5 standard deviations of their mean.
        assert np.mean(errors**2) == pytest.approx(predicted, rel=5 * (2 / count) ** 0.5), (kind, wiring)
        log2 = noise.log2_failure(bench.gate_set, kind.name, "gate", "ginx", bench.lengths, wiring)
        share = 1.0 if noise.GATES[kind.name].doubled else 0.5  # either end is M/8 away from some sum, one from each
        seen[kind, wiring], expected[kind, wiring] = misses(bench, kind, errors), count * share * 2.0**log2
        if wiring == "ab":
            continue
        assert plausible(seen[kind, wiring], expected[kind, wiring]), (kind, wiring, seen, expected)
        assert expected[kind, wiring] > 5 * expected[kind, "ab"]


def test_dependent_inputs_do_not_fail(count: int = 512) -> None:
    """The degraded set, through the evaluator: gates of different inputs fail as often as the model says, gates of
    dependent ones never, because they are none."""
    bench = Bench("gates-degraded", seed=4)
    wires, bits = bench.refreshed(count)
    inverse = bench.level(np.full(count, GateKind.NOT, np.uint8), wires, _inputs(np.arange(count)))
    room, index = np.concatenate([wires, inverse, wires]), np.arange(count)
    kinds = np.array([GateKind.NAND, GateKind.XOR, GateKind.XOR3, GateKind.MAJ3], np.uint8)[index % 4]
    # NAND(a, a), XOR(a, NOT a), XOR3(a, a, a), MAJ3(a, a, NOT a), copies at other places of the memory among them.
    second = np.where(index % 4 == 1, index + count, index + 2 * count)
    third = np.where(index % 4 == 3, index + count, index)
    got = bench.secret.decrypt(bench.level(kinds, room, _inputs(index, second, np.where(index % 4 < 2, -1, third))))
    held = bench.secret.decrypt(wires)
    want = np.select([index % 4 == 0, index % 4 == 1], [1 - held, np.ones_like(held)], held)
    assert np.array_equal(got, want)
    # The same gates of different inputs, over the same noise.
    seen = 0
    expected = 0.0
    order = np.roll(index, 1)
    nand = bench.secret.decrypt(bench.level(np.full(count, GateKind.NAND, np.uint8), wires, _inputs(index, order)))
    seen = int(np.sum(nand != 1 - (held & held[order])))
    expected = count * 2.0 ** noise.log2_failure(bench.gate_set, "NAND", "gate", "ginx", bench.lengths)
    assert plausible(seen, expected), (seen, expected)


def _inputs(*columns: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    filled = [*columns, *[np.full(len(columns[0]), -1)] * (3 - len(columns))]
    return np.stack(filled, axis=1).astype(np.int32)


def test_gates_on_the_same_inputs_have_independent_noise(bench: Bench) -> None:
    """AND, NAND, OR, XOR of one pair: one sum, up to signs, and errors of their own. Correlations of 200 pairs of independent
    errors stay below 0.35, 5 standard deviations."""
    count = 200
    wires, bits = bench.fresh(2 * count)
    pairs = _inputs(np.arange(count), np.arange(count, 2 * count))
    errors = {}
    for kind in (GateKind.AND, GateKind.NAND, GateKind.OR, GateKind.XOR):
        out = bench.level(np.full(count, kind, np.uint8), wires, pairs)
        clear = np.array([kind.of([int(a), int(b)]) for a, b in zip(bits[:count], bits[count:], strict=True)], np.uint8)
        errors[kind] = bench.secret.errors(out, clear)
    found = np.corrcoef(np.array(list(errors.values())))
    assert np.max(np.abs(found - np.eye(4))) < 0.35, found


def test_lengths_of_a_key_replace_those_of_the_longest() -> None:
    """Nearly all keys are shorter than what promises are made for."""
    s = sets.named("gates-128")
    longest = noise.KeyLengths(noise.secret_square("binary", s.n), noise.secret_square("ternary", s.ring_degree))
    mean = noise.KeyLengths(s.n / 2, s.ring_degree * 2 / 3)
    for method in noise.METHODS:
        assert noise.stages(s, method, longest) == noise.stages(s, method)
        for gate in noise.GATES:
            assert noise.log2_failure(s, gate, "gate", method, mean) < noise.log2_failure(s, gate, "gate", method)


def test_counts_are_held_against_poisson() -> None:
    assert plausible(0, 1e-6)
    assert plausible(100, 100)
    assert not plausible(1, 1e-6)
    assert not plausible(0, 12)
    assert not plausible(150, 100)
