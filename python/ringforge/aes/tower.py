# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""GF(2^8) as a tower over GF(2^4) over GF(2^2), and inversion in it by 36 products of bits in four levels.

Nothing is taken from tables: bases are elements of AES's own GF(2^8), and which products sum up to a bit is found by
solving linear equations between truth tables over all 256 elements.

A functional is a mask of 8 bits: its value at x is the parity of mask & x. A truth table is a number of 256 bits, bit x
of which is the value at x.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ringforge.aes import clear
from ringforge.errors import ParameterError

#: Karatsuba's forms of an element of GF(2^4) by its coordinates, twice over: which coordinates each sums up.
FORMS: tuple[tuple[int, ...], ...] = tuple(
    tuple(2 * j + k for j in outer for k in inner) for outer in ((0,), (1,), (0, 1)) for inner in ((0,), (1,), (0, 1))
)
#: The same of an element of GF(2^2).
SMALL_FORMS: tuple[tuple[int, ...], ...] = ((0,), (1,), (0, 1))

_X: npt.NDArray[np.uint8] = np.arange(256, dtype=np.uint8)


def product(a: int, b: int) -> int:
    """A product in GF(2^8)."""
    return int(clear.multiply(a, b))


def power(a: int, e: int) -> int:
    """A power in GF(2^8)."""
    result = 1
    for _ in range(e):
        result = product(result, a)
    return result


def subfield(degree: int) -> tuple[int, ...]:
    """The elements of GF(2^degree) in GF(2^8), for degrees 1, 2, 4."""
    return tuple(x for x in range(256) if power(x, 1 << degree) == x)


def parity(mask: int, x: int) -> int:
    """The functional `mask` at x."""
    return (mask & x).bit_count() & 1


def dual(basis: Sequence[int]) -> tuple[int, ...]:
    """The functionals that are the coordinates by a basis of 8 elements; or the basis to 8 functionals.

    Raises:
        ParameterError: they are dependent.
    """
    # Rows (element, unit), eliminated together.
    rows = [(b, 1 << i) for i, b in enumerate(basis)]
    for bit in range(len(basis)):
        pivot = next((i for i in range(bit, len(rows)) if rows[i][0] >> bit & 1), None)
        if pivot is None:
            raise ParameterError(f"{tuple(basis)} is no basis: its elements are dependent")
        rows[bit], rows[pivot] = rows[pivot], rows[bit]
        value, unit = rows[bit]
        rows = [(v ^ value, u ^ unit) if i != bit and v >> bit & 1 else (v, u) for i, (v, u) in enumerate(rows)]
    # Now unit bit `bit` of x is the sum of the elements in rows[bit][1].
    return tuple(sum((unit >> i & 1) << bit for bit, (_, unit) in enumerate(rows)) for i in range(len(basis)))


def table(values: npt.NDArray[np.uint8]) -> int:
    """The truth table of 256 bits."""
    return int.from_bytes(np.packbits(values, bitorder="little").tobytes(), "little")


def functional_table(mask: int, of: Callable[[npt.NDArray[np.uint8]], npt.NDArray[np.uint8]]) -> int:
    """The truth table of a functional of a function of x."""
    return table((np.bitwise_count(of(_X) & np.uint8(mask)) & 1).astype(np.uint8))


def combination(target: int, candidates: Sequence[int]) -> tuple[int, ...]:
    """Which candidates, numbers from 0, have the target as their exclusive sum. Truth tables.

    The first candidates are preferred where several choices exist.

    Raises:
        ParameterError: none have.
    """
    reduced: dict[int, tuple[int, int]] = {}  # by highest bit: (table, which candidates)

    def reduce(value: int, chosen: int) -> tuple[int, int]:
        while value and (found := reduced.get(value.bit_length())):
            value, chosen = value ^ found[0], chosen ^ found[1]
        return value, chosen

    for i, candidate in enumerate(candidates):
        value, chosen = reduce(candidate, 1 << i)
        if value:
            reduced[value.bit_length()] = (value, chosen)
    value, chosen = reduce(target, 0)
    if value:
        raise ParameterError("the function is no sum of these products and values")
    return tuple(i for i in range(len(candidates)) if chosen >> i & 1)


def powers(x: npt.NDArray[np.uint8], e: int) -> npt.NDArray[np.uint8]:
    """x^e in GF(2^8), element by element."""
    result = np.ones_like(x)
    for _ in range(e):
        result = clear.multiply(result, x)
    return result


@dataclass(frozen=True)
class Tower:
    """Bases of GF(2^8) over GF(2^4), of GF(2^4) over GF(2^2), and of GF(2^2) over GF(2); elements of AES's GF(2^8).

    Raises:
        ParameterError: no bases.
    """

    outer: tuple[int, int]
    middle: tuple[int, int]
    inner: tuple[int, int]

    def __post_init__(self) -> None:
        if not (set(self.middle) <= set(subfield(4)) and set(self.inner) <= set(subfield(2))):
            raise ParameterError(f"{self} has elements outside GF(2^4) or GF(2^2)")
        dual(self.basis)

    @cached_property
    def basis(self) -> tuple[int, ...]:
        """The eight elements by which x has its coordinates: four of the first element of GF(2^4), then four."""
        return tuple(product(b, g) for b in self.outer for g in self.small_basis)

    @cached_property
    def small_basis(self) -> tuple[int, ...]:
        """The four elements by which an element of GF(2^4) has its coordinates."""
        return tuple(product(g, d) for g in self.middle for d in self.inner)

    @cached_property
    def coordinates(self) -> tuple[int, ...]:
        """Functionals: the eight coordinates of an element of GF(2^8)."""
        return dual(self.basis)

    @cached_property
    def operands(self) -> tuple[int, ...]:
        """Functionals: the 18 operands of the nine products of level 0, which are the forms of both coordinates."""
        return tuple(_exclusive(self.coordinates[4 * h + i] for i in form) for h in range(2) for form in FORMS)

    def small_coordinates(self, of: Callable[[npt.NDArray[np.uint8]], npt.NDArray[np.uint8]]) -> tuple[int, ...]:
        """Truth tables: the four coordinates of a function of x with values in GF(2^4)."""
        return self._within(self.small_basis, of)

    def smallest_coordinates(self, of: Callable[[npt.NDArray[np.uint8]], npt.NDArray[np.uint8]]) -> tuple[int, ...]:
        """Truth tables: the two coordinates of a function of x with values in GF(2^2)."""
        return self._within(self.inner, of)

    @staticmethod
    def _within(basis: Sequence[int], of: Callable[[npt.NDArray[np.uint8]], npt.NDArray[np.uint8]]) -> tuple[int, ...]:
        where = np.zeros(256, np.uint8)  # coordinates by element
        for i in range(1 << len(basis)):
            where[_exclusive(b for k, b in enumerate(basis) if i >> k & 1)] = i
        found = where[of(_X)]
        return tuple(table(found >> np.uint8(k) & np.uint8(1)) for k in range(len(basis)))


def _exclusive(values: Iterable[int]) -> int:
    result = 0
    for v in values:
        result ^= v
    return result
