# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""AES-128 in the clear (FIPS-197) on many blocks side by side, every round's state, and the counter mode's stream.

Blocks are uint8 arrays (n, 16), bytes in the order of FIPS-197: byte j is in row j % 4 and column j // 4 of the state.
This is for checking what encrypted computations give. It is slow and runs in a time that depends on its data; to
protect anything use a library's AES.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ringforge.errors import ShapeError
from ringforge.errors import ValueError as RingforgeValueError

Bytes = npt.NDArray[np.uint8]

ROUNDS = 10


def _double(x: int) -> int:
    """x times 2 in GF(2)[X]/(X^8 + X^4 + X^3 + X + 1)."""
    return (x << 1) ^ (0x11B if x & 0x80 else 0)


def _powers_of_three() -> list[int]:
    """3^0 .. 3^254: all of GF(2^8) but 0."""
    found = [1]
    while len(found) < 255:
        found.append(_double(found[-1]) ^ found[-1])
    return found


_EXP = np.array(_powers_of_three() * 2, np.uint8)
_LOG = np.zeros(256, np.int64)
_LOG[_EXP[:255]] = np.arange(255)


def multiply(a: npt.ArrayLike, b: npt.ArrayLike) -> Bytes:
    """Products in GF(2^8), element by element; arrays broadcast."""
    x, y = np.asarray(a, np.uint8), np.asarray(b, np.uint8)
    return np.where((x == 0) | (y == 0), 0, _EXP[_LOG[x] + _LOG[y]]).astype(np.uint8)


def inverse(a: npt.ArrayLike) -> Bytes:
    """Inverses in GF(2^8), element by element; that of 0 is 0."""
    x = np.asarray(a, np.uint8)
    return np.where(x == 0, 0, _EXP[-_LOG[x] % 255]).astype(np.uint8)


def _rotated(x: Bytes, by: int) -> Bytes:
    return (x << by | x >> (8 - by)).astype(np.uint8)


def affine(a: npt.ArrayLike) -> Bytes:
    """The affine map of the S-box, after inversion (FIPS-197, equation 5.2)."""
    x = np.asarray(a, np.uint8)
    return x ^ _rotated(x, 1) ^ _rotated(x, 2) ^ _rotated(x, 3) ^ _rotated(x, 4) ^ np.uint8(0x63)


#: The S-box and its inverse, as tables.
SBOX: Bytes = affine(inverse(np.arange(256, dtype=np.uint8)))
INVERSE_SBOX: Bytes = np.argsort(SBOX).astype(np.uint8)

#: ShiftRows: byte j of its result is byte SHIFT_ROWS[j] of its argument.
SHIFT_ROWS: npt.NDArray[np.int64] = np.array([(j + 4 * (j % 4)) % 16 for j in range(16)])
INVERSE_SHIFT_ROWS: npt.NDArray[np.int64] = np.argsort(SHIFT_ROWS)

#: Coefficients of MixColumns: row r of a result is the sum over k of MIX[k] times row r + k of its column.
MIX = (2, 3, 1, 1)
INVERSE_MIX = (14, 11, 13, 9)


def mix_columns(blocks: Bytes, coefficients: tuple[int, ...] = MIX) -> Bytes:
    """MixColumns, or its inverse with `INVERSE_MIX`."""
    rows = blocks.reshape(-1, 4, 4)
    out = np.zeros_like(rows)
    for k, c in enumerate(coefficients):
        out ^= multiply(np.roll(rows, -k, axis=2), c)
    return out.reshape(blocks.shape)


def blocks_of(values: npt.ArrayLike) -> Bytes:
    """Blocks (n, 16) of what a user gave.

    Raises:
        ShapeError: another shape. ringforge.ValueError: no bytes.
    """
    given = np.asarray(values)
    if given.ndim != 2 or given.shape[1] != 16:
        raise ShapeError(f"blocks have shape {given.shape}; (n, 16) is needed")
    if given.dtype != np.uint8:
        raise RingforgeValueError(f"blocks are {given.dtype}; give bytes, uint8")
    return given


