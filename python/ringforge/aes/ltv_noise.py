# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What becomes of noise in AES under LTV, predicted without a ciphertext: a set is judged before its keys are made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import hypot, log2
from typing import Literal

from ringforge._native.ltv import Noise, NoiseRules, Parameters
from ringforge.aes.circuit import Circuit
from ringforge.aes.engine import Direction
from ringforge.aes.ltv_engine import BITS, DEPTH, plan
from ringforge.aes.sbox import cipher

#: How sums of noise are told; docs/ltv.md, "AES". independent: variances add. split: those of what a ciphertext got by
#: its own randomness, which other ciphertexts do not have, add; of all else deviations. dependent: deviations add.
Rule = Literal["independent", "split", "dependent"]


@dataclass(frozen=True)
class _Part:
    """Deviations: of a ciphertext's own randomness, and of what it shares with others."""

    own: float
    shared: float = 0.0

    @property
    def noise(self) -> Noise:
        return Noise(log2(self.own + self.shared))


class _Predictor:
    def __init__(self, params: Parameters, rule: Rule) -> None:
        self.params, self.rules, self._rule = params, NoiseRules(params), rule

    def sum(self, parts: Iterable[_Part]) -> _Part:
        terms = list(parts)
        return _Part(hypot(*(t.own for t in terms)), sum(t.shared for t in terms))

    def fresh(self, deviation: float) -> _Part:
        return _Part(0.0, deviation) if self._rule == "dependent" else _Part(deviation)

    def derived(self, noise: Noise) -> _Part:
        """What was computed from others."""
        deviation = 2.0**noise.log_deviation
        return _Part(deviation) if self._rule == "independent" else _Part(0.0, deviation)

    def encrypted(self) -> _Part:
        return self.fresh(2.0 ** self.rules.encrypted().log_deviation)

    def switched(self, part: _Part, limbs: int, drop: int) -> _Part:
        whole = 2.0 ** self.rules.switched(part.noise, limbs, drop).log_deviation
        if self._rule != "split":
            return self.fresh(whole)
        p = self.params
        left = 2.0 ** (part.noise.log_deviation - p.log_q(limbs) + p.log_q(limbs - drop))
        return _Part((whole**2 - left**2) ** 0.5, left)

    def with_constant(self, part: _Part) -> _Part:
        added = 2.0 ** self.rules.plain_sum(part.noise).log_deviation - part.own - part.shared
        # The engine's own rule: deviations add here, whatever it does in sums.
        return (
            _Part(part.own + added, part.shared)
            if self._rule == "independent"
            else _Part(part.own, part.shared + added)
        )

    def box(self, circuit: Circuit, inputs: list[_Part], key: _Part, first: int) -> list[_Part]:
        """A circuit's outputs, each with a key's bit."""
        p, values = self.params, dict(enumerate(inputs))
        held = dict.fromkeys(values, p.limbs(first))
        for at, level in enumerate(plan(circuit)):
            limbs = p.limbs(first + at)
            for v in level.carried:
                values[v] = self.switched(values[v], held[v], held[v] - limbs)
                held[v] = limbs
            for v, terms, constant in level.sums:
                found = self.sum(values[t] for t in terms)
                values[v], held[v] = self.with_constant(found) if constant else found, limbs
            forms = [self.sum(values[level.inputs[k]] for k in form) for form in level.forms]
            for v, pairs, linear in zip(level.results, level.outputs, level.linear, strict=True):
                products = [self.rules.product(forms[a].noise, forms[b].noise) for a, b in pairs]
                lifted = [self.rules.lifted(forms[f].noise) for f in linear]
                whole = self.sum(self.derived(x) for x in [*products, *lifted])
                down = self.derived(self.rules.relinearized(whole.noise, first + at + 1))
                values[v], held[v] = self.switched(down, limbs, p.drop), p.limbs(first + at + 1)
        out = []
        for s in circuit.outputs:
            found = self.sum([*(values[t] for t in s.terms), key])
            out.append(self.with_constant(found) if s.constant else found)
        return out


def budgets(params: Parameters, direction: Direction = "encrypt", rule: Rule = "split") -> list[float]:
    """Bits of budget after AddRoundKey of rounds 0 to 10, the least of all ciphertexts.

    Args:
        params: a set with 40 levels.
        direction: of the circuit.
        rule: for sums; `LtvServer` tells what "independent" gives.
    """
    predictor = _Predictor(params, rule)
    fresh = predictor.encrypted()
    state = [predictor.sum([fresh, fresh])] * BITS
    found = [predictor.rules.budget(state[0].noise, params.limbs(0))]
    for i, step in enumerate(cipher(direction).rounds, 1):
        key = predictor.switched(fresh, params.limbs(DEPTH * i - 1), params.drop)
        boxes = [predictor.box(step.box, [state[k] for k in reads], key, DEPTH * (i - 1)) for reads in step.reads]
        state = [part for box in boxes for part in box]
        found.append(min(predictor.rules.budget(part.noise, params.limbs(DEPTH * i)) for part in state))
    return found
