# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Runs circuits over bytes on ciphertexts of BGV: the machine, and the keys and constants that it has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ringforge._native.bgv import Ciphertext, Context, Evaluator, Multiplier
from ringforge.aes.byte_circuit import LinearMap
from ringforge.binary_slots import BinarySlots
from ringforge.devices import KeySet

_PEAKS: dict[tuple[bytes, int], float] = {}


def log_peak(context: Context, value: int, slots: BinarySlots | None = None) -> float:
    """Of a byte in all slots, as a plaintext: log2 of its largest value at a root of unity. Found once for each set.

    Args:
        slots: of the context's ring, where they are at hand.
    """
    key = bytes(context.params.hash), value
    found = _PEAKS.get(key)
    if found is None:
        slots = BinarySlots(context.params.m) if slots is None else slots
        found = context.multiplier(slots.encode_bytes(np.full(slots.size, value, np.uint8)), 1).log_peak
        _PEAKS[key] = found
    return found


class Tools:
    """Evaluation keys, and bytes in all slots as factors, each made once. Any threads may share them."""

    def __init__(self, context: Context, keys: KeySet, threads: int, slots: BinarySlots | None = None) -> None:
        self.context, self.keys, self.threads = context, keys, threads
        self.evaluator = Evaluator(context, threads)
        self._slots = BinarySlots(context.params.m) if slots is None else slots
        self._multipliers: dict[int, Multiplier] = {}

    def multiplier(self, value: int) -> Multiplier:
        """A byte in all slots, as a factor."""
        found = self._multipliers.get(value)
        if found is None:
            bits = self._slots.encode_bytes(np.full(self._slots.size, value, np.uint8))
            found = self.context.multiplier(bits, None, True, self.threads)
            self._multipliers[value] = found
        return found


class ByteMachine:
    """Runs a circuit on ciphertexts, with as many primes in each stage as a plan says."""

    def __init__(self, tools: Tools, limbs: Sequence[int]) -> None:
        self._tools, self._limbs, self._evaluator = tools, limbs, tools.evaluator

    def at(self, a: Ciphertext, stage: int) -> Ciphertext:
        to = self._limbs[stage]
        return a if a.limbs == to else self._evaluator.mod_switch_to(a, to)

    def power(self, a: Ciphertext, k: int, then: int) -> Ciphertext:  # noqa: ARG002
        return self._evaluator.apply_galois(a, self._tools.context.frobenius_element(k), self._tools.keys.galois)

    def product(self, a: Ciphertext, b: Ciphertext, then: int) -> Ciphertext:
        return self._evaluator.multiply(a, b, self._tools.keys.required_relin(), a.limbs - self._limbs[then])

    def maps(self, a: Ciphertext, maps: tuple[LinearMap, ...], then: int) -> list[Ciphertext]:
        context, multiplier = self._tools.context, self._tools.multiplier
        sums = [[(context.frobenius_element(k) if k else 1, multiplier(c)) for k, c in enumerate(m) if c] for m in maps]
        drop = min(a.limbs - self._limbs[then], 1)
        return self._evaluator.frobenius_sums(a, sums, self._tools.keys.galois, drop)

    def sum(self, terms: Sequence[tuple[Ciphertext, int]], constant: int, then: int) -> Ciphertext:  # noqa: ARG002
        evaluator, total = self._evaluator, None
        for a, factor in terms:
            term = a if factor == 1 else evaluator.mul_plain(a, self._tools.multiplier(factor))
            total = term if total is None else evaluator.add(total, term)
        assert total is not None
        if constant == 1:
            return evaluator.add_one(total)
        return evaluator.add_plain(total, self._tools.multiplier(constant)) if constant else total
