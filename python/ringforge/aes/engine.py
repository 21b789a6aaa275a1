# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""AES-128 on encrypted blocks: what a scheme's engine provides, and what passes between its two sides.

The *client* holds the secret key and the AES key. It encrypts round keys once, and blocks; it decrypts results. The
*server* has evaluation keys and encrypted round keys, and computes. Whoever drives a server (`runner`) begins with
`start` or `start_clear`, goes on with `round` 1 to 10, may keep a state after each, and may end with `add_clear`.

A state is up to `slots` blocks. `blocks` arrays are uint8 of shape (n, 16), byte j of a block as in FIPS-197: row
j % 4, column j // 4. Block b is in slot b of every ciphertext; slots without a block hold zero blocks when they are
encrypted. BGV has 16 ciphertexts, one for each byte; LTV 128, `[byte][bit]`, bit i of weight 2^i in AES's polynomial
basis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

import numpy as np
import numpy.typing as npt

from ringforge.arrays import whole_numbers
from ringforge.errors import ParameterError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError

#: uint8 of shape (n, 16).
Blocks = npt.NDArray[np.uint8]

#: Of AES, either way round.
Direction = Literal["encrypt", "decrypt"]
DIRECTIONS: Final = ("encrypt", "decrypt")

#: Rounds of AES-128, bytes of its key and of a block.
ROUNDS: Final = 10
KEY_BYTES: Final = 16
BLOCK_BYTES: Final = 16

#: The round of a state to which no round key has been added.
FRESH: Final = -1

#: Takes bytes substituted within a round, from 0 to 16, and 16. What it raises ends the round, within a second or so:
#: nothing else is lost than the round.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class State:
    """Encrypted blocks, somewhere in AES.

    Attributes:
        scheme: "bgv" or "ltv". blocks: how many there are, 1 to `slots`.
        round: the last round that is done: `FRESH`, 0 after the first AddRoundKey, 10 at the end.
        direction: of the circuit.
        ciphertexts: in order, of the scheme's native type.
    """

    scheme: str
    blocks: int
    round: int
    direction: Direction
    ciphertexts: Sequence[Any]


class RoundKeySource(Protocol):
    """Encrypted round keys, read when they are needed: memory holds those of one round."""

    def round(self, i: int) -> list[Any]:
        """The ciphertexts of round i in order of use, 0 to 10, as `AesClient.encrypt_round_key` made them.

        Raises:
            MissingKeyError: they are not there. FormatError, MismatchError: damaged, or of other parameters.
        """


class Codec(Protocol):
    """How ciphertexts become bytes, and what they belong to. Both sides of a scheme have it."""

    @property
    def scheme(self) -> str:
        """Its name, such as "bgv"."""

    @property
    def slots(self) -> int:
        """Blocks that a state holds at the most."""

    @property
    def ciphertexts(self) -> int:
        """Of a state, and of a round key."""

    @property
    def parameter_hash(self) -> bytes:
        """Hash of the parameters, 32 bytes."""

    @property
    def max_record_bytes(self) -> int:
        """Bytes of the largest ciphertext's record."""

    def to_bytes(self, ciphertext: Any) -> bytes:
        """A ciphertext's record (`_native.io.to_bytes`)."""

    def from_bytes(self, record: bytes) -> Any:
        """A ciphertext.

        Raises:
            FormatError: damaged, or something else. MismatchError: of other parameters.
        """


