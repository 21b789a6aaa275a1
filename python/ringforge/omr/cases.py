# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Cases of the conformance suite: rotations of a key and shards of a small bulletin, by either method."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ringforge._native import GaloisKeys, TestSeed
from ringforge._native.bfv import Ciphertext, Client, Context, Parameters
from ringforge._native.kernels import primes_below
from ringforge._native.omr import Babies
from ringforge.devices import KeySet
from ringforge.devices.conformance import Case, Given, Refusal, Words
from ringforge.errors import LevelError, MissingKeyError, ShapeError
from ringforge.omr.kernels import AffineKernel, AffineShape, BabiesKernel, rotated

_SEED = bytes([13]) * 32
_T = 786_433


@functools.cache
def _context() -> Context:
    q = [int(x) for x in primes_below(49, 3, 1 << 18)]
    p = [int(x) for x in primes_below(50, 2, 1 << 18)]
    return Context(Parameters("omr-cases", 10, _T, q, p, 2, "conformance of devices"))


@functools.cache
def cases(kernel: type) -> list[Case]:
    """Cases of a type of kernels."""
    if kernel is BabiesKernel:
        return [_babies("ringforge")]
    return [_affine("ringforge", 0, 4), _affine("ringforge", 1, 1), _affine("paper", 2, 2)]


def _words(x: Any) -> Words:
    if isinstance(x, Babies):
        return [x.limb(r, part, i) for r in range(len(x)) for part in (0, 1) for i in range(x.limbs)]
    assert isinstance(x, Ciphertext)
    return [x.limb(part, i) for part in range(x.size) for i in range(x.limbs)]


class _World:
    """A key of signals and a bulletin; N = 1,024, n = 16, five baby steps."""

    def __init__(self, method: str) -> None:
        rng = np.random.default_rng(13)
        context = _context()
        self.shape = AffineShape(context, 16, 2, 5, method, context.params.max_limbs)
        self.client = Client(context, TestSeed(_SEED))
        self.secret = self.client.secret_key()
        native = self.shape.native
        self.galois = GaloisKeys()
        for element in (native.baby_element, native.giant_element):
            self.galois.insert(self.client.galois_key(self.secret, element))
        key = rng.integers(0, _T, 16).astype(np.uint32)
        self.slots = np.asarray(self.shape.layout.key_slots(key)).astype(np.int64)
        self.encrypted = self.client.encrypt(context.encode(self.slots), self.secret)
        signals = rng.integers(0, _T, (1024, 16)).astype(np.uint32)
        self.diagonals = [np.asarray(self.shape.layout.encode(signals, g)) for g in range(self.shape.layout.giants)]

    def reveal(self, outputs: list[Any]) -> Any:
        plain = [self.shape.context.decode(self.client.decrypt(c, self.secret)) for c in outputs]
        return np.asarray(plain, np.float64)


@functools.cache
def _world(method: str) -> _World:
    return _World(method)


def _babies(method: str) -> Case:
    w = _world(method)
    kernel, keys = BabiesKernel(w.shape), KeySet(galois=w.galois)
    then = AffineKernel(w.shape, 0, w.shape.layout.giants)

    def given(keys: KeySet, make: Any, reveal: Any) -> Given:
        return Given(keys, w.diagonals, make, reveal)

    def revealed(outputs: list[Any]) -> Any:
        """Of rotations the first limbs; of what they are used for, the values."""
        if isinstance(outputs[0], Babies):
            return np.stack([rotated(w.slots, b) for b in range(len(outputs[0]))]).astype(np.float64)
        return w.reveal(outputs)

    def plain(outputs: list[Any]) -> Any:
        return np.asarray(outputs[0] if outputs[0].ndim == 2 else outputs, np.float64)

    encrypted = given(keys, lambda: [w.encrypted.copy()], revealed)
    short = w.client.encrypt(w.shape.context.encode(w.slots), w.secret, 2)
    return Case(
        method,
        kernel,
        encrypted,
        given(KeySet(), lambda: [w.slots.copy()], plain),
        _words,
        then=(then, lambda outputs: outputs),
        refusals=[
            Refusal("no key", (MissingKeyError,), given(KeySet(), encrypted.inputs, revealed), secrecy=True),
            Refusal("no input", (ShapeError,), given(keys, list, revealed)),
            Refusal("a key of fewer limbs", (LevelError,), given(keys, lambda: [short], revealed), secrecy=True),
        ],
    )


def _affine(method: str, first: int, count: int) -> Case:
    w = _world(method)
    kernel, keys = AffineKernel(w.shape, first, count), KeySet(galois=w.galois)
    diagonals = w.diagonals[first : first + count]
    babies = w.shape.native.babies(w.encrypted, w.galois)
    plain = np.stack([rotated(w.slots, b) for b in range(w.shape.layout.rotations)])

    def given(keys: KeySet, diagonals: Any) -> Given:
        return Given(keys, diagonals, lambda: [babies], w.reveal)

    refusals = [
        Refusal("no diagonals", (ShapeError,), given(keys, None)),
        Refusal("a diagonal cut off", (ShapeError,), given(keys, [*diagonals[:-1], diagonals[-1][:-1]])),
        Refusal("two inputs", (ShapeError,), Given(keys, diagonals, lambda: [babies, babies], w.reveal)),
    ]
    if count > 1:
        refusals.append(Refusal("no key", (MissingKeyError,), given(KeySet(), diagonals), secrecy=True))
    return Case(
        f"{method}, giant steps {first} ... {first + count - 1}",
        kernel,
        given(keys, diagonals),
        Given(KeySet(), diagonals, lambda: [plain.copy()], lambda r: np.asarray(r, np.float64)),
        _words,
        facts=lambda c: (c.noise.log_deviation, c.noise.degree, c.noise.reuse, c.limbs),
        refusals=refusals,
    )
