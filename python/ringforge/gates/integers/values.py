# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What encrypted integers hold: bits, their noise, and a type. Operators come with the arrays above."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Self

from ringforge.errors import ParameterError, ShapeError
from ringforge.gates import noise as noises
from ringforge.gates import sets
from ringforge.gates.bits import Bits, Evaluator
from ringforge.gates.integers.progress import reported
from ringforge.gates.integers.provenance import Noise, levels
from ringforge.gates.integers.types import IntType
from ringforge.gates.kinds import GateKind
from ringforge.hidden import Hidden

if TYPE_CHECKING:
    from ringforge._native.fhew import GateParameters


class EncryptedValue(Hidden):
    """Encrypted bits, (*shape, width), as integers of one type.

    Raises:
        ShapeError: the last axis is no number of this type.
    """

    __slots__ = ("_state", "dtype")
    revealed_by = "integers.decrypt(secret_key, x) gives it to the key's holder"

    def __init__(self, bits: Bits, dtype: IntType, noise: Noise) -> None:
        if bits.ndim < 1 or bits.shape[-1] != dtype.width:
            raise ShapeError(f"bits of shape {bits.shape} for {dtype}: (..., {dtype.width}) is needed")
        self._state = bits, noise
        self.dtype = dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the array; () for a single integer."""
        return self._state[0].shape[:-1]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of integers."""
        return math.prod(self.shape)

    @property
    def params(self) -> GateParameters:
        """The parameters."""
        return self._state[0].params

    @property
    def key_id(self) -> int:
        """The secret key's public number."""
        return self._state[0].key_id

    @property
    def evaluator(self) -> Evaluator | None:
        """What the operators use."""
        return self._state[0]._evaluator

    @property
    def bits(self) -> Bits:
        """The bits, (*shape, width), the least first, fit for any gate: sums are refreshed, a bootstrap a bit."""
        return self.refreshed()._state[0]

    def bound(self, evaluator: Evaluator | None) -> Self:
        """The same with this evaluator; `evaluator.bind(x)` checks that they belong together."""
        bits, noise = self._state
        return type(self)(bits.bound(evaluator), self.dtype, noise)

    def refreshed(self) -> Self:
        """The same numbers with the noise of gates. The bootstraps of sums, and of what another method of bootstrapping
        left noisier than the evaluator's own, are done once, and kept."""
        bits, noise = self._state
        if noise.is_sum or (self.evaluator is not None and noise.variance > _gate_variance(self.evaluator)):
            self._state = _refresh(bits)
        return self


def _gate_variance(evaluator: Evaluator) -> float:
    return levels(evaluator.params.name, evaluator.method).gate.variance


def _refresh(bits: Bits) -> tuple[Bits, Noise]:
    """The same bits, bootstrapped."""
    evaluator = bits._evaluator
    if evaluator is None:
        raise ParameterError("sums that are used further need an evaluator: x = evaluator.bind(x)")
    fresh = evaluator.gate(GateKind.REFRESH, bits, progress=reported(0, 1))
    s = sets.named(evaluator.params.name, "made for keys that there are already")
    return fresh, Noise(noises.input_variance(s, "gate", evaluator.method))
