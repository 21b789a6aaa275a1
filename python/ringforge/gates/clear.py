# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Bits without encryption, for the clear device: ciphertexts whose a is 0 and whose b is the bit, as constants have."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge.errors import MismatchError

if TYPE_CHECKING:
    from ringforge._native.fhew import GateParameters, Method

Words = npt.NDArray[np.uint32]


class ClearKey:
    """Stands for a secret key and its evaluation key: NO ENCRYPTION. For tests, with `device="clear"`.

    Args:
        params: parameters, which only say the form of words here.
        method: the accumulator that the evaluation key would be for.
        secret: (n,) small integers that accumulation chains turn by; by default zeros, which turn nothing.
        key_id: by default a random one.
    """

    def __init__(
        self,
        params: GateParameters,
        method: Method | None = None,
        *,
        secret: npt.NDArray[np.int64] | None = None,
        key_id: int | None = None,
    ) -> None:
        self.params = params
        self.method = _native.fhew.Method.GINX if method is None else method
        self.secret = np.zeros(params.n, np.int64) if secret is None else secret
        self.key_id = secrets.randbits(64) | 1 if key_id is None else key_id

    @property
    def bytes(self) -> int:
        """Bytes in memory."""
        return int(self.secret.nbytes)

    def encrypt(self, bits: npt.NDArray[np.uint8]) -> Words:
        """Words of bits (count,), one row each, which anybody reads."""
        return words_of(bits, self.params)

    def decrypt(self, words: Words) -> npt.NDArray[np.uint8]:
        """Bits (count,) of words.

        Raises:
            MismatchError: they are encrypted.
        """
        return bits_of(words, self.params)


def words_of(bits: npt.NDArray[np.uint8], params: GateParameters) -> Words:
    """Words (count, n + 1) of bits."""
    words = np.zeros((len(bits), params.n + 1), np.uint32)
    words[:, -1] = bits.astype(np.uint32) << np.uint32(params.log_q - 2)
    return words


def bits_of(words: Words, params: GateParameters) -> npt.NDArray[np.uint8]:
    """Bits of words (count, n + 1).

    Raises:
        MismatchError: they are encrypted, or no bits.
    """
    bits, rest = np.divmod(words[:, -1], np.uint32(1 << (params.log_q - 2)))
    if words[:, :-1].any() or rest.any() or (bits > 1).any():
        raise MismatchError("the clear device computes on bits that are not encrypted: make them with gates.ClearKey")
    return bits.astype(np.uint8)
