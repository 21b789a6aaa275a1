# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A product at every level, each held against the clear and its noise against what was predicted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ringforge._native import TestSeed
from ringforge._native.ltv import Ciphertext, Parameters
from ringforge.ltv.clear import Bits, BitRing
from ringforge.ltv.session import Session


@dataclass(frozen=True)
class Step:
    """What one level gave.

    Attributes:
        level: after the switch.
        right: whether all bits are those of the clear.
        predicted, measured: bits of budget, by everybody and by the key's holder.
        bound, largest: log2 of the bound on a coefficient of the phase, and of the largest one.
    """

    level: int
    right: bool
    predicted: float
    measured: float
    bound: float
    largest: float

    @property
    def holds(self) -> bool:
        """Right, and no coefficient beyond the bound."""
        return self.right and self.largest <= self.bound


def _step(s: Session, c: Ciphertext, expected: Bits) -> Step:
    largest = s.client.measure(c, s.secret_key, s.threads)[0]
    p = s.params
    return Step(
        level=c.level,
        right=bool(np.array_equal(s.client.decrypt(c, s.secret_key, s.threads), expected)),
        predicted=s.evaluator.budget(c),
        measured=p.log_q(c.limbs) - 1 - largest,
        bound=s.context.rules.coefficient_bits(c.noise),
        largest=largest,
    )


def chain(params: Parameters, levels: int | None = None, threads: int = 1, seed: int | None = None) -> Iterator[Step]:
    """Encrypts, then at each level multiplies by a fresh ciphertext, or at every third by itself, and adds what has
    come down with it. Evaluation keys are made level by level and thrown away.

    Args:
        levels: how many; all by default.
        seed: makes keys and messages reproducible; None draws new ones.
    """
    rng = np.random.default_rng(seed)
    fixed = None if seed is None else TestSeed(seed.to_bytes(32, "little"))
    s = Session(params, threads, fixed_seed_for_tests=fixed)
    ring = BitRing(params.m)

    def message() -> Bits:
        return rng.integers(0, 2, params.degree, dtype=np.uint8)

    clear = message()
    c = s.encrypt(clear)
    yield _step(s, c, clear)
    for level in range(params.levels if levels is None else levels):
        other = message()
        fresh = s.encrypt(other, level)
        product = s.evaluator.mul(c, c) if level % 3 == 2 else s.evaluator.mul(c, fresh)
        expected = ring.multiply(clear, clear if level % 3 == 2 else other)
        c = s.evaluator.add(s.down(product), s.down(fresh))
        clear = expected ^ other
        yield _step(s, c, clear)
