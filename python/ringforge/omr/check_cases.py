# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Cases of the conformance suite: the range check by either method, and compression of a small bulletin."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ringforge._native import TestSeed
from ringforge._native.bfv import Ciphertext, Client, Context
from ringforge._native.omr import CompressionKeys, CompressionPlan, CompressionSecret
from ringforge.devices import KeySet
from ringforge.devices.conformance import Case, Given, Refusal, Words
from ringforge.errors import LevelError, MismatchError, MissingKeyError, NoiseError, ShapeError
from ringforge.omr.check_kernels import CompressionKernel, RangeCheckKernel
from ringforge.omr.compress import compression_context
from ringforge.omr.keys import bfv_context
from ringforge.omr.range_check import METHODS, Method, trace
from ringforge.omr.sets import Set, named

_RANGE = 2


def _set() -> Set:
    return named("test", "conformance of devices")


@functools.cache
def cases(kernel: type) -> list[Case]:
    """Cases of a type of kernels."""
    if kernel is RangeCheckKernel:
        return [_range_check(method) for method in METHODS]
    return [_compression()]


def _words(x: Any) -> Words:
    if isinstance(x, bytes):
        return [np.frombuffer(x, np.uint8)]
    assert isinstance(x, Ciphertext)
    return [x.limb(part, i) for part in range(x.size) for i in range(x.limbs)]


class _World:
    """A secret key and what it encrypts."""

    def __init__(self) -> None:
        self.context: Context = bfv_context(_set())
        self.client = Client(self.context, TestSeed(bytes([17]) * 32))
        self.secret = self.client.secret_key()

    def encrypt(self, slots: Any, limbs: int) -> Ciphertext:
        return self.client.encrypt(self.context.encode(np.asarray(slots, np.int64)), self.secret, limbs)

    def reveal(self, outputs: list[Any]) -> Any:
        plain = [self.context.decode(self.client.decrypt(c, self.secret)) for c in outputs]
        return np.asarray(plain, np.float64)


@functools.cache
def _world() -> _World:
    return _World()


def _range_check(method: Method) -> Case:
    w, rng = _world(), np.random.default_rng(17)
    n, t = w.context.params.degree, w.context.params.t
    values = [rng.integers(-2 * _RANGE, 2 * _RANGE + 1, n) % t for _ in range(2)]
    limbs = w.context.params.max_limbs
    errors = [w.encrypt(x, limbs) for x in values]
    program = trace(w.context.rules, t, [(c.noise, limbs) for c in errors], _RANGE, method)
    keys = KeySet(relin=w.client.relin_key(w.secret))

    def given(inputs: list[Any], keys: KeySet = keys) -> Given:
        return Given(keys, None, lambda: list(inputs), w.reveal)

    noisy = w.encrypt(values[0], limbs - 1)
    return Case(
        method,
        RangeCheckKernel(w.context, program),
        given(errors),
        Given(KeySet(), None, lambda: [x.copy() for x in values], lambda r: np.asarray(r, np.float64)),
        _words,
        facts=lambda c: (c.noise.log_deviation, c.noise.degree, c.noise.reuse, c.limbs, c.key_id),
        refusals=[
            Refusal("no key", (MissingKeyError,), given(errors, KeySet()), secrecy=True),
            Refusal("one clue", (ShapeError,), given(errors[:1])),
            Refusal("no ciphertext", (MismatchError,), given([errors[0], b"none"])),
            Refusal("an error of fewer limbs", (NoiseError,), given([errors[0], noisy]), secrecy=True),
        ],
    )


def _compression() -> Case:
    w, rng, s = _world(), np.random.default_rng(18), _set()
    plan = CompressionPlan(compression_context(s), 30, 40)
    secret = CompressionSecret(compression_context(s), TestSeed(bytes([18]) * 32))
    own = CompressionKeys(w.secret, secret, TestSeed(bytes([19]) * 32))
    found = np.zeros(s.entries, np.int64)
    found[rng.choice(s.entries, 20, replace=False)] = 1
    u, words = w.encrypt(found, 2), rng.integers(0, s.t, (s.entries, plan.words)).astype(np.uint32)
    wide = w.encrypt(found, 3)
    keys = KeySet(own=(own,))

    def reveal(outputs: list[Any]) -> Any:
        return np.stack([np.frombuffer(x, np.uint8) for x in outputs]).astype(np.float64)

    def given(inputs: list[Any], keys: KeySet = keys, words: Any = words) -> Given:
        return Given(keys, words, lambda: list(inputs), reveal)

    return Case(
        "all units",
        CompressionKernel(w.context, plan, 0, plan.units),
        given([u]),
        None,
        _words,
        refusals=[
            Refusal("no keys", (MissingKeyError,), given([u], KeySet())),
            Refusal("words of fewer entries", (ShapeError,), given([u], words=words[1:])),
            Refusal("no input", (ShapeError,), given([])),
            Refusal("no ciphertext", (MismatchError,), given([found])),
            Refusal("a ciphertext of three limbs", (LevelError,), given([wide])),
        ],
    )
