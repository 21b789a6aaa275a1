# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Cases of the conformance suite: a query on a small table, without and with labels."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ringforge import _native
from ringforge.devices import KeySet
from ringforge.devices.conformance import Case, Given, Refusal
from ringforge.errors import FormatError, MissingKeyError, ShapeError
from ringforge.psi.poly.clear import ClearKey
from ringforge.psi.poly.kernels import PolyKernel, PolyKeys, PolyTable
from ringforge.psi.poly.plan import PlanFields, felts, fill, places
from ringforge.psi.poly.table import compile_table

_SEED = bytes([7]) * 32


def small(label_words: int = 0, **changes: Any) -> PlanFields:
    """A plan in a small ring, whose primes protect nothing: for tests, and devices that are simulated."""
    step, log_n = 2 << 10, 10
    t = int(_native.kernels.primes_below(18, 1, step)[0])
    q = [int(x) for x in _native.kernels.primes_below(50, 4, step)]
    fields: dict[str, Any] = {
        "log_n": log_n, "t": t, "q": q[1:], "p": q[:1], "sources": [1, 3], "degree": 5, "felts": 3, "columns": 2,
        "bundles": 2, "label_words": label_words, "plain_limbs": 2, "reply_bits": 30, "reply_drop": 3,
        "insecure": "conformance",
    }  # fmt: skip
    return PlanFields(**(fields | changes))


@functools.cache
def cases(_kernel: type) -> list[Case]:
    """Cases of the kernel."""
    return [_case(small(), "without labels"), _case(small(2), "with labels")]


def _case(fields: PlanFields, name: str) -> Case:
    plan, rng = fields.native(), np.random.default_rng(4)
    prf = rng.integers(0, 256, (250, 64), np.uint8)
    labels = rng.integers(0, 256, (250, plan.label_bytes), np.uint8) if fields.label_words else None
    table = PolyTable(plan, compile_table(fields, prf, labels, nonce=bytes(8) if fields.label_words else b""))
    # The first hundred are the server's, the others are not.
    asked = np.concatenate([prf[:100], rng.integers(0, 256, (100, 64), np.uint8)])
    at, first = np.unique(places(plan, asked)[:, 0], return_index=True)
    query = fill(plan, felts(plan, asked[first]), at, bytes(4 * plan.bins * plan.felts))

    def of(client: Any) -> Given:
        keys, request = KeySet(own=(PolyKeys(client.evaluation_keys()),)), client.query(query)
        return Given(keys, table, lambda: [request], lambda r: np.array([client.decode(x) for x in r], np.float64))

    given = of(_native.psi_poly.ClientKey(plan, _native.TestSeed(_SEED)))
    (request,) = given.inputs()
    return Case(
        name,
        PolyKernel(plan),
        given,
        of(ClearKey(plan)),
        lambda x: [np.frombuffer(x, np.uint8)],
        exact=True,
        refusals=[
            Refusal("no keys", (MissingKeyError,), Given(KeySet(), table, given.inputs, given.reveal)),
            Refusal("no table", (ShapeError,), Given(given.keys, None, given.inputs, given.reveal)),
            Refusal(
                "keys that are none",
                (FormatError,),
                Given(KeySet(own=(PolyKeys(bytes(plan.key_bytes)),)), table, given.inputs, given.reveal),
            ),
            Refusal(
                "a request that is cut off",
                (FormatError,),
                Given(given.keys, table, lambda: [request[:-1]], given.reveal),
            ),
        ],
    )
