# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""FAME's memory model, Equations 17 to 24, under each reading of its units, and what it leaves out: keys and masks.

The paper gives a ciphertext once as limbs times words and once by log Q, which differ as soon as a prime has
fewer bits than a word. Both are offered; so is a word of 8 bytes, which software uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from .counts import ProductCounts
from .parameters import WORD_BITS, ParameterSet

CONVENTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "log Q": "a coefficient takes the mean size of a prime",
        "54-bit": "words of 54 bits",
        "64-bit": "words of 8 bytes",
    }
)
"""How many bits a coefficient of one limb takes."""


def coefficient_bits(parameters: ParameterSet, convention: str) -> float:
    """Bits of one coefficient of one limb."""
    return {"log Q": parameters.prime_bits, "54-bit": float(WORD_BITS), "64-bit": 64.0}[convention]


@dataclass(frozen=True, slots=True)
class MemoryModel:
    """Equations 17 to 24 for a set, in bytes. `bits`: of one coefficient of one limb."""

    parameters: ParameterSet
    bits: float

    @classmethod
    def of(cls, parameters: ParameterSet, convention: str) -> MemoryModel:
        """The model under one of :data:`CONVENTIONS`."""
        return cls(parameters, coefficient_bits(parameters, convention))

    @property
    def limb(self) -> float:
        """One residue polynomial."""
        return self.parameters.degree * self.bits / 8

    @property
    def ciphertext(self) -> float:
        """Eq 17 at level L."""
        return 2 * self.parameters.limbs * self.limb

    @property
    def extended(self) -> float:
        """A ciphertext modulo P·Q: L + k + 1 limbs.

        Eq 19 calls it the ciphertext of level L + k + 1, which by Eq 17 would be a limb more.
        """
        return 2 * self.parameters.extended_limbs * self.limb

    @property
    def key(self) -> float:
        """Eq 18: one evaluation key."""
        return 2 * self.parameters.digits * self.parameters.extended_limbs * self.limb

    @property
    def key_switch(self) -> float:
        """Eq 19."""
        return self.ciphertext + 0.5 * self.parameters.digits * self.extended

    @property
    def rotation(self) -> float:
        """Eq 20."""
        return self.key_switch + 1.5 * self.ciphertext

    @property
    def transform_step1(self) -> float:
        """Eq 21."""
        return self.rotation + 3 * self.ciphertext

    @property
    def transform_step2(self) -> float:
        """Eq 22."""
        return self.rotation + 4 * self.ciphertext

    @property
    def product(self) -> float:
        """Eq 23: everything on the chip."""
        return self.transform_step2 + self.ciphertext

    @property
    def hoisted_transform(self) -> float:
        """Eq 24: the hoisted, limb-wise transform."""
        return self.ciphertext + (self.parameters.digits + 1) * self.limb

    @property
    def hoisted_limbs(self) -> int:
        """Eq 24 in limbs."""
        return 2 * self.parameters.limbs + self.parameters.digits + 1

    def all_keys(self, counts: ProductCounts) -> float:
        """One rotation key for each distinct rotation of a product."""
        return counts.keys * self.key

    def all_masks(self, counts: ProductCounts) -> float:
        """Every diagonal, encoded modulo P·Q as the hoisted transform needs it (the paper says one limb each)."""
        return counts.masks * self.parameters.extended_limbs * self.limb

    def keys_read(self, rotations: int) -> float:
        """Key bytes that so many rotations read."""
        return rotations * self.key
