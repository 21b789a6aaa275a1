# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Cases of the conformance suite: products with integer matrices."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge._native import Algorithm, GaloisKeys, Packing, Plan, Span
from ringforge._native.bfv import Client, Context, Parameters
from ringforge.bfv.kernels import IntegerMatvecKernel, IntegerOperands
from ringforge.devices import ClearVector, KeySet
from ringforge.devices.conformance import Case, Given, Refusal
from ringforge.errors import LevelError, MissingKeyError, ShapeError

_T, _LIMBS = 12289, 3


class _World:
    """A context with keys of a fixed seed: N = 1024, nothing is secure."""

    def __init__(self) -> None:
        primes = _native.kernels.primes_below(50, _LIMBS + 1, 1 << 18)
        self.params = Parameters("", 10, _T, primes[1:], primes[:1], 1, "conformance of devices")
        self.context = Context(self.params)
        self.client = Client(self.context, _native.TestSeed(bytes(32)))
        self.secret = self.client.secret_key()

    def keys(self, elements: Sequence[int]) -> KeySet:
        galois = GaloisKeys()
        for element in elements:
            galois.insert(self.client.galois_key(self.secret, element))
        return KeySet(galois)

    def encrypt(self, slots: npt.NDArray[np.int64], limbs: int | None = None) -> Any:
        return self.client.encrypt(self.context.encode(slots), self.secret, limbs)

    def decrypt(self, results: Sequence[Any]) -> npt.NDArray[np.float64]:
        return np.array([self.context.decode(self.client.decrypt(c, self.secret)) for c in results], np.float64)


@functools.cache
def cases(_: type) -> list[Case]:
    """Cases of the kernel."""
    spread, compact = Span.spread, Span.compact
    return [
        _case("spread", 65, 128, Plan(Packing(33, 128, 512, spread), Algorithm.bsgs, 4)),
        _case("compact, coefficients kept", 24, 16, Plan(Packing(12, 16, 512, compact), Algorithm.bsgs, 4), True),
        _case("several blocks", 1200, 8, Plan(Packing(600, 8, 512, compact), Algorithm.bsgs, 4)),
        _case("one row", 1, 40, Plan(Packing(1, 40, 512, compact), Algorithm.bsgs, 1)),
    ]


def _words(ciphertext: Any) -> list[npt.NDArray[np.uint64]]:
    return [ciphertext.limb(part, i) for part in range(ciphertext.size) for i in range(ciphertext.limbs)]


def _facts(c: Any) -> tuple[Any, ...]:
    return c.limbs, c.key_id, c.log_deviation, c.degree, c.reuse


def _clear(slots: npt.NDArray[np.int64]) -> ClearVector:
    return ClearVector(slots, _LIMBS - 1, 1.0, _T / 2)


def _case(name: str, rows: int, cols: int, plan: Plan, compact: bool = False) -> Case:
    world, rng = _World(), np.random.default_rng(rows)
    kernel = IntegerMatvecKernel(world.context, rows, plan, _LIMBS, compact)
    keys = world.keys(kernel.native().elements)
    operands = IntegerOperands(rng.integers(-50, 50, (rows, cols)), rng.integers(-_T, _T, rows))
    vector = np.append(rng.integers(0, _T, cols), 0)
    slots = [np.tile(vector[plan.packing.columns(b)], 2) for b in range(len(plan.packing.blocks))]
    inputs = [world.encrypt(s) for s in slots]
    given = Given(keys, operands, lambda: list(inputs), world.decrypt)
    clear = Given(
        keys, operands, lambda: [_clear(s) for s in slots], lambda r: np.array([v.slots for v in r], np.float64)
    )
    return Case(
        name,
        kernel,
        given,
        clear,
        _words,
        _facts,
        refusals=[
            Refusal("no matrix", (ShapeError,), Given(keys, None, given.inputs, given.reveal)),
            Refusal("no inputs", (ShapeError,), Given(keys, operands, list, given.reveal)),
            Refusal(
                "no keys", (MissingKeyError,), Given(world.keys([]), operands, given.inputs, given.reveal), secrecy=True
            ),
            Refusal(
                "inputs of fewer limbs",
                (LevelError,),
                Given(keys, operands, lambda: [world.encrypt(s, _LIMBS - 1) for s in slots], given.reveal),
                secrecy=True,
            ),
        ],
    )
