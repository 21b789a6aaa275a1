# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Numbers from users, real ones and nothing that becomes real by losing a part; and residues modulo one prime."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge.errors import ShapeError
from ringforge.errors import ValueError as RingforgeValueError

#: Coefficients modulo one prime: words of 32 bits below 2^31, else of 64.
Residues = npt.NDArray[np.unsignedinteger[Any]]


def real_numbers(values: npt.ArrayLike, what: str) -> npt.NDArray[np.float64]:
    """An array of doubles.

    Raises:
        ringforge.ValueError: complex numbers, text, objects, rows of unequal length.
    """
    try:
        a = np.asarray(values)
    except ValueError as e:
        raise RingforgeValueError(f"{what} are no array of numbers: {e}") from None
    if a.dtype.kind not in "fiub":
        raise RingforgeValueError(
            f"{what} are {a.dtype} entries; real numbers are needed"
            + (": take real and imaginary parts apart" if a.dtype.kind == "c" else "")
        )
    return a.astype(np.float64)


def aligned(shape: tuple[int, ...], modulus: int) -> Residues:
    """Room for polynomials modulo a prime, at the alignment and in the words that kernels over one prime take: 32 bits
    below 2^31, else 64."""
    dtype = np.dtype(np.uint32 if modulus < 1 << 31 else np.uint64)
    room = np.empty(int(np.prod(shape)) * dtype.itemsize + 63, np.uint8)
    first = -room.ctypes.data % 64
    return room[first : len(room) - 63 + first].view(dtype).reshape(shape)


def aligned_copy(values: npt.ArrayLike, shape: tuple[int, ...], modulus: int) -> Residues:
    """Polynomials modulo a prime, copied to `aligned` room.

    Raises:
        ShapeError: another shape or type of words, or a coefficient that is not below the modulus.
    """
    out, source = aligned(shape, modulus), np.asarray(values)
    if source.shape != shape or source.dtype != out.dtype or (source.size and int(source.max()) >= modulus):
        raise ShapeError(
            f"ciphertexts of shape {source.shape}, {source.dtype}; {shape}, {out.dtype}, below {modulus} are needed"
        )
    out[:] = source
    return out
