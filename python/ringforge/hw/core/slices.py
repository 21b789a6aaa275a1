# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Modules that are made of equal slices, such as lanes or bits of a word, beside what they have once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd

#: Value of a module's parameter: a number, or an array of them.
Value = int | tuple[int, ...]


@dataclass(frozen=True)
class Slices:
    """How a module grows.

    Attributes:
        parameters: sizes that are multiples of the number of slices.
        least: the greatest common divisor of these sizes in one slice.
        logarithms: parameters that fall by one where the sizes halve.
    """

    parameters: tuple[str, ...]
    least: int = 1
    logarithms: tuple[str, ...] = ()

    def few(self, values: Mapping[str, Value]) -> tuple[dict[str, Value], dict[str, Value], int] | None:
        """Parameters for one slice and for two, and how many slices `values` have; None where that saves no work."""
        sizes = {name: _number(values[name]) for name in self.parameters}
        slices, rest = divmod(gcd(*sizes.values()), self.least)
        if slices < 4 or rest or (self.logarithms and slices & (slices - 1)):
            return None

        def with_slices(count: int) -> dict[str, Value]:
            less = (slices // count).bit_length() - 1
            return {
                **values,
                **{name: size * count // slices for name, size in sizes.items()},
                **{name: _number(values[name]) - less for name in self.logarithms},
            }

        return with_slices(1), with_slices(2), slices


def _number(value: Value) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{value} is an array, not a size")
    return value
