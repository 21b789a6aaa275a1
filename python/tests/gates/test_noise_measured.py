# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The native gates have the noise that the model predicts, and fail as often. `test_gates_long` measures more."""

from __future__ import annotations

import numpy as np
import pytest

from ringforge.gates import noise, sets
from ringforge.gates.kinds import GateKind
from tests.gates.measured import (
    KINDS,
    Bench,
    check_dependent_inputs_are_charged,
    check_dependent_inputs_are_replaced,
    plausible,
)

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


@pytest.mark.long
def test_degraded_set_fails_as_often_as_predicted() -> None:
    wrong, expected = Bench("gates-degraded").chain((GateKind.NAND,), 1536)
    assert plausible(wrong, expected), (wrong, expected)
    assert expected > 5


@pytest.mark.long
def test_dependent_inputs_are_charged_in_full() -> None:
    check_dependent_inputs_are_charged(Bench("gates-degraded", seed=3), 240)


def test_dependent_inputs_do_not_fail() -> None:
    check_dependent_inputs_are_replaced(Bench("gates-degraded", seed=4), 320)


def test_gates_on_the_same_inputs_have_independent_noise(bench: Bench) -> None:
    """AND, NAND, OR, XOR of one pair: one sum, up to signs, and errors of their own. Correlations of 160 pairs of
    independent errors stay below 0.4, 5 standard deviations."""
    count = 160
    wires, bits = bench.fresh(2 * count)
    index = np.arange(count)
    pairs = np.stack([index, index + count, np.full(count, -1)], axis=1).astype(np.int32)
    errors = {}
    for kind in (GateKind.AND, GateKind.NAND, GateKind.OR, GateKind.XOR):
        out = bench.level(np.full(count, kind, np.uint8), wires, pairs)
        clear = np.array([kind.of([int(a), int(b)]) for a, b in zip(bits[:count], bits[count:], strict=True)], np.uint8)
        errors[kind] = bench.secret.errors(out, clear)
    found = np.corrcoef(np.array(list(errors.values())))
    assert np.max(np.abs(found - np.eye(4))) < 0.4, found


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
