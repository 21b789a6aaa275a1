# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Payloads: texts sealed to a receiver, all of one size, and their words modulo t.

The box is libsodium's sealed box (X25519, XSalsa20, Poly1305; `nacl.public.SealedBox`): the sender is anonymous, nobody
but the receiver can open it, and a changed one does not open. Before sealing, a text gets its length in front, 2 bytes,
and zeros behind, so that all payloads of a set look alike. Boxes do not show for whom they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import nacl.bindings
import nacl.exceptions
import nacl.public
import numpy as np
import numpy.typing as npt

from ringforge.errors import FormatError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.omr.sets import LENGTH_BYTES, Set
from ringforge.secrecy import RawSecret

__all__ = ["BoxKey", "BoxSecret", "from_words", "words"]

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint32]

KEY_BYTES = 32


@dataclass(frozen=True)
class BoxKey:
    """A receiver's public box key, 32 bytes.

    Raises:
        FormatError: not 32 bytes, or a point of small order, for which everybody could open boxes.
    """

    data: bytes

    def __post_init__(self) -> None:
        if len(self.data) != KEY_BYTES:
            raise FormatError(f"a box key has {KEY_BYTES} bytes, not {len(self.data)}")
        try:  # libsodium refuses products that are zero
            nacl.bindings.crypto_scalarmult(bytes(31) + b"\x40", self.data)
        except nacl.exceptions.RuntimeError:
            raise FormatError("the box key is a point of small order, which protects nothing") from None

    def seal(self, text: bytes, s: Set) -> bytes:
        """A payload of `s.payload_bytes` bytes.

        Raises:
            ringforge.ValueError: the text is longer than `s.text_bytes`.
        """
        if len(text) > s.text_bytes:
            raise RingforgeValueError(
                f"a text of {len(text)} bytes: payloads of set {s.name} take {s.text_bytes}; post it in pieces"
            )
        padded = len(text).to_bytes(LENGTH_BYTES, "little") + text + bytes(s.text_bytes - len(text))
        sealed: bytes = nacl.public.SealedBox(nacl.public.PublicKey(self.data)).encrypt(padded)
        return sealed


class BoxSecret(RawSecret):
    """A receiver's secret box key."""

    saved_by = "ReceiverSecret.save writes it to a file"

    def __init__(self, data: bytes) -> None:
        """From its 32 bytes.

        Raises:
            FormatError: not 32 bytes.
        """
        if len(data) != KEY_BYTES:
            raise FormatError(f"a secret box key has {KEY_BYTES} bytes, not {len(data)}")
        self._key = nacl.public.PrivateKey(data)
        self._box = nacl.public.SealedBox(self._key)

    @classmethod
    def make(cls) -> BoxSecret:
        """A new one, of the system's randomness."""
        return cls(bytes(nacl.public.PrivateKey.generate()))

    def secret_bytes(self) -> bytes:
        """The secret itself, 32 bytes."""
        return bytes(self._key)

    def public(self) -> BoxKey:
        """What senders seal with."""
        return BoxKey(bytes(self._key.public_key))

    def open(self, payload: bytes) -> bytes | None:
        """The text in a payload; None where it is sealed to somebody else, changed, or no box at all."""
        try:
            padded: bytes = self._box.decrypt(payload)
        except (nacl.exceptions.CryptoError, ValueError):
            return None
        length = int.from_bytes(padded[:LENGTH_BYTES], "little")
        text, rest = padded[LENGTH_BYTES : LENGTH_BYTES + length], padded[LENGTH_BYTES + length :]
        # A sender may seal what it likes: there is one encoding of a text.
        return text if len(padded) >= LENGTH_BYTES and len(text) == length and not any(rest) else None

    def __repr__(self) -> str:
        return "BoxSecret(...)"


# ---- words ---------------------------------------------------------------------------------------
#
# Two words hold `Set.pair_bits` bits, 39 for t = 786,433, as one number low + t high: 252 words for 612 bytes. Taken as
# one integer, a payload would have 250 digits, and 20 microseconds of divisions; digests have room for either.


def words(payloads: Bytes, s: Set) -> Words:
    """Payloads as words modulo t.

    Args:
        payloads: uint8[count, payload_bytes].

    Returns:
        uint32[count, payload_words], below t.

    Raises:
        ShapeError: payloads of another size.
    """
    if payloads.dtype != np.uint8 or payloads.ndim != 2 or payloads.shape[1] != s.payload_bytes:
        raise ShapeError(
            f"payloads are uint8 rows of {s.payload_bytes} bytes, not {payloads.dtype} of shape {payloads.shape}"
        )
    padded = _padded(len(payloads), s)
    padded[:, : s.payload_bytes] = payloads
    out = np.empty((len(payloads), s.payload_words), np.uint32)
    mask, t = np.uint64((1 << s.pair_bits) - 1), np.uint64(s.t)
    for first, shift, pieces in _pieces(padded, s):
        value = pieces >> shift & mask
        high = value // t
        out[:, 2 * first + 1 :: 16] = high
        out[:, 2 * first :: 16] = value - high * t
    return out


def _padded(count: int, s: Set) -> Bytes:
    """Room for payloads, and for eight bytes from the start of each pair."""
    return np.zeros((count, s.payload_words // 2 * s.pair_bits // 8 + 16), np.uint8)


def _pieces(padded: Bytes, s: Set) -> Iterator[tuple[int, np.uint64, npt.NDArray[np.uint64]]]:
    """Pairs first, first + 8, ...: 8 pairs take `pair_bits` bytes, so that these begin at one bit of their bytes.

    Yields:
        first; the bit; views of the eight bytes from there, for each row and pair.
    """
    pairs = s.payload_words // 2
    for first in range(min(8, pairs)):
        byte, bit = divmod(first * s.pair_bits, 8)
        shape, strides = (len(padded), (pairs - first + 7) // 8), (padded.shape[1], s.pair_bits)
        yield first, np.uint64(bit), np.ndarray(shape, "<u8", padded, byte, strides)


def from_words(digits: npt.NDArray[np.integer], s: Set) -> tuple[Bytes, npt.NDArray[np.bool_]]:
    """The inverse: payloads uint8[count, payload_bytes], and which rows are payloads at all; the others' bytes are 0.

    Some words belong to no payload: a failed decoding leaves such.

    Raises:
        ShapeError: rows of another length. ringforge.ValueError: words that are not below t.
    """
    if digits.ndim != 2 or digits.shape[1] != s.payload_words:
        raise ShapeError(f"payloads are rows of {s.payload_words} words, not an array of shape {digits.shape}")
    if digits.size and not 0 <= int(digits.min()) <= int(digits.max()) < s.t:
        raise RingforgeValueError(f"words of payloads lie in 0 ... {s.t - 1}")
    padded = _padded(len(digits), s)
    sound = np.ones(len(digits), bool)
    for first, shift, pieces in _pieces(padded, s):
        value = digits[:, 2 * first :: 16].astype(np.uint64) + digits[:, 2 * first + 1 :: 16].astype(
            np.uint64
        ) * np.uint64(s.t)
        wrong = value >> np.uint64(s.pair_bits) != 0
        sound &= ~wrong.any(axis=1)
        pieces |= np.where(wrong, np.uint64(0), value) << shift
    sound &= ~padded[:, s.payload_bytes :].any(axis=1)
    return np.where(sound[:, None], padded[:, : s.payload_bytes], np.uint8(0)), sound
