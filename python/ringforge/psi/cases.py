# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Cases of the conformance suite: a query on a small table by either algorithm, substitutions."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ringforge import _native
from ringforge._native import fhew
from ringforge.devices import KeySet
from ringforge.devices.conformance import Case, Given, Refusal
from ringforge.errors import FormatError, MissingKeyError, ShapeError
from ringforge.psi import planner
from ringforge.psi.clear import ClearKey
from ringforge.psi.kernels import LookupKernel, LookupKeys, LookupTable, SubstitutionKernel
from ringforge.psi.table import Arrays

_SEED = bytes([6]) * 32


@functools.cache
def cases(kernel: type) -> list[Case]:
    """Cases of a type of kernels."""
    if kernel is LookupKernel:
        plans = [planner.choose("direct", 64, 2, 0, 0, 3, 16, name).native() for name in ("ringforge", "paper")]
        small = [_lookup(_small(), "paper"), _lookup(_small_ringforge(), "ringforge, N = 256")]
        return [_lookup(plans[0], "ringforge"), *small, _lookup(plans[1], "paper, 54 bits")]
    return [_substitution(10, 26, 6, 3, 8), _substitution(10, 54, 9, 6, 0), _substitution(8, 27, 9, 3, 0)]


def _small() -> Any:
    """A plan of the paper's algorithm in a small ring, for devices that are simulated."""
    digits, log_n = fhew.Cut(4, 7, 0, True), 8
    modulus = int(_native.kernels.primes_below(27, 1, 2 << log_n)[0])
    return _native.psi.Plan(
        "paper", log_n, modulus, 1, 9, 0, 1, 0, digits, [fhew.Cut(3, 9, 0, True)] * log_n, insecure="conformance"
    )


def _small_ringforge() -> Any:
    """The same of our algorithm: cells of 16 words, so that there are few bits, and room for their noise."""
    log_n = 8
    modulus = int(_native.kernels.primes_below(27, 1, 2 << log_n)[0])
    return _native.psi.Plan(
        "ringforge", log_n, modulus, 1, 5, 4, 1, 1, fhew.Cut(5, 5, 2, True), [fhew.Cut(3, 9, 0, True)] * log_n,
        fhew.Cut(4, 7, 0, True), insecure="conformance",
    )  # fmt: skip


def _lookup(plan: Any, name: str) -> Case:
    rng = np.random.default_rng(4)
    cells = np.array([np.sort(rng.choice(plan.cells, 5, replace=False)) for _ in range(plan.bins)], np.uint32)
    arrays = Arrays(
        np.arange(plan.bins + 1, dtype=np.uint64) * np.uint64(5),
        cells.reshape(-1),
        np.ones((cells.size, plan.cell_words), np.uint16),
        np.zeros(0, np.uint16),
    )
    # Every other bin is asked for a cell that is set.
    asked = np.where(np.arange(plan.bins) % 2 == 0, cells[:, 2], (cells[:, 2] + 1) % plan.cells).astype(np.uint32)
    table = LookupTable(plan, arrays)

    def of(client: Any) -> Given:
        keys, request = KeySet(own=(LookupKeys(client.evaluation_keys()),)), client.query(asked)
        return Given(keys, table, lambda: [request], lambda r: np.array([client.decode(x) for x in r], np.float64))

    given = of(_native.psi.ClientKey(plan, _native.TestSeed(_SEED)))
    (request,) = given.inputs()
    return Case(
        name,
        LookupKernel(plan),
        given,
        of(ClearKey(plan)),
        lambda x: [np.frombuffer(x, np.uint8)],
        exact=False,
        refusals=[
            Refusal("no keys", (MissingKeyError,), Given(KeySet(), table, given.inputs, given.reveal)),
            Refusal("no table", (ShapeError,), Given(given.keys, None, given.inputs, given.reveal)),
            Refusal(
                "keys that are none",
                (FormatError,),
                Given(KeySet(own=(LookupKeys(bytes(plan.key_bytes)),)), table, given.inputs, given.reveal),
            ),
            Refusal(
                "a request that is cut off",
                (FormatError,),
                Given(given.keys, table, lambda: [request[:-1]], given.reveal),
            ),
        ],
    )


def _substitution(log_n: int, bits: int, log_base: int, count: int, drop: int) -> Case:
    element, rng = 5, np.random.default_rng(bits)
    modulus = int(_native.kernels.primes_below(bits, 1, 2 << log_n)[0])
    cut = fhew.Cut(log_base, count, drop, True)
    secret = fhew.RingSecret(modulus, log_n, _native.TestSeed(_SEED))
    keys = KeySet(own=(fhew.SubstitutionKey.make(secret, element, cut),))
    dtype = np.uint32 if modulus < 1 << 31 else np.uint64
    # Multiples of Q / 16, which noise leaves apart.
    messages: Any = (rng.integers(0, 16, (2, 1 << log_n)) * modulus // 16).astype(dtype)
    encrypted, bare = secret.encrypt(messages), np.stack([np.zeros_like(messages), messages], axis=1)
    kernel = SubstitutionKernel(log_n, modulus, element, cut, 2)

    def rounded(phases: Any) -> Any:
        return np.round(np.asarray(phases, np.float64) * 16 / modulus) % 16

    given = Given(keys, None, lambda: [encrypted], lambda r: rounded(secret.phase(r[0])))
    return Case(
        f"of {bits} bits, N = {1 << log_n}",
        kernel,
        given,
        Given(KeySet(), None, lambda: [bare], lambda r: rounded(r[0][:, 1])),
        lambda x: [x],
        then=(kernel, lambda results: results),
        refusals=[
            Refusal("no key", (MissingKeyError,), Given(KeySet(), None, given.inputs, given.reveal), secrecy=True),
            Refusal("a part missing", (ShapeError,), Given(keys, None, lambda: [encrypted[:, :1]], given.reveal)),
            Refusal(
                "a coefficient that is not below Q",
                (ShapeError,),
                Given(keys, None, lambda: [encrypted + dtype(modulus)], given.reveal),
            ),
        ],
    )
