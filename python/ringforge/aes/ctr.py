# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Counters of AES-CTR, as OpenSSL and NIST SP 800-38A have them: a block that is counted up modulo 2^128."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ringforge.aes.engine import BLOCK_BYTES, Blocks
from ringforge.errors import ParameterError

_ALL = 1 << 128


@dataclass(frozen=True)
class Counters:
    """The counter blocks of a stream.

    Attributes:
        first: the first one, as a number below 2^128, big-endian. size: bytes of the stream, 1 or more.

    Raises:
        ParameterError: outside these ranges.
    """

    first: int
    size: int

    def __post_init__(self) -> None:
        if not 0 <= self.first < _ALL:
            raise ParameterError(f"a counter block has {BLOCK_BYTES} bytes")
        if not 1 <= self.size <= 1 << 40:
            raise ParameterError(f"a stream of {self.size} bytes: 1 to 2^40 are possible")

    @classmethod
    def from_hex(cls, nonce: str, counter: int, size: int) -> Counters:
        """From a nonce in hexadecimal digits, up to 32, which is followed by zeros up to a block, and a number added.

        So 32 digits are the whole first counter block, as `openssl enc -aes-128-ctr -iv` takes it.

        Raises:
            ParameterError: another text, or number.
        """
        digits = nonce.strip().lower()
        if not 1 <= len(digits) <= 2 * BLOCK_BYTES or len(digits) % 2 or set(digits) - set("0123456789abcdef"):
            raise ParameterError(
                f"a nonce of {len(digits)} characters: 2 to 32 hexadecimal digits are needed, an even number; with 32 "
                "it is the whole first counter block"
            )
        if not 0 <= counter < _ALL:
            raise ParameterError(f"a counter of {counter}: 0 to 2^128 - 1 are possible")
        return cls((int(digits.ljust(2 * BLOCK_BYTES, "0"), 16) + counter) % _ALL, size)

    @property
    def blocks(self) -> int:
        return -(-self.size // BLOCK_BYTES)

    def values(self, first: int, count: int) -> Blocks:
        """So many counter blocks from one on, shape (count, 16)."""
        data = b"".join(((self.first + i) % _ALL).to_bytes(BLOCK_BYTES, "big") for i in range(first, first + count))
        return np.frombuffer(data, np.uint8).reshape(count, BLOCK_BYTES)

    def meets(self, other: Counters) -> bool:
        """Whether the two streams have a counter block in common, so that with one key they must not be."""
        return (other.first - self.first) % _ALL < self.blocks or (self.first - other.first) % _ALL < other.blocks


def padded(stream: bytes) -> Blocks:
    """A stream's bytes as blocks, the last one filled up with zeros."""
    count = -(-len(stream) // BLOCK_BYTES)
    return np.frombuffer(stream.ljust(count * BLOCK_BYTES, b"\0"), np.uint8).reshape(count, BLOCK_BYTES)
