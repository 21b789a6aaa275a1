# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A small world of CKKS for cases of the conformance suite: parameters that hardware can run, keys, vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge.devices.base import KeySet
from ringforge.devices.clear import ClearVector

SCALE = 2.0**40


class World:
    """A context with keys of a fixed seed, all the same at each call.

    Args:
        limbs: of Q, with primes of 50 bits; N is 1024, and nothing is secure.
    """

    def __init__(self, limbs: int, seed: int = 1) -> None:
        primes = _native.kernels.primes_below(50, limbs + 1, 1 << 18)
        self.params = _native.Parameters("", 10, primes[:limbs], primes[limbs:], 1, 40.0, "conformance of devices")
        self.context = _native.Context(self.params)
        self.level = limbs - 1
        self._client = _native.Client(self.context, _native.TestSeed(seed.to_bytes(32, "little")))
        self._secret = self._client.secret_key()

    def keys(self, elements: Iterable[tuple[int, int]]) -> KeySet:
        """A relinearisation key, and Galois keys of these elements for these levels."""
        galois = _native.GaloisKeys()
        for element, level in elements:
            galois.insert(self._client.galois_key(self._secret, element, level))
        return KeySet(galois, self._client.relin_key(self._secret, self.level))

    def rotations(self, steps: Iterable[int], level: int) -> list[tuple[int, int]]:
        """Elements for `keys`."""
        return [(self.context.rotation_element(s), level) for s in sorted(set(steps)) if s]

    def encrypt(self, slots: npt.ArrayLike, level: int | None = None, scale: float = SCALE) -> Any:
        """A ciphertext."""
        at = self.level if level is None else level
        plaintext = self.context.encode(np.asarray(slots, np.complex128), scale, at)
        return self._client.encrypt(plaintext, self._secret, 1.0)

    def clear(self, slots: npt.ArrayLike, level: int | None = None, scale: float = SCALE) -> ClearVector:
        """What stands for it on the clear device."""
        return ClearVector(np.asarray(slots), self.level if level is None else level, scale, 1.0)

    def decrypt(self, results: Sequence[Any]) -> npt.NDArray[np.float64]:
        """Real and imaginary parts of the slots of results."""
        return parts([np.asarray(self.context.decode(self._client.decrypt(c, self._secret))) for c in results])


def parts(slots: Sequence[npt.ArrayLike]) -> npt.NDArray[np.float64]:
    """Real and imaginary parts."""
    return np.array([[np.real(s), np.imag(s)] for s in slots])


def clear_parts(results: Sequence[ClearVector]) -> npt.NDArray[np.float64]:
    """The same of results of the clear device."""
    return parts([v.slots for v in results])


def words(ciphertext: Any) -> list[npt.NDArray[np.uint64]]:
    """All residues."""
    return [ciphertext.limb(part, i) for part in range(ciphertext.size) for i in range(ciphertext.level + 1)]


def facts(ciphertext: Any) -> tuple[Any, ...]:
    """The metadata."""
    c = ciphertext
    return c.level, c.scale, c.key_id, c.bound, c.variance
