# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Matrices of a session without entries: there is nothing to encrypt, and shapes are computed as numpy does.

A result that has entries all the same, such as the product of shapes (2, 0) and (0, 3), is zeros, encrypted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge.errors import ShapeError
from ringforge.matmul.machine import Tile
from ringforge.matmul.matrix import EncryptedMatrix, PlainMatrix
from ringforge.matmul.operands import is_number, is_plain
from ringforge.matmul.steps import Step


class EmptyMatrix(EncryptedMatrix):
    """A matrix (m, n) or vector (n,) of a session, with m or n = 0: no ciphertext stands for it.

    Args:
        machine: the session.
        shape: its shape.
    """

    def __init__(self, machine: Any, shape: tuple[int, ...]) -> None:
        self.machine = machine
        self.rows, self.cols = (*shape, 1)[:2]
        self.ndim = len(shape)
        self.source = None
        self._tiles = []
        self.step = Step("input", detail="without entries", shape=shape)
        self.step.level = machine.context.params.max_level

    def every_tile(self) -> Iterator[Tile]:
        """Return nothing: there are no ciphertexts."""
        return iter(())

    @property
    def level(self) -> int:
        """The highest there is: nothing takes a level."""
        return int(self.machine.context.params.max_level)

    @property
    def bound(self) -> float:
        """0: no entry is larger."""
        return 0.0

    def __repr__(self) -> str:
        return f"EncryptedMatrix{self.shape} in 0 ciphertexts"

    def decrypt(self) -> npt.NDArray[np.float64]:
        """Return an array of the shape, without entries."""
        return np.zeros(self.shape)

    def matmul(self, other: Any, *, bound: float | None = None) -> EncryptedMatrix:  # noqa: ARG002
        """Return self @ other; zeros where it has entries."""
        return shaped(self.machine, np.matmul, self, self._operand(other))

    def __rmatmul__(self, other: Any) -> Any:
        known = isinstance(other, PlainMatrix) or is_plain(other)
        return shaped(self.machine, np.matmul, self._operand(other), self) if known else NotImplemented

    def __add__(self, other: Any) -> Any:
        return self._entrywise(other)

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __add__

    def __truediv__(self, other: Any) -> Any:
        if is_number(other) or (is_plain(other) and not isinstance(other, EncryptedMatrix)):
            return self._entrywise(other)
        return super().__truediv__(other)

    def _entrywise(self, other: Any) -> Any:
        known = isinstance(other, EncryptedMatrix | PlainMatrix) or is_plain(other)
        return shaped(self.machine, np.add, self, self._operand(other)) if known else NotImplemented

    def __neg__(self) -> EncryptedMatrix:
        return self

    def sum(self, axis: int | None = None, *, keepdims: bool = False) -> EncryptedMatrix:
        """Return the sums, zeros where there are some."""
        return shaped(self.machine, lambda x: np.sum(x, axis=axis, keepdims=keepdims), self)

    def mean(self, axis: int | None = None, *, keepdims: bool = False) -> EncryptedMatrix:
        """Return the means, where nothing is left.

        Raises:
            ShapeError: there would be a mean of no entries.
        """
        made = self.sum(axis, keepdims=keepdims)
        if 0 not in made.shape:
            raise ShapeError(f"an array of shape {self.shape} has no mean: there are no entries")
        return made

    @property
    def T(self) -> EncryptedMatrix:  # noqa: N802
        """The transpose."""
        return shaped(self.machine, np.transpose, self)

    def __getitem__(self, key: Any) -> EncryptedMatrix:
        return shaped(self.machine, lambda x: x[key], self)

    def cleaned(self) -> EncryptedMatrix:
        """Return itself."""
        return self


def shaped(machine: Any, function: Callable[..., Any], *operands: Any) -> EncryptedMatrix:
    """Return what has the shape of a numpy function's result, for operands of which one has no entries.

    Raises:
        ShapeError: the shapes do not go together.
    """
    arrays = [np.zeros(x.shape) for x in operands]
    try:
        shape = np.shape(function(*arrays))
    except (ValueError, IndexError):
        shapes = " and ".join(str(a.shape) for a in arrays)
        raise ShapeError(
            f"shapes {shapes}, without entries, have no such result: as with numpy, sizes must fit"
        ) from None
    if 0 in shape:
        return EmptyMatrix(machine, shape)
    zeros: EncryptedMatrix = machine.encrypt(np.zeros(shape or (1,)))
    return zeros if shape else EncryptedMatrix(machine, zeros.tiles, 1, 1, 0, zeros.step)
