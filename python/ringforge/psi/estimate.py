# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a run will take, from public facts alone, before anything is sent."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from typing import Any

from ringforge.errors import ParameterError
from ringforge.psi import planner, poly, wire
from ringforge.psi.client import REQUEST_BYTES, asked, check_table, probabilities
from ringforge.psi.info import TableInfo
from ringforge.serving import framing


@dataclass(frozen=True)
class Estimate:
    """Bytes by kind (sent, received), queries, seconds the server computes, and chances.

    seconds_per_query, seconds: of one query and of all, on the machine that estimates, by a measurement of a small
    query; None when there is none. evaluations, bins_asked: what counts against the quota.
    """

    elements: int
    queries: int
    sent: dict[str, int]
    received: dict[str, int]
    seconds_per_query: float | None
    seconds: float | None
    false_positive: float
    evaluations: int
    bins_asked: int

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return dataclasses.asdict(self)


def estimate(
    info: TableInfo, count: int, threads: int = 1, *, request_bytes: int = REQUEST_BYTES, exact_sizes: bool = False
) -> Estimate:
    """For `count` different elements; `request_bytes` and `exact_sizes` are as for `Client`.

    Raises:
        ParameterError: no elements, or a table that the client does not ask.
    """
    if count < 1:
        raise ParameterError(f"{count} elements: 1 is the least")
    plan = check_table(info, count, request_bytes=request_bytes)
    queries, evaluations = asked(info, count, exact=exact_sizes)
    batches = -(-evaluations // wire.PRF_BATCH)
    chunks = -(-len(info.to_json()) // framing.CHUNK)
    sent = {
        "prf": evaluations * wire.ELEMENT_BYTES + 41 * batches,
        "keys": _framed(plan.key_bytes),
        "requests": queries * _framed(plan.request_bytes),
    }
    received = {
        "info": len(info.to_json()) + 8 * (chunks + 4),
        "prf": evaluations * wire.ELEMENT_BYTES + 4 * batches,
        "requests": queries * (_framed(info.reply_bytes(plan)) + 17 * (framing.STEPS + 1)),
    }
    seconds: Any
    if info.plan.algorithm == "poly":
        seconds = poly.estimate(info.plan, info.capacity, 1, plan).online_seconds * poly.pace()
        seconds /= threads or os.cpu_count() or 1
    else:
        seconds = getattr(planner, "estimate", lambda *_: None)(info, threads)
    return Estimate(
        elements=count,
        queries=queries,
        sent=sent,
        received=received,
        seconds_per_query=None if seconds is None else float(seconds),
        seconds=None if seconds is None else queries * float(seconds),
        false_positive=probabilities(info, count, plan, queries).false_positive,
        evaluations=evaluations,
        bins_asked=queries * plan.bins,
    )


def _framed(size: int) -> int:
    """A body in chunks, with what is around each."""
    return size + 8 * -(-size // framing.CHUNK) + 70
