# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""RLWE ciphertexts and rows of keys in the FHEW accelerator's memory.

A ciphertext, or a row of a key, is 2N words of 64 bits in Eval order, a and b in turns of four: a beat of 512 bits has
four coefficients of each. Residues are canonical. An RGSW ciphertext is its rows, those for the digits of a first.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ringforge.errors import ShapeError
from ringforge.hw.core.small_ring import Ring, Words

_LANES = 4


def image(ciphertexts: npt.NDArray[np.unsignedinteger]) -> Words:
    """Memory of ciphertexts or rows in Eval order: (..., 2, N) to (..., 2N).

    Raises:
        ShapeError: other shapes.
    """
    if ciphertexts.ndim < 2 or ciphertexts.shape[-2] != 2 or ciphertexts.shape[-1] % _LANES:
        raise ShapeError(f"ciphertexts are (..., 2, N), not {ciphertexts.shape}")
    *lead, _, n = ciphertexts.shape
    parts = ciphertexts.reshape(*lead, 2, n // _LANES, _LANES)
    return np.ascontiguousarray(np.moveaxis(parts, -3, -2), np.uint64).reshape(*lead, 2 * n)


def ciphertexts(words: Words) -> Words:
    """Ciphertexts in Eval order of their memory: (..., 2N) to (..., 2, N).

    Raises:
        ShapeError: other shapes.
    """
    if words.ndim < 1 or words.shape[-1] % (2 * _LANES):
        raise ShapeError(f"ciphertexts take multiples of {2 * _LANES} words, not {words.shape}")
    *lead, size = words.shape
    parts = np.moveaxis(words.reshape(*lead, size // (2 * _LANES), 2, _LANES), -2, -3)
    return np.ascontiguousarray(parts).reshape(*lead, 2, size // 2)


def tables(ring: Ring) -> Words:
    """Memory of the table of twiddles: N words; the machine makes those of the inverse transform of them."""
    return np.array(ring.twiddles)
