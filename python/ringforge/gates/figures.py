# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Figures of evaluations, as commands and the demo print them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ringforge.gates.bits import Bits, Evaluator
from ringforge.gates.circuit import Circuit


def power_text(log2: float) -> str:
    """A probability for people: "2^-64.3"."""
    return "0" if log2 == float("-inf") else "1" if log2 >= 0 else f"2^{log2:.1f}"


def run_figures(circuit: Circuit, evaluator: Evaluator, results: Mapping[str, Bits], seconds: float) -> dict[str, Any]:
    """What one evaluation with a new evaluator took, and how safe its results are."""
    p = evaluator.params
    runs = max((math.prod(bits.shape[:-1]) for bits in results.values()), default=1)
    return {
        "seconds": seconds,
        "runs": runs,
        "bootstraps": evaluator.bootstraps,
        "bootstraps_per_second": evaluator.bootstraps / seconds if seconds else 0.0,
        "params": p.name,
        "method": evaluator.method,
        "failure_log2": circuit.failure_log2(p.name, evaluator.method, batch=runs, insecure=p.insecure),
    }
