# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a server computes on bytes once it has them encrypted: comparisons and sums, byte by byte, block by block.

A computation takes a state's 16 bytes of each block and gives 16 others, so that results are states too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ringforge.aes import byte_numbers
from ringforge.aes.byte_circuit import Circuit
from ringforge.aes.engine import BLOCK_BYTES, AesServer, Blocks, State
from ringforge.errors import ParameterError

#: What the texts of computations look like, for messages.
WORDS = '"below:N", N from 1 to 255, or "sums"'


@runtime_checkable
class Computing(Protocol):
    """A server that runs circuits over bytes; BGV's does."""

    def compute(self, circuit: Circuit, inputs: Sequence[Any]) -> list[Any]:
        """A circuit's results, in every slot, on ciphertexts of bytes.

        Raises:
            ParameterError: they do not bear it.
        """


@dataclass(frozen=True)
class Computation:
    """A computation on each block.

    Attributes:
        limit: of "below:N", which gives 1 for each byte below N, and 0 for others; 0 of "sums", which gives the sums of
        bytes 2k and 2k + 1 modulo 256, eight of them, then their carries.
    """

    limit: int = 0

    @classmethod
    def parse(cls, text: str) -> Computation:
        """From its text.

        Raises:
            ParameterError: there is no such computation.
        """
        match = re.fullmatch(r"sums|below:(\d{1,3})", text)
        if match is None or (match[1] is not None and not 1 <= int(match[1]) <= 255):
            raise ParameterError(f'"{text[:32]}" is nothing that servers compute: {WORDS}')
        return cls(int(match[1] or 0))

    @property
    def text(self) -> str:
        return f"below:{self.limit}" if self.limit else "sums"

    def on(self, server: AesServer, state: State) -> State:
        """Of encrypted blocks.

        Raises:
            ParameterError: this scheme computes nothing but AES, or the ciphertexts do not bear it.
        """
        if not isinstance(server, Computing):
            raise ParameterError(
                f"under {server.scheme} AES leaves nothing to compute with but sums: take keys of bgv, or leave "
                "--compute away"
            )
        x = state.ciphertexts
        if self.limit:
            circuit = byte_numbers.less_than_constant(self.limit)
            made = [y for c in x for y in server.compute(circuit, [c])]
        else:
            pairs = [server.compute(byte_numbers.add(), [x[j], x[j + 1]]) for j in range(0, BLOCK_BYTES, 2)]
            made = [p[0] for p in pairs] + [p[1] for p in pairs]
        return State(state.scheme, state.blocks, state.round, state.direction, made)

    def of(self, blocks: Blocks) -> Blocks:
        """Of blocks in the clear, shape (n, 16)."""
        if self.limit:
            return (blocks < self.limit).astype(np.uint8)
        whole = blocks[:, ::2].astype(np.int64) + blocks[:, 1::2]
        return np.hstack([whole % 256, whole // 256]).astype(np.uint8)

    def of_block(self, block: bytes) -> bytes:
        """Of one block in the clear, 16 bytes."""
        return self.of(np.frombuffer(block, np.uint8)[None]).tobytes()
