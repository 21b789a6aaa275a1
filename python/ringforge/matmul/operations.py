# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What plans do to ciphertexts, and to symbols that stand for them where only level and noise are predicted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

from ringforge import _native
from ringforge._native import Context, Metadata, MetadataRules
from ringforge.matmul.kernels import HltKernel


class Operations(ABC):
    """What running a plan does to ciphertexts, or to what stands for them where only noise is predicted."""

    @abstractmethod
    def drop(self, x: Any, level: int) -> Any:
        """x at a level not above its own."""

    @abstractmethod
    def transform(self, kernel: HltKernel, x: Any) -> Any:
        """A linear transform; x has the kernel's level."""

    @abstractmethod
    def replicate(self, x: Any, steps: tuple[int, ...]) -> Any:
        """For each step in turn, x += x rotated left by it, where slots are empty."""

    @abstractmethod
    def rotate(self, x: Any, step: int) -> Any:
        """x rotated left."""

    @abstractmethod
    def multiply(self, x: Any, y: Any) -> Any:
        """The product slot by slot, relinearised and not rescaled."""

    @abstractmethod
    def add(self, x: Any, y: Any) -> Any:
        """x + y of equal levels."""

    @abstractmethod
    def rescale(self, x: Any) -> Any:
        """x divided by its last prime."""

    @abstractmethod
    def double_real(self, x: Any) -> Any:
        """Twice the real part at twice the scale."""


@dataclass(frozen=True)
class Symbol:
    """What stands for a ciphertext in a program: its level and its metadata (docs/ckks.md)."""

    level: int
    known: Metadata
    degree: int

    @property
    def scale(self) -> float:
        return float(self.known.scale)

    @property
    def bound(self) -> float:
        return float(self.known.bound)

    @property
    def variance(self) -> float:
        return float(self.known.variance)

    @property
    def error_bound(self) -> float:
        return float(_native.error_bound(self.known, self.degree))


class SymbolOperations(Operations):
    """What the second step of a product does, on symbols."""

    def __init__(self, context: Context) -> None:
        self.rules = MetadataRules(context)
        self.primes = len(context.params.q)

    def drop(self, x: Any, level: int) -> Any:
        return replace(x, level=level)

    def transform(self, kernel: HltKernel, x: Any) -> Any:
        known = kernel.native().describe(x.known, kernel.input_scale, kernel.output_scale, kernel.input_bound)
        return Symbol(kernel.level - 1, known, x.degree)

    def replicate(self, x: Any, steps: tuple[int, ...]) -> Any:
        return self._with(x, self.rules.replicated(x.known, x.level + 1, len(steps)))

    def rotate(self, x: Any, step: int) -> Any:  # noqa: ARG002
        return self._with(x, self.rules.switched(x.known, x.level + 1))

    def multiply(self, x: Any, y: Any) -> Any:
        return self._with(x, self.rules.switched(self.rules.product(x.known, y.known), x.level + 1))

    def add(self, x: Any, y: Any) -> Any:
        return self._with(x, self.rules.sum(x.known, y.known))

    def rescale(self, x: Any) -> Any:
        return Symbol(x.level - 1, self.rules.rescaled(x.known, x.level + 1), x.degree)

    def double_real(self, x: Any) -> Any:
        return self._with(x, self.rules.doubled_real(x.known, x.level + 1))

    def _with(self, x: Symbol, known: Metadata) -> Symbol:
        return Symbol(x.level, known, x.degree)
