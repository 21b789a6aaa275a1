# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""How fast this machine answers queries by polynomials, at this moment."""

from __future__ import annotations

import time

import numpy as np

from ringforge import _native
from ringforge.psi.poly.plan import PlanFields
from ringforge.psi.poly.search import estimate
from ringforge.psi.poly.table import Arrays, shapes, table

#: A query of some milliseconds in which products, plaintexts and replies all count.
_SAMPLE = PlanFields(
    log_n=13, t=114689, q=[4398046150657, 4398045708289], p=[1125899906826241], sources=[1, 3, 4], degree=8, felts=4,
    columns=1, bundles=8, label_words=0, plain_limbs=2, reply_bits=28, reply_drop=5,
)  # fmt: skip
#: Elements at which all its sub-bins are full.
_ELEMENTS = 1 << 16
_ROUNDS = 3


def pace() -> float:
    """Seconds on one thread here for each second of `estimate`: a small query on an empty table, the quickest of three.

    What else runs on the machine counts, as it does for look-ups (`ringforge.psi.planner.measure`). Some 50 ms.
    """
    plan = _SAMPLE.native()
    arrays = {name: np.zeros(shape, dtype) for name, (shape, dtype) in shapes(_SAMPLE).items()}
    arrays["counts"][...] = _SAMPLE.degree
    filled = table(plan, Arrays(**arrays))
    client = _native.psi_poly.ClientKey(plan)
    session = _native.psi_poly.SessionKeys(plan, client.evaluation_keys())
    request = client.query(np.zeros((plan.bins, plan.felts), np.uint32))
    seconds = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        _native.psi_poly.evaluate(session, request, filled)
        seconds.append(time.perf_counter() - start)
    return min(seconds) / estimate(_SAMPLE, _ELEMENTS, 1, plan).online_seconds