def expand_key(key: bytes) -> Bytes:
    """The eleven round keys (11, 16) of a key of 16 bytes (FIPS-197, 5.2).

    Raises:
        ShapeError: not 16 bytes.
    """
    if len(key) != 16:
        raise ShapeError(f"the key has {len(key)} bytes; AES-128 takes 16")
    words = [np.frombuffer(bytes(key), np.uint8)[4 * i : 4 * i + 4] for i in range(4)]
    constant = 1
    for i in range(4, 44):
        word = words[-1]
        if i % 4 == 0:
            word = SBOX[np.roll(word, -1)]
            word[0] ^= constant
            constant = _double(constant)
        words.append(words[-4] ^ word)
    return np.concatenate(words).reshape(11, 16)


def encryption_states(key: bytes, blocks: npt.ArrayLike) -> Bytes:
    """The state after AddRoundKey of each round: (11, n, 16), after round 0 first, the ciphertext last.

    Args:
        key: 16 bytes.
        blocks: (n, 16), uint8.

    Raises:
        ShapeError, ringforge.ValueError: as `expand_key` and `blocks_of`.
    """
    keys = expand_key(key)
    state = blocks_of(blocks) ^ keys[0]
    states = [state]
    for i in range(1, ROUNDS + 1):
        state = SBOX[state][:, SHIFT_ROWS]
        state = (mix_columns(state) if i < ROUNDS else state) ^ keys[i]
        states.append(state)
    return np.stack(states)


def decryption_states(key: bytes, blocks: npt.ArrayLike) -> Bytes:
    """The same for decryption (FIPS-197, 5.3): (11, n, 16), after AddRoundKey of round key 10, and at the end of each
    of the ten rounds, InvShiftRows, InvSubBytes, AddRoundKey, InvMixColumns but in the last; the plaintext last."""
    keys = expand_key(key)
    state = blocks_of(blocks) ^ keys[ROUNDS]
    states = [state]
    for i in range(1, ROUNDS + 1):
        state = INVERSE_SBOX[state[:, INVERSE_SHIFT_ROWS]] ^ keys[ROUNDS - i]
        state = mix_columns(state, INVERSE_MIX) if i < ROUNDS else state
        states.append(state)
    return np.stack(states)


def encrypt(key: bytes, blocks: npt.ArrayLike) -> Bytes:
    """Blocks (n, 16) encrypted, each for itself."""
    result: Bytes = encryption_states(key, blocks)[-1]
    return result


def decrypt(key: bytes, blocks: npt.ArrayLike) -> Bytes:
    """Blocks (n, 16) decrypted, each for itself."""
    result: Bytes = decryption_states(key, blocks)[-1]
    return result


def counter_blocks(start: int, count: int) -> Bytes:
    """The counter mode's inputs (count, 16): `start`, `start` + 1, ... modulo 2^128, the greatest byte first (NIST SP
    800-38A, appendix B.1)."""
    numbers = b"".join(((start + i) % (1 << 128)).to_bytes(16, "big") for i in range(count))
    return np.frombuffer(numbers, np.uint8).reshape(count, 16)


def keystream(key: bytes, start: int, count: int) -> Bytes:
    """`count` blocks (count, 16) of the counter mode's stream, which is added to the plaintext."""
    return encrypt(key, counter_blocks(start, count))


def bits_of(blocks: Bytes) -> Bytes:
    """Bits (128, n) of blocks (n, 16): row 8 j + i is bit i, of weight 2^i, of byte j."""
    return np.unpackbits(blocks, axis=1, bitorder="little").T.copy()


def bytes_of(bits: Bytes) -> Bytes:
    """Blocks (n, 16) of bits (128, n)."""
    return np.packbits(bits.T, axis=1, bitorder="little")
