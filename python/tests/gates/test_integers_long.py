# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Sums of integers have the noise that is predicted for the very key, bit by bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ringforge import gates
from ringforge.gates import integers, noise
from ringforge.gates.integers import execution
from ringforge.gates.kinds import SUMS, GateKind
from tests.gates.measured import Bench

pytestmark = pytest.mark.long

Floats = npt.NDArray[np.float64]

#: How far a mean square may be from its prediction: five standard deviations, of all bits together 0.2 at most.
DEVIATIONS, MOST = 5.0, 0.2


def predicted(circuit: gates.Circuit, operands: list[Floats], stages: noise.Stages) -> Floats:
    """Variances of the bits of y. Wires are lists of independent errors: sums add a rotation to those of their inputs,
    other gates have their own. The noisiest bit of each operand is not taken for all, and the key not for the longest.
    """
    netlist = circuit.netlist
    wires: list[dict[object, float]] = []
    for k, operand in enumerate(operands):
        wires += [{(k, i): float(v)} for i, v in enumerate(operand)]
    for number, gate in enumerate(netlist.gates):
        inputs = [wires[i] for i in gate.inputs]
        if gate.kind in (GateKind.NOT, GateKind.COPY):
            wires.append(inputs[0])
            continue
        found = {number: stages.output(2 if gate.kind is GateKind.MUX else 1)} if gate.kind.arity else {}
        for other in inputs if gate.kind in SUMS else []:
            assert not found.keys() & other.keys()
            found |= other
        wires.append(found)
    return np.array([sum(wires[w].values()) for w in netlist.outputs[0].wires])


class Watch:
    """Runs additions, and keeps the circuit of the last one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bench = Bench("gates-128", threads=2)
        self.evaluator = gates.Evaluator(self.bench.key, 2)
        self.stages = noise.stages(self.bench.gate_set, "ginx", self.bench.lengths)
        self.circuit: Any = None
        known = execution._evaluated

        def evaluated(circuit: Any, *rest: Any) -> Any:
            self.circuit = circuit
            return known(circuit, *rest)

        monkeypatch.setattr(execution, "_evaluated", evaluated)

    def fresh(self, count: int) -> tuple[Any, Floats]:
        """Random integers, and the variance of their bits."""
        values = self.bench.rng.integers(0, 256, count)
        x = self.evaluator.bind(integers.encrypt(self.bench.secret, values, "uint8"))
        return x, np.full(8, noise.input_variance(self.bench.gate_set, "fresh"))

    def chosen(self, count: int) -> tuple[Any, Floats]:
        """Outputs of MUX gates."""
        one, _ = self.fresh(count)
        zero, _ = self.fresh(count)
        found = integers.select(self.evaluator.bind(integers.encrypt(self.bench.secret, [1] * count, bool)), one, zero)
        return found, np.full(8, self.stages.output(2))

    def summed(self, count: int, operand: Callable[[int], tuple[Any, Floats]]) -> tuple[Any, Floats]:
        """Sums of two."""
        (x, a), (y, b) = operand(count), operand(count)
        total = x + y
        assert total._state[1].is_sum
        return total, predicted(self.circuit, [a, b], self.stages)

    def ratios(self, x: Any, variances: Floats) -> Floats:
        """Mean squares of the errors of each bit beside their predictions."""
        bits = x._state[0]
        clear = gates.decrypt(self.bench.secret, bits)
        errors = self.bench.secret.errors(bits.words.reshape(-1, bits.words.shape[-1]), clear.reshape(-1))
        scale = bits.params.rotation_modulus / 2.0**bits.params.log_q
        return np.asarray(np.mean((errors.reshape(clear.shape) * scale) ** 2, axis=0) / variances)


def test_sums_have_the_predicted_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of fresh numbers, of the noisiest gates' outputs, and of sums."""
    watch = Watch(monkeypatch)
    cases: list[tuple[str, int, Callable[[int], tuple[Any, Floats]]]] = [
        ("fresh numbers", 600, watch.fresh),
        ("outputs of MUX", 200, watch.chosen),
        ("sums", 250, lambda count: watch.summed(count, watch.fresh)),
    ]
    for name, count, operand in cases:
        total, variances = watch.summed(count, operand)
        found = watch.ratios(total, variances)
        promised = total._state[1].variance
        print(
            f"sums of two {name}: {count} x 8 bits, measured / predicted {found.mean():.3f}, "
            f"by bit {' '.join(f'{r:.2f}' for r in found)}; predicted {variances.min():.0f} ... {variances.max():.0f}, "
            f"promised {promised:.0f}"
        )
        assert abs(found.mean() - 1) < min(MOST, DEVIATIONS * (2 / found.size / count) ** 0.5), name
        assert np.all(np.abs(found - 1) < DEVIATIONS * (2 / count) ** 0.5), name
        # What is counted on is for the longest keys and the noisiest bit.
        assert variances.max() <= promised
