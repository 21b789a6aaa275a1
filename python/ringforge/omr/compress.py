# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Digests: what they depend on, how large they are and what they cost.

A plan computes parts of a digest, joins them, and opens the digest with the receiver's secret
(`ringforge._native.omr.CompressionPlan`); :mod:`ringforge.omr.decode` finds entries and payloads from its sums.
docs/omr-algorithm.md has the method.
"""

from __future__ import annotations

import math
from functools import cache

from ringforge._native.bfv import Parameters
from ringforge._native.omr import CompressionContext, CompressionPlan
from ringforge.omr.sets import Set

__all__ = ["compression_context", "compression_plan", "explain"]


@cache
def _context(bfv: str, insecure: str) -> CompressionContext:
    p = Parameters.named(bfv, insecure)
    return CompressionContext.make(p.log_n, p.t, p.q[:2], p.p[:2], p.insecure)


def compression_context(s: Set) -> CompressionContext:
    """What keys of compression and digests of a set depend on; one for each set."""
    return _context(s.bfv, s.insecure)


@cache
def compression_plan(s: Set, capacity: int, words: int) -> CompressionPlan:
    """The plan of digests for so many messages, each with so many words modulo t.

    Raises:
        ParameterError: more than a digest holds.
    """
    return CompressionPlan(compression_context(s), capacity, words)


def explain(plan: CompressionPlan, log_deviation: float, threads: int = 1) -> str:
    """A plan in words: sizes, counts, predicted noise.

    Args:
        plan: of :func:`compression_plan`.
        log_deviation: log2 of the standard deviation of the noise of the ciphertext that is compressed.
        threads: that compute at once.
    """
    noise = plan.noise(4.0**log_deviation)
    counts = plan.part_counts(0, plan.units) + plan.digest_counts()

    def bits(variance: float) -> str:
        return f"2^{math.log2(variance) / 2:.1f}"

    return "\n".join(
        (
            f"digest for {plan.messages} messages of {plan.words} words: {plan.outputs} ciphertext(s), "
            f"{plan.digest_bytes:,} bytes ({plan.c0_bits} and {plan.c1_bits} bits a coefficient)",
            f"  sums      exponents 0 ... {plan.messages} of {plan.values} values, {plan.period} places a value",
            f"  shards    up to {plan.units}, of {plan.units} units",
            f"  work      {counts.key_switch} key switches, {counts.ntt + counts.intt:,} transforms, "
            f"{counts.plain_mul:,} products",
            f"  memory    {plan.memory(threads) >> 20} MiB on {threads} thread(s)",
            f"  noise     {bits(noise.switched)} switched, {bits(noise.power)} times powers, "
            f"{bits(noise.value)} summed, {bits(noise.packed)} packed, {bits(noise.limb)} in one limb",
            f"  failure   2^{noise.failure_log2:.0f}",
        )
    )
