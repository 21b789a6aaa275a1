# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Slots of polynomials modulo 2: what a plaintext of a ring Z[X]/Phi_m(X), m odd, holds.

Modulo 2, Phi_m splits into phi(m)/d factors of degree d, the order of 2 modulo m. A polynomial is a vector of as many
elements of GF(2^d); sums and products of polynomials are those of all slots. For m = 65,535 these are 2,048 slots of
GF(2^16), which hold bits, the bytes of AES, or any elements. docs/binary-slots.md has the conventions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge.errors import ParameterError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError

#: Elements of GF(2^d): bit i is the coefficient of Y^i.
Elements = npt.NDArray[np.uint32]
#: Bits of a polynomial, or of slots; or bytes of slots.
Bytes = npt.NDArray[np.uint8]

#: The index of the paper's ring.
PAPER_INDEX: Final = 65_535


@dataclass(frozen=True)
class Dimension:
    """A direction in which automorphisms move slots.

    Attributes:
        element: X -> X^element gives each slot along the dimension the value of the next one.
        size: slots along it.
        wrap: 0 where values just rotate. Else what wraps around is raised to 2^wrap, and has moved along the other
            dimensions by 2^-wrap; `permutation` says from where.
    """

    element: int
    size: int
    wrap: int


@dataclass(frozen=True)
class Permutation:
    """What an automorphism does: slot i becomes the old slot `source[i]`, raised to 2^`frobenius[i]`.

    Attributes:
        source: a permutation of all slots, int64.
        frobenius: from 0 to d - 1, int64.
    """

    source: npt.NDArray[np.int64]
    frobenius: npt.NDArray[np.int64]


def _numbers(values: npt.ArrayLike, limit: int, what: str) -> npt.NDArray[Any]:
    """One-dimensional integers in [0, limit).

    Raises:
        ringforge.ValueError: other numbers. ShapeError: another number of dimensions.
    """
    if what == "bytes" and isinstance(values, bytes | bytearray | memoryview):
        values = np.frombuffer(values, np.uint8)
    try:
        a = np.asarray(values)
    except ValueError as e:
        raise RingforgeValueError(f"{what} are no array of integers: {e}") from None
    if not a.size:
        a = a.astype(np.uint8)
    if a.dtype.kind not in "iub":
        raise RingforgeValueError(f"{what} are {a.dtype} entries; integers are needed")
    if a.ndim != 1:
        raise ShapeError(f"{what} are an array of one dimension, not of shape {a.shape}")
    if a.size and not (int(a.min()) >= 0 and int(a.max()) < limit):
        raise RingforgeValueError(f"{what} are numbers from 0 to {limit - 1}")
    return a


