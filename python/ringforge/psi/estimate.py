# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a run will take, from public facts alone, before anything is sent."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from ringforge.errors import ParameterError
from ringforge.psi import hashing, planner, wire
from ringforge.psi.info import TableInfo


@dataclass(frozen=True)
class Estimate:
    """Bytes by kind (sent, received), the fewest queries, seconds the server computes, and chances.

    seconds: of one query on the machine that estimates, or None when the planner has no measurements.
    """

    elements: int
    queries: int
    sent: dict[str, int]
    received: dict[str, int]
    seconds: float | None
    false_positive: float
    evaluations: int
    bins_asked: int

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return dataclasses.asdict(self)


def estimate(info: TableInfo, count: int, threads: int = 1) -> Estimate:
    """For `count` different elements.

    Raises:
        ParameterError: no elements.
    """
    if count < 1:
        raise ParameterError(f"{count} elements: 1 is the least")
    plan = info.native()
    queries = -(-count // max(1, int(hashing.LOAD[info.hashes] * info.bins)))
    oprf = info.mode == "oprf"
    batches = -(-count // wire.PRF_BATCH) if oprf else 0
    chunks = -(-len(info.to_json()) // wire.CHUNK)
    sent = {
        "prf": count * wire.ELEMENT_BYTES * oprf + 41 * batches,
        "keys": _framed(plan.key_bytes),
        "requests": queries * _framed(plan.request_bytes),
    }
    received = {
        "info": len(info.to_json()) + 8 * (chunks + 4),
        "prf": count * wire.ELEMENT_BYTES * oprf + 4 * batches,
        "requests": queries * (_framed(plan.reply_bytes) + 17 * (wire.STEPS + 1)),
    }
    seconds: Any = getattr(planner, "estimate", lambda *_: None)(info, threads)
    return Estimate(
        elements=count,
        queries=queries,
        sent=sent,
        received=received,
        seconds=None if seconds is None else float(seconds),
        false_positive=min(1.0, count * 2.0**-info.tag_bits) if oprf else 0.0,
        evaluations=count if oprf else 0,
        bins_asked=queries * plan.bins,
    )


def _framed(size: int) -> int:
    """A body in chunks, with what is around each."""
    return size + 8 * -(-size // wire.CHUNK) + 70
