# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Cases of the conformance suite: a level with a gate of every kind, accumulation chains; of each also a small one,
for devices that are simulated."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ringforge import _native
from ringforge._native import fhew
from ringforge.devices import KeySet
from ringforge.devices.conformance import Case, Given, Refusal
from ringforge.errors import MissingKeyError, ShapeError
from ringforge.gates.clear import ClearKey
from ringforge.gates.kernels import AccumulateKernel, GateLevelKernel
from ringforge.gates.kinds import GateKind

_SEED, _WHY = bytes([5]) * 32, "conformance of devices"


@functools.cache
def cases(kernel: type) -> list[Case]:
    """Cases of a type of kernels."""
    if kernel is GateLevelKernel:
        sets = ("gates-128", fhew.Method.GINX), ("gates-toy", fhew.Method.AP), ("gates-toy", fhew.Method.GINX)
        return [_level(name, method) for name, method in sets]
    return [_chains("paper-medium", 40), _chains("gates-toy", 12)]


def _words(x: Any) -> list[Any]:
    return [np.asarray(x)]


def _level(name: str, method: fhew.Method) -> Case:
    secret = fhew.SecretKey(fhew.parameters(name, _WHY), _native.TestSeed(_SEED))
    params, key = secret.params, fhew.EvaluationKey.make(secret, method)
    bare = ClearKey(params, method)
    kinds = np.array(list(GateKind), np.uint8)
    gates, bits = len(kinds), np.array([1, 0, 1, 1, 0, 0], np.uint8)
    first = len(bits)
    sources = np.full((gates, 3), -1, np.int32)
    for i, kind in enumerate(GateKind):
        sources[i, : kind.arity] = [(i + 2 * j) % first for j in range(kind.arity)]
    targets = np.arange(first, first + gates, dtype=np.int32)
    encrypted = secret.encrypt(bits)

    def inputs(fresh: Any, rows: Any = targets) -> list[Any]:
        wires = np.zeros((first + 2 * gates, params.n + 1), np.uint32)
        wires[:first] = fresh
        return [kinds, sources, wires, rows]

    def after(results: list[Any]) -> list[Any]:
        """The next level: XOR of neighbours among the results."""
        again = np.full((gates - 1, 3), -1, np.int32)
        again[:, 0], again[:, 1] = targets[:-1], targets[1:]
        rows = np.arange(first + gates, first + 2 * gates - 1, dtype=np.int32)
        return [np.full(gates - 1, GateKind.XOR, np.uint8), again, results[0], rows]

    def reveal(owner: Any) -> Any:
        return lambda results: np.array([owner.decrypt(np.ascontiguousarray(w[first:])) for w in results], np.float64)

    kernel, keys = GateLevelKernel(params, method), KeySet(own=(key,))
    given = Given(keys, None, lambda: inputs(encrypted), reveal(secret))
    outside = targets.copy()
    outside[0] = 1000
    return Case(
        f"with every kind, {name}, {method.name.lower()}",
        kernel,
        given,
        Given(KeySet(own=(bare,)), None, lambda: inputs(bare.encrypt(bits)), reveal(bare)),
        _words,
        taken=frozenset({2}),
        then=(kernel, after),
        refusals=[
            Refusal("no keys", (MissingKeyError,), Given(KeySet(), None, given.inputs, given.reveal)),
            Refusal(
                "a wire that is none",
                (ShapeError,),
                Given(keys, None, lambda: inputs(encrypted, outside), given.reveal),
                secrecy=True,
            ),
            Refusal(
                "a wire that is read and written",
                (ShapeError,),
                Given(keys, None, lambda: inputs(encrypted, targets - 1), given.reveal),
                secrecy=True,
            ),
        ],
    )


def _chains(name: str, length: int) -> Case:
    secret = fhew.SecretKey(fhew.parameters(name, _WHY), _native.TestSeed(_SEED))
    params, key = secret.params, fhew.EvaluationKey.make(secret, fhew.Method.AP)
    rng, degree = np.random.default_rng(3), 1 << params.log_n
    dtype = np.uint32 if params.modulus < 1 << 31 else np.uint64
    accumulators: Any = rng.integers(0, params.modulus, (3, 2, degree)).astype(dtype)
    indices = rng.integers(0, params.n * params.ap_digits * params.ap_base, (3, length)).astype(np.uint32)
    kernel, keys = AccumulateKernel(params, 3, length), KeySet(own=(key,))

    def phases(_: list[Any]) -> Any:
        return np.zeros(0)

    given = Given(keys, None, lambda: [accumulators, indices], phases)
    beyond = indices + np.uint32(params.n * params.ap_digits * params.ap_base)
    return Case(
        f"of {length} products",
        kernel,
        given,
        None,
        _words,
        then=(kernel, lambda results: [results[0], indices[::-1].copy()]),
        refusals=[
            Refusal("no keys", (MissingKeyError,), Given(KeySet(), None, given.inputs, phases)),
            Refusal("no indices", (ShapeError,), Given(keys, None, lambda: [accumulators], phases)),
            Refusal("indices of no key", (ShapeError,), Given(keys, None, lambda: [accumulators, beyond], phases)),
            Refusal(
                "a coefficient that is not below Q",
                (ShapeError,),
                Given(keys, None, lambda: [accumulators + dtype(params.modulus), indices], phases),
            ),
        ],
    )
