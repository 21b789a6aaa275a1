# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What becomes of noise in AES under LTV, predicted without a ciphertext: a set is judged before its keys are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce

from ringforge._native.ltv import Noise, NoiseRules, Parameters
from ringforge.aes.circuit import Circuit
from ringforge.aes.engine import Direction
from ringforge.aes.ltv_engine import BITS, DEPTH, plan
from ringforge.aes.sbox import cipher

Sum = Callable[[Noise, Noise], Noise]


def budgets(params: Parameters, direction: Direction = "encrypt", independent: bool = True) -> list[float]:
    """Bits of budget after AddRoundKey of rounds 0 to 10, the least of all ciphertexts: what `LtvServer` tells.

    Args:
        params: a set with 40 levels.
        direction: of the circuit.
        independent: variances add in sums; else deviations, whatever operands have in common.
    """
    rules = NoiseRules(params)
    sum_of: Sum = rules.independent_sum if independent else rules.sum
    fresh = rules.encrypted()
    state = [sum_of(fresh, fresh)] * BITS
    found = [rules.budget(state[0], params.limbs(0))]
    for i, step in enumerate(cipher(direction).rounds, 1):
        boxes = [
            _box(rules, sum_of, step.box, [*(state[k] for k in reads), fresh], DEPTH * (i - 1)) for reads in step.reads
        ]
        state = [noise for box in boxes for noise in box]
        limbs = params.limbs(DEPTH * i)
        found.append(min(rules.budget(noise, limbs) for noise in state))
    return found


def _box(rules: NoiseRules, sum_of: Sum, circuit: Circuit, given: list[Noise], first: int) -> list[Noise]:
    """A circuit's outputs, each with the last of what is given, a key's bit, in it."""
    *inputs, key = given
    params, values = rules.params, dict(enumerate(inputs))
    held = dict.fromkeys(values, params.limbs(first))

    def total(terms: Iterable[Noise]) -> Noise:
        return reduce(sum_of, terms)

    for at, level in enumerate(plan(circuit)):
        limbs = params.limbs(first + at)
        for v in level.carried:
            values[v] = rules.switched(values[v], held[v], held[v] - limbs)
            held[v] = limbs
        for v, terms, constant in level.sums:
            values[v] = total(values[t] for t in terms)
            if constant:
                values[v] = rules.plain_sum(values[v])
            held[v] = limbs
        forms = [total(values[level.inputs[k]] for k in form) for form in level.forms]
        for v, pairs, linear in zip(level.results, level.outputs, level.linear, strict=True):
            product = total(
                [*(rules.product(forms[a], forms[b]) for a, b in pairs), *(rules.lifted(forms[f]) for f in linear)]
            )
            down = rules.relinearized(product, first + at + 1)
            values[v] = rules.switched(down, limbs, params.drop)
            held[v] = params.limbs(first + at + 1)
    out = []
    for s in circuit.outputs:
        noise = total([*(values[t] for t in s.terms), key])
        out.append(rules.plain_sum(noise) if s.constant else noise)
    return out
