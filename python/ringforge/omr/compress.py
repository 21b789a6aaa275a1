# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Digests: what they depend on, and how large they are."""

from __future__ import annotations

from functools import cache

from ringforge._native.bfv import Parameters
from ringforge._native.omr import CompressionContext, CompressionPlan
from ringforge.omr.sets import Set

__all__ = ["compression_context", "compression_plan"]


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