class BinarySlots:
    """The slots of index m. Immutable; threads may share it.

    The field is GF(2)[Y]/P, P the primitive polynomial of degree d that is least as a number; slot i of a polynomial is
    its value at Y^((2^d - 1)/m * e_i) with e = `representatives`. Encoding and decoding take no time that depends on
    values.

    Args:
        index: m, odd, below 2^17, with d <= 32, and with a prime power of m on which 2 has order d too.

    Raises:
        ParameterError: for other indices; the message names one that will do.
    """

    def __init__(self, index: int = PAPER_INDEX) -> None:
        if not 0 <= index < 1 << 64:
            raise ParameterError(f"index {index} has no slots modulo 2: take an odd one from 3 on, such as 65535")
        self._native = _native.BinarySlots(index)
        self.index: Final = index
        #: Coefficients of a polynomial, phi(m).
        self.degree: Final = int(self._native.degree)
        #: Slots of a polynomial.
        self.size: Final = int(self._native.size)
        #: d: a slot holds an element of GF(2^d).
        self.field_degree: Final = int(self._native.field_degree)
        #: P, bit i the coefficient of Y^i.
        self.field_polynomial: Final = int(self._native.field_polynomial)

    def __repr__(self) -> str:
        return f"BinarySlots({self.index}): {self.size} slots of GF(2^{self.field_degree})"

    @cached_property
    def representatives(self) -> npt.NDArray[np.int64]:
        """One unit modulo m for each slot, from each coset of the powers of 2."""
        made = np.asarray(self._native.representatives()).astype(np.int64)
        made.flags.writeable = False
        return made

    @cached_property
    def dimensions(self) -> tuple[Dimension, ...]:
        """Slots are numbered along these, the last fastest."""
        return tuple(Dimension(*d) for d in self._native.dimensions)

    @property
    def byte_root(self) -> int:
        """The element of GF(2^d) that stands for x of AES's GF(2)[x]/(x^8 + x^4 + x^3 + x + 1).

        Raises:
            ParameterError: 8 does not divide d; so do `embed`, `extract` and what encodes bytes.
        """
        return int(self._native.byte_root)

    # ---- polynomials -----------------------------------------------------------------------------

    def _elements(self, values: npt.ArrayLike) -> Elements:
        return _numbers(values, 1 << self.field_degree, "elements of slots").astype(np.uint32)

    def encode(self, values: npt.ArrayLike) -> Bytes:
        """The polynomial with these elements in its slots: coefficients 0 or 1, that of X^i in place i.

        Raises:
            ShapeError: not `size` values. ringforge.ValueError: not integers in [0, 2^d).
        """
        return np.asarray(self._native.encode(self._elements(values)))

    def decode(self, coefficients: npt.ArrayLike) -> Elements:
        """Its inverse, of `degree` coefficients modulo 2.

        Raises:
            ShapeError: another number of them. ringforge.ValueError: not integers 0 or 1.
        """
        return np.asarray(self._native.decode(_numbers(coefficients, 2, "coefficients modulo 2").astype(np.uint8)))

    def encode_bits(self, bits: npt.ArrayLike) -> Bytes:
        """A bit a slot, as in the paper: sums of polynomials are XOR, products AND, in every slot."""
        return self.encode(_numbers(bits, 2, "bits"))

    def decode_bits(self, coefficients: npt.ArrayLike) -> Bytes:
        """Its inverse.

        Raises:
            ringforge.ValueError: a slot holds neither 0 nor 1; and as `decode`.
        """
        values = self.decode(coefficients)
        if values.size and int(values.max()) > 1:
            raise RingforgeValueError(
                "a slot holds an element that is no bit: bytes or others were encoded, or the noise was too much"
            )
        return values.astype(np.uint8)

    def encode_bytes(self, values: npt.ArrayLike) -> Bytes:
        """A byte of AES a slot: sums of polynomials are XOR of bytes, products those of AES's field.

        Raises:
            ParameterError: 8 does not divide d; and as `encode`.
        """
        return np.asarray(self._native.encode(self.embed(values)))

    def decode_bytes(self, coefficients: npt.ArrayLike) -> Bytes:
        """Its inverse.

        Raises:
            ringforge.ValueError: a slot holds an element outside of the bytes' subfield; and as `decode`.
        """
        return self.extract(self.decode(coefficients))

    # ---- elements --------------------------------------------------------------------------------

    def embed(self, values: npt.ArrayLike) -> Elements:
        """Bytes of AES as elements of GF(2^d): sum of b_i x^i to sum of b_i `byte_root`^i. Any number of them."""
        return np.asarray(self._native.embed(_numbers(values, 256, "bytes").astype(np.uint8)))

    def extract(self, values: npt.ArrayLike) -> Bytes:
        """Its inverse; raises ringforge.ValueError for an element outside of the subfield."""
        return np.asarray(self._native.extract(self._elements(values)))

    def products(self, a: npt.ArrayLike, b: npt.ArrayLike) -> Elements:
        """Products in GF(2^d), entry by entry; ShapeError when lengths differ."""
        return np.asarray(self._native.products(self._elements(a), self._elements(b)))

    def frobenius(self, a: npt.ArrayLike, k: int) -> Elements:
        """a^(2^k), entry by entry, for k from 0 on."""
        if k < 0:
            raise ParameterError(f"squaring {k} times: take {k % self.field_degree}, which is the same")
        return np.asarray(self._native.frobenius(self._elements(a), k % self.field_degree))

    # ---- automorphisms ---------------------------------------------------------------------------

    def permutation(self, element: int) -> Permutation:
        """What X -> X^element does to slots. X -> X^2 squares each one where it is.

        Raises:
            ParameterError: `element` and m have a common factor.
        """
        source, frobenius = self._native.permutation(element % self.index)
        return Permutation(np.asarray(source).astype(np.int64), np.asarray(frobenius).astype(np.int64))

    def moved(self, values: npt.ArrayLike, element: int) -> Elements:
        """The slots after X -> X^element, computed on the slots."""
        elements, p = self._elements(values), self.permutation(element)
        if elements.size != self.size:
            raise ShapeError(f"{elements.size} elements are not those of {self.size} slots")
        out = elements[p.source]
        for k in np.unique(p.frobenius):
            where = p.frobenius == k
            out[where] = self.frobenius(out[where], int(k))
        return out