class AesClient(Codec, Protocol):
    """Holds the secret key."""

    def encrypt_blocks(self, blocks: Blocks, direction: Direction = "encrypt") -> State:
        """A `FRESH` state.

        Raises:
            ShapeError: not (n, 16) with n from 1 to `slots`. ringforge.ValueError: not bytes.
        """

    def encrypt_round_key(self, i: int, key: bytes, direction: Direction = "encrypt") -> list[Any]:
        """What round i adds, in every slot, encrypted at the level where it is used.

        Args:
            i: in order of use, 0 to 10. key: the AES key itself, 16 bytes. direction: of the circuit; the order of
            keys, and what they go through, are the circuit's.

        Raises:
            ParameterError: no such round or direction. ShapeError: not 16 bytes.
        """

    def decrypt_blocks(self, state: State) -> Blocks:
        """The blocks of a state, (state.blocks, 16).

        Raises:
            NoiseError: by its predicted noise a bit may come out wrong. MismatchError: of another key.
            ringforge.ValueError: a slot holds no byte (or bit): the noise was too much.
        """

    def measured_budget(self, state: State) -> float:
        """Bits of noise budget that are left, the least of all ciphertexts, measured with the secret key."""


class AesServer(Codec, Protocol):
    """Computes. Holds evaluation keys, no secret. Inputs stay as they are; any thread may call."""

    @property
    def shares(self) -> Sequence[float]:
        """Relative times of rounds 1 to 10, roughly, for telling how long it still takes."""

    def start(self, state: State, key: list[Any]) -> State:
        """AddRoundKey 0 on a `FRESH` state.

        Raises:
            MismatchError: of another scheme, key or circuit, or not fresh. ShapeError: not the ciphertexts of a round
            key.
        """

    def start_clear(self, blocks: Blocks, key: list[Any], direction: Direction = "encrypt") -> State:
        """AddRoundKey 0 on blocks that everybody may know, such as the counters of AES-CTR.

        Raises:
            ShapeError, ringforge.ValueError: as `AesClient.encrypt_blocks`.
        """

    def round(self, state: State, i: int, key: list[Any], progress: Progress | None = None) -> State:
        """SubBytes, ShiftRows, MixColumns (not in round 10) and AddRoundKey of round i, or their inverses.

        Args:
            state: with round i - 1 done. i: from 1 to 10. key: of round i.

        Raises:
            MismatchError: the state is of another round, scheme, key. NoiseError: nothing would be left of it.
            MissingKeyError: an evaluation key is not there.
        """

    def add_clear(self, state: State, blocks: Blocks) -> State:
        """XOR of a state with blocks that everybody may know, such as the bytes of an AES-CTR stream.

        Raises:
            ShapeError: another number of blocks than the state's.
        """

    def predicted_budget(self, state: State) -> float:
        """Bits of noise budget that are left by prediction, the least of all ciphertexts."""


def as_blocks(blocks: npt.ArrayLike, slots: int) -> Blocks:
    """Blocks as engines take them.

    Raises:
        ShapeError: not (n, 16) with n up to `slots`. ringforge.ValueError: not integers from 0 to 255.
    """
    a = whole_numbers(blocks, "blocks")
    if a.ndim != 2 or a.shape[1] != BLOCK_BYTES or a.shape[0] > slots:
        raise ShapeError(f"blocks of shape {a.shape}: (n, {BLOCK_BYTES}) is needed, with n up to {slots:,}")
    if a.size and (int(a.min()) < 0 or int(a.max()) > 255):
        raise RingforgeValueError("blocks are bytes, 0 to 255; there are others among them")
    return np.ascontiguousarray(a, np.uint8)


def as_key(key: bytes) -> bytes:
    """An AES-128 key.

    Raises:
        ShapeError: not 16 bytes. The message does not tell them.
    """
    if not isinstance(key, (bytes, bytearray, memoryview)) or len(key) != KEY_BYTES:
        raise ShapeError(f"an AES-128 key is {KEY_BYTES} bytes; give as many, such as those of a key file")
    return bytes(key)


def as_direction(text: str) -> Direction:
    """A direction's name as its type.

    Raises:
        ParameterError: it is none.
    """
    if text == "encrypt":
        return "encrypt"
    if text == "decrypt":
        return "decrypt"
    raise ParameterError(f'"{text[:32]}" is no direction of AES: {" or ".join(DIRECTIONS)}')
